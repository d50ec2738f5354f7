// Each result's gradient is added to its winner in fixed point (kernels/cuda/fixed_point.cuh), so that
// atomics are reproducible: the unit follows from the number of rows and the largest |dy|, and its rounding
// error is below float32's own.
//
// Slabs of features: two buffers alternate, and one launch scatters a slab while it converts the previous one
// to floats and clears it.
//
// Bytes: winners and dy once (dy twice, for its maximum), dx once, from memory; per result an atomic of 8
// bytes, and 24 bytes per element of dx, in L2. Workspace: two slabs of 8 bytes per feature and source.

#include <adjoint/kernels/aggregate/cuda/strategies.h>
#include <adjoint/kernels/cuda/fixed_point.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kPacksPerThread = 4;

/// Computes max |dy| over finite values, as the unit that follows from it, and clears all sums.
template <class S, int N>
__global__ void __launch_bounds__(kBlockThreads)
    prepare_kernel(const S* dy, int64_t rows, int width, int64_t pitch, int rows_bits, ulonglong2* sums,
                   int64_t sum_pairs, uint32_t* partial, unsigned* counter, FixedPoint* fixed) {
  begin_overlapping();
  const int64_t first = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t k = first; k < sum_pairs; k += step) sums[k] = {0, 0};
  const int packs = width / N;
  uint32_t largest = 0;
#pragma unroll 4
  for (int64_t k = first; k < rows * packs; k += step) {
    const int64_t row = k / packs;
    const Pack<S, N> pack = load<N>(dy + row * pitch + (k - row * packs) * N);
#pragma unroll
    for (int v = 0; v < N; ++v) largest = larger_if_finite(largest, pack[v]);
  }
  largest = largest_of_block(largest);
  if (threadIdx.x == 0) partial[blockIdx.x] = largest;
  if (!is_last_block(counter, gridDim.x)) return;
  largest = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlockThreads)
    largest = max(largest, __ldcg(partial + b));
  largest = largest_of_block(largest);
  if (threadIdx.x == 0) *fixed = fixed_point(exponent_above(largest), rows_bits);
}

template <class S>
struct ScatterArguments {
  const int32_t* winner;
  const S* dy;
  S* dx;
  const FixedPoint* fixed;
  int64_t rows, sources;
  int width;
  int64_t pitch;  ///< of dy, in elements
  bool accumulate;
  Slab<unsigned long long> add;     ///< to the sums of its winners; width 0: none
  Slab<unsigned long long> finish;  ///< likewise
  bool clear;                       ///< the sums that are finished
  unsigned add_blocks;
};

template <class S, int N>
__device__ __forceinline__ void add_to_winners(const ScatterArguments<S>& a, int64_t first, int64_t step) {
  const int packs = a.add.width / N;
  const int64_t items = a.rows * packs;
  const double scale = a.fixed->scale;
  for (int64_t k = first; k < items; k += kPacksPerThread * step) {
    // All reads before the first atomic: the compiler would not move them across it.
    Pack<int32_t, N> winner[kPacksPerThread];
    Pack<S, N> dy[kPacksPerThread];
    int column[kPacksPerThread];
#pragma unroll
    for (int p = 0; p < kPacksPerThread; ++p) {
      const int64_t item = k + p * step;
      if (item >= items) break;
      const int64_t row = item / packs;
      column[p] = static_cast<int>(item - row * packs) * N;
      winner[p] = load<N>(a.winner + row * a.width + a.add.first + column[p]);
      dy[p] = load<N>(a.dy + row * a.pitch + a.add.first + column[p]);
    }
#pragma unroll
    for (int p = 0; p < kPacksPerThread; ++p) {
      if (k + p * step >= items) break;
#pragma unroll
      for (int v = 0; v < N; ++v) {
        if (winner[p][v] < 0) continue;
        unsigned long long* const output =
            a.add.sums + static_cast<int64_t>(winner[p][v]) * a.add.width + column[p] + v;
        if (magnitude_bits(dy[p][v]) >= kInfinityBits) {
          add_not_finite(output);
        } else {
          add_units(output, __double2ll_rn(static_cast<double>(widen(dy[p][v])) * scale));
        }
      }
    }
  }
}

template <class S, int N>
__device__ __forceinline__ void finish_sums(const ScatterArguments<S>& a, int64_t first, int64_t step) {
  const int packs = a.finish.width / N;
  const double unit = a.fixed->unit;
#pragma unroll 2
  for (int64_t k = first; k < a.sources * packs; k += step) {
    const int64_t source = k / packs;
    const int column = static_cast<int>(k - source * packs) * N;
    long long* const input = reinterpret_cast<long long*>(a.finish.sums) + source * a.finish.width + column;
    const Pack<long long, N> sums = load<N>(input);
    S* const output = a.dx + source * a.width + a.finish.first + column;
    Pack<float, N> before{};
    if (a.accumulate) before = load_wide<N>(output);
    Pack<float, N> pack;
#pragma unroll
    for (int v = 0; v < N; ++v) {
      const float sum = is_finite_sum(sums[v]) ? static_cast<float>(static_cast<double>(sums[v]) * unit)
                                               : __int_as_float(0x7fffffff);
      pack[v] = before[v] + sum;
    }
    store_narrow<N>(output, pack);
    if (a.clear) store(input, Pack<long long, N>{});
  }
}

