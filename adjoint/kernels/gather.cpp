#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/gather.h>

namespace adj::kernels {

namespace {

/// The parts stand side by side in `whole`.
void check_parts(std::string_view op, std::span<const Tensor> parts, const Tensor& whole) {
  ADJ_CHECK(whole && whole.dims() == 2, "{}: y is {}, expected a matrix", op, whole.str());
  int64_t columns = 0;
  for (const Tensor& part : parts) {
    ADJ_CHECK(part && part.dims() == 2, "{}: a part is {}, expected a matrix", op, part.str());
    check_tensor(op, "a part", part, {whole.size(0), part.size(1)}, whole.dtype(), whole.device());
    columns += part.size(1);
  }
  ADJ_CHECK(columns == whole.size(1), "{}: the parts have {} columns together, y is {}", op, columns,
            whole.str());
}

}  // namespace

void gather_rows(const Tensor& x, const Tensor& index, Tensor& y) {
  ADJ_CHECK(x && x.dims() == 2, "gather_rows: x is {}, expected a matrix", x.str());
  check_index("gather_rows", "index", index, x.device());
  check_tensor("gather_rows", "y", y, {index.numel(), x.size(1)}, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), gather_rows, x, index, y);
}

void concat_columns(std::span<const Tensor> parts, Tensor& y) {
  check_parts("concat_columns", parts, y);
  ADJ_DISPATCH(y.device(), concat_columns, parts, y);
}

void split_columns(const Tensor& y, std::span<Tensor> parts) {
  check_parts("split_columns", parts, y);
  ADJ_DISPATCH(y.device(), split_columns, y, parts);
}

}  // namespace adj::kernels
