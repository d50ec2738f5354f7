#pragma once

// Selection of the lane layout by head width, and launches of the passes. The rule depends only on sizes and
// alignment, as the layout decides the bits. One file per score and S instantiates run_forward and
// run_backward.

#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/attention/cuda/forward.cuh>
#include <adjoint/kernels/attention/cuda/from_edges.cuh>
#include <adjoint/kernels/attention/cuda/to_sources.cuh>
#include <adjoint/kernels/attention/cuda/to_targets.cuh>
#include <adjoint/kernels/cuda/columns.cuh>
#include <adjoint/kernels/plan/explain.h>

#include <bit>

namespace adj::kernels::cuda {

/// Whether features are operands of a cut's rest (rest.cuh).
template <class S>
constexpr bool kIsRest = std::is_same_v<S, float16>;

/// Maximum head width.
inline constexpr int64_t kWidestHead = 1024;

/// Mean entries per row from which rows count as middling, and as long.
inline constexpr int64_t kMiddlingRow = 32, kLongRow = 256;
inline bool is_middling(const Csr& csr) {
  const auto [rows, entries] = csr.whole_sizes();
  return entries >= kMiddlingRow * rows && entries < kLongRow * rows;
}

/// f.template operator()<LaneLayout>() with the smallest layout that holds a head; in float64, which only
/// gradient checks use, with the widest. `wide_reads`: rows of heads are aligned to 16 bytes and a multiple
/// of them long.
template <class S, class Sizes, class F>
void with_lane_layout(int64_t width, bool wide_reads, const Csr& csr, F&& f) {
  constexpr int kWide = kVectorWidth<S>;
  ADJ_CHECK(width <= kWidestHead, "attention: heads of {} features, expected {} at most on a GPU", width,
            kWidestHead);
  const auto run = [&]<int kVector, int kLanes, int kChunks, int kBatch, int kThreads = 256>() {
    f.template operator()<LaneLayout<S, kVector, kLanes, kChunks, kBatch, kThreads>>();
  };
  const CsrSizes whole = csr.whole_sizes();
  const int64_t entries_of_row = whole.entries / std::max<int64_t>(whole.rows, 1);
  const auto run_batches = [&]<int kLanes>() {
    if (entries_of_row < 3) return run.template operator()<kWide, kLanes, 1, Sizes::kFew, 128>();
    if (entries_of_row < kMiddlingRow) return run.template operator()<kWide, kLanes, 1, 4, 128>();
    if (entries_of_row < kLongRow) return run.template operator()<kWide, kLanes, 1, Sizes::kMiddling, 128>();
    return run.template operator()<kWide, kLanes, 1, Sizes::kLong, Sizes::kLongThreads>();
  };
  const int64_t packs = ceil_div(width, int64_t{kWide});
  if constexpr (kIsRest<S>) {
    static_assert(kWidestTileHead <= 16 * kWide);
    ADJ_CHECK(wide_reads, "attention: operands that are not aligned");
    return packs <= 2   ? run_batches.template operator()<2>()
           : packs <= 4 ? run_batches.template operator()<4>()
           : packs <= 8 ? run_batches.template operator()<8>()
                        : run_batches.template operator()<16>();
  } else if constexpr (sizeof(S) < 8) {
    if (wide_reads) {
      if (packs <= 2) return run_batches.template operator()<2>();
      if (packs <= 4) return run_batches.template operator()<4>();
      if (packs <= 8) return run_batches.template operator()<8>();
      if (packs <= 16) return run_batches.template operator()<16>();
      if (packs <= 32) return run_batches.template operator()<32>();
      if (packs <= 64) return run.template operator()<kWide, 32, 2, 2>();
      if (packs <= 128) return run.template operator()<kWide, 32, 4, 1>();
      if constexpr (sizeof(S) == 4) return run.template operator()<kWide, 32, 8, 1>();
    }
    if (width <= 8) return run.template operator()<1, 8, 1, 4>();
    if (width <= 32) return run.template operator()<1, 32, 1, 4>();
    if (width <= 128) return run.template operator()<1, 32, 4, 2>();
  }
  if constexpr (!kIsRest<S>) run.template operator()<1, 32, 32, 1>();
}

/// Whether rows of heads can be read 16 bytes at a time.
template <class S, class... Pointers>
bool wide_reads(int64_t width, const Pointers*... pointers) {
  return width % kVectorWidth<S> == 0 && aligned_to_16(pointers...);
}

/// Bytes of a row's slab, for a whole warp.
inline constexpr int64_t kSlabBytes = 512;

/// The same for passes by slabs of a row, across heads: 512 bytes and a whole warp, so that rows end for all
/// its lanes at once, unless `features`, the total walked, are at most half of that.
template <class S, class F>
void with_slab(bool wide_reads, int64_t features, const Csr& csr, F&& f) {
  if constexpr (sizeof(S) < 8) {
    constexpr int kWide = kVectorWidth<S>;
    const auto run = [&]<int kLanes>() {
      if (const CsrSizes whole = csr.whole_sizes(); whole.entries >= kLongRow * whole.rows)
        return f.template operator()<LaneLayout<S, kWide, kLanes, 1, 2, 256>>();
      f.template operator()<LaneLayout<S, kWide, kLanes, 1, 2, 128>>();
    };
    if (wide_reads && features * static_cast<int64_t>(sizeof(S)) <= kSlabBytes / 2)
      return run.template operator()<16>();
    if (wide_reads) return run.template operator()<32>();
  }
  f.template operator()<LaneLayout<S, 1, 32, 1, 2, 128>>();
}

/// Adjacent heads in a group of lanes.
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
  a.kept_scale = static_cast<Accumulator<S>>(dropout.rule.scale);
}

