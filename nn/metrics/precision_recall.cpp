#include <adjoint/nn/metrics/detail/outcomes.h>
#include <adjoint/nn/metrics/precision_recall.h>

#include <algorithm>

namespace adj::nn {

namespace {

/// Nodes whose score is at least a threshold, and the positives among them.
struct Point {
  double nodes, positives;
};
using Curve = std::vector<Point>;  // by descending distinct scores

template <class Score, class Positive>
Curve curve_of(const char* metric, std::vector<int32_t> chosen, Score score, Positive positive) {
  for (int32_t i : chosen)
    ADJ_CHECK(!std::isnan(score(i)), "{}: the score of node {} is not a number", metric, i);
  std::sort(chosen.begin(), chosen.end(), [&](int32_t a, int32_t b) { return score(a) > score(b); });
  Curve curve;
  Point now{};
  for (size_t k = 0; k < chosen.size(); ++k) {
    now.nodes += 1.0;
    now.positives += positive(chosen[k]) ? 1.0 : 0.0;
    if (k + 1 == chosen.size() || score(chosen[k + 1]) != score(chosen[k])) curve.push_back(now);
  }
  return curve;
}

/// Throws without positives.
Curve binary_curve(const char* metric, const Tensor& score, const Tensor& label, const Tensor& index) {
  const auto scores = score.to(DType::f64).to_vector<double>();
  const auto truth = to_int32(metric, "label", label, 2).to_vector<int32_t>();
  ADJ_CHECK(scores.size() == truth.size(), "{}: {} scores for {} labels", metric, scores.size(),
            truth.size());
  Curve curve = curve_of(
      metric, detail::selection(metric, index, label.numel()),
      [&](int32_t i) { return scores[static_cast<size_t>(i)]; },
      [&](int32_t i) { return truth[static_cast<size_t>(i)] != 0; });
  ADJ_CHECK(curve.back().positives > 0.0, "{}: no positive among {} nodes", metric, curve.back().nodes);
  return curve;
}

double area_under(const Curve& curve) {
  double sum = 0.0, before = 0.0;
  for (const auto& [nodes, positives] : curve) {
    sum += (positives - before) * positives / nodes;
    before = positives;
  }
  return sum / curve.back().positives;
}

/// Positives among the k highest scores.
double positives_among(const char* metric, int64_t k, const Curve& curve) {
  const auto wanted = static_cast<double>(k);
  ADJ_CHECK(k >= 1 && wanted <= curve.back().nodes, "{}: k is {}, expected 1 to {}, the number of nodes",
            metric, k, curve.back().nodes);
  Point before{};
  for (const Point& point : curve) {
    if (point.nodes >= wanted)
      return before.positives +
             (point.positives - before.positives) * (wanted - before.nodes) / (point.nodes - before.nodes);
    before = point;
  }
  return before.positives;
}

}  // namespace

double average_precision(const Tensor& score, const Tensor& label, const Tensor& index) {
  return area_under(binary_curve("average_precision", score, label, index));
}

double mean_average_precision(const Tensor& score, const Tensor& target, const Tensor& index) {
  constexpr const char* kMetric = "mean_average_precision";
  const detail::Columns columns(kMetric, score, target, index);
  double sum = 0.0;
  int64_t counted = 0;
  for (int64_t t = 0; t < columns.count; ++t) {
    const Curve curve = curve_of(
        kMetric, columns.labelled(t), [&](int32_t i) { return columns.output(i, t); },
        [&](int32_t i) { return columns.truth(i, t) != 0.0; });
    if (curve.empty() || curve.back().positives == 0.0) continue;
    sum += area_under(curve);
    ++counted;
  }
  ADJ_CHECK(counted > 0, "{}: no positive in any of {} columns", kMetric, columns.count);
  return sum / static_cast<double>(counted);
}

double recall_at_precision(double precision, const Tensor& score, const Tensor& label, const Tensor& index) {
  ADJ_CHECK(precision > 0.0 && precision <= 1.0,
            "recall_at_precision: precision is {}, expected a number in (0, 1]", precision);
  const Curve curve = binary_curve("recall_at_precision", score, label, index);
  double most = 0.0;
  for (const auto& [nodes, positives] : curve)
    if (positives / nodes >= precision) most = std::max(most, positives);
  return most / curve.back().positives;
}

double precision_at(int64_t k, const Tensor& score, const Tensor& label, const Tensor& index) {
  return positives_among("precision_at", k, binary_curve("precision_at", score, label, index)) /
         static_cast<double>(k);
}

double recall_at(int64_t k, const Tensor& score, const Tensor& label, const Tensor& index) {
  const Curve curve = binary_curve("recall_at", score, label, index);
  return positives_among("recall_at", k, curve) / curve.back().positives;
}

}  // namespace adj::nn
