#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/norm/pair_norm.h>

namespace adj::nn {

PairNorm::PairNorm(const PairNormOptions& options) : options_(options) {
  ADJ_CHECK(options.eps > 0.0, "PairNorm: expected a positive eps, got {}", options.eps);
}

Var PairNorm::operator()(const Var& x, const Tensor& offsets) const {
  ADJ_CHECK(x.shape().dims() == 2, "PairNorm: x is {}, expected [N, F]", x.shape().str());
  const int64_t rows = x.size(0);
  const auto mean_of = [&](const Var& v) {
    return offsets ? segment_expand(segment_mean(v, offsets), offsets, rows) : mean(v, 0, true);
  };
  if (rows == 0) return x;
  const Var centred = x - mean_of(x);
  const Var square = sum(centred * centred, 1, true);
  if (!options_.scale_individually)
    return centred * (inverse_sqrt(mean_of(square) + options_.eps) * options_.scale);
  const Var length = square * inverse_sqrt(square);  // avoids the root's infinite slope at 0
  return centred * (options_.scale / (length + options_.eps));
}

}  // namespace adj::nn
