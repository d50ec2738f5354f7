#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/csr.h>

namespace adj::kernels {

/// The matrix whose entries in column j are factor[j], `factor` [cols]: its order is the indices themselves.
inline CsrMatrix by_column(const Csr& csr, Tensor factor) { return {csr, std::move(factor), csr.indices}; }
/// Whether `a` has a value per column, as of by_column().
inline bool has_column_values(const CsrMatrix& a) {
  return a.order && a.order.numel() > 0 && a.order.raw_data() == a.csr.indices.raw_data();
}

/// Throws, naming the kernel `op`, unless the structure's shapes, dtypes and devices are consistent.
void check_csr(std::string_view op, const Csr& csr);

/// The same for a structure with values of `dtype` (or none).
void check_matrix(std::string_view op, const CsrMatrix& a, DType dtype);

/// Throws unless `tensor` is [M] or [M, H] of `dtype`, H >= 1, and has a place for every entry of the
/// structure.
void check_entries(std::string_view op, std::string_view name, const CsrMatrix& a, const Tensor& tensor,
                   DType dtype);

/// Stable sort of a coordinate list by (row, column). `row`, `col`: int32 [M] in range, `col` below `cols`.
/// Outputs: offsets int64 [rows + 1], indices int32 [M], order int32 [M]: entry e of the result is coordinate
/// order[e].
struct CooToCsrArgs {
  const Tensor& row;
  const Tensor& col;
  int64_t cols;
  Tensor& offsets;
  Tensor& indices;
  Tensor& order;

  Device device() const { return row.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    const Device device = row.device();
    const int64_t entries = row.numel();
    ADJ_CHECK(entries <= kMaxEntries, "{}: expected fewer than 2^31 entries, got {}", op, entries);
    ADJ_CHECK(offsets.numel() >= 1 && offsets.numel() <= kMaxEntries && cols >= 0 && cols <= kMaxEntries,
              "{}: expected fewer than 2^31 rows and columns, got [{}, {}]", op, offsets.numel() - 1, cols);
    check_tensor(op, {{"row", row}, {"col", col}}, {entries}, DType::i32, device);
    check_tensor(op, "offsets", offsets, {offsets.numel()}, DType::i64, device);
    check_tensor(op, {{"indices", indices}, {"order", order}}, {entries}, DType::i32, device);
  }
};
ADJ_KERNEL(coo_to_csr, CooToCsrArgs)  ///< Sorts a coordinate list.

/// Stable transposition: offsets int64 [cols + 1], indices int32 [M], order int32 [M]: entry e of the
/// transposed structure is entry order[e] of `a`.
struct TransposeArgs {
  const Csr& a;
  Tensor& offsets;
  Tensor& indices;
  Tensor& order;

  void check(std::string_view op) const {
    check_csr(op, a);
    check_tensor(op, "offsets", offsets, {a.cols + 1}, DType::i64, a.device());
    check_tensor(op, {{"indices", indices}, {"order", order}}, {a.entries()}, DType::i32, a.device());
  }
};
ADJ_KERNEL(transpose, TransposeArgs)  ///< Transposed structure.

/// Concatenates each row of `a` [N,C] with the same row of `b` [N,C]: offsets int64 [N + 1], indices int32
/// [Ma + Mb], and the entries' payloads `a_value` int32 [Ma] and `b_value` [Mb] into `values` [Ma + Mb].
struct JoinRowsArgs {
  const Csr& a;
  const Csr& b;
  const Tensor& a_value;
  const Tensor& b_value;
  Tensor& offsets;
  Tensor& indices;
  Tensor& values;

  void check(std::string_view op) const {
    check_csr(op, a);
    check_csr(op, b);
    ADJ_CHECK(a.rows == b.rows && a.cols == b.cols, "{}: [{}, {}] and [{}, {}], expected one shape", op,
              a.rows, a.cols, b.rows, b.cols);
    const int64_t entries = a.entries() + b.entries();
    ADJ_CHECK(entries <= kMaxEntries, "{}: expected fewer than 2^31 entries, got {}", op, entries);
    check_tensor(op, "a_value", a_value, {a.entries()}, DType::i32, a.device());
    check_tensor(op, "b_value", b_value, {b.entries()}, DType::i32, a.device());
    check_tensor(op, "offsets", offsets, {a.rows + 1}, DType::i64, a.device());
    check_tensor(op, {{"indices", indices}, {"values", values}}, {entries}, DType::i32, a.device());
  }
};
ADJ_KERNEL(join_rows, JoinRowsArgs)  ///< Concatenates the rows of two structures.

/// row[e] int32 [M] = row of entry e of `a`.
struct ExpandRowsArgs {
  const Csr& a;
  Tensor& row;

  void check(std::string_view op) const {
    check_csr(op, a);
    check_tensor(op, "row", row, {a.entries()}, DType::i32, a.device());
  }
};
ADJ_KERNEL(expand_rows, ExpandRowsArgs)  ///< Row of each entry.

/// y[rows] float32 = sum of the values of each row of `a` (their count without values).
struct RowSumsArgs {
  const CsrMatrix& a;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, a, DType::f32);
    check_tensor(op, "y", y, {a.csr.rows}, DType::f32, a.device());
  }
};
ADJ_KERNEL(row_sums, RowSumsArgs)  ///< Weighted degrees.

/// y [rows, cols] float32 = `a`: zero without an entry, the sum of duplicates in entry order.
struct CsrToDenseArgs {
  const CsrMatrix& a;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, a, DType::f32);
    check_tensor(op, "y", y, {a.csr.rows, a.csr.cols}, DType::f32, a.device());
  }
};
ADJ_KERNEL(csr_to_dense, CsrToDenseArgs)  ///< The matrix in dense form.

