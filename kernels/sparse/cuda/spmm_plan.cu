#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/sparse/cuda/spmm_plan.h>

#include <map>
#include <optional>

#include <cub/device/device_scan.cuh>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

// An item is what one warp (or part of one) does: small enough that a small structure still fills the chip
// and waits for no long chain of reads, large enough that the partial sums of cut rows are few: below
// kPlainItem no smaller than a mean row, so that they are fewer than rows.
constexpr int64_t kMuchWorkspace = 4 << 20;
constexpr int64_t kSmallestItem = 8, kPlainItem = 32, kLargestItem = 512, kWantedItems = 32768;

int64_t item_size(const Csr& a, int64_t launches) {
  const int64_t work = a.rows + a.entries();
  int64_t size = kSmallestItem;
  while (size < kPlainItem && size * a.rows < a.entries()) size *= 2;
  while (size < kLargestItem && size * kWantedItems < work * launches) size *= 2;
  return size;
}

__device__ int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Rows of fewer than half an item's entries share one; rows of more than two items are cut.
__device__ bool is_light(int64_t length, int64_t size) { return 2 * length < size; }
__device__ int64_t parts_of(int64_t length, int64_t size) {
  return length > 2 * size ? (length + size - 1) / size : 1;
}

__device__ int64_t runs_of(int64_t slots) {
  return slots > kMostPlainSlots ? (slots + kRunSlots - 1) / kRunSlots : 0;
}

/// counts[i] = items that begin in row i << 32 | partial sums of row i; heavy[i] = its runs of these << 32 |
/// 1 where it is cut.
__global__ void count_items(const int64_t* offsets, int64_t rows, int64_t size, int64_t* counts,
                            int64_t* heavy) {
  const int64_t i = thread_index();
  if (i > rows) return;
  int64_t items = 0, slots = 0;
  if (i < rows) {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (is_light(length, size)) {
      // The first of a run of light rows, or where the work up to here passes a multiple of the size.
      const bool begins = i == 0 || !is_light(offsets[i] - offsets[i - 1], size) ||
                          (offsets[i] + i) / size != (offsets[i - 1] + i - 1) / size;
      items = begins ? 1 : 0;
    } else {
      items = parts_of(length, size);
      slots = items > 1 ? items : 0;
    }
  }
  counts[i] = items << 32 | slots;
  heavy[i] = slots > 0 ? runs_of(slots) << 32 | 1 : 0;
}

/// Empty items, of which those that exist are overwritten.
__global__ void clear_starts(int64_t rows, int64_t entries, int64_t n, ItemStart* starts) {
  const int64_t k = thread_index();
  if (k < n) starts[k] = {static_cast<int32_t>(entries), static_cast<int32_t>(rows), 0, 0};
}

/// `counts` and `heavy_counts` summed over the rows before each.
__global__ void place_items(const int64_t* offsets, int64_t rows, int64_t size, const int64_t* counts,
                            const int64_t* heavy_counts, ItemStart* starts, HeavyRow* heavy,
                            SlotRun* slot_runs, int64_t* totals) {
  const int64_t i = thread_index();
  if (i > rows) return;
  const auto slot = static_cast<int32_t>(counts[i] & 0xffffffff);
  const auto run = static_cast<int32_t>(heavy_counts[i] >> 32);
  const int64_t heavy_row = heavy_counts[i] & 0xffffffff;
  if (i == rows) {
    heavy[heavy_row] = {-1, slot, run};
    totals[0] = counts[i];
    totals[1] = heavy_row;
    totals[2] = run;
    return;
  }
  const int64_t first = counts[i] >> 32, items = (counts[i + 1] >> 32) - first;
  const auto row = static_cast<int32_t>(i), begin = static_cast<int32_t>(offsets[i]);
  if (items == 0) return;
  starts[first] = {begin, row, slot, 0};
  if (items == 1) return;
  const auto part = static_cast<int32_t>((offsets[i + 1] - offsets[i] + items - 1) / items);
  for (int32_t q = 1; q < items; ++q) starts[first + q] = {begin + q * part, ~row, slot + q, 0};
  heavy[heavy_row] = {row, slot, run};
  const auto runs = static_cast<int32_t>(runs_of(items)), end = slot + static_cast<int32_t>(items);
  for (int32_t q = 0; q < runs; ++q)
    slot_runs[run + q] = {slot + q * kRunSlots, min(slot + (q + 1) * kRunSlots, end)};
}

