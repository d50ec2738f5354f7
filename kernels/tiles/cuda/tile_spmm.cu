// Y = A X over a cut (tile_spmm.h): features become operands, tensor cores sum the tiles (tile_product) on
// some SMs, and concurrently a pass over the rest's rows sums the remainder on the others. It is spmm's walk:
// a group of lanes takes an item of the rest's plan, each lane 8 features, 16 bytes of operands; rows split
// by the plan leave partial sums, which a second kernel adds in order. A last pass adds both in the rows of
// windows with tiles. Nothing is saved.
//
// Bytes: entries of the rest x width of operands, from L2 if they fit; 4 for an entry's column, and its
// value; the parts written and read, 4 bytes per feature of every row of a window with tiles; Y.

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/tiles/cuda/operands.h>
#include <adjoint/kernels/tiles/cuda/widened.cuh>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::kernels::cuda {

namespace {

constexpr char kName[] = "tile_spmm";
constexpr int kThreads = 256;
constexpr int kVector = 8;  // features per lane

template <class S>
struct RestArguments {
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const float* values;  ///< null: ones
  const char* x;        ///< operands
  uint32_t pitch;       ///< bytes per row of operands
  int padded;           ///< features per row of operands
  float* partial;       ///< [slots, padded]

  TileShares shares;
  int num_windows;
  const int32_t* windows;
  const float* parts;         ///< from tile_product
  const float* column_scale;  ///< null: 1
  const float* row_factor;    ///< null: 1
  const S* bias;              ///< null: none
  bool relu;
  S* y;
  int width;
  bool wide;     ///< can rows of y be read and written 16 bytes at a time?
  bool overlap;  ///< are there tiles, summed concurrently?
};

template <class S>
__device__ __forceinline__ bool has_tiles(const RestArguments<S>& a, int row) {
  const int window = row / RowTiles::kRows;
  return __ldg(a.windows + window) != __ldg(a.windows + window + 1);
}

/// Adds the tiles' sums of 8 features of a row that has_tiles(): the window's part, then those of blocks that
/// begin in it.
template <class S>
__device__ __forceinline__ void add_tiles(const RestArguments<S>& a, int row, int feature,
                                          float (&sum)[kVector]) {
  const int window = row / RowTiles::kRows;
  const int first = __ldg(a.windows + window), end = __ldg(a.windows + window + 1);
  const auto add = [&](int part) {
    const float* const input =
        a.parts + (int64_t{part} * RowTiles::kRows + row % RowTiles::kRows) * a.padded + feature;
    const float4 lower = __ldcs(reinterpret_cast<const float4*>(input)),
                 upper = __ldcs(reinterpret_cast<const float4*>(input + 4));
    sum[0] += lower.x;
    sum[1] += lower.y;
    sum[2] += lower.z;
    sum[3] += lower.w;
    sum[4] += upper.x;
    sum[5] += upper.y;
    sum[6] += upper.z;
    sum[7] += upper.w;
  };
  add(window);
  for (int block = a.shares.first_after(first); a.shares.begin(block) < end; ++block)
    add(a.num_windows + block);
}

template <class S>
__device__ __forceinline__ void scale(const RestArguments<S>& a, int row, int feature,
                                      float (&sum)[kVector]) {
  if (a.column_scale != nullptr) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] *= __ldg(a.column_scale + feature + v);
  }
  if (a.row_factor != nullptr) {
    const float factor = __ldg(a.row_factor + row);
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] *= factor;
  }
}

/// Writes 8 features of a row of Y; `whole` ones get the bias and relu.
template <class S>
__device__ __forceinline__ void write_row(const RestArguments<S>& a, int row, int feature, bool whole,
                                          float (&sum)[kVector]) {
  S* const output = a.y + static_cast<int64_t>(row) * a.width + feature;
  Pack<S, kVector> pack;
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    if (whole && a.bias != nullptr && feature + v < a.width) sum[v] += widen(a.bias[feature + v]);
    if (whole && a.relu && sum[v] < 0.0f) sum[v] = 0.0f;  // NaN propagates
    pack[v] = narrow<S>(sum[v]);
  }
  if (a.wide && feature + kVector <= a.width) {
    const uint4* const words = reinterpret_cast<const uint4*>(&pack);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(pack) / sizeof(uint4)); ++i)
      __stcs(reinterpret_cast<uint4*>(output) + i, words[i]);
  } else {
#pragma unroll
    for (int v = 0; v < kVector; ++v)
      if (feature + v < a.width) output[v] = pack[v];
  }
}

