// Reductions over neighbours. A chunk of rows is walked once per block of a few vectors of features, so that
// the state of a row stays in registers over all its entries: maximum and minimum with their columns, and
// sums, plain and of differences to the row's first term. The pieces of a heavy row write theirs to slots,
// which are merged in order. Bytes: every entry's row of features and its column, and every result once.

#include <adjoint/kernels/aggregate/cpu/feature_blocks.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/cpu/row_chunks.h>

#include <cmath>

namespace adj::kernels::cpu {

namespace {

/// Running maximum (or minimum) of a block of features and its column. NaN is kept.
template <class S, int B, bool kLargest>
struct Minmax {
  Vector<S> value[B];
  Columns<S> column[B];

  [[gnu::always_inline]] void begin(const Vector<S> (&term)[B], const Columns<S>& index) {
    for (int k = 0; k < B; ++k) {
      value[k] = term[k];
      column[k] = index;
    }
  }
  [[gnu::always_inline]] void add(int k, const Vector<S>& term, const Columns<S>& index) {
    const auto wins = (kLargest ? ~(term <= value[k]) : ~(term >= value[k])) & (value[k] == value[k]);
    value[k] = wins ? term : value[k];
    column[k] = wins ? index : column[k];
  }
};

/// Σ x, Σ (x - shift) and Σ (x - shift)² of a block of features.
template <class S, int B>
struct Moments {
  Vector<S> shift[B], sum[B], off[B], square[B];

  /// Sums relative to a term of the row, or to 0 if that is not finite and would turn an infinity into NaN.
  [[gnu::always_inline]] void begin(const Vector<S> (&term)[B]) {
    for (int k = 0; k < B; ++k) {
      shift[k] = (term[k] - term[k]) == Vector<S>{} ? term[k] : Vector<S>{};
      sum[k] = off[k] = square[k] = Vector<S>{};
    }
  }
  [[gnu::always_inline]] void add(int k, const Vector<S>& term) {
    const Vector<S> difference = term - shift[k];
    sum[k] += term;
    off[k] += difference;
    square[k] += difference * difference;
  }
};

template <class S>
class Reduction {
  using T = Scalar<S>;

 public:
  explicit Reduction(const NeighborReduceArgs& args)
      : args_(args),
        set_("neighbor_reduce", args.reduce),
        offsets_(args.a.offsets.data<int64_t>()),
        indices_(args.a.indices.data<int32_t>()),
        entries_(args.a.entries()),
        width_(args.x.size(1)),
        far_(args.x.bytes() >= kFarBytes),
        x_(args.x.data<S>()),
        y_(args.y.mutable_data<S>()),
        weight_(args.weight ? args.weight.data<T>() : nullptr),
        order_(args.order ? args.order.data<int32_t>() : nullptr),
        cuts_(row_chunks(args.a)) {
    Tensor largest = args.max_winner, smallest = args.min_winner, mean = args.mean;
    if (largest) max_winner_ = largest.mutable_data<int32_t>();
    if (smallest) min_winner_ = smallest.mutable_data<int32_t>();
    if (mean) mean_ = mean.mutable_data<T>();
    if (cuts_->slots > 0) {
      partial_ = Tensor::empty({kParts * cuts_->slots, width_}, dtype_of<T>());
      partial_winner_ = Tensor::empty({2 * cuts_->slots, width_}, DType::i32);
      parts_ = partial_.mutable_data<T>();
      part_winners_ = partial_winner_.mutable_data<int32_t>();
    }
  }

  template <bool kMax, bool kMin, bool kMoments, bool kWeighted = false>
  void run() {
    constexpr int kMost = kMoments || (kMax && kMin) ? 2 : 4;
    cuts_->for_chunks(chunks_per_task(width_), [&](const RowChunks::Chunk& chunk) {
      for_blocks<S, kMost>(width_, [&]<int B>(int64_t first, int tail) {
        for_rows_of(chunk, offsets_, [&](int64_t i, int64_t begin, int64_t end) {
          State<B, kMax, kMin, kMoments> state;
          collect<kWeighted>(state, i, begin, end, first, tail);
          if (chunk.slot >= 0) {
            leave(state, chunk.slot, first, tail);
          } else {
            finish(state, i, first, tail);
          }
        });
      });
    });
    cuts_->for_heavy(width_, [&](const RowChunks::HeavyRow& row) {
      for_blocks<S, kMost>(width_, [&]<int B>(int64_t first, int tail) {
        State<B, kMax, kMin, kMoments> state;
        merge(state, row, first, tail);
        finish(state, row.row, first, tail);
      });
    });
  }

 private:
  enum Part : int { kLargest, kSmallest, kSum, kOff, kSquare, kParts };

  template <int B, bool kMax, bool kMin, bool kMoments>
  struct State {
    Minmax<S, B, true> largest;
    Minmax<S, B, false> smallest;
    Moments<S, B> moments;
  };

