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

}  // namespace

void sparse_product(std::string_view op, const SpmmArgs& args, const KeptValues* kept) {
  const CsrMatrix& a = args.a;
  const TiledOp kind = kept != nullptr ? kept->factors ? TiledOp::product : TiledOp::kept_weights
                       : a.values      ? TiledOp::new_weights
                                       : TiledOp::product;
  const auto cut = choose_tiles(op, a.csr, args.x.size(1), args.x.dtype(), kind, weights_obstacle(a.values));
  if (cut == nullptr) return spmm(args);
  const TileValues values =
      kept != nullptr ? kept->values(*cut) : make_tile_values(*cut, a.values, a.order, args.x.dtype());
  tile_spmm({.tiles = *cut,
             .values = values,
             .x = args.x,
             .bias = args.bias,
             .activation = args.activation,
             .y = args.y});
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
