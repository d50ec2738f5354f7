#include <adjoint/kernels/reduce/reduce.h>
#include <adjoint/nn/metrics.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace adj::nn {

namespace {

Tensor predictions(const Tensor& logits) {
  ADJ_CHECK(logits.dims() == 2, "metric: expected logits [N, C], got {}", logits.shape().str());
  Tensor best = Tensor::empty({logits.size(0)}, DType::i32, logits.device());
  kernels::argmax_columns({.x = logits, .y = best});
  return best;
}

std::vector<int32_t> selection(const char* metric, const Tensor& index, int64_t n) {
  if (index) {
    auto chosen = index.to_vector<int32_t>();
    for (int32_t i : chosen)
      ADJ_CHECK(i >= 0 && i < n, "{}: index {} is outside of the {} nodes", metric, i, n);
    return chosen;
  }
  std::vector<int32_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

double accuracy(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const int64_t count = index ? index.numel() : label.numel();
  ADJ_CHECK(count > 0, "accuracy: no nodes selected");
  Tensor hits = Tensor::empty({}, DType::i64, logits.device());
  kernels::count_equal({.a = predictions(logits), .b = label, .index = index, .y = hits});
  return hits.item() / static_cast<double>(count);
}

double macro_f1(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const auto predicted = predictions(logits).to_vector<int32_t>();
  const auto truth = label.to_vector<int32_t>();
  ADJ_CHECK(predicted.size() == truth.size(), "macro_f1: logits {} for {} labels", logits.shape().str(),
            truth.size());
  const auto chosen = selection("macro_f1", index, label.numel());
  ADJ_CHECK(!chosen.empty(), "macro_f1: no nodes selected");
  const auto classes = static_cast<size_t>(logits.size(1));
  std::vector<double> hit(classes), seen(classes);  // seen: tp + fp plus tp + fn
  for (int32_t i : chosen) {
    const auto p = static_cast<size_t>(predicted[static_cast<size_t>(i)]);
    const auto t = static_cast<size_t>(truth[static_cast<size_t>(i)]);
    ADJ_CHECK(t < classes, "macro_f1: label {} of node {} is not one of {} classes",
              truth[static_cast<size_t>(i)], i, classes);
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
  const auto truth = label.to_vector<int32_t>();
  ADJ_CHECK(scores.size() == truth.size(), "roc_auc: {} scores for {} labels", scores.size(), truth.size());
  auto chosen = selection("roc_auc", index, label.numel());
  for (int32_t i : chosen)
    ADJ_CHECK(!std::isnan(scores[static_cast<size_t>(i)]), "roc_auc: the score of node {} is not a number",
              i);
  std::sort(chosen.begin(), chosen.end(), [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] < scores[static_cast<size_t>(b)];
  });
  // Mann-Whitney: the sum of the positives' ranks, ties sharing their mean rank.
  double rank_sum = 0.0, positives = 0.0;
  for (size_t begin = 0; begin < chosen.size();) {
    size_t end = begin;
    double tied = 0.0;
    while (end < chosen.size() &&
           scores[static_cast<size_t>(chosen[end])] == scores[static_cast<size_t>(chosen[begin])]) {
      tied += truth[static_cast<size_t>(chosen[end])] != 0 ? 1.0 : 0.0;
      ++end;
    }
    rank_sum += tied * (static_cast<double>(begin + 1) + static_cast<double>(end)) / 2.0;
    positives += tied;
    begin = end;
  }
  const double negatives = static_cast<double>(chosen.size()) - positives;
  ADJ_CHECK(positives > 0.0 && negatives > 0.0, "roc_auc: only one class is present among {} nodes",
            chosen.size());
  return (rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives);
}

}  // namespace adj::nn
