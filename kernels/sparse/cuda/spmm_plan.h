#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels::cuda {

/// Where an item of work begins; it ends where the next one begins. An item is one of three: several whole
/// light rows, one whole row of middling length, or one of the equal parts of a heavy row.
struct alignas(16) ItemStart {
  int32_t entry;   ///< first entry (structures have fewer than 2^31)
  int32_t row;     ///< first row; ~row where the item is not the row's first part
  int32_t slot;    ///< of a part: which partial sum of the workspace it is
  int32_t unused;  ///< zero
};

/// A row that is cut into parts: their partial sums are slots [slot, slot of the next heavy row), in order.
/// One of more than kMostPlainSlots is merged in two steps, as one block would be long at it: its slots by
/// runs of kRunSlots, then runs [run, run of the next heavy row), in order.
struct HeavyRow {
  int32_t row;
  int32_t slot;
  int32_t run;
};

/// Slots [begin, end) of one row, which many blocks merge side by side.
struct SlotRun {
  int32_t begin;
  int32_t end;
};

constexpr int kRunSlots = 64, kMostPlainSlots = 512;

/// The work of a structure, one unit per entry and one per row, cut into items of similar size whatever the
/// degrees. Neighbouring rows of similar length become items that begin at the row's beginning, so that warps
/// that work side by side pass the same columns at the same time. It depends on the structure alone, and with
/// it the order in which each row is summed.
struct SpmmPlan {
  int64_t items = 0;
  int64_t heavy_rows = 0;
  int64_t slots = 0;
  int64_t runs = 0;
  Tensor starts;     ///< ItemStart [items + 1]
  Tensor heavy;      ///< HeavyRow [heavy rows + 1]
  Tensor slot_runs;  ///< SlotRun [runs]
  Tensor totals;     ///< int64: items << 32 | slots, heavy rows, and runs

  const ItemStart* item_starts() const { return static_cast<const ItemStart*>(starts.raw_data()); }
  const HeavyRow* heavy_row_list() const { return static_cast<const HeavyRow*>(heavy.raw_data()); }
  const int64_t* heavy_row_count() const { return totals.data<int64_t>() + 1; }
  const SlotRun* slot_run_list() const { return static_cast<const SlotRun*>(slot_runs.raw_data()); }
  const int64_t* slot_run_count() const { return totals.data<int64_t>() + 2; }
};

/// The plan of a structure on a GPU for products that need `slot_bytes` of workspace per slot, kept with the
/// structure. It begins with upper bounds of its numbers; the items beyond the last are empty. These are read
/// back, for which the host waits once, where bounds would ask for much workspace, where a step that is
/// captured uses it again, where a large structure is used a second time, and where a small one is by more
/// products than one step has: structures of batches never wait.
/// Where a capture meets a structure first, each replay makes the plan anew. Bounds or not, the order of sums
/// is the same. An item is worth `launches` of them side by side (heads that are taken one by one): the more,
/// the fewer and larger the items, and the less workspace.
SpmmPlan spmm_plan(const Csr& a, int64_t slot_bytes, int64_t launches = 1);

}  // namespace adj::kernels::cuda
