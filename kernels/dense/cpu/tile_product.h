#pragma once

#include <compare>
#include <cstdint>
#include <memory>

namespace adj::kernels::cpu {

/// C[m,n] = op(A)[m,k] op(B)[k,n] + bias[n], then relu where asked; no extent is 0. Strides are those of the
/// rows as they lie in memory, in elements.
struct TileShape {
  int64_t m, k, n;
  bool turned_a, turned_b;  ///< lies as its transpose
  int64_t stride_a, stride_b, stride_c;
  bool bias, relu;

  friend auto operator<=>(const TileShape&, const TileShape&) = default;
};

class OneDnnProduct;

/// A product of one shape, prepared once and then run on the calling thread alone, by any number of threads
/// at once. float by oneDNN where present, which double and a build without it do without. The bits depend on
/// the operands alone.
template <class T>
class TileProduct {
 public:
  explicit TileProduct(const TileShape& shape);
  /// `bias` only where the shape has it.
  void operator()(const T* a, const T* b, const T* bias, T* c) const;

 private:
  TileShape shape_;
  std::shared_ptr<const OneDnnProduct> compiled_;
};

/// In place, within what a thread has in its cache. NaN stays, where oneDNN's own relu makes it 0.
template <class T>
void relu_row(T* row, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] <= T{0} ? T{0} : row[j];
}

/// oneDNN's code for one thread and this shape, but for relu; compiled ones are kept for the process, since
/// shapes recur from step to step. Null in a build without oneDNN.
std::shared_ptr<const OneDnnProduct> compile_onednn(const TileShape& shape);
/// See TileProduct.
void run_onednn(const std::shared_ptr<const OneDnnProduct>& product, const float* a, const float* b,
                const float* bias, float* c);

}  // namespace adj::kernels::cpu
