#pragma once

#include <adjoint/kernels/plan/tile_cost.h>

#include <memory>
#include <string_view>

namespace adj::kernels {

/// Range of entries for which SparseKernels::automatic tries a cut on a GPU. With fewer, or with less than 16
/// per row, there is little to gain; cutting takes about 50 bytes per entry. An unused cut is not kept.
inline constexpr int64_t kLeastCutEntries = 500'000, kMostCutEntries = 50'000'000;  ///< end of that range

/// The cut for computing with `width` features of the rows of `a`, cached with the structure; null means CSR
/// rows. Throws as described at SparseKernels, naming `op`. `obstacle`: a feature of the call that tiles do
/// not support, or null.
std::shared_ptr<const RowTiles> choose_tiles(std::string_view op, const Csr& a, int64_t width, DType features,
                                             TiledOp kind, const char* obstacle = nullptr);

/// A call of attention over a structure.
struct AttentionCall {
  int64_t heads, width;        ///< heads, and features of each
  int64_t gathered;            ///< feature rows that each edge gathers
  DType features;              ///< dtype of these rows
  bool drops = false;          ///< with dropout of coefficients
  bool edge_features = false;  ///< with features of edges
  bool gatv2 = false;          ///< its logits are no products
};
/// The same for attention.
std::shared_ptr<const RowTiles> choose_attention_tiles(std::string_view op, const Csr& a,
                                                       const AttentionCall& call);

}  // namespace adj::kernels
