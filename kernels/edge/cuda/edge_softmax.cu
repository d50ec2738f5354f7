// Softmax over in-edges. One read of the row finds the maximum logit and the sum of exponentials (each lane
// rescales its sum on a larger logit); a second read, mostly from L1, writes the output. Backward recomputes
// nothing: it needs only the saved output. Elements moved: forward 2 x M x H (e read, y written), backward 3
// x M x H (y, dy read, de written), row offsets, and M more if the structure has an order.

#include <adjoint/kernels/edge/cuda/edge_rows.cuh>
#include <adjoint/kernels/edge/edge_softmax.h>

#include <limits>

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

}  // namespace adj::kernels::cuda
