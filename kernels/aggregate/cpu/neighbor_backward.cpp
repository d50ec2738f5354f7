// Scatter: each result's gradient is added to its winner. Threads split the columns and each visits the rows
// in order, so that every sum is in row order for any number of threads. Bytes: winners and gradients once,
// and a random row of dx for every result, element by element.
//
// Gather: each source loops over its out-edges and sums what it won, a vector at a time; parallel edges are
// skipped. Bytes: a row of winners and one of gradients for every entry. With weighted terms an edge takes
// what it won itself, times its weight.
#include <adjoint/kernels/aggregate/ascending_rows.h>
#include <adjoint/kernels/aggregate/cpu/feature_blocks.h>
#include <adjoint/kernels/aggregate/neighbor_backward.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/cpu/row_chunks.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kColumns = 16;       // a cache line of float32: no two threads write the same line
constexpr int64_t kNarrow = 64;        // fewer columns are split in half lines
constexpr int64_t kFewWinners = 4096;  // fewer results run on one thread

template <class S>
void add_to_winners(const NeighborMinmaxBackwardArgs& args, Accumulator<S>* sums) {
  const int64_t rows = args.dy.size(0), width = args.dx.size(1), pitch = args.dy.size(1);
  const int32_t* winner = args.winner.data<int32_t>();
  const S* dy = args.dy.data<S>() + args.part * width;
  const int64_t grain = rows * width <= kFewWinners ? width : width < kNarrow ? kColumns / 2 : kColumns;
  parallel_for(width, grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows; ++i) {
      const int32_t* won = winner + i * width;
      const S* dy_row = dy + i * pitch;
      for (int64_t f = begin; f < end; ++f)
        if (won[f] >= 0) sums[won[f] * width + f] += widen(dy_row[f]);
    }
  });
}

template <class S>
void scatter(const NeighborMinmaxBackwardArgs& args) {
  S* dx = args.dx.mutable_data<S>();
  if constexpr (std::is_same_v<S, Accumulator<S>>) {
    if (!args.accumulate) args.dx.zero_();
    add_to_winners<S>(args, dx);
  } else {
    Tensor accumulators = Tensor::zeros(args.dx.shape(), dtype_of<Accumulator<S>>());
    Accumulator<S>* sums = accumulators.mutable_data<Accumulator<S>>();
    add_to_winners<S>(args, sums);
    const bool accumulate = args.accumulate;
    map<S>(args.dx.numel(), dx, [=](int64_t k) { return accumulate ? widen(dx[k]) + sums[k] : sums[k]; });
  }
}

template <class S, bool kWeighted>
void gather(const NeighborMinmaxBackwardArgs& args) {
  using T = Scalar<S>;
  const Csr& transposed = *args.transposed;
  const int64_t width = args.dx.size(1), pitch = args.dy.size(1), entries = transposed.entries();
  const int64_t* offsets = transposed.offsets.data<int64_t>();
  const int32_t* indices = transposed.indices.data<int32_t>();
  const int32_t* winner = args.winner.data<int32_t>();
  const S* dy = args.dy.data<S>() + args.part * width;
  [[maybe_unused]] const T* weight = kWeighted ? args.weight.data<T>() : nullptr;
  [[maybe_unused]] const int32_t* order = kWeighted && args.order ? args.order.data<int32_t>() : nullptr;
  S* dx = args.dx.mutable_data<S>();
  const bool accumulate = args.accumulate, far = args.winner.bytes() >= kFarBytes;
  const std::shared_ptr<const RowChunks> cuts = row_chunks(transposed);
  Tensor scratch = Tensor::empty({cuts->slots, width}, dtype_of<T>());
  T* partial = scratch.mutable_data<T>();
  const auto finish = [=]<int B>(int64_t j, int64_t first, int tail, Vector<S>(&sum)[B]) {
    S* output = dx + j * width + first;
    if (accumulate) {
      Vector<S> before[B];
      load_block<S, B>(output, tail, before);
      for (int k = 0; k < B; ++k) sum[k] += before[k];
    }
    store_block<S, B>(output, tail, sum);
  };
  cuts->for_chunks(chunks_per_task(width), [&](const RowChunks::Chunk& chunk) {
    for_blocks<S>(width, [&]<int B>(int64_t first, int tail) {
      for_rows_of(chunk, offsets, [&](int64_t j, int64_t begin, int64_t end) {
        Columns<S> mine = Columns<S>{} + static_cast<int32_t>(j);
        Vector<S> sum[B]{};
        for (int64_t e = begin; e < end; ++e) {
          if (far) {
            const int64_t ahead = indices[std::min(e + kAhead, entries - 1)];
            prefetch_block<int32_t, B>(winner + ahead * width + first);
            prefetch_block<S, B>(dy + ahead * pitch + first);
          }
          [[maybe_unused]] T share = 1;
          if constexpr (kWeighted) {
            const auto place = order == nullptr ? static_cast<int32_t>(e) : order[e];
            mine = Columns<S>{} + place;
            share = weight[place];
          } else if (e > offsets[j] && indices[e] == indices[e - 1]) {
            continue;
          }
          const int32_t* won = winner + indices[e] * width + first;
          Vector<S> gradient[B];
          load_block<S, B>(dy + indices[e] * pitch + first, tail, gradient);
#pragma GCC unroll 8
          for (int k = 0; k < B; ++k) {
            const Columns<S> who = load_columns<S>(won + k * kLanes<S>, k + 1 < B ? kLanes<S> : tail);
            if constexpr (kWeighted) gradient[k] *= share;
            sum[k] += who == mine ? gradient[k] : Vector<S>{};
          }
        }
        if (chunk.slot >= 0) {
          store_block<T, B>(partial + chunk.slot * width + first, tail, sum);
        } else {
          finish.template operator()<B>(j, first, tail, sum);
        }
      });
    });
  });
  cuts->for_heavy(width, [&](const RowChunks::HeavyRow& row) {
    for_blocks<S>(width, [&]<int B>(int64_t first, int tail) {
      Vector<S> sum[B]{}, of_piece[B];
      for (int64_t slot = row.slot_begin; slot < row.slot_end; ++slot) {
        load_block<T, B>(partial + slot * width + first, tail, of_piece);
        for (int k = 0; k < B; ++k) sum[k] += of_piece[k];
      }
      finish.template operator()<B>(row.row, first, tail, sum);
    });
  });
}

}  // namespace

