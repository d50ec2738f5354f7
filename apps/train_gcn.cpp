#include "common.h"

#include <fmt/format.h>

using namespace adj;

/// Graph convolutional network (Kipf & Welling 2017): relu and dropout between the layers, dropout on the
/// input. With batch norm (Hu et al., Open Graph Benchmark, 2020), norm, relu and dropout are one pass, and
/// the input is left as it is, so that its aggregation is done once.
struct Gcn : nn::Module {
  Gcn(const std::vector<int64_t>& widths, double dropout_rate, bool batch_norm)
      : p(static_cast<float>(dropout_rate)) {
    for (size_t l = 0; l + 1 < widths.size(); ++l) {
      const bool last = l + 2 == widths.size();
      const Activation activation = last || batch_norm ? Activation::none : Activation::relu;
      convs.add(widths[l], widths[l + 1], true, activation);
      if (!last && batch_norm) norms.add(widths[l + 1]);
    }
  }

  Var operator()(const Graph& graph, const Features& features) {
    const float before = norms.empty() ? p : 0.0f;
    Var x = convs[0](graph, dropout(features, before));
    for (size_t l = 0; l < convs.size(); ++l) {
      if (l > 0) x = convs[l](graph, dropout(x, before));
      if (l < norms.size()) x = norms[l](x, {.activation = Activation::relu, .dropout = p});
    }
    return x;
  }

  float p;
  nn::ModuleList<nn::GCNConv> convs{this, "convs"};
  nn::ModuleList<nn::BatchNorm> norms{this, "norms"};
};

/// Adam; weight decay on all convolutions but the last, which for two layers is Kipf & Welling's choice.
std::unique_ptr<optim::Optimizer> make_adam(Gcn& model, double lr, double weight_decay) {
  optim::Group<optim::AdamOptions> decayed{{}, {.lr = lr, .weight_decay = weight_decay}};
  optim::Group<optim::AdamOptions> free{{}, {.lr = lr}};
  for (auto& conv : model.convs)
    for (const Var& parameter : conv.parameters())
      (&conv == &model.convs.back() ? free : decayed).parameters.push_back(parameter);
  for (auto& norm : model.norms)
    for (const Var& parameter : norm.parameters()) free.parameters.push_back(parameter);
  if (decayed.parameters.empty()) return std::make_unique<optim::Adam>(std::vector{free});
  return std::make_unique<optim::Adam>(std::vector{decayed, free});
}

int main(int argc, char** argv) {
  std::string norm = "none";
  apps::Program program;
  program.name = "train_gcn";
  program.summary = "Trains a graph convolutional network (Kipf & Welling 2017) to classify nodes.";
  program.options.add_options()("norm", boost::program_options::value(&norm)->default_value(norm),
                                "between the layers: none or batch");
  program.check = [&] { apps::expect_one_of("norm", norm, {"none", "batch"}); };
  program.make = [&](const Dataset& data, const apps::Settings& settings) {
    const std::vector<int64_t> widths = apps::widths_of(data, settings);
    auto model = std::make_unique<nn::Model<Gcn>>(widths, settings.dropout, norm == "batch");
    model->to(data.device());
    apps::Training training;
    training.name = fmt::format("GCN {}{}", apps::dashed(widths), norm == "batch" ? " batch-norm" : "");
    training.logits = [&gcn = *model, graph = data.graph, x = data.x] { return gcn(graph, x); };
    training.optimizer = make_adam(*model, settings.lr, settings.weight_decay);
    training.module = std::move(model);
    return training;
  };
  return apps::train(argc, argv, program);
}
