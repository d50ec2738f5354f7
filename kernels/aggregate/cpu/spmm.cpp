// Sparse-dense product, its adjoint and the gradient of its values. All three walk a chunk of entries once
// per block of up to eight vectors of features, so that a row's sums (and, backward, its own features) stay
// in registers, and prefetch the rows of later entries. Nothing is saved. Bytes per pass: every entry's row
// of features, its column and value, and every row of the output once.
//
// Prefetch distance is 64 entries, into L2 (48 to 128 are equally fast). Into L1 the fill buffers are the
// limit; prefetching into both, or only every second line, was slower. Large results use streaming stores,
// which costs the next op nothing. Helpers in the loop are force-inlined: otherwise sums leave their
// registers, which took three times as long in bfloat16.

#include <adjoint/kernels/aggregate/cpu/spmm.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/plan/explain.h>
#include <adjoint/kernels/sparse/cpu/entries.h>

#include <algorithm>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kDotGrain = RowChunks::kWork;
constexpr size_t kStreamBytes = size_t{32} << 20;  // results of at least this size use streaming stores

/// output[order[e] or e] = dots of the entries from `begin` on; `output` has one element per entry in
/// `stride`.
template <class T>
void scatter(const int32_t* order, int64_t begin, int64_t count, const T* dots, T* output, int64_t stride) {
  for (int64_t k = 0; k < count; ++k)
    output[(order == nullptr ? begin + k : order[begin + k]) * stride] = dots[k];
}

/// Weights and dots of a chunk's entries in entry order: pointers to the operands, or to gathered copies.
template <class S>
struct Entries {
  int64_t begin, end;
  const Scalar<S>* weight;  ///< of entry begin + k at [k]
  Scalar<S>* dot;           ///< likewise; for gradients of the weights
};

/// Operands of one aggregation.
template <class S>
struct Aggregation {
  const int64_t* offsets;
  const int32_t* indices;
  int64_t entries;
  int64_t heads;
  int64_t pitch;    ///< elements per row of x
  int64_t y_pitch;  ///< and of y
  int64_t width;    ///< elements per head
  EntryValues<Scalar<S>> values;
  const S* x;
  const Scalar<S>* factor = nullptr;  ///< of each row of y
  const S* bias;
  bool relu;
  bool far;
  bool stream;
  S* y;

  /// To the columns of `out` from `first` on.
  Aggregation(const CsrMatrix& a, const Tensor& in, int64_t head_count, Tensor& out, int64_t first = 0)
      : offsets(a.csr.offsets.data<int64_t>()),
        indices(a.csr.indices.data<int32_t>()),
        entries(a.csr.entries()),
        heads(head_count),
        pitch(in.size(1)),
        y_pitch(out.size(1)),
        width(pitch / heads),
        values(a),
        x(in.data<S>()),
        bias(nullptr),
        relu(false),
        far(in.bytes() >= kFarBytes),
        stream(out.bytes() >= kStreamBytes && (width | y_pitch | first) % kLanes<S> == 0 && is_aligned(out)),
        y(out.mutable_data<S>() + first) {}

  /// Aligned to a vector's elements: views may begin anywhere.
  static bool is_aligned(const Tensor& out) {
    return reinterpret_cast<uintptr_t>(out.raw_data()) % (kLanes<S> * sizeof(S)) == 0;
  }

  const S* row(int64_t e) const { return x + indices[e] * pitch; }

  /// Prefetches the block of a row.
  template <int B>
  void prefetch(int64_t e, int64_t first) const {
    if (far) prefetch_block<S, B>(row(std::min(e + kAhead, entries - 1)) + first);
  }

  /// A head's values of the entries [begin, end): in place if they are in entry order, else copied to
  /// `buffer`.
  const Scalar<S>* weights(int64_t begin, int64_t end, int64_t head, Scalar<S>* buffer) const {
    if (values.values != nullptr && values.order == nullptr && heads == 1) return values.values + begin;
    for (int64_t e = begin; e < end; ++e) buffer[e - begin] = values.of_head(e, heads, head);
    return buffer;
  }
};