/// Approximate number of lane groups per row: a group reads 512 bytes of it.
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

/// Minimum ratio of the features' bytes to those kept per edge.
inline constexpr int64_t kFeatureBytesOfKept = 2;

/// Prefetch distance of rows in entries: nonzero if rows are short and the sources' heads read by a group of
/// lanes do not stay in L2.
template <class S>
int entries_ahead(const Csr& csr, const AttentionArguments<S>& a) {
  const int64_t heads = csr.cols * std::min(a.side, a.heads) * a.width * static_cast<int64_t>(sizeof(S));
  const bool is_short = csr.entries() < 32 * csr.rows;
  return is_short && 2 * heads > properties(csr.device().index).l2_bytes ? 6 : 0;
}

/// Logs the layout of the passes over `csr`, and `more` about them.
template <class T>
void explain_layout(const char* name, const Csr& csr, const AttentionArguments<typename T::S>& a,
                    std::string_view more) {
  explain_sparse(name, csr, int64_t{a.heads} * a.width, a.heads, dtype_of<Result<typename T::S>>(),
                 "{} lanes per head, {} x {} features each, {} heads side by side, {} entries at a time, "
                 "blocks of {} threads{} (by rule)",
                 T::kLanes, T::kChunks, T::kVector, a.side, T::kBatch, T::kThreads, more);
}

/// Whether the passes support edge terms. Edge features of scores with att use gat's passes; keys
/// that are values come without.
template <class S, class Score>
constexpr bool kHasEdges = !Score::kAtt && !Score::kScaled && !kIsRest<S>;

/// with_lane_layout() for a pass with or without edge terms: f.template operator()<LaneLayout, kEdges>().
template <class S, class Score, class Sizes, class F>
void with_pass(bool edges, int64_t width, bool wide_reads, const Csr& csr, F&& f) {
  if constexpr (kHasEdges<S, Score>)
    if (edges)
      return with_lane_layout<S, EdgeSizes>(width, wide_reads, csr,
                                            [&]<class T>() { f.template operator()<T, true>(); });
  with_lane_layout<S, Sizes>(width, wide_reads, csr, [&]<class T>() { f.template operator()<T, false>(); });
}

/// Whether the passes can add a bias to O. It costs registers, so passes without one are separate kernels.
/// For bfloat16 another op adds it (gat.h).
template <class S, class Score>
constexpr bool kTakesBias = sizeof(S) > 2 && Score::kBias;