/// Y[row] from the sum over the row's rest: complete except in windows with tiles. Not inlined: a walk ends
/// rows in several places, and its loop needs the registers.
template <class S>
__device__ __noinline__ void finish_row(const RestArguments<S>& a, int row, int feature, float4 lower,
                                        float4 upper) {
  float sum[kVector] = {lower.x, lower.y, lower.z, lower.w, upper.x, upper.y, upper.z, upper.w};
  scale(a, row, feature, sum);
  write_row(a, row, feature, !has_tiles(a, row), sum);
}

/// If the tiles were summed concurrently: adds them to the rest's sums, one thread per 8 features of a row.
template <class S>
__global__ void __launch_bounds__(kThreads)
    add_tiles_kernel(int rows, const __grid_constant__ RestArguments<S> a) {
  begin_overlapping();
  const int packs = a.padded / kVector;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int row = static_cast<int>(thread / packs), feature = static_cast<int>(thread % packs) * kVector;
  if (row >= rows || !has_tiles(a, row)) return;
  float sum[kVector] = {};
  add_tiles(a, row, feature, sum);
  scale(a, row, feature, sum);
  const S* const rest = a.y + static_cast<int64_t>(row) * a.width + feature;
  if (a.wide && feature + kVector <= a.width) {
    const Pack<S, kVector> pack = load<kVector>(rest);
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] += widen(pack[v]);
  } else {
#pragma unroll
    for (int v = 0; v < kVector; ++v)
      if (feature + v < a.width) sum[v] += widen(rest[v]);
  }
  write_row(a, row, feature, true, sum);
}

/// Operation of walk_item() on the rest's entries.
template <class Operand, class S, int kUnroll, bool kWeighted>
struct RestSum {
  const RestArguments<S>& a;
  const Item& item;
  const char* x;
  uint32_t pitch;
  int feature;
  float sum[kVector] = {};
  uint4 gathered[kUnroll];
  float weight[kWeighted ? kUnroll : 1];

  __device__ __forceinline__ void gather(const Pack<int32_t, kUnroll>& columns, int entry) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      gathered[u] = __ldg(reinterpret_cast<const uint4*>(row_address(x, columns[u], pitch)));
    if constexpr (kWeighted) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) weight[u] = __ldg(a.values + min(entry + u, item.end_entry - 1));
    }
  }
  __device__ __forceinline__ void add(int u, int32_t, bool) {
    const uint32_t words[4] = {gathered[u].x, gathered[u].y, gathered[u].z, gathered[u].w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = widened<Operand>(words[i]);
      if constexpr (kWeighted) {
        sum[2 * i] = fmaf(weight[u], pair.x, sum[2 * i]);
        sum[2 * i + 1] = fmaf(weight[u], pair.y, sum[2 * i + 1]);
      } else {
        sum[2 * i] += pair.x;
        sum[2 * i + 1] += pair.y;
      }
    }
  }
  __device__ __forceinline__ void end_row(int row, int, int) {
    if (feature < a.padded) {
      if (item.part) {
        float* const output = a.partial + static_cast<int64_t>(item.slot) * a.padded + feature;
        store(output, Pack<float, 4>{{sum[0], sum[1], sum[2], sum[3]}});
        store(output + 4, Pack<float, 4>{{sum[4], sum[5], sum[6], sum[7]}});
      } else {
        finish_row(a, row, feature, {sum[0], sum[1], sum[2], sum[3]}, {sum[4], sum[5], sum[6], sum[7]});
      }
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] = 0.0f;
  }
};

