#pragma once

#include <adjoint/data/features.h>
#include <adjoint/graph/graph.h>
#include <adjoint/nn/module.h>
#include <adjoint/nn/propagation_cache.h>

namespace adj::nn {

/// Â^K X W + b: K propagation steps and one linear map (Wu et al., Simplifying Graph Convolutional Networks,
/// 2019). x [N,in], dense or sparse features -> [N,out]. Dense features without gradient are propagated once
/// for the whole training; sparse ones are transformed first.
class SGConv : public Module {
 public:
  SGConv(int64_t in, int64_t out, int hops = 2, bool bias = true);
  Var operator()(const Graph& graph, const Var& x);
  Var operator()(const Graph& graph, const Features& x);
  std::string describe() const override;

  Var weight;  ///< [in, out]
  Var bias;    ///< [out], or absent

 private:
  Var propagate(const SparseMatrix& a, Var y) const;

  int hops_;
  PropagationCache cache_;
};

}  // namespace adj::nn
