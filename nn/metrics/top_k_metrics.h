#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace adj::nn {

/// Quality of lists of recommended items, with the definitions of PyG's link-prediction metrics
/// (LinkPredPrecision and so on). L is a user's list of at most k items, R the items that were to be found,
/// rel_j 1 if the j-th of the list is one of these, else 0. Means are over users with an R that is not empty.
struct TopKMetrics {
  int64_t users = 0;       ///< with items to be found
  double precision = 0.0;  ///< mean of |L ∩ R| / k
  double recall = 0.0;     ///< mean of |L ∩ R| / |R|
  double f1 = 0.0;         ///< mean of 2 P R / (P + R) of a user's precision and recall
  double map = 0.0;        ///< mean of Σ_j rel_j (rel_1 + … + rel_j) / j, divided by min(|R|, k)
  /// Mean of Σ_j rel_j / log2(j + 1), divided by its largest value, Σ_j 1 / log2(j + 1) for j to min(|R|, k).
  double ndcg = 0.0;
  double mrr = 0.0;              ///< mean of 1 / j of the first j with rel_j = 1; 0 if there is none
  double hit_ratio = 0.0;        ///< share of users with |L ∩ R| > 0
  double coverage = 0.0;         ///< share of all items that are in a list
  double personalization = 0.0;  ///< mean of 1 - |L ∩ L'| / k over all pairs of users; 0 for one user
  double popularity = 0.0;       ///< mean over users of the mean popularity of their list
};

/// Sums of TopKMetrics over users.
class TopKSums {
 public:
  /// `items`: number of all. `popularity` of each item, such as its interactions in training; or empty.
  TopKSums(int64_t k, int64_t items, std::vector<int32_t> popularity = {});
  /// A user's distinct items, best first, and those to be found, ascending. Of a list longer than k the first
  /// k count; a number below 0 ends it. A user without items to be found is passed over.
  void add(std::span<const int32_t> list, std::span<const int32_t> relevant);
  /// Means over the users added so far.
  TopKMetrics result() const;

 private:
  int64_t k_;
  std::vector<int32_t> popularity_;
  std::vector<int64_t> listed_;  // lists that have the item
  TopKMetrics sums_;
};

}  // namespace adj::nn
