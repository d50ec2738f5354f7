#pragma once

#include <adjoint/data/file_rows.h>
#include <adjoint/graph/features.h>

namespace adj {

struct FeatureRange {
  BitRange range = BitRange::affine;
  bool by_column = true;  ///< a range for each column, else one of all
};

/// Features in a few bits: ranges that are fitted where a model is trained, and used wherever it is. None
/// leaves them as they are.
class FeatureQuantization {
 public:
  static constexpr int kNone = 32;

  /// None.
  FeatureQuantization() = default;
  /// `bits` 1 to 8; scale and zero float32 [1] or [F], as of PackedRows, scales finite and above 0, zeros
  /// finite. Throws otherwise. (Ranges by calibrate(), along columns, are such.)
  FeatureQuantization(int bits, const Tensor& scale, const Tensor& zero);
  /// Over the extremes of all rows' finite numbers; `bits` 1 to 8, or 32: none. symmetric: from -m to m.
  /// affine: from the least to the largest, where 0 is among these rounded so that an integer stands for it
  /// (columns of 0 and 1 are held exactly, in any bits, and columns of one value). On the CPU, the same on
  /// any number of threads; no dense copy of sparse features is made. Throws for other bits, quantised
  /// features.
  static FeatureQuantization fit(int bits, const Features& x, const FeatureRange& of = {});

  bool quantizes() const { return bits_ != kNone; }
  int bits() const { return bits_; }
  const Tensor& scale() const { return scale_; }  ///< on the CPU; absent of none, as zero is
  const Tensor& zero() const { return zero_; }

  /// On the device of `x`, some rows at a time; sparse ones by the CPU. What lies beyond a range is held
  /// within it. Those that are quantised already are left so, where it is by these bits. Throws for another
  /// width.
  Features apply(const Features& x) const;
  /// Rows that stay in their file, as they are read: float32, what the bits stand for.
  FileRows apply(const FileRows& x) const;

 private:
  void check_width(int64_t cols) const;
  PackedRows ranges(int64_t cols, Device device) const;

  int bits_ = kNone;
  Tensor scale_, zero_;
};

}  // namespace adj
