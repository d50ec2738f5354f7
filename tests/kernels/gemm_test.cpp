#include "../support.h"
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/dense/gemm.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;
using adj::kernels::Transpose;

namespace {

struct Extents {
  int64_t m, k, n;
};

/// The last two are for the library's kernels on a GPU, those before them small enough for the own one, which
/// shares out the long sums.
const std::vector<Extents> kExtents{{1, 1, 1},    {5, 3, 2},      {16, 16, 16},    {33, 17, 65},
                                    {100, 7, 1},  {1, 200, 9},    {16, 999, 7},    {130, 64, 40},
                                    {65, 999, 7}, {40, 1999, 41}, {301, 131, 121}, {512, 128, 72}};

std::vector<double> multiply_plainly(const Tensor& a, bool turned_a, const Tensor& b, bool turned_b,
                                     Extents size) {
  const std::vector<double> x = values(a), y = values(b);
  std::vector<double> c(uz(size.m * size.n), 0.0);
  for (int64_t i = 0; i < size.m; ++i)
    for (int64_t j = 0; j < size.n; ++j)
      for (int64_t k = 0; k < size.k; ++k)
        c[uz(i * size.n + j)] += x[uz(turned_a ? k * size.m + i : i * size.k + k)] *
                                 y[uz(turned_b ? j * size.k + k : k * size.n + j)];
  return c;
}

struct Operands {
  Tensor a, b;
  std::vector<double> product;
  Transpose trans_a, trans_b;

  Operands(Extents size, bool turned_a, bool turned_b, DType dtype, Device device)
      : a(random_tensor(turned_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, dtype, device)),
        b(random_tensor(turned_b ? Shape{size.n, size.k} : Shape{size.k, size.n}, dtype, device)),
        product(multiply_plainly(a, turned_a, b, turned_b, size)),
        trans_a(turned_a ? Transpose::yes : Transpose::no),
        trans_b(turned_b ? Transpose::yes : Transpose::no) {}
};

/// Of bfloat16: the one rounding of what is stored.
double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-7 : dtype == DType::bf16 ? 0x1p-8 : 2e-5; }

/// Calls f(size, turned_a, turned_b, dtype, device) over all of them.
template <class F>
void for_forms(F&& f) {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (Extents size : kExtents)
        for (bool turned_a : {false, true})
          for (bool turned_b : {false, true}) {
            CAPTURES(name_of(dtype), size.m, size.k, size.n, turned_a, turned_b);
            f(size, turned_a, turned_b, dtype, device);
          }
}

}  // namespace

TEST_CASE("gemm in all transpose forms, with bias and activation") {
  for_forms([](Extents size, bool turned_a, bool turned_b, DType dtype, Device device) {
    const Operands o(size, turned_a, turned_b, dtype, device);
    const Tensor bias = random_tensor({size.n}, dtype, device);
    const std::vector<double> added = values(bias);
    for (Activation activation : {Activation::none, Activation::relu})
      for (bool with_bias : {false, true}) {
        CAPTURES(name_of(activation), with_bias);
        std::vector<double> expected = o.product;
        for (size_t i = 0; i < expected.size(); ++i) {
          if (with_bias) expected[i] += added[i % uz(size.n)];
          if (activation == Activation::relu) expected[i] = std::max(expected[i], 0.0);
        }
        Tensor c = Tensor::full({size.m, size.n}, NAN, dtype, device);
        kernels::gemm({.a = o.a,
                       .trans_a = o.trans_a,
                       .b = o.b,
                       .trans_b = o.trans_b,
                       .bias = with_bias ? bias : Tensor{},
                       .activation = activation,
                       .c = c});
        CHECK(close(c, expected, tolerance(dtype)));
      }
  });
}

TEST_CASE("gemm adds to its output where it is to") {
  for_forms([](Extents size, bool turned_a, bool turned_b, DType dtype, Device device) {
    const Operands o(size, turned_a, turned_b, dtype, device);
    Tensor c = random_tensor({size.m, size.n}, dtype, device);
    std::vector<double> expected = values(c);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += o.product[i];
    kernels::gemm(
        {.a = o.a, .trans_a = o.trans_a, .b = o.b, .trans_b = o.trans_b, .accumulate = true, .c = c});
    CHECK(close(c, expected, 2 * tolerance(dtype)));  // where the CPU rounds the product of bfloat16, too
  });
}

