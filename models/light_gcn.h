#pragma once

#include <adjoint/graph/graph.h>
#include <adjoint/nn/embedding.h>

#include <vector>

namespace adj::models {

/// Options of LightGCN. `alphas`: weight of each layer's vectors in the result, layers + 1 of them; empty: 1
/// / (layers + 1) each, their average.
struct LightGCNOptions {
  int64_t width = 64;  ///< numbers of a user or an item
  int64_t layers = 3;  ///< propagation steps
  std::vector<double> alphas = {};
};

/// LightGCN (He et al. 2020): a learnt vector of each user and item, Glorot-uniform, propagated over their
/// graph without weights or activations; the score of a user and an item is the dot product of their results.
class LightGCN : public nn::Module {
 public:
  /// Throws adj::Error for options out of range.
  LightGCN(int64_t users, int64_t items, const LightGCNOptions& options = {});

  /// [users + items, width]: Σ_l alpha_l X_l with X_0 the learnt vectors and X_(l+1) = D^-1/2 A D^-1/2 X_l
  /// (eq. 7 and 8), A of `graph` from interaction_graph(). Nodes without an edge have alpha_0 X_0.
  Var operator()(const Graph& graph) const;
  /// The loss of a batch, with gradients for all vectors: bpr_loss() of the scores of B users, items that
  /// they have and items that they do not, and `penalty` / B times the squared norm of these 3 B learnt
  /// vectors (eq. 15; PyG's lambda_reg). `rows` int32 [3 B]: numbers of nodes, users first.
  Var loss(const Graph& graph, const Tensor& rows, double penalty) const;

  int64_t num_users() const { return users_; }                             ///< as constructed
  int64_t num_items() const { return embedding.weight.size(0) - users_; }  ///< likewise
  std::string describe() const override;

  nn::Child<nn::Embedding> embedding;  ///< of users, then items

 private:
  int64_t users_;
  std::vector<double> alphas_;
};

/// Bayesian personalised ranking (Rendle et al. 2009): the mean of -log σ(positive - negative), both [B].
Var bpr_loss(const Var& positive, const Var& negative);

}  // namespace adj::models
