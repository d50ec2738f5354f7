#include "../support.h"
#include <adjoint/kernels/plan/item_layout.h>
#include <adjoint/kernels/plan/spmm_method.h>

#include <array>

using namespace adj;
using namespace adj::test;

namespace {

/// `rows` rows of `entries` entries each, in column 0.
Csr structure(int64_t rows, int64_t entries) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i <= rows; ++i) offsets.push_back(i * entries);
  return {.rows = rows,
          .cols = 1,
          .offsets = Tensor::from(offsets),
          .indices = Tensor::zeros({rows * entries}, DType::i32)};
}

using kernels::plan::SpmmMethod;

}  // namespace

TEST_CASE("plan of a product over rows: per head, small, or by items") {
  const auto method = [](int64_t rows, int64_t entries, int64_t heads, int64_t width, DType dtype) {
    const Csr csr = structure(rows, entries);
    const Tensor values = heads == 0   ? Tensor()
                          : heads == 1 ? Tensor::zeros({csr.entries()})
                                       : Tensor::zeros({csr.entries(), heads});
    return kernels::plan::spmm_method({csr, values, {}}, width, dtype);
  };
  CHECK(method(10, 3, 4, 64, DType::f32) == SpmmMethod::heads);
  CHECK(method(10, 3, 4, 64, DType::bf16) == SpmmMethod::heads);
  CHECK(method(10, 3, 1, 64, DType::f32) == SpmmMethod::small);
  CHECK(method(10, 3, 0, 64, DType::f32) == SpmmMethod::small);
  CHECK(method(10, 3, 0, 64, DType::bf16) == SpmmMethod::items);
  CHECK(method(10, 3, 0, 64, DType::f64) == SpmmMethod::items);
  // 16 packs of four features, or of one where four do not divide the width.
  CHECK(method(10, 3, 0, 68, DType::f32) == SpmmMethod::items);
  CHECK(method(10, 3, 0, 15, DType::f32) == SpmmMethod::small);
  CHECK(method(10, 3, 0, 17, DType::f32) == SpmmMethod::items);
  CHECK(method(10, 3, 0, 0, DType::f32) == SpmmMethod::items);
  CHECK(method(1 << 17, 1, 0, 16, DType::f32) == SpmmMethod::small);
  CHECK(method((1 << 17) + 1, 0, 0, 16, DType::f32) == SpmmMethod::items);
  CHECK(method(1, (1 << 17) + 1, 0, 16, DType::f32) == SpmmMethod::items);
}

TEST_CASE("plan of a pass over items: the layout with the least lane work that fits") {
  using kernels::RowLayout;
  // vector, lanes, chunks, unroll
  const std::array<RowLayout, 5> layouts{
      RowLayout{4, 32, 1, 4}, {4, 32, 2, 2}, {4, 8, 1, 4}, {4, 8, 1, 2}, {1, 32, 1, 4}};
  const auto chosen = [&](int64_t width, int64_t entries, size_t alignment = 16) {
    const Csr csr = structure(100, entries);
    return kernels::choose_layout({"test", csr, width, DType::f32, alignment}, layouts);
  };
  CHECK(chosen(128, 10) == 0);    // one slab: 128 + 32
  CHECK(chosen(32, 10) == 2);     // one slab: 32 + 32
  CHECK(chosen(64, 10) == 2);     // two slabs: 128 against 160
  CHECK(chosen(96, 10) == 0);     // three slabs: 192 against 160
  CHECK(chosen(32, 3) == 3);      // few entries: fewer in flight
  CHECK(chosen(256, 3) == 1);     // few entries, two vectors a lane
  CHECK(chosen(256, 4) == 0);     // not few
  CHECK(chosen(30, 10) == 4);     // no vectors of four
  CHECK(chosen(32, 10, 8) == 4);  // not aligned
  const std::array<RowLayout, 1> vectors{RowLayout{4, 32, 1, 4}};
  const Csr csr = structure(4, 2);
  CHECK_THROWS_WITH_AS(kernels::choose_layout({"test", csr, 30, DType::f32, 16}, vectors),
                       "test: no kernel for width 30", Error);
  CHECK(kernels::item_threads(structure(2, 255)) == 128);
  CHECK(kernels::item_threads(structure(2, 256)) == 256);
}
