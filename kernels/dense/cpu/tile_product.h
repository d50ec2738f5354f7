#pragma once

#include <compare>
#include <cstdint>
#include <memory>

namespace adj::kernels::cpu {

/// C[m,n] = op(A)[m,k] op(B)[k,n] + bias[n], with optional relu; no extent is 0. Strides are between rows in
/// memory, in elements.
struct TileShape {
  int64_t m, k, n;
  bool turned_a, turned_b;  ///< stored transposed
  int64_t stride_a, stride_b, stride_c;
  bool bias, relu;

  friend auto operator<=>(const TileShape&, const TileShape&) = default;
};

class OneDnnProduct;

/// A product of one shape, prepared once and run on the calling thread only, by any number of threads
/// concurrently. float by oneDNN if available, else by own code, as double. The bits depend only on the
/// operands.
template <class T>
class TileProduct {
 public:
  explicit TileProduct(const TileShape& shape);
  /// `bias` only if the shape has it.
  void operator()(const T* a, const T* b, const T* bias, T* c) const;

 private:
  TileShape shape_;
  std::shared_ptr<const OneDnnProduct> compiled_;
};

/// In-place, on data in the thread's cache. NaN propagates; oneDNN's own relu makes it 0.
template <class T>
void relu_row(T* row, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] <= T{0} ? T{0} : row[j];
}

/// Single-threaded oneDNN code for this shape, without relu; compiled code is cached for the process, since
/// shapes recur in every step. Null in a build without oneDNN.
std::shared_ptr<const OneDnnProduct> compile_onednn(const TileShape& shape);
/// See TileProduct.
void run_onednn(const std::shared_ptr<const OneDnnProduct>& product, const float* a, const float* b,
                const float* bias, float* c);

}  // namespace adj::kernels::cpu
