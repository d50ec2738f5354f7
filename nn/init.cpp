#include <adjoint/nn/init.h>

#include <cmath>

namespace adj::nn {

namespace {

Tensor uniform(int64_t in, int64_t out, double bound, Generator& generator, DType dtype) {
  return random_uniform({in, out}, -bound, bound, generator, dtype);
}

}  // namespace

Tensor glorot_uniform(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return uniform(in, out, std::sqrt(6.0 / static_cast<double>(in + out)), generator, dtype);
}
Tensor glorot_normal(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return random_normal({in, out}, 0.0, std::sqrt(2.0 / static_cast<double>(in + out)), generator, dtype);
}
Tensor kaiming_uniform(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return uniform(in, out, std::sqrt(6.0 / static_cast<double>(in)), generator, dtype);
}
Tensor fan_in_uniform(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return uniform(in, out, 1.0 / std::sqrt(static_cast<double>(in)), generator, dtype);
}
Tensor fan_in_bias(int64_t in, int64_t out, Generator& generator, DType dtype) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  return random_uniform({out}, -bound, bound, generator, dtype);
}
Tensor kaiming_normal(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return random_normal({in, out}, 0.0, std::sqrt(2.0 / static_cast<double>(in)), generator, dtype);
}

}  // namespace adj::nn
