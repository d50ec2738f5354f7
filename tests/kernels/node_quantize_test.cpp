#include "../reference/plain.h"
#include "bit_cases.h"
#include "cases.h"
#include <adjoint/autograd/node_quantize.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Case {
  Tensor x, scale, bits, is_signed, dy;
  int64_t rows, cols;
  bool has_signs;

  /// Bits from below their bounds to above, many numbers beyond their node's range.
  Case(int64_t n, int64_t f, bool with_signs) : rows(n), cols(f), has_signs(with_signs) {
    Draw draw(static_cast<uint64_t>(n * 100 + f), {}, DType::f32);
    x = draw.normal({n, f});
    scale = draw.uniform({n}, 0.02, 0.9);
    bits = draw.uniform({n}, -1.0, 10.0);
    is_signed = Tensor::full({1}, with_signs ? 1.0 : 0.0);
    dy = draw.normal({n, f});
  }
  /// In float64: A2Q's definitions for a number and its derivatives.
  struct Number {
    double y, x, scale, bits;
  };
  Number of(int64_t i, int64_t c) const {
    const double sign = has_signs ? 1.0 : 0.0;
    const double b = std::min(8.0, std::max(1.0 + sign, std::nearbyint(values(bits)[uz(i)])));
    const double largest = std::pow(2.0, b - sign) - 1.0, s = scale.data<float>()[i],
                 v = static_cast<double>(x.data<float>()[i * cols + c] / scale.data<float>()[i]);
    const double slope = s * std::log(2.0) * std::pow(2.0, b - sign);
    if (v > largest) return {s * largest, 0.0, largest, slope};
    if (has_signs && v < -largest) return {-s * largest, 0.0, -largest, -slope};
    if (!has_signs && v < 0.0) return {0.0, 0.0, 0.0, 0.0};
    return {s * std::nearbyint(v), 1.0, std::nearbyint(v) - v, 0.0};
  }
};

constexpr std::array<std::array<int64_t, 2>, 7> kShapes{
    {{1, 1}, {7, 5}, {40, 32}, {33, 129}, {0, 4}, {4, 0}, {5, 70}}};

/// Values and the three gradients, on the CPU.
std::vector<Tensor> passed(const Case& c, Device device, bool local) {
  Var x = Var::parameter(c.x.to(device).clone()), scale = Var::parameter(c.scale.to(device).clone()),
      bits = Var::parameter(c.bits.to(device).clone());
  const Var y = node_quantize(x, scale, bits, c.is_signed.to(device), local);
  y.backward(c.dy.to(device).clone());
  std::vector<Tensor> all;
  for (const Tensor& one : {y.value(), x.grad(), scale.grad(), bits.grad()})
    all.push_back(one.to(Device::cpu()));
  return all;
}

}  // namespace

TEST_CASE("bits per node and their gradients equal plain loops in float64") {
  for (const auto& [rows, cols] : kShapes)
    for (bool has_signs : {false, true})
      for (bool local : {false, true}) {
        CAPTURES(rows, cols, has_signs, local);
        const Case c(rows, cols, has_signs);
        Numbers y, dx, dscale, dbits;
        for (int64_t i = 0; i < rows; ++i) {
          double of_scale = 0.0, of_bits = 0.0;
          for (int64_t k = 0; k < cols; ++k) {
            const Case::Number number = c.of(i, k);
            const double given = c.dy.data<float>()[i * cols + k], x = c.x.data<float>()[i * cols + k];
            const double taken = !local ? given
                                        : (number.y > x   ? 1.0
                                           : number.y < x ? -1.0
                                                          : 0.0) /
                                              static_cast<double>(cols);
            y.push_back(number.y);
            dx.push_back(given * number.x);
            of_scale += taken * number.scale;
            of_bits += taken * number.bits;
          }
          dscale.push_back(of_scale);
          dbits.push_back(of_bits);
        }
        for (Device device : devices()) {
          const auto found = passed(c, device, local);
          CHECK(close(found[0], y, 1e-6));
          CHECK(close(found[1], dx, 1e-6));
          CHECK(close(found[2], dscale, 1e-5));
          CHECK(close(found[3], dbits, 1e-5));
          const auto on_host = passed(c, Device::cpu(), local);
          for (size_t k = 0; k < 4; ++k) CHECK(same_bits(found[k], on_host[k]));
        }
      }
}

TEST_CASE("the derivative by bits is that of the range's end, by finite differences") {
  // A number beyond the range is clamped to s (2^(b - 1) - 1), a function of the unrounded b.
  const double s = 0.3, b = 3.0, step = 1e-5;
  const auto end = [&](double of) { return s * (std::pow(2.0, of - 1.0) - 1.0); };
  Var x(Tensor::full({1, 1}, 50.0)), scale = Var::parameter(Tensor::full({1}, s)),
                                     bits = Var::parameter(Tensor::full({1}, b));
  const Var y = node_quantize(x, scale, bits, Tensor::full({1}, 1.0));
  CHECK(y.value().item() == doctest::Approx(end(b)));
  y.backward(Tensor::full({1, 1}, 1.0));
  CHECK(bits.grad().item() == doctest::Approx((end(b + step) - end(b - step)) / (2.0 * step)).epsilon(1e-5));
}

TEST_CASE(
    "bits per node: ties round to even, NaN is the lowest value, and numbers are clamped to the range") {
  for (Device device : devices()) {
    const Var x(
        Tensor::from<float>({0.25f, 0.75f, 1.25f, 9.0f, -9.0f, NAN, INFINITY, -INFINITY}, {1, 8}).to(device)),
        scale(scalar(0.5f, device));
    const auto of = [&](float bits, float sign) {
      const Var y = node_quantize(x, scale, Var(scalar(bits, device)), scalar(sign, device));
      return y.value().to_vector<float>();
    };
    using Floats = std::vector<float>;
    CHECK(of(2.4f, 0) == Floats{0, 1, 1, 1.5f, 0, 0, 1.5f, 0});
    CHECK(of(2.6f, 1) == Floats{0, 1, 1, 1.5f, -1.5f, -1.5f, 1.5f, -1.5f});
    CHECK(of(-3, 1) == Floats{0, 0.5f, 0.5f, 0.5f, -0.5f, -0.5f, 0.5f, -0.5f});
    CHECK(of(-3, 0) == of(1, 0));
    CHECK(of(40, 0) == of(8, 0));
  }
}

TEST_CASE("bits per node are the same on any number of threads") {
  const Case c(4000, 70, true);
  for (bool local : {false, true})
    CHECK(same_bits_on_any_threads([&] { return passed(c, Device::cpu(), local); }));
}

TEST_CASE("node_quantize rejects mismatched arguments") {
  const Var x(random_tensor({3, 4})), three(Tensor::full({3}, 1.0));
  const Tensor sign = Tensor::zeros({1});
  CHECK_ERROR_HAS(node_quantize(x, Var(Tensor::full({4}, 1.0)), three, sign), "scale is");
  CHECK_ERROR_HAS(node_quantize(x, three, Var(Tensor::full({1}, 1.0)), sign), "bits is");
  CHECK_ERROR_HAS(node_quantize(x, three, three, Tensor::zeros({3})), "is_signed");
  CHECK_ERROR_HAS(node_quantize(Var(random_tensor({3, 4}, DType::f64)), three, three, sign), "float32");
}
