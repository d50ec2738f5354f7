// Softmax over in-edges: the exponentials of a row, less its maximum, are written to the output while they
// are summed, then scaled there, so that each is computed once. A heavy row's pieces have separate maxima
// until merged. Bytes: the logits read, the output written and, for short rows, scaled in the cache.
#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/cpu/vector_math.h>
#include <adjoint/kernels/edge/cpu/edge_rows.h>
#include <adjoint/kernels/edge/edge.h>

#include <limits>

namespace adj::kernels::cpu {

namespace {

template <class S>
struct Softmax {
  using T = Accumulator<S>;
  EntryPlaces place;
  const S* e;
  T* y;

  // Per head the maximum logit, then the sums of exponentials.
  int64_t numbers() const { return 2 * place.heads; }

  void collect(int64_t begin, int64_t end, T* result) const {
    const int64_t heads = place.heads, count = (end - begin) * heads;
    T *largest = result, *sum = result + heads;
    // The lowest finite number instead of -inf, so that differences to -inf are defined.
    std::fill_n(largest, heads, std::numeric_limits<T>::lowest());
    if (place.in_order()) {
      shift(begin, end, largest, y + begin * heads);
      exponentials(count, y + begin * heads);
    } else {
      static thread_local std::vector<T> buffer;
      buffer.resize(static_cast<size_t>(count));
      shift(begin, end, largest, buffer.data());
      exponentials(count, buffer.data());
      for (int64_t k = begin; k < end; ++k)
        std::copy_n(buffer.data() + (k - begin) * heads, heads, y + place(k));
    }
    sum_by_head(
        place, begin, end, [output = y](int64_t i) { return output[i]; }, sum);
  }
  void merge(const T* parts, int64_t count, T* result) const {
    const int64_t heads = place.heads;
    for (int64_t h = 0; h < heads; ++h) {
      T largest = parts[h], sum = 0;
      for (int64_t p = 1; p < count; ++p) largest = std::max(largest, parts[2 * p * heads + h]);
      for (int64_t p = 0; p < count; ++p)
        sum += parts[(2 * p + 1) * heads + h] * fast_exp(parts[2 * p * heads + h] - largest);
      result[h] = largest;
      result[heads + h] = sum;
    }
  }
  void finish_row(int64_t, const T*) const {}
  void finish(int64_t begin, int64_t end, const T* piece, const T* row) const {
    const int64_t heads = place.heads;
    if (heads == 1 && place.in_order()) {
      const T factor = fast_exp(piece[0] - row[0]) / row[1];
      T* output = y;
#pragma omp simd
      for (int64_t k = begin; k < end; ++k) output[k] *= factor;
      return;
    }
    static thread_local std::vector<T> factor;
    factor.resize(static_cast<size_t>(heads));
    for (int64_t h = 0; h < heads; ++h)
      factor[static_cast<size_t>(h)] = fast_exp(piece[h] - row[h]) / row[heads + h];
    const T* factors = factor.data();
    for (int64_t k = begin; k < end; ++k) {
      T* output = y + place(k);
#pragma omp simd
      for (int64_t h = 0; h < heads; ++h) output[h] *= factors[h];
    }
  }

 private:
  /// Finds the maxima; z = e less these, contiguous by entry.
  void shift(int64_t begin, int64_t end, T* largest, T* z) const {
    const int64_t heads = place.heads;
    if (heads == 1 && place.in_order()) {
      const S* input = e + begin;
      T top = largest[0];
#pragma omp simd reduction(max : top)
      for (int64_t k = 0; k < end - begin; ++k) {
        const T logit = widen(input[k]);
        top = logit > top ? logit : top;
      }
      largest[0] = top;
#pragma omp simd
      for (int64_t k = 0; k < end - begin; ++k) z[k] = widen(input[k]) - top;
      return;
    }
    for (int64_t k = begin; k < end; ++k) {
      const S* input = e + place(k);
#pragma omp simd
      for (int64_t h = 0; h < heads; ++h) {
        const T logit = widen(input[h]);
        largest[h] = logit > largest[h] ? logit : largest[h];
      }
    }
    for (int64_t k = begin; k < end; ++k) {
      const S* input = e + place(k);
      T* output = z + (k - begin) * heads;
#pragma omp simd
      for (int64_t h = 0; h < heads; ++h) output[h] = widen(input[h]) - largest[h];
    }
  }
  static void exponentials(int64_t n, T* z) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) z[i] = fast_exp(z[i]);
  }
};

template <class S>
struct SoftmaxBackward {
  using T = Accumulator<S>;
  EntryPlaces place;
  const T* y;
  const T* dy;
  S* de;

