// False positive of GCC 12 on the undefined registers of its own AVX-512 intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <adjoint/kernels/dense/cpu/tile_product.h>

#include <type_traits>

#define EIGEN_DONT_PARALLELIZE  // the caller is one of the threads
#include <Eigen/Core>

namespace adj::kernels::cpu {

namespace {

template <class T>
void multiply_by_eigen(const TileShape& shape, const T* a, const T* b, const T* bias, T* c) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  const auto& [m, k, n, turned_a, turned_b, stride_a, stride_b, stride_c, has_bias, relu] = shape;
  const Eigen::Map<const Matrix, 0, Stride> left(a, turned_a ? k : m, turned_a ? m : k, Stride(stride_a));
  const Eigen::Map<const Matrix, 0, Stride> right(b, turned_b ? n : k, turned_b ? k : n, Stride(stride_b));
  Eigen::Map<Matrix, 0, Stride> result(c, m, n, Stride(stride_c));
  if (turned_a && turned_b) {
    result.noalias() = left.transpose() * right.transpose();
  } else if (turned_a) {
    result.noalias() = left.transpose() * right;
  } else if (turned_b) {
    result.noalias() = left * right.transpose();
  } else {
    result.noalias() = left * right;
  }
  if (has_bias) result.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(bias, n);
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
  if (!done) multiply_by_eigen(shape_, a, b, bias, c);
  if (shape_.relu)
    for (int64_t i = 0; i < shape_.m; ++i) relu_row(c + i * shape_.stride_c, shape_.n);
}

template class TileProduct<float>;
template class TileProduct<double>;

}  // namespace adj::kernels::cpu
