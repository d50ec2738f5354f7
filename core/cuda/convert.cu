#include <adjoint/core/convert.h>
#include <adjoint/core/cuda/launch.cuh>

#include <limits>
#include <type_traits>

namespace adj::cuda {

namespace {

template <class To, class From>
__device__ To cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return bfloat16(cast<float>(value));
  } else if constexpr (std::is_same_v<From, bfloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, int64_t> && std::is_same_v<To, int32_t>) {
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(),
                      kMost = std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(value < kLeast ? kLeast : value > kMost ? kMost : value);
  } else {
    return static_cast<To>(value);
  }
}

// One pack per thread; the first threads also convert the remainder.
template <int N, class To, class From>
__global__ void __launch_bounds__(kBlockThreads) convert_kernel(int64_t n, const From* in, To* out) {
  begin_overlapping();
  const int64_t packs = n / N;
  const int64_t first = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  for (int64_t i = first; i < packs; i += int64_t{gridDim.x} * blockDim.x) {
    const Pack<From, N> source = load<N>(in + i * N);
    Pack<To, N> converted;
#pragma unroll
    for (int k = 0; k < N; ++k) converted[k] = cast<To>(source[k]);
    store(out + i * N, converted);
  }
  if (const int64_t i = packs * N + first; i < n) out[i] = cast<To>(in[i]);
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads) fill_kernel(int64_t n, double value, T* out) {
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += step) out[i] = cast<T>(value);
}

}  // namespace

void convert(const Tensor& source, Tensor& target) {
  const int device = source.device().index;
  const int64_t n = source.numel();
  dispatch_all(source.dtype(), [&]<class From>() {
    dispatch_all(target.dtype(), [&]<class To>() {
      const From* in = source.data<From>();
      To* out = target.mutable_data<To>();
      constexpr int kWidth = 4;
      if (aligned_to_16(in, out)) {
        launch("convert", {.device = device, .blocks = blocks_for(n, kWidth), .overlaps = true},
               convert_kernel<kWidth, To, From>, n, in, out);
      } else {
        launch("convert", {.device = device, .blocks = blocks_for(n), .overlaps = true},
               convert_kernel<1, To, From>, n, in, out);
      }
    });
  });
}

void fill(Tensor& tensor, double value) {
  dispatch_all(tensor.dtype(), [&]<class T>() {
    launch("fill", {.device = tensor.device().index, .blocks = blocks_for(tensor.numel()), .overlaps = true},
           fill_kernel<T>, tensor.numel(), value, tensor.mutable_data<T>());
  });
}

}  // namespace adj::cuda
