#include "../support.h"
#include <adjoint/models/family.h>

#include <cmath>

using namespace adj;
using namespace adj::test;
using models::ModelOptions;

namespace {

using Texts = std::map<std::string, std::string>;

ModelOptions read(const std::vector<std::string>& names, const Texts& texts) {
  ModelOptions options;
  models::read_options(options, models::model_options(names), texts);
  return options;
}

std::vector<std::string> names_of(const std::vector<models::ModelOption>& options) {
  std::vector<std::string> names;
  for (const models::ModelOption& option : options) names.push_back(option.name);
  return names;
}

/// The error of a family for these options; empty if they are in range.
std::string refused(const models::ModelFamily& family, const ModelOptions& options) {
  try {
    family.check(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("each option of models is read into its own field") {
  const Texts texts{{"model", "gatv2"},
                    {"hidden", "11"},
                    {"layers", "12"},
                    {"dropout", "0.13"},
                    {"norm", "layer"},
                    {"residual", "true"},
                    {"heads", "14"},
                    {"output-heads", "15"},
                    {"attention-dropout", "0.16"},
                    {"aggr", "pool"},
                    {"train-eps", "1"},
                    {"gate", "false"},
                    {"bits", "8,4"},
                    {"bits-weights", "3"},
                    {"bits-activations", "2"},
                    {"scales", "running"},
                    {"degree-quant", "0.17"},
                    {"degree-quant-least", "0.18"},
                    {"embedding", "21"},
                    {"decoder", "mlp"},
                    {"pool", "max"},
                    {"node-features", "random-walk"},
                    {"walk-steps", "22"}};
  std::vector<std::string> names;
  for (const auto& [name, text] : texts) names.push_back(name);
  const ModelOptions o = read(names, texts);
  CHECK(o.model == "gatv2");
  CHECK(o.hidden == 11);
  CHECK(o.layers == 12);
  CHECK(o.dropout == 0.13);
  CHECK(o.norm == models::Norm::layer);
  CHECK(o.residual);
  CHECK(o.heads == 14);
  CHECK(o.output_heads == 15);
  CHECK(o.attention_dropout == 0.16);
  CHECK(o.aggr == models::SageAggregation::pool);
  CHECK(o.train_eps);
  CHECK_FALSE(o.gate);
  CHECK(o.quantized.bits == "8,4");
  CHECK(o.quantized.bits_weights == "3");
  CHECK(o.quantized.bits_activations == "2");
  CHECK(o.quantized.scales == nn::Scales::running);
  CHECK(o.quantized.degree_quant == 0.17);
  CHECK(o.quantized.degree_quant_least == 0.18);
  CHECK(o.links.embedding == 21);
  CHECK(o.links.decoder == models::Decoder::mlp);
  CHECK(o.graphs.pool == nn::GraphPool::max);
  CHECK(o.node_features == models::NodeFeatures::random_walk);
  CHECK(o.walk_steps == 22);
  CHECK_FALSE(read({"residual"}, {{"residual", "0"}}).residual);
}

TEST_CASE("options that are missing, or no number, flag or known word, are refused by name") {
  const auto wrong = [](const std::string& name, const Texts& texts) {
    return error_of<UsageError>([&] { (void)read({name}, texts); });
  };
  CHECK(wrong("heads", {}) == "--heads: missing");
  CHECK(wrong("heads", {{"heads", "1.5"}}) == "--heads: expected an integer from 1 to 4096, got '1.5'");
  CHECK(wrong("dropout", {{"dropout", "half"}}) == "--dropout: expected a number in [0, 1), got 'half'");
  CHECK(wrong("gate", {{"gate", "yes"}}) == "--gate: expected true or false, got 'yes'");
  CHECK(wrong("norm", {{"norm", "sum"}}) ==
        "--norm: expected none or batch or layer or sums, got 'sum'; did you mean 'sums'?");
  CHECK(wrong("pool", {{"pool", "min"}})
            .starts_with(
                "--pool: expected sum or mean or max or attention or set2set or topk or sag, got 'min'"));
  CHECK(refused(models::gcn(), {.norm = models::Norm::layer}) ==
        "--norm: expected none or batch, got 'layer'");
  CHECK_ERROR((void)models::model_option("width"), "no model has an option 'width'");
  CHECK(models::model_option("aggr", "other help").help == "other help");
  CHECK(models::model_option("aggr").help == "aggregation of neighbours: mean, max or pool");
}

TEST_CASE("families: their options, names and defaults") {
  using Names = std::vector<std::string>;
  const std::tuple<models::ModelFamily, Names, Names> expected[] = {
      {models::gcn(), {"gcn"}, {"norm"}},
      {models::gat(),
       {"gat", "gatv2"},
       {"model", "heads", "attention-dropout", "output-heads", "norm", "residual"}},
      {models::sage(), {"sage"}, {"aggr", "norm", "residual"}},
      {models::gin(), {"gin", "gine"}, {"model", "train-eps", "norm", "residual"}},
      {models::transformer(), {"transformer"}, {"heads", "attention-dropout", "gate", "norm", "residual"}},
      {models::agnn(), {"agnn"}, {}},
      {models::graph_gin(), {"graph-gin", "graph-gine"}, {"model", "train-eps", "pool", "pool-ratio"}},
      {models::link(),
       {"gcn", "sage", "gat", "rgcn", "rgat", "hgt"},
       {"model", "embedding", "decoder", "aggr", "heads", "attention-dropout", "bases", "inputs"}},
      {models::edge(), {"gcn", "sage", "gat"}, {"model", "embedding", "aggr", "heads", "attention-dropout"}},
      {models::qgnn(),
       {"gcn", "gin"},
       {"model", "bits", "bits-weights", "bits-activations", "scales", "norm", "degree-quant",
        "degree-quant-least"}},
      {models::graph_qgin(), {"graph-qgin"}, {"bits", "bits-weights", "bits-activations", "scales", "pool"}},
      {models::rgcn(), {"rgcn", "rgat"}, {"model", "bases", "inputs", "norm", "heads", "attention-dropout"}},
      {models::hgt(), {"hgt"}, {"heads"}},
      {models::gps(), {"gps"}, {"heads", "attention-dropout"}},
      {models::graph_gps(), {"graph-gps"}, {"heads", "attention-dropout", "pool", "pool-ratio"}}};
  std::vector<std::string> programs;
  for (const auto& [family, model_names, names] : expected) {
    CAPTURE(family.program);
    CHECK(family.models == model_names);
    Names all = names;
    for (const char* common : {"hidden", "layers", "dropout", "node-features", "walk-steps"})
      all.push_back(common);
    const bool of_pairs = family.takes("embedding");
    if (family.typed.empty() && !of_pairs && !family.takes("bits"))
      all.insert(all.end(), {"positional", "positional-size"});
    CHECK(names_of(family.all_options()) == all);
    CHECK(family.takes("norm") == (std::find(names.begin(), names.end(), "norm") != names.end()));
    CHECK_FALSE(family.takes("hidden"));
    const bool quantised = family.program.find("_q") != std::string::npos;
    CHECK(family.in_pyg == !(quantised || family.program == "train_link" || family.program == "train_edge" ||
                             family.program.ends_with("gps") || !family.typed.empty()));
    CHECK(refused(family, family.defaults) == "");
    programs.push_back(family.program);
  }
  std::vector<std::string> found;
  for (const models::ModelFamily& family : models::families()) found.push_back(family.program);
  std::sort(found.begin(), found.end());
  std::sort(programs.begin(), programs.end());
  CHECK(found == programs);
  CHECK_ERROR_HAS((void)models::gcn().make_as<models::GraphModel>(3, 2, {}),
                  "GCN 3-16-2 is a model of another task");
}

TEST_CASE("families refuse options out of range, and take those at its ends") {
  struct Range {
    models::ModelFamily family;
    std::string option;
    std::vector<std::string> in, out;
  };
  const std::vector<std::string> widths{"1", "1048576"}, no_widths{"0", "1048577"};
  const std::vector<std::string> shares{"0", "0.999"}, no_shares{"-0.1", "1", "nan"};
  const Range ranges[] = {{models::gcn(), "hidden", widths, no_widths},
                          {models::gcn(), "layers", {"1", "1000"}, {"0", "1001"}},
                          {models::gcn(), "dropout", shares, no_shares},
                          {models::gcn(), "norm", {"none", "batch"}, {"layer", ""}},
                          {models::sage(), "norm", {"none", "batch", "layer"}, {"sums"}},
                          {models::sage(), "aggr", {"mean", "max", "pool"}, {"sum"}},
                          {models::gin(), "norm", {"layer"}, {"sums"}},
                          {models::gat(), "model", {"gat", "gatv2"}, {"gcn"}},
                          {models::gat(), "heads", {"1", "4096"}, {"0", "4097"}},
                          {models::gat(), "output-heads", {"1", "4096"}, {"0", "4097"}},
                          {models::gat(), "attention-dropout", shares, no_shares},
                          {models::gat(), "norm", {"layer"}, {"sums"}},
                          {models::transformer(), "heads", {"4096"}, {"0"}},
                          {models::transformer(), "norm", {"batch"}, {"sums"}},
                          {models::graph_gin(), "pool", {"sum", "mean", "max"}, {"min"}},
                          {models::graph_gin(),
                           "node-features",
                           {"file", "constant", "degree", "one-hot-degree", "random-walk"},
                           {"one", "learned"}},
                          {models::gat(), "node-features", {"random-walk", "learned"}, {"walk"}},
                          {models::qgnn(), "node-features", {"random-walk"}, {"learned"}},
                          {models::link(), "walk-steps", {"1", "1000"}, {"0", "1001"}},
                          {models::graph_qgin(), "pool", {"max"}, {"min"}},
                          {models::graph_qgin(), "bits", {"1", "8,4,2,32"}, {"8,4", "9"}},
                          {models::link(), "embedding", {"0", "1048576"}, {"-1", "1048577"}},
                          {models::link(), "decoder", {"dot", "mlp"}, {"sum"}},
                          {models::link(), "model", {"gcn", "sage", "gat", "hgt"}, {"gin"}},
                          {models::qgnn(), "norm", {"none", "batch", "sums"}, {"layer"}},
                          {models::qgnn(),
                           "bits",
                           {"1", "8", "32", "8,1", "32,4"},
                           {"0", "9", "31", "33", "8,", ",8", "8,4,2", "", "x", "8 ,4"}},
                          {models::qgnn(), "bits-weights", {"auto", "8", "3,4"}, {"9", "1,2,3"}},
                          {models::qgnn(), "bits-activations", {"auto", "32"}, {"0", "1,2,3"}},
                          {models::qgnn(), "scales", {"learned", "running"}, {"fixed"}},
                          {models::qgnn(), "degree-quant", shares, no_shares},
                          {models::qgnn(), "degree-quant-least", {"0"}, {"0.1", "-0.1"}}};
  for (const Range& range : ranges)
    for (const bool valid : {true, false})
      for (const std::string& text : valid ? range.in : range.out) {
        CAPTURES(range.family.program, range.option, text);
        ModelOptions o = range.family.defaults;
        o.model = range.family.models.front();
        const std::string message = error_of<UsageError>([&] {
          models::read_options(o, {models::model_option(range.option)}, {{range.option, text}});
          range.family.check(o);
        });
        CHECK(message.empty() == valid);
        if (!valid) CHECK(mentions(message, "--" + range.option));
      }
}
