#include <adjoint/nn/metrics/classification_report.h>
#include <adjoint/nn/metrics/detail/outcomes.h>

#include <algorithm>
#include <cmath>

namespace adj::nn {

namespace {

/// Counts of a class: correct, predicted and present.
struct Counts {
  int64_t hit = 0, predicted = 0, present = 0;
};

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

ClassScores scores_of(const Counts& c) {
  return {ratio(c.hit, c.predicted), ratio(c.hit, c.present), ratio(2 * c.hit, c.predicted + c.present),
          c.present};
}

void add(ClassScores& sum, const ClassScores& scores, double weight) {
  sum.precision += weight * scores.precision;
  sum.recall += weight * scores.recall;
  sum.f1 += weight * scores.f1;
}

ClassificationReport report_of(const std::vector<Counts>& counts) {
  ClassificationReport report;
  Counts all;
  int64_t occurring = 0;
  for (const Counts& c : counts) {
    report.classes.push_back(scores_of(c));
    occurring += c.predicted + c.present > 0 ? 1 : 0;
    all = {all.hit + c.hit, all.predicted + c.predicted, all.present + c.present};
  }
  report.micro = scores_of(all);
  for (const ClassScores& scores : report.classes) {
    add(report.macro, scores, ratio(1, occurring));  // absent classes are 0
    add(report.weighted, scores, ratio(scores.support, all.present));
  }
  report.macro.support = report.weighted.support = all.present;
  return report;
}

}  // namespace

Tensor confusion_matrix(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const auto pairs = detail::outcomes("confusion_matrix", logits, label, index);
  const int64_t classes = logits.size(1);
  std::vector<int64_t> counts(static_cast<size_t>(classes * classes));
  for (const auto& [truth, predicted] : pairs) ++counts[static_cast<size_t>(truth * classes + predicted)];
  return Tensor::from(counts, {classes, classes});
}

std::vector<Confusion> confusions(const Tensor& logits, const Tensor& label, const Tensor& index) {
  auto pairs = detail::outcomes("confusions", logits, label, index);
  std::sort(pairs.begin(), pairs.end());
  std::vector<Confusion> entries;
  for (const auto& [truth, predicted] : pairs) {
    if (entries.empty() || entries.back().label != truth || entries.back().predicted != predicted)
      entries.push_back({truth, predicted, 0});
    ++entries.back().count;
  }
  return entries;
}

ClassificationReport classification_report(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const auto pairs = detail::outcomes("classification_report", logits, label, index);
  std::vector<Counts> counts(static_cast<size_t>(logits.size(1)));
  for (const auto& [truth, predicted] : pairs) {
    ++counts[static_cast<size_t>(truth)].present;
    ++counts[static_cast<size_t>(predicted)].predicted;
    if (truth == predicted) ++counts[static_cast<size_t>(truth)].hit;
  }
  return report_of(counts);
}

ClassificationReport multilabel_report(const Tensor& logits, const Tensor& target, const Tensor& index) {
  const detail::Columns columns("multilabel_report", logits, target, index);
  std::vector<Counts> counts(static_cast<size_t>(columns.count));
  for (int32_t i : columns.chosen)
    for (int64_t t = 0; t < columns.count; ++t) {
      if (std::isnan(columns.truth(i, t))) continue;
      const bool predicted = columns.output(i, t) > 0.0, present = columns.truth(i, t) != 0.0;
      Counts& column = counts[static_cast<size_t>(t)];
      column.predicted += predicted ? 1 : 0;
      column.present += present ? 1 : 0;
      column.hit += predicted && present ? 1 : 0;
    }
  return report_of(counts);
}

namespace {

/// Calls f(logits of a selected node as double, its label, its prediction) for each.
template <class F>
void each_node(const char* metric, const Tensor& logits, const Tensor& label, const Tensor& index, F&& f) {
  const auto pairs = detail::outcomes(metric, logits, label, index);
  const std::vector<int32_t> chosen = detail::selection(metric, index, logits.size(0));
  const std::vector<float> x = logits.to(DType::f32).to_vector<float>();
  const auto classes = static_cast<size_t>(logits.size(1));
  std::vector<double> row(classes);
  for (size_t k = 0; k < chosen.size(); ++k) {
    const auto first = x.begin() + static_cast<int64_t>(static_cast<size_t>(chosen[k]) * classes);
    std::copy_n(first, classes, row.begin());
    for (const double value : row)
      ADJ_CHECK(!std::isnan(value), "{}: a logit of node {} is not a number", metric, chosen[k]);
    f(row, static_cast<size_t>(pairs[k].first), static_cast<size_t>(pairs[k].second));
  }
}

/// Slope and curvature of the mean cross entropy of softmax(b logits) in b: the mean of E[z] - z_label and of
/// the variance of z.
std::pair<double, double> entropy_slope(const std::vector<std::pair<std::vector<double>, size_t>>& nodes,
                                        double b) {
  double slope = 0.0, curvature = 0.0;
  for (const auto& [z, label] : nodes) {
    const double top = *std::max_element(z.begin(), z.end());
    double total = 0.0, mean = 0.0, square = 0.0;
    for (const double value : z) {
      const double share = std::exp(b * (value - top)), below = value - top;
      total += share, mean += share * below, square += share * below * below;
    }
    mean /= total;
    slope += mean - (z[label] - top);
    curvature += square / total - mean * mean;
  }
  return {slope, curvature};
}

}  // namespace

double expected_calibration_error(const Tensor& logits, const Tensor& label, const Tensor& index,
                                  int64_t bins, double temperature) {
  constexpr const char* kMetric = "expected_calibration_error";
  ADJ_CHECK(bins >= 1, "{}: {} bins, expected 1 or more", kMetric, bins);
  ADJ_CHECK(temperature > 0.0, "{}: temperature {}, expected a positive number", kMetric, temperature);
  std::vector<double> excess(static_cast<size_t>(bins));  // confidences minus hits
  int64_t count = 0;
  each_node(kMetric, logits, label, index, [&](const std::vector<double>& row, size_t truth, size_t best) {
    double total = 0.0;
    for (const double value : row) total += std::exp((value - row[best]) / temperature);
    const double confidence = 1.0 / total;
    const auto bin = static_cast<int64_t>(std::ceil(confidence * static_cast<double>(bins))) - 1;
    excess[static_cast<size_t>(std::clamp<int64_t>(bin, 0, bins - 1))] +=
        confidence - (truth == best ? 1.0 : 0.0);
    ++count;
  });
  double sum = 0.0;
  for (const double e : excess) sum += std::abs(e);
  return sum / static_cast<double>(count);
}

double calibration_temperature(const Tensor& logits, const Tensor& label, const Tensor& index) {
  constexpr const char* kMetric = "calibration_temperature";
  std::vector<std::pair<std::vector<double>, size_t>> nodes;
  each_node(kMetric, logits, label, index, [&](const std::vector<double>& row, size_t truth, size_t) {
    for (const double value : row) ADJ_CHECK(std::isfinite(value), "{}: a logit is {}", kMetric, value);
    nodes.emplace_back(row, truth);
  });
  // The cross entropy is convex in b = 1 / T: Newton's steps, halved where they leave the bracket of the
  // minimum.
  double low = 0.01, high = 100.0, b = 1.0;
  if (entropy_slope(nodes, low).first >= 0.0) return 1.0 / low;
  if (entropy_slope(nodes, high).first <= 0.0) return 1.0 / high;
  for (int step = 0; step < 100 && high - low > 1e-12 * high; ++step) {
    const auto [slope, curvature] = entropy_slope(nodes, b);
    if (std::abs(slope) < 1e-13 * static_cast<double>(nodes.size())) break;
    (slope > 0.0 ? high : low) = b;
    const double next = b - slope / curvature;
    b = next > low && next < high ? next : std::sqrt(low * high);
  }
  return 1.0 / b;
}

}  // namespace adj::nn