template <class Operand, class S, int kLanes, bool kWeighted>
__global__ void __launch_bounds__(kThreads, kWeighted ? 3 : 4)
    rest_kernel(const __grid_constant__ RestArguments<S> a) {
  begin_beside(a.overlap);
  constexpr int kUnroll = 4;
  __shared__ alignas(16) int32_t columns[kThreads / kLanes][kStage<kLanes>];
  const unsigned mask = group_mask<kLanes>();
  const int group = keep(mask, static_cast<int>(threadIdx.x / kLanes)), lane = threadIdx.x % kLanes;
  const int number = blockIdx.x * (kThreads / kLanes) + group;
  if (number >= a.items) return;
  const Item item(a.starts, number);
  const int feature = keep(mask, static_cast<int>(blockIdx.y * kLanes + lane) * kVector);
  const auto x = reinterpret_cast<unsigned long long>(a.x + (feature < a.padded ? feature * 2 : 0));
  RestSum<Operand, S, kUnroll, kWeighted> body{.a = a,
                                               .item = item,
                                               .x = reinterpret_cast<const char*>(keep(mask, x)),
                                               .pitch = keep(mask, a.pitch),
                                               .feature = feature};
  walk_item<kLanes, kUnroll>(item, a, columns[group], body);
}

/// Rows split by the plan: one block per kMergeWarps of them and 128 features, one warp each, or one row
/// after the other if they have many parts (spmm_merge.cuh).
template <class S>
__global__ void __launch_bounds__(32 * kMergeWarps)
    merge_rest_kernel(const HeavyRow* heavy, const int64_t* count, const float* runs,
                      const __grid_constant__ RestArguments<S> a) {
  begin_overlapping();
  const int rows = static_cast<int>(*count), first = static_cast<int>(blockIdx.x) * kMergeWarps;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int feature = static_cast<int>(blockIdx.y) * 128 + lane * 4;
  // Two lanes' four features make finish_row's eight.
  const auto write = [&](int row, const Pack<float, 4>& sum) {
    float4 upper;
    upper.x = __shfl_down_sync(0xffffffffu, sum[0], 1);
    upper.y = __shfl_down_sync(0xffffffffu, sum[1], 1);
    upper.z = __shfl_down_sync(0xffffffffu, sum[2], 1);
    upper.w = __shfl_down_sync(0xffffffffu, sum[3], 1);
    if (lane % 2 == 0 && feature < a.padded)
      finish_row(a, row, feature, {sum[0], sum[1], sum[2], sum[3]}, upper);
  };
  if (first + warp < rows) {
    const HeavyRow row = heavy[first + warp];
    const RowParts parts(row, heavy[first + warp + 1]);
    if (parts.count < kManySlots) {
      Pack<float, 4> sum{};
      if (feature < a.padded)
        sum = add_parts<4>(parts.runs ? runs : a.partial, a.padded, feature, parts.begin,
                           parts.begin + parts.count);
      write(row.row, sum);
    }
  }
  for (int r = first; r < first + kMergeWarps && r < rows; ++r) {
    const HeavyRow row = heavy[r];
    const RowParts parts(row, heavy[r + 1]);
    if (parts.count < kManySlots) continue;
    const Pack<float, 4> sum =
        add_parts_by_block<4>(parts.runs ? runs : a.partial, a.padded, feature, parts.begin, parts.count);
    if (warp == 0) write(row.row, sum);
  }
}

/// Lanes per row: all of it, up to 512 bytes; fewer if the operands exceed L2, rows are gathered several
/// times, and narrower slabs of them would stay there.
int lanes_of(const Csr& rest, int64_t padded, int64_t l2_bytes) {
  int lanes = padded > 128 ? 32 : padded > 64 ? 16 : 8;
  while (lanes > 8 && rest.entries() >= 4 * rest.cols && rest.cols * lanes * kVector * 2 * 2 > l2_bytes)
    lanes /= 2;
  return lanes;
}

