// A graph isomorphism network (Xu et al. 2019) whose ε is learned, and a run that can be interrupted:
//   gin [DATASET.h5] [CHECKPOINT.h5]
#include <adjoint/adjoint.h>
#include <adjoint/training/training_state.h>

using namespace adj;

/// MLP((1 + ε) x_i + Σ_j x_j), eq. 4.1.
struct GinConv : nn::Module {
  GinConv(int64_t in, int64_t out)
      : eps(this, "eps", Tensor::zeros({1})), mlp(this, "mlp", std::vector<int64_t>{in, out, out}) {}
  Var operator()(const Graph& graph, const Var& x) const {
    return mlp((1.0 + eps) * x + aggregate(graph, x));
  }
  nn::Parameter eps;
  nn::Child<nn::MLP> mlp;
};

struct Gin : nn::Module {
  Gin(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden),
        conv2(this, "conv2", hidden, hidden),
        last(this, "last", hidden, out) {}
  Var operator()(const Graph& graph, const Var& x) const {
    const Var h = relu(conv1(graph, dropout(x, 0.5f)));
    return last(dropout(relu(conv2(graph, h)), 0.5f));
  }
  nn::Child<GinConv> conv1, conv2;
  nn::Child<nn::Linear> last;
};

int main(int argc, char** argv) {
  const Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  const std::string checkpoint = argc > 2 ? argv[2] : "";
  manual_seed(1);
  const Var x(data.x.row_normalized().to_dense());
  nn::Model<Gin> model(data.num_features(), 32, data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01, .weight_decay = 5e-4});
  training::TrainingState state("gin", model, adam);
  state.require(data);
  int64_t epoch = checkpoint.empty() ? 0 : state.resume_if_exists(checkpoint);

  optim::CapturedStep step([&] {
    Var loss = cross_entropy(model(data.graph, x), data.y, data.train);
    loss.backward();
    adam.step();  // and clears the gradients
    return loss;
  });
  for (; epoch < 100; ++epoch) {
    step();
    if (!checkpoint.empty() && (epoch + 1) % 20 == 0) state.save(checkpoint, epoch + 1);
  }
  model.eval();
  const NoGrad no_grad;
  const double accuracy = nn::accuracy(model(data.graph, x).value(), data.y, data.test);
  fmt::print("GIN: eps {:.4f} and {:.4f}, test accuracy {:.3f}\n", model.conv1.eps.item(),
             model.conv2.eps.item(), accuracy);
  return accuracy > 0.5 && model.conv1.eps.item() != 0.0 ? 0 : 1;
}
