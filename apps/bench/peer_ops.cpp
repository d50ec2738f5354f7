// Other libraries' kernels on the same operands.

#include "../../bench/ops/cusparse.h"
#include "operands.h"

namespace adj::apps {

namespace {

Job cusparse_spmm(const Subject& s, bool weighted) {
  const Csr& csr = s.graph().relation().csr();
  Tensor values = random(s, {csr.entries()}, s.dtype);
  if (!weighted) values.fill_(1.0);
  const Tensor x = random(s, {csr.cols, s.width}, s.dtype),
               y = Tensor::empty({csr.rows, s.width}, s.dtype, s.device());
  return {sparse_shape(csr, x), gathered(csr, x) + bytes_of({csr.offsets, csr.indices, values, y}), 0.0,
          [csr, run = ops::cusparse_spmm(csr, values, x, y)] { run(); }};
}

Job cusparse_sddmm(const Subject& s) {
  const Csr& csr = s.graph().relation().csr();
  const Tensor x = random(s, {csr.cols, s.width}), y = random(s, {csr.rows, s.width}),
               dw = Tensor::empty({csr.entries()}, DType::f32, s.device());
  return {sparse_shape(csr, x), gathered(csr, x) + bytes_of({csr.offsets, csr.indices, y, dw}), 0.0,
          [csr, run = ops::cusparse_sddmm(csr, y, x, dw)] { run(); }};
}

}  // namespace

std::vector<Op> peer_ops() {
  if (!ops::has_cusparse()) return {};
  return {{"cusparse_spmm", "cuSPARSE's spmm", [](const Subject& s) { return cusparse_spmm(s, true); }},
          {"cusparse_spmm_ones", "the same with stored weights of 1, which it needs",
           [](const Subject& s) { return cusparse_spmm(s, false); }},
          {"cusparse_sddmm", "cuSPARSE's sddmm, float32", cusparse_sddmm}};
}

}  // namespace adj::apps
