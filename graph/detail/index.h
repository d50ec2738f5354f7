#pragma once

#include <adjoint/kernels/index/select.h>

#include <numeric>

namespace adj::detail {

/// 0 … n - 1, int32 [n].
inline Tensor iota(int64_t n, Device device) {
  Tensor y = Tensor::empty({n}, DType::i32, device);
  kernels::iota({.y = y});
  return y;
}

/// begin … end - 1, int32 [end - begin], on the CPU.
inline Tensor range(int64_t begin, int64_t end) {
  Tensor y = Tensor::empty({end - begin}, DType::i32);
  auto* values = y.mutable_data<int32_t>();
  std::iota(values, values + y.numel(), static_cast<int32_t>(begin));
  return y;
}

/// Node ids [n], each moved by `distance`, on the CPU.
inline Tensor shifted(const Tensor& nodes, int64_t distance) {
  std::vector<int32_t> moved = nodes.to_vector<int32_t>();
  for (int32_t& node : moved) node += static_cast<int32_t>(distance);
  return Tensor::from(moved);
}

/// The rows of a, then those of b, [N] or [N,F]; F may be 0.
inline Tensor concatenated(const Tensor& a, const Tensor& b) {
  const int64_t n = a.size(0), all = n + b.size(0);
  Tensor y = Tensor::empty(a.shape().with(0, all), a.dtype(), a.device());
  if (a.numel() > 0) y.rows(0, n).copy_(a);
  if (b.numel() > 0) y.rows(n, all).copy_(b);
  return y;
}

/// The positions k, ascending, at which the pair (a[k], b[k]) passes the test. Synchronizes to read their
/// count.
inline Tensor places(kernels::PairTest test, const Tensor& a, const Tensor& b) {
  Tensor positions = Tensor::empty_like(a);
  Tensor count = Tensor::empty({}, DType::i64, a.device());
  kernels::select_pairs({.test = test, .a = a, .b = b, .positions = positions, .count = count});
  return positions.rows(0, count.to_vector<int64_t>()[0]);
}

}  // namespace adj::detail
