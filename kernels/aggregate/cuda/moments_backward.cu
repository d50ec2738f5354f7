// Elementwise. Bytes: per term its parts of dy, and for var and std the mean, for std the deviation, once;
// terms once. The gradient reads x and two sums and writes dx.

#include <adjoint/kernels/aggregate/moments_backward.h>
#include <adjoint/kernels/cuda/map.cuh>

namespace adj::kernels::cuda {

namespace {

template <class S>
struct TermsArguments {
  const int64_t* offsets;
  int64_t rows;
  int width, count;
  int place[kReductions];
  const S *dy, *y;
  const Accumulator<S>* mean;  ///< null: neither var nor std
  Accumulator<S>* terms;
};

template <class S>
__global__ void __launch_bounds__(kBlockThreads) terms_kernel(const __grid_constant__ TermsArguments<S> a) {
  using T = Accumulator<S>;
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t k = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x; k < a.rows * a.width; k += step) {
    const int64_t row = k / a.width, feature = k - row * a.width;
    const int64_t length = a.offsets[row + 1] - a.offsets[row];
    const T share = length > 0 ? T(1) / static_cast<T>(length) : T(0);
    const auto place = [&](Reduce reduce) { return a.place[static_cast<int>(reduce)]; };
    const auto part = [&](const S* values, Reduce reduce) {
      return widen(values[(row * a.count + place(reduce)) * a.width + feature]);
    };
    T first = 0, second = 0;
    if (place(Reduce::sum) >= 0 && length > 0) first += part(a.dy, Reduce::sum);
    if (place(Reduce::mean) >= 0) first += share * part(a.dy, Reduce::mean);
    if (place(Reduce::var) >= 0) second += 2 * share * part(a.dy, Reduce::var);
    if (place(Reduce::std) >= 0) {
      const T root = part(a.y, Reduce::std);
      if (root != T(0)) second += share * part(a.dy, Reduce::std) / root;
    }
    if (a.mean == nullptr) {
      a.terms[k] = first;
    } else {
      T* const output = a.terms + row * 2 * a.width + feature;
      output[0] = first - second * a.mean[k];
      output[a.width] = second;
    }
  }
}

template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    gradient_kernel(int64_t numel, int width, const S* x, const Accumulator<S>* sums, S* dx) {
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t k = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x; k < numel; k += step) {
    const int64_t row = k / width;
    const Accumulator<S>* const sum = sums + row * 2 * width + (k - row * width);
    dx[k] = narrow<S>(sum[0] + widen(x[k]) * sum[width]);
  }
}

}  // namespace

void moment_terms(const MomentTermsArgs& args) {
  const ReductionSet set("moment_terms", args.reduce);
  const int device = args.dy.device().index;
  dispatch_features(args.dy.dtype(), [&]<class S>() {
    TermsArguments<S> a{};
    a.offsets = args.a.offsets.data<int64_t>();
    a.rows = args.a.rows;
    a.width = static_cast<int>(args.dy.size(1) / set.count);
    a.count = set.count;
    for (int k = 0; k < kReductions; ++k) a.place[k] = set.place[static_cast<size_t>(k)];
    a.dy = args.dy.data<S>();
    if (set.has(Reduce::std)) a.y = args.y.data<S>();
    if (set.has_spread()) a.mean = args.mean.data<Accumulator<S>>();
    a.terms = args.terms.mutable_data<Accumulator<S>>();
    launch("moment_terms", over(device, a.rows * a.width, 4), terms_kernel<S>, a);
  });
}

void moments_gradient(const MomentsGradientArgs& args) {
  const int64_t numel = args.x.numel();
  dispatch_features(args.x.dtype(), [&]<class S>() {
    launch("moments_gradient", over(args.x.device().index, numel, 4), gradient_kernel<S>, numel,
           static_cast<int>(args.x.size(1)), args.x.data<S>(), args.sums.data<Accumulator<S>>(),
           args.dx.mutable_data<S>());
  });
}

}  // namespace adj::kernels::cuda
