// Predicts which edges of a graph were hidden, in mini-batches: embeddings by GraphSAGE of sampled
// neighbourhoods, in which the edges to find do not appear; a pair's score is the inner product of its two.
#include <adjoint/adjoint.h>

using namespace adj;

struct Encoder : nn::Module {
  Encoder(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden), conv2(this, "conv2", hidden, out) {}
  Var layer(size_t l, const Block& block, const Var& x) {
    return l == 0 ? relu(conv1(block, x)) : conv2(block, x);
  }
  nn::Child<nn::SAGEConv> conv1, conv2;
};

/// [P]: the score of each pair of rows of z.
Var scores(const Var& z, const EdgeIndex& pairs) {
  return sum(index_select(z, pairs.src) * index_select(z, pairs.dst), 1);
}

int main(int argc, char** argv) {
  const Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  manual_seed(1);
  const Features x(data.x.row_normalized().to_dense());
  const LinkSplit split =
      random_link_split(data.graph, {.val = 0.05, .test = 0.1}, generator_for(Purpose::split));
  nn::Model<Encoder> model(data.num_features(), 64, 32);
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01});
  const LinkLoader loader(
      split.train, x, linked_pairs(split.train),
      {.sampling = {.fanouts = {10, 10}}, .loading = {.batch_size = 256, .shuffle = true, .workers = 1}});
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    for (const LinkBatch& batch : loader.epoch(epoch)) {
      Var z(batch.x.dense());
      for (size_t l = 0; l < 2; ++l) z = model.layer(l, batch.blocks[l], z);
      bce_with_logits(scores(z, batch.pairs), batch.label).backward();
      adam.step();
    }

  model.eval();
  const NoGrad no_grad;
  const Var z(infer_layer_wise(split.train, x, 2, [&](size_t l, const Block& block, const Features& of) {
    return model.layer(l, block, Var(of.dense())).value();
  }));
  const double auc =
      nn::link_auc(scores(z, split.test.positive).value(), scores(z, split.test.negative).value());
  fmt::print("link prediction in mini-batches: test ROC-AUC {:.3f}\n", auc);
  return auc > 0.6 ? 0 : 1;
}
