#include "gemm_cases.h"

using namespace adj;
using namespace adj::test;

// Float32 products as sums of bfloat16 products on a GPU's tensor cores. Devices without them use float32
// arithmetic and must pass the same checks.

namespace {

/// Whole tiles, partial ones on every side, one number wide; runs of K split over blocks; widths whose rows
/// cannot be read 16 bytes at a time.
const std::vector<Product> kSizes{{128, 64, 128}, {128, 64, 64},   {1, 1, 1},       {130, 65, 66},
                                  {33, 17, 65},   {300, 100, 40},  {257, 602, 130}, {64, 9001, 96},
                                  {200, 1433, 7}, {20000, 30, 20}, {7, 300, 1000}};

template <class F>
void for_cases(F&& f) {
  const ComputeScope scope({.exact_products = ExactProducts::split});
  for (Device device : devices())
    for (const Product& one : in_all_forms(kSizes)) {
      CAPTURES(one.m, one.k, one.n, one.turned_a, one.turned_b);
      f(one, device);
    }
}

/// Normal numbers times size(outer, inner), where inner runs over the K of the product.
template <class Size>
Tensor operand(const Shape& shape, bool rows_outer, Device device, Size size) {
  const int64_t rows = shape[0], columns = shape[1];
  Numbers numbers = values(random_tensor(shape));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      numbers[uz(i * columns + j)] *= rows_outer ? size(i, j) : size(j, i);
  return tensor_of(numbers, shape, DType::f32, device);
}

/// GradientMap of a weight and its bias, for a = x and b = dz.
std::pair<Tensor, Tensor> weight_gradients(const Product& c, const Tensor& a, const Tensor& b) {
  Tensor dw = Tensor::full({c.m, c.n}, NAN, DType::f32, a.device()),
         dbias = Tensor::full({c.n}, NAN, DType::f32, a.device());
  kernels::weight_gradients({.x = a, .dz = b, .dw = dw, .dbias = dbias});
  return {dw, dbias};
}

}  // namespace

TEST_CASE("split products are as accurate as float32, with bias, relu and sums") {
  for_cases([](const Product& c, Device device) {
    const Tensor a = random_tensor(c.shape_a(), DType::f32, device);
    const Tensor b = random_tensor(c.shape_b(), DType::f32, device);
    const GemmOptions options{.bias = random_tensor({c.n}, DType::f32, device),
                              .activation = Activation::relu};
    const Numbers products = values(multiplied(c, a.to(DType::f64), b.to(DType::f64)));
    // Below the error of K roundings of float32: 2^-24 K times the sum of absolute products, here of numbers
    // around 1.
    const double bound = 1e-6 * std::sqrt(static_cast<double>(c.k)) + 1e-6;
    const Tensor y = multiplied(c, a, b, options);
    CHECK(close(y, finished(products, options.bias, Activation::relu), bound));
    CHECK(same_bits(y, multiplied(c, a, b, options)));

    Tensor sum = random_tensor({c.m, c.n}, DType::f32, device);
    Numbers expected = zipped(values(sum), products, std::plus());
    multiply(c, a, b, sum, {.accumulate = true});
    CHECK(close(sum, expected, bound));

    const Tensor relu_of = random_tensor({c.m, c.n}, DType::f32, device);
    expected = zipped(zipped(expected, products, std::plus()), values(relu_of), through_relu);
    multiply(c, a, b, sum, {.accumulate = true, .through_relu = relu_of});
    CHECK(close(sum, expected, 2 * bound));

    if (!c.turned_a || c.turned_b) return;
    const auto [dw, dbias] = weight_gradients(c, a, b);
    CHECK(close(dw, products, bound));
    CHECK(close(dbias, column_sums(b), bound));
    const auto [dw2, dbias2] = weight_gradients(c, a, b);
    CHECK(same_bits(dw, dw2));
    CHECK(same_bits(dbias, dbias2));
  });
}

TEST_CASE("split products use all bits of large and small operands") {
  const ComputeScope scope({.exact_products = ExactProducts::split});
  for (Device device : devices()) {
    // One term: the omitted products of parts are below 2^-22 of it.
    for (const double scale : {1.0, 0x1p-60, 0x1p60, 0x1p-100, 0x1p-112, 0x1p-118, 0x1p-125}) {
      CAPTURE(scale);
      const Numbers numbers{1 + 0x1p-23, 1 - 0x1p-24, 4.0 / 3, 0x1.fffffep0, -0x1.0101p0, 1.0};
      const auto n = static_cast<int64_t>(numbers.size());
      const double partners = scale < 0x1p-100 ? 0x1p100 : 1.0;  // so that products need all their bits
      const Tensor a = tensor_of(zipped(numbers, {scale}, std::multiplies()), {n, 1}, DType::f32, device),
                   b = tensor_of(zipped(numbers, {partners}, std::multiplies()), {1, n}, DType::f32, device),
                   c = multiplied({n, 1, n}, a, b);
      const Numbers x = values(a), y = values(b), z = values(c);
      for (size_t i = 0; i < x.size(); ++i)
        for (size_t j = 0; j < y.size(); ++j)
          CHECK(z[i * y.size() + j] == doctest::Approx(x[i] * y[j]).epsilon(0x1p-21).scale(0.0));
    }
    // Many terms of one sign: sums that were rounded towards zero all the way would drift.
    const int64_t k = 20000;
    const Tensor ones = Tensor::full({2, k}, 1.0 + 0x1p-20, DType::f32, device),
                 c = multiplied({2, k, 2, false, true}, ones, ones);
    const double expected = static_cast<double>(k) * (1.0 + 0x1p-20) * (1.0 + 0x1p-20);
    for (double x : values(c)) CHECK(x == doctest::Approx(expected).epsilon(1e-5));
    // The largest finite number has finite parts, and non-finite numbers are kept.
    const auto number = [&](double x) { return Tensor::full({1, 1}, x, DType::f32, device); };
    const auto product = [&](float x) { return multiplied({1, 1, 1}, number(x), number(1.0)).item(); };
    CHECK(product(std::numeric_limits<float>::max()) == doctest::Approx(std::numeric_limits<float>::max()));
    CHECK(product(INFINITY) == INFINITY);
    CHECK(std::isnan(product(NAN)));
  }
}

