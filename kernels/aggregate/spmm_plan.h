#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <map>
#include <mutex>

namespace adj::kernels {

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
  Tensor totals;     ///< int64 [3]: items << 32 | slots, heavy rows, and runs

  const ItemStart* item_starts() const { return static_cast<const ItemStart*>(starts.raw_data()); }
  const HeavyRow* heavy_row_list() const { return static_cast<const HeavyRow*>(heavy.raw_data()); }
  const int64_t* heavy_row_count() const { return totals.data<int64_t>() + 1; }
  const SlotRun* slot_run_list() const { return static_cast<const SlotRun*>(slot_runs.raw_data()); }
  const int64_t* slot_run_count() const { return totals.data<int64_t>() + 2; }
};

/// Entries and rows of an item, a power of two: small enough that a small structure still fills the chip and
/// waits for no long chain of reads, large enough that the partial sums of cut rows are few. An item is worth
/// `launches` of them side by side.
int64_t spmm_item_size(const Csr& a, int64_t launches);

/// The plan of a structure on the CPU, there, of items of `size`.
SpmmPlan host_spmm_plan(const Csr& a, int64_t size);

/// What is kept with a structure on a GPU: its plans by the size of their items.
struct KeptSpmmPlans {
  struct Kept {
    SpmmPlan plan;
    int uses = 0;        ///< of bounds; none where there is no plan
    int stream = 0;      ///< that bounds were made on
    bool exact = false;  ///< not bounds: the numbers are those of the plan, for all streams
  };
  std::mutex mutex;
  std::map<int64_t, Kept> by_size;
};

/// Csr::carried_to, and to a GPU with the plan of its products, where the structure is so small that the host
/// has made it sooner than a step of a batch would: nothing is planned, read back or merged in vain there.
Csr carried_with_plan(const Csr& a, adj::detail::Carrier& carrier);

}  // namespace adj::kernels
