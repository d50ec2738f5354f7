#include "spmm_plan.h"
#include <adjoint/core/cuda/launch.h>

#include <optional>

#include <cub/device/device_scan.cuh>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

// An item is what one warp (or part of one) does: small enough that a small structure still fills the chip,
// large enough that the partial sums of cut rows are few.
constexpr int64_t kSmallestItem = 32, kLargestItem = 512, kWantedItems = 32768;

int64_t item_size(int64_t work) {
  int64_t size = kSmallestItem;
  while (size < kLargestItem && size * kWantedItems < work) size *= 2;
  return size;
}

__device__ ItemStart start_at(int64_t entry, int64_t row) {
  return {static_cast<int32_t>(entry), static_cast<int32_t>(row), 0, 0};
}

__device__ int row_of(const ItemStart& start) { return start.row < 0 ? ~start.row : start.row; }

__global__ void find_starts(const int64_t* offsets, int64_t rows, int64_t entries, int64_t size,
                            int64_t items, ItemStart* starts) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k > items) return;
  ItemStart start = start_at(entries, rows);
  const int64_t position = k * size;
  if (position < entries + rows) {
    // The last row that begins at or before the position: row i begins at offsets[i] + i.
    int64_t low = 0, high = rows - 1;
    while (low < high) {
      const int64_t middle = (low + high + 1) >> 1;
      if (offsets[middle] + middle <= position) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const int64_t begin = offsets[low], end = offsets[low + 1], done = position - (begin + low);
    if (done == 0) {
      start = start_at(begin, low);
    } else if (end - begin <= size || begin + done >= end) {
      start = start_at(end, low + 1);
    } else {
      start = start_at(begin + done, ~low);
    }
  }
  starts[k] = start;
}

/// Does a heavy row begin in the item between these starts and go on after it?
__device__ bool begins_heavy_row(const ItemStart& start, const ItemStart& stop) {
  return stop.row < 0 && !(start.row < 0 && start.row == stop.row);
}

/// counts[k] = partial sums of item k << 32 | heavy rows that begin in it.
__global__ void count_slots(const ItemStart* starts, int64_t items, int64_t* counts) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k > items) return;
  int64_t slots = 0, heavy = 0;
  if (k < items) {
    heavy = begins_heavy_row(starts[k], starts[k + 1]) ? 1 : 0;
    slots = heavy + (starts[k].row < 0 ? 1 : 0);
  }
  counts[k] = slots << 32 | heavy;
}

__global__ void place_slots(const int64_t* sums, int64_t items, ItemStart* starts, HeavyRow* heavy,
                            int64_t* totals) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k > items) return;
  const auto slot = static_cast<int32_t>(sums[k] >> 32);
  const auto index = static_cast<int32_t>(sums[k] & 0xffffffff);
  starts[k].slot = slot;
  if (k == items) {
    heavy[index] = {-1, slot};
    *totals = sums[k];
  } else if (begins_heavy_row(starts[k], starts[k + 1])) {
    heavy[index] = {row_of(starts[k + 1]), slot + (starts[k].row < 0 ? 1 : 0)};
  }
}

SpmmPlan make_plan(const Csr& a, bool capturing) {
  const Device device = a.device();
  const int64_t work = a.rows + a.entries(), size = item_size(work);
  SpmmPlan plan;
  plan.items = adj::cuda::ceil_div(work, size);
  if (plan.items == 0) return plan;
  const int64_t n = plan.items + 1;
  plan.starts = Tensor::empty({n, static_cast<int64_t>(sizeof(ItemStart))}, DType::u8, device);
  plan.heavy = Tensor::empty({n, static_cast<int64_t>(sizeof(HeavyRow))}, DType::u8, device);
  plan.totals = Tensor::empty({1}, DType::i64, device);
  Tensor counts = Tensor::empty({n}, DType::i64, device);
  auto* starts = static_cast<ItemStart*>(plan.starts.raw_mutable_data());
  int64_t* sums = counts.mutable_data<int64_t>();
  const adj::cuda::LaunchShape shape{.device = device.index, .blocks = blocks_for(n)};
  launch("spmm plan", shape, find_starts, a.offsets.data<int64_t>(), a.rows, a.entries(), size, plan.items,
         starts);
  launch("spmm plan", shape, count_slots, starts, plan.items, sums);
  const cudaStream_t stream = adj::cuda::current_stream(device.index);
  size_t bytes = 0;
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, sums, sums, n, stream));
  Tensor workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, device);
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(workspace.raw_mutable_data(), bytes, sums, sums, n, stream));
  launch("spmm plan", shape, place_slots, sums, plan.items, starts,
         static_cast<HeavyRow*>(plan.heavy.raw_mutable_data()), plan.totals.mutable_data<int64_t>());
  if (capturing) {
    plan.heavy_rows = plan.items;
    plan.slots = 2 * plan.items;
  } else {
    const int64_t totals = plan.totals.to_vector<int64_t>().front();
    plan.slots = totals >> 32;
    plan.heavy_rows = totals & 0xffffffff;
    plan.heavy = plan.heavy.rows(0, plan.heavy_rows + 1).clone();
  }
  return plan;
}

struct KeptPlan {
  std::mutex mutex;
  std::optional<SpmmPlan> plan;
};

}  // namespace

SpmmPlan spmm_plan(const Csr& a) {
  const bool capturing = adj::cuda::capturing(a.device().index);
  const auto kept = a.cache->get<KeptPlan>([] { return new KeptPlan; });
  const std::lock_guard lock(kept->mutex);
  if (kept->plan) return *kept->plan;
  SpmmPlan plan = make_plan(a, capturing);
  if (!capturing) kept->plan = plan;
  return plan;
}

}  // namespace adj::kernels::cuda
