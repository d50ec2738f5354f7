#include "report.h"

#include <adjoint/core/text.h>
#include <adjoint/data/feature_scaling.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

constexpr size_t kClasses = 12;  // maximum for counts on one line
constexpr size_t kSplits = 10;

void line(const char* name, const std::string& text) { fmt::print("  {:<12} {}\n", name, text); }

int64_t nodes_of(const Dataset& data) { return data.graph ? data.num_nodes() : data.x ? data.x.rows() : 0; }

double mean(const Counts& degrees) {
  double sum = 0.0, nodes = 0.0;
  for (const auto& [degree, count] : degrees) {
    sum += static_cast<double>(degree) * static_cast<double>(count);
    nodes += static_cast<double>(count);
  }
  return nodes > 0.0 ? sum / nodes : 0.0;
}

int64_t least(const Counts& degrees) { return degrees.empty() ? 0 : degrees.begin()->first; }
int64_t largest(const Counts& degrees) { return degrees.empty() ? 0 : degrees.rbegin()->first; }

std::string range(const Counts& degrees) {
  return fmt::format("{} to {}, mean {:.2f}", least(degrees), largest(degrees), mean(degrees));
}

double cells(const Dataset& data) {
  return static_cast<double>(data.x.rows()) * static_cast<double>(data.x.cols());
}

double fill(const Dataset& data, const FeatureSummary& f) {
  return cells(data) > 0.0 ? static_cast<double>(f.not_zero) / cells(data) : 0.0;
}

/// ", named age, income, …": the first few; or nothing.
std::string named(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (size_t k = 0; k < std::min(names.size(), kClasses); ++k) texts.push_back(excerpt(names[k]));
  if (texts.empty()) return "";
  return fmt::format(", named {}{}", fmt::join(texts, ", "), names.size() > texts.size() ? ", …" : "");
}

void print_structure(const Dataset& data, const StructureStatistics& s) {
  line("nodes", fmt::format("{}, {} isolated", data.num_nodes(), s.isolated));
  line("edges", fmt::format("{} directed, {} self-loops, {} parallel", data.graph.num_edges(), s.self_loops,
                            s.parallel));
  line("", fmt::format("{} (the file says {})",
                       s.symmetric
                           ? s.symmetric_weights == false ? "symmetric except for their weights" : "symmetric"
                           : "not symmetric",
                       data.undirected ? "undirected" : "directed"));
  line("in-degree", range(s.in));
  line("out-degree", range(s.out));
  const Tensor& weight = data.graph.edge_weight();
  if (weight) {
    const auto [low, high] = std::minmax_element(weight.data<float>(), weight.data<float>() + weight.numel());
    line("weights",
         weight.numel() == 0 ? "none, as there are no edges" : fmt::format("{} to {}", *low, *high));
  } else {
    line("weights", "none");
  }
  for (const auto& [name, attribute] : data.graph.edge_attributes())
    line("attributes", name == "attr"
                           ? fmt::format("{} columns per edge{}", attribute.size(1), named(data.attr_names))
                           : fmt::format("{} of each edge", name));
}

/// Name of a class or a column of labels, or its number.
std::string called(const Dataset& data, int64_t k) {
  return data.class_names.empty() ? std::to_string(k) : excerpt(data.class_names[static_cast<size_t>(k)]);
}

