// l_i + r_j for every edge, and its gradient, the sums over a row's edges (over the transposed structure for
// sources): nothing is saved, no atomics. Bytes: edge_add writes M x H and reads, per edge, its column and
// the source's H terms (from L2 if they fit), and the targets' terms once; edge_sum reads M x H. Both read 4
// M more if the structure has an order.

#include <adjoint/kernels/edge/cuda/edge_rows.cuh>
#include <adjoint/kernels/edge/edge_add.h>

#include <type_traits>

namespace adj::kernels::cuda {

namespace {

template <class S>
using OfEdges = std::conditional_t<std::is_same_v<S, bfloat16>, float, S>;

template <class S>
struct AddTerms {
  EntryPlaces place;
  const int32_t* indices;
  const S* l;
  const S* r;
  OfEdges<S>* e;

  template <class Team>
  __device__ void row(const Team& team, const EntryRange& range) const {
    using T = OfEdges<S>;
    if (range.row < 0) return;
    const T target = static_cast<T>(l[range.row * place.heads + range.head]);
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step())
      e[place(k, range.head)] =
          target + static_cast<T>(r[static_cast<int64_t>(__ldg(indices + k)) * place.heads + range.head]);
  }
};

template <class S>
struct SumEdges {
  EntryPlaces place;
  const OfEdges<S>* e;
  S* y;

  template <class Team>
  __device__ void row(const Team& team, const EntryRange& range) const {
    OfEdges<S> sum = 0;
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step())
      sum += e[place(k, range.head)];
    sum = team.reduce(sum, Add{});
    if (range.row >= 0 && team.first() == 0) y[range.row * place.heads + range.head] = static_cast<S>(sum);
  }
};

}  // namespace

void edge_add(const EdgeAddArgs& args) {
  dispatch_features(args.l.dtype(), [&]<class S>() {
    const EntryPlaces place(args.a, args.e);
    map_edge_rows("edge_add", args.a.csr, place.heads,
                  AddTerms<S>{place, args.a.csr.indices.data<int32_t>(), args.l.data<S>(), args.r.data<S>(),
                              args.e.mutable_data<OfEdges<S>>()});
  });
}

void edge_sum(const EdgeSumArgs& args) {
  dispatch_features(args.y.dtype(), [&]<class S>() {
    const EntryPlaces place(args.a, args.e);
    map_edge_rows("edge_sum", args.a.csr, place.heads,
                  SumEdges<S>{place, args.e.data<OfEdges<S>>(), args.y.mutable_data<S>()});
  });
}

}  // namespace adj::kernels::cuda
