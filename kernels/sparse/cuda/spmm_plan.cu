#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/sparse/cuda/spmm_plan.h>

#include <map>
#include <optional>

#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

// An item is what one warp (or part of one) does: small enough that a small structure still fills the chip
// and waits for no long chain of reads, large enough that the partial sums of cut rows are few: below
// kPlainItem no smaller than a mean row, so that they are fewer than rows.
constexpr int64_t kMuchWorkspace = 4 << 20;
// Structures of so few rows are planned in one launch, for seven would take longer to begin than to do.
constexpr int64_t kFewRows = 8192;
constexpr int kFewRowsThreads = 512;
// A batch's structure serves one step, and is not worth waiting for: it goes by bounds. One that is used more
// often than that, or by a step that is captured, is used for long.
constexpr int kUsesOfABatch = 16;
constexpr int64_t kLargeWork = 1 << 20;  // rows and entries: worth waiting for on second use
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

/// Of a row: items that begin in it << 32 | its partial sums; its runs of these << 32 | 1 where it is cut.
struct RowCounts {
  int64_t items = 0, heavy = 0;
};

__device__ RowCounts counts_of(const int64_t* offsets, int64_t rows, int64_t size, int64_t i) {
  if (i >= rows) return {};
  const int64_t length = offsets[i + 1] - offsets[i];
  if (is_light(length, size)) {
    // The first of a run of light rows, or where the work up to here passes a multiple of the size.
    const bool begins = i == 0 || !is_light(offsets[i] - offsets[i - 1], size) ||
                        (offsets[i] + i) / size != (offsets[i - 1] + i - 1) / size;
    return {begins ? int64_t{1} << 32 : 0, 0};
  }
  const int64_t items = parts_of(length, size), slots = items > 1 ? items : 0;
  return {items << 32 | slots, slots > 0 ? runs_of(slots) << 32 | 1 : 0};
}

struct PlanArrays {
  ItemStart* starts;
  HeavyRow* heavy;
  SlotRun* slot_runs;
  int64_t* totals;
};

/// What row i has, `items` of them, behind what the rows before it have; of the row behind the last the
/// totals.
__device__ void place_row(const int64_t* offsets, int64_t rows, int64_t i, RowCounts before, int64_t items,
                          const PlanArrays& plan) {
  const auto slot = static_cast<int32_t>(before.items & 0xffffffff);
  const auto run = static_cast<int32_t>(before.heavy >> 32);
  const int64_t heavy_row = before.heavy & 0xffffffff;
  if (i == rows) {
    plan.heavy[heavy_row] = {-1, slot, run};
    plan.totals[0] = before.items;
    plan.totals[1] = heavy_row;
    plan.totals[2] = run;
    return;
  }
  const int64_t first = before.items >> 32;
  const auto row = static_cast<int32_t>(i), begin = static_cast<int32_t>(offsets[i]);
  if (items == 0) return;
  plan.starts[first] = {begin, row, slot, 0};
  if (items == 1) return;
  const auto part = static_cast<int32_t>((offsets[i + 1] - offsets[i] + items - 1) / items);
  for (int32_t q = 1; q < items; ++q) plan.starts[first + q] = {begin + q * part, ~row, slot + q, 0};
  plan.heavy[heavy_row] = {row, slot, run};
  const auto runs = static_cast<int32_t>(runs_of(items)), end = slot + static_cast<int32_t>(items);
  for (int32_t q = 0; q < runs; ++q)
    plan.slot_runs[run + q] = {slot + q * kRunSlots, min(slot + (q + 1) * kRunSlots, end)};
}

/// An empty item, as all are that no row has.
__device__ ItemStart no_item(int64_t rows, int64_t entries) {
  return {static_cast<int32_t>(entries), static_cast<int32_t>(rows), 0, 0};
}

__global__ void count_items(const int64_t* offsets, int64_t rows, int64_t size, int64_t* items,
                            int64_t* heavy) {
  const int64_t i = thread_index();
  if (i > rows) return;
  const RowCounts counts = counts_of(offsets, rows, size, i);
  items[i] = counts.items;
  heavy[i] = counts.heavy;
}

__global__ void clear_starts(int64_t rows, int64_t entries, int64_t n, ItemStart* starts) {
  const int64_t k = thread_index();
  if (k < n) starts[k] = no_item(rows, entries);
}

/// `items` and `heavy` summed over the rows before each.
__global__ void place_items(const int64_t* offsets, int64_t rows, const int64_t* items, const int64_t* heavy,
                            PlanArrays plan) {
  const int64_t i = thread_index();
  if (i > rows) return;
  const int64_t own = i < rows ? (items[i + 1] >> 32) - (items[i] >> 32) : 0;
  place_row(offsets, rows, i, {items[i], heavy[i]}, own, plan);
}

