// Row counts and sums over an unsorted list: integers by atomics, weights in fixed point (spmm_coo.cu),
// bitwise reproducible. Bytes: the list once per pass below, and one atomic of 4 bytes (8 with weights) per
// entry, in L2.
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/edge/cuda/edge_rows.cuh>

namespace adj::kernels::cuda {

namespace {

template <class T>
struct DivideByDegree {
  const int32_t* row;
  const float* degree;
  const T* w;
  T* y;

  __device__ void operator()(int64_t e) const {
    const T share = T(1) / static_cast<T>(degree[row[e]]);
    y[e] = w == nullptr ? share : share * w[e];
  }
};

// Bytes: M x H written, and read if there are weights.
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

template <class T>
struct MeanFactor {
  const int64_t* offsets;
  T* factor;
  __device__ void operator()(int64_t i) const {
    const int64_t count = offsets[i + 1] - offsets[i];
    factor[i] = count > 0 ? T{1} / static_cast<T>(count) : T{0};
  }
};

}  // namespace

void coo_degrees(const CooDegreesArgs& args) {
  const int device = args.y.device().index;
  const int32_t* row = args.row.data<int32_t>();
  args.y.zero_();
  auto* count = static_cast<unsigned*>(args.y.raw_mutable_data());
  float* y = args.y.mutable_data<float>();
  for_each("coo_degrees", device, args.row.numel(),
           [=] __device__(int64_t e) { atomicAdd(count + row[e], 1u); });
  // In-place: integer and float have the same size.
  for_each("coo_degrees", device, args.y.numel(),
           [=] __device__(int64_t i) { y[i] = static_cast<float>(__float_as_uint(y[i])); });
}

void coo_mean(const CooMeanArgs& args) {
  dispatch_float(args.y.dtype(), "coo_mean", [&]<class T>() {
    for_each("coo_mean", args.y.device().index, args.y.numel(),
             DivideByDegree<T>{args.row.data<int32_t>(), args.degree.data<float>(), data_or_null<T>(args.w),
                               args.y.mutable_data<T>()});
  });
}

void coo_gcn_normalize(const CooGcnNormalizeArgs& args) {
  const Device device = args.a.device();
  const int64_t rows = args.a.rows, entries = args.a.entries() - args.a.loops;
  const bool completes = args.a.loops > 0;
  const int32_t *row = args.a.row.data<int32_t>(), *col = args.a.col.data<int32_t>();
  const float* values = data_or_null<float>(args.values);
  float* weights = args.weights.mutable_data<float>();
  const float fill = args.fill;
  Tensor loops = Tensor::zeros({completes ? rows : 0}, DType::i32, device);
  Tensor ones = Tensor::empty({rows, 1}, DType::f32, device);
  int32_t* loop = loops.mutable_data<int32_t>();
  float *one = ones.mutable_data<float>(), *of_loop = weights + entries;
  // The index of each node's last loop plus 1, and the entries' values without loops.
  for_each("coo_gcn_normalize", device.index, entries, [=] __device__(int64_t e) {
    const bool drops = completes && row[e] == col[e];
    if (drops) atomicMax(loop + row[e], static_cast<int32_t>(e) + 1);
    weights[e] = drops ? 0.0f : values == nullptr ? 1.0f : values[e];
  });
  // Each node's loop value after the entries, and ones for the sums.
  for_each("coo_gcn_normalize", device.index, rows, [=] __device__(int64_t i) {
    one[i] = 1.0f;
    if (completes) of_loop[i] = loop[i] == 0 ? fill : values == nullptr ? 1.0f : values[loop[i] - 1];
  });
  Tensor degrees = args.degree.reshape({rows, 1});
  spmm_coo({.a = args.a, .values = args.weights, .x = ones, .y = degrees});
  const float* degree = degrees.data<float>();
  for_each("coo_gcn_normalize", device.index, args.weights.numel(), [=] __device__(int64_t e) {
    const float d_i = degree[e < entries ? row[e] : e - entries];
    const float d_j = degree[e < entries ? col[e] : e - entries];
    // Two roots instead of one of the product, which may overflow.
    weights[e] = d_i > 0.0f && d_j > 0.0f ? weights[e] / (sqrtf(d_i) * sqrtf(d_j)) : 0.0f;
  });
}

void mean_factors(const MeanFactorsArgs& args) {
  dispatch_float(args.y.dtype(), "mean_factors", [&]<class T>() {
    for_each("mean_factors", args.y.device().index, args.a.rows,
             MeanFactor<T>{args.a.offsets.data<int64_t>(), args.y.mutable_data<T>()});
  });
}

void edge_mean(const EdgeMeanArgs& args) {
  dispatch_float(args.y.dtype(), "edge_mean", [&]<class T>() {
    const EntryPlaces place(args.a, args.y);
    map_edge_rows("edge_mean", args.a.csr, place.heads,
                  Mean<T>{place, data_or_null<T>(args.w), args.y.mutable_data<T>()});
  });
}

}  // namespace adj::kernels::cuda
