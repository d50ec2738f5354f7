#include "measure.h"

namespace adj::apps {

namespace {

/// GCNConv layers; between them batch norm, or none, relu and dropout. Features are dropped too, as in the
/// peers' script, so that the first aggregation is new at every step.
struct Gcn : nn::Module {
  explicit Gcn(const Subject& s) : dropout_rate(static_cast<float>(s.dropout)) {
    for (int64_t l = 0; l < s.layers; ++l) {
      const bool last = l + 1 == s.layers;
      convs.add(l == 0 ? s.data.num_features() : s.hidden, last ? s.data.num_classes() : s.hidden, true,
                last || s.batch_norm ? Activation::none : Activation::relu);
      if (!last && s.batch_norm) norms.add(s.hidden);
    }
  }

  Var operator()(const Graph& graph, const Features& features) {
    Var x = convs[0](graph, adj::dropout(features, dropout_rate));
    for (size_t l = 0; l < convs.size(); ++l) {
      if (l > 0) x = convs[l](graph, norms.empty() ? adj::dropout(x, dropout_rate) : x);
      if (l < norms.size()) x = norms[l](x, {.activation = Activation::relu, .dropout = dropout_rate});
    }
    return x;
  }

  float dropout_rate;
  nn::ModuleList<nn::GCNConv> convs{this, "convs"};
  nn::ModuleList<nn::BatchNorm> norms{this, "norms"};
};

/// Everything that a training epoch needs to stay alive.
struct Epoch {
  explicit Epoch(const Subject& s) : subject(s), model(subject) {
    model.to(s.device());
    adam = std::make_unique<optim::Adam>(model.parameters(),
                                         optim::AdamOptions{.lr = 0.01, .weight_decay = 5e-4});
  }
  Var step() {
    adam->zero_grad();
    Var loss = cross_entropy(model(subject.graph(), subject.data.x), subject.data.y, subject.data.train);
    loss.backward();
    adam->step();
    return loss;
  }

  const Subject& subject;
  nn::Model<Gcn> model;
  std::unique_ptr<optim::Adam> adam;
};

Job gcn_epoch(const Subject& s) {
  ADJ_CHECK(s.data.x && s.data.y && s.data.train, "gcn_epoch: {} has no features, labels or split",
            s.data.name);
  auto epoch = std::make_shared<Epoch>(s);
  auto step = std::make_shared<optim::TrainStep>([epoch] { return epoch->step(); },
                                                 optim::TrainStep::Options{.capture = s.capture});
  return {fmt::format("{}-{}x{}-{}{}", s.data.num_features(), s.layers - 1, s.hidden, s.data.num_classes(),
                      s.batch_norm ? " batch norm" : ""),
          0.0, 0.0, [step] { (*step)(); }};
}

}  // namespace

std::vector<Op> epoch_ops() { return {{"gcn_epoch", "one training epoch of a GCN", gcn_epoch}}; }

}  // namespace adj::apps
