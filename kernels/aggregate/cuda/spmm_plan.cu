#include <adjoint/kernels/aggregate/cuda/spmm_plan.h>
#include <adjoint/kernels/aggregate/spmm_plan_rows.h>
#include <adjoint/kernels/cuda/cub.cuh>

#include <cub/block/block_scan.cuh>

namespace adj::kernels::cuda {

namespace {

using planning::counts_of;
using planning::no_item;
using planning::place_row;
using planning::PlanArrays;
using planning::RowCounts;

// Structures with at most this many rows are planned in one launch; seven launches would cost more than the
// work.
constexpr int64_t kFewRows = 8192;
constexpr int kFewRowsThreads = 512;

/// The whole plan by one block.
__global__ void __launch_bounds__(kFewRowsThreads)
    plan_few_rows(const int64_t* offsets, int64_t rows, int64_t entries, int64_t size, int64_t n,
                  PlanArrays plan) {
  using Scan = cub::BlockScan<int64_t, kFewRowsThreads>;
  __shared__ typename Scan::TempStorage of_items, of_heavy;
  RowCounts before;
  for (int64_t first = 0; first <= rows; first += kFewRowsThreads) {
    const int64_t i = first + threadIdx.x;
    const RowCounts counts = counts_of(offsets, rows, size, i);
    RowCounts start, all;
    Scan(of_items).ExclusiveSum(counts.items, start.items, all.items);
    Scan(of_heavy).ExclusiveSum(counts.heavy, start.heavy, all.heavy);
    start.items += before.items;
    start.heavy += before.heavy;
    if (i <= rows) place_row(offsets, rows, i, start, counts.items >> 32, plan);
    before.items += all.items;
    before.heavy += all.heavy;
    __syncthreads();  // before the next sums
  }
  for (int64_t k = (before.items >> 32) + threadIdx.x; k < n; k += kFewRowsThreads)
    plan.starts[k] = no_item(rows, entries);
}

template <class T>
Tensor empty_structs(int64_t n, Device device) {
  return Tensor::empty({n, static_cast<int64_t>(sizeof(T))}, DType::u8, device);
}

/// A plan with upper bounds for the numbers of items, slots, heavy rows and runs.
SpmmPlan bounded_plan(const Csr& a, int64_t size) {
  const Device device = a.device();
  const int64_t rows = a.rows, entries = a.entries(), work = rows + entries;
  SpmmPlan plan;
  if (rows == 0) return plan;
  // Rows longer than two sizes are split into at most one and a half parts per size of their entries. Other
  // rows that are not light have at least half a size: at most 2 entries / size items from those, as many of
  // light rows after each, and otherwise one item of light rows per size.
  plan.items = 4 * ceil_div(entries, size) + ceil_div(work, size) + 2;
  plan.slots = ceil_div(3 * entries, 2 * size);
  plan.heavy_rows = ceil_div(entries, 2 * size);
  // A run is worth size * kRunSlots entries; rows with runs have more than eight of them, the last one
  // partial.
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
  if (rows <= kFewRows) {
    launch("spmm plan", {.device = device.index, .blocks = 1, .threads = kFewRowsThreads}, plan_few_rows,
           offsets, rows, entries, size, plan.items + 1, arrays);
    return plan;
  }
  Tensor of_items = Tensor::empty({rows + 1}, DType::i64, device), of_heavy = Tensor::empty_like(of_items);
  int64_t *items = of_items.mutable_data<int64_t>(), *heavy = of_heavy.mutable_data<int64_t>();
  for_each("spmm plan", device.index, plan.items + 1,
           [=] __device__(int64_t k) { arrays.starts[k] = no_item(rows, entries); });
  for_each("spmm plan", device.index, rows + 1, [=] __device__(int64_t i) {
    const RowCounts counts = counts_of(offsets, rows, size, i);
    items[i] = counts.items;
    heavy[i] = counts.heavy;
  });
  exclusive_sum(items, rows + 1, device);
  exclusive_sum(heavy, rows + 1, device);
  for_each("spmm plan", device.index, rows + 1, [=] __device__(int64_t i) {
    const int64_t row_items = i < rows ? (items[i + 1] >> 32) - (items[i] >> 32) : 0;
    place_row(offsets, rows, i, {items[i], heavy[i]}, row_items, arrays);
  });
  return plan;
}

/// The plan with the counts that the device found. Waits for the device. The arrays keep the sizes of the
/// bounds, at most a few MB, since items grow with the structure: copies would cost a batch more.
SpmmPlan exact(SpmmPlan plan) {
  if (!plan.totals) return plan;
  const std::vector<int64_t> totals = plan.totals.to_vector<int64_t>();
  plan.items = totals[0] >> 32;
  plan.slots = totals[0] & 0xffffffff;
  plan.heavy_rows = totals[1];
  plan.runs = totals[2];
  return plan;
}

}  // namespace

SpmmPlan spmm_plan(const Csr& a, int64_t launches) {
  const int64_t size = spmm_item_size(a, launches);
  if (adj::cuda::capturing(a.device().index)) {
    const auto bounded = [&] { return std::make_shared<SpmmPlan>(bounded_plan(a, size)); };
    if (adj::detail::recorder()->derives()) return *a.cache->get<SpmmPlan>(size, bounded);
    const auto kept = a.cache->find<SpmmPlan>(size);
    return kept ? *kept : *bounded();
  }
  return *a.cache->get<SpmmPlan>(size,
                                 [&] { return std::make_shared<SpmmPlan>(exact(bounded_plan(a, size))); });
}

}  // namespace adj::kernels::cuda
