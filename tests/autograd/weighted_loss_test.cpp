#include "../reference/plain.h"
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/shape.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("weighted losses are weighted sums of those of single rows, and have their gradients") {
  for (const auto& [shape, of_weight] :
       {std::pair{Shape{1, 1}, DType::f32}, {{13, 7}, DType::f64}, {{60, 2}, DType::f32}})
    on_devices(81, DType::f64, [&](Draw& draw, Device) {
      const int64_t n = shape[0], count = (n + 1) / 2;
      const Tensor x = draw.uniform(shape, -6.0, 6.0), target = draw.uniform(shape, 0.0, 1.0);
      const Tensor label = draw.ints(n, 0, static_cast<int32_t>(shape[1]));
      const Tensor index = draw.distinct(count, n), weight = draw.uniform({count}, 0.0, 3.0).to(of_weight);
      const auto holds = [&](auto weighted, auto mean, const Tensor& y) {
        CAPTURES(shape.str(), name_of(of_weight));
        double expected = 0.0;
        for (int64_t k = 0; k < count; ++k)
          expected += values(weight)[uz(k)] * mean(x, y, index.rows(k, k + 1)).item();
        CHECK(weighted(x, y, index, weight).item() == doctest::Approx(expected).epsilon(1e-9));
        check([&](const auto& v) { return weighted(v[0], y, index, weight); }, {x});
      };
      using Mean = Var (*)(const Var&, const Tensor&, const Tensor&);
      holds(cross_entropy_sum, static_cast<Mean>(cross_entropy), label);
      holds([](const auto&... args) { return bce_with_logits_sum(args...); },
            [](const auto&... args) { return bce_with_logits(args...); }, target);
      holds(mse_sum, mse_loss, target);
    });
}

TEST_CASE("weights of positive labels equal plain loops, as sums and as means, with gradients") {
  on_devices(83, DType::f64, [&](Draw& draw, Device) {
    const int64_t n = 11, columns = 3;
    const Tensor x = draw.uniform({n, columns}, -6.0, 6.0), positive = draw.uniform({columns}, 0.1, 9.0);
    const Tensor target = draw.ints(n * columns, 0, 2).to(DType::f64).reshape({n, columns});
    const Tensor weight = draw.uniform({5}, 0.0, 3.0), index = draw.distinct(5, n);
    const auto rows = index.to_vector<int32_t>();
    const Numbers logits = values(x), labels = values(target), p = values(positive), w = values(weight);
    const auto loss_of = [&](int64_t row, int64_t t) {
      const size_t i = uz(row * columns + t);
      return p[uz(t)] * labels[i] * std::log1p(std::exp(-logits[i])) +
             (1.0 - labels[i]) * std::log1p(std::exp(logits[i]));
    };
    double sum = 0.0, mean = 0.0, whole = 0.0;
    for (int64_t t = 0; t < columns; ++t) {
      for (size_t k = 0; k < rows.size(); ++k) {
        sum += w[k] * loss_of(rows[k], t) / static_cast<double>(columns);
        mean += loss_of(rows[k], t) / static_cast<double>(columns * 5);
      }
      for (int64_t row = 0; row < n; ++row) whole += loss_of(row, t) / static_cast<double>(columns * n);
    }
    CHECK(bce_with_logits_sum(x, target, index, weight, positive).item() ==
          doctest::Approx(sum).epsilon(1e-9));
    CHECK(bce_with_logits(x, target, index, positive).item() == doctest::Approx(mean).epsilon(1e-9));
    CHECK(bce_with_logits(x, target, {}, positive).item() == doctest::Approx(whole).epsilon(1e-9));
    check([&](const auto& v) { return bce_with_logits_sum(v[0], target, index, weight, positive); }, {x});
    check([&](const auto& v) { return bce_with_logits(v[0], target, {}, positive); }, {x});
    const Tensor column = x.rows(0, 1).reshape({columns}), one = positive.rows(0, 1);
    CHECK(bce_with_logits(column, target.rows(0, 1).reshape({columns}), {}, one).item() ==
          bce_with_logits(column.reshape({columns, 1}), target.rows(0, 1).reshape({columns, 1}), {}, one)
              .item());
    CHECK_ERROR_HAS(bce_with_logits(x, target, index, weight), "positive is [5] float64");
    CHECK_ERROR_HAS(bce_with_logits_sum(x, target, index, weight, weight), "weights of positive labels are");
  });
}

