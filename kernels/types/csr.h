#pragma once

#include <adjoint/core/keyed_cache.h>
#include <adjoint/core/tensor.h>

#include <limits>
#include <memory>
#include <optional>

namespace adj {

/// Sizes of a structure.
struct CsrSizes {
  int64_t rows = 0;     ///< number of rows
  int64_t entries = 0;  ///< of all rows
};

/// Compressed sparse rows: the structure of a [rows, cols] matrix, without values. For a graph, row i holds
/// the sources of the in-edges of target i. A row's entries are in ascending column order unless stated
/// otherwise; duplicates are allowed.
struct Csr {
  int64_t rows = 0;
  int64_t cols = 0;
  Tensor offsets;  ///< int64 [rows + 1]; entries of row i are [offsets[i], offsets[i + 1])
  Tensor indices;  ///< int32 [entries]: columns
  /// Data that kernels derive from the structure and cache with it: balanced row ranges, library descriptors.
  std::shared_ptr<KeyedCache> cache = std::make_shared<KeyedCache>();
  /// Sums, reductions, attention and transposition accept any order within rows; entry searches do not.
  bool ascending = true;
  /// Sizes of the structure that these rows are a part of; absent if they are all of them. Rules that decide
  /// the order of sums ask whole_sizes(), so that a row's sum has the same bits in any part.
  std::optional<CsrSizes> whole = std::nullopt;

  int64_t entries() const { return indices.numel(); }
  /// Of the structure that these rows are a part of, or of this one.
  CsrSizes whole_sizes() const { return whole.value_or(CsrSizes{rows, entries()}); }
  Device device() const { return offsets.device(); }  ///< of both arrays
  /// A copy on `target` with an empty cache, or the same handle if it is there.
  Csr to(Device target) const {
    if (device() == target) return *this;
    Csr copy;
    copy.rows = rows;
    copy.cols = cols;
    copy.offsets = offsets.to(target);
    copy.indices = indices.to(target);
    copy.ascending = ascending;
    copy.whole = whole;
    return copy;
  }

 private:
  friend struct detail::CarrierAccess;
  /// Handles that share a structure also share its copy. Data cached by kernels is not copied.
  Csr carried_to(detail::Carrier& carrier) const;
};

/// A sparse matrix for kernels: structure `csr`, not owned, and values. Entry e has the value
/// values[order[e]] if `order` (int32) is given, else values[e], or 1 if `values` is absent too. `order` lets
/// a transposed structure share the values of the original without a copy. If a contract has heads, values
/// may be [entries, H]: H per entry.
struct CsrMatrix {
  const Csr& csr;
  Tensor values;
  Tensor order;

  Device device() const { return csr.device(); }  ///< of all its arrays
};

/// Coordinate format: the structure of a [rows, cols] matrix as an unsorted list of entries. For a graph,
/// entry e is the edge from col[e] to row[e]. Duplicate entries are allowed and count separately.
struct Coo {
  int64_t rows = 0;
  int64_t cols = 0;
  Tensor row;  ///< int32 [M], in range
  Tensor col;  ///< int32 [M], in range
  /// The last `loops` entries are (0, 0), (1, 1), …: none, or one per row of a square structure. Kernels need
  /// not search for them.
  int64_t loops = 0;

  int64_t entries() const { return row.numel(); }
  Device device() const { return row.device(); }                    ///< of both arrays
  Coo transposed() const { return {cols, rows, col, row, loops}; }  ///< shares both arrays
};

namespace kernels {

/// Maximum number of rows, columns and entries of a structure, all numbered by int32.
inline constexpr int64_t kMaxEntries = std::numeric_limits<int32_t>::max();

/// Heads of an entry tensor: one if it is [M] (or absent), H if it is [M, H].
inline int64_t heads_of(const Tensor& of_entries) {
  return of_entries && of_entries.dims() == 2 ? of_entries.size(1) : 1;
}

}  // namespace kernels
}  // namespace adj
