// Each row of the result is summed in list order by one thread. Threads split the columns first, which gives
// equal work, then the rows in ranges: the owner of a range selects its entries, some hundred at a time, and
// processes them a block of vectors at a time. Neither split changes a sum's order, so both may depend on the
// number of threads. A dot product needs the whole row: with gradients of weights only rows are split.
//
// Bytes: per entry its indices and weight, a row of x, and a row of the result read and written; with sorted
// rows the result is written only once.

#include <adjoint/kernels/aggregate/cpu/spmm.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/sparse/cpu/row_ranges.h>

#include <array>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kTask = 131072;  // multiply-adds per task: some 10 µs
constexpr int64_t kBatch = 1024;   // entries at a time: their rows stay in a near cache for the next columns
constexpr int64_t kColumns = 64;   // minimum columns per thread: four lines of a row
constexpr int64_t kSoon = 32;      // prefetch distance in entries

/// y[row[e]] += w[e] x[col[e]] over `entries`, and dw[e] = ⟨x[col[e]], targets[row[e]]⟩ if `dw` is computed.
template <class S>
struct Scatter {
  const int32_t* row;
  const int32_t* col;
  int64_t entries;
  const Scalar<S>* weight;  // null: ones
  const S* x;
  int64_t width;
  Scalar<S>* y;
  bool far;          // rows are prefetched
  const S* targets;  // with dots
  Scalar<S>* dw;     // likewise
};

/// Up to kBatch entries from `begin` on whose row is in [low, high).
struct Picked {
  std::array<int32_t, kBatch> entry;
  int64_t count = 0;

  void pick(const int32_t* row, int64_t begin, int64_t end, int64_t low, int64_t high, bool all) {
    if (all) {
      count = end - begin;
      for (int64_t k = 0; k < count; ++k) entry[static_cast<size_t>(k)] = static_cast<int32_t>(begin + k);
      return;
    }
    const auto first = static_cast<uint32_t>(low), rows = static_cast<uint32_t>(high - low);
    count = 0;
    for (int64_t e = begin; e < end; ++e) {  // branchless: half of the branches would be mispredicted
      entry[static_cast<size_t>(count)] = static_cast<int32_t>(e);
      count += static_cast<uint32_t>(row[e]) - first < rows ? 1 : 0;
    }
  }
};

template <bool kDots, class S, int B>
[[gnu::always_inline]] inline void add_picked(const Scatter<S>& g, const Picked& picked, int64_t first,
                                              int tail, [[maybe_unused]] Scalar<S>* dot) {
  for (int64_t k = 0; k < picked.count; ++k) {
    if (g.far) {
      const int64_t soon = picked.entry[static_cast<size_t>(std::min(k + kSoon, picked.count - 1))];
      prefetch_block<S, B>(g.x + g.col[soon] * g.width + first);
      prefetch_block<Scalar<S>, B>(g.y + g.row[soon] * g.width + first);
      if constexpr (kDots) prefetch_block<S, B>(g.targets + g.row[soon] * g.width + first);
    }
    const int64_t e = picked.entry[static_cast<size_t>(k)];
    const Scalar<S> w = g.weight == nullptr ? Scalar<S>{1} : g.weight[e];
    Scalar<S>* const output = g.y + g.row[e] * g.width + first;
    Vector<S> x[B], sum[B];
    load_block<S, B>(g.x + g.col[e] * g.width + first, tail, x);
    load_block<Scalar<S>, B>(output, tail, sum);
#pragma GCC unroll 8
    for (int v = 0; v < B; ++v) sum[v] += w * x[v];
    store_block<Scalar<S>, B>(output, tail, sum);
    if constexpr (kDots) {
      Vector<S> target[B], product{};
      load_block<S, B>(g.targets + g.row[e] * g.width + first, tail, target);
#pragma GCC unroll 8
      for (int v = 0; v < B; ++v) product += x[v] * target[v];
      dot[k] += simd::sum(product);
    }
  }
}

/// All entries of the rows [low, high), columns [begin, end).
template <bool kDots, class S>
void add_entries(const Scatter<S>& g, int64_t low, int64_t high, bool all, int64_t begin, int64_t end) {
  Picked picked;
  std::array<Scalar<S>, kDots ? kBatch : 1> dot;
  for (int64_t e = 0; e < g.entries; e += kBatch) {
    picked.pick(g.row, e, std::min(e + kBatch, g.entries), low, high, all);
    if constexpr (kDots) dot.fill(Scalar<S>{});
    for_blocks<S>(end - begin, [&]<int B>(int64_t first, int tail) {
      add_picked<kDots, S, B>(g, picked, begin + first, tail, dot.data());
    });
    if constexpr (kDots)
      for (int64_t k = 0; k < picked.count; ++k)
        g.dw[picked.entry[static_cast<size_t>(k)]] = dot[static_cast<size_t>(k)];
  }
}

/// y = act(y + bias), from the accumulators to the result.
struct End {
  const Tensor& bias;
  bool relu;
  Tensor& y;
};

/// Initialises the sums: rows of the last `loops` entries with those entries' products, all others with 0.
template <class S>
void begin_rows(const Scatter<S>& g, int64_t loops, int64_t low, int64_t high, int64_t begin, int64_t end) {
  const Scalar<S>* const weight = g.weight == nullptr ? nullptr : g.weight + g.entries;
  for (int64_t i = low; i < high; ++i) {
    Scalar<S>* const output = g.y + i * g.width;
    if (loops == 0) {
      std::fill(output + begin, output + end, Scalar<S>{});
      continue;
    }
    const S* const input = g.x + i * g.width;
    const Scalar<S> w = weight == nullptr ? Scalar<S>{1} : weight[i];
    for (int64_t f = begin; f < end; ++f) output[f] = w * widen(input[f]);
  }
}

