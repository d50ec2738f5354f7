// Gather-scatter over an unsorted list (fuseGNN, Chen et al. 2020, algorithms 1 and 2): a group of lanes
// takes a run of consecutive entries, reads all their rows of x, and adds the products to the sums of their
// rows by atomics. Consecutive entries of the same row, common in real lists, are summed first: one atomic
// per run. Sums are integers (kernels/cuda/fixed_point.cuh), so neither runs nor atomics change the bits; the
// unit is computed on the device from max |w|, max |x| and the number of entries.
//
// Slabs of features keep the sums in L2: two buffers alternate, and one launch scatters a slab while it
// converts the previous one to features and clears it. Each slab reads the list again. Nothing is saved for
// backward, which is the same pass over the transposed list; with gradients of weights it also reads the
// row's own features and computes a dot product per entry, one slab after the other.
//
// Bytes: x once and the weights for their maxima; per entry and slab 8 of indices and 4 of weight, per entry
// its row of x, and 8 bytes per element of atomics in L2; 24 bytes of L2 per element of the result, which is
// written once. Workspace: two slabs of 8 bytes per feature and row.

#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/cuda/fixed_point.cuh>

namespace adj::kernels::cuda {

namespace {

template <class S, class Sum>
struct SpmmCooArguments {
  const int32_t* target;  ///< row of the result of each entry
  const int32_t* source;  ///< row of x of each entry
  const float* weight;    ///< null: ones
  const S* x;
  const S* target_x;  ///< with dots: features of the result's rows
  float* dw;          ///< likewise
  S* y;
  const S* bias;  ///< null: none
  bool relu;
  const FixedPoint* fixed;
  int64_t entries;  ///< number of scattered ones
  bool loops;       ///< entry entries + i is the loop of row i, added when rows are finished
  int64_t rows;
  int width;
  int lanes;         ///< per group, a power of two
  Slab<Sum> add;     ///< width 0: none; without sums: only dot products
  Slab<Sum> finish;  ///< likewise
  bool clear;        ///< the sums that are finished
  bool first_dots;   ///< dw starts with this slab
  unsigned add_blocks;
};

/// Sums of one row's features over a run of entries.
template <class Sum, int N>
struct RunSums;

template <int N>
struct RunSums<unsigned long long, N> {
  long long units[N] = {};
  unsigned not_finite = 0;

  __device__ __forceinline__ void add(int v, float weight, float x, double scale) {
    if (magnitude_bits(x) < kInfinityBits && magnitude_bits(weight) < kInfinityBits) {
      units[v] += __double2ll_rn(static_cast<double>(weight) * static_cast<double>(x) * scale);
    } else {
      not_finite |= 1u << v;
    }
  }
  __device__ __forceinline__ void flush(unsigned long long* output) {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      if ((not_finite >> v & 1u) != 0) {
        add_not_finite(output + v);
      } else {
        add_units(output + v, units[v]);
      }
      units[v] = 0;
    }
    not_finite = 0;
  }
};

template <int N>
struct RunSums<float, N> {
  static_assert(N == 1 || N == 4);
  float sum[N] = {};

  __device__ __forceinline__ void add(int v, float weight, float x, double /*scale*/) {
    sum[v] += weight * x;
  }
  __device__ __forceinline__ void flush(float* output) {
    add_to(output);
#pragma unroll
    for (int v = 0; v < N; ++v) sum[v] = 0.0f;
  }
  __device__ __forceinline__ void add_to(float* output) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (N == 4) {
      atomicAdd(reinterpret_cast<float4*>(output), make_float4(sum[0], sum[1], sum[2], sum[3]));
    } else {
      atomicAdd(output, sum[0]);
    }
#else
#pragma unroll
    for (int v = 0; v < N; ++v) atomicAdd(output + v, sum[v]);
#endif
  }
};

__device__ __forceinline__ float value_of(unsigned long long sum, double unit, double added) {
  const auto units = static_cast<long long>(sum);
  return is_finite_sum(units) ? static_cast<float>(static_cast<double>(units) * unit + added)
                              : __int_as_float(0x7fffffff);
}
__device__ __forceinline__ float value_of(float sum, double /*unit*/, double added) {
  return static_cast<float>(static_cast<double>(sum) + added);
}

/// Computes the unit from the largest finite |x| and |weight|, and clears all sums. Without `fixed` only
/// clears.
template <class S, int N>
__global__ void __launch_bounds__(kBlockThreads)
    prepare_kernel(const S* x, int64_t packs, const float* weight, int64_t entries, int count_bits,
                   ulonglong2* sums, int64_t sum_pairs, uint32_t* partial, unsigned* counter,
                   FixedPoint* fixed) {
  begin_overlapping();
  const int64_t first = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t k = first; k < sum_pairs; k += step) sums[k] = {0, 0};
  if (fixed == nullptr) return;
  uint32_t of_x = 0, of_weight = 0;
