// A GCN on sampled subgraphs, with the normalisation that makes loss and sums unbiased (GraphSAINT, Zeng et
// al. 2020):
//   saint_gcn [DATASET.h5]
#include <adjoint/adjoint.h>

using namespace adj;

struct Gcn : nn::Module {
  Gcn(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
  Var operator()(const Graph& graph, const Features& x) {
    return conv2(graph, dropout(relu(conv1(graph, dropout(x, 0.5f))), 0.5f));
  }
  nn::Child<nn::GCNConv> conv1, conv2;
};

int main(int argc, char** argv) {
  Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  data.x = data.x.row_normalized();
  manual_seed(1);
  nn::Model<Gcn> model(data.num_features(), 32, data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01, .weight_decay = 5e-4});

  const SaintLoader loader(data, data.train,
                           {.sampling = {.method = SaintMethod::walk, .budget = 300, .walk_length = 2},
                            .matrix = PropagationMatrix::gcn,
                            .loading = {.steps = 4, .seed = 1, .workers = 2}});
  for (int64_t epoch = 0; epoch < 50; ++epoch)
    for (const SubgraphBatch& batch : loader.epoch(epoch)) {
      if (batch.seeds.numel() == 0) continue;
      // The batch's edges weigh what the whole's normalised adjacency has, over their probability.
      cross_entropy_sum(model(batch.graph, batch.x), batch.y, batch.seeds, batch.weight).backward();
      adam.step();  // and clears the gradients
    }

  model.eval();
  const NoGrad no_grad;
  const double accuracy = nn::accuracy(model(data.graph, data.x).value(), data.y, data.test);
  fmt::print("GCN on subgraphs: {} batches an epoch, test accuracy {:.3f}\n", loader.size(), accuracy);
  return accuracy > 0.5 ? 0 : 1;
}