/// `a` has heads and pointers; this function sets the structure and workspace and launches.
template <class S, class Score>
void run_forward(const char* name, const CsrMatrix& matrix, ForwardArguments<S> a, bool wide) {
  using A = Accumulator<S>;
  const Csr& csr = matrix.csr;
  const Device device = csr.device();
  const int64_t width = int64_t{a.heads} * a.width;
  if (csr.rows == 0 || width == 0) return;
  const SpmmPlan plan = spmm_plan(csr, launches_of(a));
  set_structure(a, matrix.csr, plan);
  a.order = data_or_null<int32_t>(matrix.order);
  constexpr DType dtype = dtype_of<A>();
  Tensor partial = Tensor::empty({plan.slots, width}, dtype, device),
         stats = Tensor::empty({plan.slots, 2 * a.heads}, dtype, device);
  a.partial = partial.mutable_data<A>();
  a.partial_stats = stats.mutable_data<A>();
  const bool edges = a.c != nullptr || a.logits != nullptr;
  with_pass<S, Score, typename Score::template ForwardSizes<S>>(
      edges, a.width, wide, csr, [&]<class T, bool kEdges>() {
        a.side = heads_side_by_side(a.heads, T::kLanes);
        a.ahead = entries_ahead(csr, a);
        explain_layout<T>(name, csr, a, "");
        void (*kernel)(ForwardArguments<S>) = attention_forward<T, Score, kEdges, false>;
        if constexpr (kTakesBias<S, Score>)
          if (a.bias != nullptr) kernel = attention_forward<T, Score, kEdges, true>;
        launch(name, overlapping(device.index, grid_of<T>(a.items, a), T::kThreads), kernel, a);
      });
  if (plan.heavy_rows == 0) return;
  const auto slabs = static_cast<unsigned>(ceil_div(width, 32));
  Tensor run_sums = Tensor::empty({plan.runs, width}, dtype, device),
         run_stats = Tensor::empty({plan.runs, 2 * a.heads}, dtype, device);
  const AttentionParts<A> slots{a.partial, a.partial_stats},
      runs{run_sums.mutable_data<A>(), run_stats.mutable_data<A>()};
  launch(name, merge_shape(device.index, plan.runs, slabs), merge_attention_runs<Score, A>,
         plan.slot_run_list(), plan.slot_run_count(), a.heads, a.width, slots, runs);
  launch(name, merge_shape(device.index, plan.heavy_rows, slabs), merge_attention<S, Score>,
         plan.heavy_row_list(), plan.heavy_row_count(), a, runs);
}

/// Merge of the rows split by the plan into `output` [rows, width] from their `partial` sums; nothing if it
/// is null.
template <class To>
SpmmArguments<To> merged_rows(Tensor& partial, int64_t width, To* output) {
  SpmmArguments<To> sums{};
  sums.partial = mutable_data_or_null<Accumulator<To>>(partial);
  sums.width = static_cast<int>(width);
  sums.y = output;
  return sums;
}

/// Blocks whose groups take several items in turn, so that the partial sums of datt stay few.
constexpr int kBlocksWithSums = 2048;

/// The gradient of `att` from the block sums of both passes: sums of blocks with the same index are added
/// first, so that blocks beyond the last item, which a plan by bounds has (spmm_plan.h), change nothing.
template <class S, int N>
struct AttentionGradientParts {
  using A = Accumulator<S>;
  using Term = double;
  const A *targets, *sources;
  int64_t target_blocks, source_blocks, width;
  S* y;

  __device__ int64_t open(int64_t pack) const { return pack * N; }
  __device__ void add(int64_t column, int64_t block, int64_t, double (&sum)[1][N]) const {
    if (block < target_blocks) add_pack(targets + block * width + column, sum);
    if (block < source_blocks) add_pack(sources + block * width + column, sum);
  }
  __device__ void finish(int64_t column, const double (&total)[1]) const {
    y[column] = narrow<S>(static_cast<A>(total[0]));
  }

 private:
  static __device__ void add_pack(const A* input, double (&sum)[1][N]) {
    const Pack<A, N> part = load<N>(input);
#pragma unroll
    for (int k = 0; k < N; ++k) sum[0][k] += static_cast<double>(part[k]);
  }
};
/// `parts` [target_blocks + source blocks, H D].
template <class S>
void sum_attention_gradient(const char* name, const Tensor& parts, int64_t target_blocks, Tensor& d_att) {
  using A = Accumulator<S>;
  const int64_t width = parts.size(1);
  const A* const sums = parts.data<A>();
  dispatch_pack<A>(width, aligned_to_16(sums), [&]<int N>() {
    sum_over_rows<1, N>(
        name, parts.device().index, kBlocksWithSums, width,
        AttentionGradientParts<S, N>{sums, sums + target_blocks * width, target_blocks,
                                     parts.size(0) - target_blocks, width, d_att.mutable_data<S>()});
  });
}

