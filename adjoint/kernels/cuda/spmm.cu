// Y = act(A X + bias): which code computes it. None, relu and leaky_relu are part of the own kernels; the two
// that need transcendental functions take a pass over Y, and so does everything after cuSPARSE.

#include "spmm_cusparse.h"
#include "spmm_launch.cuh"
#include "spmm_small.h"
#include <adjoint/kernels/spmm.h>
#include <adjoint/kernels/spmm_backend.h>

namespace adj::kernels::cuda {

namespace {

bool is_piecewise_linear(Activation activation) {
  return activation == Activation::none || activation == Activation::relu ||
         activation == Activation::leaky_relu;
}

/// y = act(y + bias), in place.
template <class S>
__global__ void finish_rows(SpmmArguments<S> a, int64_t numel) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += stride)
    a.y[i] = narrow<S>(finish(a, widen(a.y[i]), static_cast<int>(i % a.width)));
}

template <class S>
void finish_in_place(const Tensor& bias, Activation activation, Tensor& y) {
  if (!bias && activation == Activation::none) return;
  SpmmArguments<S> arguments{};
  arguments.y = static_cast<S*>(y.raw_mutable_data());
  arguments.width = static_cast<int>(y.size(1));
  arguments.activation = activation;
  if (bias) arguments.bias = bias.template data<Sum<S>>();
  arguments.slope = Sum<S>(kLeakySlope);
  adj::cuda::launch("spmm", {.device = y.device().index, .blocks = adj::cuda::blocks_for(y.numel(), 4)},
                    finish_rows<S>, arguments, y.numel());
}

template <class S>
void run(const CsrMatrix& a, const Tensor& x, const Tensor& bias, Activation activation, Tensor& y) {
  const Activation fused = is_piecewise_linear(activation) ? activation : Activation::none;
  if (spmm_backend() == SpmmBackend::cusparse && a.csr.entries() > 0 && x.size(1) > 0) {
    cusparse_spmm(a, x, y);
    finish_in_place<S>(bias, fused, y);
  } else if (is_small_spmm(a.csr, x)) {
    small_spmm(a, x, bias, fused, y);
  } else {
    own_spmm<S>(a, x, bias, fused, y);
  }
  if (fused != activation) activate(activation, static_cast<float>(kLeakySlope), y, y);
}

}  // namespace

void spmm(const CsrMatrix& a, const Tensor& x, const Tensor& bias, Activation activation, Tensor& y) {
  switch (x.dtype()) {
    case DType::f64:
      return run<double>(a, x, bias, activation, y);
    case DType::bf16:
      return run<uint16_t>(a, x, bias, activation, y);
    default:
      return run<float>(a, x, bias, activation, y);
  }
}

}  // namespace adj::kernels::cuda