template <class Operand, class S>
void multiply(const TileSpmmArgs& args, const OperandFeatures& x, const TileProduct& product) {
  const RowTiles& tiles = args.tiles;
  const Device device = tiles.device();
  const int lanes = lanes_of(tiles.rest, x.pitch, properties(device.index).l2_bytes);
  const int64_t slabs = ceil_div(x.pitch, lanes * kVector);
  const SpmmPlan plan = spmm_plan(tiles.rest, slabs);
  Tensor partial = Tensor::empty({plan.slots, x.pitch}, DType::f32, device);
  const int64_t width = args.x.size(1);
  RestArguments<S> a{};
  set_structure(a, tiles.rest, plan);
  if (args.values.tile) a.values = args.values.rest.data<float>();
  a.x = static_cast<const char*>(x.data);
  a.pitch = static_cast<uint32_t>(x.pitch * 2);
  a.padded = static_cast<int>(x.pitch);
  a.partial = partial.mutable_data<float>();
  a.shares = product.shares;
  a.num_windows = static_cast<int>(tiles.num_windows());
  a.windows = tiles.windows.data<int32_t>();
  a.parts = product.parts.data<float>();
  a.overlap = product.shares.blocks > 0;
  a.column_scale = x.scale();
  if (args.values.row_factor) a.row_factor = args.values.row_factor.data<float>();
  if (args.bias) a.bias = args.bias.data<S>();
  a.relu = args.activation == Activation::relu;
  a.y = args.y.mutable_data<S>();
  a.width = static_cast<int>(width);
  a.wide = width * static_cast<int64_t>(sizeof(S)) % 16 == 0 && aligned_to_16(a.y);

  const auto run = [&]<int kLanes>() {
    launch(
        kName, overlapping(device.index, grid(ceil_div(plan.items, kThreads / kLanes), slabs), kThreads),
        a.values != nullptr ? rest_kernel<Operand, S, kLanes, true> : rest_kernel<Operand, S, kLanes, false>,
        a);
  };
  tile_product(product);  // directly before the kernel that runs beside it
  lanes == 32   ? run.template operator()<32>()
  : lanes == 16 ? run.template operator()<16>()
                : run.template operator()<8>();
  if (plan.heavy_rows > 0) {
    SpmmArguments<float> merged{};
    merged.partial = a.partial;
    merged.width = a.padded;
    merged.y = a.partial;  // only tested for null
    const Tensor runs = merge_runs<float, 4>(kName, device.index, plan, merged);
    launch(kName, merge_shape(device.index, plan.heavy_rows, static_cast<unsigned>(ceil_div(x.pitch, 128))),
           merge_rest_kernel<S>, plan.heavy_row_list(), plan.heavy_row_count(), runs.data<float>(), a);
  }
  if (!a.overlap) return;
  launch(kName,
         overlapping(device.index, grid(ceil_div(tiles.rows * (x.pitch / kVector), kThreads)), kThreads),
         add_tiles_kernel<S>, static_cast<int>(tiles.rows), a);
}

}  // namespace

void tile_spmm(const TileSpmmArgs& args) {
  const RowTiles& tiles = args.tiles;
  ADJ_CHECK(has_tile_products(tiles.device()), "tile_spmm: {} is not a GPU of compute capability 9.0",
            tiles.device().str());
  if (tiles.rows == 0 || args.x.size(1) == 0) return;
  check_width<float>(kName, args.x.size(1));
  const OperandFeatures x = operand_features(args.x, OperandScale::of_columns, args.values.column_factor);
  const bool weighted = static_cast<bool>(args.values.tile);
  const TileShares shares = tile_shares(
      tiles, x.pitch,
      multiprocessors_beside_rest(tiles, weighted, properties(tiles.device().index).multiprocessors));
  Tensor parts =
      Tensor::empty({shares.blocks == 0 ? 0 : tiles.num_windows() + shares.blocks, RowTiles::kRows, x.pitch},
                    DType::f32, tiles.device());
  const TileProduct product{
      .tiles = tiles,
      .shares = shares,
      .operand = x.operand,
      .values = weighted ? static_cast<const uint32_t*>(args.values.tile.raw_data()) : nullptr,
      .value_scale = weighted ? args.values.scale.data<float>() : nullptr,
      .x = x.data,
      .pitch = x.pitch,
      .parts = parts};
  if (args.x.dtype() == DType::bf16)
    multiply<bfloat16, bfloat16>(args, x, product);
  else
    multiply<float16, float>(args, x, product);
}

}  // namespace adj::kernels::cuda
