// Says which edges and features a prediction of a trained model rests on.

#include "common/command_line.h"
#include "common/trained_model.h"
#include "explain/report.h"
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/item_names.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/stopwatch.h>

#include <set>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;
using models::ExplainTarget;

namespace {

constexpr double kLargestError = 0.02;  // of attributions, without a warning

/// Names of nodes or graphs near a misspelt one.
std::string near_names(const std::string& word, const Dataset& data, bool of_graphs) {
  if (of_graphs) return did_you_mean(word, data.graph_names);
  return data.node_names ? did_you_mean(word, detail::names_of(data, data.num_nodes())) : "";
}

/// The target of --node, --graph or --edge.
ExplainTarget target_of(const CommandOptions& o, const Dataset& data) {
  const bool of_graphs = !o.graph.empty();
  const detail::ItemNames names(data, o.data, of_graphs, {});
  const auto row_of = [&](const std::string& name) {
    const int32_t row = names.find(name);
    if (row < 0)
      usage_fail("--{}: {}{}", o.target_option(), names.unknown(name), near_names(name, data, of_graphs));
    return row;
  };
  if (o.edge.empty())
    return {of_graphs ? ExplainTarget::Kind::graph : ExplainTarget::Kind::node, row_of(o.target())};
  std::vector<int32_t> ends;
  for (FieldCursor field(o.edge, Separator::comma); field.next();)
    ends.push_back(row_of(std::string(field.field())));
  if (ends.size() != 2) usage_fail("--edge: expected two names, FROM,TO, got '{}'", printable(o.edge));
  return {ExplainTarget::Kind::edge, ends[0], ends[1]};
}

/// The output of --class: by name, or its number where there are no names.
std::optional<int64_t> output_of(const CommandOptions& o, const TrainedModel& trained) {
  if (o.output.empty()) return {};
  const std::vector<std::string>& names = trained.class_names();
  const auto found = std::ranges::find(names, o.output);
  if (found != names.end()) return found - names.begin();
  const auto number = number_in<int64_t>(o.output);
  if (names.empty() && number && *number >= 0 && *number < trained.num_outputs()) return *number;
  if (names.empty())
    usage_fail("--class: '{}', expected 0 to {}", printable(o.output), trained.num_outputs() - 1);
  usage_fail("--class: {} has no '{}', expected {}{}", trained.origin(), printable(o.output),
             detail::listed(names, 5), did_you_mean(o.output, names));
}

/// "class 'top'", "label 3", "the target", "the link".
std::string text_of_output(const TrainedModel& trained, int64_t output) {
  if (trained.of_links()) return "the link";
  const char* kind = has_classes(trained.task()) ? "class" : has_targets(trained.task()) ? "target" : "label";
  if (trained.class_names().empty()) return fmt::format("{} {}", kind, output);
  return fmt::format("{} '{}'", kind, trained.class_names()[static_cast<size_t>(output)]);
}

/// Says what is explained, and how much of the prediction the most important edges carry.
void print(const ExplanationReport& report, const models::Fidelity& fidelity, int64_t top, bool numbers) {
  const auto& why = *report.why;
  const char* unit = numbers ? "prediction" : "probability";
  fmt::print("{}: {}, {} {:.4f}\n", report.target, report.output, unit, fidelity.whole);
  if (why.edges.empty()) log_info("no edge reaches it");
  report.print(top);
  if (why.baseline)
    fmt::print("attributions add up to {:.6g}: output {:.6g}, without edges and features {:.6g}\n",
               why.attributed(), why.value, *why.baseline);
  if (why.baseline && std::abs(why.attributed() - (why.value - *why.baseline)) >
                          kLargestError * std::abs(why.value - *why.baseline))
    log_warning("attributions miss the difference by more than {:g} %: take more --steps",
                100.0 * kLargestError);
  if (why.edges.empty()) return;
  fmt::print(
      "kept {:.1f} % of the edges: {} {:.4f} with these alone, {:.4f} without them{}\n",
      100.0 * fidelity.share, unit, fidelity.kept, fidelity.removed,
      fidelity.plus ? fmt::format(" (fidelity+ {:g}, fidelity- {:g})", *fidelity.plus, *fidelity.minus) : "");
}

void explain(CommandOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  if (o.quiet) set_log_level(LogLevel::warning);
  const TrainedModel trained = load_checkpoint_model(o.checkpoint, Device::parse(o.device));
  models::require_explainable(trained);
  Dataset data = load_dataset(o.data);
  set_node_features(data, o.data, trained.description());
  if (trained.of_graphs() && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, {} was trained on graphs", o.data, trained.origin());
  if (trained.num_features() > 0) require_features(data, o.data, "explain");
  execution_options_of(trained.description()).apply();
  match_names(data, o.data, trained.description());
  if (data.num_features() != trained.num_features())
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              trained.num_features());
  const ExplainTarget target = target_of(o, data);
  o.explain.output = output_of(o, trained);
  const models::Explainer explainer(trained, data.graph, data.x, target, data.graph_offsets);
  const models::Explanation why = explainer.explain(o.explain);
  const models::Fidelity fidelity = explainer.fidelity(why, o.top);

  ExplanationReport report(why, data);
  report.target = fmt::format("{} '{}'", o.target_option(), printable(o.target()));
  report.output = text_of_output(trained, why.output);
  if (target.kind == ExplainTarget::Kind::node) report.marked = {static_cast<int32_t>(target.first)};
  if (target.kind == ExplainTarget::Kind::edge)
    report.marked = {static_cast<int32_t>(target.first), static_cast<int32_t>(target.second)};
  const std::set<int32_t> senders(why.src.begin(), why.src.end());
  log_info("{} of {} on {}: messages of {} of {} nodes over {} of {} edges reach {}", trained.describe(),
           trained.origin(), printable(data.name), senders.size(), data.num_nodes(), why.edges.size(),
           data.graph.num_edges(), report.target);
  if (why.feature_importance.empty() && o.explain.method != models::ExplainMethod::attention)
    log_warning("features are not explained: {} columns for each node are too many", data.num_features());
  if (!o.quiet) print(report, fidelity, o.top, has_targets(trained.task()));
  if (!o.edges.empty()) report.write_edges(o.edges, o.escape_formulas);
  if (!o.features.empty()) report.write_features(o.features, o.escape_formulas);
  if (!o.picture.empty()) report.draw(o.picture, o.top);
  if (!o.json) return;
  const auto number = [](const std::optional<double>& x) { return x ? fmt::format("{}", *x) : "null"; };
  fmt::print(
      R"({{"app": "explain", "dataset": {}, "model": {}, "method": "{}", "target": {}, "output": {}, )"
      R"("value": {}, "baseline": {}, "attributed": {}, "probability": {}, "kept": {}, "removed": {}, )"
      R"("share": {}, "fidelity_plus": {}, "fidelity_minus": {}, "characterization": {}, {}, "wall_s": {:.3f}}})"
      "\n",
      json_text(data.name), json_text(trained.describe()), name_of(why.method), json_text(o.target()),
      json_text(report.output), why.value, number(why.baseline),
      why.baseline ? fmt::format("{}", why.attributed()) : "null", fidelity.whole, fidelity.kept,
      fidelity.removed, fidelity.share, number(fidelity.plus), number(fidelity.minus),
      number(fidelity.characterization()), report.json(o.top), seconds_since(start));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("explain", [&] {
    if (auto options = read_explain_options(argc, argv)) explain(*options);
  });
}
