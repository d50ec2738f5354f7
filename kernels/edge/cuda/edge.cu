// Softmax over in-edges. One read of the row finds the maximum logit and the sum of exponentials (each lane
// rescales its sum on a larger logit); a second read, mostly from L1, writes the output. Backward recomputes
// nothing: it needs only the saved output. Elements moved: forward 2 x M x H (e read, y written), backward 3
// x M x H (y, dy read, de written), row offsets, and M more if the structure has an order.
#include <adjoint/kernels/edge/cuda/edge_rows.cuh>
#include <adjoint/kernels/edge/edge.h>

#include <limits>
#include <type_traits>

namespace adj::kernels::cuda {

namespace {

template <class S>
struct Softmax {
  using T = Accumulator<S>;
  EntryPlaces place;
  T lowest;  // finite, so that differences to -inf are defined
  const S* e;
  T* y;

  template <class Team>
  __device__ void row(const Team& team, const EntryRange& range) const {
    T largest = lowest, sum = 0;
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step()) {
      const T value = widen(e[place(k, range.head)]);
      if (value > largest) {
        sum = sum * exp(largest - value) + T(1);
        largest = value;
      } else {
        sum += exp(value - largest);
      }
    }
    const T top = team.reduce(largest, Larger{});
    const T total = team.reduce(sum * exp(largest - top), Add{});
    const T factor = T(1) / total;
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step()) {
      const int64_t index = place(k, range.head);
      y[index] = exp(widen(e[index]) - top) * factor;
    }
  }
};

template <class S>
struct SoftmaxBackward {
  using T = Accumulator<S>;
  EntryPlaces place;
  const T* y;
  const T* dy;
  S* de;

  template <class Team>
  __device__ void row(const Team& team, const EntryRange& range) const {
    T dot = 0;
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step()) {
      const int64_t index = place(k, range.head);
      dot += y[index] * dy[index];
    }
    dot = team.reduce(dot, Add{});
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step()) {
      const int64_t index = place(k, range.head);
      de[index] = narrow<S>(y[index] * (dy[index] - dot));
    }
  }
};

// l_i + r_j for every edge, and its gradient, the sums over a row's edges (over the transposed structure for
// sources): nothing is saved, no atomics. Bytes: edge_add writes M x H and reads, per edge, its column and
// the source's H terms (from L2 if they fit), and the targets' terms once; edge_sum reads M x H. Both read 4
// M more if the structure has an order.

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

void edge_softmax(const EdgeSoftmaxArgs& args) {
  dispatch_features(args.e.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const EntryPlaces place(args.a, args.e);
    map_edge_rows(
        "edge_softmax", args.a.csr, place.heads,
        Softmax<S>{place, std::numeric_limits<T>::lowest(), args.e.data<S>(), args.y.mutable_data<T>()});
  });
}

void edge_softmax_backward(const EdgeSoftmaxBackwardArgs& args) {
  dispatch_features(args.de.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const EntryPlaces place(args.a, args.y);
    map_edge_rows("edge_softmax_backward", args.a.csr, place.heads,
                  SoftmaxBackward<S>{place, args.y.data<T>(), args.dy.data<T>(), args.de.mutable_data<S>()});
  });
}

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
