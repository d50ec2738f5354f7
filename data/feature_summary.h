#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>

namespace adj {

/// What numbers features are, each counted once.
struct FeatureSummary {
  int64_t rows = 0, columns = 0;
  int64_t not_zero = 0;
  int64_t negative = 0;
  int64_t not_binary = 0;        ///< neither 0 nor 1
  int64_t zero_rows = 0;         ///< rows of which every feature is 0
  int64_t constant_columns = 0;  ///< that are the same in every row
  /// Least and largest maximum of |x| over a column, of those not all 0.
  double least_scale = 0.0, largest_scale = 0.0;
  double largest_share = 0.0;  ///< of the sum of all |x|, what the column that holds most holds

  /// Words of documents, as features of citation graphs are: of no sign, and either all 0 or 1, or counts or
  /// TF-IDF: at most a quarter of them not 0, and no column with more than a tenth of the sum of all. So
  /// ages, prices and other measured columns are none, beside one-hot columns either.
  bool is_bag_of_words() const;
  /// Is one column more than 100 times as large as another?
  bool scales_differ() const;
};

/// Of dense or sparse features (moved to the CPU). Parallel entries count one by one.
FeatureSummary summary_of(const Features& x);
/// Reads everything once, some megabytes at a time. Throws DataError where the file cannot be read.
FeatureSummary summary_of(const FileRows& x);

}  // namespace adj
