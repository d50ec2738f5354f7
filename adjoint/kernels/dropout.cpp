#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/dropout.h>

namespace adj::kernels {

void dropout(const Tensor& x, RandomKey key, DropoutRule rule, Tensor& y) {
  check_float("dropout", "x", x);
  check_like("dropout", "y", y, x);
  ADJ_CHECK(rule.threshold < 65536u, "dropout: threshold {}, expected less than 65536", rule.threshold);
  ADJ_DISPATCH(x.device(), dropout, x, key, rule, y);
}

}  // namespace adj::kernels
