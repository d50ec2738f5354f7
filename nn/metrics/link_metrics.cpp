#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/nn/metrics/link_metrics.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace adj::nn {

namespace {

/// The scores as doubles on the host.
std::vector<double> scores_of(const char* metric, const char* which, const Tensor& scores) {
  ADJ_CHECK(scores && scores.numel() > 0 && is_floating(scores.dtype()),
            "{}: the {} scores are {}, expected floating numbers, at least one", metric, which, scores.str());
  std::vector<double> values = scores.to(DType::f64).to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i)
    ADJ_CHECK(!std::isnan(values[i]), "{}: {} score {} is not a number", metric, which, i);
  return values;
}

std::vector<double> list_of(const char* metric, const char* which, const Tensor& scores) {
  ADJ_CHECK(!scores || scores.dims() == 1, "{}: the {} scores are {}, expected one dimension", metric, which,
            scores.str());
  return scores_of(metric, which, scores);
}

Tensor ranks_among(const std::vector<double>& scores, std::vector<double> others) {
  std::sort(others.begin(), others.end());
  Tensor ranks = Tensor::empty({std::ssize(scores)}, DType::f64);
  double* rank = ranks.mutable_data<double>();
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto [tied, better] = std::equal_range(others.begin(), others.end(), scores[i]);
    rank[i] = 1.0 + static_cast<double>(others.end() - better) + static_cast<double>(better - tied) / 2.0;
  }
  return ranks;
}

}  // namespace

double link_auc(const Tensor& positive, const Tensor& negative) {
  const std::vector<double> above = list_of("link_auc", "positive", positive);
  std::vector<double> below = list_of("link_auc", "negative", negative);
  std::sort(below.begin(), below.end());
  double won = 0.0;
  for (const double score : above) {
    const auto [first, last] = std::equal_range(below.begin(), below.end(), score);
    won += static_cast<double>(first - below.begin()) + static_cast<double>(last - first) / 2.0;
  }
  return won / (static_cast<double>(above.size()) * static_cast<double>(below.size()));
}

double hits_at(int64_t k, const Tensor& positive, const Tensor& negative) {
  ADJ_CHECK(k >= 1, "hits_at: k is {}, expected 1 or more", k);
  const std::vector<double> above = list_of("hits_at", "positive", positive);
  std::vector<double> below = list_of("hits_at", "negative", negative);
  if (std::ssize(below) < k) return 1.0;
  std::nth_element(below.begin(), below.begin() + (k - 1), below.end(), std::greater<>());
  const double bar = below[static_cast<size_t>(k - 1)];
  const auto hits = std::count_if(above.begin(), above.end(), [&](double score) { return score > bar; });
  return static_cast<double>(hits) / static_cast<double>(above.size());
}

Tensor link_ranks(const Tensor& positive, const Tensor& negative) {
  const std::vector<double> scores = list_of("link_ranks", "positive", positive);
  const auto count = std::ssize(scores);
  if (negative && negative.dims() == 1)
    return ranks_among(scores, list_of("link_ranks", "negative", negative));
  ADJ_CHECK(negative && negative.dims() == 2 && negative.size(0) == count,
            "link_ranks: the negative scores are {}, expected [{}, Q] or [Q]", negative.str(), count);
  const std::vector<double> others = scores_of("link_ranks", "negative", negative);
  const int64_t each = negative.size(1);
  Tensor ranks = Tensor::empty({count}, DType::f64);
  double* rank = ranks.mutable_data<double>();
  parallel_for(count, std::max<int64_t>(1, 16384 / each), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t better = 0, tied = 0;
      for (int64_t q = i * each; q < (i + 1) * each; ++q) {
        better += others[static_cast<size_t>(q)] > scores[static_cast<size_t>(i)];
        tied += others[static_cast<size_t>(q)] == scores[static_cast<size_t>(i)];
      }
      rank[i] = 1.0 + static_cast<double>(better) + static_cast<double>(tied) / 2.0;
    }
  });
  return ranks;
}

double mean_reciprocal_rank(const Tensor& ranks) {
  const std::vector<double> values = list_of("mean_reciprocal_rank", "given", ranks);
  double sum = 0.0;
  for (const double rank : values) sum += 1.0 / rank;
  return sum / static_cast<double>(values.size());
}

double hits_at(int64_t k, const Tensor& ranks) {
  ADJ_CHECK(k >= 1, "hits_at: k is {}, expected 1 or more", k);
  const std::vector<double> values = list_of("hits_at", "given", ranks);
  const auto hits = std::count_if(values.begin(), values.end(),
                                  [&](double rank) { return rank <= static_cast<double>(k); });
  return static_cast<double>(hits) / static_cast<double>(values.size());
}

}  // namespace adj::nn
