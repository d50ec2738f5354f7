#pragma once

#include <adjoint/data/features.h>
#include <adjoint/graph/graph.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/nn/module.h>
#include <adjoint/nn/propagation_cache.h>

namespace adj::nn {

/// Â X W + b with Â = D^-1/2 (A + I) D^-1/2 (Kipf & Welling 2017, eq. 2; self-loops only where missing). x
/// [N,in], dense or sparse features -> [N,out]. Aggregates on the narrower side: before the product when in
/// <= out, after it when in > out. W is Glorot-uniform, b zero. `activation` none or relu is part of the last
/// pass.
class GCNConv : public Module {
 public:
  GCNConv(int64_t in, int64_t out, bool bias = true, Activation activation = Activation::none);
  Var operator()(const Graph& graph, const Var& x);
  Var operator()(const Graph& graph, const Features& x);
  std::string describe() const override;

  Var weight;  ///< [in, out]
  Var bias;    ///< [out], or absent

 private:
  Activation activation_;
  PropagationCache cache_;
};

}  // namespace adj::nn
