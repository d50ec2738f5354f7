#pragma once

#include <adjoint/kernels/bits/bit_range.h>

namespace adj {

/// How the quantization range is chosen; numbers beyond it saturate.
///
/// `minmax`: all numbers (BitRange). `percentile`: a share of the numbers, so that a few outliers
/// do not cost all others their precision: by absolute value if the range is symmetric, the same number cut
/// at both ends if affine. `least_squares`: minimizes Σ (x - dequantized x)² over equally spaced fractions of
/// the full range.
enum class Calibration : uint8_t { minmax, percentile, least_squares };

/// A `method` finds the numbers that a mapping of kind `range` holds, for x packed `along` rows or columns.
struct CalibrationOptions {
  Calibration method = Calibration::minmax;
  PackedAlong along = PackedAlong::rows;
  BitRange range = BitRange::affine;
  bool by_row = false;   ///< one range per packed row or column instead of one for all
  double share = 0.999;  ///< of the numbers held by a percentile, at least: above 0, at most 1
  int parts = 100;       ///< candidates of least_squares: 1/parts, 2/parts, … of the full range
};

/// What calibrate() finds: q = round(x / scale + zero).
struct BitScales {
  Tensor scale, zero;  ///< float32 [1], or [outer] by row
};

/// scale and zero of x float32 [R,C] for to_bits(), on its device, from its finite numbers; scale is 1 if
/// these are all 0. Ties in the error take the larger range. Identical on every device and for any number of
/// threads: errors are accumulated in float64 over fixed chunks. All methods but minmax run on the CPU,
/// since calibration happens once and not in a training step; they make `parts` passes over x.
BitScales calibrate(const Tensor& x, int bits, const CalibrationOptions& options);

/// x quantized to `bits` bits over the calibrated range.
inline BitTensor to_bits(const Tensor& x, int bits, const CalibrationOptions& options) {
  const BitScales found = calibrate(x, bits, options);
  return to_bits(x, bits, found.scale, found.zero, options.along);
}

}  // namespace adj
