#include <adjoint/core/allocator.h>
#include <adjoint/nn/metrics/detail/outcomes.h>
#include <adjoint/nn/metrics/metrics.h>

#include <algorithm>
#include <limits>

namespace adj::nn {

using detail::Columns;

namespace {

/// Nodes whose score is at least a threshold, and the positives among them.
struct Point {
  double nodes, positives;
};
using Curve = std::vector<Point>;  // by descending distinct scores

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

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

Curve binary_curve(const char* metric, const Tensor& score, const Tensor& label, const Tensor& index) {
  const auto scores = score.to(DType::f64).to_vector<double>();
  const auto truth = to_int32(metric, "label", label, 2).to_vector<int32_t>();
  ADJ_CHECK(scores.size() == truth.size(), "{}: {} scores for {} labels", metric, scores.size(),
            truth.size());
  return curve_of(
      metric, detail::selection(metric, index, label.numel()),
      [&](int32_t i) { return scores[static_cast<size_t>(i)]; },
      [&](int32_t i) { return truth[static_cast<size_t>(i)] != 0; });
}

/// The same; throws without positives.
Curve curve_of_positives(const char* metric, const Tensor& score, const Tensor& label, const Tensor& index) {
  Curve curve = binary_curve(metric, score, label, index);
  ADJ_CHECK(curve.back().positives > 0.0, "{}: no positive among {} nodes", metric, curve.back().nodes);
  return curve;
}

/// Area under the ROC curve, by Mann-Whitney: the share of pairs of a positive and a negative of which the
/// positive scores above, ties counted half. NaN if all nodes are of one class.
double roc_area(const Curve& curve) {
  double above = 0.0;
  Point before{};
  for (const Point& point : curve) {
    const double positives = point.positives - before.positives;
    above += (before.positives + positives / 2.0) * (point.nodes - before.nodes - positives);
    before = point;
  }
  const double negatives = before.nodes - before.positives;
  return before.positives > 0.0 && negatives > 0.0 ? above / (before.positives * negatives) : kNone;
}

/// Average precision. NaN without positives.
double precision_area(const Curve& curve) {
  double sum = 0.0, before = 0.0;
  for (const auto& [nodes, positives] : curve) {
    sum += (positives - before) * positives / nodes;
    before = positives;
  }
  return before > 0.0 ? sum / before : kNone;
}

/// Mean of an area over the columns that have it. `lacking`: what no column has then, for the error.
double mean_area(const char* metric, double (*area)(const Curve&), const char* lacking, const Tensor& score,
                 const Tensor& target, const Tensor& index) {
  const Columns columns(metric, score, target, index);
  double sum = 0.0;
  int64_t counted = 0;
  for (int64_t t = 0; t < columns.count; ++t) {
    const double one = area(curve_of(
        metric, columns.labelled(t), [&](int32_t i) { return columns.output(i, t); },
        [&](int32_t i) { return columns.truth(i, t) != 0.0; }));
    if (std::isnan(one)) continue;
    sum += one;
    ++counted;
  }
  ADJ_CHECK(counted > 0, "{}: {} of {} columns", metric, lacking, columns.count);
  return sum / static_cast<double>(counted);
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

double accuracy(const Tensor& logits, const Tensor& label, const Tensor& index) {
  constexpr const char* kMetric = "accuracy";
  const AllocationScope scope(kMetric);
  const int64_t count = index ? index.numel() : label.numel();
  ADJ_CHECK(count > 0, "accuracy: no nodes selected");
  const Tensor predicted = detail::predictions(kMetric, logits),
               truth = to_int32(kMetric, "label", label, logits.size(1)),
               chosen = to_int32(kMetric, "index", index, logits.size(0));
  Tensor hits = Tensor::empty({}, DType::i64, logits.device());
  kernels::count_equal({.a = predicted, .b = truth, .index = chosen, .y = hits});
  return hits.item() / static_cast<double>(count);
}

double macro_f1(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const auto outcomes = detail::outcomes("macro_f1", logits, label.reshape({label.numel()}), index);
  const auto classes = static_cast<size_t>(logits.size(1));
  std::vector<double> hit(classes), seen(classes);  // tp + fp plus tp + fn
  for (const auto& [truth, predicted] : outcomes) {
    const auto t = static_cast<size_t>(truth), p = static_cast<size_t>(predicted);
    if (p == t) hit[p] += 1.0;
    seen[p] += 1.0;
    seen[t] += 1.0;
  }
  double sum = 0.0;
  int present = 0;
  for (size_t c = 0; c < classes; ++c) {
    if (seen[c] == 0.0) continue;
    sum += 2.0 * hit[c] / seen[c];
    ++present;
  }
  return sum / present;
}

double roc_auc(const Tensor& score, const Tensor& label, const Tensor& index) {
  const Curve curve = binary_curve("roc_auc", score, label, index);
  const double area = roc_area(curve);
  ADJ_CHECK(!std::isnan(area), "roc_auc: only one class is present among {} nodes", curve.back().nodes);
  return area;
}

double mean_roc_auc(const Tensor& score, const Tensor& target, const Tensor& index) {
  return mean_area("mean_roc_auc", roc_area, "only one class is present in each", score, target, index);
}

double micro_f1(const Tensor& logits, const Tensor& target, const Tensor& index) {
  const Columns columns("micro_f1", logits, target, index);
  double hit = 0.0, seen = 0.0;  // tp + fp plus tp + fn
  for (int32_t i : columns.chosen)
    for (int64_t t = 0; t < columns.count; ++t) {
      if (std::isnan(columns.truth(i, t))) continue;
      const bool predicted = columns.output(i, t) > 0.0, present = columns.truth(i, t) != 0.0;
      hit += predicted && present ? 1.0 : 0.0;
      seen += (predicted ? 1.0 : 0.0) + (present ? 1.0 : 0.0);
    }
  ADJ_CHECK(seen > 0.0, "micro_f1: nothing is predicted and nothing present among {} nodes",
            columns.chosen.size());
  return 2.0 * hit / seen;
}

double r2(const Tensor& prediction, const Tensor& target, const Tensor& index) {
  const Columns columns("r2", prediction, target, index);
  double sum = 0.0;
  int64_t counted = 0;
  for (int64_t t = 0; t < columns.count; ++t) {
    const std::vector<int32_t> nodes = columns.labelled(t);
    const bool differ = std::any_of(nodes.begin(), nodes.end(), [&](int32_t i) {
      return columns.truth(i, t) != columns.truth(nodes[0], t);
    });
    if (!differ) continue;  // the spread would be rounding error only
    double mean = 0.0, residual = 0.0, spread = 0.0;
    for (int32_t i : nodes) mean += columns.truth(i, t) / static_cast<double>(nodes.size());
    for (int32_t i : nodes) {
      const double truth = columns.truth(i, t), off = truth - columns.output(i, t), apart = truth - mean;
      residual += off * off;
      spread += apart * apart;
    }
    sum += 1.0 - residual / spread;
    ++counted;
  }
  ADJ_CHECK(counted > 0, "r2: the targets of {} nodes are the same in each of {} columns",
            columns.chosen.size(), columns.count);
  return sum / static_cast<double>(counted);
}

double mean_absolute_error(const Tensor& prediction, const Tensor& target, const Tensor& index) {
  const Columns columns("mean_absolute_error", prediction, target, index);
  double sum = 0.0;
  int64_t counted = 0;
  for (int32_t i : columns.chosen)
    for (int64_t t = 0; t < columns.count; ++t) {
      if (std::isnan(columns.truth(i, t))) continue;
      sum += std::abs(columns.truth(i, t) - columns.output(i, t));
      ++counted;
    }
  ADJ_CHECK(counted > 0, "mean_absolute_error: none of {} nodes has a target", columns.chosen.size());
  return sum / static_cast<double>(counted);
}

double average_precision(const Tensor& score, const Tensor& label, const Tensor& index) {
  return precision_area(curve_of_positives("average_precision", score, label, index));
}

double mean_average_precision(const Tensor& score, const Tensor& target, const Tensor& index) {
  return mean_area("mean_average_precision", precision_area, "no positive in any", score, target, index);
}

double recall_at_precision(double precision, const Tensor& score, const Tensor& label, const Tensor& index) {
  ADJ_CHECK(precision > 0.0 && precision <= 1.0,
            "recall_at_precision: precision is {}, expected a number in (0, 1]", precision);
  const Curve curve = curve_of_positives("recall_at_precision", score, label, index);
  double most = 0.0;
  for (const auto& [nodes, positives] : curve)
    if (positives / nodes >= precision) most = std::max(most, positives);
  return most / curve.back().positives;
}

double precision_at(int64_t k, const Tensor& score, const Tensor& label, const Tensor& index) {
  return positives_among("precision_at", k, curve_of_positives("precision_at", score, label, index)) /
         static_cast<double>(k);
}

double recall_at(int64_t k, const Tensor& score, const Tensor& label, const Tensor& index) {
  const Curve curve = curve_of_positives("recall_at", score, label, index);
  return positives_among("recall_at", k, curve) / curve.back().positives;
}

}  // namespace adj::nn
