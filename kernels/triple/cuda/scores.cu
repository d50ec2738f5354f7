// Tiles of 64 x 64 scores: 16 units of 64 queries and 64 entities in shared memory, 4 x 4 sums in registers
// of each of 256 threads, so that a number read from shared memory serves four scores. The backward pass
// keeps nothing but the scores: a thread owns one unit of 8 rows and adds the others in order. Bytes: for Q
// queries, K entities and width D forward 4 D Q K / 64 twice from L2; vector work bounds all of them.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/triple/rules.h>
#include <adjoint/kernels/triple/scores.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kTile = 64, kUnits = 16, kSide = 4;  // kTile / kSide squared is kBlockThreads

template <class T, TripleScore kScore>
__global__ void __launch_bounds__(kBlockThreads)
    paired_kernel(const T* q, const T* t, int64_t rows, int64_t width, int64_t units, int64_t shift, T* y) {
  begin_overlapping();
  const int64_t i = (int64_t{blockIdx.x} * kBlockThreads + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (i >= rows) return;  // whole warps
  const T *a = q + i * width, *b = t + (i + shift) % rows * width;
  T sum = 0;
  for (int64_t d = lane; d < units; d += 32) {
    if constexpr (kScore == TripleScore::dot)
      sum += a[d] * b[d];
    else if constexpr (kScore == TripleScore::modulus)
      sum += distance_term<kScore>(a[d] - b[d], a[d + units] - b[d + units]);
    else
      sum += distance_term<kScore>(a[d] - b[d], T{0});
  }
  sum = sum_of_lanes<32>(sum);
  if (lane == 0) y[i] = score_of_sum<kScore>(sum);
}

/// One thread for a unit of a query: writes both gradients.
template <class T, TripleScore kScore>
struct PairedBackward {
  const T *q, *t, *y, *dy;
  T *dq, *dt;
  int64_t rows, width, units, shift;

  __device__ void operator()(int64_t k) const {
    const int64_t i = k / units, d = k - i * units, row = i * width + d,
                  other = (i + shift) % rows * width + d;
    const T weight = score_weight<kScore>(dy[i], y[i]);
    if constexpr (kScore == TripleScore::dot) {
      dq[row] = weight * t[other];
      dt[other] = weight * q[row];
    } else {
      constexpr bool kComplex = kScore == TripleScore::modulus;
      T re = 0, im = 0;
      add_direction<kScore>(weight, q[row] - t[other], kComplex ? q[row + units] - t[other + units] : T{0},
                            re, im);
      dq[row] = re;
      dt[other] = -re;
      if constexpr (kComplex) {
        dq[row + units] = im;
        dt[other + units] = -im;
      }
    }
  }
};

template <class T, TripleScore kScore>
__global__ void __launch_bounds__(kBlockThreads)
    distances_kernel(const T* q, const T* t, int64_t rows, int64_t others, int64_t width, int64_t units,
                     T* y) {
  begin_overlapping();
  constexpr bool kComplex = kScore == TripleScore::modulus;
  constexpr int kParts = kComplex ? 2 : 1;
  __shared__ T left[kParts][kUnits][kTile + 1], right[kParts][kUnits][kTile + 1];
  const BlockPlace place(ceil_div(rows, int64_t{kTile}));
  const int64_t first_row = place.row * kTile, first_other = place.column * kTile;
  const int thread = static_cast<int>(threadIdx.x), r = thread / 16, c = thread % 16;
  // The next units are on their way while these are summed. Units beyond a row's end are equal on both sides,
  // and so their terms are 0.
  constexpr int kLoads = kUnits * kTile / kBlockThreads;
  T next_left[kParts][kLoads], next_right[kParts][kLoads];
  const auto fetch = [&](int64_t begin) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int n = 0; n < kLoads; ++n) {
        const int k = thread + n * kBlockThreads, line = k / kUnits;
        const int64_t unit = begin + k % kUnits, column = unit + part * units;
        next_left[part][n] =
            unit < units && first_row + line < rows ? q[(first_row + line) * width + column] : T{0};
        next_right[part][n] =
            unit < units && first_other + line < others ? t[(first_other + line) * width + column] : T{0};
      }
  };
  T sum[kSide][kSide] = {};
  fetch(0);
  for (int64_t begin = 0; begin < units; begin += kUnits) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int n = 0; n < kLoads; ++n) {
        const int k = thread + n * kBlockThreads;
        left[part][k % kUnits][k / kUnits] = next_left[part][n];
        right[part][k % kUnits][k / kUnits] = next_right[part][n];
      }
    __syncthreads();
    if (begin + kUnits < units) fetch(begin + kUnits);
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      T a[kParts][kSide], b[kParts][kSide];
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int s = 0; s < kSide; ++s) {
          a[part][s] = left[part][unit][r + 16 * s];
          b[part][s] = right[part][unit][c + 16 * s];
        }
