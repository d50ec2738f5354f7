#pragma once

// How a group of lanes processes one item of a structure's plan (spmm_plan.h): entries in order across rows,
// several in flight at a time, each row ended when its last entry is added. walk_item is a complete walk;
// kernels that keep more than the columns in flight use ItemWalk. The kernels' arguments `a` have the plan
// and the structure: starts, items, offsets, indices.
//
// Register counts depend on details of this code (the order of members, ItemWalk without a constructor,
// walk_item's own row_begin): after a change compare cuobjdump --dump-resource-usage of the kernels that
// include it.

#include <adjoint/kernels/aggregate/cuda/spmm_device.cuh>

namespace adj::kernels::cuda {

/// The lanes of this thread's group.
template <int kLanes>
__device__ __forceinline__ unsigned group_mask() {
  return kLanes == 32 ? 0xffffffffu : ((1u << (kLanes % 32)) - 1) << (threadIdx.x % 32 / kLanes * kLanes);
}

/// An item of the plan as seen by its group; by default one without rows.
struct Item {
  int entry = 0, end_entry = 0, row = 0, end_row = 0;
  int row_end = 0, next_end = 0;  ///< of ItemWalk: end of the row in this item, and the next row's
  int slot = 0;                   ///< of a part: index of its results
  bool part = false;              ///< of a heavy row
  bool first_part = false;        ///< or a whole item

  Item() = default;
  __device__ __forceinline__ Item(const ItemStart* starts, int number) { read(starts, number); }
  /// Equivalent, from both starts; saves registers in kernels with many sums.
  __device__ __forceinline__ Item(const ItemStart& start, const ItemStart& stop)
      : entry(start.entry),
        end_entry(stop.entry),
        row(start.row < 0 ? ~start.row : start.row),
        slot(start.slot),
        part(start.row < 0 || stop.row < 0),
        first_part(start.row >= 0) {
    end_row = part ? row + 1 : stop.row;
  }

 protected:
  __device__ __forceinline__ void read(const ItemStart* starts, int number) {
    const ItemStart start = starts[number], stop = starts[number + 1];
    part = start.row < 0 || stop.row < 0;
    first_part = start.row >= 0;
    row = first_part ? start.row : ~start.row;
    end_row = part ? row + 1 : stop.row;
    entry = start.entry;
    end_entry = stop.entry;
    slot = start.slot;
  }
};

/// Position of a group in its item: `row` is the current row. kAhead: the end of the next row is read ahead,
/// so that rows with few entries do not wait for it.
template <bool kAhead = true>
struct ItemWalk : Item {
  /// At the item's first row.
  template <class Arguments>
  __device__ __forceinline__ void begin(const Arguments& a) {
    row_end = end_of(a, row);
    if (kAhead) next_end = end_of(a, row + 1);
  }
  /// Item `number` of those in `a`, or an empty one beyond the last.
  template <class Arguments>
  __device__ __forceinline__ void begin(const Arguments& a, int number) {
    *this = {};
    if (number >= a.items) return;
    read(a.starts, number);
    begin(a);
  }
  __device__ __forceinline__ bool active() const { return row < end_row; }
  template <class Arguments>
  __device__ __forceinline__ void next_row(const Arguments& a) {
    ++row;
    row_end = kAhead ? next_end : end_of(a, row);
    if (kAhead) next_end = end_of(a, row + 1);
  }
  /// Ends the row, all entries of which have been added, and the empty rows after it: for each, end_row()
  /// finishes it and calls next_row().
  template <class EndRow>
  __device__ __forceinline__ void end_rows(EndRow&& end_row) {
    const int position = row_end;
    do {
      end_row();
    } while (active() && row_end == position);
  }
  /// Ends empty rows at the beginning of the item.
  template <class EndRow>
  __device__ __forceinline__ void end_first_rows(EndRow&& end_row) {
    if (active() && row_end == entry) end_rows(end_row);
  }
  /// Calls add(u) for `left` entries from `position` on, at most kUnroll, and end_row() for each row that
  /// ends there.
  template <int kUnroll, class Add, class EndRow>
  __device__ __forceinline__ void take(int position, int left, Add&& add, EndRow&& end_row) {
    if (row_end - position > kUnroll && left == kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) add(u);
      return;
    }
    int done = 0;
    do {
      const int stop_at = min(left, row_end - position);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        if (u >= done && u < stop_at) add(u);
      done = stop_at;
      if (position + done == row_end) end_rows(end_row);
    } while (done < left);
  }

 private:
  template <class Arguments>
  __device__ __forceinline__ int end_of(const Arguments& a, int r) const {
    return r < end_row ? min(static_cast<int>(a.offsets[r + 1]), end_entry) : 0;
  }
};

/// A complete walk: columns are staged in shared memory, with the next stage in flight, and the rows of
/// kUnroll entries are in flight at once. The body processes them:
///
///   body.gather(columns, entry)     starts the reads for kUnroll entries from `entry` on
///   body.add(u, column, first)      adds the u-th of them; `first`: of its row in this item
///   body.end_row(row, begin, end)   all entries [begin, end) of the row that are in this item were added
///
/// `columns` is the group's own stage, kStage<kLanes> elements, aligned to 16 bytes. Entries passed to
/// gather() beyond the end of the item have column 0.
template <int kLanes, int kUnroll, class Arguments, class Body>
__device__ __forceinline__ void walk_item(const Item& item, const Arguments& a, int32_t* columns,
                                          Body& body) {
  constexpr int kStaged = kStage<kLanes>, kPerLane = kStaged / kLanes;
  static_assert(kStaged % kUnroll == 0);
  const unsigned mask = group_mask<kLanes>();
  const int lane = threadIdx.x % kLanes;
  const int end_entry = item.end_entry;
  ItemWalk<> walk{item};
  walk.begin(a);
  bool first = true;
  int row_begin = item.entry;
  const auto end_row = [&] {
    body.end_row(walk.row, row_begin, walk.row_end);
    row_begin = walk.row_end;
    walk.next_row(a);
    first = true;
  };
  walk.end_first_rows(end_row);

  int32_t column[kPerLane];
  auto load_stage = [&](int base) {
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int e = base + j * kLanes + lane;
      column[j] = e < end_entry ? __ldg(a.indices + e) : 0;
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
      const auto neighbors = load<kUnroll>(columns + p);
      body.gather(neighbors, base + p);
      const int position = base + p;
      // take() is equivalent but costs four more registers in the kernels with most sums.
      if (walk.row_end - position > kUnroll && left == kUnroll) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) body.add(u, neighbors[u], u == 0 && first);
        first = false;
      } else {
        int done = 0;
        do {
          const int stop_at = min(left, walk.row_end - position);
#pragma unroll
          for (int u = 0; u < kUnroll; ++u)
            if (u >= done && u < stop_at) body.add(u, neighbors[u], u == done && first);
          first = false;
          done = stop_at;
          if (position + done == walk.row_end) walk.end_rows(end_row);
        } while (done < left);
      }
    }
  }
}

}  // namespace adj::kernels::cuda
