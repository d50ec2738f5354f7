// SDDMM over a cut (tile_spmm.h): features become operands, tensor cores compute the tiles (tile_dots.h),
// and a pass over the rest's rows with spmm's walk (item_walk.cuh) the other entries: a group of lanes holds
// its row's features in registers and gathers the others'; a dot product is summed per lane over its
// features, then by a tree over lanes. It fills the SMs that the tiles leave free. Nothing is saved.
//
// Bytes: entries of the rest x width of operands, from L2 if they fit, and 12 per entry; float32 features
// read twice and written at half size.

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/tiles/cuda/tile_dots.h>
#include <adjoint/kernels/tiles/cuda/widened.cuh>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256, kFeatures = 8;  // per lane and chunk: 16 bytes

struct RestArguments {
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const int32_t* order;                        ///< output index of the rest's entries
  const char *row_features, *column_features;  ///< operands of rows and of columns
  uint32_t row_bytes;
  int heads, pitch;                       ///< operands per row and head
  const float *row_scale, *column_scale;  ///< null: 1
  float* dw;
  bool overlap;  ///< are there tiles, computed concurrently?
};

template <class Operand, int kLanes, int kChunks, int kUnroll>
struct RestDots {
  const RestArguments& a;
  const Item& item;
  const char *own_rows, *other_rows;
  int head;
  bool valid[kChunks];
  float scale;
  uint4 row_features[kChunks], gathered[kUnroll][kChunks];
  float dot[kUnroll] = {};
  int entry = -1;

  __device__ __forceinline__ void load(const char* rows, int32_t row, uint4 (&features)[kChunks]) const {
    const char* const source = row_address(rows, row, a.row_bytes);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
      features[c] =
          valid[c] ? __ldg(reinterpret_cast<const uint4*>(source + c * kLanes * kFeatures * 2)) : uint4{};
  }
  __device__ __forceinline__ void gather(const Pack<int32_t, kUnroll>& columns, int first) {
    leave();
    entry = first;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load(other_rows, columns[u], gathered[u]);
  }
  __device__ __forceinline__ void add(int u, int32_t, bool) {
    float sum = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const uint32_t x[4] = {row_features[c].x, row_features[c].y, row_features[c].z, row_features[c].w};
      const uint32_t y[4] = {gathered[u][c].x, gathered[u][c].y, gathered[u][c].z, gathered[u][c].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 of_own = widened<Operand>(x[i]), of_other = widened<Operand>(y[i]);
        sum = fmaf(of_own.x, of_other.x, fmaf(of_own.y, of_other.y, sum));
      }
    }
    dot[u] = sum;
  }
  /// Writes the results of the last gathered entries.
  __device__ __forceinline__ void leave() {
    if (entry < 0) return;
    constexpr int kShare = kLanes / kUnroll;
    const int lane = static_cast<int>(threadIdx.x) % kLanes, k = lane / kShare;
    const float sum = reduce_scatter<kUnroll, kLanes>(dot, lane, group_mask<kLanes>());
    if (lane % kShare == 0 && entry + k < item.end_entry)
      a.dw[int64_t{__ldg(a.order + entry + k)} * a.heads + head] = sum * scale;
  }
  __device__ __forceinline__ void end_row(int row, int, int) {
    if (row + 1 < item.end_row) load(own_rows, row + 1, row_features);
  }
};

template <class Operand, int kLanes, int kChunks>
__global__ void __launch_bounds__(kThreads) rest_dots_kernel(const __grid_constant__ RestArguments a) {
  begin_beside(a.overlap);
  constexpr int kUnroll = kChunks == 4 ? 2 : 4;
  __shared__ alignas(16) int32_t columns[kThreads / kLanes][kStage<kLanes>];
  const unsigned mask = group_mask<kLanes>();
  const int group = keep(mask, static_cast<int>(threadIdx.x / kLanes)), lane = threadIdx.x % kLanes;
  const int number = blockIdx.x * (kThreads / kLanes) + group;
  if (number >= a.items) return;
  const Item item(a.starts, number);
  const int head = blockIdx.y;
  RestDots<Operand, kLanes, kChunks, kUnroll> body{.a = a, .item = item, .head = head};
#pragma unroll
  for (int c = 0; c < kChunks; ++c) body.valid[c] = (c * kLanes + lane) * kFeatures < a.pitch;
  const int64_t first = (int64_t{head} * a.pitch + (body.valid[0] ? lane * kFeatures : 0)) * 2;
  body.own_rows = keep_address(mask, a.row_features + first);
  body.other_rows = keep_address(mask, a.column_features + first);
  body.scale = (a.row_scale != nullptr ? __ldg(a.row_scale) : 1.0f) *
               (a.column_scale != nullptr ? __ldg(a.column_scale) : 1.0f);
  if (item.row < item.end_row) body.load(body.own_rows, item.row, body.row_features);
  walk_item<kLanes, kUnroll>(item, a, columns[group], body);
  body.leave();
}

