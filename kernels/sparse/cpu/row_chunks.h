#pragma once

#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/csr.h>

#include <memory>
#include <vector>

namespace adj::kernels::cpu {

/// A structure split into pieces of about equal work for parallel loops over rows, cached with it. A row too
/// heavy for one piece is split too: its pieces fill slots of partial results, which are merged in slot
/// order. The split depends only on the structure.
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

  /// Calls f(chunk) for all chunks in parallel, `grain` of them per task.
  template <class F>
  void for_chunks(int64_t grain, F&& f) const {
    parallel_for(std::ssize(chunks), grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) f(chunks[static_cast<size_t>(c)]);
    });
  }
  /// Calls f(heavy row) in parallel, for partial results of `width` elements.
  template <class F>
  void for_heavy(int64_t width, F&& f) const {
    const int64_t rows = std::ssize(heavy);
    if (rows == 0) return;
    parallel_for(rows, row_grain(slots / rows * width), [&](int64_t begin, int64_t end) {
      for (int64_t h = begin; h < end; ++h) f(heavy[static_cast<size_t>(h)]);
    });
  }
};

/// The chunks of a structure, cached with it.
std::shared_ptr<const RowChunks> row_chunks(const Csr& csr);

/// Calls f(row, begin, end) for the rows of a chunk, with their entries in it.
template <class F>
[[gnu::always_inline]] inline void for_rows_of(const RowChunks::Chunk& chunk, const int64_t* offsets, F&& f) {
  for (int64_t i = chunk.row_begin; i < chunk.row_end; ++i)
    f(i, std::max(offsets[i], chunk.entry_begin), std::min(offsets[i + 1], chunk.entry_end));
}

/// Chunks per task of some 10 µs, for one multiply-add per entry and feature. An entry costs at least one
/// vector's work, even if its row is narrow.
inline int64_t chunks_per_task(int64_t width) {
  return ceil_div(int64_t{131072}, RowChunks::kWork * std::max<int64_t>(width, 16));
}

}  // namespace adj::kernels::cpu
