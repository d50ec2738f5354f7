#include <adjoint/kernels/plan/spmm_method.h>
#include <adjoint/kernels/tiles/sparse_product.h>
#include <adjoint/kernels/tiles/tile_choice.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::kernels {

namespace {

// Why tiles do not apply, or null.
const char* weights_obstacle(const Tensor& weights) {
  return weights && weights.dims() != 1 ? "weights by head" : nullptr;
}
const char* width_obstacle(int64_t width, int64_t heads) {
  return width > heads * kMostTileSddmmWidth ? "products by edge over more than 1024 features" : nullptr;
}

std::shared_ptr<const RowTiles> tiles_of_product(std::string_view op, const CsrMatrix& a, int64_t width,
                                                 DType features, const KeptValues* kept) {
  const TiledOp kind = kept != nullptr ? kept->factors ? TiledOp::product : TiledOp::kept_weights
                       : a.values && !has_column_values(a) ? TiledOp::new_weights
                                                           : TiledOp::product;
  return choose_tiles(op, a.csr, width, features, kind, weights_obstacle(a.values));
}

/// Over the cut, if there is one.
void product(const SpmmArgs& args, const RowTiles* cut, const KeptValues* kept) {
  const CsrMatrix& a = args.a;
  if (cut == nullptr) return spmm(args);
  TileValues values;
  if (kept != nullptr) {
    values = kept->values(*cut);
  } else if (has_column_values(a)) {
    values.column_factor = a.values;
  } else {
    values = make_tile_values(*cut, a.values, a.order, args.x.dtype());
  }
  if (args.row_factor) values.row_factor = args.row_factor;
  tile_spmm({.tiles = *cut,
             .values = values,
             .x = args.x,
             .bias = args.bias,
             .activation = args.activation,
             .y = args.y});
}

}  // namespace

void sparse_product(std::string_view op, const SpmmArgs& args) {
  product(args, tiles_of_product(op, args.a, args.x.size(1), args.x.dtype(), nullptr).get(), nullptr);
}

void sparse_product(std::string_view op, const CsrMatrix& a, const RowParts& x, const Tensor& bias,
                    Activation activation, Tensor& y, const KeptValues& kept) {
  const auto cut = tiles_of_product(op, a, x.width, x.dtype, &kept);
  if (cut != nullptr || plan::spmm_method(a, x.width, x.dtype) != plan::SpmmMethod::items)
    return product({.a = a, .x = x.all(), .bias = bias, .activation = activation, .y = y}, cut.get(), &kept);
  x.each([&](const RowParts::Part& part) {
    spmm({.a = a,
          .x = part.rows,
          .bias = bias ? bias.rows(part.first, part.first + part.rows.size(1)) : Tensor(),
          .activation = activation,
          .y = y,
          .first_column = part.first,
          .local = part.local,
          .local_row = part.local_row});
  });
}

void entry_products(std::string_view op, const SddmmArgs& args) {
  const int64_t width = args.x.size(1);
  const auto cut = choose_tiles(op, args.a.csr, width, args.x.dtype(), TiledOp::entry_products,
                                width_obstacle(width, heads_of(args.dw)));
  if (cut == nullptr) return sddmm(args);
  tile_sddmm({.a = args.a, .tiles = *cut, .y = args.y, .x = args.x, .dw = args.dw});
}

void sparse_product_backward(std::string_view op, const SpmmBackwardArgs& args) {
  const CsrMatrix& transpose = args.at;
  const int64_t width = args.x.size(1);
  const char* const obstacle = args.dw.dims() == 1 ? width_obstacle(width, 1) : weights_obstacle(args.dw);
  const auto cut = choose_tiles(op, transpose.csr, width, args.x.dtype(), TiledOp::gradients, obstacle);
  if (cut == nullptr) return spmm_backward(args);
  const TileValues values = make_tile_values(*cut, transpose.values, transpose.order, args.dy.dtype());
  tile_spmm({.tiles = *cut, .values = values, .x = args.dy, .y = args.dx});
  tile_sddmm(
      {.a = {transpose.csr, {}, transpose.order}, .tiles = *cut, .y = args.x, .x = args.dy, .dw = args.dw});
}

}  // namespace adj::kernels
