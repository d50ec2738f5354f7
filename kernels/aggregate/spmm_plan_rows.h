#pragma once

#include <adjoint/core/dtype.h>
#include <adjoint/kernels/aggregate/spmm_plan.h>

// Planning of a single row, shared by host and GPU. Item sizes are powers of two.

namespace adj::kernels::planning {

/// Rows with fewer than half an item's entries share an item.
ADJ_HOST_DEVICE inline bool is_light(int64_t length, int64_t size) { return 2 * length < size; }
/// Rows longer than two items are split.
ADJ_HOST_DEVICE inline int64_t parts_of(int64_t length, int64_t size) {
  return length > 2 * size ? (length + size - 1) / size : 1;
}

/// Runs of a row with that many partial sums; 0 if these are merged in one step.
ADJ_HOST_DEVICE inline int64_t runs_of(int64_t slots) {
  return slots > kMostPlainSlots ? (slots + kRunSlots - 1) / kRunSlots : 0;
}

/// Counts of a row. items: high word the items that start in it, low word its partial sums. heavy: high word
/// the runs of partial sums, low word 1 if the row is split.
struct RowCounts {
  int64_t items = 0, heavy = 0;
};

/// Counts of row i for items of `size` entries and rows; zeros for i >= `rows`. `offsets` int64 [rows + 1].
ADJ_HOST_DEVICE inline RowCounts counts_of(const int64_t* offsets, int64_t rows, int64_t size, int64_t i) {
  if (i >= rows) return {};
  const int64_t length = offsets[i + 1] - offsets[i];
  if (is_light(length, size)) {
    // The first of a run of light rows, or the work so far passes a multiple of the size.
    const bool begins = i == 0 || !is_light(offsets[i] - offsets[i - 1], size) ||
                        ((offsets[i] + i) ^ (offsets[i - 1] + i - 1)) >= size;
    return {begins ? int64_t{1} << 32 : 0, 0};
  }
  const int64_t items = parts_of(length, size), slots = items > 1 ? items : 0;
  return {items << 32 | slots, slots > 0 ? runs_of(slots) << 32 | 1 : 0};
}

/// The arrays of an SpmmPlan, to be written: `starts`, `heavy`, `slot_runs` and `totals`.
struct PlanArrays {
  ItemStart* starts;
  HeavyRow* heavy;
  SlotRun* slot_runs;
  int64_t* totals;
};

/// Writes the `items` items of row i, after those of the rows before it; for the row after the last writes
/// the totals.
ADJ_HOST_DEVICE inline void place_row(const int64_t* offsets, int64_t rows, int64_t i, RowCounts before,
                                      int64_t items, const PlanArrays& plan) {
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
    plan.slot_runs[run + q] = {slot + q * kRunSlots, q + 1 < runs ? slot + (q + 1) * kRunSlots : end};
}

/// An empty item, used for the unused ones at the end.
ADJ_HOST_DEVICE inline ItemStart no_item(int64_t rows, int64_t entries) {
  return {static_cast<int32_t>(entries), static_cast<int32_t>(rows), 0, 0};
}

}  // namespace adj::kernels::planning
