// Each number is read once in either pass, and its gradient written once; nothing is kept.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/triple/power_sum.h>
#include <adjoint/kernels/triple/rules.h>

namespace adj::kernels::cuda {

namespace {

/// |x|^power of a unit, and x |x|^(power - 2).
template <class T>
struct Power {
  const T* x;
  int64_t width, units;
  bool complex, cubed;

  __device__ T absolute(int64_t i) const { return complex ? hypot(x[i], x[i + units]) : abs(x[i]); }
  __device__ int64_t place(int64_t k) const { return k / units * width + k % units; }
  __device__ double operator()(int64_t k) const {
    const auto a = static_cast<double>(absolute(place(k)));
    return a * a * (cubed ? a : 1.0);
  }
};

template <class T>
Power<T> power_of(const Tensor& x, bool complex, int power) {
  return {x.data<T>(), x.size(1), units_of(complex, x.size(1)), complex, power == 3};
}

template <class T>
void run_power_sum(const PowerSumArgs& args) {
  const Power<T> power = power_of<T>(args.x, args.complex, args.power);
  T* out = args.sum.mutable_data<T>();
  flat_sum<double>(
      "power_sum", args.x.device().index, args.x.size(0) * power.units, power,
      [out, factor = args.factor] __device__(double sum) { *out = static_cast<T>(factor * sum); });
}

template <class T>
void run_power_backward(const PowerSumBackwardArgs& args) {
  const Power<T> power = power_of<T>(args.x, args.complex, args.power);
  const T *dsum = args.dsum.data<T>(), scale = static_cast<T>(args.factor * args.power);
  T* dx = args.dx.mutable_data<T>();
  for_each("power_sum", args.x.device().index, args.x.size(0) * power.units, [=] __device__(int64_t k) {
    const int64_t i = power.place(k);
    const T factor = *dsum * scale * (power.cubed ? power.absolute(i) : T{1});
    dx[i] = factor * power.x[i];
    if (power.complex) dx[i + power.units] = factor * power.x[i + power.units];
  });
}

}  // namespace

void power_sum(const PowerSumArgs& args) {
  args.x.dtype() == DType::f64 ? run_power_sum<double>(args) : run_power_sum<float>(args);
}

void power_sum_backward(const PowerSumBackwardArgs& args) {
  args.x.dtype() == DType::f64 ? run_power_backward<double>(args) : run_power_backward<float>(args);
}

}  // namespace adj::kernels::cuda
