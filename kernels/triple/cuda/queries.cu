// A thread for a unit of a relation's row, with all rows that use it, so the relation's gradient has one
// owner and nothing is stored for the backward pass but the inputs. RESCAL: a block for a row; its matrix is
// read once, D² numbers, in the backward pass twice. Bytes: each operand and result once.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/triple/queries.h>
#include <adjoint/kernels/triple/rules.h>

namespace adj::kernels::cuda {

namespace {

/// y = x m of one row, or with `turned` m x; m [width, width]. By a whole block.
template <class T>
__device__ void multiply(const T* m, const T* x, T* y, int64_t width, bool turned) {
  if (!turned) {
    for (int64_t j = threadIdx.x; j < width; j += kBlockThreads) {
      T sum = 0;
#pragma unroll 8
      for (int64_t i = 0; i < width; ++i) sum += x[i] * m[i * width + j];
      y[j] = sum;
    }
    return;
  }
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t i = threadIdx.x / 32; i < width; i += kBlockThreads / 32) {
    T sum = 0;
    for (int64_t j = lane; j < width; j += 32) sum += m[i * width + j] * x[j];
    sum = sum_of_lanes<32>(sum);
    if (lane == 0) y[i] = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    rescal_queries_kernel(const T* x, const T* relation, int64_t count, int64_t width, int64_t inverse,
                          T* q) {
  begin_overlapping();
  const int64_t i = blockIdx.x;
  multiply(relation + i % count * width * width, x + i * width, q + i * width, width, i >= inverse);
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    rescal_backward_kernel(const T* x, const T* relation, int64_t rows, int64_t count, int64_t width,
                           int64_t inverse, const T* dq, T* dx, T* dr) {
  begin_overlapping();
  const int64_t b = blockIdx.x, step = width * width;
  for (int64_t i = b; i < rows; i += count)
    multiply(relation + b * step, dq + i * width, dx + i * width, width, i < inverse);
  for (int64_t k = threadIdx.x; k < step; k += kBlockThreads) {
    const int64_t row = k / width, column = k - row * width;
    T sum = 0;
    for (int64_t i = b; i < rows; i += count) {
      const bool forward = i < inverse;
      sum += (forward ? x : dq)[i * width + row] * (forward ? dq : x)[i * width + column];
    }
    dr[b * step + k] = sum;
  }
}

template <class T>
void run_queries(const TripleQueriesArgs& args) {
  const int device = args.x.device().index;
  const int64_t width = args.x.size(1), rows = args.x.size(0), count = args.relation.size(0),
                step = args.relation.size(1), units = units_of(is_complex(args.model), width),
                inverse = args.inverse;
  const T *x = args.x.data<T>(), *relation = args.relation.data<T>();
  T* q = args.q.mutable_data<T>();
  const TripleModel model = args.model;
  if (model == TripleModel::rescal)
    return launch("triple_queries", overlapping(device, grid(rows)), rescal_queries_kernel<T>, x, relation,
                  count, width, inverse, q);
  for_each("triple_queries", device, rows * units, [=] __device__(int64_t k) {
    const int64_t i = k / units;
    query_unit(model, i >= inverse, x + i * width, relation + i % count * step, q + i * width, k - i * units,
               units);
  });
}

template <class T>
void run_backward(const TripleQueriesBackwardArgs& args) {
  const int device = args.x.device().index;
  const int64_t width = args.x.size(1), rows = args.x.size(0), count = args.relation.size(0),
                step = args.relation.size(1), units = units_of(is_complex(args.model), width),
                inverse = args.inverse;
  const T *x = args.x.data<T>(), *relation = args.relation.data<T>(), *dq = args.dq.data<T>();
  T *dx = args.dx.mutable_data<T>(), *dr = args.drelation.mutable_data<T>();
  const TripleModel model = args.model;
  if (model == TripleModel::rescal)
    return launch("triple_queries", overlapping(device, grid(count)), rescal_backward_kernel<T>, x, relation,
                  rows, count, width, inverse, dq, dx, dr);
  for_each("triple_queries", device, count * units, [=] __device__(int64_t k) {
    const int64_t b = k / units, d = k - b * units;
    T re = 0, im = 0;
    for (int64_t i = b; i < rows; i += count)
      query_unit_backward(model, i >= inverse, x + i * width, relation + b * step, dq + i * width,
                          dx + i * width, re, im, d, units);
    dr[b * step + d] = re;
    if (model == TripleModel::complex) dr[b * step + d + units] = im;
  });
}

}  // namespace

void triple_queries(const TripleQueriesArgs& args) {
  args.x.dtype() == DType::f64 ? run_queries<double>(args) : run_queries<float>(args);
}

void triple_queries_backward(const TripleQueriesBackwardArgs& args) {
  args.x.dtype() == DType::f64 ? run_backward<double>(args) : run_backward<float>(args);
}

}  // namespace adj::kernels::cuda
