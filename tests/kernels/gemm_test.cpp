#include "gemm_cases.h"
#include <adjoint/core/parallel.h>

using namespace adj;
using namespace adj::test;
using adj::kernels::Transpose;

namespace {

/// The last two use cuBLASLt on a GPU; the others are small enough for our kernel, which splits long sums.
const std::vector<Product> kSizes{{1, 1, 1},    {5, 3, 2},      {16, 16, 16},    {33, 17, 65},
                                  {100, 7, 1},  {1, 200, 9},    {16, 999, 7},    {130, 64, 40},
                                  {65, 999, 7}, {40, 1999, 41}, {301, 131, 121}, {512, 128, 72}};

Numbers multiply_plainly(const Tensor& a, const Tensor& b, const Product& p) {
  const Numbers x = values(a), y = values(b);
  Numbers c(uz(p.m * p.n), 0.0);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t k = 0; k < p.k; ++k)
        c[uz(i * p.n + j)] +=
            x[uz(p.turned_a ? k * p.m + i : i * p.k + k)] * y[uz(p.turned_b ? j * p.k + k : k * p.n + j)];
  return c;
}

struct Operands {
  Product p;
  Tensor a, b;
  Numbers product;

  Operands(const Product& problem, DType dtype, Device device)
      : p(problem),
        a(random_tensor(p.shape_a(), dtype, device)),
        b(random_tensor(p.shape_b(), dtype, device)),
        product(multiply_plainly(a, b, p)) {}
};

/// Of bfloat16: the single rounding of the stored result.
double allowed(DType dtype) { return dtype == DType::f64 ? 1e-7 : dtype == DType::bf16 ? 0x1p-8 : 2e-5; }

/// Calls f(operands, dtype, device) for all sizes and forms.
template <class F>
void for_forms(F&& f) {
  on_devices_and_features([&](Device device, DType dtype) {
    for (const Product& p : in_all_forms(kSizes)) {
      CAPTURES(p.m, p.k, p.n, p.turned_a, p.turned_b);
      f(Operands(p, dtype, device), dtype, device);
    }
  });
}

}  // namespace

TEST_CASE("gemm in all transpose forms, with bias and activation") {
  for_forms([](const Operands& o, DType dtype, Device device) {
    const Tensor bias = random_tensor({o.p.n}, dtype, device);
    for (Activation activation : {Activation::none, Activation::relu})
      for (const Tensor& added : {Tensor(), bias}) {
        CAPTURES(name_of(activation), static_cast<bool>(added));
        CHECK(close(multiplied(o.p, o.a, o.b, {.bias = added, .activation = activation}),
                    finished(o.product, added, activation), allowed(dtype)));
      }
  });
}

TEST_CASE("gemm accumulates into its output on request") {
  for_forms([](const Operands& o, DType dtype, Device device) {
    Tensor c = random_tensor({o.p.m, o.p.n}, dtype, device);
    const Numbers expected = zipped(values(c), o.product, std::plus());
    multiply(o.p, o.a, o.b, c, {.accumulate = true});
    CHECK(close(c, expected, 2 * allowed(dtype)));  // where the CPU also rounds the product of bfloat16
  });
}

TEST_CASE("gemm applies the preceding relu to a gradient") {
  for_forms([](const Operands& o, DType dtype, Device device) {
    Tensor relu_of = random_tensor({o.p.m, o.p.n}, dtype, device);
    kernels::activate({.activation = Activation::relu, .x = relu_of, .y = relu_of});
    for (bool adds : {false, true}) {
      CAPTURE(adds);
      Tensor c = random_tensor({o.p.m, o.p.n}, dtype, device);
      const Numbers sum = adds ? zipped(values(c), o.product, std::plus()) : o.product,
                    expected = zipped(sum, values(relu_of), through_relu);
      multiply(o.p, o.a, o.b, c, {.accumulate = adds, .through_relu = relu_of});
      CHECK(close(c, expected, 2 * allowed(dtype)));
    }
  });
}

TEST_CASE("gradients of a weight and its bias equal plain loops") {
  for_forms([](const Operands& o, DType dtype, Device device) {
    if (!o.p.turned_a || o.p.turned_b) return;
    Tensor dw = random_tensor({o.p.m, o.p.n}, dtype, device), dbias = random_tensor({o.p.n}, dtype, device),
           none;
    kernels::weight_gradients({.x = o.a, .dz = o.b, .dw = dw, .dbias = dbias});
    CHECK(close(dw, o.product, allowed(dtype)));
    CHECK(close(dbias, column_sums(o.b), allowed(dtype)));
    const Tensor with_bias = dw.clone();
    kernels::weight_gradients({.x = o.a, .dz = o.b, .dw = dw, .dbias = none});
    CHECK(same_bits(dw, with_bias));
  });
}

TEST_CASE("gemm of a long inner extent") {
  for (Device device : devices()) {
    const Operands o({24, 40000, 40, true}, DType::f32, device);
    CHECK(close(multiplied(o.p, o.a, o.b), o.product, 2e-5));
  }
  // On the CPU only, with bias and relu.
  for (DType dtype : {DType::f32, DType::f64})
    for (const Product& p : {Product{40, 9001, 33, true}, {600, 4096, 17, true}}) {
      const Operands o(p, dtype, {});
      const GemmOptions options{.bias = random_tensor({p.n}, dtype), .activation = Activation::relu};
      CHECK(close(multiplied(p, o.a, o.b, options), finished(o.product, options.bias, Activation::relu),
                  allowed(dtype)));
    }
}