#pragma unroll 4
  for (int64_t k = first; k < packs; k += step) {
    const Pack<S, N> pack = load<N>(x + k * N);
#pragma unroll
    for (int v = 0; v < N; ++v) of_x = larger_if_finite(of_x, pack[v]);
  }
  if (weight != nullptr) {
#pragma unroll 4
    for (int64_t e = first; e < entries; e += step) of_weight = larger_if_finite(of_weight, weight[e]);
  }
  of_x = largest_of_block(of_x);
  of_weight = largest_of_block(of_weight);
  if (threadIdx.x == 0) {
    partial[2 * blockIdx.x] = of_x;
    partial[2 * blockIdx.x + 1] = of_weight;
  }
  if (!is_last_block(counter, gridDim.x)) return;
  of_x = of_weight = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlockThreads) {
    of_x = max(of_x, __ldcg(partial + 2 * b));
    of_weight = max(of_weight, __ldcg(partial + 2 * b + 1));
  }
  of_x = largest_of_block(of_x);
  of_weight = largest_of_block(of_weight);
  if (threadIdx.x != 0) return;
  *fixed =
      fixed_point(exponent_above(of_x) + (weight == nullptr ? 0 : exponent_above(of_weight)), count_bits);
}

/// Entries of a group of lanes that are in flight at once.
template <bool kDots>
constexpr int kRun = kDots ? 4 : 8;

template <class S, class Sum, int N, bool kDots>
__device__ __forceinline__ void scatter_entries(const SpmmCooArguments<S, Sum>& a) {
  constexpr int kEntries = kRun<kDots>;
  const int lane = static_cast<int>(threadIdx.x) & (a.lanes - 1);
  const int group = static_cast<int>(threadIdx.x) / a.lanes;
  const int groups = kBlockThreads / a.lanes, packs = a.add.width / N;
  const int64_t runs = (a.entries + kEntries - 1) / kEntries;
  double scale = 0.0;
  if constexpr (!std::is_same_v<Sum, float>) scale = a.fixed->scale;
  // All threads of the block iterate together, so that the shuffles below have all lanes.
  for (int64_t round = int64_t{blockIdx.x} * groups; round < runs; round += int64_t{a.add_blocks} * groups) {
    const int64_t begin = (round + group) * kEntries;
    const int count = static_cast<int>(max(int64_t{0}, min(int64_t{kEntries}, a.entries - begin)));
    int32_t target[kEntries], source[kEntries];
    float weight[kEntries];
    [[maybe_unused]] float dot[kEntries];
#pragma unroll
    for (int k = 0; k < kEntries; ++k) {
      const bool valid = k < count;
      target[k] = valid ? a.target[begin + k] : 0;
      source[k] = valid ? a.source[begin + k] : 0;
      weight[k] = valid && a.weight != nullptr ? a.weight[begin + k] : 1.0f;
      if constexpr (kDots) dot[k] = 0.0f;
    }
    for (int p = lane; p < packs; p += a.lanes) {
      const int column = p * N;
      // All reads before the first atomic: the compiler would not move them across it.
      Pack<S, N> x[kEntries];
      [[maybe_unused]] Pack<S, N> target_x[kEntries];
#pragma unroll
      for (int k = 0; k < kEntries; ++k) {
        if (k >= count) continue;
        x[k] = load<N>(a.x + int64_t{source[k]} * a.width + a.add.first + column);
        if constexpr (kDots)
          target_x[k] = load<N>(a.target_x + int64_t{target[k]} * a.width + a.add.first + column);
      }
      RunSums<Sum, N> sums;
#pragma unroll
      for (int k = 0; k < kEntries; ++k) {
        if (k >= count) continue;
#pragma unroll
        for (int v = 0; v < N; ++v) {
          const float value = widen(x[k][v]);
          sums.add(v, weight[k], value, scale);
          if constexpr (kDots) dot[k] += value * widen(target_x[k][v]);
        }
        const bool last_of_run = k + 1 >= count || target[k + 1 < kEntries ? k + 1 : k] != target[k];
        if (last_of_run && a.add.sums != nullptr)
          sums.flush(a.add.sums + int64_t{target[k]} * a.add.width + column);
      }
    }
    if constexpr (kDots) {
#pragma unroll
      for (int k = 0; k < kEntries; ++k) {
        float sum = dot[k];
        for (int offset = a.lanes / 2; offset > 0; offset /= 2)
          sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0 && k < count) a.dw[begin + k] = a.first_dots ? sum : a.dw[begin + k] + sum;
      }
    }
  }
}

