#include "options.h"

#include "../common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>
#include <adjoint/training.h>

#include <fmt/ranges.h>

namespace adj::apps {

using namespace training;

namespace po = boost::program_options;

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

std::vector<models::ModelFamily> pyg_families() {
  std::vector<models::ModelFamily> all = models::families();
  std::erase_if(all, [](const models::ModelFamily& family) { return !family.in_pyg; });
  return all;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const models::ModelFamily& family : pyg_families())
    names.insert(names.end(), family.models.begin(), family.models.end());
  return names;
}

/// The value of --model, read before that model's options are known.
std::string model_of(int argc, char** argv) {
  std::string model;
  const po::options_description only = table_of({{"model", &model, "NAME", ""}});
  constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  po::store(po::command_line_parser(argc, argv).options(only).style(kStyle).allow_unregistered().run(),
            values);
  po::notify(values);
  return model;
}

models::ModelFamily family_named(const std::string& model) {
  expect_one_of("model", model, model_names());
  std::vector<models::ModelFamily> all = pyg_families();
  return *std::find_if(all.begin(), all.end(), [&](const models::ModelFamily& family) {
    return std::find(family.models.begin(), family.models.end(), model) != family.models.end();
  });
}

/// "convs.0=conv1" as a pair: name in this model, name in the state.
std::pair<std::string, std::string> renaming(const std::string& text) {
  const size_t position = text.find('=');
  if (position == std::string::npos || position == 0 || position + 1 == text.size())
    usage_fail("--rename: expected OURS=THEIRS, got '{}'", text);
  return {text.substr(0, position), text.substr(position + 1)};
}

/// Features elsewhere than on the device imply evaluation by layers.
void check_batches(PredictOptions& o) {
  BatchOptions& s = o.batches;
  (void)s.num_workers(o.device);
  if (s.evaluation == EvaluationMethod::automatic)
    s.evaluation = s.features == FeaturePlace::device ? EvaluationMethod::graph : EvaluationMethod::layers;
  s.check_features(o.device);
  const BatchOptions usual;
  for (const auto& [name, changed] :
       {std::pair("batch-size", s.batch_size != usual.batch_size), {"workers", s.workers != usual.workers}})
    if (changed && s.evaluation == EvaluationMethod::graph)
      usage_fail("--{}: requires --evaluation layers", name);
}

void check(PredictOptions& o, const std::vector<std::string>& renamed) {
  if (o.checkpoint.empty() == o.pyg_state.empty()) usage_fail("expected either --checkpoint or --pyg-state");
  if (o.data.empty()) usage_fail("--data: expected a file");
  const bool others = !o.embeddings.empty() || !o.attention.empty();
  if (o.out.empty() && (!others || !o.pairs.empty() || o.missing_links != 0))
    usage_fail("--out: expected a file");
  if (o.pyg_state.empty() != o.model.empty())
    usage_fail("--pyg-state and --model require each other: a checkpoint names its own model");
  if (!o.pyg_state.empty()) {
    o.family.check(o.options);
  } else {
    for (const auto& [name, enabled] :
         {std::pair("features-scaling", o.features_scaling != FeatureScaling::Kind::none),
          {"task", o.task != Task::none},
          {"outputs", o.outputs != 0},
          {"rename", !renamed.empty()}})
      if (enabled) usage_fail("--{}: requires --pyg-state, a checkpoint holds its own", name);
  }
  for (const std::string& text : renamed) o.names.insert(renaming(text));
  check_batches(o);
  if (!o.pairs.empty() && o.missing_links > 0)
    usage_fail("--pairs and --missing-links: expected one of them, as there is one --out");
  if (!o.pairs.empty() && !o.nodes.empty()) usage_fail("--nodes: --pairs already says which nodes");
  if (o.text.any() && o.pairs.empty() && o.nodes.empty())
    usage_fail("--comment, --encoding, --separator, --decimal: require --pairs or --nodes");
  (void)o.text.format();
  if (o.split != "auto" && !split_number(o.split)) usage_fail("--split: expected a number, got 'all'");
  RunFiles files;
  files.read("data", o.data);
  files.read("checkpoint", o.checkpoint);
  files.read("pyg-state", o.pyg_state);
  files.read("pairs", input_file(o.pairs));
  if (is_input(o.nodes)) files.read("nodes", input_file(o.nodes));
  for (const auto& [name, path] :
       {std::pair("out", &o.out), {"embeddings", &o.embeddings}, {"attention", &o.attention}}) {
    if (path->empty()) continue;
    files.write(name, *path);
    expect_predictions_path(name, *path);
  }
}

}  // namespace

