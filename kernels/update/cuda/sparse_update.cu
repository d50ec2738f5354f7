// Positions are sorted by row (stable), unless the rows are distinct; then the warp at the head of a row's
// run adds its gradients in their order and updates the row's columns. A long run is cut into one slice for
// each warp of the block, whose sums are added in order: a relation of a knowledge graph may be that of every
// triple of a batch. What decides between the two is the run's length. Bytes: the gradients and their
// positions once, a touched row and its states twice; scratch of 16 bytes a position.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>
#include <adjoint/kernels/sparse/cuda/sort.cuh>
#include <adjoint/kernels/update/rules.h>
#include <adjoint/kernels/update/sparse_update.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kWarps = kBlockThreads / 32;
constexpr int kColumns = 4;  // per lane: a block covers 128 columns
constexpr int kTileColumns = 32 * kColumns;
constexpr int64_t kHeavyRun = 16;

/// A lane's columns of the sum of the gradients at positions begin, begin + step, … below `end`.
template <class T>
__device__ __forceinline__ void add_run(const T* gradient, const int32_t* order, int64_t begin, int64_t end,
                                        int step, int64_t width, int64_t column, T (&sum)[kColumns]) {
#pragma unroll 4
  for (int64_t k = begin; k < end; k += step) {
    const T* row = gradient + (order == nullptr ? k : int64_t{order[k]}) * width;
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      if (column + 32 * j < width) sum[j] += row[column + 32 * j];
  }
}

template <class T, class Rule>
__global__ void __launch_bounds__(kBlockThreads)
    sparse_update_kernel(const uint32_t* keys, const int32_t* order, int64_t positions, int64_t rows,
                         int64_t width, T* parameter, const T* gradient, T* first, T* second, Rule rule,
                         const double* learning_rate, int64_t* step, unsigned* counter) {
  begin_overlapping();
  __shared__ typename Rule::Coefficients shared;
  __shared__ T part[kWarps][kTileColumns];
  if (threadIdx.x == 0) shared = rule.coefficients(static_cast<double>(*step + 1), *learning_rate);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t blocks = ceil_div(positions, kWarps);
  const BlockPlace place(blocks);
  const int64_t origin = place.row * kWarps, column = place.column * kTileColumns + lane;
  const bool distinct = order == nullptr;
  const auto end_of = [&](int64_t k) {
    return distinct ? k + 1 : k + upper_bound(keys + k, positions - k, keys[k]);
  };
  const auto heads = [&](int64_t k) {
    return k < positions && keys[k] < rows && (distinct || k == 0 || keys[k - 1] != keys[k]);
  };
  const auto update = [&](uint32_t row, const T(&sum)[kColumns]) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      if (column + 32 * j >= width) continue;
      const int64_t i = row * width + column + 32 * j;
      T none = 0;
      Rule::update(shared, parameter[i], sum[j], first[i], Rule::kStates >= 2 ? second[i] : none);
    }
  };
  const int64_t k = origin + warp;
  const int64_t end = heads(k) ? end_of(k) : 0;
  const bool heavy = end - k > kHeavyRun;
  const bool any = __syncthreads_or(heavy);  // `shared` is written
  if (end > 0 && !heavy) {
    T sum[kColumns] = {};
    add_run(gradient, order, k, end, 1, width, column, sum);
    update(keys[k], sum);
  }
  if (any) {
    for (int64_t head = origin; head < origin + kWarps; ++head) {
      if (!heads(head)) continue;
      const int64_t last = end_of(head);
      if (last - head <= kHeavyRun) continue;
      T sum[kColumns] = {};
      add_run(gradient, order, head + warp, last, kWarps, width, column, sum);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) part[warp][lane + 32 * j] = sum[j];
      __syncthreads();
      if (warp == 0) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
          for (int w = 1; w < kWarps; ++w) sum[j] += part[w][lane + 32 * j];
        update(keys[head], sum);
      }
      __syncthreads();
    }
  }
  if (is_last_block(counter, gridDim.x) && threadIdx.x == 0) ++*step;
}

/// The rows in ascending order, and their positions. Those outside, and -1, come last, as `limit`.
struct SortedRows {
  Tensor keys, order;
};

SortedRows sort_rows(const char* name, const Tensor& rows, int64_t limit) {
  const Device device = rows.device();
  const int64_t positions = rows.numel();
  SortedRows sorted{empty_keys<uint32_t>(positions, device), Tensor::empty({positions}, DType::i32, device)};
  Tensor unsorted = empty_keys<uint32_t>(positions, device);
  Tensor numbers = Tensor::empty({positions}, DType::i32, device);
  auto* key = static_cast<uint32_t*>(unsorted.raw_mutable_data());
  const int32_t* row = rows.data<int32_t>();
  int32_t* number = numbers.mutable_data<int32_t>();
  for_each(name, device.index, positions, [=] __device__(int64_t k) {
    key[k] = static_cast<uint32_t>(row[k] >= 0 && row[k] < limit ? row[k] : limit);
    number[k] = static_cast<int32_t>(k);
  });
  sort_pairs<uint32_t>(key, static_cast<uint32_t*>(sorted.keys.raw_mutable_data()), number,
                       sorted.order.mutable_data<int32_t>(), positions, bits_for(limit + 1), device);
  return sorted;
}

void advance(const char* name, Tensor& step) {
  int64_t* count = step.mutable_data<int64_t>();
  for_each(name, step.device().index, 1, [=] __device__(int64_t) { ++*count; });
}

template <class MakeRule>
void update_rows(const char* name, UpdateSlot& slot, const Tensor& rows, const Tensor& learning_rate,
                 Tensor& step, bool distinct, MakeRule&& rule_for) {
  const int device = step.device().index;
  const int64_t positions = rows.numel(), limit = slot.parameter.size(0), width = slot.parameter.size(1);
  if (positions == 0 || width == 0) return advance(name, step);
  // Rows outside are large as unsigned numbers, too.
  const SortedRows sorted = distinct ? SortedRows{rows, {}} : sort_rows(name, rows, limit);
  dispatch_float(slot.parameter.dtype(), name, [&]<class T>() {
    const auto rule = rule_for.template operator()<T>();
    launch(name, overlapping(device, grid(ceil_div(positions, kWarps) * ceil_div(width, kTileColumns))),
           sparse_update_kernel<T, std::remove_const_t<decltype(rule)>>,
           static_cast<const uint32_t*>(sorted.keys.raw_data()), data_or_null<int32_t>(sorted.order),
           positions, limit, width, slot.parameter.mutable_data<T>(), slot.gradient.data<T>(),
           mutable_data_or_null<T>(slot.first), mutable_data_or_null<T>(slot.second), rule,
           learning_rate.data<double>(), step.mutable_data<int64_t>(), arrival_counters(device));
  });
}

}  // namespace

void sparse_adam_update(const SparseAdamUpdateArgs& args) {
  update_rows("sparse_adam_update", args.slot, args.rows, args.learning_rate, args.step, args.distinct,
              [&]<class T>() { return Adam<T>{args.rule}; });
}

void sparse_adagrad_update(const SparseAdagradUpdateArgs& args) {
  update_rows("sparse_adagrad_update", args.slot, args.rows, args.learning_rate, args.step, args.distinct,
              [&]<class T>() { return Adagrad<T>{args.rule}; });
}

}  // namespace adj::kernels::cuda