TEST_CASE("gemm of bfloat16 sums in float32, also for long operands") {
  for (Device device : devices()) {
    for (const Product& p : {Product{9000, 130, 3}, {130, 9000, 3, true}}) {
      CAPTURE(p.turned_a);
      const Operands o(p, DType::bf16, device);
      const GemmOptions options{.bias = random_tensor({3}, DType::bf16, device),
                                .activation = Activation::relu};
      CHECK(close(multiplied(p, o.a, o.b, options), finished(o.product, options.bias, Activation::relu),
                  allowed(DType::bf16)));
    }
    // A sum in bfloat16 would stop at 256, where adding 1 changes nothing.
    const Tensor ones = Tensor::full({2, 4000}, 1.0, DType::bf16, device);
    CHECK(values(multiplied({2, 4000, 2, false, true}, ones, ones)) == Numbers(4, 4000.0));
  }
}

TEST_CASE("gemm of bfloat16 rounds once, after the bias") {
  // 128.25 - 128: bfloat16 would round 128.25 to 128, which would leave 0.
  for (Device device : devices())
    for (int64_t n : {1, 7, 16, 130})
      for (int64_t first : {0, 1})  // of the bias: an unaligned one is not fused
        for (Activation activation : {Activation::none, Activation::relu}) {
          CAPTURES(n, first);
          Numbers left;
          for (int64_t i = 0; i < 33; ++i) left.insert(left.end(), {128.0, 0.25});
          const Tensor a = Tensor::from(left, {33, 2}).to(DType::bf16).to(device);
          const Tensor b = Tensor::full({2, n}, 1.0, DType::bf16, device);
          const Tensor bias = Tensor::full({n + 1}, -128.0, DType::bf16, device);
          const GemmOptions options{.bias = bias.rows(first, n + first), .activation = activation};
          CHECK(close(multiplied({33, 2, n}, a, b, options), Numbers(uz(33 * n), 0.25), 0.0));
        }
}

TEST_CASE("gemm with an empty extent") {
  on_devices_and_features([](Device device, DType dtype) {
    const auto empty = [&](int64_t rows, int64_t columns) {
      return Tensor::empty({rows, columns}, dtype, device);
    };
    Tensor c = random_tensor({3, 2}, dtype, device);
    multiply({3, 0, 2}, empty(3, 0), empty(0, 2), c);
    CHECK(close(c, Numbers(6, 0.0), 0.0));
    const Tensor bias = Tensor::from<double>({1.5, -2.0}, device).to(dtype);
    multiply({3, 0, 2}, empty(3, 0), empty(0, 2), c, {.bias = bias, .activation = Activation::relu});
    CHECK(close(c, Numbers{1.5, 0, 1.5, 0, 1.5, 0}, 0.0));
    multiply({3, 0, 2}, empty(3, 0), empty(0, 2), c, {.accumulate = true});
    CHECK(close(c, Numbers{1.5, 0, 1.5, 0, 1.5, 0}, 0.0));
    multiplied({0, 4, 2}, empty(0, 4), empty(4, 2), {.bias = bias, .activation = Activation::relu});
    multiplied({3, 4, 0}, empty(3, 4), empty(4, 0));
  });
}

TEST_CASE("gemm is correct for more shapes than it caches") {
  const Tensor a = random_tensor({300, 3}), b = random_tensor({3, 2});
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t m = 1; m <= 300; ++m) {
      const Threads scope(m % 2 == 0 ? 1 : 2);
      const Product p{m, 3, 2};
      REQUIRE(close(multiplied(p, a.rows(0, m), b), multiply_plainly(a.rows(0, m), b, p), 1e-5));
    }
}

TEST_CASE("errors of gemm name the mismatch") {
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
  const char* neither = "gemm: an accumulated product has neither a bias nor an activation";
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
  const std::vector<Product> sizes{{2708, 16, 7},   {2000, 500, 16}, {1500, 64, 64},  {40, 9001, 33},
                                   {64, 12000, 48}, {600, 4096, 17}, {1000, 300, 30}, {300, 300, 300}};
  for (DType dtype : {DType::f32, DType::f64})
    for (const Product& p : in_all_forms(sizes)) {
      CAPTURES(name_of(dtype), p.m, p.k, p.n, p.turned_a, p.turned_b);
      const Tensor a = random_tensor(p.shape_a(), dtype), b = random_tensor(p.shape_b(), dtype);
      const Tensor bias = random_tensor({p.n}, dtype);
      CHECK(same_bits_on_any_threads(
          [&] { return multiplied(p, a, b, {.bias = bias, .activation = Activation::relu}); },
          {2, 3, 5, 8, 16}));
    }
}

TEST_CASE("relu after a product hides no NaN, however long the inner extent") {
  on_devices_and_features([](Device device, DType dtype) {
    for (int64_t k : {5, 9001}) {
      CAPTURE(k);
      Numbers a(uz(3 * k), -1.0);
      a[uz(k + 3)] = NAN;
      const Tensor ones = Tensor::full({k, 20}, 1.0, dtype, device);
      const Tensor c =
          multiplied({3, k, 20}, tensor_of(a, {3, k}, dtype, device), ones, {.activation = Activation::relu});
      check_nan(c, [](size_t i) { return i / 20 == 1; });
      for (int64_t row : {0, 2}) CHECK(close(c.rows(row, row + 1), Numbers(20, 0.0), 0.0));
    }
  });
}
