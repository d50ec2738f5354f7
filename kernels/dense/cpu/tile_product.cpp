// Products without oneDNN. A block of up to kRows rows by two vectors of columns of C stays in registers over
// kDepth of the inner extent. op(B)'s part of it, 32 KiB, is first laid out in the order of reading, in the
// nearest cache, or several parts in L2 (multiply_by_rows). An element of op(A) is read per multiply-add of a
// whole vector. Every element of C is the sum, in order, of sums in order over kDepth products: the same bits
// for all lengths of vectors.
#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/dense/cpu/tile_product.h>

#include <algorithm>
#include <type_traits>

namespace adj::kernels::cpu {

namespace {

constexpr int kRows = ADJ_AVX512 ? 12 : 6;  // with two vectors of columns: 24 of 32 registers, 12 of 16
constexpr int64_t kDepth = 256;
constexpr int64_t kFewRows = 2 * kRows;  // for which packing does not pay
constexpr int64_t kNarrow = 64;          // transposed rows that are read well in place
constexpr int64_t kPacked = 1 << 16;     // elements of op(B) in L2

template <class T>
using Vector = typename simd::Accumulate<T>::Vector;
template <class T>
constexpr int kLanes = simd::Accumulate<T>::kLanes;

/// R rows, by N vectors of columns of which the last holds `tail`: C = A B, or C + A B. The rows of B are
/// `step` apart.
template <class T, int N, bool kTurned, int R>
[[gnu::noinline]] void block(const TileShape& shape, const T* a, int64_t stride, const T* b, int64_t step,
                             int64_t depth, int tail, bool add, T* c) {
  Vector<T> sum[R][N]{};
  for (int64_t k = 0; k < depth; ++k, b += step) {
    Vector<T> row[N];
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) row[v] = simd::load(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const T x = kTurned ? a[k * stride + r] : a[r * stride + k];
#pragma GCC unroll 2
      for (int v = 0; v < N; ++v) sum[r][v] += x * row[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) {
      T* output = c + r * shape.stride_c + v * kLanes<T>;
      const int n = v < N - 1 ? kLanes<T> : tail;
      simd::store_first(output, add ? simd::load_first(output, n) + sum[r][v] : sum[r][v], n);
    }
}

template <class T, int N, bool kTurned, int R = kRows>
void block_of(int64_t rows, const TileShape& shape, const T* a, int64_t stride, const T* b, int64_t step,
              int64_t depth, int tail, bool add, T* c) {
  if (rows == R) return block<T, N, kTurned, R>(shape, a, stride, b, step, depth, tail, add, c);
  if constexpr (R > 1) block_of<T, N, kTurned, R - 1>(rows, shape, a, stride, b, step, depth, tail, add, c);
}

/// `packed` = N vectors of columns of op(B) for each of `depth` rows, zeros behind the n-th.
template <class T, int N>
void pack(const TileShape& shape, const T* b, int64_t depth, int64_t n, T* packed) {
  constexpr int64_t kWidth = N * kLanes<T>;
  if (n < kWidth) std::fill_n(packed, depth * kWidth, T{0});
  if (shape.turned_b) {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < depth; ++k) packed[k * kWidth + j] = b[j * shape.stride_b + k];
  } else {
    for (int64_t k = 0; k < depth; ++k) std::copy_n(b + k * shape.stride_b, n, packed + k * kWidth);
  }
}

/// N vectors of columns of C, n columns.
template <class T, int N>
void panel(const TileShape& shape, const T* a, const T* b, int64_t depth, int64_t n, bool add, T* c) {
  alignas(64) T packed[kDepth * N * kLanes<T>];
  int64_t step = shape.stride_b;
  if (shape.m > kFewRows || shape.turned_b || n < N * kLanes<T>) {
    pack<T, N>(shape, b, depth, n, packed);
    b = packed;
    step = N * kLanes<T>;
  }
  const int tail = static_cast<int>(n - (N - 1) * kLanes<T>);
  const int64_t blocks = (shape.m + kRows - 1) / kRows;  // of about as many rows each
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t begin = shape.m * i / blocks, rows = shape.m * (i + 1) / blocks - begin;
    T* output = c + begin * shape.stride_c;
    if (shape.turned_a) {
      block_of<T, N, true>(rows, shape, a + begin, shape.stride_a, b, step, depth, tail, add, output);
    } else {
      block_of<T, N, false>(rows, shape, a + begin * shape.stride_a, shape.stride_a, b, step, depth, tail,
                            add, output);
    }
  }
}

template <class F>
void for_pieces(int64_t whole, int64_t size, F f) {
  for (int64_t begin = 0; begin < whole; begin += size) f(begin, std::min(size, whole - begin));
}

/// The product row by row, so that op(A) is read once, for panels of op(B) that fit in L2. Rows that are
/// stored transposed are copied first, for all panels.
template <class T, bool kTurned>
void multiply_by_rows(const TileShape& shape, const T* a, const T* b, T* c) {
  constexpr int64_t kWidth = 2 * kLanes<T>;
  alignas(64) T packed[kPacked], rows_of_a[kTurned ? kDepth * kRows : 1];
  const int64_t blocks = (shape.m + kRows - 1) / kRows;
  const int64_t deep = shape.n > kWidth ? kDepth : kPacked / kWidth;
  // f(panel's first column, its columns, address in `packed`)
  const auto each_panel = [&](int64_t columns, int64_t depth, T* address, auto&& f) {
    for_pieces(columns, kWidth, [&](int64_t j, int64_t n) { f(j, n, address + j * depth); });
  };
  for_pieces(shape.k, deep, [&](int64_t depth_begin, int64_t whole) {
    for_pieces(shape.n, kPacked / kDepth, [&](int64_t first, int64_t columns) {
      for_pieces(whole, kDepth, [&](int64_t offset, int64_t depth) {
        each_panel(columns, depth, packed + offset * kWidth, [&](int64_t j, int64_t n, T* address) {
          const int64_t row = depth_begin + offset, column = first + j;
          const T* right =
              b + (shape.turned_b ? column * shape.stride_b + row : row * shape.stride_b + column);
          (n > kLanes<T> ? pack<T, 2> : pack<T, 1>)(shape, right, depth, n, address);
        });
      });
      for (int64_t k = 0; k < blocks; ++k) {
        const int64_t begin = shape.m * k / blocks, rows = shape.m * (k + 1) / blocks - begin;
        for_pieces(whole, kDepth, [&](int64_t offset, int64_t depth) {
          const int64_t row = depth_begin + offset;
          const T* left = a + (kTurned ? row * shape.stride_a + begin : begin * shape.stride_a + row);
          int64_t stride = shape.stride_a;
          if constexpr (kTurned) {
            for (int64_t e = 0; e < depth; ++e) std::copy_n(left + e * stride, rows, rows_of_a + e * kRows);
            left = rows_of_a;
            stride = kRows;
          }
          T* const output = c + begin * shape.stride_c + first;
          each_panel(columns, depth, packed + offset * kWidth, [&](int64_t j, int64_t n, const T* right) {
            if (n > kLanes<T>) {
              block_of<T, 2, kTurned>(rows, shape, left, stride, right, 2 * kLanes<T>, depth,
                                      static_cast<int>(n - kLanes<T>), row > 0, output + j);
            } else {
              block_of<T, 1, kTurned>(rows, shape, left, stride, right, kLanes<T>, depth, static_cast<int>(n),
                                      row > 0, output + j);
            }
          });
        });
      }
    });
  });
}

template <class T>
void multiply_by_panels(const TileShape& shape, const T* a, const T* b, T* c) {
  for (int64_t k = 0; k < shape.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, shape.k - k);
    const T* left = a + (shape.turned_a ? k * shape.stride_a : k);
    for (int64_t j = 0; j < shape.n; j += 2 * kLanes<T>) {
      const T* right = b + (shape.turned_b ? j * shape.stride_b + k : k * shape.stride_b + j);
      const int64_t n = std::min<int64_t>(shape.n - j, 2 * kLanes<T>);
      (n > kLanes<T> ? panel<T, 2> : panel<T, 1>)(shape, left, right, depth, n, k > 0, c + j);
    }
  }
}

