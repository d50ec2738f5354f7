#pragma once

#include <adjoint/kernels/bits/bit_range.h>

namespace adj {

/// How much of the numbers the range of a bit tensor holds; those beyond are held at its ends.
///
/// `extremes`: all of them (BitRange). `percentile`: a share of them, so that a few large ones do not cost
/// all others their precision: by absolute value where the range is symmetric, with as many left out at
/// either end where it is affine. `least_squares`: what makes Σ (x - what its bits stand for)² least, among
/// equally spaced parts of the range of all.
enum class Calibration : uint8_t { extremes, percentile, least_squares };

struct CalibrationOptions {
  Calibration method = Calibration::extremes;
  PackedAlong along = PackedAlong::rows;
  BitRange range = BitRange::affine;
  bool by_row = false;   ///< a range for each row or column that is packed, instead of one
  double share = 0.999;  ///< of the numbers, that a percentile holds at least: above 0, at most 1
  int parts = 100;       ///< of the range of all: its 1/parts, 2/parts, …, for least_squares
};

struct BitScales {
  Tensor scale, zero;  ///< float32 [1], or [outer] by row
};

/// scale and zero of x float32 [R,C] for to_bits(), on its device, from its finite numbers; where these are
/// all 0, scale is 1. Of equal errors the larger range is taken. The same numbers on every device and any
/// number of threads: errors are summed in float64 over fixed chunks. All but extremes are computed on the
/// CPU, as a tensor is calibrated once and not in a training's step; `parts` passes over x.
BitScales calibrate(const Tensor& x, int bits, const CalibrationOptions& options);

/// x in `bits` bits over the range so found.
inline BitTensor to_bits(const Tensor& x, int bits, const CalibrationOptions& options) {
  const BitScales found = calibrate(x, bits, options);
  return to_bits(x, bits, found.scale, found.zero, options.along);
}

}  // namespace adj
