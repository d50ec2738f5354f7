// A block for each query: its scores are read twice (largest, then exponentials), from L2 as a chunk is
// chosen to fit there; the backward pass reads and writes them once. Kept between the passes: three numbers a
// query. Sums over queries are in their order.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/triple/losses.h>
#include <adjoint/kernels/triple/rules.h>

#include <limits>

namespace adj::kernels::cuda {

namespace {

/// Largest value over a block, on every thread.
template <class T>
__device__ T largest_of_block(T value) {
  __shared__ T of_warp[kBlockThreads / 32];
  value = largest_of_lanes<32>(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  for (T other : of_warp) value = other > value ? other : value;
  return value;
}
/// Sum over a block, on every thread.
template <class T>
__device__ T sum_on_all(T value) {
  __shared__ T total;
  value = sum_of_block(value);
  if (threadIdx.x == 0) total = value;
  __syncthreads();
  value = total;
  __syncthreads();
  return value;
}

/// TripleTargets on a device.
struct Targets {
  const int64_t* offsets;
  const int32_t *ids, *rows;

  explicit Targets(const TripleTargets& t)
      : offsets(t.offsets.data<int64_t>()), ids(t.ids.data<int32_t>()), rows(t.rows.data<int32_t>()) {}
  __device__ int64_t first(int64_t i) const { return offsets[rows[i]]; }
  __device__ int64_t last(int64_t i) const { return offsets[rows[i] + 1]; }
  template <class T>
  __device__ T count(int64_t i) const {
    const int64_t n = last(i) - first(i);
    return static_cast<T>(n > 1 ? n : 1);
  }
};

/// Largest of a row (and `start`), and Σ exp(factor (x - largest)), on every thread.
template <class T>
__device__ void soft_sum(const T* x, int64_t n, T factor, T start, T& most, T& sum) {
  T mine = start;
  for (int64_t k = threadIdx.x; k < n; k += kBlockThreads) mine = x[k] > mine ? x[k] : mine;
  most = largest_of_block(mine);
  T part = 0;
  for (int64_t k = threadIdx.x; k < n; k += kBlockThreads) part += exp(factor * (x[k] - most));
  sum = sum_on_all(part);
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    drawn_loss_kernel(DrawnLossRule rule, const T* y, const T* drawn, int64_t count, const T* weight,
                      int64_t weights, T* row_loss, const T* dloss, T share, T* dy, T* ddrawn) {
  begin_overlapping();
  const int64_t i = blockIdx.x;
  const T* n = drawn + i * count;
  const T margin = static_cast<T>(rule.margin), temperature = static_cast<T>(rule.temperature), truth = y[i];
  const bool soft = rule.kind == TripleLoss::softmax;
  const T factor = soft ? T{1} : temperature;
  T most, total;
  soft_sum(n, count, factor, soft ? truth : -std::numeric_limits<T>::infinity(), most, total);
  if (soft) total += exp(truth - most);
  const T factor_of_row = weight != nullptr ? weight[i % weights] : T{1};
  if (dloss == nullptr) {
    T part = 0;
    if (!soft)
      for (int64_t k = threadIdx.x; k < count; k += kBlockThreads)
        part += exp(factor * (n[k] - most)) / total * softplus(margin + n[k]);
    part = sum_on_all(part);
    if (threadIdx.x == 0)
      row_loss[i] = factor_of_row * (soft ? log(total) + most - truth : softplus(-(margin + truth)) + part);
    return;
  }
  const T scale = *dloss * share * factor_of_row;
  for (int64_t k = threadIdx.x; k < count; k += kBlockThreads)
    ddrawn[i * count + k] =
        scale * exp(factor * (n[k] - most)) / total * (soft ? T{1} : sigmoid(margin + n[k]));
  if (threadIdx.x == 0)
    dy[i] = scale * (soft ? exp(truth - most) / total - T{1} : -sigmoid(-(margin + truth)));
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    entity_loss_kernel(bool soft, const T* y, int64_t count, int64_t begin, Targets target, T* state) {
  begin_overlapping();
  const int64_t i = blockIdx.x;
  const T* row = y + i * count;
  T* s = state + 3 * i;
  const T largest = begin > 0 ? s[0]
                    : soft    ? -std::numeric_limits<T>::infinity()
                              : T{0},
          before = begin > 0 ? s[1] : T{0}, picked = begin > 0 ? s[2] : T{0};
  T most = 0, sum = 0;
  if (soft) {
    soft_sum(row, count, T{1}, largest, most, sum);  // every thread has read the state after this
    if (before > 0) sum += before * exp(largest - most);
  } else {
    T part = 0;
    for (int64_t k = threadIdx.x; k < count; k += kBlockThreads) part += softplus(row[k]);
    sum = before + sum_on_all(part);
  }
  T mine = 0;
  for (int64_t k = target.first(i) + threadIdx.x; k < target.last(i); k += kBlockThreads)
    if (const int64_t place = target.ids[k] - begin; place >= 0 && place < count) mine += row[place];
  mine = sum_on_all(mine);
  if (threadIdx.x == 0) {
    s[0] = most;
    s[1] = sum;
    s[2] = picked + mine;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    entity_loss_backward_kernel(bool soft, T* y, int64_t count, int64_t begin, Targets target, const T* state,
                                const T* dloss, T share) {
  begin_overlapping();
  const int64_t i = blockIdx.x;
  T* row = y + i * count;
  const T scale = *dloss * share;
  const T most = state[3 * i], factor = soft ? scale / state[3 * i + 1] : scale;
  for (int64_t k = threadIdx.x; k < count; k += kBlockThreads)
    row[k] = factor * (soft ? exp(row[k] - most) : sigmoid(row[k]));
  __syncthreads();
  const T each = soft ? scale / target.count<T>(i) : scale;
  for (int64_t k = target.first(i) + threadIdx.x; k < target.last(i); k += kBlockThreads)
    if (const int64_t place = target.ids[k] - begin; place >= 0 && place < count) row[place] -= each;
}

/// mean = Σ value(i) / n.
template <class T, class Value>
void write_mean(const char* name, int64_t n, Tensor& mean, const Value& value) {
  T* out = mean.mutable_data<T>();
  const double share = n > 0 ? 1.0 / static_cast<double>(n) : 0.0;
  flat_sum<double>(name, mean.device().index, n, value,
                   [=] __device__(double sum) { *out = static_cast<T>(sum * share); });
}

template <class T>
struct RowValue {
  const T* rows;
  __device__ double operator()(int64_t i) const { return static_cast<double>(rows[i]); }
};
template <class T>
struct StateValue {
  bool soft;
  const T* state;
  Targets target;
  __device__ double operator()(int64_t i) const {
    const T* s = state + 3 * i;
    return static_cast<double>(soft ? log(s[1]) + s[0] - s[2] / target.count<T>(i) : s[1] - s[2]);
  }
};

int64_t weights_in(const Tensor& weight) { return weight ? weight.numel() : 0; }

}  // namespace

void drawn_loss(const DrawnLossArgs& args) {
  const int64_t rows = args.drawn.size(0);
  const Device device = args.y.device();
  dispatch_float(args.y.dtype(), "drawn_loss", [&]<class T>() {
    Tensor row_loss = Tensor::empty({rows}, args.y.dtype(), device);
    launch("drawn_loss", overlapping(device.index, grid(rows)), drawn_loss_kernel<T>, args.rule,
           args.y.data<T>(), args.drawn.data<T>(), args.drawn.size(1), data_or_null<T>(args.weight),
           weights_in(args.weight), row_loss.mutable_data<T>(), static_cast<const T*>(nullptr), T{0},
           static_cast<T*>(nullptr), static_cast<T*>(nullptr));
    write_mean<T>("drawn_loss", rows, args.loss, RowValue<T>{row_loss.data<T>()});
  });
}

void drawn_loss_backward(const DrawnLossBackwardArgs& args) {
  const int64_t rows = args.drawn.size(0);
  dispatch_float(args.y.dtype(), "drawn_loss", [&]<class T>() {
    launch("drawn_loss", overlapping(args.y.device().index, grid(rows)), drawn_loss_kernel<T>, args.rule,
           args.y.data<T>(), args.drawn.data<T>(), args.drawn.size(1), data_or_null<T>(args.weight),
           weights_in(args.weight), static_cast<T*>(nullptr), args.dloss.data<T>(),
           T{1} / static_cast<T>(std::max<int64_t>(1, rows)), args.dy.mutable_data<T>(),
           args.ddrawn.mutable_data<T>());
  });
}

void entity_loss(const EntityLossArgs& args) {
  dispatch_float(args.y.dtype(), "entity_loss", [&]<class T>() {
    launch("entity_loss", overlapping(args.y.device().index, grid(args.y.size(0))), entity_loss_kernel<T>,
           args.kind == TripleLoss::softmax, args.y.data<T>(), args.y.size(1), args.begin,
           Targets(args.target), args.state.mutable_data<T>());
  });
}

void entity_loss_mean(const EntityLossMeanArgs& args) {
  dispatch_float(args.state.dtype(), "entity_loss", [&]<class T>() {
    write_mean<T>(
        "entity_loss", args.state.size(0), args.loss,
        StateValue<T>{args.kind == TripleLoss::softmax, args.state.data<T>(), Targets(args.target)});
  });
}

void entity_loss_backward(const EntityLossBackwardArgs& args) {
  const int64_t rows = args.y.size(0);
  dispatch_float(args.y.dtype(), "entity_loss", [&]<class T>() {
    launch("entity_loss", overlapping(args.y.device().index, grid(rows)), entity_loss_backward_kernel<T>,
           args.kind == TripleLoss::softmax, args.y.mutable_data<T>(), args.y.size(1), args.begin,
           Targets(args.target), args.state.data<T>(), args.dloss.data<T>(),
           T{1} / static_cast<T>(std::max<int64_t>(1, rows)));
  });
}

}  // namespace adj::kernels::cuda