/// Row outputs of a pass; null if not needed.
template <class S>
struct RowGradients {
  using A = Accumulator<S>;
  Result<S>* row = nullptr;    ///< dq or dl; dk, dr or dx
  Result<S>* value = nullptr;  ///< dv
  A* term = nullptr;           ///< gat: dl or dr; keyed: ds
};

/// One pass of the backward: its structure and plan, the outputs of its rows, and the partial sums of rows
/// split by the plan.
template <class S>
class BackwardWalk {
  using A = Accumulator<S>;

 public:
  BackwardWalk(const char* name, const CsrMatrix& matrix, SpmmPlan plan, const RowGradients<S>& gradients,
               const BackwardArguments<S>& a)
      : name_(name), matrix_(matrix), plan_(std::move(plan)), gradients_(gradients) {
    const auto parts = [&](bool wanted, int64_t width) {
      return wanted ? Tensor::empty({plan_.slots, width}, dtype_of<A>(), device()) : Tensor();
    };
    const int64_t width = int64_t{a.heads} * a.width;
    row_ = parts(gradients.row != nullptr, width);
    value_ = parts(gradients.value != nullptr, width);
    term_ = parts(gradients.term != nullptr, a.heads);
  }
  Device device() const { return matrix_.csr.device(); }
  int items() const { return static_cast<int>(plan_.items); }

  void launch(void (*kernel)(BackwardArguments<S>), dim3 blocks, int threads, BackwardArguments<S> a) {
    if (plan_.items == 0 || blocks.y == 0) return;
    set_structure(a, matrix_.csr, plan_);
    a.order = data_or_null<int32_t>(matrix_.order);
    a.d_row = gradients_.row;
    a.d_value = gradients_.value;
    a.d_term = gradients_.term;
    a.partial = mutable_data_or_null<A>(row_);
    a.partial_value = mutable_data_or_null<A>(value_);
    a.partial_term = mutable_data_or_null<A>(term_);
    adj::cuda::launch(name_, overlapping(device().index, blocks, threads), kernel, a);
  }
  /// Called after all heads.
  void merge(const BackwardArguments<S>& a) {
    const int64_t width = int64_t{a.heads} * a.width;
    launch_merge<Result<S>>(name_, device().index, plan_, merged_rows(row_, width, gradients_.row),
                            merged_rows(value_, width, gradients_.value),
                            merged_rows(term_, a.heads, gradients_.term));
  }

 private:
  const char* name_;
  const CsrMatrix& matrix_;
  SpmmPlan plan_;
  RowGradients<S> gradients_;
  Tensor row_, value_, term_;
};

/// Number of head groups whose edge values are kept at a time: as many as are small compared with the
/// `feature_bytes` that the pass reads and writes anyway; 0 if not even one group is.
template <class A>
int64_t groups_kept(AttentionGradient gradient, int64_t entries, int side, int64_t groups,
                    int64_t feature_bytes) {
  if (gradient == AttentionGradient::recomputed) return 0;
  const int64_t bytes = std::max<int64_t>(entries * side * static_cast<int64_t>(sizeof(EdgeGradient<A>)), 1);
  const int64_t fitting = feature_bytes / kFeatureBytesOfKept / bytes;
  return gradient == AttentionGradient::kept ? std::clamp<int64_t>(fitting, 1, groups)
                                             : std::min(fitting, groups);
}

