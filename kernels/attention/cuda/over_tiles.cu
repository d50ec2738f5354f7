// Dot-product and GAT attention over a cut: the row passes (rest.h) process the rest as a separate structure,
// tensor cores the tiles (kernels/tiles/cuda/tile_attention.h), both from the same operands, and a pass over
// the rows merges the two: outputs by the maximum logit, sum and weighted features of each (FlashAttention's
// split of keys, Dao 2023), gradients by addition, since lse and Δ are those of whole rows. By source the cut
// is that of the transposed structure, with its own rest. Running both concurrently on separate SMs, as
// tile_spmm does, was no faster.
//
// Saved: lse and O. Recomputed: the logits and Δ.
//
// Bytes, beyond those of the passes and the tiles: 4 written and read per feature of each row of a window
// with tiles, O or the gradient read and written once more, O and dO once more for Δ, and float32 features
// read twice and written at half size.

#include <adjoint/kernels/attention/cuda/rest.h>
#include <adjoint/kernels/attention/cuda/strategies.h>
#include <adjoint/kernels/cuda/float16.cuh>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/cuda/logits.cuh>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <array>

namespace adj::kernels::cuda {

namespace {

constexpr int kPack = 8;  // features per thread
constexpr int kThreads = 256;

/// Results of tile_attention() for one cut, and their layout.
struct Parts {
  TileShares shares;
  const int32_t* windows;
  const float* parts;
  const float* stats;
  int num_windows, heads, pitch;  // pitch: per row and head

  /// Calls f(part, its row) for the tile results of a row, in order.
  template <class F>
  __device__ __forceinline__ void for_each(int64_t row, F&& f) const {
    const auto window = static_cast<int>(row / RowTiles::kRows);
    const int first = __ldg(windows + window), end = __ldg(windows + window + 1);
    if (first == end) return;
    const auto row_of = [&](int part) { return int64_t{part} * RowTiles::kRows + row % RowTiles::kRows; };
    f(row_of(window));
    for (int block = shares.first_after(first); shares.begin(block) < end; ++block)
      f(row_of(num_windows + block));
  }
  __device__ __forceinline__ Pack<float, kPack> features(int64_t part_row, int head, int feature) const {
    const float* const input = parts + (part_row * heads + head) * pitch + feature;
    const float4 lower = __ldcs(reinterpret_cast<const float4*>(input)),
                 upper = __ldcs(reinterpret_cast<const float4*>(input + 4));
    Pack<float, kPack> pack;
    memcpy(&pack, &lower, 16);
    memcpy(reinterpret_cast<char*>(&pack) + 16, &upper, 16);
    return pack;
  }
};

/// A thread's row, head and kPack features.
struct Place {
  int64_t row;
  int head, feature;

  __device__ Place(int64_t thread, int heads, int pitch) {
    const int packs = pitch / kPack;
    row = thread / (heads * packs);
    const int of_row = static_cast<int>(thread - row * heads * packs);
    head = of_row / packs;
    feature = of_row % packs * kPack;
  }
};

template <class S>
struct Rows {
  S* data;  ///< [rows, heads * width]
  int width;
  bool wide;  ///< can kPack features be read and written at once?

  __device__ __forceinline__ S* at(const Place& p, int heads) const {
    return data + (p.row * heads + p.head) * width + p.feature;
  }
  __device__ __forceinline__ Pack<float, kPack> read(const Place& p, int heads) const {
    Pack<float, kPack> features;
    const S* const input = at(p, heads);
    if (wide) {
      const auto pack = load<kPack>(input);
#pragma unroll
      for (int v = 0; v < kPack; ++v) features[v] = widen(pack[v]);
    } else {
#pragma unroll
      for (int v = 0; v < kPack; ++v) features[v] = p.feature + v < width ? widen(input[v]) : 0.0f;
    }
    return features;
  }
  __device__ __forceinline__ void write(const Place& p, int heads, const Pack<float, kPack>& features) const {
    S* const output = at(p, heads);
    Pack<S, kPack> pack;
#pragma unroll
    for (int v = 0; v < kPack; ++v) pack[v] = narrow<S>(features[v]);
    if (wide) {
      store(output, pack);
    } else {
#pragma unroll
      for (int v = 0; v < kPack; ++v)
        if (p.feature + v < width) output[v] = pack[v];
    }
  }
};

/// Results of the rest, and their multipliers: operand scales, or null.
template <class S>
struct RestRows {
  Rows<S> rows;
  const float* scales[3] = {};
  bool stays;  ///< unchanged if nothing is added: already in place, and unscaled

