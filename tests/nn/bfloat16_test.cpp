#include "../reference/plain.h"
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/mlp.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>
#include <adjoint/optim/adam.h>

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
    compare_layer(
        [] { return nn::Model<nn::GCNConv>(10, 4, nn::GCNConvOptions{.activation = Activation::relu}); },
        on_graph);
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 20); }, on_graph);
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 4); },
                  [&](auto& layer, DType dtype) { return layer(graph, Features(x).to(dtype)); });
    compare_layer([] { return nn::Model<nn::GCNConv>(10, 4); },
                  [&](auto& layer, DType dtype) { return layer(graph, Features(sparse).to(dtype)); });
    compare_layer([] { return nn::Model<nn::SGConv>(10, 4, nn::SGConvOptions{2}); }, on_graph);
    compare_layer(
        [] { return nn::Model<nn::Linear>(10, 4, nn::LinearOptions{.activation = Activation::relu}); },
        alone);
    compare_layer([] { return nn::Model<nn::MLP>(std::vector<int64_t>{10, 16, 4}); }, alone);
    compare_layer([] { return nn::Model<nn::BatchNorm>(10); }, alone);
    compare_layer([] { return nn::Model<nn::LayerNorm>(10); }, alone);
  }
}

namespace {

/// A layer after Veličković et al. 2018 from edge operations. Its scores are sums of the nodes' terms, which
/// edge_add keeps in float32, or come from the features of both ends of an edge, in their dtype.
struct GatConv : nn::Module {
  GatConv(int64_t in, int64_t heads, int64_t width, bool scores_of_ends)
      : of_ends(scores_of_ends),
        linear(this, "linear", in, heads * width),
        left(this, "left", nn::glorot_uniform(heads, width)),
        right(this, "right", nn::glorot_uniform(heads, width)),
        score(this, "score", 2 * heads * width, heads, nn::LinearOptions{.bias = false}) {}
  Var operator()(const Graph& graph, const Var& x) const {
    const int64_t heads = left.size(0), width = left.size(1);
    const Var flat = linear(x), h = reshape(flat, {-1, heads, width});
    const auto [src, dst] = graph.relation().edge_index();
    const Var e = of_ends ? score(cat({index_select(flat, dst), index_select(flat, src)}, 1))
                          : edge_add(graph, sum(h * left, 2), sum(h * right, 2));
    const Var alpha = edge_softmax(graph, leaky_relu(e, 0.2f));
    return reshape(aggregate(graph, h, {.weight = alpha}), {-1, heads * width});
  }
  bool of_ends;
  nn::Child<nn::Linear> linear;
  nn::Parameter left, right;
  nn::Child<nn::Linear> score;
};

}  // namespace

TEST_CASE("a GAT of edge operations trains in bfloat16 nearly as in float32") {
  for (Device device : devices())
    for (bool of_ends : {false, true}) {
      CAPTURE(device.str());
      CAPTURE(of_ends);
      Draw draw(39, device, DType::f32);
      const Graph graph = draw.graph(100, 600);
      const Tensor x = draw.normal({100, 12}).to(DType::bf16), label = draw.ints(100, 0, 8);
      struct Course {
        std::vector<double> losses;
        std::vector<Tensor> gradients;  // of the first step
      };
      const auto train = [&](DType dtype) {
        manual_seed(12);
        nn::Model<GatConv> layer(12, 4, 2, of_ends);
        layer.to(device);
        layer.to(DType::bf16), layer.to(dtype);  // both from what bfloat16 holds
        optim::Adam adam(layer.parameters(), {.lr = 0.02});
        Course course;
        for (int step = 0; step < 5; ++step) {
          const Var y = layer(graph, x.to(dtype));
          CHECK(y.dtype() == dtype);
          const Var loss = cross_entropy(y, label);
          loss.backward();
          course.losses.push_back(loss.item());
          if (step == 0)
            for (const Var& p : layer.parameters())
              if (p.grad()) course.gradients.push_back(p.grad().clone());
          adam.step();
        }
        return course;
      };
      const Course narrow = train(DType::bf16), exact = train(DType::f32);
      CHECK(exact.losses.back() < 0.95 * exact.losses.front());
      for (size_t step = 0; step < exact.losses.size(); ++step)
        CHECK(narrow.losses[step] == doctest::Approx(exact.losses[step]).epsilon(0.01));
      REQUIRE(narrow.gradients.size() == exact.gradients.size());
      // Of the largest gradient: a softmax cancels most of what reaches left, all of it but for leaky_relu.
      double scale = 0.0;
      for (const Tensor& gradient : exact.gradients)
        for (double v : values(gradient)) scale = std::max(scale, std::abs(v));
      for (size_t k = 0; k < exact.gradients.size(); ++k) {
        CAPTURE(k);
        CHECK(narrow.gradients[k].dtype() == DType::bf16);
        CHECK(close(narrow.gradients[k], exact.gradients[k], 4 * kRounding * std::min(scale, 1.0)));
      }
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
      nn::Model<nn::GCNConv> conv1(16, 32, nn::GCNConvOptions{.activation = Activation::relu}), conv2(32, 3);
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