/// Both passes. `a` has heads and pointers; `by_target` and `by_source` their row outputs. `adjoint` is the
/// transpose of `matrix`, or has its own entries.
template <class S, class Score>
void run_backward(const char* name, const CsrMatrix& matrix, const CsrMatrix& adjoint, BackwardArguments<S> a,
                  bool wide, const RowGradients<S>& by_target, const RowGradients<S>& by_source,
                  Tensor& d_att, AttentionGradient gradient = AttentionGradient::by_size) {
  using A = Accumulator<S>;
  const Device device = matrix.csr.device();
  const int64_t width = int64_t{a.heads} * a.width;
  constexpr int kMost = Score::kAtt ? kBlocksWithSums : 0x7fffffff;
  if (width == 0) return;
  const bool has_sources =
      by_source.row != nullptr || by_source.value != nullptr || by_source.term != nullptr || d_att;
  a.entries = matrix.csr.entries();
  const bool edges = a.c != nullptr || a.g != nullptr || a.logit_gradient != nullptr || a.weight != nullptr;
  const auto walk = [&]<class T, bool kEdges>() {
    a.side = heads_side_by_side(a.heads, T::kLanes);
    // Six matrices of targets or sources: features, O, dO and the gradients.
    const int64_t feature_bytes = 3 * (matrix.csr.rows + matrix.csr.cols) * int64_t{a.pitch};
    const int64_t kept =
        kFromEdges<Score> && has_sources
            ? groups_kept<A>(gradient, a.entries, a.side, ceil_div(a.heads, a.side), feature_bytes)
            : 0;
    a.ahead = entries_ahead(matrix.csr, a);
    explain_layout<T>(name, matrix.csr, a,
                      !has_sources ? ", by target alone"
                      : kept > 0   ? ", source pass reads stored edge weights"
                                   : ", source pass reads the features again");
    // Middling rows gain more from many small items.
    const int64_t launches = is_middling(matrix.csr) ? 1 : launches_of(a);
    BackwardWalk<S> targets(name, matrix, spmm_plan(matrix.csr, launches), by_target, a);
    const dim3 target_blocks = grid_of<T>(targets.items(), a, kMost);
    const int64_t groups = target_blocks.y;

    void (*to_targets)(BackwardArguments<S>) = attention_to_targets<T, Score, kEdges, false>;
    void (*to_sources)(BackwardArguments<S>) = attention_to_sources<T, Score, kEdges>;
    if constexpr (kTakesBias<S, Score>)
      if (a.bias != nullptr) to_targets = attention_to_targets<T, Score, kEdges, true>;
    const auto walk_both = [&]<class U>(int64_t groups_at_a_time, int64_t source_launches) {
      BackwardWalk<S> sources(name, adjoint, spmm_plan(adjoint.csr, source_launches), by_source, a);
      const auto blocks_of_sources = static_cast<unsigned>(std::min<int64_t>(
          ceil_div(int64_t{sources.items()}, int64_t{U::kThreads / (U::kLanes * (kept > 0 ? 1 : a.side))}),
          kMost));
      Tensor att_parts;
      if (d_att)
        att_parts = Tensor::empty({target_blocks.x + blocks_of_sources, width}, dtype_of<A>(), device);
      a.d_att = mutable_data_or_null<A>(att_parts);
      for (int64_t first = 0; first < groups; first += groups_at_a_time) {
        const auto some = static_cast<unsigned>(std::min(groups_at_a_time, groups - first));
        a.first_head = static_cast<int>(first) * a.side;
        targets.launch(to_targets, dim3(target_blocks.x, some), T::kThreads, a);
        if (first + groups_at_a_time >= groups) targets.merge(a);
        if (!has_sources) continue;
        BackwardArguments<S> of_sources = a;
        of_sources.logit_gradient = of_sources.weight = nullptr;
        if (d_att) of_sources.d_att += int64_t{target_blocks.x} * width;
        const int64_t heads = std::min<int64_t>(int64_t{some} * a.side, a.heads - a.first_head);
        const unsigned parts =
            kept > 0 ? static_cast<unsigned>(ceil_div(heads * a.width, int64_t{U::kVector * U::kLanes}))
                     : some;
        sources.launch(to_sources, dim3(blocks_of_sources, parts), U::kThreads, of_sources);
      }
      if (has_sources) sources.merge(a);
      if constexpr (Score::kAtt)
        if (d_att) sum_attention_gradient<S>(name, att_parts, target_blocks.x, d_att);
    };
    if constexpr (kFromEdges<Score> && !kIsRest<S>) {
      if (kept > 0) {
        a.kept_heads = static_cast<int>(kept) * a.side;
        Tensor kept_of_edges = Tensor::empty({a.entries * a.kept_heads, 2}, dtype_of<A>(), device);
        a.kept = static_cast<EdgeGradient<A>*>(kept_of_edges.raw_mutable_data());
        return with_slab<S>(wide, int64_t{a.kept_heads} * a.width, adjoint.csr, [&]<class U>() {
          to_sources = attention_from_edges<U, Score>;
          walk_both.template operator()<U>(kept, 1);
        });
      }
    }
    walk_both.template operator()<T>(groups, launches);
  };
  with_pass<S, Score, typename Score::template BackwardSizes<S>>(edges, a.width, wide, matrix.csr, walk);
}

}  // namespace adj::kernels::cuda