void neighbor_minmax_backward(const NeighborMinmaxBackwardArgs& args) {
  if (args.dx.numel() == 0) return;
  if (parallel_entries_apart(args)) {
    const Csr transposed = with_ascending_rows(*args.transposed, transpose);
    NeighborMinmaxBackwardArgs again = args;
    again.transposed = &transposed;
    return cpu::neighbor_minmax_backward(again);  // not the dispatching entry
  }
  dispatch_features(args.dx.dtype(), [&]<class S>() {
    if (args.weight) return gather<S, true>(args);
    args.transposed != nullptr ? gather<S, false>(args) : scatter<S>(args);
  });
}

// Bytes: per edge a row of winners, one of gradients and one of features, most of which belong to other
// edges.
void minmax_weight_gradient(const MinmaxWeightGradientArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t width = args.x.size(1);
    const int32_t *row = args.a.row.data<int32_t>(), *col = args.a.col.data<int32_t>();
    const int32_t* winner = args.winner.data<int32_t>();
    const S *dy = args.dy.data<S>(), *x = args.x.data<S>();
    T* dw = args.dw.mutable_data<T>();
    for_rows(args.a.entries(), width, [=](int64_t e) {
      const int32_t* won = winner + row[e] * width;
      const S *dy_row = dy + row[e] * width, *x_row = x + col[e] * width;
      const auto mine = static_cast<int32_t>(e);
      dw[e] = sum_of<T>(
          width, [=](int64_t f) { return won[f] == mine ? widen(dy_row[f]) * widen(x_row[f]) : T{0}; });
    });
  });
}

// Elementwise. Bytes: the operands of the terms, once.
void moment_terms(const MomentTermsArgs& args) {
  const ReductionSet set("moment_terms", args.reduce);
  dispatch_features(args.dy.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t width = args.dy.size(1) / set.count, out = args.terms.size(1);
    const int64_t* offsets = args.a.offsets.data<int64_t>();
    const S* dy = args.dy.data<S>();
    const S* y = set.has(Reduce::std) ? args.y.data<S>() : nullptr;
    const T* mean = set.has_spread() ? args.mean.data<T>() : nullptr;
    T* terms = args.terms.mutable_data<T>();
    for_rows(args.a.rows, width * set.count, [=](int64_t i) {
      const int64_t length = offsets[i + 1] - offsets[i];
      const T share = length > 0 ? T(1) / static_cast<T>(length) : T(0);
      const auto part = [&](const S* matrix, Reduce reduce) {
        return set.has(reduce) ? matrix + (i * set.count + set[reduce]) * width : nullptr;
      };
      const S *of_sum = part(dy, Reduce::sum), *of_mean = part(dy, Reduce::mean),
              *of_var = part(dy, Reduce::var), *of_std = part(dy, Reduce::std);
      const S* deviation = part(y, Reduce::std);
      T* p = terms + i * out;
      for (int64_t f = 0; f < width; ++f) {
        T first = 0, second = 0;
        if (of_sum != nullptr && length > 0) first += widen(of_sum[f]);
        if (of_mean != nullptr) first += share * widen(of_mean[f]);
        if (of_var != nullptr) second += 2 * share * widen(of_var[f]);
        if (of_std != nullptr) {
          const T root = widen(deviation[f]);
          if (root != T(0)) second += share * widen(of_std[f]) / root;
        }
        if (mean != nullptr) {
          first -= second * mean[i * width + f];
          p[width + f] = second;
        }
        p[f] = first;
      }
    });
  });
}

void moments_gradient(const MomentsGradientArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const int64_t width = args.x.size(1);
    const S* x = args.x.data<S>();
    const Accumulator<S>* sums = args.sums.data<Accumulator<S>>();
    S* dx = args.dx.mutable_data<S>();
    for_rows(args.x.size(0), width, [=](int64_t j) {
      const Accumulator<S>* sum = sums + j * 2 * width;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f)
        dx[j * width + f] = narrow<S>(sum[f] + widen(x[j * width + f]) * sum[width + f]);
    });
  });
}

}  // namespace adj::kernels::cpu
