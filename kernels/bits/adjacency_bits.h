#pragma once

#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/kernels/sparse/csr.h>

#include <optional>

namespace adj {

namespace kernels {

/// Sets the bits of the entries of the structure `a` in `output` [rows, cols], one bit each, packed along
/// rows; writes planes and sums. `repeats` int32 [1]: number of entries whose bit was already set.
struct AdjacencyBitsArgs {
  const Csr& a;
  BitTensor& output;
  Tensor& repeats;

  Device device() const { return a.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    check_csr(op, a);
    detail::check_planes(op, "the bit tensor", output);
    ADJ_CHECK(
        output.outer == a.rows && output.inner == a.cols && output.bits == 1 && output.device() == a.device(),
        "{}: output is [{}, {}] of {} bits on {}, expected [{}, {}] of one bit on {}", op, output.outer,
        output.inner, output.bits, output.device().str(), a.rows, a.cols, a.device().str());
    check_tensor(op, "repeats", repeats, {1}, DType::i32, a.device());
  }
};
ADJ_KERNEL(adjacency_bits, AdjacencyBitsArgs)  ///< The entries of a structure as bits.

}  // namespace kernels

/// The adjacency matrix of a structure with one bit per entry (QGTC, section 4.1), as a left operand. Empty
/// if there are duplicate entries, which one bit cannot represent; checking this synchronizes with the
/// device.
inline std::optional<BitTensor> adjacency_bits(const Csr& a) {
  const Device device = a.device();
  BitTensor bits = BitTensor::empty(a.rows, a.cols, 1, Tensor::full({1}, 1.0, DType::f32, device),
                                    Tensor::zeros({1}, DType::f32, device), device);
  Tensor repeats = Tensor::empty({1}, DType::i32, device);
  kernels::adjacency_bits({.a = a, .output = bits, .repeats = repeats});
  if (repeats.to_vector<int32_t>()[0] > 0) return {};
  return bits;
}

}  // namespace adj