  const S* row(int64_t e) const { return x_ + indices_[e] * width_; }

  /// A block of entry e's term, and the index recorded if it wins.
  template <bool kWeighted, int B>
  [[gnu::always_inline]] Columns<S> load_term(int64_t e, int64_t first, int tail,
                                              Vector<S> (&term)[B]) const {
    load_block<S, B>(row(e) + first, tail, term);
    if constexpr (!kWeighted) return Columns<S>{} + indices_[e];
    const auto place = order_ == nullptr ? static_cast<int32_t>(e) : order_[e];
#pragma GCC unroll 4
    for (int k = 0; k < B; ++k) term[k] *= weight_[place];
    return Columns<S>{} + place;
  }

  template <bool kWeighted, int B, bool kMax, bool kMin, bool kMoments>
  [[gnu::always_inline]] void collect(State<B, kMax, kMin, kMoments>& state, int64_t i, int64_t begin,
                                      int64_t end, int64_t first, int tail) const {
    Vector<S> term[B]{};
    if (begin == end) {
      if constexpr (kMax) state.largest.begin(term, Columns<S>{} - 1);
      if constexpr (kMin) state.smallest.begin(term, Columns<S>{} - 1);
      if constexpr (kMoments) state.moments.begin(term);
      return;
    }
    if constexpr (kMoments) {
      load_block<S, B>(row(offsets_[i]) + first, tail, term);  // the same for all pieces of the row
      state.moments.begin(term);
    }
    const Columns<S> index = load_term<kWeighted>(begin, first, tail, term);
    if constexpr (kMax) state.largest.begin(term, index);
    if constexpr (kMin) state.smallest.begin(term, index);
    for (int64_t e = begin; e < end; ++e) {
      if (far_) prefetch_block<S, B>(row(std::min(e + kAhead, entries_ - 1)) + first);
      const Columns<S> column = load_term<kWeighted>(e, first, tail, term);
#pragma GCC unroll 4
      for (int k = 0; k < B; ++k) {
        if constexpr (kMax) state.largest.add(k, term[k], column);
        if constexpr (kMin) state.smallest.add(k, term[k], column);
        if constexpr (kMoments) state.moments.add(k, term[k]);
      }
    }
  }

  T* part(Part which, int64_t slot, int64_t first) const {
    return parts_ + (which * cuts_->slots + slot) * width_ + first;
  }
  int32_t* part_winner(Part which, int64_t slot, int64_t first) const {
    return part_winners_ + (which * cuts_->slots + slot) * width_ + first;
  }

  template <int B>
  static void store_winners(int32_t* output, int tail, const Columns<S> (&winner)[B]) {
    for (int k = 0; k < B; ++k)
      store_columns<S>(output + k * kLanes<S>, winner[k], k + 1 < B ? kLanes<S> : tail);
  }

  template <int B, class Minmax>
  void leave_minmax(const Minmax& best, Part which, int64_t slot, int64_t first, int tail) const {
    store_block<T, B>(part(which, slot, first), tail, best.value);
    store_winners(part_winner(which, slot, first), tail, best.column);
  }

  template <int B, bool kMax, bool kMin, bool kMoments>
  void leave(const State<B, kMax, kMin, kMoments>& state, int64_t slot, int64_t first, int tail) const {
    if constexpr (kMax) leave_minmax<B>(state.largest, kLargest, slot, first, tail);
    if constexpr (kMin) leave_minmax<B>(state.smallest, kSmallest, slot, first, tail);
    if constexpr (kMoments) {
      store_block<T, B>(part(kSum, slot, first), tail, state.moments.sum);
      store_block<T, B>(part(kOff, slot, first), tail, state.moments.off);
      store_block<T, B>(part(kSquare, slot, first), tail, state.moments.square);
    }
  }

  template <int B, class Minmax>
  void merge_minmax(Minmax& best, Part which, const RowChunks::HeavyRow& row, int64_t first, int tail) const {
    const auto columns = [&](int64_t slot, int k) {
      return load_columns<S>(part_winner(which, slot, first + k * kLanes<S>), k + 1 < B ? kLanes<S> : tail);
    };
    load_block<T, B>(part(which, row.slot_begin, first), tail, best.value);
    for (int k = 0; k < B; ++k) best.column[k] = columns(row.slot_begin, k);
    for (int64_t slot = row.slot_begin + 1; slot < row.slot_end; ++slot) {
      Vector<S> value[B];
      load_block<T, B>(part(which, slot, first), tail, value);
      for (int k = 0; k < B; ++k) best.add(k, value[k], columns(slot, k));
    }
  }

