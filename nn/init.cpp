#include <adjoint/nn/init.h>

#include <cmath>
#include <optional>

namespace adj::nn {

namespace {

thread_local std::optional<double> left;  // elements within the scope of a NoInit; a double cannot overflow

/// What `draw` returns, or outside of that, for NoInit, a tensor without values.
template <class Draw>
Tensor initial(const Shape& shape, DType dtype, Draw&& draw) {
  if (!left) return draw();
  double count = 1.0;
  for (int d = 0; d < shape.dims(); ++d) count *= static_cast<double>(shape[d]);
  if ((*left -= count) < 0.0) fail("NoInit: a parameter or buffer {} exceeds its bound", shape.str());
  return Tensor::empty(shape, dtype);
}

Tensor normal(const Shape& shape, double variance, Generator& generator, DType dtype) {
  return initial(shape, dtype,
                 [&] { return random_normal(shape, 0.0, std::sqrt(variance), generator, dtype); });
}

}  // namespace

NoInit::NoInit(int64_t most) {
  ADJ_CHECK(!left, "NoInit: another one is already active");
  left = static_cast<double>(most);
}
NoInit::~NoInit() { left.reset(); }

Tensor uniform(const Shape& shape, double bound, Generator& generator, DType dtype) {
  return initial(shape, dtype, [&] { return random_uniform(shape, -bound, bound, generator, dtype); });
}
Tensor glorot_uniform(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return glorot_matrices({in, out}, generator, dtype);
}
Tensor glorot_matrices(const Shape& matrices, Generator& generator, DType dtype) {
  return uniform(matrices, std::sqrt(6.0 / static_cast<double>(matrices[-2] + matrices[-1])), generator,
                 dtype);
}
Tensor glorot_normal(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return normal({in, out}, 2.0 / static_cast<double>(in + out), generator, dtype);
}
Tensor kaiming_uniform(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return uniform({in, out}, std::sqrt(6.0 / static_cast<double>(in)), generator, dtype);
}
Tensor fan_in_uniform(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return uniform({in, out}, 1.0 / std::sqrt(static_cast<double>(in)), generator, dtype);
}
Tensor fan_in_bias(int64_t in, int64_t out, Generator& generator, DType dtype) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  return uniform({out}, bound, generator, dtype);
}
Tensor kaiming_normal(int64_t in, int64_t out, Generator& generator, DType dtype) {
  return normal({in, out}, 2.0 / static_cast<double>(in), generator, dtype);
}

Tensor constant(const Shape& shape, double value) {
  return initial(shape, DType::f32, [&] { return Tensor::full(shape, value); });
}

}  // namespace adj::nn