template <class S>
void end_rows(const Scatter<S>& g, const End& done, int64_t low, int64_t high, int64_t begin, int64_t end) {
  S* const y = done.y.mutable_data<S>();
  const S* const bias = done.bias ? done.bias.data<S>() : nullptr;
  if (std::is_same_v<S, Scalar<S>> && bias == nullptr && !done.relu) return;  // summed in place
  for (int64_t i = low; i < high; ++i)
    for_blocks<S>(end - begin, [&]<int B>(int64_t in_share, int tail) {
      const int64_t first = begin + in_share;
      Vector<S> sum[B];
      load_block<Scalar<S>, B>(g.y + i * g.width + first, tail, sum);
      finish<S, B>(bias, done.relu, first, tail, sum);
      store_block<S, B>(y + i * g.width + first, tail, sum);
    });
}

template <bool kDots, class S>
void scatter(Scatter<S> g, int64_t loops, int64_t rows, const End& done) {
  Tensor accumulators = done.y;
  if constexpr (!std::is_same_v<S, Scalar<S>>)
    accumulators = Tensor::empty(done.y.shape(), dtype_of<Scalar<S>>());
  g.y = accumulators.mutable_data<Scalar<S>>();
  g.entries -= loops;
  const int64_t work = (g.entries + rows) * std::max<int64_t>(g.width, 16);
  const int64_t tasks = std::clamp<int64_t>(work / kTask, 1, num_threads());
  const int64_t shares = kDots ? 1 : std::clamp<int64_t>(g.width / kColumns, 1, tasks);
  const int64_t ranges = std::min(ceil_div(tasks, shares), std::max<int64_t>(rows, 1));
  const std::vector<int64_t> ends = row_ranges(g.row, g.entries, rows, ranges);
  // Shares are whole cache lines: no two threads write the same line.
  const int64_t columns = ceil_div(ceil_div(g.width, shares), 16) * 16;
  parallel_for(ranges * shares, 1, [&](int64_t task, int64_t) {
    const int64_t low = ends[static_cast<size_t>(task / shares)];
    const int64_t high = ends[static_cast<size_t>(task / shares) + 1];
    const int64_t begin = std::min(g.width, task % shares * columns);
    const int64_t end = std::min(g.width, begin + columns);
    if (begin == end && !kDots) return;
    begin_rows(g, loops, low, high, begin, end);
    add_entries<kDots>(g, low, high, ranges == 1, begin, end);
    end_rows(g, done, low, high, begin, end);
  });
}

template <class S>
Scatter<S> operands(const Coo& a, const Tensor& values, const Tensor& x) {
  Scatter<S> g{};
  g.row = a.row.data<int32_t>();
  g.col = a.col.data<int32_t>();
  g.entries = a.entries();
  g.weight = values ? values.data<Scalar<S>>() : nullptr;
  g.x = x.data<S>();
  g.width = x.size(1);
  g.far = x.bytes() >= kFarBytes;
  return g;
}

/// Only dw.
template <class S>
void dots(const SpmmCooBackwardArgs& args) {
  const int32_t *row = args.a.row.data<int32_t>(), *col = args.a.col.data<int32_t>();
  const S *x = args.x.data<S>(), *dy = args.dy.data<S>();
  Scalar<S>* dw = args.dw.mutable_data<Scalar<S>>();
  const int64_t width = args.x.size(1);
  const bool far = args.x.bytes() >= kFarBytes;
  parallel_for(args.a.entries(), ceil_div(kTask, std::max<int64_t>(width, 16)),
               [=](int64_t chunk_begin, int64_t chunk_end) {
                 for (int64_t e = chunk_begin; e < chunk_end; ++e) dw[e] = Scalar<S>{};
                 for (int64_t batch = chunk_begin; batch < chunk_end; batch += kBatch) {
                   const int64_t end = std::min(chunk_end, batch + kBatch);
                   for_blocks<S>(width, [&]<int B>(int64_t first, int tail) {
                     for (int64_t e = batch; e < end; ++e) {
                       if (far) {
                         const int64_t soon = std::min(e + kSoon, end - 1);
                         prefetch_block<S, B>(x + col[soon] * width + first);
                         prefetch_block<S, B>(dy + row[soon] * width + first);
                       }
                       Vector<S> a[B], b[B], product{};
                       load_block<S, B>(dy + row[e] * width + first, tail, a);
                       load_block<S, B>(x + col[e] * width + first, tail, b);
#pragma GCC unroll 8
                       for (int v = 0; v < B; ++v) product += a[v] * b[v];
                       dw[e] += simd::sum(product);
                     }
                   });
                 }
               });
}

}  // namespace

void spmm_coo(const SpmmCooArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    scatter<false>(operands<S>(args.a, args.values, args.x), args.a.loops, args.a.rows,
                   {args.bias, args.activation == Activation::relu, args.y});
  });
}

void spmm_coo_backward(const SpmmCooBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    if (!args.dx) return dots<S>(args);
    Scatter<S> g = operands<S>(args.a.transposed(), args.values, args.dy);
    g.targets = args.x.data<S>();
    g.dw = args.dw.mutable_data<Scalar<S>>();
    scatter<true>(g, 0, args.a.cols, {kAbsent, false, args.dx});
  });
}

}  // namespace adj::kernels::cpu