void sum_in_place(int64_t* values, int64_t n, Device device) {
  const cudaStream_t stream = adj::cuda::current_stream(device.index);
  size_t bytes = 0;
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, values, values, n, stream));
  Tensor workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, device);
  ADJ_CUDA_CHECK(
      cub::DeviceScan::ExclusiveSum(workspace.raw_mutable_data(), bytes, values, values, n, stream));
}

template <class T>
Tensor empty_structs(int64_t n, Device device) {
  return Tensor::empty({n, static_cast<int64_t>(sizeof(T))}, DType::u8, device);
}

/// With upper bounds for the numbers of items, slots, heavy rows and runs.
SpmmPlan make_plan(const Csr& a, int64_t size) {
  const Device device = a.device();
  const int64_t rows = a.rows, entries = a.entries(), work = rows + entries;
  SpmmPlan plan;
  if (rows == 0) return plan;
  // Rows that are not light have half a size or more: at most 2 entries / size of them, each one item, one
  // more per size of its entries, and one of the light rows after it. Light rows else begin one per size.
  plan.items = 6 * ceil_div(work, size) + 2;
  plan.slots = 2 * ceil_div(entries, size);
  plan.heavy_rows = ceil_div(entries, size);
  // A run is worth size * kRunSlots entries; rows with runs have more than eight of them, the last one cut.
  static_assert(kMostPlainSlots == 8 * kRunSlots);
  plan.runs = entries > kMostPlainSlots * size ? ceil_div(9 * entries, 8 * kRunSlots * size) : 0;
  plan.starts = empty_structs<ItemStart>(plan.items + 1, device);
  plan.heavy = empty_structs<HeavyRow>(plan.heavy_rows + 1, device);
  plan.slot_runs = empty_structs<SlotRun>(plan.runs, device);
  plan.totals = Tensor::empty({3}, DType::i64, device);
  auto* starts = static_cast<ItemStart*>(plan.starts.raw_mutable_data());
  auto* heavy = static_cast<HeavyRow*>(plan.heavy.raw_mutable_data());
  auto* slot_runs = static_cast<SlotRun*>(plan.slot_runs.raw_mutable_data());
  const int64_t n = rows + 1;
  Tensor counts = Tensor::empty({n}, DType::i64, device),
         heavy_counts = Tensor::empty({n}, DType::i64, device);
  const int64_t* offsets = a.offsets.data<int64_t>();
  int64_t *count = counts.mutable_data<int64_t>(), *heavy_count = heavy_counts.mutable_data<int64_t>();
  const adj::cuda::LaunchShape per_row{.device = device.index, .blocks = blocks_for(n)};
  launch("spmm plan", {.device = device.index, .blocks = blocks_for(plan.items + 1)}, clear_starts, rows,
         entries, plan.items + 1, starts);
  launch("spmm plan", per_row, count_items, offsets, rows, size, count, heavy_count);
  sum_in_place(count, n, device);
  sum_in_place(heavy_count, n, device);
  launch("spmm plan", per_row, place_items, offsets, rows, size, count, heavy_count, starts, heavy, slot_runs,
         plan.totals.mutable_data<int64_t>());
  return plan;
}

/// Waits for the device.
void read_back(SpmmPlan& plan) {
  if (!plan.totals) return;
  const std::vector<int64_t> totals = plan.totals.to_vector<int64_t>();
  plan.items = totals[0] >> 32;
  plan.slots = totals[0] & 0xffffffff;
  plan.heavy_rows = totals[1];
  plan.runs = totals[2];
  plan.starts = plan.starts.rows(0, plan.items + 1).clone();
  plan.heavy = plan.heavy.rows(0, plan.heavy_rows + 1).clone();
  plan.slot_runs = plan.slot_runs.rows(0, plan.runs).clone();
}

/// By the size of items.
struct KeptPlans {
  struct Kept {
    bool used = false;
    std::optional<SpmmPlan> plan;
  };
  std::mutex mutex;
  std::map<int64_t, Kept> by_size;
};

}  // namespace

SpmmPlan spmm_plan(const Csr& a, int64_t slot_bytes, int64_t launches) {
  const int64_t size = item_size(a, launches);
  const auto plans = a.cache->table<KeptPlans>();
  const std::lock_guard lock(plans->mutex);
  KeptPlans::Kept& kept = plans->by_size[size];
  if (kept.plan) return *kept.plan;
  SpmmPlan plan = make_plan(a, size);
  if (adj::cuda::capturing(a.device().index)) return plan;
  const bool first = !kept.used;
  kept.used = true;
  if (first && plan.slots * slot_bytes <= kMuchWorkspace) return plan;
  const OutsideCapture complete_for_all_streams;
  read_back(plan);
  kept.plan = plan;
  return plan;
}

}  // namespace adj::kernels::cuda
