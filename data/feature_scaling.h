#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/data/feature_summary.h>

namespace adj {

/// Feature scaling, fitted for training and applied the same way wherever the model is used. Does not use
/// labels.
class FeatureScaling {
 public:
  enum class Kind : uint8_t {
    none,      ///< unchanged
    rows,      ///< each row divided by its sum, for bags of words (Kipf & Welling 2017)
    standard,  ///< each column minus its mean, divided by its standard deviation, for measured columns
  };

  /// No scaling.
  FeatureScaling() = default;
  static FeatureScaling rows();
  /// Both float32 [F]. Throws unless they are, all finite, and the standard deviations positive.
  static FeatureScaling standard(const Tensor& mean, const Tensor& deviation);
  /// Fits `kind` to the rows `train`, int32 on the CPU; absent: all rows. `standard`: mean and biased
  /// standard deviation (in float64, bitwise equal for any number of threads); the standard deviation of a
  /// column constant in these rows is 1. Throws for non-finite numbers and for zero rows.
  static FeatureScaling fit(Kind kind, const Features& x, const Tensor& train = {});
  static FeatureScaling fit(Kind kind, const FileRows& x, const Tensor& train = {});
  /// Default choice: `rows` for bags of words, else `none`.
  static Kind automatic(const FeatureSummary& x);

  Kind kind() const { return kind_; }
  const Tensor& mean() const { return mean_; }            ///< for `standard`
  const Tensor& deviation() const { return deviation_; }  ///< same

  /// `x` must have the width of the fitted features. Sparse features stay sparse for `none` and `rows`;
  /// `standard` makes them dense and throws above 2^30 numbers. Quantised features, which are scaled before
  /// quantisation, are refused except by `none`.
  Features apply(const Features& x) const;
  /// Same, as rows are read; bitwise equal.
  FileRows apply(const FileRows& x) const;

 private:
  Kind kind_ = Kind::none;
  Tensor mean_, deviation_;
};

constexpr auto names_of(FeatureScaling::Kind) { return std::array{"none", "rows", "standard"}; }

}  // namespace adj
