#include <adjoint/training/report.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace adj::training {

namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --grid: #ddd; --bar: #4477aa; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #1b1d20; --grid: #44474b; --bar: #6aa0d8; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; font: 16px/1.5 sans-serif; color: var(--ink); background: var(--paper); }
figure { margin: 1rem 0; overflow-x: auto; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); }
svg .paper { fill: var(--paper); }
svg .grid { stroke: var(--grid); }
svg .rim { stroke: var(--paper); }
@media (prefers-color-scheme: dark) { svg svg, svg > circle, svg > path, svg > line:not(.grid) { filter: brightness(1.4); } }
table { margin: 1rem 0; border-collapse: collapse; font-size: 14px; }
th, td { padding: 2px 10px; text-align: right; border-bottom: 1px solid var(--grid); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child, .facts td { text-align: left; }
td.share { background: linear-gradient(to right, color-mix(in srgb, var(--bar) 35%, transparent) var(--share), transparent var(--share)); }
td.cell { background: color-mix(in srgb, var(--bar) var(--share), transparent); text-align: center; }
</style>
)";

std::string section(const char* heading, const std::string& content, const std::string& about = "") {
  return fmt::format("<h2>{}</h2>\n{}{}", heading,
                     about.empty() ? "" : fmt::format("<p>{}</p>\n", xml_text(about)),
                     content.empty() ? "" : fmt::format("<figure>\n{}</figure>\n", content));
}

std::string facts_table(const ReportRows& rows) {
  std::string text = "<table class=\"facts\">\n";
  for (const auto& [name, value] : rows) text += table_row({xml_text(name), xml_text(value)});
  return text + "</table>\n";
}

std::string importance_table(const Report& report) {
  double largest = 1e-12;
  for (const auto& [name, fall] : report.importance) largest = std::max(largest, fall);
  std::string table = "<table>\n" + table_row({"column", "fall of " + xml_text(report.metric)}, "th");
  for (const auto& [name, fall] : report.importance)
    table += fmt::format("<tr><td>{}</td><td class=\"share\" style=\"--share: {:.1f}%\">{:.4f}</td></tr>\n",
                         xml_text(name), 100.0 * std::max(0.0, fall) / largest, fall);
  return table + "</table>\n";
}

std::string range_text(const DegreeScore& s) {
  return s.least == s.largest ? fmt::format("{}", s.least) : fmt::format("{}-{}", s.least, s.largest);
}

/// A table, and a curve if there is more than one point.
std::string degree_section(const Report& report) {
  Chart chart{
      .title = report.metric + " by in-degree",
      .x = {"in-degree", 0.8, 1.25 * static_cast<double>(report.degrees.back().largest), true},
      .left = {report.metric, std::numeric_limits<double>::infinity(),
               -std::numeric_limits<double>::infinity()},
      .series = {
          {.name = report.metric + " on the test nodes", .color = "#228833", .form = Series::Form::marked}}};
  std::string table = "<table>\n" + table_row({"in-degree", "test nodes", xml_text(report.metric)}, "th");
  for (const DegreeScore& s : report.degrees) {
    table += table_row({range_text(s), fmt::format("{}", s.examples),
                        std::isfinite(s.value) ? fmt::format("{:.4f}", s.value) : "-"});
    if (s.least == 0 || !std::isfinite(s.value)) continue;
    chart.series[0].points.emplace_back(
        std::sqrt(static_cast<double>(s.least) * static_cast<double>(s.largest)), s.value);
    chart.left.low = std::min(chart.left.low, s.value);
    chart.left.high = std::max(chart.left.high, s.value);
  }
  table += "</table>\n";
  if (chart.series[0].points.size() < 2) return table;
  const double margin = std::max(0.1 * (chart.left.high - chart.left.low), 1e-3);
  chart.left.low -= margin;
  chart.left.high += margin;
  return svg(chart) + table;
}

std::string profile_section(const std::vector<ProfileRow>& rows) {
  double all = 1e-9;
  for (const ProfileRow& r : rows) all += r.forward_ms + r.backward_ms;
  std::string table = "<table>\n" + table_row({"op", "share", "forward", "ms", "backward", "ms",
                                               "allocated MB", "copied MB", "peak MB"},
                                              "th");
  const auto mb = [](auto bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); };
  for (const ProfileRow& r : rows) {
    const double share = 100.0 * (r.forward_ms + r.backward_ms) / all;
    table += fmt::format("<tr><td>{}</td><td class=\"share\" style=\"--share: {:.1f}%\">{:.1f} %</td>",
                         xml_text(r.name), share, share);
    table += table_row({fmt::format("{}", r.forward_calls), fmt::format("{:.3f}", r.forward_ms),
                        fmt::format("{}", r.backward_calls), fmt::format("{:.3f}", r.backward_ms),
                        mb(r.allocated), mb(r.copied), mb(r.peak)})
                 .substr(4);
  }
  return table + "</table>\n";
}

}  // namespace

std::vector<DegreeScore> scores_by_degree(const Graph& graph, const Metric& metric, const Tensor& output,
                                          const Tensor& y, const Tensor& index) {
  const std::vector<int64_t> offsets = graph.whole_offsets().to_vector<int64_t>();
  std::map<int, std::vector<int32_t>> bins;  // by how many bits a degree has
  for (const int32_t node : index.to_vector<int32_t>()) {
    const auto i = static_cast<size_t>(node);
    bins[std::bit_width(static_cast<uint64_t>(offsets[i + 1] - offsets[i]))].push_back(node);
  }
  std::vector<DegreeScore> scores;
  for (const auto& [bits, nodes] : bins) {
    const int64_t least = bits == 0 ? 0 : int64_t{1} << (bits - 1);
    DegreeScore score{least, std::max(least, 2 * least - 1), std::ssize(nodes),
                      std::numeric_limits<double>::quiet_NaN()};
    try {
      score.value = metric.measure(output, y, Tensor::from(nodes, index.device()));
    } catch (const Error&) {  // not defined on these, as the area under the curve of one class
    }
    scores.push_back(score);
  }
  return scores;
}

std::string html(const Report& report) {
  std::string page = fmt::format("{}<title>{}</title>\n</head>\n<body>\n<h1>{}</h1>\n", kHead,
                                 xml_text(report.title), xml_text(report.title));
  if (!report.facts.empty()) page += section("Run", facts_table(report.facts));
  if (!report.data.empty()) page += section("Data", facts_table(report.data));
  for (const Chart& chart : report.charts) page += section("Training", svg(chart));
  if (report.classes) page += section("Classes", report.classes->html(), report.scored);
  if (!report.degrees.empty()) page += section("Degrees", degree_section(report), report.scored);
  if (!report.importance.empty())
    page += section("Columns by importance", importance_table(report),
                    "The values of a column are shuffled among the nodes; the more the metric of the test "
                    "examples falls, the "
                    "more the model depends on the column. Columns that say the same hide each other.");
  if (!report.no_importance.empty()) page += section("Columns by importance", "", report.no_importance);
  if (report.embeddings)
    page += section("Embeddings", svg(*report.embeddings),
                    "The nodes' embeddings in the plane in which they differ most (principal components).");
  if (!report.options.empty())
    page +=
        fmt::format("<details>\n<summary>All options</summary>\n{}</details>\n", facts_table(report.options));
  if (!report.profile.empty()) page += section("Time and memory by op", profile_section(report.profile));
  return page + "</body>\n</html>\n";
}

}  // namespace adj::training