/// Output indices of the rest's entries.
Tensor order_of_rest(const RowTiles& tiles, const Tensor& order) {
  if (!order) return tiles.rest_entry;
  Tensor result = Tensor::empty(tiles.rest_entry.shape(), DType::i32, tiles.device());
  const int32_t *of_entry = order.data<int32_t>(), *entry = tiles.rest_entry.data<int32_t>();
  int32_t* index = result.mutable_data<int32_t>();
  for_each("tile_sddmm", tiles.device().index, result.numel(),
           [=] __device__(int64_t e) { index[e] = of_entry[entry[e]]; });
  return result;
}

template <class Operand>
void multiply(const TileDots& dots) {
  const RowTiles& tiles = dots.tiles;
  const Device device = tiles.device();
  const SpmmPlan plan = spmm_plan(tiles.rest, dots.heads);
  const Tensor order = order_of_rest(tiles, dots.order);
  RestArguments a{};
  set_structure(a, tiles.rest, plan);
  a.order = order.data<int32_t>();
  a.row_features = static_cast<const char*>(dots.row_features.data);
  a.column_features = static_cast<const char*>(dots.column_features.data);
  a.row_bytes = static_cast<uint32_t>(dots.heads * dots.pitch * 2);
  a.heads = static_cast<int>(dots.heads);
  a.pitch = static_cast<int>(dots.pitch);
  a.row_scale = dots.row_features.scale();
  a.column_scale = dots.column_features.scale();
  a.dw = dots.dw.mutable_data<float>();
  a.overlap = tiles.num_tiles() > 0;
  const auto run = [&]<int kLanes, int kChunks>() {
    tile_dots(dots);  // directly before the kernel that runs beside it
    if (tiles.rest.entries() == 0) return;
    launch("tile_sddmm",
           overlapping(device.index, grid(ceil_div(plan.items, kThreads / kLanes), dots.heads), kThreads),
           rest_dots_kernel<Operand, kLanes, kChunks>, a);
  };
  const int64_t packs = dots.pitch / kFeatures;
  packs <= 8    ? run.template operator()<8, 1>()
  : packs <= 16 ? run.template operator()<16, 1>()
  : packs <= 32 ? run.template operator()<32, 1>()
  : packs <= 64 ? run.template operator()<32, 2>()
                : run.template operator()<32, 4>();
}

}  // namespace

void tile_sddmm(const TileSddmmArgs& args) {
  const RowTiles& tiles = args.tiles;
  ADJ_CHECK(has_tile_products(tiles.device()), "tile_sddmm: {} is not a GPU of compute capability 9.0",
            tiles.device().str());
  const int64_t heads = heads_of(args.dw), width = args.x.size(1) / heads;
  ADJ_CHECK(width <= kMostTileSddmmWidth, "tile_sddmm: heads of {} features, expected {} at most", width,
            kMostTileSddmmWidth);
  if (args.dw.numel() == 0) return;
  if (width == 0) {
    args.dw.zero_();
    return;
  }
  check_width<float>("tile_sddmm", args.x.size(1));
  const auto operands = [&](const Tensor& x) {
    return operand_features(x.reshape({x.size(0) * heads, width}), OperandScale::of_all);
  };
  const OperandFeatures row_features = operands(args.y), column_features = operands(args.x);
  const TileDots dots{.tiles = tiles,
                      .heads = heads,
                      .row_features = row_features,
                      .column_features = column_features,
                      .pitch = row_features.pitch,
                      .order = args.a.order,
                      .dw = args.dw};
  row_features.operand == TileOperand::float16 ? multiply<float16>(dots) : multiply<bfloat16>(dots);
}

}  // namespace adj::kernels::cuda
