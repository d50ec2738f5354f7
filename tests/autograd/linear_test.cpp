#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/linear.h>

using namespace adj;
using namespace adj::test;

namespace {

double gelu_of(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }

// Inputs whose products with the weights all stay away from relu's kink.
std::vector<Tensor> away_from_kinks(Draw& draw, int64_t n, int64_t in, int64_t out, bool has_bias) {
  for (;;) {
    std::vector<Tensor> inputs;
    inputs.reserve(3);
    inputs.push_back(draw.normal({n, in}));
    inputs.push_back(draw.normal({in, out}));
    if (has_bias) inputs.push_back(draw.normal({out}));
    const Var z = linear(inputs[0], inputs[1], has_bias ? Var(inputs[2]) : Var{});
    const Numbers all = values(z.value());
    if (std::all_of(all.begin(), all.end(), [](double v) { return std::abs(v) > 1e-3; })) return inputs;
  }
}

}  // namespace

TEST_CASE("linear equals plain loops, dense and sparse, with and without bias and activation") {
  const std::vector<std::array<int64_t, 3>> sizes{
      {1, 1, 1}, {5, 7, 3}, {33, 17, 65}, {64, 128, 16}, {0, 3, 2}};
  for (DType dtype : {DType::f32, DType::f64})
    for (const auto& [n, in, out] : sizes)
      on_devices(50, dtype, [&](Draw& draw, Device) {
        CAPTURES(name_of(dtype), n, in, out);
        const Tensor x = draw.normal({n, in}), w = draw.normal({in, out}), bias = draw.normal({out});
        const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
        const Dense plain = Dense(x) * Dense(w), biased = plus_row(plain, bias);
        CHECK(close(matmul(x, w).value(), plain.data, tolerance));
        CHECK(close(linear(x, w).value(), plain.data, tolerance));
        CHECK(close(linear(x, w, bias).value(), biased.data, tolerance));
        CHECK(close(linear(x, w, {}, Activation::relu).value(), mapped(plain, relu_of).data, tolerance));
        CHECK(close(linear(x, w, bias, Activation::relu).value(), mapped(biased, relu_of).data, tolerance));
        CHECK(close(linear(x, w, bias, Activation::gelu).value(), mapped(biased, gelu_of).data, tolerance));
        if (n < 2) return;
        const SparseMatrix s = draw.sparse(n, in, 3 * n);
        const Dense sparse = plus_row(dense_of(s) * Dense(w), bias);
        CHECK(close(linear(s, w, bias).value(), sparse.data, tolerance));
        CHECK(close(linear(s, w, bias, Activation::relu).value(), mapped(sparse, relu_of).data, tolerance));
        CHECK(close(linear(s, w, bias, Activation::elu).value(),
                    mapped(sparse, [](double v) { return v > 0.0 ? v : std::expm1(v); }).data, tolerance));
      });
}

TEST_CASE("gradients of linear") {
  for (Activation activation :
       {Activation::none, Activation::relu, Activation::leaky_relu, Activation::elu, Activation::gelu})
    for (bool has_bias : {false, true})
      on_devices(51, DType::f64, [&](Draw& draw, Device) {
        CAPTURES(name_of(activation), has_bias);
        check([&](const auto& v) { return linear(v[0], v[1], has_bias ? v[2] : Var{}, activation); },
              away_from_kinks(draw, 5, 7, 3, has_bias));
      });
}

TEST_CASE("gradients of linear if only some are wanted, and of a product with itself") {
  on_devices(52, DType::f64, [&](Draw& draw, Device) {
    const auto in = away_from_kinks(draw, 4, 3, 5, true);
    check_each([&](const auto& v) { return linear(v[0], v[1], v[2], Activation::relu); }, in);
    check_each([&](const auto& v) { return matmul(v[0], v[1]); }, {in[0], in[1]});
    check([](const auto& v) { return matmul(v[0], v[0]); }, {draw.normal({4, 4})});
  });
}