TEST_CASE("with equal weights that sum to one a weighted loss and its gradient equal the mean's") {
  for (Device device : devices())
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = random_tensor({30, 4}).to(device).to(dtype);
      const Tensor label = random_ints(30, 0, 4, device), target = random_tensor({30, 4}, DType::f32, device);
      const Tensor index = Tensor::from<int32_t>({3, 29, 0, 7, 11}, device);
      const Tensor weight = Tensor::full({5}, 0.2, DType::f32, device);
      const auto same = [&](auto&& sum, auto&& mean) {
        const auto a = with_gradients([&](const auto&v) { return sum(v[0]); }, {x}),
                   b = with_gradients([&](const auto&v) { return mean(v[0]); }, {x});
        return close(a[0], b[0], 1e-5) && close_to_scale(a[1], b[1], dtype == DType::f32 ? 1e-5 : 2e-2);
      };
      CHECK(same([&](const Var& v) { return cross_entropy_sum(v, label, index, weight); },
                 [&](const Var& v) { return cross_entropy(v, label, index); }));
      CHECK(same([&](const Var& v) { return bce_with_logits_sum(v, target, index, weight); },
                 [&](const Var& v) { return bce_with_logits(v, target, index); }));
      CHECK(same([&](const Var& v) { return mse_sum(v, target, index, weight); },
                 [&](const Var& v) { return mse_loss(v, target, index); }));
    }
}

TEST_CASE("weighted losses of huge logits are finite, and a logit of 0 has its slope") {
  const Tensor x = Tensor::from<float>({1e4f, -1e4f, 0.0f, 0.0f}, {2, 2});
  const Tensor all = Tensor::from<int32_t>({0, 1}), weight = Tensor::full({2}, 1.0);
  const Tensor zeros = Tensor::zeros({2, 2});
  const Var v = Var::parameter(x);
  const Var loss = bce_with_logits_sum(v, zeros, all, weight);
  CHECK(loss.item() == doctest::Approx(5000.0 + std::log(2.0)));
  loss.backward();
  CHECK(close(v.grad(), Numbers{0.5, 0.0, 0.25, 0.25}));
  const Tensor label = Tensor::from<int32_t>({1, 0});
  CHECK(cross_entropy_sum(x, label, all, weight).item() == doctest::Approx(2e4 + std::log(2.0)));
}

TEST_CASE("weighted losses reject mismatched arguments") {
  const Tensor x = random_tensor({4, 3}), y = Tensor::zeros({4}, DType::i32), t = Tensor::zeros({4, 3});
  const Tensor index = Tensor::from<int32_t>({1, 2}), weight = Tensor::full({2}, 1.0);
  CHECK_THROWS_AS(cross_entropy_sum(x, y, {}, weight), Error);
  CHECK_THROWS_AS(cross_entropy_sum(x, y, Tensor::empty({0}, DType::i32), Tensor::empty({0})), Error);
  CHECK_THROWS_AS(cross_entropy_sum(x, y, index, {}), Error);
  CHECK_THROWS_AS(cross_entropy_sum(x, y, index, Tensor::full({3}, 1.0)), Error);
  CHECK_THROWS_AS(cross_entropy_sum(x, y, Tensor::from<int32_t>({1, 4}), weight), Error);
  CHECK_THROWS_AS(cross_entropy_sum(x, t, index, weight), Error);
  const Tensor wrong = Tensor::from<int32_t>({0, 0, 3, 0});
  CHECK_ERROR(cross_entropy_sum(x, wrong, index, weight),
              "cross_entropy_sum: label 3 of row 2, expected 0 to 2");
  CHECK_THROWS_AS(bce_with_logits_sum(x, Tensor::zeros({4, 2}), index, weight), Error);
  CHECK_THROWS_AS(mse_sum(x, y, index, weight), Error);
  CHECK_ERROR(mse_sum(x, t, index, weight.to(DType::f64)),
              "mse_sum: weight is [2] float64 on cpu, expected float32 [2] on cpu");
}