  template <int B, bool kMax, bool kMin, bool kMoments>
  void merge(State<B, kMax, kMin, kMoments>& state, const RowChunks::HeavyRow& row, int64_t first,
             int tail) const {
    if constexpr (kMax) merge_minmax<B>(state.largest, kLargest, row, first, tail);
    if constexpr (kMin) merge_minmax<B>(state.smallest, kSmallest, row, first, tail);
    if constexpr (kMoments) {
      Vector<S> of_piece[B];
      load_block<S, B>(this->row(offsets_[row.row]) + first, tail, of_piece);
      state.moments.begin(of_piece);
      for (int64_t slot = row.slot_begin; slot < row.slot_end; ++slot) {
        const auto add = [&](Part which, Vector<S>(&total)[B]) {
          load_block<T, B>(part(which, slot, first), tail, of_piece);
          for (int k = 0; k < B; ++k) total[k] += of_piece[k];
        };
        add(kSum, state.moments.sum);
        add(kOff, state.moments.off);
        add(kSquare, state.moments.square);
      }
    }
  }

  /// √v, or 0 if v is not above the smallest variance; NaN is kept.
  static Vector<S> root(const Vector<S>& v) {
    T lane[kLanes<S>];
    std::memcpy(lane, &v, sizeof v);
#pragma omp simd
    for (int l = 0; l < kLanes<S>; ++l) lane[l] = std::sqrt(lane[l]);
    Vector<S> roots;
    std::memcpy(&roots, lane, sizeof v);
    return v <= T(kSmallestVariance) ? Vector<S>{} : roots;
  }

  template <int B>
  void write(Reduce reduce, int64_t i, int64_t first, int tail, const Vector<S> (&value)[B]) const {
    if (set_.has(reduce))
      store_block<S, B>(y_ + (i * set_.count + set_[reduce]) * width_ + first, tail, value);
  }

  template <int B, class Minmax>
  void finish_minmax(const Minmax& best, Reduce reduce, int32_t* winner, int64_t i, int64_t first,
                     int tail) const {
    write<B>(reduce, i, first, tail, best.value);
    if (winner != nullptr) store_winners(winner + i * width_ + first, tail, best.column);
  }

  template <int B, bool kMax, bool kMin, bool kMoments>
  void finish(const State<B, kMax, kMin, kMoments>& state, int64_t i, int64_t first, int tail) const {
    const int64_t length = offsets_[i + 1] - offsets_[i];
    if constexpr (kMax) finish_minmax<B>(state.largest, Reduce::max, max_winner_, i, first, tail);
    if constexpr (kMin) finish_minmax<B>(state.smallest, Reduce::min, min_winner_, i, first, tail);
    if constexpr (kMoments) {
      Vector<S> sum[B]{}, mean[B]{}, variance[B]{}, deviation[B]{};
      const T count = static_cast<T>(length);
      for (int k = 0; k < B && length > 0; ++k) {
        const Moments<S, B>& moments = state.moments;
        const Vector<S> off = moments.off[k] / count;
        sum[k] = moments.sum[k];
        mean[k] = sum[k] / count;
        variance[k] = simd::relu(moments.square[k] / count - off * off);
        deviation[k] = root(variance[k]);
      }
      write<B>(Reduce::sum, i, first, tail, sum);
      write<B>(Reduce::mean, i, first, tail, mean);
      write<B>(Reduce::var, i, first, tail, variance);
      write<B>(Reduce::std, i, first, tail, deviation);
      if (mean_ != nullptr) store_block<T, B>(mean_ + i * width_ + first, tail, mean);
    }
  }

  const NeighborReduceArgs& args_;
  ReductionSet set_;
  const int64_t* offsets_;
  const int32_t* indices_;
  int64_t entries_, width_;
  bool far_;
  const S* x_;
  S* y_;
  const T* weight_;
  const int32_t* order_;
  std::shared_ptr<const RowChunks> cuts_;
  int32_t *max_winner_ = nullptr, *min_winner_ = nullptr;
  T* mean_ = nullptr;
  Tensor partial_, partial_winner_;
  T* parts_ = nullptr;
  int32_t* part_winners_ = nullptr;
};

}  // namespace

void neighbor_reduce(const NeighborReduceArgs& args) {
  const ReductionSet set("neighbor_reduce", args.reduce);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    Reduction<S> reduction(args);
    if (args.weight)
      return set.has(Reduce::max) ? reduction.template run<true, false, false, true>()
                                  : reduction.template run<false, true, false, true>();
    if (set.has_moments()) {
      if (set.has(Reduce::max) || set.has(Reduce::min)) return reduction.template run<true, true, true>();
      return reduction.template run<false, false, true>();
    }
    if (!set.has(Reduce::min)) return reduction.template run<true, false, false>();
    if (!set.has(Reduce::max)) return reduction.template run<false, true, false>();
    reduction.template run<true, true, false>();
  });
}

}  // namespace adj::kernels::cpu
