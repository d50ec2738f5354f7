#include <adjoint/core/random.h>
#include <adjoint/nn/dropout.h>

namespace adj::nn {

Dropout::Dropout(float p) : p_(p) { (void)DropoutRule::of(p); }

}  // namespace adj::nn
