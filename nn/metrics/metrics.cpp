#include <adjoint/core/allocator.h>
#include <adjoint/nn/metrics/detail/outcomes.h>
#include <adjoint/nn/metrics/metrics.h>

#include <algorithm>
#include <limits>

namespace adj::nn {

using detail::Columns;

namespace {

/// Mann-Whitney: from the sum of the positives' ranks, ties sharing their mean rank. NaN if all nodes are of
/// one class.
template <class Score, class Positive>
double area_under_curve(const char* metric, std::vector<int32_t> chosen, Score score, Positive positive) {
  for (int32_t i : chosen)
    ADJ_CHECK(!std::isnan(score(i)), "{}: the score of node {} is not a number", metric, i);
  std::sort(chosen.begin(), chosen.end(), [&](int32_t a, int32_t b) { return score(a) < score(b); });
  double rank_sum = 0.0, positives = 0.0;
  for (size_t begin = 0; begin < chosen.size();) {
    size_t end = begin;
    double tied = 0.0;
    while (end < chosen.size() && score(chosen[end]) == score(chosen[begin])) {
      tied += positive(chosen[end]) ? 1.0 : 0.0;
      ++end;
    }
    rank_sum += tied * (static_cast<double>(begin + 1) + static_cast<double>(end)) / 2.0;
    positives += tied;
    begin = end;
  }
  const double negatives = static_cast<double>(chosen.size()) - positives;
  if (positives == 0.0 || negatives == 0.0) return std::numeric_limits<double>::quiet_NaN();
  return (rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives);
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
  const auto scores = score.to(DType::f64).to_vector<double>();
  const auto truth = to_int32("roc_auc", "label", label, 2).to_vector<int32_t>();
  ADJ_CHECK(scores.size() == truth.size(), "roc_auc: {} scores for {} labels", scores.size(), truth.size());
  const auto chosen = detail::selection("roc_auc", index, label.numel());
  const double area = area_under_curve(
      "roc_auc", chosen, [&](int32_t i) { return scores[static_cast<size_t>(i)]; },
      [&](int32_t i) { return truth[static_cast<size_t>(i)] != 0; });
  ADJ_CHECK(!std::isnan(area), "roc_auc: only one class is present among {} nodes", chosen.size());
  return area;
}

double mean_roc_auc(const Tensor& score, const Tensor& target, const Tensor& index) {
  const Columns columns("mean_roc_auc", score, target, index);
  double sum = 0.0;
  int64_t counted = 0;
  for (int64_t t = 0; t < columns.count; ++t) {
    const double area = area_under_curve(
        "mean_roc_auc", columns.labelled(t), [&](int32_t i) { return columns.output(i, t); },
        [&](int32_t i) { return columns.truth(i, t) != 0.0; });
    if (std::isnan(area)) continue;
    sum += area;
    ++counted;
  }
  ADJ_CHECK(counted > 0, "mean_roc_auc: only one class is present in each of {} columns", columns.count);
  return sum / static_cast<double>(counted);
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

}  // namespace adj::nn
