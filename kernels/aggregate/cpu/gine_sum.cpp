// Messages relu(x_j + wᵀ e_ij), summed at the targets, and their gradients. Each message is computed on the
// fly into a buffer that stays in L1, in the forward and again in the backward pass; nothing is saved. Bytes:
// a row of x (backward: of dy) and E numbers per edge; w stays in the cache.
//
// The backward pass uses the transposed structure, so that dx is gathered. dw is summed per group of chunks,
// of which there is a limited number, then over the groups in order.

#include <adjoint/kernels/aggregate/gine_sum.h>
#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/edge/cpu/edge_rows.h>

namespace adj::kernels::cpu {

namespace {

/// The message of an edge and its operands.
template <class S>
struct Message {
  using T = Accumulator<S>;
  const int32_t* indices;
  const int32_t* order;
  const S* e;
  const S* w;  // null: e is added unchanged
  int64_t edge_width, width;

  Message(const CsrMatrix& a, const Tensor& edges, const Tensor& map, int64_t features)
      : indices(a.csr.indices.data<int32_t>()),
        order(a.order ? a.order.data<int32_t>() : nullptr),
        e(edges.data<S>()),
        w(map ? map.data<S>() : nullptr),
        edge_width(edges.size(1)),
        width(features) {}

  int64_t edge(int64_t k) const { return order == nullptr ? k : order[k]; }

  /// z = x + wᵀ e of entry k.
  void sum(const S* x, int64_t k, T* z) const {
    const S* of_edge = e + edge(k) * edge_width;
    if (w == nullptr) {
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) z[f] = widen(x[f]) + widen(of_edge[f]);
      return;
    }
#pragma omp simd
    for (int64_t f = 0; f < width; ++f) z[f] = widen(x[f]);
    for (int64_t d = 0; d < edge_width; ++d) {
      const T factor = widen(of_edge[d]);
      const S* row = w + d * width;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) z[f] += factor * widen(row[f]);
    }
  }
};

template <class S>
struct Forward {
  using T = Accumulator<S>;
  Message<S> message;
  const S* x;
  S* y;

  int64_t numbers() const { return message.width; }
  void collect(int64_t begin, int64_t end, T* sum) const {
    const int64_t width = message.width;
    static thread_local std::vector<T> buffer;
    buffer.resize(static_cast<size_t>(width));
    T* z = buffer.data();
    std::fill_n(sum, width, T{0});
    for (int64_t k = begin; k < end; ++k) {
      message.sum(x + message.indices[k] * width, k, z);
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) sum[f] += z[f] < T{0} ? T{0} : z[f];  // NaN stays
    }
  }
  void merge(const T* parts, int64_t count, T* sum) const { add_parts(parts, count, message.width, sum); }
  void finish_row(int64_t row, const T* sum) const {
    S* output = y + row * message.width;
    for (int64_t f = 0; f < message.width; ++f) output[f] = narrow<S>(sum[f]);
  }
  void finish(int64_t, int64_t, const T*, const T*) const {}
};

/// Groups of chunks, each with its own dw sum; fixed by the structure only.
constexpr int64_t kGroups = 64;

template <class S>
struct Backward {
  using T = Accumulator<S>;
  Message<S> message;
  const S* dy;
  const S* x;
  S* dx;
  T* de;  // null: not computed

