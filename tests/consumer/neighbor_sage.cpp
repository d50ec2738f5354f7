// GraphSAGE (Hamilton et al. 2017) on sampled neighbourhoods, evaluated layer by layer:
//   neighbor_sage [DATASET.h5]
#include <adjoint/adjoint.h>

using namespace adj;

struct Sage : nn::Module {
  Sage(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
  /// One layer over a block, whose targets are the first of its sources.
  Var layer(size_t l, const Block& block, const Var& x) {
    return l == 0 ? dropout(relu(conv1(block, x)), 0.5f) : conv2(block, x);
  }
  nn::Child<nn::SAGEConv> conv1, conv2;
};

int main(int argc, char** argv) {
  Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  data.x = data.x.row_normalized();
  manual_seed(1);
  nn::Model<Sage> model(data.num_features(), 32, data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01, .weight_decay = 5e-4});

  const NeighborLoader loader(data, data.train,
                              {.sampling = {.fanouts = {10, 5}},
                               .loading = {.batch_size = 32, .shuffle = true, .seed = 1, .workers = 2}});
  for (int64_t epoch = 0; epoch < 30; ++epoch)
    for (const NeighborBatch& batch : loader.epoch(epoch)) {
      Var h(batch.x.to_dense());
      for (size_t l = 0; l < batch.blocks.size(); ++l) h = model.layer(l, batch.blocks[l], h);
      cross_entropy(h, batch.y).backward();
      adam.step();  // and clears the gradients
    }

  model.eval();
  const NoGrad no_grad;
  const auto layer = [&](size_t l, const Block& block, const Features& x) {
    return model.layer(l, block, Var(x.to_dense())).value();
  };
  const Tensor logits = infer_layer_wise(data.graph, data.x, 2, layer);
  const double accuracy = nn::accuracy(logits, data.y, data.test);
  fmt::print("sampled GraphSAGE: {} batches an epoch, test accuracy {:.3f}\n", loader.size(), accuracy);
  return accuracy > 0.5 ? 0 : 1;
}
