#include "loss_cases.h"
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/weighted_loss.h>

#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

std::vector<int32_t> rows_of(const Tensor& index, int64_t n) {
  if (index) return index.to_vector<int32_t>();
  std::vector<int32_t> all(uz(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The first row and the last, each several times.
Tensor repeated(int64_t n, Device device) {
  const auto last = static_cast<int32_t>(n - 1);
  return Tensor::from<int32_t>({0, last, last, 0, last, 0}, device);
}

/// The mean of of_row(i) over these rows.
template <class F>
double mean_over(const Tensor& index, int64_t n, F&& of_row) {
  double sum = 0.0;
  const auto rows = rows_of(index, n);
  for (int32_t i : rows) sum += of_row(i);
  return sum / static_cast<double>(rows.size());
}
template <class F>
double plain_mean(const Dense& x, const Dense& t, const Tensor& index, F&& f) {
  return mean_over(index, x.rows, [&](int32_t i) { return row_mean(x, t, i, f); });
}

}  // namespace

TEST_CASE("losses equal plain loops over all, some or repeated rows; other rows have the gradient zero") {
  struct Loss {
    std::function<Var(const Var& x, const Tensor& index)> value;
    std::function<double(int64_t row)> of_row;
  };
  for (const Shape& shape :
       {Shape{1, 1}, Shape{5, 1}, Shape{6, 4}, Shape{13, 7}, Shape{501, 3}, Shape{40, 100}})
    on_devices(80, DType::f64, [&](Draw& draw, Device device) {
      const int64_t n = shape[0];
      const Tensor x = draw.uniform(shape, -6.0, 6.0), target = draw.uniform(shape, 0.0, 1.0);
      const Tensor label = draw.ints(n, 0, static_cast<int32_t>(shape[1]));
      const auto labels = label.to_vector<int32_t>();
      const Dense X(x), T(target);
      const std::vector<Loss> losses{
          {[&](const Var& v, const Tensor& rows) { return cross_entropy(v, label, rows); },
           [&](int64_t i) { return cross_entropy_of(X, i, labels[uz(i)]); }},
          {[&](const Var& v, const Tensor& rows) { return bce_with_logits(v, target.to(v.dtype()), rows); },
           [&](int64_t i) { return row_mean(X, T, i, bce_of); }},
          {[&](const Var& v, const Tensor& rows) { return mse_loss(v, target.to(v.dtype()), rows); },
           [&](int64_t i) { return row_mean(X, T, i, square_of); }}};
      const Tensor some = draw.distinct((n + 1) / 2, n), one = draw.distinct(1, n);
      for (const Tensor& index : {Tensor{}, some, one, repeated(n, device)})
        for (const Loss& loss : losses) {
          CAPTURES(shape.str(), index.str(), &loss - losses.data());
          const double expected = mean_over(index, n, loss.of_row);
          const Var single = Var::parameter(x.to(DType::f32)), y = loss.value(single, index);
          CHECK(y.shape() == Shape{});
          CHECK(y.item() == doctest::Approx(expected).epsilon(1e-5));
          CHECK(loss.value(x, index).item() == doctest::Approx(expected).epsilon(1e-12));
          if (x.numel() < 100) check([&](const auto& v) { return loss.value(v[0], index); }, {x});
          if (shape[1] == 1) continue;  // a cross-entropy of one class is constant
          y.backward();
          const Dense dx(single.grad());
          const auto chosen = rows_of(index, n);
          for (int32_t i = 0; i < n; ++i)
            CHECK((dx(i, 0) != 0.0) == (std::find(chosen.begin(), chosen.end(), i) != chosen.end()));
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

TEST_CASE("losses of huge logits are finite and correct") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::from<float>({1000.0f, -1000.0f, -1000.0f, 1000.0f}, {2, 2}, device));
    const Tensor label = Tensor::from<int32_t>({0, 0}, device);
    const Var loss = cross_entropy(x, label);
    CHECK(loss.item() == doctest::Approx(1000.0));
    loss.backward();
    CHECK(close(x.grad(), Numbers{0.0, 0.0, -0.5, 0.5}, 1e-6));
    const Tensor target = Tensor::from<float>({1.0f, 0.0f, 1.0f, 0.0f}, {2, 2}, device);
    const Var bce = bce_with_logits(x, target);
    CHECK(bce.item() == doctest::Approx(500.0));
  }
}

TEST_CASE("cross_entropy with weights and ignored labels is PyTorch's weighted mean") {
  for (const Shape& shape : {Shape{13, 7}, Shape{501, 3}, Shape{40, 100}})
    on_devices(83, DType::f64, [&](Draw& draw, Device device) {
      const int64_t n = shape[0], classes = shape[1];
      const Tensor x = draw.uniform(shape, -6.0, 6.0), weight = draw.uniform({classes}, 0.2, 3.0);
      const Tensor label = draw.ints(n, -1, static_cast<int32_t>(classes));
      const auto y = label.to_vector<int32_t>();
      const Numbers w = values(weight);
      const Dense d(x);
      for (const Tensor& index : {Tensor{}, draw.distinct((n + 1) / 2, n), repeated(n, device)})
        for (bool weighted : {false, true}) {
          CAPTURES(shape.str(), index.str(), weighted);
          double sum = 0.0, total = 0.0;
          for (int32_t i : rows_of(index, n)) {
            const int32_t truth = y[uz(i)];
            if (truth == -1) continue;
            const double factor = weighted ? w[uz(truth)] : 1.0;
            sum += factor * cross_entropy_of(d, i, truth);
            total += factor;
          }
          const auto loss = [&](const Var& v) {
            const Tensor by_class = weighted ? weight.to(v.dtype()) : Tensor();
            return cross_entropy(v, label, index, {.weight = by_class, .ignore_index = -1});
          };
          CHECK(loss(x).item() == doctest::Approx(sum / total).epsilon(1e-12));
          CHECK(loss(x.to(DType::f32)).item() == doctest::Approx(sum / total).epsilon(1e-5));
          if (x.numel() < 100) check([&](const auto& v) { return loss(v[0]); }, {x});
        }
    });
}

TEST_CASE("weights alone, and ignoring a class that exists") {
  on_devices(84, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({6, 3}), weight = draw.uniform({3}, 0.2, 3.0), label = draw.ints(6, 0, 3);
    check([&](const auto& v) { return cross_entropy(v[0], label, {}, {.weight = weight}); }, {x});
    check([&](const auto& v) { return cross_entropy(v[0], label, {}, {.ignore_index = 1}); }, {x});
    const Tensor ones = Tensor::full({3}, 1.0, DType::f64, device);
    CHECK(cross_entropy(x, label, {}, {.weight = ones}).item() ==
          doctest::Approx(cross_entropy(x, label).item()).epsilon(1e-12));
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
    for (const Tensor& index : {Tensor{}, draw.distinct(4, 9)}) {
      CHECK(bce_with_logits(x, target, index).item() ==
            doctest::Approx(plain_mean(Dense(x), Dense(target), index, bce_of)).epsilon(1e-12));
      CHECK(mse_loss(x, target, index).item() ==
            doctest::Approx(plain_mean(Dense(x), Dense(target), index, square_of)).epsilon(1e-12));
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
