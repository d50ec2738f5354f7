#include <adjoint/autograd/spmm.h>
#include <adjoint/core/random.h>
#include <adjoint/nn/propagation_cache.h>

namespace adj::nn {

Tensor PropagationCache::get(const SparseMatrix& a, const Tensor& x, int hops) {
  const Key key{a.pattern().get(), Contents(a.values()), Contents(x), hops};
  const bool recording = default_generator().capturing();
  if (key == last_ && kept_) {
    if (recording) recorded_.push_back(kept_);
    return kept_;
  }
  Tensor y = x;
  for (int hop = 0; hop < hops; ++hop) y = spmm(a, Var(y)).value();
  // What a step computes while it is recorded holds nothing yet.
  kept_ = key == last_ && !recording ? y : Tensor{};
  last_ = key;
  alive_ = a.pattern();
  return y;
}

}  // namespace adj::nn