  int64_t numbers() const { return place.heads; }
  void collect(int64_t begin, int64_t end, T* sums) const {
    sum_by_head(
        place, begin, end, [a = y, b = dy](int64_t i) { return a[i] * b[i]; }, sums);
  }
  void merge(const T* parts, int64_t count, T* sums) const { add_parts(parts, count, place.heads, sums); }
  void finish_row(int64_t, const T*) const {}
  void finish(int64_t begin, int64_t end, const T*, const T* dot) const {
    const int64_t heads = place.heads;
    const T *a = y, *b = dy;
    S* output = de;
    if (heads == 1 && place.in_order()) {
      const T mean = dot[0];
#pragma omp simd
      for (int64_t k = begin; k < end; ++k) output[k] = narrow<S>(a[k] * (b[k] - mean));
      return;
    }
    for (int64_t k = begin; k < end; ++k) {
      const int64_t base = place(k);
#pragma omp simd
      for (int64_t h = 0; h < heads; ++h) output[base + h] = narrow<S>(a[base + h] * (b[base + h] - dot[h]));
    }
  }
};

// l_i + r_j for every edge, and its gradient, the sums over a row's edges. Bytes: [M,H] once, the nodes'
// terms once per edge, from the cache if they fit.

template <class S>
using Scalar = typename simd::Accumulate<S>::Scalar;

template <class S>
struct RowSums {
  EntryPlaces place;
  const Scalar<S>* e;
  S* y;

  int64_t numbers() const { return place.heads; }
  void collect(int64_t begin, int64_t end, Scalar<S>* sums) const {
    sum_by_head(
        place, begin, end, [values = e](int64_t i) { return values[i]; }, sums);
  }
  void merge(const Scalar<S>* parts, int64_t count, Scalar<S>* sums) const {
    add_parts(parts, count, place.heads, sums);
  }
  void finish_row(int64_t row, const Scalar<S>* sums) const {
    for (int64_t h = 0; h < place.heads; ++h) y[row * place.heads + h] = static_cast<S>(sums[h]);
  }
  void finish(int64_t, int64_t, const Scalar<S>*, const Scalar<S>*) const {}
};

}  // namespace

void edge_softmax(const EdgeSoftmaxArgs& args) {
  dispatch_features(args.e.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const EntryPlaces place(args.a, args.e);
    reduce_rows<T>(args.a.csr, place.heads, Softmax<S>{place, args.e.data<S>(), args.y.mutable_data<T>()});
  });
}

void edge_softmax_backward(const EdgeSoftmaxBackwardArgs& args) {
  dispatch_features(args.de.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const EntryPlaces place(args.a, args.y);
    reduce_rows<T>(args.a.csr, place.heads,
                   SoftmaxBackward<S>{place, args.y.data<T>(), args.dy.data<T>(), args.de.mutable_data<S>()});
  });
}

void edge_add(const EdgeAddArgs& args) {
  dispatch_features(args.l.dtype(), [&]<class S>() {
    const std::shared_ptr<const RowChunks> cuts = row_chunks(args.a.csr);
    const EntryPlaces place(args.a, args.e);
    const int64_t heads = place.heads;
    const int64_t* offsets = args.a.csr.offsets.data<int64_t>();
    const int32_t* indices = args.a.csr.indices.data<int32_t>();
    const S *l = args.l.data<S>(), *r = args.r.data<S>();
    auto* e = args.e.mutable_data<Scalar<S>>();
    for_chunks(*cuts, args.a.csr.entries() * heads, kGrain, [&](const RowChunks::Chunk& chunk) {
      for_rows_of(chunk, offsets, [&](int64_t i, int64_t begin, int64_t end) {
        const S* target = l + i * heads;
        for (int64_t k = begin; k < end; ++k) {
          const S* source = r + indices[k] * heads;
          auto* sum = e + place(k);
#pragma omp simd
          for (int64_t h = 0; h < heads; ++h)
            sum[h] = static_cast<Scalar<S>>(target[h]) + static_cast<Scalar<S>>(source[h]);
        }
      });
    });
  });
}

void edge_sum(const EdgeSumArgs& args) {
  dispatch_features(args.y.dtype(), [&]<class S>() {
    const EntryPlaces place(args.a, args.e);
    reduce_rows<Scalar<S>>(args.a.csr, place.heads,
                           RowSums<S>{place, args.e.data<Scalar<S>>(), args.y.mutable_data<S>()});
  });
}

}  // namespace adj::kernels::cpu
