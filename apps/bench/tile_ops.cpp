#include "operands.h"
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::apps {

namespace {

Job row_tiles(const Subject& s) {
  const Csr csr = s.graph().relation().csr();
  const RowTiles tiles = kernels::make_row_tiles(csr, s.least);
  return {fmt::format("{} tiles, {:.1f} % of entries", tiles.num_tiles(),
                      100.0 - 100.0 * static_cast<double>(tiles.rest.entries()) /
                                  static_cast<double>(std::max<int64_t>(1, csr.entries()))),
          bytes_of({csr.offsets, csr.indices}) + static_cast<double>(tiles.bytes()), 0.0,
          [csr, least = s.least] { (void)kernels::make_row_tiles(csr, least); }};
}

enum class Weights : uint8_t { ones, factors, any };

Job tile_spmm(const Subject& s, Weights weights) {
  const Csr csr = s.graph().relation().csr();
  const auto tiles = kernels::row_tiles(csr, s.least);
  auto values = kernels::make_tile_values(
      *tiles, weights == Weights::any ? random(s, {csr.entries()}) : Tensor(), {}, s.dtype);
  if (weights == Weights::factors) {
    values.row_factor = random(s, {csr.rows});
    values.column_factor = random(s, {csr.cols});
  }
  const Tensor x = random(s, {csr.cols, s.width}, s.dtype);
  Tensor y = random(s, {csr.rows, s.width}, s.dtype);
  // Operands have 2 bytes; a tile's column is gathered once.
  const double gathers = static_cast<double>(tiles->rest.entries() + tiles->columns.numel());
  return {
      sparse_shape(csr, x),
      gathers * static_cast<double>(s.width) * 2.0 + static_cast<double>(tiles->bytes()) + bytes_of({x, y}),
      2.0 * static_cast<double>(tiles->columns.numel()) * RowTiles::kRows * static_cast<double>(s.width),
      [=]() mutable { kernels::tile_spmm({.tiles = *tiles, .values = values, .x = x, .y = y}); }};
}

Job tile_sddmm(const Subject& s) {
  const Csr csr = s.graph().relation().csr();
  const auto tiles = kernels::row_tiles(csr, s.least);
  const Tensor x = random(s, {csr.cols, s.width}, s.dtype), y = random(s, {csr.rows, s.width}, s.dtype);
  Tensor dw = random(s, {csr.entries()});
  const double gathers = static_cast<double>(tiles->rest.entries() + tiles->columns.numel());
  return {sparse_shape(csr, x),
          gathers * static_cast<double>(s.width) * 2.0 + static_cast<double>(tiles->bytes()) +
              bytes_of({x, y, dw}),
          2.0 * static_cast<double>(tiles->columns.numel()) * RowTiles::kRows * static_cast<double>(s.width),
          [=]() mutable {
            kernels::tile_sddmm({.a = {csr, {}, {}}, .tiles = *tiles, .y = y, .x = x, .dw = dw});
          }};
}

Job tile_values(const Subject& s) {
  const Csr csr = s.graph().relation().transposed();
  const Tensor order = s.graph().relation().transposed_order();
  const auto tiles = kernels::row_tiles(csr, s.least);
  const Tensor weight = random(s, {csr.entries()});
  return {fmt::format("{} entries", csr.entries()),
          bytes_of({tiles->entries, tiles->rest_entry, order, weight}) + 2.0 * bytes_of({weight}), 0.0,
          [=, dtype = s.dtype] { (void)kernels::make_tile_values(*tiles, weight, order, dtype); }};
}

/// Both gradients of a sum with edge weights that change at each step.
Job tile_spmm_backward(const Subject& s) {
  const Csr csr = s.graph().relation().transposed();
  const Tensor order = s.graph().relation().transposed_order();
  const auto tiles = kernels::row_tiles(csr, s.least);
  const Tensor weight = random(s, {csr.entries()}), x = random(s, {csr.rows, s.width}, s.dtype),
               dy = random(s, {csr.cols, s.width}, s.dtype);
  Tensor dx = Tensor::empty_like(x), dw = Tensor::empty_like(weight);
  const double gathers = static_cast<double>(tiles->rest.entries() + tiles->columns.numel());
  return {sparse_shape(csr, x),
          2.0 * gathers * static_cast<double>(s.width) * 2.0 + static_cast<double>(tiles->bytes()) +
              bytes_of({x, x, dy, dx, weight, dw}),
          0.0, [=, dtype = s.dtype]() mutable {
            const auto values = kernels::make_tile_values(*tiles, weight, order, dtype);
            kernels::tile_spmm({.tiles = *tiles, .values = values, .x = dy, .y = dx});
            kernels::tile_sddmm({.a = {csr, {}, order}, .tiles = *tiles, .y = x, .x = dy, .dw = dw});
          }};
}

}  // namespace

std::vector<Op> tile_ops() {
  return {
      {"row_tiles", "cuts a structure into tiles and a rest", row_tiles},
      {"tile_values", "edge weights in the order of a cut", tile_values},
      {"tile_spmm", "Y = A X with edge weights, with tensor-core tiles",
       [](const Subject& s) { return tile_spmm(s, Weights::any); }},
      {"tile_spmm_factors", "the same, with weights that are a row factor times a column factor",
       [](const Subject& s) { return tile_spmm(s, Weights::factors); }},
      {"tile_spmm_ones", "the same, all weights 1",
       [](const Subject& s) { return tile_spmm(s, Weights::ones); }},
      {"tile_sddmm", "dot product of rows per entry, with tensor-core tiles", tile_sddmm},
      {"tile_spmm_backward", "both gradients of a weighted sum, with tensor-core tiles", tile_spmm_backward}};
}

}  // namespace adj::apps