TEST_CASE("gemm takes a gradient through the relu before it") {
  for_forms([](Extents size, bool turned_a, bool turned_b, DType dtype, Device device) {
    const Operands o(size, turned_a, turned_b, dtype, device);
    Tensor relu_of = random_tensor({size.m, size.n}, dtype, device);
    kernels::activate({.activation = Activation::relu, .x = relu_of, .y = relu_of});
    const std::vector<double> positive = values(relu_of);
    for (bool adds : {false, true}) {
      CAPTURE(adds);
      Tensor c = random_tensor({size.m, size.n}, dtype, device);
      std::vector<double> expected = values(c);
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = positive[i] > 0.0 ? o.product[i] + (adds ? expected[i] : 0.0) : 0.0;
      kernels::gemm({.a = o.a,
                     .trans_a = o.trans_a,
                     .b = o.b,
                     .trans_b = o.trans_b,
                     .accumulate = adds,
                     .through_relu = relu_of,
                     .c = c});
      CHECK(close(c, expected, 2 * tolerance(dtype)));
    }
  });
}

TEST_CASE("gradients of a weight and its bias equal plain loops") {
  for_forms([](Extents size, bool turned_a, bool turned_b, DType dtype, Device device) {
    if (!turned_a || turned_b) return;
    const Operands o(size, true, false, dtype, device);
    std::vector<double> sums(uz(size.n));
    const std::vector<double> b = values(o.b);
    for (size_t i = 0; i < b.size(); ++i) sums[i % sums.size()] += b[i];
    Tensor dw = random_tensor({size.m, size.n}, dtype, device),
           dbias = random_tensor({size.n}, dtype, device), none;
    kernels::weight_gradients({.x = o.a, .dz = o.b, .dw = dw, .dbias = dbias});
    CHECK(close(dw, o.product, tolerance(dtype)));
    CHECK(close(dbias, sums, tolerance(dtype)));
    const Tensor with_bias = dw.clone();
    kernels::weight_gradients({.x = o.a, .dz = o.b, .dw = dw, .dbias = none});
    CHECK(same_bits(dw, with_bias));
  });
}

TEST_CASE("gemm of a long inner extent") {
  for (Device device : devices()) {
    const Extents size{24, 40000, 40};
    const Operands o(size, true, false, DType::f32, device);
    Tensor c = Tensor::empty({size.m, size.n}, DType::f32, device);
    kernels::gemm({.a = o.a, .trans_a = o.trans_a, .b = o.b, .trans_b = o.trans_b, .c = c});
    CHECK(close(c, o.product, 2e-5));
  }
}

TEST_CASE("gemm of bfloat16 sums in float32, also where operands are long") {
  for (Device device : devices())
    for (bool turned_a : {false, true}) {
      CAPTURE(turned_a);
      const Extents size = turned_a ? Extents{130, 9000, 3} : Extents{9000, 130, 3};
      const Operands o(size, turned_a, false, DType::bf16, device);
      const Tensor bias = random_tensor({3}, DType::bf16, device);
      const std::vector<double> added = values(bias);
      std::vector<double> expected = o.product;
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = std::max(expected[i] + added[i % 3], 0.0);
      Tensor c = Tensor::empty({size.m, size.n}, DType::bf16, device);
      kernels::gemm(
          {.a = o.a, .trans_a = o.trans_a, .b = o.b, .bias = bias, .activation = Activation::relu, .c = c});
      CHECK(close(c, expected, tolerance(DType::bf16)));

      // A sum that bfloat16 would not get beyond 256: each 1 would be lost beside it.
      const Tensor ones = Tensor::full({2, 4000}, 1.0, DType::bf16, device);
      Tensor total = Tensor::empty({2, 2}, DType::bf16, device);
      kernels::gemm({.a = ones, .b = ones, .trans_b = Transpose::yes, .c = total});
      CHECK(values(total) == std::vector<double>(4, 4000.0));
    }
}

