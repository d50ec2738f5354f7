#include <adjoint/core/detail/carrier.h>
#include <adjoint/kernels/aggregate/spmm_plan.h>
#include <adjoint/kernels/aggregate/spmm_plan_rows.h>

#include <algorithm>
#include <utility>

namespace adj::kernels {

namespace {

// Below kPlainItem an item is at least a mean row, so that there are fewer partial sums than rows.
constexpr int64_t kSmallestItem = 8, kPlainItem = 32, kLargestItem = 512, kWantedItems = 32768;
// Up to this many rows and entries the host plans for a GPU, within a millisecond.
constexpr int64_t kPlannedOnHost = 1 << 18;

template <class T>
Tensor empty_structs(int64_t n) {
  return Tensor::empty({n, static_cast<int64_t>(sizeof(T))}, DType::u8);
}

}  // namespace

int64_t spmm_item_size(const Csr& a, int64_t launches) {
  const auto [rows, entries] = a.whole_sizes();
  const int64_t work = rows + entries;
  int64_t size = kSmallestItem;
  while (size < kPlainItem && size * rows < entries) size *= 2;
  while (size < kLargestItem && size * kWantedItems < work * launches) size *= 2;
  return size;
}

SpmmPlan host_spmm_plan(const Csr& a, int64_t size) {
  SpmmPlan plan;
  if (a.rows == 0) return plan;
  const int64_t* offsets = a.offsets.data<int64_t>();
  planning::RowCounts all;
  for (int64_t i = 0; i < a.rows; ++i) {
    const planning::RowCounts counts = planning::counts_of(offsets, a.rows, size, i);
    all.items += counts.items;
    all.heavy += counts.heavy;
  }
  plan.items = all.items >> 32;
  plan.slots = all.items & 0xffffffff;
  plan.heavy_rows = all.heavy & 0xffffffff;
  plan.runs = all.heavy >> 32;
  plan.starts = empty_structs<ItemStart>(plan.items + 1);
  plan.heavy = empty_structs<HeavyRow>(plan.heavy_rows + 1);
  plan.slot_runs = empty_structs<SlotRun>(plan.runs);
  plan.totals = Tensor::empty({3}, DType::i64);
  const planning::PlanArrays arrays{static_cast<ItemStart*>(plan.starts.raw_mutable_data()),
                                    static_cast<HeavyRow*>(plan.heavy.raw_mutable_data()),
                                    static_cast<SlotRun*>(plan.slot_runs.raw_mutable_data()),
                                    plan.totals.mutable_data<int64_t>()};
  planning::RowCounts before;
  for (int64_t i = 0; i <= a.rows; ++i) {
    const planning::RowCounts counts = planning::counts_of(offsets, a.rows, size, i);
    planning::place_row(offsets, a.rows, i, before, counts.items >> 32, arrays);
    before.items += counts.items;
    before.heavy += counts.heavy;
  }
  arrays.starts[plan.items] = planning::no_item(a.rows, a.entries());
  return plan;
}

Csr carried_with_plan(const Csr& a, adj::detail::Carrier& carrier) {
  Csr copy = carrier.carry(a);
  if (a.device().is_cuda() || !carrier.device().is_cuda() || a.rows + a.entries() > kPlannedOnHost)
    return copy;
  const int64_t size = spmm_item_size(a, 1);
  if (copy.cache->find<SpmmPlan>(size)) return copy;  // of another handle of the structure
  SpmmPlan plan = host_spmm_plan(a, size);
  for (Tensor* part : {&plan.starts, &plan.heavy, &plan.slot_runs, &plan.totals})
    *part = carrier.carry(*part);
  copy.cache->put(size, std::move(plan));
  return copy;
}

}  // namespace adj::kernels
