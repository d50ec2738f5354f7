#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

// What a trained model makes of its data, for reports.

namespace adj::training {

/// How much a model depends on a column of features.
struct ColumnImportance {
  int64_t column;
  double fall;  ///< of the score, the mean over the repetitions
};
/// Permutation importance (Breiman 2001, section 10): the score of the features x, float32 [N, F] on any
/// device, less that with the values of one column shuffled over the rows, for each column; the largest
/// first. score() is called 1 + F x repeats times. The shuffles are drawn by `seed`.
std::vector<ColumnImportance> permutation_importance(const Tensor& x, int64_t repeats, uint64_t seed,
                                                     const std::function<double(const Tensor&)>& score);

/// Rows in the plane of their two principal components: directions of largest variance (Pearson 1901).
struct Projection {
  std::vector<double> x, y;         ///< one of each per row
  double share_x = 0, share_y = 0;  ///< of the rows' variance
};
/// For rows [N, D] on any device, N and D at least 1; one column has y = 0. Signs are such that the largest
/// entry of each direction is positive.
Projection principal_plane(const Tensor& rows);

/// What a report shows of the last run's model.
struct Insight {
  std::vector<ColumnImportance> importance;  ///< on the test examples; or else why there is none:
  std::string no_importance;                 ///< in a sentence; else empty
  Projection embeddings;                     ///< of `nodes`; empty for a model without
  std::vector<int32_t> nodes;                ///< at most 2000, evenly spaced
};

}  // namespace adj::training