template <class S, int B>
[[gnu::always_inline]] inline void sum_entries(const Aggregation<S>& g, const Entries<S>& entries,
                                               int64_t first, int tail, Vector<S> (&sum)[B]) {
  for (int k = 0; k < B; ++k) sum[k] = Vector<S>{};
  for (int64_t e = entries.begin; e < entries.end; ++e) {
    g.template prefetch<B>(e, first);
    Vector<S> row[B];
    load_block<S, B>(g.row(e) + first, tail, row);
    const Scalar<S> w = entries.weight[e - entries.begin];
#pragma GCC unroll 8
    for (int k = 0; k < B; ++k) sum[k] += w * row[k];
  }
}

/// Also adds ⟨row, target⟩ to each entry's dot product; `target` is a row of the other operand.
template <class S, int B>
[[gnu::always_inline]] inline void sum_entries_and_dots(const Aggregation<S>& g, const Entries<S>& entries,
                                                        const S* target, int64_t first, int tail,
                                                        Vector<S> (&sum)[B]) {
  Vector<S> x[B];
  load_block<S, B>(target + first, tail, x);
  for (int k = 0; k < B; ++k) sum[k] = Vector<S>{};
  for (int64_t e = entries.begin; e < entries.end; ++e) {
    g.template prefetch<B>(e, first);
    Vector<S> row[B];
    load_block<S, B>(g.row(e) + first, tail, row);
    const Scalar<S> w = entries.weight[e - entries.begin];
    Vector<S> dot{};
#pragma GCC unroll 8
    for (int k = 0; k < B; ++k) {
      sum[k] += w * row[k];
      dot += row[k] * x[k];
    }
    entries.dot[e - entries.begin] += simd::sum(dot);
  }
}

/// g.y = the sums of all rows. WithDots: the dot products of each entry's row with the target's row of
/// `targets` go to `gradient`.
template <bool WithDots, class S>
void aggregate(const Csr& csr, const Aggregation<S>& g, [[maybe_unused]] const S* targets,
               [[maybe_unused]] Scalar<S>* gradient) {
  const std::shared_ptr<const RowChunks> cuts = row_chunks(csr);
  Tensor scratch;
  Scalar<S>* partial = nullptr;
  if (cuts->slots > 0) {
    scratch = Tensor::empty({cuts->slots, g.pitch}, dtype_of<Scalar<S>>());
    partial = scratch.mutable_data<Scalar<S>>();
  }
  cuts->for_chunks(chunks_per_task(g.pitch), [&](const RowChunks::Chunk& chunk) {
    Scalar<S> weights[RowChunks::kMaxEntries], dots[RowChunks::kMaxEntries];
    const int64_t count = chunk.entry_end - chunk.entry_begin;
    for (int64_t head = 0; head < g.heads; ++head) {
      const Scalar<S>* weight = g.weights(chunk.entry_begin, chunk.entry_end, head, weights);
      if constexpr (WithDots) std::fill(dots, dots + count, Scalar<S>{});
      for_blocks<S>(g.width, [&]<int B>(int64_t in_head, int tail) {
        const int64_t first = head * g.width + in_head;
        for_rows_of(chunk, g.offsets, [&](int64_t i, int64_t begin, int64_t end) {
          Vector<S> sum[B];
          const int64_t offset = begin - chunk.entry_begin;
          const Entries<S> entries{begin, end, weight + offset, dots + offset};
          if constexpr (WithDots) {
            sum_entries_and_dots<S, B>(g, entries, targets + i * g.pitch, first, tail, sum);
          } else {
            sum_entries<S, B>(g, entries, first, tail, sum);
          }
          if (chunk.slot >= 0)
            return store_block<Scalar<S>, B>(partial + chunk.slot * g.pitch + first, tail, sum);
          scale<S, B>(g.factor, i, sum);
          finish<S, B>(g.bias, g.relu, first, tail, sum);
          if (g.stream) {
            stream_block<S, B>(g.y + i * g.y_pitch + first, sum);
          } else {
            store_block<S, B>(g.y + i * g.y_pitch + first, tail, sum);
          }
        });
      });
      if constexpr (WithDots)
        scatter(g.values.order, chunk.entry_begin, count, dots, gradient + head, g.heads);
    }
    if (g.stream) simd::fence();
  });
  merge_heavy<S>(*cuts, partial, g.pitch, g.bias, g.relu, g.y, g.y_pitch, g.factor);
}

}  // namespace

void plan_rows(const PlanRowsArgs& args) { (void)row_chunks(args.a); }