/// All of that by one block.
__global__ void __launch_bounds__(kFewRowsThreads)
    plan_few_rows(const int64_t* offsets, int64_t rows, int64_t entries, int64_t size, int64_t n,
                  PlanArrays plan) {
  using Scan = cub::BlockScan<int64_t, kFewRowsThreads>;
  __shared__ typename Scan::TempStorage of_items, of_heavy;
  RowCounts before;
  for (int64_t first = 0; first <= rows; first += kFewRowsThreads) {
    const int64_t i = first + threadIdx.x;
    const RowCounts own = counts_of(offsets, rows, size, i);
    RowCounts here, all;
    Scan(of_items).ExclusiveSum(own.items, here.items, all.items);
    Scan(of_heavy).ExclusiveSum(own.heavy, here.heavy, all.heavy);
    here.items += before.items;
    here.heavy += before.heavy;
    if (i <= rows) place_row(offsets, rows, i, here, own.items >> 32, plan);
    before.items += all.items;
    before.heavy += all.heavy;
    __syncthreads();  // before the next sums
  }
  for (int64_t k = (before.items >> 32) + threadIdx.x; k < n; k += kFewRowsThreads)
    plan.starts[k] = no_item(rows, entries);
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
  // Rows of more than two sizes are cut into at most one and a half parts per size of their entries. Others
  // that are not light have half a size or more: at most 2 entries / size items with those, as many of light
  // rows after each, and else one of light rows per size.
  plan.items = 4 * ceil_div(entries, size) + ceil_div(work, size) + 2;
  plan.slots = ceil_div(3 * entries, 2 * size);
  plan.heavy_rows = ceil_div(entries, 2 * size);
  // A run is worth size * kRunSlots entries; rows with runs have more than eight of them, the last one cut.
  static_assert(kMostPlainSlots == 8 * kRunSlots);
  plan.runs = entries > kMostPlainSlots * size ? ceil_div(9 * entries, 8 * kRunSlots * size) : 0;
  plan.starts = empty_structs<ItemStart>(plan.items + 1, device);
  plan.heavy = empty_structs<HeavyRow>(plan.heavy_rows + 1, device);
  plan.slot_runs = empty_structs<SlotRun>(plan.runs, device);
  plan.totals = Tensor::empty({3}, DType::i64, device);
  const PlanArrays arrays{static_cast<ItemStart*>(plan.starts.raw_mutable_data()),
                          static_cast<HeavyRow*>(plan.heavy.raw_mutable_data()),
                          static_cast<SlotRun*>(plan.slot_runs.raw_mutable_data()),
                          plan.totals.mutable_data<int64_t>()};
  const int64_t* offsets = a.offsets.data<int64_t>();
  const int64_t n = rows + 1;
  if (rows <= kFewRows) {
    launch("spmm plan", {.device = device.index, .blocks = 1, .threads = kFewRowsThreads}, plan_few_rows,
           offsets, rows, entries, size, plan.items + 1, arrays);
    return plan;
  }
  Tensor items = Tensor::empty({n}, DType::i64, device), heavy = Tensor::empty({n}, DType::i64, device);
  int64_t *item_counts = items.mutable_data<int64_t>(), *heavy_counts = heavy.mutable_data<int64_t>();
  const adj::cuda::LaunchShape per_row{.device = device.index, .blocks = blocks_for(n)};
  launch("spmm plan", {.device = device.index, .blocks = blocks_for(plan.items + 1)}, clear_starts, rows,
         entries, plan.items + 1, arrays.starts);
  launch("spmm plan", per_row, count_items, offsets, rows, size, item_counts, heavy_counts);
  sum_in_place(item_counts, n, device);
  sum_in_place(heavy_counts, n, device);
  launch("spmm plan", per_row, place_items, offsets, rows, item_counts, heavy_counts, arrays);
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
    SpmmPlan plan;
    int uses = 0;    // of bounds; none where there is no plan
    int stream = 0;  // that bounds were made on
    bool exact = false;
  };
  std::mutex mutex;
  std::map<int64_t, Kept> by_size;
};

}  // namespace

SpmmPlan spmm_plan(const Csr& a, int64_t slot_bytes, int64_t launches) {
  const int64_t size = item_size(a, launches);
  const int stream = Stream::current(a.device()).id();
  const bool capturing = adj::cuda::capturing(a.device().index);
  const auto plans = a.cache->table<KeptPlans>();
  const std::lock_guard lock(plans->mutex);
  KeptPlans::Kept& kept = plans->by_size[size];
  if (kept.exact) return kept.plan;
  if (kept.uses == 0) {
    SpmmPlan plan = make_plan(a, size);
    if (capturing) return plan;
    kept = {.plan = std::move(plan), .stream = stream};
  } else if (kept.stream != stream) {
    return make_plan(a, size);
  }
  const bool much = kept.plan.slots * slot_bytes > kMuchWorkspace;
  const int uses = a.rows + a.entries() > kLargeWork ? 1 : kUsesOfABatch;
  if (!capturing && !much && ++kept.uses <= uses) return kept.plan;
  const OutsideCapture complete_for_all_streams;
  read_back(kept.plan);
  kept.exact = true;
  return kept.plan;
}

}  // namespace adj::kernels::cuda
