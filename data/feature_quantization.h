#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/types/bit_scale.h>

#include <vector>

namespace adj {

/// Ranges that FeatureQuantization::fit() chooses.
struct FeatureRange {
  BitRange range = BitRange::affine;  ///< affine: minimum to maximum; symmetric: -m to m
  bool by_column = true;              ///< one range per column, else one for all
};

/// Feature quantisation to a few bits: ranges are fitted for training and reused wherever the model is. The
/// default leaves features unchanged.
class FeatureQuantization {
 public:
  static constexpr int kNone = 32;  ///< bits() without quantisation

  /// No quantisation.
  FeatureQuantization() = default;
  /// `bits` 1 to 8; scale and zero float32 [1] or [F], as in PackedRows, scales finite and positive, zeros
  /// finite. Throws otherwise. (Ranges from calibrate(), along columns, qualify.)
  FeatureQuantization(int bits, const Tensor& scale, const Tensor& zero);
  /// Fits ranges to the minimum and maximum of the finite numbers of all rows; `bits` 1 to 8, or 32: none.
  /// symmetric: from -m to m. affine: from minimum to maximum, with 0, if inside, represented exactly
  /// (columns of 0 and 1, and constant columns, are exact for any bits). On the CPU, bitwise equal for any
  /// number of threads; sparse features are not made dense. Throws for other bits, and for quantised
  /// features.
  static FeatureQuantization fit(int bits, const Features& x, const FeatureRange& options = {});

  bool quantizes() const { return bits_ != kNone; }  ///< false: apply() changes nothing
  int bits() const { return bits_; }
  const Tensor& scale() const { return scale_; }  ///< on the CPU; absent if none, like zero
  const Tensor& zero() const { return zero_; }    ///< q becomes scale (q - zero)

  /// Quantises on the device of `x`, in blocks of rows; sparse features on the CPU. Values outside a range
  /// are clamped. Features already quantised with these bits are returned unchanged. Throws for another
  /// width.
  Features apply(const Features& x) const;
  /// For rows in a file: quantised as they are read, returned dequantised, float32.
  FileRows apply(const FileRows& x) const;
  /// By column, how many numbers apply() clamps, by more than it rounds others. All 0 without quantisation.
  std::vector<int64_t> clamped(const Features& x) const;
  std::vector<int64_t> clamped(const FileRows& x) const;

 private:
  void check_width(int64_t cols) const;
  PackedRows ranges(int64_t cols, Device device) const;
  void count_clamped(const Tensor& block, std::vector<int64_t>& counts) const;

  int bits_ = kNone;
  Tensor scale_, zero_;
};

}  // namespace adj
