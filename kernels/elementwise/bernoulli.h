#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y[i] = 1 with probability p[i], else 0: compares number i of the sequence `key` (word i % 4 of Philox
/// block i / 4, uniform in [0, 1)) with p[i]. p float32 [N], y uint8 [N]. Identical on every device.
struct BernoulliArgs {
  const Tensor& p;
  RandomKey key;
  Tensor& y;

  Device device() const { return p.device(); }
  void check(std::string_view op) const {
    ADJ_CHECK(p && p.dims() == 1 && p.dtype() == DType::f32, "{}: p is {}, expected float32 [N]", op,
              p.str());
    check_tensor(op, "y", y, p.shape(), DType::u8, p.device());
  }
};
ADJ_KERNEL(bernoulli, BernoulliArgs)  ///< Draws of 0 or 1.

/// One draw y[i].
ADJ_HOST_DEVICE inline uint8_t bernoulli_of(float p, uint64_t seed, uint64_t stream, int64_t i) {
  const PhiloxBlock block = philox(seed, stream, static_cast<uint64_t>(i / 4));
  return to_uniform(block.word[i % 4]) < p ? 1 : 0;
}

}  // namespace adj::kernels
