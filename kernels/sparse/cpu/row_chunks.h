#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <memory>
#include <vector>

namespace adj::kernels::cpu {

/// A structure split into pieces of about equal work for parallel loops over rows, cached with it. A row too
/// heavy for one piece is split too: its pieces fill slots of partial results, which are merged in slot
/// order. The split depends on the structure alone.
struct RowChunks {
  /// Entries and rows of a chunk, not counting its last row: enough to hide the scheduling cost, few enough
  /// for its columns to stay in L1 over several passes.
  static constexpr int64_t kWork = 4096;
  /// Upper bound of a chunk's entries; rows of at least 2 kWork entries are split.
  static constexpr int64_t kMaxEntries = 3 * kWork;

  struct Chunk {
    int64_t row_begin;
    int64_t row_end;
    int64_t entry_begin;
    int64_t entry_end;
    int64_t slot;  ///< for the partial result of a piece of a heavy row; -1: whole rows
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
