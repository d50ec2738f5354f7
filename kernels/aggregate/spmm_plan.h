#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// Start of a work item; it ends at the start of the next one. An item is one of: several whole light rows,
/// one whole medium row, or one of the equal parts of a heavy row.
struct alignas(16) ItemStart {
  int32_t entry;   ///< first entry (structures have fewer than 2^31)
  int32_t row;     ///< first row; ~row if the item is not the row's first part
  int32_t slot;    ///< of a part: index of its partial sum in the workspace
  int32_t unused;  ///< zero
};

/// A row that is split into parts: its partial sums are slots [slot, slot of the next heavy row), in order. A
/// row with more than kMostPlainSlots is merged in two steps, as one block would take too long: first its
/// slots in runs of kRunSlots, then runs [run, run of the next heavy row), in order.
struct HeavyRow {
  int32_t row;
  int32_t slot;
  int32_t run;
};

/// Slots [begin, end) of one row; different blocks merge the runs in parallel.
struct SlotRun {
  int32_t begin;
  int32_t end;
};

/// Slots in each SlotRun of a row but the last, which may have fewer.
constexpr int kRunSlots = 64, kMostPlainSlots = 512;  ///< most slots of a row merged in one step

/// The work of a structure, one unit per entry and one per row, split into items of similar size for any
/// degree distribution. Adjacent rows of similar length become items that begin at the row's beginning, so
/// that neighbouring warps pass the same columns at the same time. Depends only on the structure, and so does
/// the summation order of each row. Partial sums fill `slots` rows of a workspace. In a captured step that
/// found no cached plan `items`, `heavy_rows`, `slots` and `runs` are upper bounds; exact ones are in
/// `totals`. item_starts(), heavy_row_list() and slot_run_list() point to the arrays, heavy_row_count() and
/// slot_run_count() to their lengths in `totals`, all in memory of the plan's device.
struct SpmmPlan {
  int64_t items = 0;
  int64_t heavy_rows = 0;
  int64_t slots = 0;
  int64_t runs = 0;
  Tensor starts;     ///< ItemStart [items + 1]
  Tensor heavy;      ///< HeavyRow [heavy rows + 1]
  Tensor slot_runs;  ///< SlotRun [runs]
  Tensor totals;     ///< int64 [3]: items << 32 | slots, heavy rows, and runs

  const ItemStart* item_starts() const { return static_cast<const ItemStart*>(starts.raw_data()); }
  const HeavyRow* heavy_row_list() const { return static_cast<const HeavyRow*>(heavy.raw_data()); }
  const int64_t* heavy_row_count() const { return totals.data<int64_t>() + 1; }
  const SlotRun* slot_run_list() const { return static_cast<const SlotRun*>(slot_runs.raw_data()); }
  const int64_t* slot_run_count() const { return totals.data<int64_t>() + 2; }
};

/// Entries and rows per item, a power of two by the sizes of the whole structure: small enough that a small
/// structure still fills the GPU without long chains of dependent reads, large enough to keep partial sums of
/// split rows few. Each item is run `launches` times in parallel.
int64_t spmm_item_size(const Csr& a, int64_t launches);

/// The plan of a structure on the CPU, in host memory, with items of `size`.
SpmmPlan host_spmm_plan(const Csr& a, int64_t size);

/// Carrier::carry of a Csr. To a GPU it also copies the SpMM plan if the structure is small enough that
/// planning on the host is faster than on the GPU within a batch's step. Products of one launch per item then
/// neither plan nor read back there. A GPU caches plans with the structure, by item size.
Csr carried_with_plan(const Csr& a, adj::detail::Carrier& carrier);

}  // namespace adj::kernels
