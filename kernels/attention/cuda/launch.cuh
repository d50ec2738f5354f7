#pragma once

// Which tile a head's width takes, and how the walks are launched. The rule is on sizes and alignment alone:
// which tile it is decides the bits. One file per score and S instantiates run_forward and run_backward.

#include <adjoint/core/convert.h>
#include <adjoint/kernels/attention/cuda/backward.cuh>
#include <adjoint/kernels/attention/cuda/forward.cuh>
#include <adjoint/kernels/reduce/reduce.h>
#include <adjoint/kernels/sparse/cuda/spmm_launch.cuh>

#include <bit>

namespace adj::kernels::cuda {

/// The widest head of a tile.
inline constexpr int64_t kWidestHead = 1024;

/// f.template operator()<Tile>(), with the smallest tile that holds a head, and batches of up to kMost
/// entries for rows of so many. `wide_reads`: rows of heads are aligned to 16 bytes and hold a multiple of
/// them.
template <class S, int kMost, class F>
void with_tile(int64_t width, bool wide_reads, const Csr& csr, F&& f) {
  constexpr int kWide = adj::cuda::kVectorWidth<S>;
  ADJ_CHECK(width <= kWidestHead, "attention: heads of {} features, expected {} at most on a GPU", width,
            kWidestHead);
  const auto run = [&]<int kVector, int kLanes, int kChunks, int kBatch, int kThreads = 256>() {
    f.template operator()<Tile<S, kVector, kLanes, kChunks, kBatch, kThreads>>();
  };
  // Long rows in large blocks, whose warps go by the same columns at the same time; short ones in small
  // blocks, so that no warp waits for the others' rows.
  const int64_t entries_of_row = csr.entries() / std::max<int64_t>(csr.rows, 1);
  const auto run_batches = [&]<int kVector, int kLanes>() {
    if (entries_of_row < 3) return run.template operator()<kVector, kLanes, 1, 2, 128>();
    if (entries_of_row < 32) return run.template operator()<kVector, kLanes, 1, 4, 128>();
    return run.template operator()<kVector, kLanes, 1, kMost, 512>();
  };
  if constexpr (sizeof(S) < 8) {
    if (wide_reads) {
      const int64_t packs = ceil_div(width, int64_t{kWide});
      if (packs <= 2) return run_batches.template operator()<kWide, 2>();
      if (packs <= 4) return run_batches.template operator()<kWide, 4>();
      if (packs <= 8) return run_batches.template operator()<kWide, 8>();
      if (packs <= 16) return run_batches.template operator()<kWide, 16>();
      if (packs <= 32) return run_batches.template operator()<kWide, 32>();
      if (packs <= 64) return run.template operator()<kWide, 32, 2, 2>();
      if (packs <= 128) return run.template operator()<kWide, 32, 4, 1>();
      if constexpr (sizeof(S) == 4) return run.template operator()<kWide, 32, 8, 1>();
    }
  }
  constexpr int kBatch = sizeof(S) < 8 ? 4 : 2;
  if (width <= 8) return run.template operator()<1, 8, 1, kBatch>();
  if (width <= 32) return run.template operator()<1, 32, 1, kBatch>();
  if (width <= 128) return run.template operator()<1, 32, 4, kBatch / 2>();
  return run.template operator()<1, 32, 32, 1>();
}

/// May rows of heads be read 16 bytes at a time?
template <class S, class... Pointers>
bool wide_reads(int64_t width, const Pointers*... pointers) {
  return width % adj::cuda::kVectorWidth<S> == 0 && adj::cuda::aligned_to_16(pointers...);
}

inline const int32_t* order_of(const CsrMatrix& a) { return a.order ? a.order.data<int32_t>() : nullptr; }
template <class A>
const A* data_or_null(const Tensor& tensor) {
  return tensor ? tensor.data<A>() : nullptr;
}
template <class A>
A* mutable_data_or_null(Tensor& tensor) {
  return tensor ? tensor.mutable_data<A>() : nullptr;
}

/// Heads that lie side by side in a group of lanes.
inline int heads_side_by_side(int64_t heads, int lanes) {
  return static_cast<int>(
      std::min<uint64_t>(static_cast<uint64_t>(32 / lanes), std::bit_ceil(static_cast<uint64_t>(heads))));
}

template <class S>
void set_heads(AttentionArguments<S>& a, int64_t heads, int64_t width, const AttentionDropout& dropout) {
  check_width<S>("attention", heads * width);
  a.heads = static_cast<int>(heads);
  a.width = static_cast<int>(width);
  a.pitch = static_cast<uint32_t>(heads * width * static_cast<int64_t>(sizeof(S)));
  a.dropout = {dropout.key, dropout.rule.threshold};
  a.kept_scale = static_cast<Wide<S>>(dropout.rule.scale);
}

template <class S>
void set_structure(AttentionArguments<S>& a, const CsrMatrix& matrix, const SpmmPlan& plan) {
  a.starts = plan.item_starts();
  a.items = static_cast<int>(plan.items);
  a.offsets = matrix.csr.offsets.template data<int64_t>();
  a.indices = matrix.csr.indices.template data<int32_t>();
  a.order = order_of(matrix);
}

/// Groups of lanes that a row takes side by side, about: a group reads 512 bytes of it.
template <class S>
int64_t launches_of(const AttentionArguments<S>& a) {
  return std::max<int64_t>(ceil_div(int64_t{a.pitch}, 512), 1);
}

template <class T>
dim3 grid_of(int items, const AttentionArguments<typename T::S>& a, int most = 0x7fffffff) {
  const int groups = T::kThreads / (T::kLanes * a.side);
  return dim3(static_cast<unsigned>(std::min<int64_t>(ceil_div(items, groups), most)),
              static_cast<unsigned>(ceil_div(a.heads, a.side)));
}

/// May there be numbers of edges in the walks? GATv2's edge features go by gat's (gatv2.cu).
template <Score kScore>
constexpr bool kHasEdges = kScore != Score::gatv2;

/// `a` has heads and pointers; the structure, workspace and launches are this function's.
template <class S, Score kScore>
void run_forward(const char* name, const CsrMatrix& matrix, ForwardArguments<S> a, bool wide) {
  using A = Wide<S>;
  const Csr& csr = matrix.csr;
  const Device device = csr.device();
  const int64_t width = int64_t{a.heads} * a.width, with_stats = width + 2 * int64_t{a.heads};
  if (csr.rows == 0 || width == 0) return;
  const SpmmPlan plan = spmm_plan(csr, with_stats * static_cast<int64_t>(sizeof(A)), launches_of(a));
  set_structure(a, matrix, plan);
  const DType dtype = sizeof(A) == 8 ? DType::f64 : DType::f32;
  Tensor partial = Tensor::empty({plan.slots, width}, dtype, device),
         stats = Tensor::empty({plan.slots, 2 * a.heads}, dtype, device);
  a.partial = partial.mutable_data<A>();
  a.partial_stats = stats.mutable_data<A>();
  with_tile<S, sizeof(S) == 4 && kScore == Score::gatv2 ? 8 : 4>(a.width, wide, csr, [&]<class T>() {
    a.side = heads_side_by_side(a.heads, T::kLanes);
    void (*kernel)(ForwardArguments<S>) = attention_forward<T, kScore, false>;
    if constexpr (kHasEdges<kScore>)
      if (a.c != nullptr || a.logits != nullptr) kernel = attention_forward<T, kScore, true>;
    adj::cuda::launch(
        name,
        {.device = device.index, .blocks = grid_of<T>(a.items, a), .threads = T::kThreads, .overlaps = true},
        kernel, a);
  });
  if (plan.heavy_rows == 0) return;
  adj::cuda::launch(name,
                    {.device = device.index,
                     .blocks = dim3(static_cast<unsigned>(plan.heavy_rows), static_cast<unsigned>(a.heads),
                                    static_cast<unsigned>(ceil_div(a.width, 32))),
                     .overlaps = true},
                    merge_attention<S, kScore>, plan.heavy_row_list(), plan.heavy_row_count(), a);
}

/// `to` [rows, width] of the rows that the plan cut = the sums of their `partial` ones, in order.
template <class To>
void merge_parts(const char* name, Device device, const SpmmPlan& plan, const Wide<To>* partial,
                 int64_t width, To* to) {
  if (to == nullptr) return;
  SpmmArguments<To> sums{};
  sums.partial = const_cast<Wide<To>*>(partial);
  sums.width = static_cast<int>(width);
  sums.y = to;
  launch_merge<To>(name, device.index, plan, sums);
}

/// The gradient of `att` from what the blocks of both walks left.
inline void sum_attention_gradient(const Tensor& parts, Tensor& d_att) {
  if (d_att.dtype() == parts.dtype()) {
    Tensor flat = d_att.reshape({d_att.numel()});
    cuda::sum_rows({.x = parts, .y = flat});
    return;
  }
  Tensor sum = Tensor::empty({parts.size(1)}, parts.dtype(), parts.device());
  cuda::sum_rows({.x = parts, .y = sum});
  adj::convert(sum, d_att);
}

/// Blocks whose groups take several items one after the other, so that what each leaves of datt is little.
constexpr int kBlocksWithSums = 2048;

/// Both walks. `a` has heads and pointers; `by_target` and `by_source` what their rows get.
template <class S>
struct RowGradients {
  using A = Wide<S>;
  S* row = nullptr;    ///< dq or dl; dk, dr or dx
  S* value = nullptr;  ///< dv
  A* term = nullptr;   ///< gat: dl or dr; keyed: ds
};

template <class S, Score kScore>
void run_backward(const char* name, const CsrMatrix& matrix, const CsrMatrix& adjoint, BackwardArguments<S> a,
                  bool wide, const RowGradients<S>& by_target, const RowGradients<S>& by_source,
                  Tensor& d_att) {
  using A = Wide<S>;
  const Device device = matrix.csr.device();
  const int64_t width = int64_t{a.heads} * a.width;
  const DType dtype = sizeof(A) == 8 ? DType::f64 : DType::f32;
  constexpr int kMost = kScore == Score::gatv2 ? kBlocksWithSums : 0x7fffffff;
  if (width == 0) return;
  const int64_t slot_bytes = (2 * width + a.heads) * static_cast<int64_t>(sizeof(A));
  const SpmmPlan targets = spmm_plan(matrix.csr, slot_bytes, launches_of(a)),
                 sources = spmm_plan(adjoint.csr, slot_bytes, launches_of(a));
  with_tile<S, 4>(a.width, wide, matrix.csr, [&]<class T>() {
    a.side = heads_side_by_side(a.heads, T::kLanes);
    const dim3 target_blocks = grid_of<T>(static_cast<int>(targets.items), a, kMost),
               source_blocks = grid_of<T>(static_cast<int>(sources.items), a, kMost);
    Tensor att_parts;
    if (d_att) att_parts = Tensor::empty({target_blocks.x + source_blocks.x, width}, dtype, device);
    const auto walk = [&](const CsrMatrix& of, const SpmmPlan& plan, const RowGradients<S>& gradients,
                          dim3 blocks, void (*kernel)(BackwardArguments<S>)) {
      if (plan.items == 0) return;
      set_structure(a, of, plan);
      a.d_row = gradients.row;
      a.d_value = gradients.value;
      a.d_term = gradients.term;
      Tensor partial, partial_value, partial_term;
      if (a.d_row != nullptr) partial = Tensor::empty({plan.slots, width}, dtype, device);
      if (a.d_value != nullptr) partial_value = Tensor::empty({plan.slots, width}, dtype, device);
      if (a.d_term != nullptr) partial_term = Tensor::empty({plan.slots, a.heads}, dtype, device);
      a.partial = mutable_data_or_null<A>(partial);
      a.partial_value = mutable_data_or_null<A>(partial_value);
      a.partial_term = mutable_data_or_null<A>(partial_term);
      adj::cuda::launch(name,
                        {.device = device.index, .blocks = blocks, .threads = T::kThreads, .overlaps = true},
                        kernel, a);
      merge_parts<S>(name, device, plan, a.partial, width, a.d_row);
      merge_parts<S>(name, device, plan, a.partial_value, width, a.d_value);
      merge_parts<A>(name, device, plan, a.partial_term, a.heads, a.d_term);
    };
    if (d_att) a.d_att = att_parts.mutable_data<A>();
    void (*to_targets)(BackwardArguments<S>) = attention_to_targets<T, kScore, false>;
    void (*to_sources)(BackwardArguments<S>) = attention_to_sources<T, kScore, false>;
    if constexpr (kHasEdges<kScore>) {
      if (a.c != nullptr || a.g != nullptr || a.logit_gradient != nullptr || a.weight != nullptr) {
        to_targets = attention_to_targets<T, kScore, true>;
        to_sources = attention_to_sources<T, kScore, true>;
      }
    }
    walk(matrix, targets, by_target, target_blocks, to_targets);
    a.logit_gradient = a.weight = nullptr;
    if (d_att) a.d_att += int64_t{target_blocks.x} * width;
    if (by_source.row != nullptr || by_source.value != nullptr || by_source.term != nullptr || d_att)
      walk(adjoint, sources, by_source, source_blocks, to_sources);
    if (d_att) sum_attention_gradient(att_parts, d_att);
  });
}

}  // namespace adj::kernels::cuda
