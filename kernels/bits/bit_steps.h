#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj {

namespace kernels {

namespace detail {

inline void check_steps(std::string_view op, const BitSteps* steps, const BitTensor& of) {
  if (steps == nullptr) return;
  check_planes(op, "an operand with steps", of);
  const int64_t tiles = ceil_div(of.outer, BitSteps::kRows);
  ADJ_CHECK(steps->outer == of.outer && steps->steps == of.steps(),
            "{}: steps of a bit tensor of {} rows and {} steps, expected {} and {}", op, steps->outer,
            steps->steps, of.outer, of.steps());
  check_tensor(op, "counts of steps", steps->counts, {tiles}, DType::i32, of.device());
  check_tensor(op, "list of steps", steps->list, {tiles, of.steps()}, DType::i32, of.device());
}

}  // namespace detail

/// Fills counts and list, allocated as described at BitSteps.
struct FindBitStepsArgs {
  const BitTensor& of;
  BitSteps& to;

  Device device() const { return of.device(); }
  void check(std::string_view op) const {
    detail::check_planes(op, "the bit tensor", of);
    detail::check_steps(op, &to, of);
  }
};
ADJ_KERNEL(find_bit_steps, FindBitStepsArgs)

}  // namespace kernels

/// The nonempty steps of `of`.
inline BitSteps bit_steps(const BitTensor& of) {
  const int64_t tiles = ceil_div(of.outer, BitSteps::kRows);
  BitSteps to{of.outer, of.steps(), Tensor::empty({tiles}, DType::i32, of.device()),
              Tensor::empty({tiles, of.steps()}, DType::i32, of.device())};
  kernels::find_bit_steps({.of = of, .to = to});
  return to;
}

}  // namespace adj
