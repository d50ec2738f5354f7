#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

/// Options of OneHotRGCNConv.
struct OneHotRGCNConvOptions {
  int64_t bases = 0;  ///< B > 0: W_r = Σ_b a_rb V_b, and W_0 likewise (Schlichtkrull et al. 2018, eq. 3)
  bool bias = true;   ///< b
};

/// RGCNConv whose input is the identity matrix of N nodes, the first layer of R-GCN for nodes without
/// features (Schlichtkrull et al. 2018, section 5.1; PyG's RGCNConv without x): W_0[i] + b + Σ_r 1/c_{i,r}
/// Σ_j W_r[j], one row per node and relation, summed in place. With bases the rows are made in each step: (R
/// + 1) N out numbers; without those of W_0 a node of the training would have weights that no other node
/// shares. Parameters are Glorot-uniform as those of a map from N, b is 0.
class OneHotRGCNConv : public Module {
 public:
  /// Throws if R N exceeds 2^31 - 1.
  OneHotRGCNConv(int64_t nodes, int64_t out, int64_t relations, const OneHotRGCNConvOptions& options = {});
  /// [targets, out]. The edge attribute "type" of the graph or block has the relations, int32 [M]. `numbers`
  /// int32 [sources]: the node that each source is; absent: its own number. What is derived of the edges is
  /// cached with the relation (the host sorts them). Over a rank's part `numbers` are required.
  Var operator()(const Structure& structure, const Tensor& numbers = {}) const;
  /// Derives it: for loaders.
  void prepare(const Structure& structure, const Tensor& numbers = {}) const;
  std::string describe() const override;

  Var weight;  ///< [R N, out], row r N + j is W_r[j]; with bases V [B, N out]
  Var comp;    ///< a [R + 1, B] with bases, the last row for W_0
  Var root;    ///< W_0 [N, out], without bases
  Var bias;    ///< [out], or absent

 private:
  struct Rows;
  /// int32: the rows of the weights for this rank's pairs of a relation and a source.
  Tensor rank_rows(const Relation& part, const Tensor& types, const Tensor& numbers) const;
  const Rows& rows_of(const Structure& structure, const Tensor& numbers) const;

  int64_t nodes_, out_, relations_;
};

}  // namespace adj::nn