  __device__ __forceinline__ Pack<float, kPack> read(const Place& p, int heads) const {
    Pack<float, kPack> features = rows.read(p, heads);
    for (const float* scale : scales) {
      if (scale == nullptr) continue;
      const float factor = __ldg(scale);
#pragma unroll
      for (int v = 0; v < kPack; ++v) features[v] *= factor;
    }
    return features;
  }
};

/// O of the whole rows, with the optional bias, and their lse.
template <class S>
__global__ void __launch_bounds__(kThreads)
    join_outputs(int64_t threads, Parts parts, RestRows<S> rest, Rows<S> o, const int64_t* offsets,
                 const int64_t* rest_offsets, const float* rest_lse, const S* bias, float* lse) {
  begin_overlapping();
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread >= threads) return;
  const Place p(thread, parts.heads, parts.pitch);
  const int64_t term = p.row * parts.heads + p.head;
  const bool has_rest = rest_offsets[p.row + 1] > rest_offsets[p.row];
  const float of_rest = rest_lse[term] * kLog2E<float>;
  float largest = has_rest ? of_rest : -INFINITY;
  bool has_tiles = false;
  const auto* const stats = reinterpret_cast<const float2*>(parts.stats);
  parts.for_each(p.row, [&](int64_t part_row) {
    has_tiles = true;
    largest = fmaxf(largest, __ldg(stats + part_row * parts.heads + p.head).x);
  });
  const auto add_bias = [&](Pack<float, kPack>& row) {
    const int width = o.width;
#pragma unroll
    for (int v = 0; v < kPack; ++v)
      if (p.feature + v < width) row[v] += widen(bias[p.head * width + p.feature + v]);
  };
  if (!has_tiles) {
    if (p.feature == 0) lse[term] = rest_lse[term];
    if (bias == nullptr && rest.stays) return;
    Pack<float, kPack> row = rest.read(p, parts.heads);
    if (bias != nullptr) add_bias(row);
    return o.write(p, parts.heads, row);
  }
  float total = 0;
  Pack<float, kPack> sum{};
  if (has_rest) {
    // 0 if all of its logits are -inf; O is then NaN.
    total = exp2f(of_rest - largest);
    if (total != 0.0f) {
      sum = rest.read(p, parts.heads);
#pragma unroll
      for (int v = 0; v < kPack; ++v) sum[v] *= total;
    }
  }
  parts.for_each(p.row, [&](int64_t part_row) {
    const float2 stat = __ldg(stats + part_row * parts.heads + p.head);
    const float factor = exp2f(stat.x - largest);
    const Pack<float, kPack> part = parts.features(part_row, p.head, p.feature);
    total = fmaf(stat.y, factor, total);
#pragma unroll
    for (int v = 0; v < kPack; ++v) sum[v] = fmaf(part[v], factor, sum[v]);
  });
  const bool empty = offsets[p.row] == offsets[p.row + 1];
#pragma unroll
  for (int v = 0; v < kPack; ++v) sum[v] = empty ? 0.0f : sum[v] / total;
  if (bias != nullptr) add_bias(sum);
  o.write(p, parts.heads, sum);
  if (p.feature == 0) lse[term] = empty ? 0.0f : (largest + log2f(total)) / kLog2E<float>;
}

/// Gradient of GAT's features through the logits, if these are products of the features: dl_j target + dr_j
/// source.
template <class S>
struct ByLogits {
  const S *source = nullptr, *target = nullptr;  ///< [H,D], or null
  const float *dl = nullptr, *dr = nullptr;      ///< [rows,H]
};

/// y = rest + tiles + gradient through the logits.
template <class S>
__global__ void __launch_bounds__(kThreads)
    add_parts(int64_t threads, Parts parts, RestRows<S> rest, Rows<S> y, ByLogits<S> logit_terms) {
  begin_overlapping();
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread >= threads) return;
  const Place p(thread, parts.heads, parts.pitch);
  bool adds = logit_terms.source != nullptr || !rest.stays;
  Pack<float, kPack> sum{};
  parts.for_each(p.row, [&](int64_t part_row) {
    adds = true;
    const Pack<float, kPack> part = parts.features(part_row, p.head, p.feature);
#pragma unroll
    for (int v = 0; v < kPack; ++v) sum[v] += part[v];
  });
  if (!adds) return;
  if (logit_terms.source != nullptr) {
    const int64_t term = p.row * parts.heads + p.head;
    const float dl = logit_terms.dl[term], dr = logit_terms.dr[term];
#pragma unroll
    for (int v = 0; v < kPack; ++v) {
      if (p.feature + v >= y.width) continue;
      const int column = p.head * y.width + p.feature + v;
      sum[v] =
          fmaf(dl, widen(logit_terms.target[column]), fmaf(dr, widen(logit_terms.source[column]), sum[v]));
    }
  }
  const Pack<float, kPack> of_rest = rest.read(p, parts.heads);
#pragma unroll
  for (int v = 0; v < kPack; ++v) sum[v] += of_rest[v];
  y.write(p, parts.heads, sum);
}