template <class S, class Sum, int N>
__device__ __forceinline__ void finish_rows(const SpmmCooArguments<S, Sum>& a, int64_t first, int64_t step) {
  const int packs = a.finish.width / N;
  double unit = 0.0;
  if constexpr (!std::is_same_v<Sum, float>) unit = a.fixed->unit;
#pragma unroll 2
  for (int64_t k = first; k < a.rows * packs; k += step) {
    const int64_t row = k / packs;
    const int column = static_cast<int>(k - row * packs) * N;
    Sum* const slab_sums = a.finish.sums + row * a.finish.width + column;
    const int64_t place = row * a.width + a.finish.first + column;
    const Pack<Sum, N> sums = load<N>(static_cast<const Sum*>(slab_sums));
    Pack<float, N> of_loop{}, pack;
    float weight = 0.0f;
    if (a.loops) {
      of_loop = load_wide<N>(a.x + place);
      weight = a.weight == nullptr ? 1.0f : a.weight[a.entries + row];
    }
#pragma unroll
    for (int v = 0; v < N; ++v) {
      const double added = a.loops ? static_cast<double>(weight) * static_cast<double>(of_loop[v]) : 0.0;
      pack[v] = value_of(sums[v], unit, added);
      if (a.bias != nullptr) pack[v] += widen(a.bias[a.finish.first + column + v]);
      if (a.relu) pack[v] = pack[v] < 0.0f ? 0.0f : pack[v];
    }
    store_narrow<N>(a.y + place, pack);
    if (a.clear) store(slab_sums, Pack<Sum, N>{});
  }
}

/// The first blocks scatter one slab, the others finish the previous one.
template <class S, class Sum, int N, bool kDots>
__global__ void __launch_bounds__(kBlockThreads)
    spmm_coo_kernel(const __grid_constant__ SpmmCooArguments<S, Sum> a) {
  begin_overlapping();
  if (blockIdx.x < a.add_blocks) {
    scatter_entries<S, Sum, N, kDots>(a);
  } else {
    finish_rows<S, Sum, N>(a, (blockIdx.x - a.add_blocks) * int64_t{kBlockThreads} + threadIdx.x,
                           int64_t{gridDim.x - a.add_blocks} * kBlockThreads);
  }
}

/// Lanes of a group for a slab of that many packs.
int lanes_for(int64_t packs) {
  int lanes = 1;
  while (lanes < 32 && lanes < packs) lanes *= 2;
  return lanes;
}

template <class S, class Sum, int N, bool kDots>
void launch_spmm_coo(const char* name, Device device, SpmmCooArguments<S, Sum>& a) {
  const int64_t packs = a.add.width / N;
  a.lanes = lanes_for(packs);
  const int64_t runs = packs == 0 ? 0 : ceil_div(a.entries, int64_t{kRun<kDots>});
  a.add_blocks = blocks_for(runs * a.lanes);
  const unsigned finish_blocks = blocks_for(a.rows * (a.finish.width / N), 2);
  launch(name, overlapping(device.index, a.add_blocks + finish_blocks), spmm_coo_kernel<S, Sum, N, kDots>, a);
}

/// All slabs; x [cols, width] is gathered.
template <class S, class Sum, int N, bool kDots>
void scatter(const char* name, Device device, int64_t cols, SpmmCooArguments<S, Sum> a) {
  constexpr bool kFixed = !std::is_same_v<Sum, float>;
  const int64_t slab = slab_width(a.rows, a.width, properties(device.index).l2_bytes, sizeof(Sum));
  const int64_t slabs = ceil_div(int64_t{a.width}, slab), buffers = std::min<int64_t>(slabs, 2);
  // Each buffer is a whole number of 16-byte units, the unit of clearing.
  constexpr int64_t kTogether = 16 / static_cast<int64_t>(sizeof(Sum));
  const int64_t buffer = ceil_div(a.rows * slab, kTogether) * kTogether;
  Tensor sums = Tensor::empty({buffers, buffer}, kFixed ? DType::i64 : DType::f32, device);
  Tensor fixed = Tensor::empty({2}, DType::f64, device);
  auto* const first_sum = static_cast<Sum*>(sums.raw_mutable_data());
  const int64_t packs = kFixed ? cols * a.width / N : 0;
  const int64_t weights = a.entries + (a.loops ? a.rows : 0);
  const unsigned blocks = blocks_for_sum(
      device.index,
      std::max({packs, kFixed && a.weight != nullptr ? weights : int64_t{0}, buffers * buffer / kTogether}));
  Tensor partial = Tensor::empty({2, blocks}, DType::i32, device);
  launch(name, overlapping(device.index, blocks), prepare_kernel<S, N>, a.x, packs, a.weight, weights,
         bits_of_count(a.entries), reinterpret_cast<ulonglong2*>(first_sum), buffers * buffer / kTogether,
         reinterpret_cast<uint32_t*>(partial.mutable_data<int32_t>()), arrival_counters(device.index),
         kFixed ? static_cast<FixedPoint*>(fixed.raw_mutable_data()) : nullptr);
  a.fixed = static_cast<const FixedPoint*>(fixed.raw_data());
  for_slabs(first_sum, buffer, int64_t{a.width}, slab, a, [&](int64_t k) {
    a.first_dots = k == 0;
    launch_spmm_coo<S, Sum, N, kDots>(name, device, a);
  });
}

