// Predicts which edges of a graph were hidden: embeddings by GraphSAGE, a pair's score the inner product of
// its two. Trained full-batch, and in mini-batches of sampled neighbourhoods, in which the edges to find do
// not appear:
//   link_predictor [DATASET.h5]
#include <adjoint/adjoint.h>

using namespace adj;

struct Encoder : nn::Module {
  Encoder(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
  /// One layer over a graph or a block.
  template <class Structure>
  Var layer(size_t l, const Structure& structure, const Var& x) {
    return l == 0 ? relu(conv1(structure, x)) : conv2(structure, x);
  }
  nn::Child<nn::SAGEConv> conv1, conv2;
};

/// [P]: the score of each pair of rows of z.
Var scores(const Var& z, const EdgeIndex& pairs) {
  return sum(index_select(z, pairs.src) * index_select(z, pairs.dst), 1);
}

/// The test ROC-AUC of a model after `epochs` of train(epoch, model, adam).
template <class Train>
double auc_after(int64_t epochs, const LinkSplit& split, const Tensor& x, Train&& train) {
  manual_seed(1);
  nn::Model<Encoder> model(x.size(1), 64, 32);
  model.to(x.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01});
  for (int64_t epoch = 0; epoch < epochs; ++epoch) train(epoch, model, adam);
  model.eval();
  const NoGrad no_grad;
  const Var z(infer_layer_wise(split.train, Features(x), 2,
                               [&](size_t l, const Block& block, const Features& features) {
                                 return model.layer(l, block, Var(features.dense())).value();
                               }));
  return nn::link_auc(scores(z, split.test.positive).value(), scores(z, split.test.negative).value());
}

int main(int argc, char** argv) {
  const Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  manual_seed(1);
  const Tensor x = data.x.row_normalized().to_dense();
  const LinkSplit split =
      random_link_split(data.graph, {.val = 0.05, .test = 0.1}, generator_for(Purpose::split));
  const EdgeIndex known = split.train.edge_index();

  const double full = auc_after(100, split, x, [&](int64_t, auto& model, optim::Adam& adam) {
    const EdgeIndex absent = negative_sampling(split.train, known.src.numel(),
                                               generator_for(Purpose::sample));  // new ones every time
    const Var z = model.layer(1, split.train, model.layer(0, split.train, Var(x)));
    const Var found = cat({scores(z, known), scores(z, absent)});
    Tensor label = Tensor::zeros(found.shape(), DType::f32, found.device());
    label.rows(0, known.src.numel()).fill_(1.0);
    bce_with_logits(found, label).backward();
    adam.step();
  });
  const LinkLoader loader(
      split.train, Features(x), linked_pairs(split.train),
      {.sampling = {.fanouts = {10, 10}}, .loading = {.batch_size = 256, .shuffle = true, .workers = 1}});
  const double batches = auc_after(20, split, x, [&](int64_t epoch, auto& model, optim::Adam& adam) {
    for (const LinkBatch& batch : loader.epoch(epoch)) {
      Var z(batch.x.dense());
      for (size_t l = 0; l < 2; ++l) z = model.layer(l, batch.blocks[l], z);
      bce_with_logits(scores(z, batch.pairs), batch.label).backward();
      adam.step();
    }
  });
  fmt::print("link prediction: test ROC-AUC {:.3f} full-batch, {:.3f} in mini-batches\n", full, batches);
  return full > 0.6 && batches > 0.6 ? 0 : 1;
}
