// GraphSAGE (Hamilton et al. 2017) on sampled neighbourhoods, evaluated layer by layer, with features in
// memory and, if they are dense, with features that stay in their file:
//   neighbor_sage [DATASET.h5]
#include <adjoint/adjoint.h>

#include <filesystem>

using namespace adj;

struct Sage : nn::Module {
  Sage(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
  /// One layer over a block, whose targets are the first of its sources.
  Var layer(size_t l, const Block& block, const nn::Sides& x) {
    return l == 0 ? dropout(relu(conv1(block, x)), 0.5f) : conv2(block, x);
  }
  nn::Child<nn::SAGEConv> conv1, conv2;
};

/// A dataset to learn from, where none is named.
std::string made_dataset() {
  const std::string path = std::filesystem::temp_directory_path() / "adjoint_neighbor_sage.h5";
  save_dataset(make_planted_dataset({.nodes = 5000, .classes = 5, .features = 64, .signal = 2.0}), path);
  return path;
}

/// Trains a model on batches with features from `x`; returns its test accuracy.
double accuracy_with(const FeatureInput& x, const Dataset& data) {
  manual_seed(1);
  nn::Model<Sage> model(data.num_features(), 32, data.num_classes());
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01});
  const NeighborLoader loader(
      data.graph, x, data.y, data.train,
      {.sampling = {.fanouts = {10, 5}}, .loading = {.batch_size = 256, .shuffle = true, .workers = 2}});
  for (int64_t epoch = 0; epoch < 5; ++epoch)
    for (const NeighborBatch& batch : loader.epoch(epoch)) {
      const Var h = model.layer(0, batch.blocks[0], batch.x);
      cross_entropy(model.layer(1, batch.blocks[1], h), batch.y).backward();
      adam.step();  // and clears the gradients
    }
  model.eval();
  const NoGrad no_grad;
  const auto layer = [&](size_t l, const Block& block, const Features& h) {
    return model.layer(l, block, h).value();
  };
  return nn::accuracy(infer_layer_wise(data.graph, x, 2, layer), data.y, data.test);
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : made_dataset();
  const Dataset whole = load_dataset(path).to(Device::best());
  const double memory = accuracy_with(whole.x, whole);
  fmt::print("GraphSAGE: test accuracy {:.3f}\n", memory);
  if (whole.x.is_sparse()) return memory > 0.5 ? 0 : 1;
  const Dataset data = load_dataset(path, {.features_in_file = true}).to(Device::best());
  const auto in_file = make_file_store(data.x_in_file, data.device(),
                                       {.count = data.num_nodes() / 10,  // rows that are kept on the device
                                        .hotness = data.graph.out_degrees().to(DType::f32)});
  const double file = accuracy_with(in_file, data);
  fmt::print("features left in {}: {:.3f}\n", data.x_in_file.str(), file);
  if (argc == 1) std::filesystem::remove(path);
  return memory > 0.5 && file == memory ? 0 : 1;
}
