// Sparse products with weights per head, if head width and vector width divide each other: one walk over the
// entries for all heads of a block of features. A vector within one head is scaled by that head's weight; a
// vector of several heads by a vector of weights with each weight in its head's lanes. Bytes as in spmm.cpp,
// and H weights per entry.

#include <adjoint/kernels/aggregate/cpu/spmm.h>

#include <type_traits>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kSerial = 32768;  // fewer multiply-adds run on one thread

template <class S>
using Lanes = std::conditional_t<sizeof(Scalar<S>) == 8, simd::I64, simd::I32>;

/// Operands, some of which are absent: `y` is summed if `weights` are given, `dots` with the rows of
/// `targets` are computed if `targets` is given.
template <class S>
struct Walk {
  const Csr& csr;
  const int32_t* order;
  int64_t heads;
  int64_t pitch;  // features per row
  int64_t width;  // features per head
  const S* x;
  bool far;
  const Scalar<S>* weights = nullptr;
  const S* bias = nullptr;
  bool relu = false;
  S* y = nullptr;
  const S* targets = nullptr;
  Scalar<S>* dots = nullptr;

  Walk(const CsrMatrix& a, const Tensor& of_edges, const Tensor& in)
      : csr(a.csr),
        order(a.order ? a.order.data<int32_t>() : nullptr),
        heads(heads_of(of_edges)),
        pitch(in.size(1)),
        width(pitch / heads),
        x(in.data<S>()),
        far(in.bytes() >= kFarBytes) {}

  int64_t edge(int64_t e) const { return order == nullptr ? e : order[e]; }
};

/// Lane-to-head mapping of a vector, for heads narrower than the vector; unused otherwise.
template <class S>
struct HeadLanes {
  Lanes<S> head{};       // of each lane
  Lanes<S> first{};      // first lane of head l
  Lanes<S> across[4]{};  // partners in the tree that sums a head's lanes
  int steps = 0;

  explicit HeadLanes(int64_t width) {
    if (width >= kLanes<S>) return;
    for (int l = 0; l < kLanes<S>; ++l) {
      head[l] = l / width;
      first[l] = l * width % kLanes<S>;
    }
    for (int64_t step = width / 2; step >= 1; step /= 2, ++steps)
      for (int l = 0; l < kLanes<S>; ++l) across[steps][l] = l ^ step;
  }
};

/// The entries [begin, end) of one row; their weights and dots are contiguous, H per entry.
template <bool kSum, bool kDot, bool kNarrow, class S, int B>
[[gnu::always_inline]] inline void walk_row(const Walk<S>& g, const HeadLanes<S>& lanes, int64_t begin,
                                            int64_t end, const Scalar<S>* weight, Scalar<S>* dot,
                                            const S* target, int64_t first, int tail, Vector<S> (&sum)[B]) {
  constexpr int64_t kLane = kLanes<S>;
  const int32_t* indices = g.csr.indices.template data<int32_t>();
  const int64_t last = g.csr.entries() - 1;
  Vector<S> mine[B];
  if constexpr (kDot) load_block<S, B>(target + first, tail, mine);
  for (int k = 0; k < B; ++k) sum[k] = Vector<S>{};
  const int64_t first_head = first / g.width;
  const int per_vector = static_cast<int>(std::max<int64_t>(kLane / g.width, 1));
  const auto heads_at = [&](int64_t head) {
    return static_cast<int>(std::min<int64_t>(per_vector, g.heads - head));
  };
  for (int64_t e = begin; e < end; ++e, weight += kSum ? g.heads : 0, dot += kDot ? g.heads : 0) {
    if (g.far) prefetch_block<S, B>(g.x + indices[std::min(e + kAhead, last)] * g.pitch + first);
    Vector<S> row[B];
    load_block<S, B>(g.x + indices[e] * g.pitch + first, tail, row);
    [[maybe_unused]] Vector<S> head_sum{};
#pragma GCC unroll 8
    for (int k = 0; k < B; ++k) {
      const int64_t head = kNarrow ? first_head + k * per_vector : (first + k * kLane) / g.width;
      if constexpr (kSum) {
        if constexpr (kNarrow) {
          sum[k] += simd::permute(simd::load_first(weight + head, heads_at(head)), lanes.head) * row[k];
        } else {
          sum[k] += weight[head] * row[k];
        }
      }
      if constexpr (kDot) {
        Vector<S> product = row[k] * mine[k];
        if constexpr (kNarrow) {
          for (int step = 0; step < lanes.steps; ++step)
            product += simd::permute(product, lanes.across[step]);
          // A narrow head lies in one vector, so this is its whole dot product.
          simd::store_first(dot + head, simd::permute(product, lanes.first), heads_at(head));
        } else {
          head_sum += product;
          if (k == B - 1 || (first + (k + 1) * kLane) % g.width == 0) {
            dot[head] += simd::sum(head_sum);
            head_sum = Vector<S>{};
          }
        }
      }
    }
  }
}

