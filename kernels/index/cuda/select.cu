// Flags are int32, so that one prefix sum of them is at once the place that each flagged element takes: 4
// bytes read and written per element, then 8 read and at most 4 written. Temporaries: that sum, and CUB's
// own.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/index/select.h>

#include <cub/device/device_scan.cuh>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

constexpr int kThreads = adj::cuda::kBlockThreads;

__global__ void __launch_bounds__(kThreads) iota_kernel(int64_t n, int32_t* y) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k < n) y[k] = static_cast<int32_t>(k);
}

__device__ bool passes(PairTest test, const int32_t* a, const int32_t* b, int64_t k) {
  switch (test) {
    case PairTest::differ:
      return a[k] != b[k];
    case PairTest::both_present:
      return a[k] >= 0 && b[k] >= 0;
    case PairTest::both_absent:
      return a[k] < 0 && b[k] < 0;
    case PairTest::begins_run:
      return k == 0 || a[k] != a[k - 1] || b[k] != b[k - 1];
  }
  return false;
}

__global__ void __launch_bounds__(kThreads)
    flag_pairs_kernel(PairTest test, int64_t n, const int32_t* a, const int32_t* b, int32_t* flags) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k < n) flags[k] = passes(test, a, b, k) ? 1 : 0;
}

__global__ void __launch_bounds__(kThreads)
    place_flagged(int64_t n, const int32_t* flags, const int32_t* before, int32_t* positions,
                  int64_t* count) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= n) return;
  if (flags[k] != 0) positions[before[k]] = static_cast<int32_t>(k);
  if (k == n - 1) *count = before[k] + flags[k];
}

}  // namespace

void iota(const IotaArgs& args) {
  launch("iota", {.device = args.y.device().index, .blocks = blocks_for(args.y.numel())}, iota_kernel,
         args.y.numel(), args.y.mutable_data<int32_t>());
}

void flag_pairs(const FlagPairsArgs& args) {
  launch("flag_pairs", {.device = args.a.device().index, .blocks = blocks_for(args.a.numel())},
         flag_pairs_kernel, args.test, args.a.numel(), args.a.data<int32_t>(), args.b.data<int32_t>(),
         args.flags.mutable_data<int32_t>());
}

void select_flagged(const SelectFlaggedArgs& args) {
  const int64_t n = args.flags.numel();
  if (n == 0) {
    args.count.zero_();
    return;
  }
  const Device device = args.flags.device();
  adj::cuda::use_device(device.index);
  const cudaStream_t stream = adj::cuda::current_stream(device.index);
  Tensor before = Tensor::empty({n}, DType::i32, device);
  const int32_t* flags = args.flags.data<int32_t>();
  int32_t* sums = before.mutable_data<int32_t>();
  size_t bytes = 0;
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, flags, sums, n, stream));
  Tensor workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, device);
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(workspace.raw_mutable_data(), bytes, flags, sums, n, stream));
  launch("select_flagged", {.device = device.index, .blocks = blocks_for(n)}, place_flagged, n, flags, sums,
         args.positions.mutable_data<int32_t>(), args.count.mutable_data<int64_t>());
}

}  // namespace adj::kernels::cuda
