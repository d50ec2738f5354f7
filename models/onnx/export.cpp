#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/models/detail/onnx_models.h>
#include <adjoint/models/link.h>
#include <adjoint/models/onnx.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj {

namespace {

using detail::OnnxGraph, detail::OnnxValue;
using models::NodeFeatures;

/// Options that only a training has.
constexpr std::string_view kOfTraining[] = {"dropout", "attention-dropout"};
/// Those that every writer reads.
constexpr std::string_view kOfAll[] = {"model",      "hidden",     "layers",         "node-features",
                                       "walk-steps", "positional", "positional-size"};

/// Refuses what the file would not express.
const detail::OnnxFamily& writer_of(const ModelDescription& model) {
  const detail::OnnxFamily* writer = detail::onnx_family(model.program);
  const std::vector<models::ModelFamily> families = models::families();
  const models::ModelFamily& family =
      *std::ranges::find(families, model.program, &models::ModelFamily::program);
  if (writer == nullptr)
    fail("{}: models of {} are not exported to ONNX{}", model.origin, model.program,
         family.is_typed(model.options) ? ", as their graphs have several types"
         : family.takes("bits")         ? ", as they are quantised"
                                        : "");
  for (const models::ModelOption& option : family.all_options()) {
    const auto among = [&](const auto& names) {
      return std::ranges::find(names, option.name) != std::end(names);
    };
    if (among(kOfTraining) || among(kOfAll) || among(writer->options)) continue;
    const auto value = model.facts.find("option." + option.name);
    if (value != model.facts.end() && value->second != option.before)
      fail("{}: --{} {} is not exported to ONNX", model.origin, option.name, value->second);
  }
  if (!model.options.model.empty() &&
      std::ranges::find(writer->models, model.options.model) == writer->models.end())
    fail("{}: --model {} is not exported to ONNX", model.origin, model.options.model);
  if (model.options.node_features == NodeFeatures::learned)
    fail("{}: --node-features learned is not exported to ONNX, as only the nodes of the training have some",
         model.origin);
  return *writer;
}

void declare_outputs(OnnxGraph& graph, const ModelDescription& model, const detail::OnnxOutputs& found) {
  if (found.embeddings) {
    graph.output("logits", found.logits, {"pairs"});
    graph.output("embeddings", found.embeddings,
                 {"nodes", std::to_string(models::embedding_width(model.options))});
    return;
  }
  OnnxValue y = found.logits;
  if (model.target_mean)
    y = y * graph.constant("targets.deviation", model.target_scale) +
        graph.constant("targets.mean", model.target_mean);
  graph.output(model.target_mean ? "prediction" : "logits", y,
               {std::string(model.things()), std::to_string(model.num_outputs)});
}

/// ["a", "b"].
std::string json_list(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(json_text(name));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::map<std::string, std::string> metadata_of(const ModelDescription& model) {
  std::map<std::string, std::string> entries{
      {"program", model.program},
      {"model", model.name},
      {"origin", model.origin},
      {"task", model.task == Task::none ? "link" : std::string(name_of(model.task))},
      {"features_scaling", std::string(name_of(model.scaling.kind()))}};
  for (const auto& [name, value] : model.facts)
    if (name.starts_with("option.")) entries.emplace(name, value);
  for (const auto& [name, names] : {std::pair("class_names", &model.class_names),
                                    {"feature_names", &model.feature_names},
                                    {"edge_attr_names", &model.attr_names}})
    if (!names->empty()) entries.emplace(name, json_list(*names));
  for (const auto& [name, encoder] :
       {std::pair("feature_encoder", &model.encoder), {"edge_attr_encoder", &model.attr_encoder}})
    if (!encoder->empty()) entries.emplace(name, encoder->json());
  return entries;
}

std::vector<std::string> notes_of(const ModelDescription& model) {
  std::vector<std::string> notes;
  if (model.options.node_features == NodeFeatures::random_walk)
    notes.push_back(fmt::format(
        "x are the chances of random walks to be back after 1 to {} steps (--node-features random-walk), "
        "which the file does not compute",
        model.num_features));
  if (const models::Positional kind = model.options.positional;
      kind == models::Positional::laplacian || kind == models::Positional::random_walk)
    notes.push_back(
        fmt::format("positional are the columns of --positional {} (models::positional_encoding), which the "
                    "file does not compute",
                    name_of(kind)));
  const auto precision = model.facts.find("option.precision");
  if (precision != model.facts.end() && precision->second != name_of(models::Precision::float32))
    notes.push_back(
        fmt::format("trained in {}, computes in float32: outputs differ by rounding from those of predict",
                    precision->second));
  if (model.program.ends_with("gps"))
    notes.emplace_back("attention between all nodes: memory grows with the square of their number");
  if (model.of_graphs())
    notes.emplace_back("graphs without nodes behind the last number in batch have no row");
  return notes;
}

}  // namespace

OnnxFile to_onnx(const TrainedModel& trained) {
  const ModelDescription& model = trained.description();
  const detail::OnnxFamily& writer = writer_of(model);
  OnnxGraph graph(trained.model().state());
  const detail::OnnxInputs in = detail::onnx_inputs(graph, model, trained.model().edge_support().weights);
  declare_outputs(graph, model, writer.write({graph}, in, model.options));
  const std::vector<std::string> unused = graph.unused_weights();
  if (!unused.empty()) fail("{}: {} is not exported to ONNX", model.origin, unused.front());
  return {graph.bytes(model.name, metadata_of(model)), graph.inputs(), graph.outputs(), notes_of(model)};
}

void save_onnx(const TrainedModel& trained, const std::string& path) {
  replace_file(path, to_onnx(trained).bytes);
}

}  // namespace adj
