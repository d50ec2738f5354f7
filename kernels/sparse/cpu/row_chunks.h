#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <memory>
#include <vector>

namespace adj::kernels::cpu {

/// A structure cut into pieces of about equal work for parallel loops over rows, kept with it. A row too
/// heavy for one piece is cut too: its pieces fill slots of partial results, which are merged in slot order.
/// The cuts depend on the structure alone.
struct RowChunks {
  /// Entries and rows of a chunk, but for its last row: enough to hide the cost of handing it out, few enough
  /// for its columns to stay in the first-level cache over several passes.
  static constexpr int64_t kWork = 4096;
  /// No chunk has as many entries; rows from 2 kWork entries on are cut.
  static constexpr int64_t kMaxEntries = 3 * kWork;

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