#pragma unroll
      for (int i = 0; i < kSide; ++i)
#pragma unroll
        for (int k = 0; k < kSide; ++k)
          sum[i][k] +=
              distance_term<kScore>(a[0][i] - b[0][k], kComplex ? a[kParts - 1][i] - b[kParts - 1][k] : T{0});
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kSide; ++i)
#pragma unroll
    for (int k = 0; k < kSide; ++k) {
      const int64_t row = first_row + r + 16 * i, other = first_other + c + 16 * k;
      if (row < rows && other < others) y[row * others + other] = score_of_sum<kScore>(sum[i][k]);
    }
}

constexpr int kOwned = 8, kLine = 32;  // rows of a thread; units of a block, and others at a time
constexpr int kOwnedRows = kOwned * kBlockThreads / kLine;

template <class T, TripleScore kScore>
__global__ void __launch_bounds__(kBlockThreads)
    distances_backward_kernel(const T* x, const T* other, const T* y, const T* dy, int64_t rows,
                              int64_t others, int64_t width, int64_t units, int64_t step, int64_t stride,
                              int64_t slice, bool accumulate, T* dx) {
  begin_overlapping();
  constexpr bool kComplex = kScore == TripleScore::modulus;
  constexpr int kParts = kComplex ? 2 : 1;
  __shared__ T right[kParts][kLine][kLine], weight[kLine][kOwnedRows + 1];
  const BlockPlace place(ceil_div(rows, int64_t{kOwnedRows}));
  const int64_t first_row = place.row * kOwnedRows, unit = place.column * kLine + threadIdx.x % kLine;
  const int group = static_cast<int>(threadIdx.x) / kLine, thread = static_cast<int>(threadIdx.x);
  const bool inside = unit < units;
  T re[kOwned] = {}, im[kOwned] = {}, mine[kParts][kOwned] = {};
#pragma unroll
  for (int s = 0; s < kOwned; ++s) {
    const int64_t row = first_row + group * kOwned + s;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      if (inside && row < rows) mine[part][s] = x[row * width + unit + part * units];
  }
  const int64_t first_other = blockIdx.y * slice, last_other = min(others, first_other + slice);
  for (int64_t begin = first_other; begin < last_other; begin += kLine) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      for (int k = thread; k < kLine * kLine; k += kBlockThreads) {
        const int64_t line = begin + k / kLine;
        right[part][k / kLine][k % kLine] =
            inside && line < last_other ? other[line * width + unit + part * units] : T{0};
      }
    for (int k = thread; k < kLine * kOwnedRows; k += kBlockThreads) {
      // Neighbouring threads read neighbouring scores.
      const int line = stride == 1 ? k % kLine : k / kOwnedRows;
      const int owned = stride == 1 ? k / kLine : k % kOwnedRows;
      const int64_t row = first_row + owned, column = begin + line;
      T value = 0;
      if (row < rows && column < last_other) {
        const int64_t place_of_score = row * step + column * stride;
        value = score_weight<kScore>(dy[place_of_score], y[place_of_score]);
      }
      weight[line][owned] = value;
    }
    __syncthreads();
#pragma unroll 4
    for (int line = 0; line < kLine; ++line) {
      const T b_re = right[0][line][threadIdx.x % kLine], b_im = right[kParts - 1][line][threadIdx.x % kLine];
#pragma unroll
      for (int s = 0; s < kOwned; ++s)
        add_direction<kScore>(weight[line][group * kOwned + s], mine[0][s] - b_re,
                              kComplex ? mine[kParts - 1][s] - b_im : T{0}, re[s], im[s]);
    }
    __syncthreads();
  }
  if (!inside) return;
#pragma unroll
  for (int s = 0; s < kOwned; ++s) {
    const int64_t row = first_row + group * kOwned + s;
    if (row >= rows) continue;
    T* out = dx + (blockIdx.y * rows + row) * width + unit;
    *out = accumulate ? *out + re[s] : re[s];
    if constexpr (kComplex) out[units] = accumulate ? out[units] + im[s] : im[s];
  }
}

