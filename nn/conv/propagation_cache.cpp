#include <adjoint/autograd/spmm.h>
#include <adjoint/core/capture.h>
#include <adjoint/nn/conv/propagation_cache.h>

namespace adj::nn {

namespace {

Tensor propagated(const SparseMatrix& a, const Tensor& x, int hops) {
  Tensor y = x;
  for (int hop = 0; hop < hops; ++hop) y = spmm(a, Var(y)).value();
  return y;
}

}  // namespace

Tensor PropagationCache::get(const SparseMatrix& a, const Tensor& x, int hops) {
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
  if (recording || !again) return propagated(a, x, hops);
  const OutsideCapture complete_for_all_streams;
  Tensor y = propagated(a, x, hops);
  const std::lock_guard lock(mutex_);
  if (key == last_) kept_ = y;
  return y;
}

}  // namespace adj::nn
