#include "../reference/plain.h"
#include <adjoint/kernels/reduce/reduce.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/mlp.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>
#include <adjoint/optim/adam.h>
#include <adjoint/optim/sgd.h>

using namespace adj;
using namespace adj::test;

constexpr double kRounding = 0x1p-8;

TEST_CASE("layers in bfloat16 equal float32 up to rounding, values and gradients") {
  on_devices(36, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(60, 400, true);
    const Tensor x = draw.normal({60, 10}).to(DType::bf16);
    const auto compare_layer = [&](auto make, auto call) {
      auto narrow = make(), wide = make();
      narrow.to(device), wide.to(device);
      const auto first = narrow.parameters(), second = wide.parameters();
      for (size_t i = 0; i < first.size(); ++i) {
        Var p = first[i], q = second[i];
        // Biases keep relu's input away from 0, where rounding could change the sign.
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
    const auto alone = [&](auto& layer, DType dtype) { return layer(dense(dtype)); };
    compare_layer(
        [] { return nn::Model<nn::GCNConv>(10, 4, nn::GCNConvOptions{.activation = Activation::relu}); },
        [&](auto& layer, DType dtype) { return layer(graph, dense(dtype)); });
    compare_layer(
        [] { return nn::Model<nn::Linear>(10, 4, nn::LinearOptions{.activation = Activation::relu}); },
        alone);
    compare_layer([] { return nn::Model<nn::MLP>(std::vector<int64_t>{10, 16, 4}); }, alone);
    compare_layer([] { return nn::Model<nn::BatchNorm>(10); }, alone);
    compare_layer([] { return nn::Model<nn::LayerNorm>(10); }, alone);
  });
}

namespace {

/// A layer after Veličković et al. 2018 from edge operations. Scores are sums of terms of nodes, which
/// edge_add keeps in float32, or computed from the features of both ends of an edge, in their dtype.
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

struct Gcn : nn::Module {
  Gcn() {
    for (Var p : parameters()) p.set_value(random_normal(p.shape(), 0.0, 0.3, default_generator()));
  }
  Var operator()(const Graph& graph, const Var& x) const { return conv2(graph, conv1(graph, x)); }
  nn::Child<nn::GCNConv> conv1{this, "conv1", 16, 32, nn::GCNConvOptions{.activation = Activation::relu}},
      conv2{this, "conv2", 32, 3};
};

/// Steps in bfloat16 and in float32 from the same model: losses, and gradients of the first step.
template <class Optimizer, class Make, class Options>
void compare_training(const Graph& graph, const Tensor& x, const Tensor& label, int steps,
                      double least_decrease, double tolerance, const Options& options, Make&& make) {
  struct Course {
    std::vector<double> losses;
    std::vector<Tensor> gradients;
  };
  const auto train = [&](DType dtype) {
    manual_seed(12);
    auto model = make();
    model.to(x.device());
    model.to(DType::bf16), model.to(dtype);  // both from rounded values
    Optimizer optimizer(model.parameters(), options);
    Course course;
    for (int step = 0; step < steps; ++step) {
      const Var y = model(graph, x.to(dtype));
      CHECK(y.dtype() == dtype);
      const Var loss = cross_entropy(y, label);
      loss.backward();
      course.losses.push_back(loss.item());
      if (step == 0)
        for (const Var& p : model.parameters())
          if (p.grad()) course.gradients.push_back(p.grad().clone());
      optimizer.step();
    }
    return course;
  };
  const Course narrow = train(DType::bf16), exact = train(DType::f32);
  CHECK(exact.losses.back() < least_decrease * exact.losses.front());
  for (size_t step = 0; step < exact.losses.size(); ++step)
    CHECK(narrow.losses[step] == doctest::Approx(exact.losses[step]).epsilon(tolerance));
  REQUIRE(narrow.gradients.size() == exact.gradients.size());
  // Relative to the largest gradient: a softmax cancels most of GAT's left, all of it without leaky_relu.
  double scale = 0.0;
  for (const Tensor& gradient : exact.gradients)
    for (double v : values(gradient)) scale = std::max(scale, std::abs(v));
  for (size_t k = 0; k < exact.gradients.size(); ++k) {
    CAPTURE(k);
    CHECK(narrow.gradients[k].dtype() == DType::bf16);
    CHECK(close(narrow.gradients[k], exact.gradients[k], 4 * kRounding * std::min(scale, 1.0)));
  }
}

}  // namespace

TEST_CASE("a GAT of edge operations and a GCN train in bfloat16 nearly as in float32") {
  on_devices(39, DType::f32, [](Draw& draw, Device device) {
    const Graph graph = draw.graph(100, 600);
    const Tensor x = draw.normal({100, 12}).to(DType::bf16), label = draw.ints(100, 0, 8);
    for (bool of_ends : {false, true}) {
      CAPTURE(of_ends);
      compare_training<optim::Adam>(graph, x, label, 5, 0.95, 0.01, optim::AdamOptions{.lr = 0.02},
                                    [&] { return nn::Model<GatConv>(12, 4, 2, of_ends); });
    }
    const Graph larger = draw.graph(200, 1000);
    const Tensor x2 = draw.normal({200, 16}), truth = draw.normal({16, 3});
    Tensor learnable = Tensor::empty({200}, DType::i32, device);
    kernels::argmax_columns(
        {.x = aggregate(larger.gcn_adjacency(), linear(Var(x2), Var(truth))).value(), .y = learnable});
    compare_training<optim::SGD>(larger, x2, learnable, 30, 0.75, 0.005, optim::SGDOptions{.lr = 0.5},
                                 [] { return nn::Model<Gcn>(); });
  });
}
