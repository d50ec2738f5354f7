// Y = act(A X + bias): which code computes it. Bias and relu are part of the own kernels; after cuSPARSE they
// take a pass over Y.

#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_strategies.h>
#include <adjoint/kernels/aggregate/explain.h>
#include <adjoint/kernels/aggregate/spmm.h>

namespace adj::kernels::cuda {

namespace {

/// y = act(y + bias), in place.
template <class S>
__global__ void finish_rows(SpmmArguments<S> a, int64_t numel) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += stride)
    a.y[i] = narrow<S>(finish(a, widen(a.y[i]), static_cast<int>(i % a.width)));
}

template <class S>
void finish_in_place(const SpmmArgs& args) {
  if (!args.bias && args.activation == Activation::none) return;
  SpmmArguments<S> arguments{};
  arguments.y = args.y.mutable_data<S>();
  arguments.width = static_cast<int>(args.y.size(1));
  arguments.relu = args.activation == Activation::relu;
  if (args.bias) arguments.bias = args.bias.data<S>();
  adj::cuda::launch("spmm",
                    {.device = args.y.device().index, .blocks = adj::cuda::blocks_for(args.y.numel(), 4)},
                    finish_rows<S>, arguments, args.y.numel());
}

}  // namespace

void spmm(const SpmmArgs& args) {
  const auto say = [&](const char* choice) {
    explain_sparse("spmm", args.a.csr, args.x.size(1), heads_of(args.a.values), args.x.dtype(), "{}", choice);
  };
  if (heads_of(args.a.values) > 1) {
    say("all heads in one walk");
    return spmm_by_head(args);
  }
  dispatch_features(args.x.dtype(), [&]<class S>() {
    if (spmm_backend() == SpmmBackend::cusparse && args.a.csr.entries() > 0 && args.x.size(1) > 0) {
      say("cuSPARSE, as asked");
      cusparse_spmm(args.a, args.x, args.y);
      finish_in_place<S>(args);
    } else if (is_small_spmm(args.a.csr, args.x)) {
      say("a warp a row, for a small product (by rule)");
      small_spmm(args);
    } else {
      own_spmm<S>(args);
    }
  });
}

}  // namespace adj::kernels::cuda
