#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/cuda/activation_functions.cuh>
#include <adjoint/kernels/elementwise/cuda/dropout_mask.cuh>
#include <adjoint/kernels/elementwise/dropout.h>

namespace adj::kernels::cuda {

namespace {

// Elements per thread: one Philox block decides on eight.
constexpr int kEight = 8;

/// y = dropout(act(x)), or, given dy, dropout(dy) act'(x).
template <Activation A, bool kBackward, bool kAligned, class S>
__global__ void __launch_bounds__(kBlockThreads)
    dropout_kernel(int64_t n, const S* x, const S* dy, DropoutMask mask, Accumulator<S> scale,
                   Accumulator<S> slope, S* y) {
  using T = Accumulator<S>;
  begin_overlapping();
  const auto apply = [=](T value, T gradient, bool kept) {
    if constexpr (kBackward)
      return (kept ? gradient * scale : T{0}) * activation_slope<A>(value, slope);
    else
      return kept ? activated<A>(value, slope) * scale : T{0};
  };
  const int64_t step = int64_t{gridDim.x} * blockDim.x * kEight;
  for (int64_t i = (blockIdx.x * int64_t{blockDim.x} + threadIdx.x) * kEight; i < n; i += step) {
    const uint32_t kept = mask.kept<kEight>(i);
    if (kAligned && i + kEight <= n) {
      Pack<T, kEight> pack = load_wide<kEight>(x + i), gradient{};
      if constexpr (kBackward) gradient = load_wide<kEight>(dy + i);
#pragma unroll
      for (int k = 0; k < kEight; ++k) pack[k] = apply(pack[k], gradient[k], (kept >> k & 1u) != 0);
      store_narrow<kEight>(y + i, pack);
    } else {
      for (int k = 0; k < kEight && i + k < n; ++k)
        y[i + k] =
            narrow<S>(apply(widen(x[i + k]), kBackward ? T(widen(dy[i + k])) : T{0}, (kept >> k & 1u) != 0));
    }
  }
}

template <bool kBackward, class Args>
void run(const char* name, const Args& args, const Tensor* dy, Tensor& output) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    dispatch_activation(args.activation, [&]<Activation A>() {
      const S* x = args.x.template data<S>();
      const S* gradient = dy == nullptr ? nullptr : dy->data<S>();
      S* y = output.mutable_data<S>();
      const auto kernel = aligned_to_16(x, gradient, y) ? dropout_kernel<A, kBackward, true, S>
                                                        : dropout_kernel<A, kBackward, false, S>;
      launch(name, over(args.x.device().index, args.x.numel(), kEight), kernel, args.x.numel(), x, gradient,
             DropoutMask{args.key, args.rule.threshold}, Accumulator<S>{args.rule.scale},
             static_cast<Accumulator<S>>(args.slope), y);
    });
  });
}

}  // namespace

void dropout(const DropoutArgs& args) { run<false>("dropout", args, nullptr, args.y); }

void dropout_backward(const DropoutBackwardArgs& args) {
  run<true>("dropout_backward", args, &args.dy, args.dx);
}

// One pass: p read, one byte written per element. Nothing is saved.
void bernoulli(const BernoulliArgs& args) {
  const float* p = args.p.data<float>();
  uint8_t* y = args.y.mutable_data<uint8_t>();
  const RandomKey key = args.key;
  for_each("bernoulli", args.y.device().index, args.p.numel(),
           [=] __device__(int64_t i) { y[i] = bernoulli_of(p[i], key.seed, stream_of(key), i); });
}

}  // namespace adj::kernels::cuda
