// SDDMM over a cut (tile_sddmm.h): features become operands, tensor cores compute the tiles (tile_dots.h),
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
#include <adjoint/kernels/tiles/tile_sddmm.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256, kFeatures = 8;  // per lane and chunk: 16 bytes

struct RestArguments {
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const int32_t* order;     ///< output index of the rest's entries
  const char *own, *other;  ///< operands of rows and of columns
  uint32_t row_bytes;
  int heads, pitch;                      ///< operands per row and head
  const float *own_scale, *other_scale;  ///< null: 1
  float* dw;
  bool beside;  ///< are there tiles, computed concurrently?
};

template <class Operand, int kLanes, int kChunks, int kUnroll>
struct RestDots {
  const RestArguments& a;
  const Item& item;
  const char *own_rows, *other_rows;
  int head;
  bool there[kChunks];
  float scale;
  uint4 own[kChunks], gathered[kUnroll][kChunks];
  float dot[kUnroll] = {};
  int entry = -1;

  __device__ __forceinline__ void load(const char* rows, int32_t row, uint4 (&to)[kChunks]) const {
    const char* const from = row_address(rows, row, a.row_bytes);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
      to[c] = there[c] ? __ldg(reinterpret_cast<const uint4*>(from + c * kLanes * kFeatures * 2)) : uint4{};
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
      const uint32_t x[4] = {own[c].x, own[c].y, own[c].z, own[c].w};
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
    if (row + 1 < item.end_row) load(own_rows, row + 1, own);
  }
};

template <class Operand, int kLanes, int kChunks>
__global__ void __launch_bounds__(kThreads) rest_dots_kernel(const __grid_constant__ RestArguments a) {
  begin_beside(a.beside);
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
  for (int c = 0; c < kChunks; ++c) body.there[c] = (c * kLanes + lane) * kFeatures < a.pitch;
  const int64_t first = (int64_t{head} * a.pitch + (body.there[0] ? lane * kFeatures : 0)) * 2;
  body.own_rows = keep_address(mask, a.own + first);
  body.other_rows = keep_address(mask, a.other + first);
  body.scale = (a.own_scale != nullptr ? __ldg(a.own_scale) : 1.0f) *
               (a.other_scale != nullptr ? __ldg(a.other_scale) : 1.0f);
  if (item.row < item.end_row) body.load(body.own_rows, item.row, body.own);
  walk_item<kLanes, kUnroll>(item, a, columns[group], body);
  body.leave();
}

/// Output indices of the rest's entries.
Tensor order_of_rest(const RowTiles& tiles, const Tensor& order) {
  if (!order) return tiles.rest_entry;
  Tensor to = Tensor::empty(tiles.rest_entry.shape(), DType::i32, tiles.device());
  const int32_t *of_entry = order.data<int32_t>(), *entry = tiles.rest_entry.data<int32_t>();
  int32_t* index = to.mutable_data<int32_t>();
  for_each("tile_sddmm", tiles.device().index, to.numel(),
           [=] __device__(int64_t e) { index[e] = of_entry[entry[e]]; });
  return to;
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
  a.own = static_cast<const char*>(dots.own.data);
  a.other = static_cast<const char*>(dots.other.data);
  a.row_bytes = static_cast<uint32_t>(dots.heads * dots.pitch * 2);
  a.heads = static_cast<int>(dots.heads);
  a.pitch = static_cast<int>(dots.pitch);
  a.own_scale = dots.own.scale();
  a.other_scale = dots.other.scale();
  a.dw = dots.dw.mutable_data<float>();
  a.beside = tiles.num_tiles() > 0;
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
  ADJ_CHECK(has_tile_products(tiles.device()), "tile_sddmm: {} is no GPU of compute capability 9.0",
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
  const OperandFeatures own = operands(args.y), other = operands(args.x);
  const TileDots dots{.tiles = tiles,
                      .heads = heads,
                      .own = own,
                      .other = other,
                      .pitch = own.pitch,
                      .order = args.a.order,
                      .dw = args.dw};
  own.operand == TileOperand::float16 ? multiply<float16>(dots) : multiply<bfloat16>(dots);
}

}  // namespace adj::kernels::cuda
