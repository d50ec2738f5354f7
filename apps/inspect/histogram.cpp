#include "statistics.h"
#include <adjoint/core/error.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace adj::apps {

using namespace training;

namespace {

constexpr int kBar = 36;         // columns of the longest bar
constexpr int kPartsOfPlot = 4;  // bins per octave

int64_t total(const Counts& degrees) {
  int64_t nodes = 0;
  for (const auto& [degree, count] : degrees) nodes += count;
  return nodes;
}

/// A point for each bin: the density is per degree, so that bins of any width lie on one curve.
Series points(const Counts& degrees, const char* name, const char* color) {
  const auto all = static_cast<double>(std::max<int64_t>(1, total(degrees)));
  Series series{.name = name, .color = color, .form = Series::Form::marked};
  for (const DegreeBin& bin : degree_bins(degrees, kPartsOfPlot)) {
    if (bin.nodes == 0 || bin.least == 0) continue;  // 0 is not on a logarithmic axis
    const double width = static_cast<double>(bin.largest - bin.least + 1);
    series.points.emplace_back(std::sqrt(static_cast<double>(bin.least) * static_cast<double>(bin.largest)),
                               static_cast<double>(bin.nodes) / width / all);
  }
  return series;
}

/// Around all points.
Axis axis_of(const char* name, const std::vector<Series>& series, double std::pair<double, double>::*number) {
  Axis axis{name, std::numeric_limits<double>::infinity(), 0.0, true};
  for (const Series& s : series)
    for (const auto& point : s.points) {
      axis.low = std::min(axis.low, point.*number / 1.5);
      axis.high = std::max(axis.high, point.*number * 1.5);
    }
  return axis;
}

}  // namespace

std::vector<DegreeBin> degree_bins(const Counts& degrees, int parts) {
  std::vector<DegreeBin> bins;
  if (degrees.empty()) return bins;
  const int64_t largest = degrees.rbegin()->first;
  if (degrees.begin()->first == 0 || largest == 0) bins.push_back({0, 0, 0});
  for (int k = 0;; ++k) {
    const auto begin = static_cast<int64_t>(std::ceil(std::exp2(static_cast<double>(k) / parts)));
    const auto end = static_cast<int64_t>(std::ceil(std::exp2(static_cast<double>(k + 1) / parts)));
    if (begin > largest) break;
    if (end > begin) bins.push_back({begin, end - 1, 0});
  }
  auto bin = bins.begin();
  for (const auto& [degree, count] : degrees) {
    while (bin->largest < degree) ++bin;
    bin->nodes += count;
  }
  bins.erase(bins.begin(),
             std::find_if(bins.begin(), bins.end(), [](const DegreeBin& b) { return b.nodes > 0; }));
  return bins;
}

std::vector<std::string> histogram_lines(const Counts& degrees) {
  const std::vector<DegreeBin> bins = degree_bins(degrees);
  const auto all = static_cast<double>(std::max<int64_t>(1, total(degrees)));
  int64_t most = 1;
  for (const DegreeBin& bin : bins) most = std::max(most, bin.nodes);
  std::vector<std::string> lines;
  for (const DegreeBin& bin : bins) {
    const std::string range =
        bin.least == bin.largest ? std::to_string(bin.least) : fmt::format("{}-{}", bin.least, bin.largest);
    const auto length = static_cast<int>(std::lround(kBar * std::log1p(static_cast<double>(bin.nodes)) /
                                                     std::log1p(static_cast<double>(most))));
    lines.push_back(fmt::format("{:>21} {:>10} {:>7.3f} %{}{}", range, bin.nodes,
                                100.0 * static_cast<double>(bin.nodes) / all, length > 0 ? " " : "",
                                std::string(static_cast<size_t>(length), '#')));
  }
  return lines;
}

Chart degree_chart(const std::string& title, const StructureStatistics& structure) {
  Chart chart{.title = title};
  const char* const in = structure.symmetric ? "degree (in = out)" : "in-degree";
  chart.series.push_back(points(structure.in, in, "#4477aa"));
  if (!structure.symmetric) chart.series.push_back(points(structure.out, "out-degree", "#ee6677"));
  std::erase_if(chart.series, [](const Series& s) { return s.points.empty(); });
  if (chart.series.empty()) fail("--plot: no node has an edge, there is nothing to draw");
  chart.x = axis_of("degree", chart.series, &std::pair<double, double>::first);
  chart.left = axis_of("share of the nodes, per degree", chart.series, &std::pair<double, double>::second);
  return chart;
}

}  // namespace adj::apps
