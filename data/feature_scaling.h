#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/feature_summary.h>

#include <span>

namespace adj {

/// Feature scaling, fitted for training and applied the same way wherever the model is used. Does not use
/// labels.
class FeatureScaling {
 public:
  /// What is scaled, and how.
  enum class Kind : uint8_t {
    none,      ///< unchanged
    rows,      ///< each row divided by its sum, for bags of words (Kipf & Welling 2017)
    standard,  ///< each column minus its mean, divided by its standard deviation
    real,      ///< the same for columns of measurements; others, as one-hot ones, are unchanged
  };

  /// No scaling.
  FeatureScaling() = default;
  static FeatureScaling rows();  ///< of kind `rows`, which is not fitted
  /// Both float32 [F]; `kind` is standard or real. Throws unless they are, all finite, and the standard
  /// deviations positive.
  static FeatureScaling standard(const Tensor& mean, const Tensor& deviation, Kind kind = Kind::standard);
  /// Fits `kind` to the rows `train`, int32 on the CPU; absent: all rows. `standard`: mean and biased
  /// standard deviation (in float64, bitwise equal for any number of threads); the standard deviation of a
  /// column constant in these rows is 1; `real`: for the real columns of a summary of all rows. Throws for
  /// non-finite numbers and for zero rows.
  static FeatureScaling fit(Kind kind, const Features& x, const Tensor& train = {});
  static FeatureScaling fit(Kind kind, const FileRows& x, const Tensor& train = {});
  /// `standard` restricted to `columns`: the others get mean 0 and deviation 1. The kind is `real`.
  FeatureScaling restricted(std::span<const int32_t> columns) const;
  /// Default choice: `rows` for bags of words, else `real`; `none` if there are no columns to standardise, or
  /// if dense ones in place of sparse ones would have more than 2^26 numbers.
  static Kind automatic(const FeatureSummary& x, const FeatureEncoder& encoder = {});

  Kind kind() const { return kind_; }  ///< as fitted; `none` by default
  bool standardizes() const { return kind_ == Kind::standard || kind_ == Kind::real; }  ///< has a mean()
  const Tensor& mean() const { return mean_; }            ///< for `standard` and `real`
  const Tensor& deviation() const { return deviation_; }  ///< same

  /// `x` must have the width of the fitted features. Sparse features stay sparse for `none` and `rows`;
  /// the others make them dense and throw above 2^30 numbers. Quantised features, which are scaled before
  /// quantisation, are refused except by `none`.
  Features apply(const Features& x) const;
  /// Same, as rows are read; bitwise equal.
  FileRows apply(const FileRows& x) const;

 private:
  Kind kind_ = Kind::none;
  Tensor mean_, deviation_;
};

constexpr auto names_of(FeatureScaling::Kind) { return std::array{"none", "rows", "standard", "real"}; }

/// Columns that `real` standardises: those with a number other than 0 and 1, but for the booleans,
/// categories, hashes and texts of the encoder, if there is one.
std::vector<int32_t> real_columns(const FeatureSummary& x, const FeatureEncoder& encoder);

}  // namespace adj
