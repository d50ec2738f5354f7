#pragma once

#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/dispatch_value.h>

#include <cstdint>
#include <cstring>

namespace adj::kernels::cpu {

/// Calls f.template operator()<N>() with N = `count` (heads or features of a head) if it is 1, 2, 4 or 8, so
/// that loops over it unroll; with 0 otherwise.
template <class F>
void with_few(int64_t count, F&& f) {
  dispatch_value<1, 2, 4, 8, 0>(count, f);
}

namespace detail {
template <class T, int N>
struct FewOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T>
struct FewOf<T, 1> {
  using type = T;
};
}  // namespace detail

/// N numbers of an entry's heads as a vector with lane-wise operators.
template <class T, int N>
using Few = typename detail::FewOf<T, N>::type;
template <int N, class T>
Few<T, N> load_few(const T* p) {
  Few<T, N> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
void store_few(T* p, const V& v) {
  std::memcpy(p, &v, sizeof v);
}

}  // namespace adj::kernels::cpu
