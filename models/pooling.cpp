#include <adjoint/autograd/segment.h>
#include <adjoint/models/detail/pooling.h>

namespace adj::models {

Var pooled(const Var& x, const Tensor& offsets, Reduce pool) {
  return pool == Reduce::mean  ? segment_mean(x, offsets)
         : pool == Reduce::max ? segment_max(x, offsets)
                               : segment_sum(x, offsets);
}

}  // namespace adj::models