template <bool kSum, bool kDot, bool kNarrow, class S>
void walk(const Walk<S>& g) {
  const std::shared_ptr<const RowChunks> cuts = row_chunks(g.csr);
  const HeadLanes<S> lanes(g.width);
  const int64_t* offsets = g.csr.offsets.template data<int64_t>();
  Tensor scratch;
  Scalar<S>* partial = nullptr;
  if (kSum && cuts->slots > 0) {
    scratch = Tensor::empty({cuts->slots, g.pitch}, dtype_of<Scalar<S>>());
    partial = scratch.template mutable_data<Scalar<S>>();
  }
  const auto chunks = static_cast<int64_t>(cuts->chunks.size());
  const bool serial = (g.csr.entries() + g.csr.rows) * g.pitch < kSerial;
  parallel_for(chunks, serial ? chunks : 1, [&](int64_t chunk_begin, int64_t chunk_end) {
    std::vector<Scalar<S>> weight_copy, dot_copy;
    for (int64_t c = chunk_begin; c < chunk_end; ++c) {
      const RowChunks::Chunk& chunk = cuts->chunks[static_cast<size_t>(c)];
      const int64_t base = chunk.entry_begin, count = chunk.entry_end - base;
      const Scalar<S>* weights = g.weights + (kSum ? base * g.heads : 0);
      Scalar<S>* dots = g.dots + (kDot ? base * g.heads : 0);
      if (g.order != nullptr) {
        if constexpr (kSum) {
          weight_copy.resize(static_cast<size_t>(count * g.heads));
          for (int64_t k = 0; k < count; ++k)
            std::copy_n(g.weights + g.edge(base + k) * g.heads, g.heads, weight_copy.data() + k * g.heads);
          weights = weight_copy.data();
        }
        if constexpr (kDot) {
          dot_copy.resize(static_cast<size_t>(count * g.heads));
          dots = dot_copy.data();
        }
      }
      if constexpr (kDot) std::fill_n(dots, count * g.heads, Scalar<S>{});
      for_blocks<S>(g.pitch, [&]<int B>(int64_t first, int tail) {
        Vector<S> sum[B];
        for (int64_t i = chunk.row_begin; i < chunk.row_end; ++i) {
          const int64_t begin = std::max(offsets[i], chunk.entry_begin);
          const int64_t end = std::min(offsets[i + 1], chunk.entry_end), offset = (begin - base) * g.heads;
          walk_row<kSum, kDot, kNarrow, S, B>(g, lanes, begin, end, weights + (kSum ? offset : 0),
                                              dots + (kDot ? offset : 0),
                                              g.targets + (kDot ? i * g.pitch : 0), first, tail, sum);
          if constexpr (!kSum) continue;
          if (chunk.slot >= 0) {
            store_block<Scalar<S>, B>(partial + chunk.slot * g.pitch + first, tail, sum);
          } else {
            finish<S, B>(g.bias, g.relu, first, tail, sum);
            store_block<S, B>(g.y + i * g.pitch + first, tail, sum);
          }
        }
      });
      if constexpr (kDot) {
        if (g.order != nullptr)
          for (int64_t k = 0; k < count; ++k)
            std::copy_n(dots + k * g.heads, g.heads, g.dots + g.edge(base + k) * g.heads);
      }
    }
  });
  if constexpr (kSum) merge_heavy<S>(*cuts, partial, g.pitch, g.bias, g.relu, g.y, g.pitch);
}

template <bool kSum, bool kDot, class S>
void run(const Walk<S>& g) {
  if constexpr (simd::kPermutes) {
    if (g.width < kLanes<S>) return walk<kSum, kDot, true>(g);
  }
  walk<kSum, kDot, false>(g);
}

}  // namespace

void spmm_by_head(const SpmmArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    Walk<S> g(args.a, args.a.values, args.x);
    g.weights = args.a.values.data<Scalar<S>>();
    g.bias = args.bias ? args.bias.data<S>() : nullptr;
    g.relu = args.activation == Activation::relu;
    g.y = args.y.mutable_data<S>();
    run<true, false>(g);
  });
}

void sddmm_by_head(const SddmmArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    Walk<S> g(args.a, args.dw, args.x);
    g.targets = args.y.data<S>();
    g.dots = args.dw.mutable_data<Scalar<S>>();
    run<false, true>(g);
  });
}

void spmm_backward_by_head(const SpmmBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    Walk<S> g(args.at, args.dw, args.dy);
    g.weights = args.at.values.data<Scalar<S>>();
    g.y = args.dx.mutable_data<S>();
    g.targets = args.x.data<S>();
    g.dots = args.dw.mutable_data<Scalar<S>>();
    run<true, true>(g);
  });
}

}  // namespace adj::kernels::cpu
