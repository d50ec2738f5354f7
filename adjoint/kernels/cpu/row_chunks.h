#pragma once

#include <adjoint/kernels/csr.h>

#include <memory>
#include <vector>

namespace adj::kernels::cpu {

/// A structure cut into pieces of about equal work for parallel loops over rows, kept with it. A row too
/// heavy for one piece is cut too: its pieces fill slots of partial results, which are merged in slot order.
/// The cuts depend on the structure alone.
struct RowChunks {
  struct Chunk {
    int64_t row_begin;
    int64_t row_end;
    int64_t entry_begin;
    int64_t entry_end;
    int64_t slot;  ///< where a piece of a heavy row leaves its partial result; -1: whole rows
  };
  struct HeavyRow {
    int64_t row;
    int64_t slot_begin;
    int64_t slot_end;
  };
  std::vector<Chunk> chunks;
  std::vector<HeavyRow> heavy;
  int64_t slots = 0;

  static std::shared_ptr<const RowChunks> of(const Csr& csr);
};

}  // namespace adj::kernels::cpu
