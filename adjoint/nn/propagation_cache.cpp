#include <adjoint/autograd/spmm.h>
#include <adjoint/nn/propagation_cache.h>

namespace adj::nn {

Tensor PropagationCache::get(const SparseMatrix& a, const Tensor& x, int hops) {
  const Key key{a.pattern().get(), Contents(a.values()), Contents(x), hops};
  if (key == last_ && kept_) return kept_;
  Tensor y = x;
  for (int hop = 0; hop < hops; ++hop) y = spmm(a, Var(y)).value();
  kept_ = key == last_ ? y : Tensor{};
  last_ = key;
  alive_ = a.pattern();
  return y;
}

}  // namespace adj::nn
