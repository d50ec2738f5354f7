// Edge lists: sorting, and sums over the unsorted list.

#include "operands.h"
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>

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

/// Operands of a weighted sum over the list.
struct Listed {
  Coo list;
  Tensor weight, dw, x, y, dx;

  explicit Listed(const Subject& s)
      : list(list_of(s)),
        weight(random(s, {list.entries()})),
        dw(Tensor::empty_like(weight)),
        x(random(s, {list.cols, s.width}, s.dtype)),
        y(random(s, {list.rows, s.width}, s.dtype)),
        dx(Tensor::empty_like(x)) {}
  std::string shape() const {
    return fmt::format("{} x {}, {} entries", list.rows, x.size(1), list.entries());
  }
  /// A row per entry, and everything else that is read or written once.
  double bytes(std::initializer_list<Tensor> others) const {
    return static_cast<double>(list.entries() * x.size(1)) * static_cast<double>(size_of(x.dtype())) +
           bytes_of({list.row, list.col}) + bytes_of(others);
  }
};

Job spmm_coo(const Subject& s, bool weighted) {
  auto o = std::make_shared<Listed>(s);
  const Tensor weight = weighted ? o->weight : Tensor{};
  return {o->shape(), o->bytes({weight, o->y}), 0.0, [=, sums = s.scatter] {
            kernels::spmm_coo({.a = o->list, .values = weight, .x = o->x, .sums = sums, .y = o->y});
          }};
}

Job spmm_coo_transposed(const Subject& s) {
  auto o = std::make_shared<Listed>(s);
  return {o->shape(), o->bytes({o->weight, o->dx}), 0.0,
          [=, turned = o->list.transposed(), sums = s.scatter] {
            kernels::spmm_coo({.a = turned, .values = o->weight, .x = o->y, .sums = sums, .y = o->dx});
          }};
}

Job spmm_coo_backward(const Subject& s) {
  auto o = std::make_shared<Listed>(s);
  const double rows = o->bytes({}) - bytes_of({o->list.row, o->list.col});  // of both operands
  return {o->shape(), rows + o->bytes({o->weight, o->dw, o->dx}), 0.0, [=, sums = s.scatter] {
            kernels::spmm_coo_backward({.a = o->list,
                                        .values = o->weight,
                                        .dy = o->y,
                                        .x = o->x,
                                        .sums = sums,
                                        .dx = o->dx,
                                        .dw = o->dw});
          }};
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
      {"spmm_coo_transposed", "dX = At dY over the list", spmm_coo_transposed},
      {"spmm_coo_backward", "both gradients in one pass over the list", spmm_coo_backward},
      {"coo_gcn_normalize", "symmetric normalisation of the list", coo_gcn_normalize},
  };
}

}  // namespace adj::apps
