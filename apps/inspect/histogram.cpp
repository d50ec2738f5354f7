#include "histogram.h"

#include <adjoint/core/file.h>
#include <adjoint/training/gnuplot.h>

#include <algorithm>
#include <cmath>

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

/// Points "degree density", one per bin: dividing by the bin's width puts bins of any width on one curve.
std::string points(const Counts& degrees) {
  const auto all = static_cast<double>(std::max<int64_t>(1, total(degrees)));
  std::string text;
  for (const DegreeBin& bin : degree_bins(degrees, kPartsOfPlot)) {
    if (bin.nodes == 0 || bin.least == 0) continue;  // 0 is not on a logarithmic axis
    const double width = static_cast<double>(bin.largest - bin.least + 1);
    text +=
        fmt::format("{} {}\n", std::sqrt(static_cast<double>(bin.least) * static_cast<double>(bin.largest)),
                    static_cast<double>(bin.nodes) / width / all);
  }
  return text;
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

void write_degree_plot(const std::string& path, const std::string& title,
                       const StructureStatistics& structure) {
  const std::string in = points(structure.in), out = structure.symmetric ? "" : points(structure.out);
  if (in.empty() && out.empty()) fail("--plot: no node has an edge, there is nothing to draw");
  std::string script = fmt::format(
      "$in << end_of_data\n{}end_of_data\n$out << end_of_data\n{}end_of_data\n"
      "set terminal svg size 900,540 dynamic font 'sans-serif,14' background '#ffffff'\n"
      "set title '{}' noenhanced\nset logscale xy\nset format y '10^{{%T}}'\n"
      "set xlabel 'degree'\nset ylabel 'share of the nodes, per degree'\nset grid\n"
      "set key outside bottom center horizontal\nplot ",
      in, out, plain(title));
  if (!in.empty())
    script += fmt::format("$in using 1:2 with linespoints pt 7 ps 0.5 lc '#4477aa' title '{}'",
                          structure.symmetric ? "degree, in and out alike" : "in-degree");
  if (!out.empty())
    script += fmt::format("{}$out using 1:2 with linespoints pt 5 ps 0.5 lc '#ee6677' title 'out-degree'",
                          in.empty() ? "" : ", ");
  replace_file(path, run_gnuplot(script + "\n"));
}

}  // namespace adj::apps