/// "0: 351, 1: 217, …": the first few.
std::string counted(const Dataset& data, const Counts& counts) {
  std::vector<std::string> texts;
  for (const auto& [k, count] : counts) {
    if (texts.size() == kClasses) return fmt::format("{}, …", fmt::join(texts, ", "));
    texts.push_back(fmt::format("{}: {}", called(data, k), count));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_labels(const Dataset& data, const LabelStatistics& l) {
  line("labels", fmt::format("{} of {}, {} unlabelled", l.rows - data.unlabelled, l.rows, data.unlabelled));
  if (!l.classes.empty()) line("classes", fmt::format("{}, {}", data.classes, counted(data, l.classes)));
  Counts positive;
  for (const int64_t count : l.positive) positive[std::ssize(positive)] = count;
  if (!positive.empty())
    line("with 1", fmt::format("of {} columns, {}", positive.size(), counted(data, positive)));
  for (size_t k = 0; k < std::min(kClasses, l.ranges.size()); ++k)
    line("targets", fmt::format("{} to {} in column {} of {}", l.ranges[k].first, l.ranges[k].second,
                                called(data, static_cast<int64_t>(k)), l.ranges.size()));
}

void print_features(const Dataset& data, const FeatureSummary& f) {
  line("features", fmt::format("{} {}, {:.4g} % not zero, {:.4g} % negative", data.x.cols(),
                               data.x.is_sparse() ? "sparse" : "dense", 100.0 * fill(data, f),
                               100.0 * static_cast<double>(f.negative) / std::max(1.0, cells(data))));
  if (!data.feature_names.empty()) line("", named(data.feature_names).substr(2));
  const FeatureScaling::Kind scaling = FeatureScaling::automatic(f, data.encoder);
  line("", fmt::format("training {} (--features-scaling auto)",
                       scaling == FeatureScaling::Kind::rows
                           ? "uses them with rows divided by their sums, as they look like a bag of words"
                       : scaling == FeatureScaling::Kind::real
                           ? fmt::format("standardises {} of them", real_columns(f, data.encoder).size())
                           : "uses them unchanged"));
}

void print_summary_of(const Report& r) {
  const Dataset& data = r.checked.data;
  const Statistics& s = r.statistics;
  line("name", printable(data.name));
  line("task", std::string(name_of(data.task)));
  if (s.structure) print_structure(data, *s.structure);
  if (s.features) print_features(data, *s.features);
  if (s.labels) print_labels(data, *s.labels);
  for (size_t k = 0; k < std::min(kSplits, data.splits.size()); ++k)
    line(k == 0 ? "splits" : "", fmt::format("{} train, {} val, {} test", data.splits[k].train.numel(),
                                             data.splits[k].val.numel(), data.splits[k].test.numel()));
  if (data.splits.size() > kSplits) line("", fmt::format("{} splits in all", data.splits.size()));
  if (s.graphs)
    line("graphs",
         fmt::format("{}, of {} to {} nodes each", s.graphs->count, s.graphs->least, s.graphs->largest));
  if (!data.graph_names.empty()) line("", named(data.graph_names).substr(2));
  for (const std::string& extra : r.extras) line("other", printable(extra));
}

double ratio(int64_t a, int64_t b) { return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0.0; }

constexpr const char* kWindows =
    "rows of a      columns       edges   % of the edges in columns of at least\n"
    "window      with edges    a column          2        3        4        8\n";
constexpr const char* kTiles =
    "                 tiles       edges   % of the edges in tiles filled to\n"
    "tiles       with edges      a tile        1/2      1/4      1/8     1/16\n";

void print_tiles(const std::vector<TileStatistics>& tiles) {
  const char* heading = nullptr;
  for (const TileStatistics& t : tiles) {
    if (const char* its = t.width == 1 ? kWindows : kTiles; its != heading) fmt::print("{}", heading = its);
    const TileCount& all = t.counts.front();
    std::string text =
        fmt::format("{:<10} {:>11} {:>11.2f}",
                    t.width == 1 ? fmt::to_string(t.height) : fmt::format("{}x{}", t.height, t.width),
                    all.tiles, ratio(all.entries, all.tiles));
    for (size_t k = 1; k < t.counts.size(); ++k)
      text += fmt::format(" {:>8.2f}", 100.0 * ratio(t.counts[k].entries, all.entries));
    fmt::print("{}\n", text);
  }
}

// JSON values.

std::string json_list(const std::vector<std::string>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string json_counts(const Counts& counts) {
  std::vector<std::string> members;
  for (const auto& [key, count] : counts) members.push_back(fmt::format(R"("{}": {})", key, count));
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}

std::string json_tiles(const std::vector<TileStatistics>& tiles) {
  std::vector<std::string> values;
  for (const TileStatistics& t : tiles) {
    std::vector<std::array<int64_t, 3>> counts;
    for (const TileCount& c : t.counts) counts.push_back({c.least, c.tiles, c.entries});
    values.push_back(
        fmt::format(R"({{"height": {}, "width": {}, "counts": {}}})", t.height, t.width, counts));
  }
  return json_list(values);
}

std::string json_structure(const Dataset& data, const StructureStatistics& s) {
  return fmt::format(
      R"("edges": {}, "symmetric": {}, "undirected": {}, "self_loops": {}, "parallel": {}, "isolated": {}, )"
      R"("weights": {}, "edge_attributes": {}, "in_degree": {}, "out_degree": {}, )",
      data.graph.num_edges(), s.symmetric && s.symmetric_weights != false, data.undirected, s.self_loops,
      s.parallel, s.isolated, static_cast<bool>(data.graph.edge_weight()),
      data.graph.edge_attributes().contains("attr") ? data.graph.edge_attr("attr").size(1) : 0,
      json_degrees(s.in), json_degrees(s.out));
}

std::string json_labels(const Dataset& data, const LabelStatistics& l) {
  std::string text = fmt::format(R"("labels": {{"rows": {}, "unlabelled": {})", l.rows, data.unlabelled);
  if (!l.classes.empty()) text += fmt::format(R"(, "classes": {})", json_counts(l.classes));
  if (!l.positive.empty()) text += fmt::format(R"(, "positive": {})", l.positive);
  std::vector<std::string> ranges;
  for (const auto& [low, high] : l.ranges)
    ranges.push_back(std::isfinite(low) ? fmt::format("[{}, {}]", low, high) : "null");
  if (!ranges.empty()) text += fmt::format(R"(, "targets": {})", json_list(ranges));
  return text + "}, ";
}

}  // namespace

void print_histogram(const std::string& name, const Counts& degrees) {
  fmt::print("{} (bar length: logarithm of the number of nodes)\n", name);
  for (const std::string& text : histogram_lines(degrees)) fmt::print("{}\n", text);
}

std::string json_degrees(const Counts& degrees) {
  std::vector<std::array<int64_t, 3>> bins;
  for (const DegreeBin& bin : degree_bins(degrees)) bins.push_back({bin.least, bin.largest, bin.nodes});
  return fmt::format(R"({{"min": {}, "max": {}, "mean": {:.6g}, "histogram": {}}})", least(degrees),
                     largest(degrees), mean(degrees), bins);
}

std::string json_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) values.push_back(json_text(text));
  return fmt::format("[{}]", fmt::join(values, ", "));
}

