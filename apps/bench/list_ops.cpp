// Edge lists: sorting, and sums over the unsorted list.

#include "operands.h"
#include <adjoint/kernels/aggregate/coo_sums.h>

#include <algorithm>
#include <random>

namespace adj::apps {

namespace {

Tensor rows_of(const Csr& csr) {
  Tensor row = Tensor::empty({csr.entries()}, DType::i32, csr.device());
  kernels::expand_rows({.a = csr, .row = row});
  return row;
}

Tensor shuffled(const Tensor& index) {
  std::vector<int32_t> values = index.to_vector<int32_t>();
  std::shuffle(values.begin(), values.end(), std::mt19937(1));  // same permutation for equal lengths
  return Tensor::from(values, index.device());
}

/// The graph's edges as a list in the requested order.
Coo list_of(const Subject& s) {
  const Csr &csr = s.graph().relation().csr(), &transposed = s.graph().relation().transposed();
  if (s.edges == EdgeOrder::by_source)
    return {csr.rows, csr.cols, transposed.indices, rows_of(transposed), 0};
  Coo list{csr.rows, csr.cols, rows_of(csr), csr.indices, 0};
  if (s.edges == EdgeOrder::shuffled) list.row = shuffled(list.row), list.col = shuffled(list.col);
  return list;
}

Job coo_to_csr(const Subject& s) {
  const Coo list = list_of(s);
  Tensor offsets = Tensor::empty({list.rows + 1}, DType::i64, s.device()),
         indices = Tensor::empty_like(list.row), order = Tensor::empty_like(list.row);
  return {fmt::format("{} rows, {} entries", list.rows, list.entries()),
          bytes_of({list.row, list.col, offsets, indices, order}), 0.0, [=]() mutable {
            kernels::coo_to_csr({.row = list.row,
                                 .col = list.col,
                                 .cols = list.cols,
                                 .offsets = offsets,
                                 .indices = indices,
                                 .order = order});
          }};
}

Job spmm_coo(const Subject& s, bool weighted, bool turned = false) {
  const ops::Links links{.list = list_of(s)};
  return links_job(s, ops::spmm_coo(weighted, s.scatter), turned ? links.turned() : links, 0, {"x"});
}

Job spmm_coo_backward(const Subject& s) {
  return links_job(s, ops::spmm_coo(true, s.scatter), {.list = list_of(s)}, 0, {"x", "dy"}, true);
}

Job coo_gcn_normalize(const Subject& s) {
  const Coo list = list_of(s);
  Tensor degree = Tensor::empty({list.rows}, DType::f32, s.device()),
         weights = Tensor::empty({list.entries()}, DType::f32, s.device());
  return {fmt::format("{} rows, {} entries", list.rows, list.entries()),
          bytes_of({list.row, list.col, list.row, list.col, degree, weights}), 0.0,
          [=]() mutable { kernels::coo_gcn_normalize({.a = list, .degree = degree, .weights = weights}); }};
}

}  // namespace

std::vector<Op> list_ops() {
  return {
      {"coo_to_csr", "sorts the edge list", coo_to_csr},
      {"spmm_coo", "Y = A X over the unsorted edge list, with weights",
       [](const Subject& s) { return spmm_coo(s, true); }},
      {"spmm_coo_ones", "the same, all weights 1", [](const Subject& s) { return spmm_coo(s, false); }},
      {"spmm_coo_transposed", "dX = At dY over the list",
       [](const Subject& s) { return spmm_coo(s, true, true); }},
      {"spmm_coo_backward", "both gradients in one pass over the list", spmm_coo_backward},
      {"coo_gcn_normalize", "symmetric normalisation of the list", coo_gcn_normalize},
  };
}

}  // namespace adj::apps
