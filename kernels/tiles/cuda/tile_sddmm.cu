#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/tiles/cuda/tile_dots.h>
#include <adjoint/kernels/tiles/tile_sddmm.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::kernels::cuda {

namespace {

/// to[e] = order[entries[e]].
__global__ void follow(const int32_t* order, const int32_t* entries, int64_t n, int32_t* to) {
  adj::cuda::begin_overlapping();
  const int64_t e = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e < n) to[e] = order[entries[e]];
}

/// Where the rest's entries are written.
Tensor order_of_rest(const RowTiles& tiles, const Tensor& order) {
  if (!order) return tiles.rest_entry;
  const Device device = tiles.device();
  Tensor to = Tensor::empty(tiles.rest_entry.shape(), DType::i32, device);
  adj::cuda::launch("tile_sddmm",
                    {.device = device.index, .blocks = adj::cuda::blocks_for(to.numel()), .overlaps = true},
                    follow, order.data<int32_t>(), tiles.rest_entry.data<int32_t>(), to.numel(),
                    to.mutable_data<int32_t>());
  return to;
}

}  // namespace

void tile_sddmm(const TileSddmmArgs& args) {
  const RowTiles& tiles = args.tiles;
  ADJ_CHECK(has_tile_products(tiles.device()), "tile_sddmm: {} is no GPU of compute capability 9.0",
            tiles.device().str());
  if (tiles.rest.entries() > 0)
    sddmm(
        {.a = {tiles.rest, {}, order_of_rest(tiles, args.a.order)}, .y = args.y, .x = args.x, .dw = args.dw});
  if (tiles.num_tiles() == 0) return;
  const int64_t heads = heads_of(args.dw), width = args.x.size(1) / heads;
  if (width == 0) {
    args.dw.zero_();
    return;
  }
  const auto operands = [&](const Tensor& x) {
    return operand_features(x.reshape({x.size(0) * heads, width}), OperandScale::of_all);
  };
  const OperandFeatures own = operands(args.y), other = operands(args.x);
  tile_dots({.tiles = tiles,
             .heads = heads,
             .own = own,
             .other = other,
             .pitch = own.pitch,
             .order = args.a.order,
             .dw = args.dw});
}

}  // namespace adj::kernels::cuda
