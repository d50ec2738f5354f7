#include <adjoint/core/text.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/training/report.h>
#include <adjoint/training/run.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/chrono.h>
#include <fmt/ranges.h>

namespace adj::training {

namespace {

constexpr size_t kClassesShown = 12, kColumnsShown = 30;
constexpr const char* kColors[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
                                   "#e08214", "#5e4fa2", "#1b7837", "#c51b7d", "#8c510a", "#333333"};

/// The words of this process's command, quoted for a shell where needed.
std::string command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_=+./,:@%") == std::string::npos;
    std::string quoted;
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += fmt::format("{}{}", text.empty() ? "" : " ", plain ? word : "'" + quoted + "'");
  }
  return text;
}

std::string class_name(const Run& run, int32_t label) {
  const auto& names = run.task().preprocessing.class_names;
  return names.empty() ? std::to_string(label) : names[static_cast<size_t>(label)];
}

/// "friend 60, foe 40": the classes of a part, if there are few.
std::string class_counts(const Run& run, const Tensor& part) {
  const Examples& examples = run.examples();
  if (examples.labels != Labels::classes || examples.outputs > static_cast<int64_t>(kClassesShown)) return "";
  const std::vector<int32_t> y = examples.y.to_vector<int32_t>();
  std::map<int32_t, int64_t> counts;
  for (const int32_t i : part.to_vector<int32_t>()) ++counts[y[static_cast<size_t>(i)]];
  std::vector<std::string> texts;
  for (const auto& [label, count] : counts)
    texts.push_back(fmt::format("{} {}", class_name(run, label), count));
  return fmt::format(": {}", fmt::join(texts, ", "));
}

/// The class of a node, of models of nodes with few classes; else -1.
std::vector<int32_t> classes_of_nodes(const Run& run) {
  const Examples& examples = run.examples();
  const bool known = examples.things == "nodes" && examples.labels == Labels::classes &&
                     examples.outputs <= static_cast<int64_t>(std::size(kColors));
  return known ? examples.y.to_vector<int32_t>()
               : std::vector<int32_t>(static_cast<size_t>(run.task().data.num_nodes()), -1);
}

Axis axis_around(const std::string& name, const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double margin = std::max(0.04 * (*high - *low), 1e-6);
  return {name, *low - margin, *high + margin};
}

}  // namespace

ReportRows command_rows(const Run& run) {
  return {{"command", command()},
          {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)))},
          {"program", fmt::format("{} {}", run.settings().program(), version())},
          {"device", run.place()}};
}

ReportRows data_rows(const Run& run) {
  const LearningTask& task = run.task();
  const Dataset& data = task.data;
  const Examples& examples = run.examples();
  const models::Preprocessing& p = task.preprocessing;
  ReportRows rows{
      {"dataset", data.name},
      {"task", fmt::format("{}, {} {}", examples.task, examples.outputs, word_for_outputs(examples.labels))},
      {"nodes", fmt::format("{}", data.num_nodes())},
      {"edges", fmt::format("{}{}", data.graph.whole_sizes().entries, data.undirected ? ", undirected" : "")},
      {"edge weights", std::string(name_of(p.edges.weights))},
      {"edge attributes", fmt::format("{} columns", p.edges.attributes)},
      {"features", fmt::format("{} columns", task.num_features)},
      {"scaling of features", std::string(name_of(p.scaling.kind()))}};
  if (!p.feature_names.empty()) {
    std::vector<std::string> names(
        p.feature_names.begin(),
        p.feature_names.begin() + static_cast<int64_t>(std::min(kColumnsShown, p.feature_names.size())));
    rows.emplace_back("columns", fmt::format("{}{}", fmt::join(names, ", "),
                                             names.size() < p.feature_names.size() ? ", …" : ""));
  }
  for (const auto& [name, part] :
       {std::pair("to train", &examples.train), {"to validate", &examples.val}, {"to test", &examples.test}})
    rows.emplace_back(name, fmt::format("{} {}{}", part->numel(), examples.things, class_counts(run, *part)));
  if (examples.unlabelled > 0)
    rows.emplace_back("without a label", fmt::format("{} {}", examples.unlabelled, examples.things));
  return rows;
}

ReportRows option_rows(const Run& run) {
  const Settings& settings = run.settings();
  ReportRows rows;
  for (const auto& [name, value] : settings.values)
    rows.emplace_back("--" + name, fmt::format("{}{}", value.empty() ? "(empty)" : value,
                                               settings.changed(name, value) ? " ← chosen" : ""));
  return rows;
}

std::vector<std::pair<std::string, double>> importance_rows(const Run& run) {
  const auto& names = run.task().preprocessing.feature_names;
  const int64_t file_columns = run.task().num_features - models::positional_columns(run.settings().model);
  const auto name = [&](int64_t column) {
    if (column >= file_columns) return fmt::format("positional {}", column - file_columns + 1);
    return names.empty() ? fmt::format("column {}", column) : names[static_cast<size_t>(column)];
  };
  std::vector<std::pair<std::string, double>> rows;
  for (const ColumnImportance& c : run.insight().importance)
    if (rows.size() < kColumnsShown) rows.emplace_back(name(c.column), c.fall);
  return rows;
}

std::optional<Chart> embedding_chart(const Run& run) {
  const Insight& insight = run.insight();
  if (insight.nodes.empty()) return {};
  const auto share = [](double part) { return fmt::format("{:.0f} % of the variance", 100.0 * part); };
  const Projection& plane = insight.embeddings;
  Chart chart{.title = fmt::format("Embeddings of {} nodes", insight.nodes.size()),
              .x = axis_around("first component, " + share(plane.share_x), plane.x),
              .left = axis_around("second component, " + share(plane.share_y), plane.y)};
  const std::vector<int32_t> label = classes_of_nodes(run);
  std::map<int32_t, Series> by_class;
  for (size_t k = 0; k < insight.nodes.size(); ++k) {
    const int32_t c = label[static_cast<size_t>(insight.nodes[k])];
    Series& series = by_class[c];
    series.points.emplace_back(plane.x[k], plane.y[k]);
    series.form = Series::Form::dots;
    series.color = c < 0 ? "#888888" : kColors[c];
    series.name = c >= 0                             ? class_name(run, c)
                  : run.examples().things == "nodes" ? "without a class"
                                                     : "nodes";
  }
  for (auto& [c, series] : by_class) chart.series.push_back(std::move(series));
  return chart;
}

}  // namespace adj::training