TEST_CASE("gradients of linear over sparse features, also of float32") {
  for (bool has_values : {true, false})
    for (Activation activation : {Activation::none, Activation::relu, Activation::gelu})
      on_devices(54, DType::f64, [&](Draw& draw, Device) {
        CAPTURES(has_values, name_of(activation));
        const SparseMatrix s = draw.sparse(8, 6, 25, has_values);
        // Row 0 is empty: its products are just the bias.
        check([&](const auto& v) { return linear(s, v[0], v[1], activation); },
              {draw.normal({6, 3}), draw.off_zero({3})});
        check([&](const auto& v) { return matmul(s, v[0]); }, {draw.normal({6, 5})});
        if (!has_values) return;
        const SparseMatrix single = s.with_values(s.values().to(DType::f32));
        check([&](const auto& v) { return linear(single, v[0]); }, {draw.normal({6, 2})});
      });
}

TEST_CASE("linear over empty extents") {
  for (Device device : devices()) {
    const Var w = Var::parameter(Tensor::full({3, 2}, 1.0, DType::f32, device));
    const Var bias = Var::parameter(Tensor::full({2}, 1.0, DType::f32, device));
    linear(Tensor::empty({0, 3}, DType::f32, device), w, bias)
        .backward(Tensor::empty({0, 2}, DType::f32, device));
    CHECK(close(w.grad(), Numbers(6, 0.0), 0.0));
    CHECK(close(bias.grad(), Numbers(2, 0.0), 0.0));
  }
}

TEST_CASE("linear_sum is the sum of two products") {
  const auto thunk = [](const Var& x) { return [x] { return x; }; };
  for (bool has_bias : {false, true})
    on_devices(131, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(has_bias);
      std::vector<Tensor> in{draw.normal({5, 3}), draw.normal({3, 4}), draw.normal({5, 2}),
                             draw.normal({2, 4})};
      if (has_bias) in.push_back(draw.normal({4}));
      const auto bias_of = [&](const auto& v) { return has_bias ? Var(v[4]) : Var{}; };
      const std::vector<Var> v(in.begin(), in.end());
      CHECK(close(linear_sum(v[0], v[1], bias_of(v), thunk(v[2]), v[3]).value(),
                  values((linear(v[0], v[1], bias_of(v)) + linear(v[2], v[3])).value()), 1e-12));
      check([&](const auto& w) { return linear_sum(w[0], w[1], bias_of(w), thunk(w[2]), w[3]); }, in);
      // One input twice, as it is and behind another op: all its gradients count.
      check([&](const auto& w) { return linear_sum(w[0], w[1], {}, thunk(w[0]), w[1] * 2.0); },
            {in[0], in[1]});
      check([&](const auto& w) { return linear_sum(w[0], w[1], {}, thunk(w[0] * w[0]), w[1]); },
            {in[0], in[1]});
      // Its incoming gradient may be shared.
      check(in, [&](const auto& w) {
        const Var y = linear_sum(w[0], w[1], bias_of(w), thunk(w[2]), w[3]);
        return y * y + y;
      });
    });
  const Tensor x = Tensor::zeros({4, 3}), w = Tensor::zeros({3, 2});
  CHECK_ERROR(linear_sum(x, w, {}, thunk(Var(x)), Tensor::zeros({2, 2})),
              "linear_sum: input [4, 3] does not fit weight [2, 2]");
  CHECK_ERROR(linear_sum(x, w, {}, thunk(Var(Tensor::zeros({5, 3}))), w),
              "linear_sum: [4, 3] times [3, 2] and [5, 3] times [3, 2] have different shapes");
  CHECK_THROWS_AS(linear_sum(x, w, {}, thunk(Var(x)), Tensor::zeros({3, 3})), Error);
  CHECK_THROWS_AS(linear_sum(x, w, Tensor::zeros({3}), thunk(Var(x)), w), Error);
}

TEST_CASE("linear rejects mismatched arguments, naming the shapes") {
  const Var x = Tensor::zeros({4, 3}), w = Tensor::zeros({5, 2});
  const std::string message = error_of([&] { linear(x, w); });
  CHECK(mentions(message, "[4, 3]"));
  CHECK(mentions(message, "[5, 2]"));
  CHECK_THROWS_AS(linear(x, Tensor::zeros({3, 2}), Tensor::zeros({3})), Error);
  CHECK_THROWS_AS(linear(x, Tensor::zeros({3, 2}, DType::f64)), Error);
  CHECK_THROWS_AS(linear(Tensor::zeros({3}), Tensor::zeros({3, 2})), Error);
}