TEST_CASE("gemm of bfloat16 rounds once, after the bias") {
  // 128.25 - 128: bfloat16 has no 128.25, and what it would round it to leaves 0.
  for (Device device : devices())
    for (int64_t n : {1, 7, 16, 130})
      for (int64_t first : {0, 1})  // of the bias: one that begins anywhere is not fused
        for (Activation activation : {Activation::none, Activation::relu}) {
          CAPTURES(n, first);
          std::vector<double> left;
          for (int64_t i = 0; i < 33; ++i) left.insert(left.end(), {128.0, 0.25});
          const Tensor a = Tensor::from(left, {33, 2}).to(DType::bf16).to(device);
          const Tensor b = Tensor::full({2, n}, 1.0, DType::bf16, device);
          const Tensor bias = Tensor::full({n + 1}, -128.0, DType::bf16, device);
          Tensor c = Tensor::full({33, n}, NAN, DType::bf16, device);
          kernels::gemm(
              {.a = a, .b = b, .bias = bias.rows(first, n + first), .activation = activation, .c = c});
          CHECK(close(c, std::vector<double>(uz(33 * n), 0.25), 0.0));
        }
}

TEST_CASE("gemm with an empty extent") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const auto gemm = [&](Extents size, const Tensor& bias, Activation activation, Tensor& c) {
        kernels::gemm({.a = Tensor::empty({size.m, size.k}, dtype, device),
                       .b = Tensor::empty({size.k, size.n}, dtype, device),
                       .bias = bias,
                       .activation = activation,
                       .c = c});
      };
      Tensor c = random_tensor({3, 2}, dtype, device);
      gemm({3, 0, 2}, {}, Activation::none, c);
      CHECK(close(c, std::vector<double>(6, 0.0), 0.0));
      const Tensor bias = Tensor::from(std::vector<double>{1.5, -2.0}, device).to(dtype);
      gemm({3, 0, 2}, bias, Activation::relu, c);
      CHECK(close(c, std::vector<double>{1.5, 0, 1.5, 0, 1.5, 0}, 0.0));
      const Tensor nothing = Tensor::empty({3, 0}, dtype, device);
      kernels::gemm({.a = nothing, .b = Tensor::empty({0, 2}, dtype, device), .accumulate = true, .c = c});
      CHECK(close(c, std::vector<double>{1.5, 0, 1.5, 0, 1.5, 0}, 0.0));
      Tensor no_rows = Tensor::empty({0, 2}, dtype, device);
      gemm({0, 4, 2}, bias, Activation::relu, no_rows);
      Tensor no_columns = Tensor::empty({3, 0}, dtype, device);
      gemm({3, 4, 0}, {}, Activation::none, no_columns);
    }
}

TEST_CASE("gemm keeps right over more shapes than it remembers") {
  const Tensor a = random_tensor({300, 3}), b = random_tensor({3, 2});
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t m = 1; m <= 300; ++m) {
      const Threads scope(m % 2 == 0 ? 1 : 2);
      Tensor c = Tensor::empty({m, 2});
      kernels::gemm({.a = a.rows(0, m), .b = b, .c = c});
      REQUIRE(close(c, multiply_plainly(a.rows(0, m), false, b, false, {m, 3, 2}), 1e-5));
    }
}

TEST_CASE("gemm names what does not fit") {
  const Tensor a = random_tensor({4, 3}), b = random_tensor({3, 2});
  Tensor c = Tensor::empty({4, 2});
  const auto gemm = [&](const Tensor& left, Transpose trans, const Tensor& right, const Tensor& bias) {
    kernels::gemm({.a = left, .trans_a = trans, .b = right, .bias = bias, .c = c});
  };
  CHECK_ERROR_HAS(gemm(a, Transpose::yes, b, {}),
                  "a (transposed) is [4, 3] float32 on cpu, b is [3, 2] float32 on cpu");
  CHECK_THROWS_AS(gemm(random_tensor({5, 3}), Transpose::no, b, {}), Error);
  CHECK_THROWS_AS(gemm(a, Transpose::no, random_tensor({3, 2}, DType::f64), {}), Error);
  CHECK_THROWS_AS(gemm(a, Transpose::no, b, random_tensor({3})), Error);
  CHECK_THROWS_AS(gemm(random_tensor({3}), Transpose::no, b, {}), Error);
  CHECK_ERROR(kernels::gemm({.a = a, .b = b, .activation = Activation::gelu, .c = c}),
              "gemm: activation gelu, expected none or relu");
  const char* neither = "gemm: what is added to c can have neither a bias nor an activation";
  CHECK_ERROR(kernels::gemm({.a = a, .b = b, .activation = Activation::relu, .accumulate = true, .c = c}),
              neither);
  CHECK_ERROR(kernels::gemm({.a = a, .b = b, .bias = random_tensor({2}), .accumulate = true, .c = c}),
              neither);
}

