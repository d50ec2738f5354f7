#pragma once

#include <adjoint/core/choice.h>

#include <cstdint>
#include <vector>

namespace adj {

/// Transform of a numeric column, as in scikit-learn 1.9, in float32 where scikit-learn uses float32.
///
/// - none: unchanged.
/// - standard: `StandardScaler`; fits the mean, and the standard deviation unless the column is constant.
/// - min_max: `MinMaxScaler`; the minimum becomes 0, the maximum 1.
/// - quantile_normal: `QuantileTransformer(output_distribution="normal", subsample=None)`; fits at most 1,000
///   quantiles (from all rows, no subsampling); gives the normal quantile of the rank, within ±5.199.
/// - quantile_uniform: the same with "uniform"; gives the rank, 0 to 1.
enum class ColumnTransform : uint8_t { none, standard, min_max, quantile_normal, quantile_uniform };
constexpr auto names_of(ColumnTransform) {  ///< in the enum's order
  return std::array{"none", "standard", "min-max", "quantile-normal", "quantile-uniform"};
}

/// Replacement of missing numbers, computed from the others as in `SimpleImputer`: the smallest of the most
/// frequent values, the mean or the median; or zero.
enum class Imputation : uint8_t { most_frequent, mean, median, zero };
constexpr auto names_of(Imputation) {  ///< in the enum's order
  return std::array{"most-frequent", "mean", "median", "zero"};
}

/// A transform fitted to one column.
class ColumnFit {
 public:
  /// `values`: the present ones, at least one, in any order; `rows`: of the column, including missing ones,
  /// which determines the number of quantiles.
  ColumnFit(ColumnTransform transform, std::vector<float> values, int64_t rows);
  /// Transforms a number; NaN stays NaN.
  float operator()(float x) const;

 private:
  void fit_standard(const std::vector<float>& values);
  void fit_min_max(const std::vector<float>& values);
  void fit_quantiles(std::vector<float> values, int64_t rows);
  double rank(double x) const;

  ColumnTransform transform_;
  double shift_ = 0.0, scale_ = 1.0;
  std::vector<double> quantiles_, references_;  // ascending, of equal length
};

}  // namespace adj