void spmm(const SpmmArgs& args) {
  if (args.local) {  // in one place: memory is not what bounds the ranks of a host
    Tensor x = args.x.clone(), rows = x.rows(args.local_row, args.local_row + args.local.size(0));
    kernels::slice_columns({.x = args.local, .begin = args.first_column, .y = rows});
    return spmm({.a = args.a,
                 .x = x,
                 .bias = args.bias,
                 .activation = args.activation,
                 .y = args.y,
                 .first_column = args.first_column,
                 .row_factor = args.row_factor});
  }
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const int64_t heads = heads_of(args.a.values), width = args.x.size(1);
    if (heads_fill_vectors<S>(heads, width)) {
      explain_sparse("spmm", args.a.csr, width, heads, args.x.dtype(), "all heads in one pass");
      return spmm_by_head(args);
    }
    Aggregation<S> g(args.a, args.x, heads, args.y, args.first_column);
    explain_sparse("spmm", args.a.csr, width, heads, args.x.dtype(), "{}{}{}",
                   heads > 1 ? "one pass per head" : "one pass",
                   g.far ? ", rows prefetched" : ", rows within the caches",
                   g.stream ? ", results stored around the caches" : "");
    g.factor = args.row_factor ? args.row_factor.data<Scalar<S>>() : nullptr;
    g.bias = args.bias ? args.bias.data<S>() : nullptr;
    g.relu = args.activation == Activation::relu;
    aggregate<false, S>(args.a.csr, g, nullptr, nullptr);
  });
}

void spmm_backward(const SpmmBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    if (args.at.values && heads_fill_vectors<S>(heads_of(args.dw), args.x.size(1)))
      return spmm_backward_by_head(args);
    const Aggregation<S> g(args.at, args.dy, heads_of(args.dw), args.dx);
    aggregate<true, S>(args.at.csr, g, args.x.data<S>(), args.dw.mutable_data<Scalar<S>>());
  });
}

void sddmm(const SddmmArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    if (heads_fill_vectors<S>(heads_of(args.dw), args.x.size(1))) return sddmm_by_head(args);
    const int64_t* offsets = args.a.csr.offsets.data<int64_t>();
    const int32_t* indices = args.a.csr.indices.data<int32_t>();
    const int32_t* order = args.a.order ? args.a.order.data<int32_t>() : nullptr;
    const int64_t entries = args.a.csr.entries(), rows = args.a.csr.rows;
    const int64_t pitch = args.x.size(1), heads = heads_of(args.dw), width = pitch / heads;
    const bool far = args.x.bytes() >= kFarBytes;
    const S* targets = args.y.data<S>();
    const S* sources = args.x.data<S>();
    Scalar<S>* gradient = args.dw.mutable_data<Scalar<S>>();
    const auto source = [=](int64_t e) { return sources + indices[e] * pitch; };
    parallel_for(entries, kDotGrain * chunks_per_task(pitch), [&](int64_t chunk_begin, int64_t chunk_end) {
      for (int64_t begin = chunk_begin; begin < chunk_end; begin += kDotGrain) {
        const int64_t end = std::min(chunk_end, begin + kDotGrain);
        const int64_t first_row = row_of(offsets, rows, begin);
        for (int64_t head = 0; head < heads; ++head) {
          Scalar<S> dots[kDotGrain]{};
          for_blocks<S>(width, [&]<int B>(int64_t in_head, int tail) {
            const int64_t first = head * width + in_head;
            for (int64_t i = first_row, e = begin; e < end; ++i) {
              Vector<S> y_i[B];
              load_block<S, B>(targets + i * pitch + first, tail, y_i);
              for (const int64_t row_end = std::min(end, offsets[i + 1]); e < row_end; ++e) {
                if (far) prefetch_block<S, B>(source(std::min(e + kAhead, entries - 1)) + first);
                Vector<S> x_j[B];
                load_block<S, B>(source(e) + first, tail, x_j);
                Vector<S> dot = y_i[0] * x_j[0];
#pragma GCC unroll 8
                for (int k = 1; k < B; ++k) dot += y_i[k] * x_j[k];
                dots[e - begin] += simd::sum(dot);
              }
            }
          });
          scatter(order, begin, end - begin, dots, gradient + head, heads);
        }
      }
    });
  });
}

}  // namespace adj::kernels::cpu
