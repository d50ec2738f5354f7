#include "../reference/plain.h"
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/reduce.h>

#include <limits>

using namespace adj;
using namespace adj::test;

TEST_CASE("gradients of losses over all, some and repeated rows") {
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 1}, Shape{6, 4}, Shape{13, 7}})
    on_devices(80, DType::f64, [&](Draw& draw, Device device) {
      const int64_t n = shape[0];
      const auto last = static_cast<int32_t>(n - 1);
      const Tensor x = draw.uniform(shape, -6.0, 6.0), target = draw.uniform(shape, 0.0, 1.0);
      const Tensor label = draw.ints(n, 0, static_cast<int32_t>(shape[1]));
      const Tensor repeated = Tensor::from<int32_t>({0, last, last, 0, last, 0}, device);
      for (const Tensor& index : {Tensor{}, draw.distinct((n + 1) / 2, n), repeated}) {
        CAPTURES(shape.str(), index.str());
        check([&](const auto& v) { return cross_entropy(v[0], label, index); }, {x});
        check([&](const auto& v) { return bce_with_logits(v[0], target, index); }, {x});
        check([&](const auto& v) { return mse_loss(v[0], target, index); }, {x});
        CHECK(mse_loss(x, target, index).shape() == Shape{});
      }
    });
}

TEST_CASE("labels and indices may be int64, with the same bits, and errors name value and position") {
  on_devices(85, DType::f32, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({9, 3}), target = draw.uniform({9, 3}, 0.0, 1.0);
    const Tensor label = draw.ints(9, 0, 3), index = draw.distinct(4, 9);
    const Tensor weight = draw.uniform({4}, 0.5, 2.0), by_class = draw.uniform({3}, 0.5, 2.0);
    const auto both = [&](auto loss) {
      const auto run = [&](const Tensor& labels, const Tensor& rows) {
        return with_gradients([&](const auto& v) { return loss(v[0], labels, rows); }, {x});
      };
      const auto wide = run(label.to(DType::i64), index.to(DType::i64)), plain = run(label, index);
      for (size_t k : {0, 1}) CHECK(same_bits(wide[k], plain[k]));
    };
    both([](const Var& v, const Tensor& y, const Tensor& rows) { return cross_entropy(v, y, rows); });
    both([&](const Var& v, const Tensor& y, const Tensor& rows) {
      return cross_entropy(v, y, rows, {.weight = by_class, .ignore_index = 1});
    });
    both([&](const Var& v, const Tensor&, const Tensor& rows) { return bce_with_logits(v, target, rows); });
    both([&](const Var& v, const Tensor&, const Tensor& rows) { return mse_loss(v, target, rows); });
    both([&](const Var& v, const Tensor& y, const Tensor& rows) {
      return cross_entropy_sum(v, y, rows, weight);
    });
    both([&](const Var& v, const Tensor&, const Tensor& rows) {
      return bce_with_logits_sum(v, target, rows, weight);
    });
    both([&](const Var& v, const Tensor&, const Tensor& rows) { return mse_sum(v, target, rows, weight); });
    both([](const Var& v, const Tensor&, const Tensor& rows) { return sum(index_select(v, rows)); });

    const bool later = device.is_cuda();
    for (int64_t bad : {int64_t{3}, int64_t{-1}, int64_t{1} << 32, -(int64_t{1} << 40) + 1}) {
      const Tensor wrong = Tensor::from<int64_t>({0, 1, 2, 0, 1, bad, 0, 1, 2}, device);
      const auto nearest =
          std::clamp<int64_t>(bad, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      CHECK(mentions(error_of([&] { (void)cross_entropy(x, wrong).item(); }),
                     fmt::format("cross_entropy: label[5] is {}, expected [0, 3)", later ? nearest : bad)));
      if (later) continue;
      CHECK(mentions(error_of([&] { cross_entropy(x, wrong, {}, {.weight = by_class}); }),
                     fmt::format("cross_entropy: label[5] is {}, expected [0, 3)", bad)));
      if (bad == 3) continue;
      const Tensor rows = Tensor::from<int64_t>({0, bad});
      CHECK(mentions(error_of([&] { mse_loss(x, target, rows); }),
                     fmt::format("mse_loss: index[1] is {}, expected [0, 9)", bad)));
      CHECK(mentions(error_of([&] { index_select(x, rows); }),
                     fmt::format("index_select: index[1] is {}, expected [0, 9)", bad)));
    }
  });
}

