#pragma once

#include <adjoint/kernels/csr.h>

namespace adj::kernels::cuda {

/// Where a piece of work begins. Work is counted along the structure, one unit per entry and one per row;
/// item k takes what lies between k and k + 1 times the item size. A row of no more entries than the item
/// size belongs whole to one item; a heavier one is cut between items.
struct alignas(16) ItemStart {
  int32_t entry;   ///< first entry (structures have fewer than 2^31)
  int32_t row;     ///< its row; ~row where earlier items hold the row's first entries
  int32_t slot;    ///< where partial sums of this item begin in the workspace
  int32_t unused;  ///< zero
};

/// A row whose entries are spread over several items: its partial sums are slots [slot, slot of the next
/// heavy row).
struct HeavyRow {
  int32_t row;
  int32_t slot;
};

/// The work of a structure cut into items of nearly equal size, whatever the degrees. It depends on the
/// structure alone, and with it the order in which each row is summed.
struct SpmmPlan {
  int64_t items = 0;
  int64_t heavy_rows = 0;  ///< or an upper bound, while capturing
  int64_t slots = 0;       ///< likewise
  Tensor starts;           ///< ItemStart [items + 1]
  Tensor heavy;            ///< HeavyRow [heavy rows + 1]
  Tensor totals;           ///< one int64: slots << 32 | heavy rows

  const ItemStart* item_starts() const { return static_cast<const ItemStart*>(starts.raw_data()); }
  const HeavyRow* heavy_row_list() const { return static_cast<const HeavyRow*>(heavy.raw_data()); }
};

/// The plan of a structure on a GPU, made on first use (where the host waits once for two numbers) and kept
/// with the structure. While a capture is going on, a structure that has none gets one that is made anew by
/// each replay, without the host.
SpmmPlan spmm_plan(const Csr& a);

}  // namespace adj::kernels::cuda