TEST_CASE("products of small and large operands are accurate in each term, by every method") {
  // The bits in three bfloat16 parts of such a number end at 2^-133: of 2^-126 they have 7 bits.
  const auto size_of = [](int pattern, int64_t outer, int64_t inner) {
    switch (pattern) {
      case 0:
        return 0x1p-112;
      case 1:
        return 0x1p-126;
      case 2:  // some rows of such
        return outer % 3 == 0 ? 0x1p-126 : 0x1p-3;
      case 3:  // within a row, and those of the partner, too
        return inner % 3 == 0 ? 0x1p100 : 0x1p-118;
      case 4:  // only in some chunks of 64
        return inner / 64 % 2 == 0 ? 0x1p-120 : 1.0;
      case 5:  // some infinite after scaling
        return inner % 70 == 3 ? 0x1p120 : 0x1p-20;
      case 6:  // infinite sums
        return outer % 5 == 0 ? 0x1p70 : 1.0;
      default:  // with fewer than 24 bits
        return 0x1p-140;
    }
  };
  const std::vector<Product> few{{5, 7, 9, false, false},
                                 {130, 65, 66, true, true},
                                 {128, 64, 128, false, true},
                                 {150, 330, 70, true, false},
                                 {64, 3000, 96, true, false}};
  for (ExactProducts products : {ExactProducts::split, ExactProducts::float32, ExactProducts::by_size}) {
    const ComputeScope scope({.exact_products = products});
    for (Device device : devices())
      for (const Product& one : few)
        for (int pattern = 0; pattern < 8; ++pattern)
          for (bool small_b : {false, true}) {
            CAPTURES(static_cast<int>(products), one.m, one.k, pattern, small_b);
            const auto scaled = [&](bool is_a, bool turned) {
              const auto size = [&](int64_t outer, int64_t inner) {
                const double small = size_of(pattern, outer, inner);
                if (is_a != small_b) return small;
                // All terms of a sum have the same magnitude.
                return pattern >= 3 && pattern <= 5 ? 0x1p-18 / small : pattern == 6 ? 0x1p40 : 0x1p100;
              };
              return operand(is_a ? one.shape_a() : one.shape_b(), is_a != turned, device, size);
            };
            const Tensor a = scaled(true, one.turned_a), b = scaled(false, one.turned_b);
            const Numbers c = values(multiplied(one, a, b));
            const double bound = one.k > 1000 ? 1e-5 : 4e-6;
            CHECK(worst_error(one, a, b, c) <= bound);
            if (!one.turned_a || one.turned_b) continue;
            const auto [dw, dbias] = weight_gradients(one, a, b);
            CHECK(values(dw) == c);
            const Numbers sums = column_sums(b), got = values(dbias), all = column_sums(sizes(b));
            double apart = 0;
            for (size_t i = 0; i < sums.size(); ++i)
              apart = std::max(apart, std::abs(got[i] - sums[i]) / all[i]);
            CHECK(apart <= bound);
          }
  }
}

TEST_CASE("split products are accurate in each term, for any mixture of magnitudes") {
  // Rows, columns and runs of K that are zero, or smaller than their neighbours by any power.
  const auto size_of = [](int pattern, int64_t outer, int64_t inner) {
    switch (pattern) {
      case 0:  // by row
        return std::ldexp(1.0, -static_cast<int>(outer % 50));
      case 1:  // by run of K
        return inner % 128 < 64 ? 1.0 : std::ldexp(1.0, -static_cast<int>(inner % 37));
      case 2:  // many zeros
        return inner % 3 == 0 || outer % 7 == 0 ? 0.0 : 1e-12;
      case 3:  // runs of only zeros
        return inner / 64 % 2 == 0 ? 0.0 : 1e9;
      case 4:  // one large number in a row of small ones
        return inner == outer % 97 ? 1e9 : 1.0;
      default:  // some 2^106 apart
        return inner % 2 == 0 ? 1e-16 : 1e16;
    }
  };
  const ComputeScope scope({.exact_products = ExactProducts::split});
  constexpr int64_t m = 150, k = 200, n = 140;
  for (Device device : devices())
    for (int pattern_a = 0; pattern_a < 6; ++pattern_a)
      for (int pattern_b = 0; pattern_b < 6; ++pattern_b)
        for (bool turned : {false, true}) {
          CAPTURES(pattern_a, pattern_b, turned);
          const Product one{m, k, n, turned, turned};
          const auto scaled = [&](bool is_a, int pattern) {
            return operand(is_a ? one.shape_a() : one.shape_b(), is_a != turned, device,
                           [&](int64_t outer, int64_t inner) { return size_of(pattern, outer, inner); });
          };
          const Tensor a = scaled(true, pattern_a), b = scaled(false, pattern_b);
          // 200 roundings of float32 leave 1.2e-5 at worst.
          CHECK(worst_error(one, a, b, values(multiplied(one, a, b))) <= 4e-6);
        }
}
