#include <adjoint/adjoint.h>

using namespace adj;

struct Gcn : nn::Module {
  Gcn(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden, nn::GCNConvOptions{.activation = Activation::relu}),
        conv2(this, "conv2", hidden, out) {}
  Var operator()(const Graph& graph, const Features& x) const {
    return conv2(graph, dropout(conv1(graph, dropout(x, 0.5f)), 0.5f));
  }
  nn::Child<nn::GCNConv> conv1, conv2;
};

int main(int argc, char** argv) {
  return run_program("first_gcn", [&] {
    const Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
    const Features x = data.x.row_normalized();
    nn::Model<Gcn> model(data.num_features(), 16, data.num_classes());
    model.to(data.device());
    optim::Adam adam(model.parameters(), {.lr = 0.01, .weight_decay = 5e-4});
    optim::CapturedStep step([&] {  // runs eagerly on the CPU; captured once on a GPU
      Var loss = cross_entropy(model(data.graph, x), data.y, data.train);
      loss.backward();
      adam.step();
      return loss;
    });
    for (int epoch = 1; epoch <= 200; ++epoch) {
      const Tensor loss = step();
      if (epoch % 50 == 0) fmt::print("epoch {}: loss {:.4f}\n", epoch, loss.item());
    }
    model.eval();
    const NoGrad no_grad;
    fmt::print("test accuracy {:.3f}\n", nn::accuracy(model(data.graph, x).value(), data.y, data.test));
  });
}
