#include "gnuplot.h"
#include "record.h"
#include <adjoint/core/file.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace adj::training {

namespace {

using Curve = std::vector<EpochRecord>;

/// The curves of the runs, in order.
std::vector<Curve> curves_of(const std::vector<EpochRecord>& history) {
  std::vector<Curve> curves;
  for (size_t i = 0; i < history.size(); ++i) {
    if (i == 0 || history[i - 1].run != history[i].run) curves.emplace_back();
    curves.back().push_back(history[i]);
  }
  return curves;
}

/// Mean over the runs at every epoch that all of them reached.
Curve mean_of(const std::vector<Curve>& curves) {
  std::map<int64_t, std::pair<EpochRecord, size_t>> sums;
  for (const Curve& curve : curves)
    for (const EpochRecord& r : curve) {
      auto& [sum, count] = sums[r.epoch];
      sum.train_loss += r.train_loss;
      sum.val_loss += r.val_loss;
      sum.val_metric += r.val_metric;
      ++count;
    }
  const auto runs = static_cast<double>(curves.size());
  Curve mean;
  for (const auto& [epoch, entry] : sums)
    if (const auto& [sum, count] = entry; count == curves.size())
      mean.push_back({0, epoch, sum.train_loss / runs, sum.val_loss / runs, sum.val_metric / runs});
  return mean;
}

/// Running mean over 1/40 of the curve, at most 50 epochs, to each side. The window is cut off at the end; at
/// the beginning, where curves are steep, it is symmetric.
Curve smoothed(const Curve& curve) {
  constexpr int64_t kShare = 40, kMost = 50;
  const int64_t count = std::ssize(curve), reach = std::min(count / kShare, kMost);
  Curve smooth;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t near = std::min(reach, i), last = std::min(i + near, count - 1);
    const auto taken = static_cast<double>(last - i + near + 1);
    EpochRecord mean{0, curve[static_cast<size_t>(i)].epoch, 0.0, 0.0, 0.0};
    for (int64_t k = i - near; k <= last; ++k) {
      const EpochRecord& r = curve[static_cast<size_t>(k)];
      mean.train_loss += r.train_loss / taken;
      mean.val_loss += r.val_loss / taken;
      mean.val_metric += r.val_metric / taken;
    }
    smooth.push_back(mean);
  }
  return smooth;
}

/// A data block: epoch, training loss, validation loss, metric.
std::string block(const std::string& name, const std::vector<Curve>& curves) {
  std::string text = name + " << end_of_data\n";
  for (const Curve& curve : curves) {
    for (const EpochRecord& r : curve)
      text += fmt::format("{} {} {} {}\n", r.epoch, r.train_loss, r.val_loss, r.val_metric);
    if (&curve != &curves.back()) text += "\n\n";
  }
  return text + "end_of_data\n";
}

struct Range {
  double low, high;
};

/// Range of nearly all values: values beyond the middle 80 % extend it by at most `beyond` times its width,
/// so that a steep beginning or a spike does not flatten the rest.
Range range_of(std::vector<double> values, double beyond) {
  std::sort(values.begin(), values.end());
  const size_t last = values.size() - 1, cut = last / 10;
  const double low = values[cut], high = values[last - cut], more = beyond * (high - low);
  return {std::max(values.front(), low - more), std::min(values.back(), high + more)};
}

/// With a nonzero margin of `share` of the range.
Range widened(Range range, double share) {
  const double margin =
      std::max(share * (range.high - range.low), 1e-3 * std::max(1.0, std::abs(range.high)));
  return {range.low - margin, range.high + margin};
}

/// Axis of the losses: from 0, or logarithmic if they span more than three powers of ten.
std::string loss_axis(const std::vector<Curve>& curves) {
  constexpr double kDecades = 1e3;
  std::vector<double> values;
  for (const Curve& curve : curves)
    for (const EpochRecord& r : curve) values.insert(values.end(), {r.train_loss, r.val_loss});
  std::vector<double> positive;
  std::copy_if(values.begin(), values.end(), std::back_inserter(positive), [](double v) { return v > 0.0; });
  std::sort(positive.begin(), positive.end());
  if (!positive.empty() &&
      positive[positive.size() - 1 - positive.size() / 20] > kDecades * positive[positive.size() / 20])
    return fmt::format(
        "set logscale y\nset format y '%g'\nset ylabel 'loss (logarithmic)'\nset yrange [{}:{}]\n",
        positive[positive.size() / 100] / 1.5, positive.back() * 1.5);
  return fmt::format("set ylabel 'loss'\nset yrange [0:{}]\n", widened(range_of(values, 1.0), 0.05).high);
}