TEST_CASE("gemm refuses an output that shares storage with an operand") {
  for (Device device : devices()) {
    Tensor a = random_tensor({3, 3}, DType::f32, device), b = random_tensor({3, 3}, DType::f32, device);
    CHECK_ERROR(kernels::gemm({.a = a, .b = b, .c = a}), "gemm: c cannot share storage with a or b");
    CHECK_ERROR(kernels::gemm({.a = a, .b = b, .c = b}), "gemm: c cannot share storage with a or b");
    const Tensor both = random_tensor({6, 3}, DType::f32, device);
    Tensor half = both.rows(3, 6);
    CHECK_THROWS_AS(kernels::gemm({.a = both.rows(0, 3), .b = b, .c = half}), Error);
  }
}

TEST_CASE("gemm gives the same bits for any number of threads") {
  // Few and many blocks of rows, none or the last of them smaller, the inner extent cut or not.
  const std::vector<Extents> extents{{2708, 16, 7},   {2000, 500, 16}, {1500, 64, 64},  {40, 9001, 33},
                                     {64, 12000, 48}, {600, 4096, 17}, {1000, 300, 30}, {300, 300, 300}};
  for (DType dtype : {DType::f32, DType::f64})
    for (Extents size : extents)
      for (bool turned_a : {false, true})
        for (bool turned_b : {false, true}) {
          const Tensor a = random_tensor(turned_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, dtype);
          const Tensor b = random_tensor(turned_b ? Shape{size.n, size.k} : Shape{size.k, size.n}, dtype);
          const Tensor bias = random_tensor({size.n}, dtype);
          const auto product = [&](int threads) {
            const Threads scope(threads);
            Tensor c = Tensor::empty({size.m, size.n}, dtype);
            kernels::gemm({.a = a,
                           .trans_a = turned_a ? Transpose::yes : Transpose::no,
                           .b = b,
                           .trans_b = turned_b ? Transpose::yes : Transpose::no,
                           .bias = bias,
                           .activation = Activation::relu,
                           .c = c});
            return c;
          };
          CAPTURES(name_of(dtype), size.m, size.k, size.n, turned_a, turned_b);
          const Tensor one = product(1);
          for (int threads : {2, 3, 5, 8, 16}) CHECK(same_bits(product(threads), one));
        }
}

TEST_CASE("gemm of a long inner extent is right on the CPU") {
  for (DType dtype : {DType::f32, DType::f64})
    for (Extents size : {Extents{40, 9001, 33}, Extents{600, 4096, 17}}) {
      const Operands o(size, true, false, dtype, {});
      const Tensor bias = random_tensor({size.n}, dtype);
      Tensor c = Tensor::empty({size.m, size.n}, dtype);
      kernels::gemm({.a = o.a,
                     .trans_a = o.trans_a,
                     .b = o.b,
                     .trans_b = o.trans_b,
                     .bias = bias,
                     .activation = Activation::relu,
                     .c = c});
      std::vector<double> expected = o.product;
      const std::vector<double> shift = values(bias);
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = std::max(0.0, expected[i] + shift[i % uz(size.n)]);
      CHECK(close(c, expected, tolerance(dtype)));
    }
}

TEST_CASE("relu after a product hides no NaN, however long the inner extent") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int64_t k : {5, 9001}) {
        CAPTURES(name_of(dtype), k);
        std::vector<double> a(uz(3 * k), -1.0);
        a[uz(k + 3)] = NAN;
        Tensor c = Tensor::empty({3, 20}, dtype, device);
        kernels::gemm({.a = Tensor::from(a, {3, k}).to(dtype).to(device),
                       .b = Tensor::full({k, 20}, 1.0, dtype, device),
                       .activation = Activation::relu,
                       .c = c});
        const std::vector<double> y = values(c);
        for (size_t j = 0; j < 20; ++j) {
          CHECK(y[j] == 0.0);
          CHECK(std::isnan(y[20 + j]));
          CHECK(y[40 + j] == 0.0);
        }
      }
}
