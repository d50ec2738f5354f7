// l_i + r_j for every edge, and its gradient, the sums over a row's edges. Bytes: [M,H] once, the nodes'
// terms once per edge, from the cache if they fit.

#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/edge/cpu/edge_rows.h>
#include <adjoint/kernels/edge/edge_add.h>

namespace adj::kernels::cpu {

namespace {

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