__device__ __forceinline__ float scale_or_1(const float* scale) {
  return scale != nullptr ? __ldg(scale) : 1.0f;
}

/// y [rows,H], times operand scales, += the first number of each of the stats.
__global__ void __launch_bounds__(kThreads)
    add_stats(int64_t terms, Parts parts, const float* d_o_scale, const float* v_scale, float* y) {
  begin_overlapping();
  const int64_t term = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (term >= terms) return;
  const int64_t row = term / parts.heads, head = term - row * parts.heads;
  float sum = 0;
  parts.for_each(row, [&](int64_t part_row) {
    sum += __ldg(reinterpret_cast<const float2*>(parts.stats) + part_row * parts.heads + head).x;
  });
  y[term] = fmaf(y[term], scale_or_1(d_o_scale) * scale_or_1(v_scale), sum);
}

/// delta [rows,H] = ⟨dO, O - bias⟩, and for the rest the same in operand units. One warp each.
template <class S>
__global__ void __launch_bounds__(kThreads)
    find_delta(int64_t terms, int heads, int width, const S* d_o, const S* o, const S* bias,
               const float* d_o_scale, const float* v_scale, float* delta, float* rest_delta) {
  begin_overlapping();
  const int64_t term = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (term >= terms) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
  for (int d = lane; d < width; d += 32) {
    const int64_t index = term * width + d;
    const float of_bias = bias != nullptr ? widen(bias[term % heads * width + d]) : 0.0f;
    sum = fmaf(widen(d_o[index]), widen(o[index]) - of_bias, sum);
  }
#pragma unroll
  for (int step = 16; step >= 1; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane != 0) return;
  delta[term] = sum;
  if (rest_delta != delta) rest_delta[term] = sum / scale_or_1(d_o_scale) / scale_or_1(v_scale);
}

/// Features per head as operands: [N, H D] is viewed as rows [N H, D].
OperandFeatures operands_of(const Tensor& x, int64_t heads) {
  return operand_features(x.reshape({x.size(0) * heads, x.size(1) / heads}), OperandScale::of_all);
}

