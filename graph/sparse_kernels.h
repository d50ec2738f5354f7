#pragma once

#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/tiles/row_tiles.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace adj {

/// Rows of a window that a column must have to be in a tile of a hybrid cut. A column costs a tile one row of
/// features, and the rest one for each entry, so that two pay already.
inline constexpr int64_t kHybridLeast = 2;

/// How a cut divides a structure.
struct CutCounts {
  int64_t rows = 0, cols = 0, entries = 0;
  int64_t tiles = 0;
  int64_t rest = 0;     ///< entries
  double cut_ms = 0.0;  ///< what cutting, or reading the cut, took, where somebody asked (explaining())

  CutCounts() = default;
  CutCounts(const Csr& a, const RowTiles& cut)
      : rows(a.rows), cols(a.cols), entries(a.entries()), tiles(cut.num_tiles()), rest(cut.rest.entries()) {}
  /// Columns of windows that an entry has for its own, 1 where no two rows of a window share one.
  double columns_an_entry() const {
    const auto columns = static_cast<double>(tiles * RowTiles::kColumns + rest);
    return entries == 0 ? 1.0 : std::min(1.0, columns / static_cast<double>(entries));
  }
};

/// What is asked of a structure and features: the product Y = A X with no weights, or with those that are a
/// factor of the row times one of the column; with weights that the matrix keeps in the order of a cut; with
/// weights that are brought into that order each time; the products of rows by entry (SDDMM); both gradients
/// of a product, by A's transpose, with weights that are brought into order.
enum class TiledOp : uint8_t { product, kept_weights, new_weights, entry_products, gradients };

/// What the rule of SparseKernels::automatic weighs, in nanoseconds, from rates of one H200
/// (docs/tensor_cores.md). The CSR's is the best that was seen of it, by how much its gathers share.
struct TileCost {
  double csr = 0.0;
  double hybrid = 0.0;
  bool tiles() const { return hybrid < csr; }
};
TileCost tile_cost(const CutCounts& counts, int64_t width, DType features, TiledOp op);
/// Of attention, forward and backward, whose edges gather so many rows of features, over a structure whose
/// transpose is cut alike: 2, keys and values; 1, GAT's.
TileCost attention_tile_cost(const CutCounts& counts, int64_t heads, int64_t width, int64_t rows,
                             DType features);

/// Entries of the structures that `automatic` cuts, on a GPU, to count what the rule weighs: with fewer, and
/// with less than 16 to a row, there is little to win; cutting takes some 50 bytes an entry. A cut that is
/// not used is not kept.
inline constexpr int64_t kLeastCutEntries = 500'000, kMostCutEntries = 50'000'000;

/// The cut by which `a` with `width` features is computed, kept with the structure, or null where it goes by
/// rows of CSR. Throws as SparseKernels says, naming `op`. `obstacle`: what it has that there are no
/// tiles for, or null.
std::shared_ptr<const RowTiles> tiles_for(std::string_view op, const Csr& a, int64_t width, DType features,
                                          TiledOp kind, const char* obstacle = nullptr);
/// Likewise for attention of `heads` of `width` features, `rows` of which an edge gathers.
std::shared_ptr<const RowTiles> attention_tiles_for(std::string_view op, const Csr& a, int64_t heads,
                                                    int64_t width, int64_t rows, DType features,
                                                    const char* obstacle);

}  // namespace adj
