// A GCN on subgraphs: clusters of a partition (Cluster-GCN, Chiang et al. 2019), and sampled ones, with the
// normalisation that makes loss and sums unbiased (GraphSAINT, Zeng et al. 2020):
//   subgraph_gcn [DATASET.h5]
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

/// Trains a model on the loader's batches; returns its test accuracy on the whole graph.
double accuracy_with(const Loader<SubgraphBatch>& loader, const Dataset& data) {
  manual_seed(1);
  nn::Model<Gcn> model(data.num_features(), 32, data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01, .weight_decay = 5e-4});
  for (int64_t epoch = 0; epoch < 50; ++epoch)
    for (const SubgraphBatch& batch : loader.epoch(epoch)) {
      if (batch.seeds.numel() == 0) continue;  // no node to train on
      const Var logits = model(batch.graph, batch.x);
      // The weights of sampled seeds make the sum an estimate of the mean over all seeds.
      (batch.weight ? cross_entropy_sum(logits, batch.y, batch.seeds, batch.weight)
                    : cross_entropy(logits, batch.y, batch.seeds))
          .backward();
      adam.step();  // and clears the gradients
    }
  model.eval();
  const NoGrad no_grad;
  return nn::accuracy(model(data.graph, data.x).value(), data.y, data.test);
}

int main(int argc, char** argv) {
  Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  data.x = data.x.row_normalized();
  const LoaderOptions loading{
      .batch_size = 5, .shuffle = true, .seed = 1, .workers = 2, .derive = [](const Graph& graph) {
        (void)graph.gcn_adjacency();
      }};
  const double clusters =
      accuracy_with(ClusterLoader(data, data.train, {.parts = 20, .loading = loading}), data);
  // With the matrix of the model's sums, a batch's edge weights are its entries over their probability.
  const double sampled =
      accuracy_with(SaintLoader(data, data.train,
                                {.sampling = {.method = SaintMethod::walk, .budget = 300, .walk_length = 2},
                                 .matrix = PropagationMatrix::gcn,
                                 .loading = {.steps = 4, .seed = 1, .workers = 2}}),
                    data);
  fmt::print("GCN: test accuracy {:.3f} on clusters, {:.3f} on sampled subgraphs\n", clusters, sampled);
  return clusters > 0.5 && sampled > 0.5 ? 0 : 1;
}
