#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/csr_check.h>

#include <limits>

namespace adj {

Csr Csr::to(Device target) const {
  if (device() == target) return *this;
  Csr copy;
  copy.rows = rows;
  copy.cols = cols;
  copy.offsets = offsets.to(target);
  copy.indices = indices.to(target);
  return copy;
}

namespace kernels {

namespace {

constexpr int64_t kMaxEntries = std::numeric_limits<int32_t>::max();

}  // namespace

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
  ADJ_CHECK(
      !a.values || (a.order ? a.values.numel() >= a.csr.entries() : a.values.numel() == a.csr.entries()),
      "{}: {} values for {} entries", op, a.values.numel(), a.csr.entries());
}

void coo_to_csr(const Tensor& row, const Tensor& col, int64_t cols, Tensor& offsets, Tensor& indices,
                Tensor& order) {
  const Device device = row.device();
  const int64_t entries = row.numel();
  ADJ_CHECK(entries <= kMaxEntries, "coo_to_csr: expected fewer than 2^31 entries, got {}", entries);
  ADJ_CHECK(offsets.numel() >= 1 && offsets.numel() <= kMaxEntries && cols >= 0 && cols <= kMaxEntries,
            "coo_to_csr: expected fewer than 2^31 rows and columns, got [{}, {}]", offsets.numel() - 1, cols);
  check_tensor("coo_to_csr", "row", row, {entries}, DType::i32, device);
  check_tensor("coo_to_csr", "col", col, {entries}, DType::i32, device);
  check_tensor("coo_to_csr", "offsets", offsets, {offsets.numel()}, DType::i64, device);
  check_tensor("coo_to_csr", "indices", indices, {entries}, DType::i32, device);
  check_tensor("coo_to_csr", "order", order, {entries}, DType::i32, device);
  ADJ_DISPATCH(device, coo_to_csr, row, col, cols, offsets, indices, order);
}

void transpose(const Csr& a, Tensor& offsets, Tensor& indices, Tensor& order) {
  check_csr("transpose", a);
  check_tensor("transpose", "offsets", offsets, {a.cols + 1}, DType::i64, a.device());
  check_tensor("transpose", "indices", indices, {a.entries()}, DType::i32, a.device());
  check_tensor("transpose", "order", order, {a.entries()}, DType::i32, a.device());
  ADJ_DISPATCH(a.device(), transpose, a, offsets, indices, order);
}

void expand_rows(const Csr& a, Tensor& row) {
  check_csr("expand_rows", a);
  check_tensor("expand_rows", "row", row, {a.entries()}, DType::i32, a.device());
  ADJ_DISPATCH(a.device(), expand_rows, a, row);
}

void row_sums(const CsrMatrix& a, Tensor& y) {
  check_matrix("row_sums", a, DType::f32);
  check_tensor("row_sums", "y", y, {a.csr.rows}, DType::f32, a.csr.device());
  ADJ_DISPATCH(a.csr.device(), row_sums, a, y);
}

void diagonal_offsets(const Csr& a, Tensor& offsets) {
  check_csr("diagonal_offsets", a);
  ADJ_CHECK(a.rows == a.cols, "diagonal_offsets: expected a square matrix, got [{}, {}]", a.rows, a.cols);
  check_tensor("diagonal_offsets", "offsets", offsets, {a.rows + 1}, DType::i64, a.device());
  ADJ_DISPATCH(a.device(), diagonal_offsets, a, offsets);
}

void insert_diagonal(const CsrMatrix& a, float fill, const Tensor& offsets, Tensor& indices, Tensor& values) {
  check_matrix("insert_diagonal", a, DType::f32);
  const Device device = a.csr.device();
  const int64_t entries = indices.numel();
  ADJ_CHECK(a.csr.rows == a.csr.cols, "insert_diagonal: expected a square matrix, got [{}, {}]", a.csr.rows,
            a.csr.cols);
  ADJ_CHECK(entries <= kMaxEntries, "insert_diagonal: expected fewer than 2^31 entries, got {}", entries);
  check_tensor("insert_diagonal", "offsets", offsets, {a.csr.rows + 1}, DType::i64, device);
  check_tensor("insert_diagonal", "indices", indices, {entries}, DType::i32, device);
  check_tensor("insert_diagonal", "values", values, {entries}, DType::f32, device);
  ADJ_DISPATCH(device, insert_diagonal, a, fill, offsets, indices, values);
}

void gcn_normalize(const CsrMatrix& a, Tensor& degree, Tensor& weights) {
  check_matrix("gcn_normalize", a, DType::f32);
  ADJ_CHECK(a.csr.rows == a.csr.cols, "gcn_normalize: expected a square matrix, got [{}, {}]", a.csr.rows,
            a.csr.cols);
  ADJ_CHECK(!a.order || !a.values || !weights.shares_storage_with(a.values),
            "gcn_normalize: weights cannot be the values where an order stands between them");
  check_tensor("gcn_normalize", "degree", degree, {a.csr.rows}, DType::f32, a.csr.device());
  check_tensor("gcn_normalize", "weights", weights, {a.csr.entries()}, DType::f32, a.csr.device());
  ADJ_DISPATCH(a.csr.device(), gcn_normalize, a, degree, weights);
}

void row_normalize_entries(const CsrMatrix& a, Tensor& weights) {
  check_matrix("row_normalize_entries", a, DType::f32);
  ADJ_CHECK(!a.order || !a.values || !weights.shares_storage_with(a.values),
            "row_normalize_entries: weights cannot be the values where an order stands between them");
  check_tensor("row_normalize_entries", "weights", weights, {a.csr.entries()}, DType::f32, a.csr.device());
  ADJ_DISPATCH(a.csr.device(), row_normalize_entries, a, weights);
}

}  // namespace kernels
}  // namespace adj
