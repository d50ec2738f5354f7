#pragma once

#include <adjoint/data/feature_summary.h>

#include <optional>
#include <string>
#include <string_view>

namespace adj {

/// What becomes of features before a model sees them: fitted where a model is trained, and applied the same
/// way wherever it is used. It knows no labels.
class FeatureScaling {
 public:
  enum class Kind : uint8_t {
    none,      ///< as they are
    rows,      ///< each row divided by its sum: bags of words (Kipf & Welling 2017)
    standard,  ///< each column less its mean, divided by its deviation: measured columns
  };

  /// None.
  FeatureScaling() = default;
  static FeatureScaling rows();
  /// float32 [F] both. Throws unless they are, and finite, deviations above 0.
  static FeatureScaling standard(const Tensor& mean, const Tensor& deviation);
  /// `kind`, which is fitted to the rows `train`, int32 on the CPU; to all where it is absent. Of `standard`:
  /// mean and biased deviation (in float64, the same bits for any number of threads), 1 in the place of that
  /// of a column which is the same in all these rows. Throws where numbers are not finite; for no rows.
  static FeatureScaling fit(Kind kind, const Features& x, const Tensor& train = {});
  static FeatureScaling fit(Kind kind, const FileRows& x, const Tensor& train = {});
  /// What suits such features without being asked: `rows` for bags of words, else `none`.
  static Kind automatic(const FeatureSummary& x);

  Kind kind() const { return kind_; }
  const Tensor& mean() const { return mean_; }            ///< of `standard`
  const Tensor& deviation() const { return deviation_; }  ///< likewise

  /// Of the same width as those it was fitted to. Sparse features stay sparse for `none` and `rows`;
  /// `standard` makes them dense: throws above 2^30 numbers. Quantised ones, which were scaled before, are
  /// refused by both but `none`.
  Features apply(const Features& x) const;
  /// The same, as rows are read; to the same bits.
  FileRows apply(const FileRows& x) const;

 private:
  Kind kind_ = Kind::none;
  Tensor mean_, deviation_;
};

/// "none", "rows", "standard".
std::string_view name_of(FeatureScaling::Kind kind);
/// The kind of that name; absent where there is none.
std::optional<FeatureScaling::Kind> feature_scaling_named(std::string_view name);

}  // namespace adj