template <class S, class Sum>
SpmmCooArguments<S, Sum> arguments(const Coo& a, const Tensor& values, const Tensor& x, Tensor& y) {
  SpmmCooArguments<S, Sum> arguments{};
  arguments.target = a.row.data<int32_t>();
  arguments.source = a.col.data<int32_t>();
  arguments.weight = data_or_null<float>(values);
  arguments.x = x.data<S>();
  arguments.y = mutable_data_or_null<S>(y);
  arguments.entries = a.entries() - a.loops;
  arguments.loops = a.loops > 0;
  arguments.rows = a.rows;
  arguments.width = static_cast<int>(x.size(1));
  return arguments;
}

template <class S, class Sum>
void forward(const SpmmCooArgs& args) {
  auto a = arguments<S, Sum>(args.a, args.values, args.x, args.y);
  a.bias = data_or_null<S>(args.bias);
  a.relu = args.activation == Activation::relu;
  const Device device = args.x.device();
  a.width % 4 == 0 && aligned_to_16(a.x, static_cast<const S*>(a.y))
      ? scatter<S, Sum, 4, false>("spmm_coo", device, args.a.cols, a)
      : scatter<S, Sum, 1, false>("spmm_coo", device, args.a.cols, a);
}

/// Loops are treated as ordinary entries: their dot products are needed too.
template <class S, class Sum>
void backward(const SpmmCooBackwardArgs& args) {
  Coo turned = args.a.transposed();
  turned.loops = 0;
  auto a = arguments<S, Sum>(turned, args.values, args.dy, args.dx);
  a.target_x = args.x.data<S>();
  a.dw = args.dw.mutable_data<float>();
  const Device device = args.x.device();
  const bool aligned = a.width % 4 == 0 && aligned_to_16(a.x, a.target_x, static_cast<const S*>(a.y));
  if (args.dx)
    return aligned ? scatter<S, Sum, 4, true>("spmm_coo_backward", device, turned.cols, a)
                   : scatter<S, Sum, 1, true>("spmm_coo_backward", device, turned.cols, a);
  a.add.width = a.width;
  a.first_dots = true;
  aligned ? launch_spmm_coo<S, Sum, 4, true>("spmm_coo_backward", device, a)
          : launch_spmm_coo<S, Sum, 1, true>("spmm_coo_backward", device, a);
}

/// f<S, Sum>().
template <class F>
void dispatch_sums(DType dtype, bool fixed, F&& f) {
  using Units = unsigned long long;
  if (dtype == DType::bf16)
    return fixed ? f.template operator()<bfloat16, Units>() : f.template operator()<bfloat16, float>();
  fixed ? f.template operator()<float, Units>() : f.template operator()<float, float>();
}

}  // namespace

void spmm_coo(const SpmmCooArgs& args) {
  if (args.y.numel() == 0) return;
  dispatch_sums(args.x.dtype(), args.sums == ScatterSums::fixed_point,
                [&]<class S, class Sum>() { forward<S, Sum>(args); });
}

void spmm_coo_backward(const SpmmCooBackwardArgs& args) {
  if (args.x.numel() == 0 || args.dy.numel() == 0) {  // no features, or one side is empty
    args.dw.zero_();
    if (args.dx) args.dx.zero_();
    return;
  }
  // Dot products need no fixed point.
  dispatch_sums(args.x.dtype(), args.sums == ScatterSums::fixed_point && args.dx,
                [&]<class S, class Sum>() { backward<S, Sum>(args); });
}

}  // namespace adj::kernels::cuda