/// Tensor-core passes over one cut, and the results of the last one.
class TilePasses {
 public:
  TilePasses(const RowTiles& tiles, const AttentionOperands& operands)
      : tiles_(tiles),
        operands_(operands),
        heads_(operands.heads),
        pitch_(operands.v.pitch),
        shares_(tile_shares(tiles, 1, properties(tiles.device().index).multiprocessors)) {
    shares_.slabs = static_cast<int>(heads_);
    const int64_t parts = shares_.blocks == 0 ? 0 : tiles.num_windows() + shares_.blocks;
    parts_ = Tensor::empty({parts, RowTiles::kRows, heads_ * pitch_}, DType::f32, tiles.device());
    stats_ = Tensor::empty({parts, RowTiles::kRows, heads_, 2}, DType::f32, tiles.device());
  }
  TileAttention attention(TilePass pass) {
    return {.operands = operands_,
            .pass = pass,
            .tiles = tiles_,
            .shares = shares_,
            .parts = parts_,
            .stats = stats_};
  }
  void run(TilePass pass) { tile_attention(attention(pass)); }
  Parts parts() const {
    return {shares_,
            tiles_.windows.data<int32_t>(),
            parts_.data<float>(),
            stats_.data<float>(),
            static_cast<int>(tiles_.num_windows()),
            static_cast<int>(heads_),
            static_cast<int>(pitch_)};
  }
  int64_t threads() const { return tiles_.rows * heads_ * (pitch_ / kPack); }
  LaunchShape shape(int64_t threads) const {
    return overlapping(tiles_.device().index, grid(ceil_div(threads, kThreads)), kThreads);
  }
  /// Buffer for the rest's part of y: y itself if its rows are as long as those of operands, and aligned.
  Tensor rest_of(const Tensor& y) const {
    if (!y || (y.size(1) == heads_ * pitch_ && aligned_to_16(y.raw_data()))) return y;
    return Tensor::empty({y.size(0), heads_ * pitch_}, y.dtype(), y.device());
  }
  /// After the forward pass: merges with the rest's O and lse.
  template <class S>
  void join(const Csr& whole, Tensor& rest_o, const Tensor& rest_lse, const Tensor& bias, Tensor& o,
            Tensor& lse) const {
    launch("attention_over_tiles", shape(threads()), join_outputs<S>, threads(), parts(),
           rest_rows<S>(rest_o, o, {operands_.v.scale()}), rows<S>(o), whole.offsets.data<int64_t>(),
           tiles_.rest.offsets.data<int64_t>(), rest_lse.data<float>(), data_or_null<S>(bias),
           lse.mutable_data<float>());
  }
  /// After any other pass: y = its result plus the rest, times the operands' `scales`.
  template <class S>
  void add(Tensor& rest, Tensor& y, const std::array<const float*, 3>& scales,
           const ByLogits<S>& logit_terms = {}) const {
    launch("attention_over_tiles", shape(threads()), add_parts<S>, threads(), parts(),
           rest_rows<S>(rest, y, scales), rows<S>(y), logit_terms);
  }
  void add_stats_to(Tensor& y) const {
    launch("attention_over_tiles", shape(y.numel()), add_stats, y.numel(), parts(), operands_.d_o.scale(),
           operands_.v.scale(), y.mutable_data<float>());
  }

 private:
  template <class S>
  Rows<S> rows(Tensor& x) const {
    const int64_t width = x.size(1) / heads_;
    return {x.mutable_data<S>(), static_cast<int>(width), width % kPack == 0 && aligned_to_16(x.raw_data())};
  }
  template <class S>
  RestRows<S> rest_rows(Tensor& rest, const Tensor& y, const std::array<const float*, 3>& scales) const {
    return {rows<S>(rest),
            {scales[0], scales[1], scales[2]},
            rest.raw_data() == y.raw_data() && scales[0] == nullptr};
  }

  const RowTiles& tiles_;
  const AttentionOperands& operands_;
  int64_t heads_, pitch_;
  TileShares shares_;
  Tensor parts_, stats_;
};

void check_device(std::string_view op, Device device) {
  ADJ_CHECK(has_tile_products(device), "{}: over tiles expected a GPU of compute capability 9.0, not {}", op,
            device.str());
}

template <class S>
using OperandOf = std::conditional_t<std::is_same_v<S, bfloat16>, bfloat16, float16>;

/// Δ of the rows, for the rest in operand units; stores the tiles' form in `x`.
template <class S, class Args>
Tensor find_deltas(const Args& args, const Tensor& bias, TilePasses& passes, AttentionOperands& x) {
  const int64_t terms = args.delta.numel();
  Tensor rest = x.d_o.scale() != nullptr ? Tensor::empty_like(args.delta) : args.delta;
  launch("attention_over_tiles", passes.shape(terms * 32), find_delta<S>, terms, static_cast<int>(x.heads),
         static_cast<int>(args.d_o.size(1) / x.heads), args.d_o.template data<S>(), args.o.template data<S>(),
         data_or_null<S>(bias), x.d_o.scale(), x.v.scale(), args.delta.template mutable_data<float>(),
         rest.mutable_data<float>());
  x.terms = tile_attention_terms(passes.attention(TilePass::target_gradient), args.lse, args.delta);
  return rest;
}

template <class S, class Score, class Args>
void forward(const char* name, const Args& args, const AttentionOperands& x, const Tensor& bias = {}) {
  const RowTiles& tiles = *args.tiles;
  TilePasses passes(tiles, x);
  Tensor rest_o = passes.rest_of(args.o), rest_lse = Tensor::empty_like(args.lse);
  run_rest<OperandOf<S>, Score>(name, tiles.rest, x, rest_o, rest_lse);
  passes.run(TilePass::forward);
  passes.join<S>(args.a.csr, rest_o, rest_lse, bias, args.o, args.lse);
}

