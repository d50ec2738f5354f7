#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/nn/jumping_knowledge.h>

namespace adj::nn {

Var jumping_knowledge(Jump mode, const std::vector<Var>& xs) {
  ADJ_CHECK(!xs.empty(), "jumping_knowledge: no layers");
  const Shape first = xs[0].shape();
  for (const Var& x : xs)
    ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == first[0] && (mode == Jump::cat || x.shape() == first),
              "jumping_knowledge: layers {} and {}, expected [N, F]{}", first.str(), x.shape().str(),
              mode == Jump::max ? " of one width" : " of one height");
  const Var beside = cat(xs, 1);
  if (mode == Jump::cat) return beside;
  return max(reshape(beside, {first[0], static_cast<int64_t>(xs.size()), first[1]}), 1).values;
}

}  // namespace adj::nn
