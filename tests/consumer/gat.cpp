// A graph attention network (Veličković et al. 2018) from edge operations.
#include <adjoint/adjoint.h>

using namespace adj;

struct GatConv : nn::Module {
  GatConv(int64_t in, int64_t heads_, int64_t width)
      : heads(heads_),
        linear(this, "linear", in, heads * width, nn::LinearOptions{.bias = false}),
        left(this, "left", nn::glorot_uniform(heads, width)),
        right(this, "right", nn::glorot_uniform(heads, width)) {}
  /// x [N, in], dense or sparse, to [N, heads * width].
  template <class X>
  Var operator()(const Graph& graph, const X& x) const {
    const Var h = reshape(linear(x), {-1, heads, left.size(1)});  // [N, H, D]
    const Var e = edge_add(graph, sum(h * left, 2), sum(h * right, 2));
    const Var alpha = edge_softmax(graph, leaky_relu(e, 0.2f));  // [M, H]
    return reshape(aggregate(graph, h, {.weight = alpha}), {-1, heads * left.size(1)});
  }
  int64_t heads;
  nn::Child<nn::Linear> linear;
  nn::Parameter left, right;
};

struct Gat : nn::Module {
  Gat(int64_t in, int64_t out) : conv1(this, "conv1", in, 8, 8), conv2(this, "conv2", 64, 1, out) {}
  Var operator()(const Graph& graph, const Features& x) const {
    return conv2(graph, dropout(elu(conv1(graph, dropout(x, 0.6f))), 0.6f));
  }
  nn::Child<GatConv> conv1, conv2;
};

int main(int argc, char** argv) {
  const Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  manual_seed(1);
  const Graph graph = add_self_loops(data.graph);
  const Features x = data.x.row_normalized();
  nn::Model<Gat> model(data.num_features(), data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.005, .weight_decay = 5e-4});
  optim::CapturedStep step([&] {
    Var loss = cross_entropy(model(graph, x), data.y, data.train);
    loss.backward();
    adam.step();
    return loss;
  });
  for (int epoch = 0; epoch < 150; ++epoch) step();
  model.eval();
  const NoGrad no_grad;
  const double accuracy = nn::accuracy(model(graph, x).value(), data.y, data.test);
  fmt::print("GAT: test accuracy {:.3f}\n", accuracy);
  return accuracy > 0.75 ? 0 : 1;
}
