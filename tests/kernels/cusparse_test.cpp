#include "../../bench/ops/cusparse.h"

#include "../support.h"
#include <adjoint/kernels/aggregate/spmm.h>

using namespace adj;
using namespace adj::test;

// A judge that shares no code with the kernels or with the loops of tests/op_table.h.
TEST_CASE("spmm and sddmm agree with cuSPARSE on skewed graphs with empty rows") {
  if (!gpu() || !ops::has_cusparse()) {
    MESSAGE("skipped: needs a GPU, and a build with cuSPARSE");
    return;
  }
  const Device device = Device::parse("cuda");
  for (const int64_t nodes : {8, 37, 3000})  // it takes no more entries than rows x columns
    for (const int64_t width : {1, 7, 64, 257}) {
      CAPTURES(nodes, width);
      std::vector<int32_t> src, dst;  // the square of a uniform number: few targets have most edges
      const std::vector<float> draws =
          random_uniform({8 * nodes}, 0.0, 1.0, default_generator()).to_vector<float>();
      for (size_t e = 0; e + 1 < draws.size(); e += 2) {
        src.push_back(static_cast<int32_t>(draws[e] * static_cast<float>(nodes)));
        dst.push_back(static_cast<int32_t>(draws[e + 1] * draws[e + 1] * static_cast<float>(nodes)));
      }
      const Relation relation =
          Relation::from_coo(nodes, nodes, Tensor::from(src), Tensor::from(dst)).to(device);
      const Csr csr = relation.csr();
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const Tensor x = random_tensor({nodes, width}, dtype, device),
                     w = random_tensor({csr.entries()}, dtype, device);
        Tensor y = Tensor::empty_like(x), judged = Tensor::zeros(x.shape(), dtype, device);
        kernels::spmm({.a = {csr, w.to(DType::f32), {}}, .x = x, .y = y});
        ops::cusparse_spmm(csr, w, x, judged)();
        CHECK(close(y, values(judged), dtype == DType::f32 ? 2e-6 : 0x1p-7));
      }
      const Tensor x = random_tensor({nodes, width}, DType::f32, device),
                   y = random_tensor({nodes, width}, DType::f32, device);
      Tensor dw = Tensor::empty({csr.entries()}, DType::f32, device),
             judged = Tensor::zeros({csr.entries()}, DType::f32, device);
      kernels::sddmm({.a = {csr, {}, {}}, .y = y, .x = x, .dw = dw});
      ops::cusparse_sddmm(csr, y, x, judged)();
      CHECK(close(dw, values(judged), 2e-6));
    }
}
