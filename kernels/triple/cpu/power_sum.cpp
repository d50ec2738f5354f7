#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/triple/power_sum.h>
#include <adjoint/kernels/triple/rules.h>

namespace adj::kernels::cpu {

void power_sum(const PowerSumArgs& args) {
  const int64_t width = args.x.size(1), units = units_of(args.complex, width), rows = args.x.size(0);
  dispatch_float(args.x.dtype(), "power_sum", [&]<class T>() {
    const T* x = args.x.data<T>();
    const auto absolute = [=, complex = args.complex](int64_t i, int64_t d) {
      const T re = x[i * width + d];
      return complex ? std::hypot(re, x[i * width + d + units]) : std::abs(re);
    };
    const double sum =
        sum_of_chunks(rows, row_grain(width), [=, cubed = args.power == 3](int64_t begin, int64_t end) {
          double part = 0.0;
          for (int64_t i = begin; i < end; ++i)
            for (int64_t d = 0; d < units; ++d) {
              const auto a = static_cast<double>(absolute(i, d));
              part += a * a * (cubed ? a : 1.0);
            }
          return part;
        });
    *args.sum.mutable_data<T>() = static_cast<T>(args.factor * sum);
  });
}

void power_sum_backward(const PowerSumBackwardArgs& args) {
  const int64_t width = args.x.size(1), units = units_of(args.complex, width);
  dispatch_float(args.x.dtype(), "power_sum", [&]<class T>() {
    const T* x = args.x.data<T>();
    T* dx = args.dx.mutable_data<T>();
    const T factor = *args.dsum.data<T>() * static_cast<T>(args.factor * args.power);
    for_rows(args.x.size(0), width, [=, complex = args.complex, cubed = args.power == 3](int64_t i) {
      const T* row = x + i * width;
      T* out = dx + i * width;
      for (int64_t d = 0; d < units; ++d) {
        const T a = !cubed ? T{1} : complex ? std::hypot(row[d], row[d + units]) : std::abs(row[d]);
        out[d] = factor * a * row[d];
        if (complex) out[d + units] = factor * a * row[d + units];
      }
    });
  });
}

}  // namespace adj::kernels::cpu
