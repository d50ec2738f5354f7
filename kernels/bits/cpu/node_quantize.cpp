#include <adjoint/kernels/bits/node_quantize.h>
#include <adjoint/kernels/cpu/loops.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kLanes = 32;  // a GPU warp, which defines the summation order for all devices

double sum_of_lanes(double* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

}  // namespace

void node_quantize(const NodeQuantizeArgs& args) {
  const int64_t width = args.x.size(1);
  const float *x = args.x.data<float>(), *scale = args.scale.data<float>(), *bits = args.bits.data<float>();
  const float is_signed = *args.is_signed.data<float>();
  float* y = args.y.mutable_data<float>();
  for_each_index(args.x.size(0), row_grain(width, kCostlyGrain), [=](int64_t i) {
    const NodeRange range = node_range(scale[i], bits[i], is_signed);
#pragma omp simd
    for (int64_t at = i * width; at < (i + 1) * width; ++at) y[at] = node_quantized(x[at], range);
  });
}

void node_quantize_backward(const NodeQuantizeBackwardArgs& args) {
  const int64_t width = args.x.size(1);
  const bool local = args.local;
  const float *x = args.x.data<float>(), *dy = args.dy.data<float>(), *scale = args.scale.data<float>(),
              *bits = args.bits.data<float>();
  const float is_signed = *args.is_signed.data<float>();
  float *dx = args.dx ? args.dx.mutable_data<float>() : nullptr, *dscale = args.dscale.mutable_data<float>(),
        *dbits = args.dbits.mutable_data<float>();
  const double share = error_share(args);
  for_each_index(args.x.size(0), row_grain(width, kCostlyGrain), [=](int64_t i) {
    const NodeRange range = node_range(scale[i], bits[i], is_signed);
    double of_scale[kLanes] = {}, of_bits[kLanes] = {};
    for (int64_t first = 0; first < width; first += kLanes) {
      const int64_t lanes = std::min(kLanes, width - first);
      for (int64_t k = 0; k < lanes; ++k) {
        const int64_t at = i * width + first + k;
        const NodeSlope slope = node_slope(x[at], range);
        const float given = dy[at], taken = local ? error_sign(x[at], node_quantized(x[at], range)) : given;
        of_scale[k] += static_cast<double>(taken) * static_cast<double>(slope.scale);
        of_bits[k] += static_cast<double>(taken) * static_cast<double>(slope.bits);
        if (dx != nullptr) dx[at] = given * slope.x;
      }
    }
    dscale[i] = static_cast<float>(share * sum_of_lanes(of_scale));
    dbits[i] = static_cast<float>(share * sum_of_lanes(of_bits));
  });
}

}  // namespace adj::kernels::cpu
