#include <adjoint/core/error.h>
#include <adjoint/nn/metrics/top_k_metrics.h>

#include <algorithm>
#include <cmath>

namespace adj::nn {

TopKSums::TopKSums(int64_t k, int64_t items, std::vector<int32_t> popularity)
    : k_(k), popularity_(std::move(popularity)), listed_(static_cast<size_t>(items)) {
  ADJ_CHECK(k >= 1, "top-k metrics: k is {}, expected 1 or more", k);
  ADJ_CHECK(popularity_.empty() || std::ssize(popularity_) == items,
            "top-k metrics: the popularity of {} items, expected {}", popularity_.size(), items);
}

void TopKSums::add(std::span<const int32_t> list, std::span<const int32_t> relevant) {
  if (relevant.empty()) return;
  const auto size = std::min(
      std::find_if(list.begin(), list.end(), [](int32_t item) { return item < 0; }) - list.begin(), k_);
  double hits = 0.0, precisions = 0.0, gain = 0.0, first = 0.0, popular = 0.0;
  for (int64_t j = 1; j <= size; ++j) {
    const int32_t item = list[static_cast<size_t>(j - 1)];
    ++listed_.at(static_cast<size_t>(item));
    if (!popularity_.empty()) popular += popularity_[static_cast<size_t>(item)];
    if (!std::ranges::binary_search(relevant, item)) continue;
    const auto place = static_cast<double>(j);
    hits += 1.0;
    precisions += hits / place;
    gain += 1.0 / std::log2(place + 1.0);
    if (first == 0.0) first = 1.0 / place;
  }
  double best_gain = 0.0;
  const int64_t most = std::min(k_, std::ssize(relevant));
  for (int64_t j = 1; j <= most; ++j) best_gain += 1.0 / std::log2(static_cast<double>(j) + 1.0);
  const double precision = hits / static_cast<double>(k_),
               recall = hits / static_cast<double>(relevant.size());
  ++sums_.users;
  sums_.precision += precision;
  sums_.recall += recall;
  if (hits > 0.0) sums_.f1 += 2.0 * precision * recall / (precision + recall);
  sums_.map += precisions / static_cast<double>(most);
  sums_.ndcg += gain / best_gain;
  sums_.mrr += first;
  sums_.hit_ratio += hits > 0.0 ? 1.0 : 0.0;
  if (size > 0) sums_.popularity += popular / static_cast<double>(size);
}

TopKMetrics TopKSums::result() const {
  TopKMetrics found = sums_;
  if (found.users == 0) return found;
  const auto users = static_cast<double>(found.users);
  for (double* sum : {&found.precision, &found.recall, &found.f1, &found.map, &found.ndcg, &found.mrr,
                      &found.hit_ratio, &found.popularity})
    *sum /= users;
  // Pairs of users share an item as often as two of the lists have it.
  double shared = 0.0;
  int64_t covered = 0;
  for (const int64_t lists : listed_) {
    covered += lists > 0 ? 1 : 0;
    shared += static_cast<double>(lists) * static_cast<double>(lists - 1) / 2.0;
  }
  found.coverage = static_cast<double>(covered) / static_cast<double>(listed_.size());
  const double pairs = users * (users - 1.0) / 2.0;
  if (pairs > 0.0) found.personalization = 1.0 - shared / (static_cast<double>(k_) * pairs);
  return found;
}

}  // namespace adj::nn
