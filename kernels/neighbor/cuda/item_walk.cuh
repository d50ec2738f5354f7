#pragma once

// How a group of lanes goes through one item of a structure's plan (sparse/cuda/spmm_plan.h), as spmm_kernel
// does: entries in order whatever rows they belong to, columns a stage at a time through shared memory, the
// next ones already on their way, and the rows of kUnroll entries in flight at once. What is done with them
// is the body's:
//
//   body.gather(columns, entry)     starts the reads of what kUnroll entries from `entry` on point to
//   body.add(u, column, first)      takes the u-th of them; `first`: of its row in this item
//   body.end_row(row, begin, end)   all entries [begin, end) of the row that are in this item were added

#include <adjoint/kernels/sparse/cuda/spmm_device.cuh>

namespace adj::kernels::cuda {

/// An item of the plan as its group sees it.
struct Item {
  int entry, end_entry, row, end_row;
  int slot;         ///< of a part: where its results go
  bool part;        ///< of a heavy row
  bool first_part;  ///< or a whole item

  __device__ __forceinline__ Item(const ItemStart& start, const ItemStart& stop)
      : entry(start.entry),
        end_entry(stop.entry),
        row(start.row < 0 ? ~start.row : start.row),
        slot(start.slot),
        part(start.row < 0 || stop.row < 0),
        first_part(start.row >= 0) {
    end_row = part ? row + 1 : stop.row;
  }
};

/// Lanes of this thread's group, and its number in the block.
template <int kLanes>
__device__ __forceinline__ unsigned group_mask() {
  return kLanes == 32 ? 0xffffffffu : ((1u << (kLanes % 32)) - 1) << (threadIdx.x % 32 / kLanes * kLanes);
}

/// `columns` is the group's own stage, kStage<kLanes> elements, aligned to 16 bytes. The entries beyond the
/// item that gather() is shown have column 0.
template <int kLanes, int kUnroll, class Body>
__device__ __forceinline__ void walk_item(const Item& item, const int64_t* offsets, const int32_t* indices,
                                          int32_t* columns, Body& body) {
  constexpr int kStaged = kStage<kLanes>, kPerLane = kStaged / kLanes;
  static_assert(kStaged % kUnroll == 0);
  const unsigned mask = group_mask<kLanes>();
  const int lane = threadIdx.x % kLanes;
  const int end_row = item.end_row, end_entry = item.end_entry;
  int row = item.row, row_begin = item.entry;
  bool first = true;
  auto end_of = [&](int r) { return r < end_row ? min(static_cast<int>(offsets[r + 1]), end_entry) : 0; };
  int row_end = end_of(row), next_end = end_of(row + 1);

  /// Ends the row, and the empty ones after it.
  auto end_rows = [&](int position) {
    do {
      body.end_row(row, row_begin, position);
      ++row;
      row_begin = position;
      first = true;
      row_end = next_end;
      next_end = end_of(row + 1);
    } while (row < end_row && row_end == position);
  };
  if (row < end_row && row_end == item.entry) end_rows(row_end);

  int32_t column[kPerLane];
  auto load_stage = [&](int base) {
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int e = base + j * kLanes + lane;
      column[j] = e < end_entry ? __ldg(indices + e) : 0;
    }
  };
  load_stage(item.entry);

#pragma unroll 1
  for (int base = item.entry; base < end_entry; base += kStaged) {
    __syncwarp(mask);
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) columns[j * kLanes + lane] = column[j];
    __syncwarp(mask);
    load_stage(base + kStaged);

    const int staged = min(kStaged, end_entry - base);
#pragma unroll 1
    for (int p = 0; p < staged; p += kUnroll) {
      const int left = min(kUnroll, staged - p);
      const auto at = adj::cuda::load<kUnroll>(columns + p);
      body.gather(at, base + p);
      if (row_end - (base + p) > kUnroll && left == kUnroll) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) body.add(u, at[u], u == 0 && first);
        first = false;
      } else {
        int done = 0;
        do {
          const int stop_at = min(left, row_end - (base + p));
#pragma unroll
          for (int u = 0; u < kUnroll; ++u)
            if (u >= done && u < stop_at) body.add(u, at[u], u == done && first);
          first = false;
          done = stop_at;
          if (base + p + done == row_end) end_rows(row_end);
        } while (done < left);
      }
    }
  }
}

}  // namespace adj::kernels::cuda
