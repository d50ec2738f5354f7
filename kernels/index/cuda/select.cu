// Flags are int32, so that their in-place prefix sum directly gives the output position of each matching
// element: 4 bytes written per element, 4 read and written, then 12 read, to repeat the test, and at most 4
// written. Temporaries: that sum, and CUB's own.

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
    case PairTest::ascends:
      return a[k] <= b[k];
    case PairTest::begins_run:
      return k == 0 || a[k] != a[k - 1] || b[k] != b[k - 1];
  }
  return false;
}

__global__ void __launch_bounds__(kThreads)
    flag_pairs(PairTest test, int64_t n, const int32_t* a, const int32_t* b, int32_t* flags) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k < n) flags[k] = passes(test, a, b, k) ? 1 : 0;
}

__global__ void __launch_bounds__(kThreads)
    place_passing(PairTest test, int64_t n, const int32_t* a, const int32_t* b, const int32_t* before,
                  int32_t* positions, int64_t* count) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= n) return;
  const bool taken = passes(test, a, b, k);
  if (taken) positions[before[k]] = static_cast<int32_t>(k);
  if (k == n - 1) *count = before[k] + (taken ? 1 : 0);
}

}  // namespace

void iota(const IotaArgs& args) {
  launch("iota", {.device = args.y.device().index, .blocks = blocks_for(args.y.numel())}, iota_kernel,
         args.y.numel(), args.y.mutable_data<int32_t>());
}

void select_pairs(const SelectPairsArgs& args) {
  const int64_t n = args.a.numel();
  if (n == 0) {
    args.count.zero_();
    return;
  }
  const Device device = args.a.device();
  adj::cuda::use_device(device.index);
  const cudaStream_t stream = adj::cuda::current_stream(device.index);
  Tensor before = Tensor::empty({n}, DType::i32, device);
  const int32_t *a = args.a.data<int32_t>(), *b = args.b.data<int32_t>();
  int32_t* sums = before.mutable_data<int32_t>();
  launch("select_pairs", {.device = device.index, .blocks = blocks_for(n)}, flag_pairs, args.test, n, a, b,
         sums);
  size_t bytes = 0;
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, sums, sums, n, stream));
  Tensor workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, device);
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(workspace.raw_mutable_data(), bytes, sums, sums, n, stream));
  launch("select_pairs", {.device = device.index, .blocks = blocks_for(n)}, place_passing, args.test, n, a, b,
         sums, args.positions.mutable_data<int32_t>(), args.count.mutable_data<int64_t>());
}

namespace {

// An integer minimum does not depend on the order of the atomics, which only bad indices execute.
template <class T>
__global__ void __launch_bounds__(kThreads)
    first_outside_kernel(const T* index, int64_t n, int64_t limit, long long* position) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k < n && (index[k] < 0 || index[k] >= limit)) atomicMin(position, static_cast<long long>(k));
}

}  // namespace

void first_outside(const FirstOutsideArgs& args) {
  const int64_t limit = args.limit;
  const int64_t n = args.index.numel();
  args.position.fill_(static_cast<double>(n));
  if (n == 0) return;
  const int device = args.index.device().index;
  auto* out = static_cast<long long*>(args.position.raw_mutable_data());
  if (args.index.dtype() == DType::i32) {
    launch("first_outside", {.device = device, .blocks = blocks_for(n)}, first_outside_kernel<int32_t>,
           args.index.data<int32_t>(), n, limit, out);
  } else {
    launch("first_outside", {.device = device, .blocks = blocks_for(n)}, first_outside_kernel<int64_t>,
           args.index.data<int64_t>(), n, limit, out);
  }
}

}  // namespace adj::kernels::cuda
