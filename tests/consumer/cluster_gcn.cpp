// A GCN on clusters of a partition (Cluster-GCN, Chiang et al. 2019):
//   cluster_gcn [DATASET.h5]
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

  const ClusterLoader loader(
      data, data.train,
      {.parts = 20,
       .loading = {
           .batch_size = 5, .shuffle = true, .seed = 1, .workers = 2, .derive = [](const Graph& graph) {
             (void)graph.gcn_adjacency();
           }}});
  for (int64_t epoch = 0; epoch < 50; ++epoch)
    for (const SubgraphBatch& batch : loader.epoch(epoch)) {
      if (batch.seeds.numel() == 0) continue;  // no node to train on
      cross_entropy(model(batch.graph, batch.x), batch.y, batch.seeds).backward();
      adam.step();  // and clears the gradients
    }

  model.eval();
  const NoGrad no_grad;
  const double accuracy = nn::accuracy(model(data.graph, data.x).value(), data.y, data.test);
  fmt::print("GCN on clusters: {} batches an epoch, test accuracy {:.3f}\n", loader.size(), accuracy);
  return accuracy > 0.5 ? 0 : 1;
}
