#include <adjoint/core/detail/carrier.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj {

Csr Csr::carried_to(detail::Carrier& carrier) const {
  if (device() == carrier.device()) return *this;
  return *carrier.once<Csr>(cache.get(), [&] {
    auto copy = std::make_shared<Csr>(*this);
    copy->offsets = carrier.carry(offsets);
    copy->indices = carrier.carry(indices);
    copy->cache = std::make_shared<KeyedCache>();
    return copy;
  });
}

}  // namespace adj

namespace adj::kernels {

void check_csr(std::string_view op, const Csr& csr) {
  ADJ_CHECK(csr.rows >= 0 && csr.cols >= 0 && csr.rows <= kMaxEntries && csr.cols <= kMaxEntries,
            "{}: expected fewer than 2^31 rows and columns, got [{}, {}]", op, csr.rows, csr.cols);
  check_tensor(op, "offsets", csr.offsets, {csr.rows + 1}, DType::i64, csr.device());
  check_tensor(op, "indices", csr.indices, {csr.indices.numel()}, DType::i32, csr.device());
  ADJ_CHECK(csr.entries() <= kMaxEntries, "{}: expected fewer than 2^31 entries, got {}", op, csr.entries());
}

void check_matrix(std::string_view op, const CsrMatrix& a, DType dtype) {
  check_csr(op, a.csr);
  if (a.order) check_tensor(op, "order", a.order, {a.csr.entries()}, DType::i32, a.csr.device());
  if (a.values) check_tensor(op, "values", a.values, {a.values.numel()}, dtype, a.csr.device());
  if (a.values && has_column_values(a))
    ADJ_CHECK(a.values.numel() == a.csr.cols, "{}: {} values for {} columns", op, a.values.numel(),
              a.csr.cols);
  else
    ADJ_CHECK(
        !a.values || (a.order ? a.values.numel() >= a.csr.entries() : a.values.numel() == a.csr.entries()),
        "{}: {} values for {} entries", op, a.values.numel(), a.csr.entries());
}

void check_entries(std::string_view op, std::string_view name, const CsrMatrix& a, const Tensor& tensor,
                   DType dtype) {
  const int64_t entries = has_column_values(a) ? a.csr.cols : a.csr.entries();
  ADJ_CHECK(tensor && (tensor.dims() == 1 || tensor.dims() == 2) && tensor.dtype() == dtype &&
                tensor.device() == a.csr.device() && heads_of(tensor) >= 1,
            "{}: {} is {}, expected {} [{}] or [{}, H] on {}", op, name, tensor.str(), name_of(dtype),
            entries, entries, a.csr.device().str());
  const bool exact = !a.order || has_column_values(a);
  ADJ_CHECK(exact ? tensor.size(0) == entries : tensor.size(0) >= entries, "{}: {} is {}, for {} {}", op,
            name, tensor.str(), entries, has_column_values(a) ? "columns" : "entries");
}

}  // namespace adj::kernels
