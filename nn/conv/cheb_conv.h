#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

#include <optional>

namespace adj::nn {

/// Kind of Laplacian; D holds the sums over each node's out-edges (PyG's get_laplacian).
enum class Laplacian : uint8_t {
  plain,        ///< D - A; PyG's None
  symmetric,    ///< I - D^-1/2 A D^-1/2; "sym"
  random_walk,  ///< I - A D^-1; "rw"
};

/// Options of ChebConv.
struct ChebConvOptions {
  Laplacian normalization = Laplacian::symmetric;  ///< L
  bool bias = true;                                ///< b
};

/// Optional inputs of a ChebConv.
struct ChebConvCall {
  Var edge_weight = {};  ///< [M] by edge number; replaces the graph's weights, may require a gradient
  /// Largest eigenvalue of the Laplacian. Absent: PyG's bound, 2 for the normalised ones, twice the largest
  /// degree for the plain one (both for non-negative weights).
  std::optional<double> lambda_max = {};
};

/// Σ_k T_k(L̂) X W_k + b over k = 0 … K - 1, L̂ = 2 L / λ_max - I, T_k the Chebyshev polynomials; the graph's
/// self-loops are ignored (Defferrard et al., Convolutional Neural Networks on Graphs with Fast Localized
/// Spectral Filtering, 2016, eq. 4). x [N,in], features of any kind -> [N,out]. Aggregates on the narrower
/// side: T_k on X, or Clenshaw's rule on the products. W_k Glorot-uniform, b zero. PyG's ChebConv. A relation
/// or block needs one set of nodes.
class ChebConv : public Module {
 public:
  ChebConv(int64_t in, int64_t out, int K, const ChebConvOptions& options = {});
  /// x of all nodes. Throws for two sets of nodes, and for a lambda_max that is not positive.
  Var operator()(const Structure& structure, const Sides& x, const ChebConvCall& call = {}) const;
  std::string describe() const override;

  ModuleList<Linear> lins{this, "lins"};  ///< W_0 … W_K-1
  Var bias;                               ///< [out], or absent

 private:
  template <class X>
  Var after_product(const Structure& structure, const X& x, const ChebConvCall& call) const;

  Laplacian normalization_;
};

}  // namespace adj::nn
