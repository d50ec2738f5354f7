// One launch for all tensors of a group and dtype: a table of their addresses is the kernel's argument, and
// each block finds its tensor in it. Each element is read and written once, for any rule: Adam moves 28 bytes
// per float32 parameter, and 30 per bfloat16 one, whose master and moments are float32.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/update/rules.h>

#include <array>
#include <vector>

namespace adj::kernels::cuda {

namespace {

constexpr int kMostTensors = 64;  // per table; more take another launch
constexpr int kArrays = 5;        // parameter, gradient, first, second, master

/// Elements per thread and step for tensors of type P: 16 bytes of the compute type.
template <class P>
constexpr int kPack = kVectorWidth<Accumulator<P>>;

/// A tensor and its state arrays, element by element; absent ones null.
struct Piece {
  DType dtype;
  int64_t numel;
  std::array<void*, kArrays> data;
};

struct Table {
  void* data[kArrays][kMostTensors];
  int64_t numel[kMostTensors];
  unsigned first_block[kMostTensors];
  bool aligned[kMostTensors];
  int count;
};

/// A block's tensor, and the block's index within it.
struct BlockPlace {
  int slot = 0;
  int64_t block = 0;

  __device__ explicit BlockPlace(const Table& table) {
    while (slot + 1 < table.count && blockIdx.x >= table.first_block[slot + 1]) ++slot;
    block = blockIdx.x - table.first_block[slot];
  }
};

/// Splits the pieces into tables of one dtype, with `packs` packs per thread, and calls f<T>(table, blocks,
/// is it the last) for each table. Returns the number of tables.
template <class F>
int for_tables(const std::vector<Piece>& pieces, int packs, F&& f) {
  const auto count_of = [&](DType dtype) {
    return std::count_if(pieces.begin(), pieces.end(),
                         [&](const Piece& piece) { return piece.dtype == dtype && piece.numel > 0; });
  };
  int tables = 0;
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    tables += static_cast<int>(ceil_div(count_of(dtype), kMostTensors));
  int done = 0;
  const auto go = [&]<class T>() {
    Table table{};
    unsigned blocks = 0;
    const auto flush = [&] {
      if (table.count == 0) return;
      ++done;
      f.template operator()<T>(table, blocks, done == tables);
      table = {};
      blocks = 0;
    };
    for (const Piece& piece : pieces) {
      if (piece.dtype != dtype_of<T>() || piece.numel == 0) continue;
      const int slot = table.count++;
      for (int a = 0; a < kArrays; ++a) table.data[a][slot] = piece.data[static_cast<size_t>(a)];
      table.numel[slot] = piece.numel;
      table.first_block[slot] = blocks;
      table.aligned[slot] =
          aligned_to_16(piece.data[0], piece.data[1], piece.data[2], piece.data[3], piece.data[4]);
      blocks += blocks_for(piece.numel, packs * (table.aligned[slot] ? kPack<T> : 1));
      if (table.count == kMostTensors) flush();
    }
    flush();
  };
  go.template operator()<float>();
  go.template operator()<double>();
  go.template operator()<bfloat16>();
  return tables;
}

// Every block reads the step count; the last to finish, of the last launch, advances it.
template <class P, class Rule>
__global__ void __launch_bounds__(kBlockThreads)
    update_kernel(const __grid_constant__ Table table, Rule rule, const double* learning_rate, int64_t* step,
                  bool advance, unsigned* counter) {
  begin_overlapping();
  using T = Accumulator<P>;
  constexpr bool kMastered = !std::is_same_v<P, T>;
  constexpr int N = kPack<P>;
  __shared__ typename Rule::Coefficients shared;
  if (threadIdx.x == 0) shared = rule.coefficients(static_cast<double>(*step + 1), *learning_rate);

  const BlockPlace place(table);
  const int64_t numel = table.numel[place.slot];
  P* p = static_cast<P*>(table.data[0][place.slot]);
  const P* g = static_cast<const P*>(table.data[1][place.slot]);
  T* weight = static_cast<T*>(table.data[kMastered ? 4 : 0][place.slot]);
  T* first = static_cast<T*>(table.data[2][place.slot]);
  T* second = static_cast<T*>(table.data[3][place.slot]);
  const int width = table.aligned[place.slot] ? N : 1;
  const int64_t i = (place.block * kBlockThreads + threadIdx.x) * width;
  const bool whole = width == N && i + N <= numel;
  Pack<T, N> weights, gradients, firsts{}, seconds{};
  if (whole) {
    weights = load<N>(weight + i);
    if constexpr (kMastered) {
      const Pack<P, N> rounded = load<N>(p + i), gradient = load<N>(g + i);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        weights[k] = weight_of(weights[k], rounded[k]);
        gradients[k] = static_cast<T>(gradient[k]);
      }
    } else {
      gradients = load<N>(g + i);
    }
    if constexpr (Rule::kStates >= 1) firsts = load<N>(first + i);
    if constexpr (Rule::kStates >= 2) seconds = load<N>(second + i);
  }
  __syncthreads();
  const typename Rule::Coefficients c = shared;
  if (whole) {
#pragma unroll
    for (int k = 0; k < N; ++k) Rule::update(c, weights[k], gradients[k], firsts[k], seconds[k]);
    store(weight + i, weights);
    if constexpr (kMastered) {
      Pack<P, N> rounded;
#pragma unroll
      for (int k = 0; k < N; ++k) rounded[k] = P(weights[k]);
      store(p + i, rounded);
    }
    if constexpr (Rule::kStates >= 1) store(first + i, firsts);
    if constexpr (Rule::kStates >= 2) store(second + i, seconds);
  } else {
    for (int64_t j = i; j < i + width && j < numel; ++j) {
      T none = 0, updated = weight[j];
      if constexpr (kMastered) updated = weight_of(updated, p[j]);
      Rule::update(c, updated, static_cast<T>(g[j]), Rule::kStates >= 1 ? first[j] : none,
                   Rule::kStates >= 2 ? second[j] : none);
      weight[j] = updated;
      if constexpr (kMastered) p[j] = P(updated);
    }
  }
  if (advance && is_last_block(counter, gridDim.x) && threadIdx.x == 0) ++*step;
}

__global__ void advance_step_kernel(int64_t* step) {
  begin_overlapping();
  ++*step;
}

template <class MakeRule>
void update(const char* name, std::span<UpdateSlot> slots, const Tensor& learning_rate, Tensor& step,
            MakeRule&& rule_for) {
  const int device = step.device().index;
  const double* rate = learning_rate.data<double>();
  int64_t* count = step.mutable_data<int64_t>();
  std::vector<Piece> pieces;
  for (UpdateSlot& slot : slots) {
    const auto address = [](Tensor& tensor) { return tensor ? tensor.raw_mutable_data() : nullptr; };
    pieces.push_back({slot.parameter.dtype(),
                      slot.parameter.numel(),
                      {address(slot.parameter), const_cast<void*>(slot.gradient.raw_data()),
                       address(slot.first), address(slot.second), address(slot.master)}});
  }
  const int tables = for_tables(pieces, 1, [&]<class P>(const Table& table, unsigned blocks, bool last) {
    const auto rule = rule_for.template operator()<Accumulator<P>>();
    launch(name, overlapping(device, blocks), update_kernel<P, std::remove_const_t<decltype(rule)>>, table,
           rule, rate, count, last, arrival_counters(device));
  });
  if (tables == 0) launch(name, overlapping(device, 1, 1), advance_step_kernel, count);
}

constexpr int kNormPacks = 16;  // per thread: few blocks leave few partial sums

// Block b writes its sum of squares to partial[b]; the last block of the last launch sums all `total` of
// them.
template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    square_sums_kernel(const __grid_constant__ Table table, double* partial, double* all, unsigned total,
                       bool last_launch, double* norm, unsigned* counter) {
  begin_overlapping();
  constexpr int N = kPack<T>;
  const BlockPlace place(table);
  const int64_t numel = table.numel[place.slot];
  const T* x = static_cast<const T*>(table.data[0][place.slot]);
  const int width = table.aligned[place.slot] ? N : 1;
  const int64_t begin = place.block * kBlockThreads * kNormPacks * width;
  double sum = 0.0;
  const auto add_square = [&sum](T x) {
    const double value = static_cast<double>(static_cast<Accumulator<T>>(x));
    sum = fma(value, value, sum);
  };
#pragma unroll 4
  for (int s = 0; s < kNormPacks; ++s) {
    const int64_t i = begin + (int64_t{s} * kBlockThreads + threadIdx.x) * width;
    if (width == N && i + N <= numel) {
      const Pack<T, N> pack = load<N>(x + i);
#pragma unroll
      for (int k = 0; k < N; ++k) add_square(pack[k]);
    } else {
      for (int64_t j = i; j < i + width && j < numel; ++j) add_square(x[j]);
    }
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  if (!last_launch || !is_last_block(counter, gridDim.x)) return;
  double share = 0.0;
  for (unsigned b = threadIdx.x; b < total; b += kBlockThreads) share += __ldcg(all + b);
  share = sum_of_block(share);
  if (threadIdx.x == 0) *norm = sqrt(share);
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    clip_kernel(const __grid_constant__ Table table, const double* norm, double max_norm) {
  begin_overlapping();
  const double length = *norm;
  if (!(length > max_norm)) return;
  constexpr int N = kPack<T>;
  using F = Accumulator<T>;
  const F factor = static_cast<F>(max_norm / (length + 1e-6));
  const BlockPlace place(table);
  const int64_t numel = table.numel[place.slot];
  T* x = static_cast<T*>(table.data[0][place.slot]);
  const int width = table.aligned[place.slot] ? N : 1;
  const int64_t i = (place.block * kBlockThreads + threadIdx.x) * width;
  if (width == N && i + N <= numel) {
    Pack<T, N> pack = load<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] = T(static_cast<F>(pack[k]) * factor);
    store(x + i, pack);
  } else {
    for (int64_t j = i; j < i + width && j < numel; ++j) x[j] = T(static_cast<F>(x[j]) * factor);
  }
}

}  // namespace

void sgd_update(const SgdUpdateArgs& args) {
  const auto run = [&]<bool kMomentum>() {
    update("sgd_update", args.slots, args.learning_rate, args.step,
           [&]<class T>() { return Sgd<T, kMomentum>{args.rule}; });
  };
  args.rule.momentum != 0.0 ? run.template operator()<true>() : run.template operator()<false>();
}

void adam_update(const AdamUpdateArgs& args) {
  update("adam_update", args.slots, args.learning_rate, args.step,
         [&]<class T>() { return Adam<T>{args.rule}; });
}

void adagrad_update(const AdagradUpdateArgs& args) {
  update("adagrad_update", args.slots, args.learning_rate, args.step,
         [&]<class T>() { return Adagrad<T>{args.rule}; });
}

void global_norm(const GlobalNormArgs& args) {
  const int device = args.norm.device().index;
  double* norm = args.norm.mutable_data<double>();
  std::vector<Piece> pieces;
  for (const Tensor& tensor : args.tensors)
    pieces.push_back({tensor.dtype(), tensor.numel(), {const_cast<void*>(tensor.raw_data())}});
  unsigned total = 0;
  for_tables(pieces, kNormPacks, [&]<class T>(const Table&, unsigned blocks, bool) { total += blocks; });
  if (total == 0) return args.norm.zero_();
  Tensor sums = partials(device, total);
  double *all = sums.mutable_data<double>(), *next = all;
  for_tables(pieces, kNormPacks, [&]<class T>(const Table& table, unsigned blocks, bool last) {
    launch("global_norm", overlapping(device, blocks), square_sums_kernel<T>, table, next, all, total, last,
           norm, arrival_counters(device));
    next += blocks;
  });
}

void clip_to_norm(const ClipToNormArgs& args) {
  std::vector<Piece> pieces;
  for (Tensor& tensor : args.tensors)
    pieces.push_back({tensor.dtype(), tensor.numel(), {tensor.raw_mutable_data()}});
  for_tables(pieces, 1, [&]<class T>(const Table& table, unsigned blocks, bool) {
    launch("clip_to_norm", overlapping(args.norm.device().index, blocks), clip_kernel<T>, table,
           args.norm.data<double>(), args.max_norm);
  });
}

}  // namespace adj::kernels::cuda