/// The first blocks scatter one slab, the others finish the previous one.
template <class S, int N>
__global__ void __launch_bounds__(kBlockThreads)
    scatter_kernel(const __grid_constant__ ScatterArguments<S> a) {
  begin_overlapping();
  if (blockIdx.x < a.add_blocks) {
    add_to_winners<S, N>(a, blockIdx.x * int64_t{kBlockThreads} + threadIdx.x,
                         int64_t{a.add_blocks} * kBlockThreads);
  } else {
    finish_sums<S, N>(a, (blockIdx.x - a.add_blocks) * int64_t{kBlockThreads} + threadIdx.x,
                      int64_t{gridDim.x - a.add_blocks} * kBlockThreads);
  }
}

template <class S, int N>
void scatter(const NeighborMinmaxBackwardArgs& args) {
  const Device device = args.dx.device();
  const int64_t rows = args.dy.size(0), sources = args.dx.size(0), width = args.dx.size(1);
  const int64_t slab = slab_width(sources, width, properties(device.index).l2_bytes);
  const int64_t slabs = ceil_div(width, slab), buffers = std::min<int64_t>(slabs, 2);
  // Each buffer has an even number of sums, since they are cleared in pairs.
  const int64_t buffer = ceil_div(sources * slab, 2) * 2;
  Tensor sums = Tensor::empty({buffers, buffer}, DType::i64, device);
  Tensor fixed = Tensor::empty({2}, DType::f64, device);
  auto* const first_sum = reinterpret_cast<unsigned long long*>(sums.mutable_data<int64_t>());

  const S* const dy = args.dy.template data<S>() + args.part * width;
  const int64_t pitch = args.dy.size(1);
  const int rows_bits = bits_of_count(rows);
  const unsigned blocks = blocks_for_sum(device.index, std::max(rows * width / N, buffers * buffer / 2));
  Tensor partial = Tensor::empty({blocks}, DType::i32, device);
  launch("neighbor_minmax_backward", overlapping(device.index, blocks), prepare_kernel<S, N>, dy, rows,
         static_cast<int>(width), pitch, rows_bits, reinterpret_cast<ulonglong2*>(first_sum),
         buffers * buffer / 2, reinterpret_cast<uint32_t*>(partial.mutable_data<int32_t>()),
         arrival_counters(device.index), static_cast<FixedPoint*>(fixed.raw_mutable_data()));

  ScatterArguments<S> arguments{};
  arguments.winner = args.winner.template data<int32_t>();
  arguments.dy = dy;
  arguments.dx = args.dx.template mutable_data<S>();
  arguments.fixed = static_cast<const FixedPoint*>(fixed.raw_data());
  arguments.rows = rows;
  arguments.sources = sources;
  arguments.width = static_cast<int>(width);
  arguments.pitch = pitch;
  arguments.accumulate = args.accumulate;
  for_slabs(first_sum, buffer, width, slab, arguments, [&](int64_t) {
    arguments.add_blocks = blocks_for(rows * (arguments.add.width / N), kPacksPerThread);
    const unsigned finish_blocks = blocks_for(sources * (arguments.finish.width / N), 2);
    launch("neighbor_minmax_backward", overlapping(device.index, arguments.add_blocks + finish_blocks),
           scatter_kernel<S, N>, arguments);
  });
}

}  // namespace

void scatter_minmax_gradient(const NeighborMinmaxBackwardArgs& args) {
  const int64_t width = args.dx.size(1);
  if (args.dx.numel() == 0) return;
  const auto scatter_as = [&]<class S>() {
    const bool aligned = width % 4 == 0 && aligned_to_16(args.winner.data<int32_t>(), args.dy.data<S>(),
                                                         static_cast<const S*>(args.dx.data<S>()));
    aligned ? scatter<S, 4>(args) : scatter<S, 1>(args);
  };
  if (args.dx.dtype() == DType::bf16) return scatter_as.operator()<bfloat16>();
  ADJ_CHECK(args.dx.dtype() == DType::f32,
            "neighbor_minmax_backward: fixed-point sums do not support {}: expected the transposed structure",
            name_of(args.dx.dtype()));
  scatter_as.operator()<float>();
}

}  // namespace adj::kernels::cuda
