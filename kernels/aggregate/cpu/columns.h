#pragma once

#include <adjoint/kernels/aggregate/cpu/feature_blocks.h>

#include <cstring>
#include <type_traits>

namespace adj::kernels::cpu {

/// Column indices of a vector's lanes, in integers of the lanes' width.
template <class S>
using Columns = std::conditional_t<std::is_same_v<S, double>, simd::I64, simd::I32>;

template <class S>
void store_columns(int32_t* output, Columns<S> columns, int count) {
  if constexpr (std::is_same_v<S, double>) {
    using Narrow = int32_t __attribute__((vector_size(simd::kBytes / 2)));
    const Narrow narrow = __builtin_convertvector(columns, Narrow);
    std::memcpy(output, &narrow, static_cast<size_t>(count) * sizeof(int32_t));
  } else {
    std::memcpy(output, &columns, static_cast<size_t>(count) * sizeof(int32_t));
  }
}
template <class S>
Columns<S> load_columns(const int32_t* input, int count) {
  if constexpr (std::is_same_v<S, double>) {
    using Narrow = int32_t __attribute__((vector_size(simd::kBytes / 2)));
    Narrow narrow{};
    std::memcpy(&narrow, input, static_cast<size_t>(count) * sizeof(int32_t));
    return __builtin_convertvector(narrow, Columns<S>);
  } else {
    Columns<S> columns{};
    std::memcpy(&columns, input, static_cast<size_t>(count) * sizeof(int32_t));
    return columns;
  }
}

}  // namespace adj::kernels::cpu
