#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/range.h>

namespace adj::kernels {

void first_outside(const Tensor& index, int64_t limit, Tensor& position) {
  ADJ_CHECK(index && index.dims() == 1 && (index.dtype() == DType::i32 || index.dtype() == DType::i64),
            "first_outside: index is {}, expected [M] int32 or int64", index.str());
  check_scalar("first_outside", "position", position, DType::i64, index.device());
  ADJ_DISPATCH(index.device(), first_outside, index, limit, position);
}

}  // namespace adj::kernels