TEST_CASE("cross_entropy with weights and ignored labels is PyTorch's weighted mean") {
  on_devices(83, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.uniform({13, 3}, -6.0, 6.0), weight = draw.uniform({3}, 0.2, 3.0);
    const Tensor label = draw.ints(13, -1, 3);
    const auto y = label.to_vector<int32_t>();
    for (int64_t ignored : {-1, 1}) {
      std::vector<int32_t> rows;
      std::vector<double> factor;
      for (int32_t i = 0; i < 13; ++i)
        if (y[uz(i)] >= 0 && y[uz(i)] != ignored) {
          rows.push_back(i);
          factor.push_back(values(weight)[uz(y[uz(i)])]);
        }
      const Tensor index = ignored < 0 ? Tensor{} : Tensor::from(rows, device);
      const auto loss = [&](const Var& v) {
        return cross_entropy(v, label, index, {.weight = weight, .ignore_index = ignored});
      };
      const double total = std::reduce(factor.begin(), factor.end());
      const Var sum = cross_entropy_sum(x, label, Tensor::from(rows, device), Tensor::from(factor, device));
      CHECK(loss(x).item() == doctest::Approx(sum.item() / total).epsilon(1e-12));
      check([&](const auto& v) { return loss(v[0]); }, {x});
    }
    const Tensor full = draw.ints(13, 0, 3);
    check([&](const auto& v) { return cross_entropy(v[0], full, {}, {.weight = weight}); }, {x});
    check([&](const auto& v) { return cross_entropy(v[0], full, {}, {.ignore_index = 1}); }, {x});
  });
}

TEST_CASE("an ignored row does not affect the loss, whatever its values") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::from<float>({NAN, 1, 0, 0}, {2, 2}, device));
    const Var loss = cross_entropy(x, Tensor::from<int32_t>({-1, 0}, device), {}, {.ignore_index = -1});
    CHECK(loss.item() == doctest::Approx(std::log(2.0)));
    loss.backward();
    CHECK(close(x.grad(), Numbers{0.0, 0.0, -0.5, 0.5}, 1e-6));
  }
}

TEST_CASE("if every row is ignored the CPU reports an error and a GPU has loss and gradient 0") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::full({2, 2}, 1.0, DType::f32, device));
    const Tensor label = Tensor::full({2}, -1.0, DType::i32, device);
    const auto loss = [&] { return cross_entropy(x, label, {}, {.ignore_index = -1}); };
    if (device.is_cpu()) {
      CHECK(mentions(error_of(loss), "every selected row of [2, 2]"));
    } else {
      const Var zero = loss();
      CHECK(zero.item() == 0.0);
      zero.backward();
      CHECK(close(x.grad(), Numbers(4, 0.0), 0.0));
    }
  }
}

TEST_CASE("bce_with_logits and mse_loss of one value per row") {
  on_devices(85, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.normal({9}), target = draw.uniform({9}, 0.0, 1.0);
    const Tensor column = x.reshape({9, 1}), targets = target.reshape({9, 1});
    for (const Tensor& index : {Tensor{}, draw.distinct(4, 9)}) {
      CHECK(bce_with_logits(x, target, index).item() == bce_with_logits(column, targets, index).item());
      CHECK(mse_loss(x, target, index).item() == mse_loss(column, targets, index).item());
      check([&](const auto& v) { return bce_with_logits(v[0], target, index); }, {x});
      check([&](const auto& v) { return mse_loss(v[0], target, index); }, {x});
    }
  });
  CHECK_THROWS_AS(bce_with_logits(Tensor::zeros({4}), Tensor::zeros({5})), Error);
  CHECK_THROWS_AS(bce_with_logits(Tensor::zeros({4}), Tensor::zeros({4, 1})), Error);
}

TEST_CASE("losses reject mismatched arguments") {
  const Var x = Tensor::zeros({4, 3});
  const Tensor label = Tensor::zeros({4}, DType::i32), index = Tensor::empty({0}, DType::i32);
  CHECK_THROWS_AS(cross_entropy(x, label, index), Error);
  CHECK_THROWS_AS(cross_entropy(x, Tensor::zeros({5}, DType::i32)), Error);
  CHECK_THROWS_AS(cross_entropy(x, Tensor::zeros({4})), Error);
  CHECK_THROWS_AS(bce_with_logits(x, Tensor::zeros({4, 2})), Error);
  CHECK_THROWS_AS(mse_loss(x, Tensor::zeros({3, 4})), Error);
  CHECK_ERROR_HAS(cross_entropy(x, Tensor::full({4}, 3.0, DType::i32)), "3");
  CHECK_ERROR_HAS(cross_entropy(x, label, {}, {.weight = Tensor::zeros({4})}), "[4]");
  CHECK_ERROR_HAS(cross_entropy(x, Tensor::full({4}, 3.0, DType::i32), {}, {.ignore_index = -1}),
                  "label[0] is 3");
}
