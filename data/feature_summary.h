#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>

#include <vector>

namespace adj {

/// What scaling depends on, of features with so many `rows` and `columns`; `sparse` as they are stored. Of
/// all numbers some are `not_zero`, some `negative`, and so on.
struct FeatureSummary {
  int64_t rows = 0, columns = 0;
  bool sparse = false;
  int64_t not_zero = 0;
  int64_t negative = 0;
  int64_t not_binary = 0;        ///< neither 0 nor 1
  int64_t zero_rows = 0;         ///< rows with all features 0
  int64_t constant_columns = 0;  ///< same value in every row
  /// Smallest and largest maximum of |x| over a column, ignoring all-zero columns.
  double least_scale = 0.0, largest_scale = 0.0;
  double largest_share = 0.0;              ///< the largest column's share of the sum of all |x|
  std::vector<int32_t> real_columns = {};  ///< those with a number other than 0 and 1, ascending

  /// True for document words, as in citation graphs: non-negative, and either all 0 or 1, or counts or
  /// TF-IDF: at most a quarter nonzero, and no column with more than a tenth of the total sum. This excludes
  /// ages, prices and other measured columns, also next to one-hot columns.
  bool is_bag_of_words() const;
  /// True if one column is more than 100 times larger than another.
  bool scales_differ() const;
};

/// For dense or sparse features (copied to the CPU). Parallel entries count separately.
FeatureSummary summary_of(const Features& x);
/// Reads everything once, some megabytes at a time. Throws DataError if the file cannot be read.
FeatureSummary summary_of(const FileRows& x);

}  // namespace adj
