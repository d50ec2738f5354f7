#include "measure.h"

namespace adj::apps {

namespace {

/// GCNConv layers; between them optional batch norm, relu and dropout. Input features have dropout, as in the
/// scripts of the compared frameworks, so the first aggregation cannot be cached.
struct Gcn : nn::Module {
  explicit Gcn(const Subject& s) : dropout_rate(static_cast<float>(s.dropout)) {
    for (int64_t l = 0; l < s.layers; ++l) {
      const bool last = l + 1 == s.layers;
      convs.add(
          l == 0 ? s.data.num_features() : s.hidden, last ? s.data.num_classes() : s.hidden,
          nn::GCNConvOptions{.activation = last || s.batch_norm() ? Activation::none : Activation::relu});
      if (!last && s.batch_norm()) norms.add(s.hidden);
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

/// Keeps alive everything that a training epoch needs. `Model` is a module of graph and features.
template <class Model>
struct Epoch {
  Epoch(const Subject& s, std::unique_ptr<Model> new_model) : subject(s), model(std::move(new_model)) {
    model->to(s.device());
    model->to(s.dtype);
    features = s.data.x.to(s.dtype);
    adam = std::make_unique<optim::Adam>(model->parameters(),
                                         optim::AdamOptions{.lr = 0.01, .weight_decay = 5e-4});
  }
  Var step() {
    adam->zero_grad();
    Var loss = cross_entropy((*model)(subject.graph(), features), subject.data.y, subject.data.train);
    loss.backward();
    adam->step();
    return loss;
  }

  const Subject& subject;
  std::unique_ptr<Model> model;
  Features features;
  std::unique_ptr<optim::Adam> adam;
};

template <class Model>
Job epoch_of(const Subject& s, std::unique_ptr<Model> model, const std::string& shape) {
  ADJ_CHECK(s.data.x && s.data.y && s.data.train, "training epoch: {} has no features, labels or split",
            s.data.name);
  auto epoch = std::make_shared<Epoch<Model>>(s, std::move(model));
  auto step = std::make_shared<optim::CapturedStep>([epoch] { return epoch->step(); },
                                                    optim::CapturedStep::Options{.capture = s.capture});
  return {shape, 0.0, 0.0, [step] { (*step)(); }};
}

Job gcn_epoch(const Subject& s) {
  return epoch_of(s, std::make_unique<nn::Model<Gcn>>(s),
                  fmt::format("{}-{}x{}-{}{}", s.data.num_features(), s.layers - 1, s.hidden,
                              s.data.num_classes(), s.batch_norm() ? " batch norm" : ""));
}

/// A family's model; its hidden layers have `heads` heads of width `hidden`.
Job model_epoch(const Subject& s, const models::ModelFamily& family, const std::string& name) {
  models::ModelOptions settings = family.defaults;
  settings.model = name;
  settings.hidden = s.hidden;
  settings.layers = s.layers;
  settings.heads = s.heads;
  settings.norm = s.norm;
  settings.dropout = s.dropout;
  settings.attention_dropout = s.attention_dropout;
  auto model = family.make_as<models::NodeModel>(s.data.num_features(), s.data.num_classes(), settings);
  const std::string shape = model->describe();
  return epoch_of(s, std::move(model), shape);
}

}  // namespace

std::vector<Op> epoch_ops() {
  std::vector<Op> ops{{"gcn_epoch", "one training epoch of a GCN", gcn_epoch}};
  for (const models::ModelFamily& family :
       {models::gat(), models::sage(), models::gin(), models::transformer(), models::agnn()})
    for (const std::string& model : family.models)
      ops.push_back({model + "_epoch", fmt::format("the same, the model of {}", family.program),
                     [family, model](const Subject& s) { return model_epoch(s, family, model); }});
  return ops;
}

}  // namespace adj::apps
