#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj {

namespace kernels {

namespace detail {

inline void check_steps(std::string_view op, const BitSteps* steps, const BitTensor& q) {
  if (steps == nullptr) return;
  check_planes(op, "an operand with steps", q);
  const int64_t tiles = ceil_div(q.outer, BitSteps::kRows);
  ADJ_CHECK(steps->outer == q.outer && steps->steps == q.steps(),
            "{}: steps of a bit tensor of {} rows and {} steps, expected {} and {}", op, steps->outer,
            steps->steps, q.outer, q.steps());
  check_tensor(op, "counts of steps", steps->counts, {tiles}, DType::i32, q.device());
  check_tensor(op, "list of steps", steps->list, {tiles, q.steps()}, DType::i32, q.device());
}

}  // namespace detail

/// Fills counts and list of `output`, allocated as described at BitSteps, for the bit planes `input`.
struct FindBitStepsArgs {
  const BitTensor& input;
  BitSteps& output;

  Device device() const { return input.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    detail::check_planes(op, "the bit tensor", input);
    detail::check_steps(op, &output, input);
  }
};
ADJ_KERNEL(find_bit_steps, FindBitStepsArgs)  ///< The nonempty steps of bit planes.

}  // namespace kernels

/// The nonempty steps of `q`.
inline BitSteps bit_steps(const BitTensor& q) {
  const int64_t tiles = ceil_div(q.outer, BitSteps::kRows);
  BitSteps result{q.outer, q.steps(), Tensor::empty({tiles}, DType::i32, q.device()),
                  Tensor::empty({tiles, q.steps()}, DType::i32, q.device())};
  kernels::find_bit_steps({.input = q, .output = result});
  return result;
}

}  // namespace adj
