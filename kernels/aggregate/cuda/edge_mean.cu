// Bytes: M x H written, and read if there are weights.

#include <adjoint/kernels/aggregate/edge_mean.h>
#include <adjoint/kernels/edge/cuda/edge_rows.cuh>

namespace adj::kernels::cuda {

namespace {

template <class T>
struct Mean {
  EntryPlaces place;
  const T* w;  // null: ones
  T* y;

  template <class Team>
  __device__ void row(const Team& team, const EntryRange& range) const {
    if (range.row < 0) return;
    const T share = T(1) / static_cast<T>(max(range.end - range.begin, int64_t{1}));
    for (int64_t k = range.begin + team.first(); k < range.end; k += team.step()) {
      const int64_t index = place(k, range.head);
      y[index] = w == nullptr ? share : share * w[index];
    }
  }
};

}  // namespace

void edge_mean(const EdgeMeanArgs& args) {
  dispatch_float(args.y.dtype(), "edge_mean", [&]<class T>() {
    const EntryPlaces place(args.a, args.y);
    map_edge_rows("edge_mean", args.a.csr, place.heads,
                  Mean<T>{place, data_or_null<T>(args.w), args.y.mutable_data<T>()});
  });
}

}  // namespace adj::kernels::cuda