constexpr int64_t kWantedBlocks = 264, kMostSlices = 16;  // two blocks for each multiprocessor of an H100

/// Adds the slices' sums of a number, in order.
template <class T>
struct SliceSum {
  const T* parts;
  T* sum;
  int64_t numbers, slices;
  bool accumulate;

  __device__ void operator()(int64_t k) const {
    T total = accumulate ? sum[k] : T{0};
    for (int64_t s = 0; s < slices; ++s) total += parts[s * numbers + k];
    sum[k] = total;
  }
};

/// f.template operator()<T, score>()
template <class F>
void dispatch(DType dtype, TripleScore score, bool any, F&& f) {
  dispatch_float(dtype, "scores", [&]<class T>() {
    const auto run = [&]<TripleScore kScore>() { f.template operator()<T, kScore>(); };
    any ? dispatch_score(score, run) : dispatch_distance(score, run);
  });
}

}  // namespace

void paired_scores(const PairedScoresArgs& args) {
  const int64_t rows = args.q.size(0), width = args.q.size(1);
  dispatch(args.q.dtype(), args.score, true, [&]<class T, TripleScore kScore>() {
    launch("paired_scores", over(args.q.device().index, rows * 32), paired_kernel<T, kScore>,
           args.q.data<T>(), args.t.data<T>(), rows, width, units_of(kScore == TripleScore::modulus, width),
           args.shift, args.y.mutable_data<T>());
  });
}

void paired_scores_backward(const PairedScoresBackwardArgs& args) {
  const int64_t rows = args.q.size(0), width = args.q.size(1);
  dispatch(args.q.dtype(), args.score, true, [&]<class T, TripleScore kScore>() {
    const int64_t units = units_of(kScore == TripleScore::modulus, width);
    for_each("paired_scores", args.q.device().index, rows * units,
             PairedBackward<T, kScore>{args.q.data<T>(), args.t.data<T>(), args.y.data<T>(),
                                       args.dy.data<T>(), args.dq.mutable_data<T>(),
                                       args.dt.mutable_data<T>(), rows, width, units, args.shift});
  });
}

void entity_distances(const EntityDistancesArgs& args) {
  const int64_t rows = args.q.size(0), others = args.t.size(0), width = args.q.size(1);
  dispatch(args.q.dtype(), args.score, false, [&]<class T, TripleScore kScore>() {
    launch("entity_distances",
           overlapping(args.q.device().index,
                       grid(ceil_div(rows, int64_t{kTile}) * ceil_div(others, int64_t{kTile}))),
           distances_kernel<T, kScore>, args.q.data<T>(), args.t.data<T>(), rows, others, width,
           units_of(kScore == TripleScore::modulus, width), args.y.mutable_data<T>());
  });
}

void entity_distances_backward(const EntityDistancesBackwardArgs& args) {
  const int64_t rows = args.x.size(0), others = args.other.size(0), width = args.x.size(1);
  const int device = args.x.device().index;
  dispatch(args.x.dtype(), args.score, false, [&]<class T, TripleScore kScore>() {
    const int64_t units = units_of(kScore == TripleScore::modulus, width),
                  blocks = ceil_div(rows, int64_t{kOwnedRows}) * ceil_div(units, int64_t{kLine});
    // Few rows leave multiprocessors idle: then slices of the others are summed apart, and merged in order.
    const int64_t wanted = std::clamp<int64_t>(kWantedBlocks / std::max<int64_t>(1, blocks), 1, kMostSlices),
                  slice = std::max<int64_t>(1, ceil_div(ceil_div(others, wanted), int64_t{kLine})) * kLine,
                  slices = std::max<int64_t>(1, ceil_div(others, slice));
    Tensor parts =
        slices > 1 ? Tensor::empty({slices, rows, width}, args.x.dtype(), args.x.device()) : args.dx;
    launch("entity_distances", overlapping(device, grid(blocks, slices)),
           distances_backward_kernel<T, kScore>, args.x.data<T>(), args.other.data<T>(), args.y.data<T>(),
           args.dy.data<T>(), rows, others, width, units, args.turned ? int64_t{1} : others,
           args.turned ? rows : int64_t{1}, slice, slices == 1 && args.accumulate, parts.mutable_data<T>());
    if (slices > 1)
      for_each(
          "entity_distances", device, rows * width,
          SliceSum<T>{parts.data<T>(), args.dx.mutable_data<T>(), rows * width, slices, args.accumulate});
  });
}

}  // namespace adj::kernels::cuda