void print_text(const Report& r) {
  const Statistics& s = r.statistics;
  fmt::print("{}\n", message_line(r.path));
  print_summary_of(r);
  if (s.structure && s.structure->symmetric) print_histogram("degrees", s.structure->in);
  if (s.structure && !s.structure->symmetric) {
    print_histogram("in-degrees", s.structure->in);
    print_histogram("out-degrees", s.structure->out);
  }
  print_tiles(s.tiles);
  for (const std::string& note : r.notes) fmt::print("note: {}\n", note);
  for (const std::string& problem : r.checked.problems) fmt::print("{}\n", problem);
  if (r.checked.problems.empty()) fmt::print("no errors\n");
}

void print_json(const Report& r) {
  const Dataset& data = r.checked.data;
  const Statistics& s = r.statistics;
  std::string text = fmt::format(R"({{"app": "inspect", "file": {}, "name": {}, "task": "{}", "nodes": {}, )",
                                 json_text(r.path), json_text(data.name), name_of(data.task), nodes_of(data));
  if (s.structure) text += json_structure(data, *s.structure);
  if (!s.tiles.empty()) text += fmt::format(R"("tiles": {}, )", json_tiles(s.tiles));
  if (s.features)
    text += fmt::format(
        R"("features": {{"columns": {}, "sparse": {}, "fill": {:.6g}, "zero_rows": {}, )"
        R"("constant_columns": {}, "negative": {}, "least_scale": {}, "largest_scale": {}, "auto_scaling": "{}"}}, )",
        data.x.cols(), data.x.is_sparse(), fill(data, *s.features), s.features->zero_rows,
        s.features->constant_columns, s.features->negative, s.features->least_scale,
        s.features->largest_scale, name_of(FeatureScaling::automatic(*s.features, data.encoder)));
  if (!data.feature_names.empty())
    text += fmt::format(R"("feature_names": {}, )", json_texts(data.feature_names));
  text += fmt::format(R"("num_classes": {}, )", data.num_classes());
  if (!data.class_names.empty()) text += fmt::format(R"("class_names": {}, )", json_texts(data.class_names));
  if (s.labels) text += json_labels(data, *s.labels);
  std::vector<std::array<int64_t, 3>> splits;
  for (const Split& split : data.splits)
    splits.push_back({split.train.numel(), split.val.numel(), split.test.numel()});
  text += fmt::format(R"("splits": {}, )", splits);
  if (s.graphs)
    text += fmt::format(R"("graphs": {{"count": {}, "min": {}, "max": {}, "empty": {}}}, )", s.graphs->count,
                        s.graphs->least, s.graphs->largest, s.graphs->empty);
  fmt::print("{}\"besides\": {}, \"notes\": {}, \"problems\": {}}}\n", text, json_texts(r.extras),
             json_texts(r.notes), json_texts(r.checked.problems));
}

}  // namespace adj::apps
