#pragma once

#include <adjoint/kernels/kernel.h>

#include <cstdint>
#include <span>

namespace adj::kernels {

/// A line of integers: number j is first + floor((j * step + offset) / span).
struct Ramp {
  int64_t first = 0, step = 0, offset = 0, span = 1;

  /// Number j, counted from 0.
  ADJ_HOST_DEVICE int64_t operator()(int64_t j) const { return first + (j * step + offset) / span; }
};

/// An array at the front of a longer one: y[i] = x[i] below the length of `x`, and beyond it rest(0), rest(1)
/// and so on. One dtype: int32, int64 or float32; no negative numbers in a ramp's quotient.
struct Padded {
  Tensor x;
  Tensor y;
  Ramp rest = {};
};

/// Copies arrays into longer ones, all in one launch for up to 32 of them: the structures of a mini-batch go
/// to the storage of a captured step (graph/padded_blocks.h).
struct PadArraysArgs {
  std::span<const Padded> arrays;

  Device device() const { return arrays.front().y.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    ADJ_CHECK(!arrays.empty(), "{}: no arrays", op);
    for (const auto& [x, y, rest] : arrays) {
      ADJ_CHECK(x && y && x.dtype() == y.dtype() && x.device() == device() && y.device() == device() &&
                    x.numel() <= y.numel(),
                "{}: {} into {}, expected one dtype and device and no fewer elements", op, x.str(), y.str());
      ADJ_CHECK(x.dtype() == DType::i32 || x.dtype() == DType::i64 || x.dtype() == DType::f32,
                "{}: {}, expected int32, int64 or float32", op, x.str());
      ADJ_CHECK(rest.span > 0 && rest.step >= 0 && rest.offset >= 0,
                "{}: a ramp of step {}, offset {} and span {}", op, rest.step, rest.offset, rest.span);
    }
  }
};
ADJ_KERNEL(pad_arrays, PadArraysArgs)  ///< Arrays at the front of longer ones.

}  // namespace adj::kernels
