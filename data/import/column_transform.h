#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace adj {

/// What becomes of a column of numbers before a model sees it; each as scikit-learn 1.9 has it, in float32
/// where that computes in float32.
///
/// | | scikit-learn | fitted |
/// | --- | --- | --- |
/// | none | | nothing |
/// | standard | `StandardScaler` | mean, and deviation unless the column is constant |
/// | min_max | `MinMaxScaler` | the least becomes 0, the greatest 1 |
/// | quantile_normal | `QuantileTransformer(output_distribution="normal", subsample=None)` | quantiles, at
/// most 1,000 (all rows count, none are drawn); rank, then the normal distribution's quantile of it, within
/// ±5.199 | | quantile_uniform | the same with "uniform" | rank, 0 to 1 |
enum class ColumnTransform : uint8_t { none, standard, min_max, quantile_normal, quantile_uniform };
std::string_view name_of(ColumnTransform transform);

/// What stands in the place of a missing number, found from the others as `SimpleImputer` does: the least of
/// the most frequent ones, their mean or their median; or zero.
enum class Imputation : uint8_t { most_frequent, mean, median, zero };
std::string_view name_of(Imputation imputation);

/// A transform fitted to one column.
class ColumnFit {
 public:
  /// `values`: those that are there, one at least, in any order; `rows`: of the column, the missing ones
  /// included, which is what the number of quantiles goes by.
  ColumnFit(ColumnTransform transform, std::vector<float> values, int64_t rows);
  /// Of a number, or of nan, which stays one.
  float operator()(float x) const;

 private:
  void fit_standard(const std::vector<float>& values);
  void fit_min_max(const std::vector<float>& values);
  void fit_quantiles(std::vector<float> values, int64_t rows);
  double rank(double x) const;

  ColumnTransform transform_;
  double shift_ = 0.0, scale_ = 1.0;
  std::vector<double> quantiles_, references_;  // ascending, as many
};

}  // namespace adj