/// One panel of columns, or more of op(A) stored transposed (a weight's gradient) with long rows, go by rows:
/// 1.15 to 1.5 times as fast; the rest, by panels, is up to 1.1 times as fast (one core, AVX-512).
template <class T>
void multiply(const TileShape& shape, const T* a, const T* b, const T* bias, T* c) {
  const bool one_panel = shape.n <= 2 * kLanes<T>;
  if (shape.m <= kFewRows || (shape.turned_a ? one_panel || shape.stride_a <= kNarrow : !one_panel)) {
    multiply_by_panels(shape, a, b, c);
  } else if (shape.turned_a) {
    multiply_by_rows<T, true>(shape, a, b, c);
  } else {
    multiply_by_rows<T, false>(shape, a, b, c);
  }
  if (bias == nullptr) return;
  for (int64_t i = 0; i < shape.m; ++i)
#pragma omp simd
    for (int64_t j = 0; j < shape.n; ++j) c[i * shape.stride_c + j] += bias[j];
}

}  // namespace

template <class T>
TileProduct<T>::TileProduct(const TileShape& shape) : shape_(shape) {
  TileShape linear = shape;
  linear.relu = false;
  if constexpr (std::is_same_v<T, float>) compiled_ = compile_onednn(linear);
}

template <class T>
void TileProduct<T>::operator()(const T* a, const T* b, const T* bias, T* c) const {
  bool done = false;
  if constexpr (std::is_same_v<T, float>) {
    done = compiled_ != nullptr;
    if (done) run_onednn(compiled_, a, b, bias, c);
  }
  if (!done) multiply(shape_, a, b, shape_.bias ? bias : nullptr, c);
  if (shape_.relu)
    for (int64_t i = 0; i < shape_.m; ++i) relu_row(c + i * shape_.stride_c, shape_.n);
}

template class TileProduct<float>;
template class TileProduct<double>;

}  // namespace adj::kernels::cpu
