// Predicts which edges of a graph were hidden: node embeddings by GCN, a pair's score their inner product.
#include <adjoint/adjoint.h>

using namespace adj;

struct Encoder : nn::Module {
  Encoder(int64_t in, int64_t hidden, int64_t out)
      : conv1(this, "conv1", in, hidden, nn::GCNConvOptions{.activation = Activation::relu}),
        conv2(this, "conv2", hidden, out) {}
  Var operator()(const Graph& graph, const Features& x) { return conv2(graph, conv1(graph, x)); }
  nn::Child<nn::GCNConv> conv1, conv2;
};

/// [K]: the score of each pair src[k], dst[k].
Var scores(const Var& z, const EdgeIndex& pairs) {
  return sum(index_select(z, pairs.src) * index_select(z, pairs.dst), 1);
}

double auc(const Var& z, const LinkExamples& pairs) {
  return nn::link_auc(scores(z, pairs.positive).value(), scores(z, pairs.negative).value());
}

int main(int argc, char** argv) {
  const Dataset data = (argc > 1 ? load_dataset(argv[1]) : load_demo_dataset()).to(Device::best());
  manual_seed(1);
  const Features x = data.x.row_normalized();
  const LinkSplit split =
      random_link_split(data.graph, {.val = 0.05, .test = 0.1}, generator_for(Purpose::split));
  const EdgeIndex known = split.train.edge_index();

  nn::Model<Encoder> model(data.num_features(), 64, 32);
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01});
  double best = 0.0, test = 0.0;
  for (int epoch = 1; epoch <= 100; ++epoch) {
    model.train();
    const EdgeIndex absent = negative_sampling(split.train, known.src.numel(),
                                               generator_for(Purpose::sample));  // new ones every time
    const Var z_train = model(split.train, x);
    const Var found = cat({scores(z_train, known), scores(z_train, absent)});
    Tensor label = Tensor::zeros(found.shape(), DType::f32, found.device());
    label.rows(0, known.src.numel()).fill_(1.0);
    bce_with_logits(found, label).backward();
    adam.step();
    if (epoch % 5 != 0) continue;
    model.eval();
    const NoGrad no_grad;
    const Var z = model(split.train, x);
    if (const double val = auc(z, split.val); val > best) {
      best = val;
      test = auc(z, split.test);
    }
  }
  fmt::print("link prediction: test ROC-AUC {:.3f}\n", test);
  return test > 0.6 ? 0 : 1;
}
