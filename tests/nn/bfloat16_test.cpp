#include "../reference/plain.h"
#include <adjoint/nn/gcn_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/mlp.h>
#include <adjoint/nn/norm.h>
#include <adjoint/nn/sg_conv.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr double kRounding = 0x1p-8;

}  // namespace

TEST_CASE("layers in bfloat16 give float32's values and gradients to rounding") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    Draw draw(36, device, DType::f32);
    const Graph graph = draw.graph(60, 400, true);
    const Tensor x = draw.normal({60, 10}).to(DType::bf16);
    const SparseMatrix sparse = draw.sparse(60, 10, 200);
    const auto compare_layer = [&](auto make, auto call) {
      auto narrow = make(), wide = make();
      narrow.to(device), wide.to(device);
      const auto first = narrow.parameters(), second = wide.parameters();
      for (size_t i = 0; i < first.size(); ++i) {
        Var p = first[i], q = second[i];
        // Biases that keep relu's input off its corner: rounding must not decide on which side it is.
        const Tensor start = q.shape().dims() == 1 ? Tensor::full(q.shape(), 16.0, DType::bf16, device)
                                                   : q.value().to(DType::bf16);
        p.set_value(start), q.set_value(start.to(DType::f32));
      }
      const Var y = call(narrow, DType::bf16), z = call(wide, DType::f32);
      CHECK(y.dtype() == DType::bf16);
      CHECK(close(y.value(), z.value(), 4 * kRounding));
      const Tensor dy = draw.normal(y.shape()).to(DType::bf16);
      y.backward(dy), z.backward(dy.to(DType::f32));
      for (size_t i = 0; i < first.size(); ++i) {
        CAPTURE(i);
        CHECK(first[i].grad().dtype() == DType::bf16);
        CHECK(close(first[i].grad(), second[i].grad(), 4 * kRounding));
      }
    };
    const auto dense = [&](DType dtype) { return Var::parameter(x.to(dtype)); };
    const auto on_graph = [&](auto& layer, DType dtype) { return layer(graph, dense(dtype)); };
    const auto alone = [&](auto& layer, DType dtype) { return layer(dense(dtype)); };
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 4, true, Activation::relu); }, on_graph);
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 20); }, on_graph);
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 4); },
                  [&](auto& layer, DType dtype) { return layer(graph, Features(x).to(dtype)); });
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 4); },
                  [&](auto& layer, DType dtype) { return layer(graph, Features(sparse).to(dtype)); });
    compare_layer([] { return nn::Model<nn::SGConv>(10, 4, 2); }, on_graph);
    compare_layer([] { return nn::Model<nn::Linear>(10, 4, true, Activation::relu); }, alone);
    compare_layer([] { return nn::Model<nn::MLP>(std::vector<int64_t>{10, 16, 4}, 0.0f); }, alone);
    compare_layer([] { return nn::Model<nn::BatchNorm>(10); }, alone);
    compare_layer([] { return nn::Model<nn::LayerNorm>(10); }, alone);
  }
}

TEST_CASE("a GCN trains in bfloat16 nearly as in float32") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    Draw draw(37, device, DType::f32);
    const Graph graph = draw.graph(200, 1000);
    const Tensor x = draw.normal({200, 16}), truth = draw.normal({16, 3});
    Tensor label = Tensor::empty({200}, DType::i32, device);
    kernels::argmax_columns(
        {.x = spmm(graph.gcn_adjacency(), linear(Var(x), Var(truth))).value(), .y = label});

    const auto losses = [&](DType dtype) {
      nn::Model<nn::GCNConv> conv1(16, 32, true, Activation::relu), conv2(32, 3);
      std::vector<Var> parameters{conv1.weight, conv1.bias, conv2.weight, conv2.bias};
      Generator generator(11);
      std::vector<Tensor> masters;
      for (Var& parameter : parameters) {
        masters.push_back(random_normal(parameter.shape(), 0.0, 0.3, generator, DType::f32, device));
        parameter.set_value(masters.back().to(dtype));
      }
      std::vector<double> course;
      for (int step = 0; step < 30; ++step) {
        const Var h = conv1(graph, Features(x).to(dtype));
        const Var loss = cross_entropy(conv2(graph, h), label);
        loss.backward();
        course.push_back(loss.item());
        for (size_t i = 0; i < parameters.size(); ++i) {
          const Tensor gradient = parameters[i].grad().to(DType::f32);
          kernels::linear_combination(
              {.alpha = 1.0, .a = masters[i], .beta = -0.5, .b = gradient, .y = masters[i]});
          parameters[i].set_value(masters[i].to(dtype).clone());
        }
      }
      return course;
    };
    const std::vector<double> narrow = losses(DType::bf16), wide = losses(DType::f32);
    CHECK(wide.back() < 0.75 * wide.front());
    for (size_t step = 0; step < wide.size(); ++step)
      CHECK(narrow[step] == doctest::Approx(wide[step]).epsilon(0.005));
  }
}
