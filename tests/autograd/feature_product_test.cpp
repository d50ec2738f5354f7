#include "../reference/plain.h"
#include <adjoint/autograd/detail/feature_product.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/fake_quantize.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/core/allocator.h>
#include <adjoint/data/feature_quantization.h>

using namespace adj;
using namespace adj::test;

namespace {

Features quantized(const Tensor& x, int bits) {
  const Features dense(x);
  return FeatureQuantization::fit(bits, dense).apply(dense);
}

}  // namespace

TEST_CASE("linear of quantised features and its gradient equal linear of the dequantised values") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (int bits : {1, 3, 8})
      for (Activation activation : {Activation::none, Activation::relu, Activation::elu})
        on_devices(60, DType::f32, [&](Draw& draw, Device) {
          CAPTURES(name_of(dtype), bits, name_of(activation));
          const Features x = quantized(draw.normal({37, 29}), bits);
          const Tensor w = draw.normal({29, 5}).to(dtype), b = draw.normal({5}).to(dtype),
                       dy = draw.normal({37, 5}).to(dtype);
          const auto run = [&](const Features& features) {
            return with_gradients([&](const auto& v) { return linear(features, v[0], v[1], activation); },
                                  {w, b}, dy);
          };
          const auto result = run(x), expected = run(Features(x.to_dense().to(dtype)));
          for (size_t k = 0; k < 3; ++k) CHECK(same_bits(result[k], expected[k]));
          CHECK(same_bits(matmul(x, Var(w)).value(), linear(x, Var(w)).value()));
          if (activation != Activation::none || dtype == DType::bf16) return;
          const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
          const Dense numbers(x.to_dense());
          CHECK(close(result[0], plus_row(numbers * Dense(w), b).data, tolerance));
          CHECK(close(result[1], (transposed(numbers) * Dense(dy)).data, tolerance));
        });
}

TEST_CASE("gradients of linear over quantised features") {
  for (Activation activation : {Activation::none, Activation::relu, Activation::gelu})
    on_devices(61, DType::f64, [&](Draw& draw, Device) {
      const Features x = quantized(draw.normal({8, 6}).to(DType::f32), 4);
      check([&](const auto& v) { return linear(x, v[0], v[1], activation); },
            {draw.normal({6, 3}), draw.off_zero({3})});
      check({draw.normal({6, 3})}, [&](const auto& v) {
        Generator generator(3);
        return matmul(dropout(x, 0.4f, true, generator), v[0]);
      });
    });
}

TEST_CASE("a product by blocks of rows equals the whole product, and never dequantises all rows") {
  constexpr int64_t kRows = 700, kCols = 20000, kOut = 3;
  REQUIRE(kRows > 2 * detail::rows_at_once(kCols));
  on_devices(62, DType::f32, [&](Draw& draw, Device device) {
    const Tensor numbers = draw.normal({kRows, kCols});
    const Features x = quantized(numbers, 8);
    const Tensor w = draw.normal({kCols, kOut}), dy = draw.normal({kRows, kOut});
    const size_t dense = numbers.bytes();
    CHECK(uz(x.bytes()) < dense / 4 + 3 * kCols * sizeof(float));
    for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      CAPTURE(name_of(dtype));
      Var weight = Var::parameter(w.to(dtype).clone());
      const auto run = [&](const Features& features) {
        Generator generator(4);
        weight.zero_grad();
        const Var y = matmul(dropout(features, 0.25f, true, generator), weight);
        y.backward(dy.to(dtype));
        return std::pair(y.value(), weight.grad().clone());
      };
      const auto expected = run(Features(x.to_dense().to(dtype)));
      reset_peak_memory(device);
      const size_t before = memory_stats(device).current;
      const auto result = run(x);
      CHECK(memory_stats(device).peak - before < dense / 2 * size_of(dtype) / sizeof(float));
      const double tolerance = dtype == DType::bf16 ? 2e-2 : dtype == DType::f64 ? 1e-12 : 1e-5;
      CHECK(close_to_scale(result.first, expected.first, tolerance));
      CHECK(close_to_scale(result.second, expected.second, tolerance));
    }
  });
}

TEST_CASE("dropout of quantised features happens in their product, with the draws of dense ones") {
  on_devices(63, DType::f32, [&](Draw& draw, Device device) {
    const Features x = quantized(draw.normal({40, 13}), 6);
    Generator one(9), other(9);
    const Features dropped = dropout(x, 0.5f, true, one);
    CHECK(dropped.is_quantized());
    CHECK(one.position() == 1);
    const Tensor expected = dropout(Var(x.to_dense()), 0.5f, true, other).value();
    CHECK(same_bits(dropped.to_dense(), expected));
    CHECK(same_bits(dropped.unpacked(7, 31, DType::f32), expected.rows(7, 31)));
    const Tensor w = draw.normal({13, 4});
    CHECK(same_bits(linear(dropped, Var(w)).value(), linear(Var(expected), Var(w)).value()));
    CHECK(same_bits(dropout(x, 0.5f, false, one).to_dense(), x.to_dense()));
    CHECK(one.position() == 1);
    CHECK_ERROR_HAS(dropout(dropped, 0.5f, true, one), "dropout of quantised ones again");
    CHECK_ERROR_HAS(dropped.rows(Tensor::from<int32_t>({0}).to(device)), "rows of ones with dropout");
  });
}

TEST_CASE("quantised features reject mismatched arguments, and modified bytes") {
  Draw draw(64, {}, DType::f32);
  const Features x = quantized(draw.normal({9, 4}), 2);
  CHECK_ERROR_HAS(linear(x, Var(draw.normal({5, 2}))), "linear: features [9, 4] do not fit weight [5, 2]");
  const Var w = Var::parameter(draw.normal({4, 2}));
  const Var y = linear(x, w);
  Tensor bytes = x.quantized().bytes;
  bytes.zero_();
  CHECK_THROWS_AS(y.backward(draw.normal({9, 2})), Error);
  const Tensor scale = Tensor::full({1}, 0.5), zero = Tensor::zeros({1});
  CHECK(same_bits(fake_quantize(x, 3, scale, zero).dense(),
                  fake_quantize(Features(x.to_dense()), 3, scale, zero).dense()));
}