  /// The entries [begin, end) of row j: g_sum = Σ g, and adds to dw unless it is null.
  void collect(int64_t row, int64_t begin, int64_t end, T* g_sum, T* dw) const {
    const int64_t width = message.width, edge_width = message.edge_width;
    static thread_local std::vector<T> buffer;
    buffer.resize(static_cast<size_t>(width));
    T* g = buffer.data();
    std::fill_n(g_sum, width, T{0});
    for (int64_t k = begin; k < end; ++k) {
      message.sum(x + row * width, k, g);
      const S* at_target = dy + message.indices[k] * width;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) {
        g[f] = g[f] > T{0} ? widen(at_target[f]) : T{0};
        g_sum[f] += g[f];
      }
      const int64_t offset = message.edge(k) * edge_width;
      if (message.w == nullptr) {
        if (de != nullptr) std::copy_n(g, width, de + offset);
        continue;
      }
      for (int64_t d = 0; d < edge_width; ++d) {
        const S* map = message.w + d * width;
        if (de != nullptr) {
          T dot = 0;
#pragma omp simd reduction(+ : dot)
          for (int64_t f = 0; f < width; ++f) dot += widen(map[f]) * g[f];
          de[offset + d] = dot;
        }
        if (dw == nullptr) continue;
        const T factor = widen(message.e[offset + d]);
        T* sum = dw + d * width;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) sum[f] += factor * g[f];
      }
    }
  }
  void finish_row(int64_t row, const T* g_sum) const {
    S* output = dx + row * message.width;
    for (int64_t f = 0; f < message.width; ++f) output[f] = narrow<S>(g_sum[f]);
  }
};

}  // namespace

void gine_sum(const GineSumArgs& args) {
  const int64_t width = args.x.size(1);
  if (width == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const Forward<S> body{Message<S>(args.a, args.e, args.w, width), args.x.data<S>(),
                          args.y.mutable_data<S>()};
    reduce_rows<Accumulator<S>>(args.a.csr, width, body);
  });
}

void gine_sum_backward(const GineSumBackwardArgs& args) {
  const int64_t width = args.x.size(1);
  Tensor de = args.de, dw = args.dw;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const Csr& csr = args.at.csr;
    const Backward<S> body{Message<S>(args.at, args.e, args.w, width), args.dy.data<S>(), args.x.data<S>(),
                           args.dx.mutable_data<S>(), de ? de.mutable_data<T>() : nullptr};
    const std::shared_ptr<const RowChunks> cuts = row_chunks(csr);
    const int64_t* offsets = csr.offsets.data<int64_t>();
    const auto chunks = static_cast<int64_t>(cuts->chunks.size());
    const int64_t groups = dw ? std::min(chunks, kGroups) : chunks;
    const int64_t of_weight = dw ? dw.numel() : 0;
    std::vector<T> of_group(static_cast<size_t>(groups * of_weight));
    std::vector<T> of_piece(static_cast<size_t>(cuts->slots * width));
    parallel_for(groups, csr.entries() * width < kCostlyGrain ? std::max<int64_t>(groups, 1) : 1,
                 [&](int64_t group_begin, int64_t group_end) {
                   std::vector<T> of_row(static_cast<size_t>(width));
                   for (int64_t group = group_begin; group < group_end; ++group) {
                     T* sum = dw ? of_group.data() + group * of_weight : nullptr;
                     for (int64_t c = chunks * group / groups; c < chunks * (group + 1) / groups; ++c) {
                       const RowChunks::Chunk& chunk = cuts->chunks[static_cast<size_t>(c)];
                       T* g_sum = chunk.slot >= 0 ? of_piece.data() + chunk.slot * width : of_row.data();
                       for_rows_of(chunk, offsets, [&](int64_t i, int64_t begin, int64_t end) {
                         body.collect(i, begin, end, g_sum, sum);
                         if (chunk.slot < 0) body.finish_row(i, g_sum);
                       });
                     }
                   }
                 });
    std::vector<T> merged(static_cast<size_t>(width));
    for (const RowChunks::HeavyRow& heavy : cuts->heavy) {
      add_parts(of_piece.data() + heavy.slot_begin * width, heavy.slot_end - heavy.slot_begin, width,
                merged.data());
      body.finish_row(heavy.row, merged.data());
    }
    if (!dw) return;
    T* total = dw.mutable_data<T>();
    std::fill_n(total, of_weight, T{0});
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i = 0; i < of_weight; ++i)
        total[i] += of_group[static_cast<size_t>(group * of_weight + i)];
  });
}

}  // namespace adj::kernels::cpu
