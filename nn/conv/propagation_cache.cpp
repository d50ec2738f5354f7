#include <adjoint/autograd/edge.h>
#include <adjoint/core/capture.h>
#include <adjoint/nn/conv/propagation_cache.h>

namespace adj::nn {

Var propagate(const SparseMatrix& a, Var x, int hops) {
  for (int hop = 0; hop < hops; ++hop) x = aggregate(a, x);
  return x;
}

Sides PropagationCache::constant(Sides x) {
  x.cache_ = this;
  return x;
}

Var PropagationCache::get(const SparseMatrix& a, const Var& x, int hops) {
  return x.requires_grad() ? propagate(a, x, hops) : Var(cached(a, x.value(), hops));
}

Tensor PropagationCache::cached(const SparseMatrix& a, const Tensor& x, int hops) {
  const Key key{a.relation(), Contents(a.values()), Contents(x), hops};
  const bool recording = capturing(a.device());
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    again = key == last_;
    if (again && kept_) {
      if (recording) recorded_.push_back(kept_);
      return kept_;
    }
    // Results of a step under capture are not computed yet: they are not cached, and nothing is evicted for
    // them, so an aborted capture leaves no trace.
    if (!recording && !again) {
      kept_ = {};
      last_ = key;
    }
  }
  if (recording || !again) return propagate(a, x, hops).value();
  const OutsideCapture complete_for_all_streams;
  const Tensor y = propagate(a, x, hops).value();
  const std::lock_guard lock(mutex_);
  if (key == last_) kept_ = y;
  return y;
}

}  // namespace adj::nn