/// Row offsets of `a` (square) with a diagonal entry added to every row without one: offsets int64 [rows +
/// 1].
struct DiagonalOffsetsArgs {
  const Csr& a;
  Tensor& offsets;

  void check(std::string_view op) const {
    check_csr(op, a);
    ADJ_CHECK(a.rows == a.cols, "{}: expected a square matrix, got [{}, {}]", op, a.rows, a.cols);
    check_tensor(op, "offsets", offsets, {a.rows + 1}, DType::i64, a.device());
  }
};
ADJ_KERNEL(diagonal_offsets, DiagonalOffsetsArgs)  ///< Offsets with a full diagonal.

/// Fills that structure: indices int32, values float32 [offsets[rows]]: a's entries and, for rows without a
/// diagonal entry, `fill` at its sorted position.
struct InsertDiagonalArgs {
  const CsrMatrix& a;
  float fill;
  const Tensor& offsets;
  Tensor& indices;
  Tensor& values;

  void check(std::string_view op) const {
    check_matrix(op, a, DType::f32);
    const Device device = a.device();
    const int64_t entries = indices.numel();
    ADJ_CHECK(a.csr.rows == a.csr.cols, "{}: expected a square matrix, got [{}, {}]", op, a.csr.rows,
              a.csr.cols);
    ADJ_CHECK(entries <= kMaxEntries, "{}: expected fewer than 2^31 entries, got {}", op, entries);
    check_tensor(op, "offsets", offsets, {a.csr.rows + 1}, DType::i64, device);
    check_tensor(op, "indices", indices, {entries}, DType::i32, device);
    check_tensor(op, "values", values, {entries}, DType::f32, device);
  }
};
ADJ_KERNEL(insert_diagonal, InsertDiagonalArgs)  ///< Entries with a full diagonal.

/// weights[e] = values[e] / sqrt(d_i d_j) with d the row sums of `a` (GCN eq. 2, Kipf & Welling 2017); 0 if
/// d_i or d_j is not positive. `degree` float32 [rows] is also an output. `weights` may be the values. One or
/// two launches.
struct GcnNormalizeArgs {
  const CsrMatrix& a;
  Tensor& degree;
  Tensor& weights;
  bool known = false;  ///< `degree` is an input: `a` has only some rows of the matrix whose sums these are

  void check(std::string_view op) const {
    check_matrix(op, a, DType::f32);
    ADJ_CHECK(a.csr.rows == a.csr.cols, "{}: expected a square matrix, got [{}, {}]", op, a.csr.rows,
              a.csr.cols);
    ADJ_CHECK(!a.order || !a.values || !weights.shares_storage_with(a.values),
              "{}: weights cannot be the values if there is an order between them", op);
    check_tensor(op, "degree", degree, {a.csr.rows}, DType::f32, a.device());
    check_tensor(op, "weights", weights, {a.csr.entries()}, DType::f32, a.device());
  }
};
ADJ_KERNEL(gcn_normalize, GcnNormalizeArgs)  ///< Symmetric normalisation.

/// weights[e] = values[e] / d_i with d the row sums of `a`; or values[e] / d_j with d the `column_sums`
/// float32 [cols], as the transpose has it. 0 where the sum is 0.
struct RowNormalizeEntriesArgs {
  const CsrMatrix& a;
  Tensor& weights;
  const Tensor& column_sums = kAbsent;

  void check(std::string_view op) const {
    check_matrix(op, a, DType::f32);
    ADJ_CHECK(!a.order || !a.values || !weights.shares_storage_with(a.values),
              "{}: weights cannot be the values if there is an order between them", op);
    check_tensor(op, "weights", weights, {a.csr.entries()}, DType::f32, a.device());
    if (column_sums) check_tensor(op, "column_sums", column_sums, {a.csr.cols}, DType::f32, a.device());
  }
};
ADJ_KERNEL(row_normalize_entries, RowNormalizeEntriesArgs)  ///< Normalisation by rows.

/// entry[k] = the first entry (row[k], col[k]) of `csr`, whose rows must ascend, or -1 if there is none; all
/// int32 [K], rows and columns in range.
struct FindEntriesArgs {
  const Csr& csr;
  const Tensor& row;
  const Tensor& col;
  Tensor& entry;

  Device device() const { return csr.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_csr(op, csr);
    ADJ_CHECK(csr.ascending, "{}: columns within rows do not ascend, expected ascending ones", op);
    check_index(op, "row", row, csr.device());
    check_like(op, {{"col", col}, {"entry", entry}}, row);
  }
};
ADJ_KERNEL(find_entries, FindEntriesArgs)  ///< Finds entries by row and column.

/// Throws, naming the kernel `op`, unless the structure's shapes, dtypes and devices are consistent. Contents
/// are not checked.
inline void check_coo(std::string_view op, const Coo& a) {
  ADJ_CHECK(a.rows >= 0 && a.cols >= 0 && a.rows <= kMaxEntries && a.cols <= kMaxEntries,
            "{}: expected fewer than 2^31 rows and columns, got [{}, {}]", op, a.rows, a.cols);
  check_index(op, "row", a.row, a.device());
  check_tensor(op, "col", a.col, a.row.shape(), DType::i32, a.device());
  ADJ_CHECK(a.entries() <= kMaxEntries, "{}: expected fewer than 2^31 entries, got {}", op, a.entries());
  ADJ_CHECK(a.loops == 0 || (a.loops == a.rows && a.rows == a.cols && a.loops <= a.entries()),
            "{}: {} loops at the end of {} entries of [{}, {}], expected none or one for each row of a "
            "square structure",
            op, a.loops, a.entries(), a.rows, a.cols);
}

}  // namespace adj::kernels