/// Axis of the metric, covering nearly all of the curves and all marks.
std::string metric_axis(const std::vector<Curve>& curves, const std::vector<RunResult>& results,
                        const Metric& metric) {
  std::vector<double> values;
  for (const Curve& curve : curves)
    for (const EpochRecord& r : curve) values.push_back(r.val_metric);
  Range range = range_of(values, 0.5);
  for (const RunResult& r : results)
    for (const double mark : {r.val_metric, r.test_metric})
      range = {std::min(range.low, mark), std::max(range.high, mark)};
  range = widened(range, 0.05);
  return fmt::format("set y2label '{}'\nset y2range [{}:{}]\n", metric.name, std::max(range.low, metric.low),
                     std::min(range.high, metric.high));
}

}  // namespace

void write_plot(const std::string& path, const std::string& title, const Metric& metric,
                const std::vector<EpochRecord>& history, const std::vector<RunResult>& results) {
  const std::vector<Curve> curves = curves_of(history);
  const size_t runs = results.size();
  const bool several = runs > 1;
  std::string script =
      block("$curves", curves) + block("$smooth", {smoothed(several ? mean_of(curves) : curves.front())});
  script += "$best << end_of_data\n";
  double test_metric = 0.0;
  for (const RunResult& r : results) {
    script += fmt::format("{} {} {}\n", r.best_epoch, r.val_metric, r.test_metric);
    test_metric += r.test_metric / static_cast<double>(runs);
  }
  script += fmt::format(
      "end_of_data\n"
      "set terminal svg size 900,540 dynamic font 'sans-serif,14' background '#ffffff'\n"
      "set title '{}{}' noenhanced\n"
      "set xlabel 'epoch'\n{}{}set ytics nomirror\nset y2tics\n"
      "set grid xtics y2tics lc '#dddddd'\nset bmargin 6\nset key outside bottom center horizontal\nplot ",
      plain(title), several ? fmt::format(", mean of {} runs", runs) : "", loss_axis(curves),
      metric_axis(curves, results, metric));
  const struct {
    int column;
    const char *axes, *color;
    std::string title;
  } lines[] = {{2, "x1y1", "4477aa", "training loss"},
               {3, "x1y1", "ee6677", "validation loss"},
               {4, "x1y2", "228833", fmt::format("validation {}", metric.name)}};
  for (const auto& line : lines)  // raw curves are faint: each run, and the values behind the means
    script +=
        fmt::format("for [r=0:{}] $curves index r using 1:{} axes {} with lines lw 1 lc '#{}{}' notitle, ",
                    runs - 1, line.column, line.axes, several ? "c8" : "a0", line.color);
  for (const auto& line : lines)
    script += fmt::format("$smooth using 1:{} axes {} with lines lw 2 lc '#{}' title '{}', ", line.column,
                          line.axes, line.color, line.title);
  // A line joins the marks of one run; a white rim separates marks from curves.
  script += fmt::format(
      "$best using 1:2:(0):($3-$2) axes x1y2 with vectors nohead lw 1 lc '#aa3377' notitle, "
      "$best using 1:3 axes x1y2 with points pt 13 ps 1.5 lc '#ffffff' notitle, "
      "$best using 1:3 axes x1y2 with points pt 13 ps 1.1 lc '#aa3377' title 'test {} {:.4f}', "
      "$best using 1:2 axes x1y2 with points pt 7 ps 0.8 lc '#ffffff' notitle, "
      "$best using 1:2 axes x1y2 with points pt 7 ps 0.6 lc '#116622' title 'best epoch{}'\n",
      metric.name, test_metric, several ? "s" : fmt::format(" {}", results[0].best_epoch));
  replace_file(path, run_gnuplot(script));
}

}  // namespace adj::training
