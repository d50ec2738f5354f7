#include "tile_cases.h"
#include <adjoint/kernels/tiles/tile_spmm.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("tile_sddmm equals sddmm to the precision of its operands") {
  const std::vector<std::pair<int64_t, int64_t>> shapes{
      {1, 1},   {1, 8},   {3, 7},   {1, 33},  {1, 64},  {2, 64},  {1, 100},  {8, 16},
      {1, 128}, {4, 128}, {1, 200}, {1, 256}, {2, 300}, {1, 520}, {1, 1000}, {1, 1024}};
  for (const Named& one : tile_structures())
    for (Device device : product_devices())
      for (DType dtype : {DType::f32, DType::bf16})
        for (int64_t least : {1, 3})
          for (const auto& [heads, width] : shapes) {
            if (one.csr.cols > 1000 && heads * width > 70 && (device.is_cpu() || width % 128 != 0)) continue;
            if (kSanitized && heads * width > 100 && width != 300) continue;
            CAPTURES(one.name, name_of(dtype), least, heads, width);
            const Edges edges(one.rows, one.csr.cols, least == 3, device);
            const RowTiles tiles = kernels::make_row_tiles(edges.csr, least);
            const Tensor y = random_tensor({edges.rows(), heads * width}, dtype, device),
                         x = random_tensor({edges.cols(), heads * width}, dtype, device);
            const auto dots = [&](auto&& run, DType accumulator) {
              Tensor dw = Tensor::full({edges.count(), heads}, NAN, accumulator, device);
              run(dw);
              return values(dw);
            };
            const auto over_tiles = [&](Tensor& dw) {
              kernels::tile_sddmm({.a = edges.a(), .tiles = tiles, .y = y, .x = x, .dw = dw});
            };
            const Numbers got = dots(over_tiles, DType::f32), again = dots(over_tiles, DType::f32);
            const Numbers wanted = dots(
                [&](Tensor& dw) {
                  kernels::sddmm({.a = edges.a(), .y = y.to(DType::f64), .x = x.to(DType::f64), .dw = dw});
                },
                DType::f64);
            double error = 0.0;
            for (size_t e = 0; e < got.size(); ++e) error += std::pow(got[e] - wanted[e], 2);
            const auto size =
                static_cast<double>(edges.count() * heads * width);  // expected, of normal numbers
            // bfloat16 features are used unchanged; NaN fails.
            CHECK(std::sqrt(error) <= (dtype == DType::f32 ? 1e-3 : 1e-5) * std::sqrt(size));
            CHECK(got == again);
          }
}

TEST_CASE("in tile_sddmm NaN and infinities reach only their entries") {
  for (Device device : product_devices()) {
    const Edges edges(random_rows(300, 300, 40.0, 6), 300, false, device);
    const RowTiles tiles = kernels::make_row_tiles(edges.csr, 2);
    REQUIRE(tiles.num_tiles() > 0);
    Numbers y = values(random_tensor({300, 70}, DType::f64)),
            x = values(random_tensor({300, 70}, DType::f64));
    y[5 * 70] = NAN;
    x[7 * 70 + 69] = INFINITY;
    Tensor dw = Tensor::empty({edges.count()}, DType::f32, device);
    kernels::tile_sddmm({.a = edges.a(),
                         .tiles = tiles,
                         .y = Tensor::from(y, {300, 70}).to(DType::f32).to(device),
                         .x = Tensor::from(x, {300, 70}).to(DType::f32).to(device),
                         .dw = dw});
    const Numbers got = values(dw);
    edges.each([&](size_t i, size_t j, size_t e) {
      if (std::isfinite(got[e]) == (i == 5 || j == 7)) FAIL_CHECK("entry of row ", i, ", column ", j);
    });
  }
}
