#pragma once

#include <adjoint/core/error.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// `__host__ __device__` in CUDA sources, otherwise nothing.
#if defined(__CUDACC__)
#define ADJ_HOST_DEVICE __host__ __device__
#else
#define ADJ_HOST_DEVICE
#endif

namespace adj {

/// Element type of a tensor. float64 is for gradient checks, bfloat16 for storage (arithmetic is in float32).
/// bits: single bits packed along the last dimension, for kernels that support them; not readable as numbers
/// (size: bytes_of in shape.h).
enum class DType : uint8_t { f32, f64, bf16, i32, i64, u8, bits };

/// bfloat16: the upper half of a float32. Conversion rounds to nearest, ties to even; NaN stays NaN. The same
/// bits on every device.
struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  ADJ_HOST_DEVICE explicit bfloat16(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    const bool is_nan = (raw & 0x7fffffffu) > 0x7f800000u;
    const auto quiet = static_cast<uint16_t>((raw >> 16) | 0x40u);
    uint16_t rounded;
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));  // one instruction for the expression below
#else
    rounded = static_cast<uint16_t>((raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16);
#endif
    bits = is_nan ? quiet : rounded;  // a select, not a branch, so that conversion loops vectorize
  }
  /// Exact.
  ADJ_HOST_DEVICE explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

/// Compute type for storage type S: float for 16-bit types, else S itself.
template <class S>
struct AccumulatorOf {
  using type = S;
};
/// `type` is float, since bfloat16 is for storage only.
template <>
struct AccumulatorOf<bfloat16> {
  using type = float;
};
/// That type, for short.
template <class S>
using Accumulator = typename AccumulatorOf<S>::type;

/// The number in the compute type, exactly.
template <class S>
ADJ_HOST_DEVICE inline Accumulator<S> widen(S value) {
  return static_cast<Accumulator<S>>(value);
}
/// Rounds once, to the storage type.
template <class S>
ADJ_HOST_DEVICE inline S narrow(Accumulator<S> value) {
  return static_cast<S>(value);
}

/// Same for dtypes.
constexpr DType accumulator_dtype(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

namespace detail {
struct DTypeFacts {
  std::string_view name;
  size_t bytes;  // of an element
};
/// By DType.
inline constexpr DTypeFacts kDTypes[] = {{"float32", 4}, {"float64", 8}, {"bfloat16", 2}, {"int32", 4},
                                         {"int64", 8},   {"uint8", 1},   {"bits", 0}};

constexpr DType dtype_at(const float*) { return DType::f32; }
constexpr DType dtype_at(const double*) { return DType::f64; }
constexpr DType dtype_at(const bfloat16*) { return DType::bf16; }
constexpr DType dtype_at(const int32_t*) { return DType::i32; }
constexpr DType dtype_at(const int64_t*) { return DType::i64; }
constexpr DType dtype_at(const uint8_t*) { return DType::u8; }
}  // namespace detail

/// Bytes per element. Throws for bits.
constexpr size_t size_of(DType dtype) {
  if (dtype == DType::bits) fail("bits: an element has no bytes of its own (bytes_of takes the shape)");
  return detail::kDTypes[static_cast<size_t>(dtype)].bytes;
}

constexpr std::string_view name_of(DType dtype) { return detail::kDTypes[static_cast<size_t>(dtype)].name; }

/// The dtype of elements of type T.
template <class T>
constexpr DType dtype_of() {
  return detail::dtype_at(static_cast<const T*>(nullptr));
}

/// True for float32, float64 and bfloat16.
constexpr bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16;
}

/// Throws Error: `op` expects float32 or float64, not `dtype`.
[[noreturn, gnu::cold]] void throw_not_float(std::string_view op, DType dtype);

/// Calls `f.template operator()<T>()` with T = float or double; throws for any other dtype, naming `op`.
template <class F>
decltype(auto) dispatch_float(DType dtype, std::string_view op, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  if (dtype == DType::f64) return f.template operator()<double>();
  throw_not_float(op, dtype);
}

/// Calls `f.template operator()<S>()` with S = float, double or bfloat16, the storage types of features;
/// compute in `Accumulator<S>`.
template <class F>
decltype(auto) dispatch_features(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f.template operator()<bfloat16>();
  return dispatch_float(dtype, "features", f);
}

}  // namespace adj
