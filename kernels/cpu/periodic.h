#pragma once

#include <adjoint/kernels/cpu/loops.h>

// A matrix [N,F] as a flat array in which column parameters repeat with period F. Rows narrower than a few
// vectors are processed several at once, by repeating the parameters up to a period that fills the vectors.
namespace adj::kernels::cpu {

/// Smallest multiple of `width` with at least 64 elements.
inline int64_t period_of(int64_t width) { return width >= 64 ? width : ceil_div(64, width) * width; }

/// `output` [period] = `input` [width], repeated.
template <class T, class From>
void repeat(const From* input, int64_t width, int64_t period, T* output) {
  for (int64_t f = 0; f < width; ++f) output[f] = static_cast<T>(widen(input[f]));
  for (int64_t j = width; j < period; ++j) output[j] = output[j - width];
}

/// Σ over the rows, in double: out[f] = Σ_k folded[f + k width], k width < period.
template <class T, class To>
void fold(const T* folded, int64_t width, int64_t period, To* out) {
  for (int64_t f = 0; f < width; ++f) {
    double sum = 0.0;
    for (int64_t j = f; j < period; j += width) sum += static_cast<double>(folded[j]);
    out[f] = static_cast<To>(sum);
  }
}

/// Calls f(offset, length) for consecutive stretches of [0, n) of one period each; the last may be shorter.
template <class F>
void for_stretches(int64_t n, int64_t period, F f) {
  for (int64_t offset = 0; offset < n; offset += period) f(offset, std::min(period, n - offset));
}

}  // namespace adj::kernels::cpu
