#include <adjoint/training/record.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace adj::training {

namespace {

using Curve = std::vector<EpochRecord>;
constexpr double EpochRecord::*kNumbers[] = {&EpochRecord::train_loss, &EpochRecord::val_loss,
                                             &EpochRecord::val_metric};

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
      for (const auto number : kNumbers) sum.*number += r.*number;
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
    for (int64_t k = i - near; k <= last; ++k)
      for (const auto number : kNumbers) mean.*number += curve[static_cast<size_t>(k)].*number / taken;
    smooth.push_back(mean);
  }
  return smooth;
}

/// One number of every epoch.
Series series(const Curve& curve, double EpochRecord::*number, std::string name, std::string color,
              Series::Form form) {
  Series s{.name = std::move(name),
           .color = std::move(color),
           .form = form,
           .right = number == &EpochRecord::val_metric};
  for (const EpochRecord& r : curve) s.points.emplace_back(static_cast<double>(r.epoch), r.*number);
  return s;
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

/// The axis of the losses: from 0, or logarithmic where they go over more than three powers of ten.
Axis loss_axis(const std::vector<Curve>& curves) {
  constexpr double kDecades = 1e3;
  std::vector<double> values;
  for (const Curve& curve : curves)
    for (const EpochRecord& r : curve) values.insert(values.end(), {r.train_loss, r.val_loss});
  std::vector<double> positive;
  std::copy_if(values.begin(), values.end(), std::back_inserter(positive), [](double v) { return v > 0.0; });
  std::sort(positive.begin(), positive.end());
  if (!positive.empty() &&
      positive[positive.size() - 1 - positive.size() / 20] > kDecades * positive[positive.size() / 20])
    return {"loss (logarithmic)", positive[positive.size() / 100] / 1.5, positive.back() * 1.5, true};
  return {"loss", 0.0, widened(range_of(values, 1.0), 0.05).high};
}

/// The axis of the metric, on which nearly all of the curves and all marks are.
Axis metric_axis(const std::vector<Curve>& curves, const std::vector<RunResult>& results,
                 const Metric& metric) {
  std::vector<double> values;
  for (const Curve& curve : curves)
    for (const EpochRecord& r : curve) values.push_back(r.val_metric);
  Range range = range_of(values, 0.5);
  for (const RunResult& r : results)
    for (const double mark : {r.val_metric, r.test_metric})
      range = {std::min(range.low, mark), std::max(range.high, mark)};
  range = widened(range, 0.05);
  return {metric.name, std::max(range.low, metric.low), std::min(range.high, metric.high)};
}

}  // namespace

Chart training_chart(const std::string& title, const Metric& metric, const std::vector<EpochRecord>& history,
                     const std::vector<RunResult>& results) {
  const std::vector<Curve> curves = curves_of(history);
  const bool several = results.size() > 1;
  const auto runs = static_cast<double>(results.size());
  const Curve smooth = smoothed(several ? mean_of(curves) : curves.front());
  double last = 1.0, test_metric = 0.0;
  for (const EpochRecord& r : history) last = std::max(last, static_cast<double>(r.epoch));
  Chart chart{.title = title + (several ? fmt::format(", mean of {} runs", results.size()) : ""),
              .x = {"epoch", 0.0, last},
              .left = loss_axis(curves),
              .right = metric_axis(curves, results, metric)};
  const struct {
    double EpochRecord::*number;
    const char* color;
    std::string name;
  } lines[] = {{&EpochRecord::train_loss, "#4477aa", "training loss"},
               {&EpochRecord::val_loss, "#ee6677", "validation loss"},
               {&EpochRecord::val_metric, "#228833", "validation " + metric.name}};
  for (const auto& line : lines)  // what was measured is faint: each run, and what the means are of
    for (const Curve& curve : curves)
      chart.series.push_back(series(curve, line.number, "", line.color, Series::Form::faint));
  for (const auto& line : lines)
    chart.series.push_back(series(smooth, line.number, line.name, line.color, Series::Form::line));
  const bool one_epoch = std::all_of(results.begin(), results.end(), [&](const RunResult& r) {
    return r.best_epoch == results[0].best_epoch;
  });
  Series best{.name = one_epoch ? fmt::format("best epoch {}", results[0].best_epoch) : "best epochs",
              .color = "#116622",
              .form = Series::Form::dots,
              .right = true};
  Series test{.color = "#aa3377", .form = Series::Form::diamonds, .right = true};
  for (const RunResult& r : results) {
    const auto epoch = static_cast<double>(r.best_epoch);
    best.points.emplace_back(epoch, r.val_metric);
    test.points.emplace_back(epoch, r.test_metric);
    test_metric += r.test_metric / runs;
    chart.series.push_back({.color = test.color,  // joins what belongs to one run
                            .form = Series::Form::faint,
                            .points = {best.points.back(), test.points.back()},
                            .right = true});
  }
  test.name = fmt::format("test {} {:.4f}", metric.name, test_metric);
  chart.series.push_back(std::move(test));
  chart.series.push_back(std::move(best));
  return chart;
}

}  // namespace adj::training
