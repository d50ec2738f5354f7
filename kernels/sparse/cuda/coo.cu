// Row counts and sums over an unsorted list: integers by atomics, weights in fixed point (spmm_coo.cu),
// bitwise reproducible. Bytes: the list once per pass below, and one atomic of 4 bytes (8 with weights) per
// entry, in L2.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/sparse/coo.h>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

__device__ int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__global__ void count_rows(const int32_t* row, int64_t entries, unsigned* count) {
  if (const int64_t e = thread_index(); e < entries) atomicAdd(count + row[e], 1u);
}

/// In-place: integer and float have the same size.
__global__ void counts_to_float(int64_t rows, float* y) {
  if (const int64_t i = thread_index(); i < rows) y[i] = static_cast<float>(__float_as_uint(y[i]));
}

template <class T>
__global__ void divide_by_degree(const int32_t* row, const float* degree, const T* w, int64_t entries, T* y) {
  const int64_t e = thread_index();
  if (e >= entries) return;
  const T share = T(1) / static_cast<T>(degree[row[e]]);
  y[e] = w == nullptr ? share : share * w[e];
}

/// The index of each node's last loop plus 1 in `loop`, initially 0; and the entries' values without loops.
__global__ void find_loops(const int32_t* row, const int32_t* col, const float* values, int64_t entries,
                           bool completes, int32_t* loop, float* kept) {
  const int64_t e = thread_index();
  if (e >= entries) return;
  const bool drops = completes && row[e] == col[e];
  if (drops) atomicMax(loop + row[e], static_cast<int32_t>(e) + 1);
  kept[e] = drops ? 0.0f : values == nullptr ? 1.0f : values[e];
}

/// Each node's loop value after the entries, and ones for the sums.
__global__ void weigh_loops(const int32_t* loop, const float* values, int64_t rows, float fill,
                            bool completes, float* of_loop, float* ones) {
  const int64_t i = thread_index();
  if (i >= rows) return;
  ones[i] = 1.0f;
  if (completes) of_loop[i] = loop[i] == 0 ? fill : values == nullptr ? 1.0f : values[loop[i] - 1];
}

/// Entries from `entries` on are the nodes' loops in order.
__global__ void normalize(const int32_t* row, const int32_t* col, int64_t entries, int64_t all,
                          const float* degree, float* weights) {
  const int64_t e = thread_index();
  if (e >= all) return;
  const float d_i = degree[e < entries ? row[e] : e - entries];
  const float d_j = degree[e < entries ? col[e] : e - entries];
  // Two roots instead of one of the product, which may overflow.
  weights[e] = d_i > 0.0f && d_j > 0.0f ? weights[e] / (sqrtf(d_i) * sqrtf(d_j)) : 0.0f;
}

}  // namespace

void coo_degrees(const CooDegreesArgs& args) {
  const int device = args.y.device().index;
  const int64_t rows = args.y.numel(), entries = args.row.numel();
  args.y.zero_();
  launch("coo_degrees", {.device = device, .blocks = blocks_for(entries)}, count_rows,
         args.row.data<int32_t>(), entries, static_cast<unsigned*>(args.y.raw_mutable_data()));
  launch("coo_degrees", {.device = device, .blocks = blocks_for(rows)}, counts_to_float, rows,
         args.y.mutable_data<float>());
}

void coo_mean(const CooMeanArgs& args) {
  dispatch_float(args.y.dtype(), "coo_mean", [&]<class T>() {
    const int64_t entries = args.y.numel();
    launch("coo_mean", {.device = args.y.device().index, .blocks = blocks_for(entries)}, divide_by_degree<T>,
           args.row.data<int32_t>(), args.degree.data<float>(), args.w ? args.w.data<T>() : nullptr, entries,
           args.y.mutable_data<T>());
  });
}

void coo_gcn_normalize(const CooGcnNormalizeArgs& args) {
  const Device device = args.device();
  const int64_t rows = args.a.rows, entries = args.a.entries() - args.a.loops;
  const bool completes = args.a.loops > 0;
  const int32_t *row = args.a.row.data<int32_t>(), *col = args.a.col.data<int32_t>();
  const float* values = args.values ? args.values.data<float>() : nullptr;
  float* weights = args.weights.mutable_data<float>();
  Tensor loop = Tensor::zeros({completes ? rows : 0}, DType::i32, device);
  Tensor ones = Tensor::empty({rows, 1}, DType::f32, device);
  const auto shape = [&](int64_t items) {
    return adj::cuda::LaunchShape{.device = device.index, .blocks = blocks_for(items)};
  };
  launch("coo_gcn_normalize", shape(entries), find_loops, row, col, values, entries, completes,
         loop.mutable_data<int32_t>(), weights);
  launch("coo_gcn_normalize", shape(rows), weigh_loops, loop.data<int32_t>(), values, rows, args.fill,
         completes, weights + entries, ones.mutable_data<float>());
  Tensor degree = args.degree.reshape({rows, 1});
  spmm_coo({.a = args.a, .values = args.weights, .x = ones, .y = degree});
  const int64_t all = args.weights.numel();
  launch("coo_gcn_normalize", shape(all), normalize, row, col, entries, all,
         static_cast<const float*>(degree.data<float>()), weights);
}

}  // namespace adj::kernels::cuda