std::optional<PredictOptions> read_predict_options(int argc, char** argv) {
  PredictOptions o;
  OptionList options{
      {"checkpoint", &o.checkpoint, "FILE", "checkpoint of a training"},
      {"data", &o.data, "FILE",
       "dataset in HDF5 with the same number of features, also as the first argument; needs no labels or "
       "splits"},
      {"out", &o.out, "FILE",
       "write the predictions for every node or graph: FILE.csv, FILE.jsonl or FILE.h5"},
      {"nodes", &o.nodes, "FILE|LIST",
       "only these nodes, in this order: a file of names, one per line, or names separated by commas; for a "
       "model of graphs, names of graphs, or numbers of those without names"},
      {"pairs", &o.pairs, "FILE",
       "for a model of links: a table of node names, source and target, whose probability of an edge is "
       "written to --out"},
      {"missing-links", &o.missing_links, "K",
       "for a model of links: write the K most likely pairs that are no edges; with --nodes K for each of "
       "these nodes. Scores all pairs, N (N - 1) / 2, or N per node",
       true, IntegerRange{0, kMost}},
      {"top", &o.top, "K",
       "for a model of train_recommend: write the K best items (0: 10) for each user, or with --nodes for "
       "these "
       "users, without those that the training or the dataset has for them",
       true, IntegerRange{0, kMost}},
      {"embeddings", &o.embeddings, "FILE",
       "write the last hidden layer of every node or graph, for a model of links what its decoder compares: "
       "FILE.csv, FILE.jsonl, FILE.h5 or FILE.npy"},
      {"attention", &o.attention, "FILE",
       "write how much each node attends to each neighbour, a row for each edge and self-loop, a column for "
       "each layer and head, to FILE.csv, FILE.jsonl or FILE.h5; of GAT, GATv2, Transformer and AGNN"},
      escape_formulas_option(o.escape_formulas),
      {"split", &o.split, "K",
       "split of the dataset on whose test nodes the metric is computed; auto: that of the training, or "
       "without one the first"},
      {"device", &o.device, "NAME", "cpu, cuda or cuda:1"},
      {"threads", &o.threads, "N", "CPU threads (0: all cores)", true, IntegerRange{0, kMaxThreads}},
      {"json", &o.json, "", "print one JSON object at the end"},
      {"quiet", &o.quiet, "", "print nothing; with --json only the object"},
      {"class-scores", &o.class_scores, "",
       "precision, recall and F1 of each class on the split's test nodes, or without splits on all labelled "
       "ones"}};
  options += o.text.list("of --pairs and --nodes");
  po::options_description all = table_of(options);
  all.add_options()("version", "print the version")(
      "help", "print this help; with --model NAME also the model's own options");
  OptionList batches{
      {"evaluation", Choice(&o.batches.evaluation, {EvaluationMethod::graph, EvaluationMethod::layers}),
       "METHOD",
       "graph (full batch; the default) or layers (layer by layer over all nodes, in batches with all "
       "neighbours; required by --features host and file)"},
      {"batch-size", &o.batches.batch_size, "N", "nodes per batch of a layer", true, IntegerRange{1, kMost}},
      workers_option(o.batches.workers)};
  batches += o.batches.features_list();
  std::vector<std::string> renamed;
  po::options_description foreign =
      table_of({{"pyg-state", &o.pyg_state, "FILE",
                 "its state dict, a .safetensors file or the output of data/to_adjoint.py state"},
                {"model", &o.model, "NAME", fmt::format("{}", fmt::join(model_names(), ", "))},
                {"features-scaling", &o.features_scaling, "HOW",
                 "none, rows (divide each row by its sum), standard (by the columns' mean and standard "
                 "deviation over the dataset's training rows), real (the same for columns with numbers other "
                 "than 0 and 1) or auto (rows for bags of words, else real); stored in checkpoints"},
                {"task", Choice(&o.task, {kLabelledTasks.begin(), kLabelledTasks.end()}), "NAME",
                 "node_class, node_multilabel, node_regression, graph_class or graph_regression (default: "
                 "the dataset's)"},
                {"outputs", &o.outputs, "N", "outputs per node or graph (0: from the labels)", true,
                 IntegerRange{0, kMost}},
                {"rename", &renamed, "OURS=THEIRS",
                 "name of a part here and in the state dict: convs.0=conv1; repeatable"}},
               "A model trained in PyG, as docs/pyg.md shows");
  all.add(table_of(batches, "Mini-batches")).add(foreign);
  try {
    if (const std::string model = model_of(argc, argv); !model.empty()) {
      o.family = family_named(model);
      o.options = o.family.defaults;
      OptionList model_options = bind(o.family, o.options);
      std::erase_if(model_options, [](const Option& option) { return option.name == "model"; });
      all.add(table_of(model_options, "--model " + model));
      o.options.model = model;
    }
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (!read_options(argc, argv, all, {"data"}, "predict DATA.h5 --checkpoint FILE --out FILE [OPTION]...",
                    "Predicts with a trained model, also on new graphs."))
    return {};
  check(o, renamed);
  return o;
}

}  // namespace adj::apps
