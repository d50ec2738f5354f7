// Integer atomic minima are deterministic in any thread order.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/index/renumber.h>
#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>

#include <limits>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

constexpr int kThreads = adj::cuda::kBlockThreads;
// As unsigned, -1 is larger than every number.
constexpr uint32_t kNone = 0xffffffffu;

__device__ int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; }

__global__ void __launch_bounds__(kThreads) clear_numbers(int64_t n, uint32_t* number) {
  const int64_t i = thread_number();
  if (i < n) number[i] = kNone;
}

__global__ void __launch_bounds__(kThreads) place_numbers(int64_t n, const int32_t* index, uint32_t* number) {
  const int64_t k = thread_number();
  if (k < n && index[k] >= 0) atomicMin(number + index[k], static_cast<uint32_t>(k));
}

__global__ void __launch_bounds__(kThreads)
    find_repeated(int64_t n, const int32_t* index, const uint32_t* number, long long* repeated) {
  const int64_t k = thread_number();
  if (k < n && index[k] >= 0 && number[index[k]] != static_cast<uint32_t>(k))
    atomicMin(repeated, static_cast<long long>(k));
}

__global__ void __launch_bounds__(kThreads)
    find_entries_kernel(int64_t n, const int64_t* offsets, const int32_t* indices, const int32_t* row,
                        const int32_t* col, int32_t* entry) {
  const int64_t k = thread_number();
  if (k >= n) return;
  const int64_t begin = offsets[row[k]], length = offsets[row[k] + 1] - begin;
  const int64_t at = lower_bound(indices + begin, length, col[k]);
  entry[k] = at < length && indices[begin + at] == col[k] ? static_cast<int32_t>(begin + at) : -1;
}

}  // namespace

void renumber(const RenumberArgs& args) {
  const int64_t n = args.index.numel();
  const int device = args.index.device().index;
  auto* number = static_cast<uint32_t*>(args.number.raw_mutable_data());
  const int32_t* index = args.index.data<int32_t>();
  launch("renumber", {.device = device, .blocks = blocks_for(args.number.numel())}, clear_numbers,
         args.number.numel(), number);
  args.repeated.fill_(static_cast<double>(n));
  launch("renumber", {.device = device, .blocks = blocks_for(n)}, place_numbers, n, index, number);
  launch("renumber", {.device = device, .blocks = blocks_for(n)}, find_repeated, n, index, number,
         static_cast<long long*>(args.repeated.raw_mutable_data()));
}

void find_entries(const FindEntriesArgs& args) {
  launch("find_entries", {.device = args.csr.device().index, .blocks = blocks_for(args.row.numel())},
         find_entries_kernel, args.row.numel(), args.csr.offsets.data<int64_t>(),
         args.csr.indices.data<int32_t>(), args.row.data<int32_t>(), args.col.data<int32_t>(),
         args.entry.mutable_data<int32_t>());
}

}  // namespace adj::kernels::cuda