template <class Args>
AttentionOperands dot_operands(const Args& args) {
  return {.score = TileScore::dot,
          .heads = args.heads,
          .scale = args.scale,
          .q = operands_of(args.q, args.heads),
          .k = operands_of(args.k, args.heads),
          .v = operands_of(args.v, args.heads)};
}
template <class Args>
AttentionOperands gat_operands(const Args& args) {
  return {.score = TileScore::sum,
          .heads = args.heads(),
          .v = operands_of(args.x, args.heads()),
          .l = args.l.template data<float>(),
          .r = args.r.template data<float>(),
          .slope = args.slope};
}

template <class S>
void forward(const DotAttentionArgs& args) {
  forward<S, DotScore>("dot_attention", args, dot_operands(args));
}
template <class S>
void forward(const GatArgs& args) {
  forward<S, GatScore>("gat", args, gat_operands(args), args.bias);
}

template <class S>
void backward(const DotAttentionBackwardArgs& args) {
  AttentionOperands x = dot_operands(args);
  x.d_o = operands_of(args.d_o, args.heads);
  TilePasses by_target(*args.tiles, x), by_source(*args.tiles_at, x);
  Tensor rest_delta = find_deltas<S>(args, {}, by_target, x);
  Tensor dq = by_target.rest_of(args.dq), dk = by_source.rest_of(args.dk), dv = by_source.rest_of(args.dv);
  run_rest_backward<OperandOf<S>, DotScore>("dot_attention_backward", args.tiles->rest, args.tiles_at->rest,
                                            x, args.lse, rest_delta, {.row = dq}, {.row = dk, .value = dv});
  const float *const d_o = x.d_o.scale(), *const v = x.v.scale();
  if (args.dq) {
    by_target.run(TilePass::target_gradient);
    by_target.add<S>(dq, args.dq, {d_o, v, x.k.scale()});
  }
  if (args.dk) {
    by_source.run(TilePass::source_gradient);
    by_source.add<S>(dk, args.dk, {d_o, v, x.q.scale()});
  }
  if (args.dv) {
    by_source.run(TilePass::values);
    by_source.add<S>(dv, args.dv, {d_o});
  }
}

template <class S>
void backward(const GatBackwardArgs& args) {
  const auto or_scratch = [](const Tensor& wanted, const Tensor& like) {
    return wanted ? wanted : Tensor::empty_like(like);
  };
  Tensor dl = or_scratch(args.dl, args.l), dr = or_scratch(args.dr, args.r);
  AttentionOperands x = gat_operands(args);
  x.d_o = operands_of(args.d_o, args.heads());
  TilePasses by_target(*args.tiles, x), by_source(*args.tiles_at, x);
  Tensor rest_delta = find_deltas<S>(args, args.bias, by_target, x);
  Tensor dx = by_source.rest_of(args.dx);
  run_rest_backward<OperandOf<S>, GatScore>("gat_backward", args.tiles->rest, args.tiles_at->rest, x,
                                            args.lse, rest_delta, {.term = dl}, {.row = dx, .term = dr});
  by_target.run(TilePass::target_gradient);
  by_target.add_stats_to(dl);
  by_source.run(TilePass::source_gradient);
  by_source.add_stats_to(dr);
  if (!args.dx) return;
  ByLogits<S> logit_terms;
  if (args.source)
    logit_terms = {args.source.data<S>(), args.target.data<S>(), dl.data<float>(), dr.data<float>()};
  by_source.add<S>(dx, args.dx, {x.d_o.scale()}, logit_terms);
}

}  // namespace

void dot_attention_over_tiles(const DotAttentionArgs& args) {
  check_device("dot_attention", args.a.device());
  if (args.a.csr.rows == 0) return;
  args.q.dtype() == DType::bf16 ? forward<bfloat16>(args) : forward<float>(args);
}
void dot_attention_backward_over_tiles(const DotAttentionBackwardArgs& args) {
  check_device("dot_attention_backward", args.a.device());
  args.q.dtype() == DType::bf16 ? backward<bfloat16>(args) : backward<float>(args);
}
void gat_over_tiles(const GatArgs& args) {
  check_device("gat", args.a.device());
  if (args.a.csr.rows == 0) return;
  args.x.dtype() == DType::bf16 ? forward<bfloat16>(args) : forward<float>(args);
}
void gat_backward_over_tiles(const GatBackwardArgs& args) {
  check_device("gat_backward", args.a.device());
  args.x.dtype() == DType::bf16 ? backward<bfloat16>(args) : backward<float>(args);
}

}  // namespace adj::kernels::cuda
