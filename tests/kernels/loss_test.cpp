#include "../reference/plain.h"
#include "cases.h"
#include <adjoint/autograd/loss.h>
#include <adjoint/kernels/loss/loss.h>

#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

/// Every third row or so, in no order.
Tensor some_rows(int64_t rows, Device device) {
  std::vector<int32_t> index;
  for (int64_t k = 0; k < (rows + 2) / 3; ++k) index.push_back(static_cast<int32_t>(rows - 1 - 3 * k));
  std::reverse(index.begin() + static_cast<int64_t>(index.size()) / 2, index.end());
  return Tensor::from(index, device);
}

/// As many of them, in no order, and some of them again and again.
Tensor repeated_rows(int64_t rows, Device device) {
  std::vector<int32_t> index = some_rows(rows, {}).to_vector<int32_t>();
  for (size_t k = 1; k < index.size(); k += 2) index[k] = index[k / 4];
  index.push_back(index.front());
  return Tensor::from(index, device);
}

Tensor sorted(const Tensor& index) {
  std::vector<int32_t> rows = index.to_vector<int32_t>();
  std::sort(rows.begin(), rows.end());
  return Tensor::from(rows, index.device());
}

enum class Rows { all, some, repeated, ascending, ascending_repeated };
constexpr std::initializer_list<Rows> kSelections = {Rows::all, Rows::some, Rows::repeated, Rows::ascending,
                                                     Rows::ascending_repeated};
Tensor selected(Rows which, int64_t rows, Device device) {
  switch (which) {
    case Rows::all:
      return {};
    case Rows::some:
      return some_rows(rows, device);
    case Rows::repeated:
      return repeated_rows(rows, device);
    case Rows::ascending:
      return sorted(some_rows(rows, device));
    case Rows::ascending_repeated:
      return sorted(repeated_rows(rows, device));
  }
  return {};
}

std::vector<int64_t> rows_of(const Tensor& index, int64_t n) {
  std::vector<int64_t> rows;
  if (index) {
    for (int32_t i : index.to_vector<int32_t>()) rows.push_back(i);
  } else {
    for (int64_t i = 0; i < n; ++i) rows.push_back(i);
  }
  return rows;
}

/// Loss and gradient by the definition, in double.
struct Expected {
  double loss = 0.0;
  std::vector<double> gradient;
};

Expected cross_entropy(const std::vector<double>& x, const std::vector<int32_t>& label, int64_t classes,
                       const std::vector<int64_t>& rows, double dloss) {
  Expected e{0.0, std::vector<double>(x.size())};
  const auto n = static_cast<double>(rows.size());
  for (int64_t i : rows) {
    const double* row = x.data() + i * classes;
    const double largest = *std::max_element(row, row + classes);
    double total = 0.0;
    for (int64_t c = 0; c < classes; ++c) total += std::exp(row[c] - largest);
    const int32_t truth = label[uz(i)];
    e.loss += (std::log(total) + largest - row[truth]) / n;
    for (int64_t c = 0; c < classes; ++c)
      e.gradient[uz(i * classes + c)] +=
          dloss / n * (std::exp(row[c] - largest) / total - (c == truth ? 1.0 : 0.0));
  }
  return e;
}

template <class Term, class Slope>
Expected mean_of(const std::vector<double>& x, const std::vector<double>& t, int64_t width,
                 const std::vector<int64_t>& rows, double dloss, Term term, Slope slope) {
  Expected e{0.0, std::vector<double>(x.size())};
  const double n = static_cast<double>(rows.size()) * static_cast<double>(width);
  for (int64_t i : rows)
    for (int64_t c = 0; c < width; ++c) {
      const auto k = uz(i * width + c);
      e.loss += term(x[k], t[k]) / n;
      e.gradient[k] += dloss / n * slope(x[k], t[k]);
    }
  return e;
}

constexpr std::pair<int64_t, int64_t> kShapes[] = {{1, 1},    {5, 2},    {2708, 7},
                                                   {700, 40}, {33, 129}, {40000, 3}};

/// Relative to the largest element of the gradient, which is far below 1.
double gradient_tolerance(const std::vector<double>& gradient, DType dtype) {
  double largest = 0.0;
  for (double g : gradient) largest = std::max(largest, std::abs(g));
  return tolerance(dtype) * largest;
}

}  // namespace

TEST_CASE("softmax_cross_entropy and its gradient, all rows, a subset, and rows that repeat") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, classes] : kShapes)
      for (Rows which : kSelections) {
        CAPTURES(which, rows, classes);
        const Tensor x = random_tensor({rows, classes}, dtype, device);
        const Tensor label = random_ints(rows, 0, static_cast<int32_t>(classes), device);
        const Tensor index = selected(which, rows, device);
        const Expected expected =
            cross_entropy(values(x), label.to_vector<int32_t>(), classes, rows_of(index, rows), 0.7);
        Tensor loss = Tensor::empty({}, accumulator_dtype(dtype), device),
               dx = Tensor::full({rows, classes}, 9.0, dtype, device);
        kernels::softmax_cross_entropy({.x = x, .label = label, .index = index, .loss = loss});
        CHECK(close(loss, std::vector<double>{expected.loss}, tolerance(loss.dtype())));
        kernels::softmax_cross_entropy_backward(
            {.x = x,
             .label = label,
             .index = index,
             .dloss = Tensor::full({}, 0.7, accumulator_dtype(dtype), device),
             .dx = dx});
        CHECK(close(dx, expected.gradient, gradient_tolerance(expected.gradient, dtype)));
      }
  });
}

TEST_CASE("softmax_cross_entropy holds for large logits and is NaN where they are") {
  on_devices_and_features([](Device device, DType dtype) {
    const std::vector<double> logits{1000, 0, -1000, -1e30, -1e30, -1e30, 1e4, 1e4, 1e4};
    const Tensor x = Tensor::from(logits, {3, 3}).to(dtype).to(device);
    const Tensor label = Tensor::from(std::vector<int32_t>{1, 2, 0}, device);
    Tensor loss = Tensor::empty({}, accumulator_dtype(dtype), device), dx = Tensor::empty_like(x);
    kernels::softmax_cross_entropy({.x = x, .label = label, .loss = loss});
    CHECK(close(loss, std::vector<double>{(1000 + 2 * std::log(3.0)) / 3}, tolerance(loss.dtype())));
    kernels::softmax_cross_entropy_backward(
        {.x = x, .label = label, .dloss = Tensor::full({}, 3.0, accumulator_dtype(dtype), device), .dx = dx});
    CHECK(close(dx, {1, -1, 0, 1. / 3, 1. / 3, -2. / 3, -2. / 3, 1. / 3, 1. / 3}, tolerance(dtype)));

    Tensor odd = Tensor::full({2, 3}, NAN, dtype, device);
    kernels::softmax_cross_entropy({.x = odd, .label = label.rows(0, 2), .loss = loss});
    CHECK(std::isnan(loss.item()));
  });
}

TEST_CASE("bce_with_logits and mse with their gradients") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes)
      for (Rows which : kSelections) {
        CAPTURES(which, rows, columns);
        Tensor x = random_tensor({rows, columns}, dtype, device);
        const Tensor t =
            random_ints(rows * columns, 0, 2, device).to(accumulator_dtype(dtype)).reshape({rows, columns});
        const Tensor index = selected(which, rows, device);
        const Tensor dloss = Tensor::full({}, -1.3, accumulator_dtype(dtype), device);
        Tensor loss = Tensor::empty({}, accumulator_dtype(dtype), device), total = Tensor::empty_like(loss),
               dx = Tensor::full({rows, columns}, 9.0, dtype, device);

        const Expected bce = mean_of(
            values(x), values(t), columns, rows_of(index, rows), dloss.item(),
            [](double v, double y) { return std::max(v, 0.0) - v * y + std::log1p(std::exp(-std::abs(v))); },
            [](double v, double y) { return 1 / (1 + std::exp(-v)) - y; });
        kernels::bce_with_logits({.x = x, .target = t, .index = index, .total = total, .loss = loss});
        CHECK(close(loss, std::vector<double>{bce.loss}, tolerance(loss.dtype())));
        kernels::bce_with_logits_backward(
            {.x = x, .target = t, .index = index, .total = total, .dloss = dloss, .dx = dx});
        CHECK(close(dx, bce.gradient, gradient_tolerance(bce.gradient, dtype)));

        const Expected squares = mean_of(
            values(x), values(t), columns, rows_of(index, rows), dloss.item(),
            [](double v, double y) { return (v - y) * (v - y); },
            [](double v, double y) { return 2 * (v - y); });
        kernels::mse_loss({.x = x, .target = t, .index = index, .total = total, .loss = loss});
        CHECK(close(loss, std::vector<double>{squares.loss}, tolerance(loss.dtype())));
        dx.fill_(9.0);
        kernels::mse_loss_backward(
            {.x = x, .target = t, .index = index, .total = total, .dloss = dloss, .dx = dx});
        CHECK(close(dx, squares.gradient, gradient_tolerance(squares.gradient, dtype)));
      }
  });
}

TEST_CASE("bce_with_logits holds for large logits") {
  on_devices_and_features([](Device device, DType dtype) {
    const Tensor x = Tensor::from(std::vector<double>{1e4, -1e4, 1e4, -30, -1e4, -30, 30, 1e4}, {8, 1})
                         .to(dtype)
                         .to(device);
    const Tensor t = Tensor::from(std::vector<double>{1, 0, 0, 0, 1, 1, 1, 0}, {8, 1})
                         .to(accumulator_dtype(dtype))
                         .to(device);
    Tensor loss = Tensor::empty({}, accumulator_dtype(dtype), device), total = Tensor::empty_like(loss),
           dx = Tensor::empty_like(x);
    kernels::bce_with_logits({.x = x, .target = t, .total = total, .loss = loss});
    const double far = values(x)[0];  // 1e4 as dtype has it
    CHECK(close(loss, std::vector<double>{(3 * far + 30) / 8}, tolerance(loss.dtype())));
    kernels::bce_with_logits_backward({.x = x,
                                       .target = t,
                                       .total = total,
                                       .dloss = Tensor::full({}, 8.0, accumulator_dtype(dtype), device),
                                       .dx = dx});
    const double tiny = std::exp(-30.0);
    CHECK(close(dx, {0, 0, 1, tiny, -1, -1 + tiny, -tiny, 1}, tolerance(dtype)));
  });
}

TEST_CASE("targets that are NaN are none: the others alone count, in the loss and in the gradient") {
  on_devices_and_features([](Device device, DType dtype) {
    constexpr double kNone = NAN;
    for (const Rows which : kSelections) {
      CAPTURE(static_cast<int>(which));
      constexpr int64_t kRows = 3000, kColumns = 3;
      const Tensor x = random_tensor({kRows, kColumns}, dtype, device);
      const Tensor index = selected(which, kRows, device);
      std::vector<double> bits = values(random_ints(kRows * kColumns, 0, 2)), partly = bits;
      for (size_t k = 0; k < partly.size(); ++k)
        if (k % 5 == 0 || k % 7 == 3) partly[k] = kNone;
      const Tensor t = Tensor::from(partly, {kRows, kColumns}).to(accumulator_dtype(dtype)).to(device);
      const Tensor dloss = Tensor::full({}, -1.3, accumulator_dtype(dtype), device);
      int64_t count = 0;
      for (int64_t row : rows_of(index, kRows))
        for (int64_t c = 0; c < kColumns; ++c) count += !std::isnan(partly[uz(row * kColumns + c)]);
      const double all = static_cast<double>(std::ssize(rows_of(index, kRows)) * kColumns);
      const auto expected = [&](auto term, auto slope) {
        const double more = all / static_cast<double>(count);
        return mean_of(
            values(x), partly, kColumns, rows_of(index, kRows), dloss.item(),
            [=](double v, double y) { return std::isnan(y) ? 0.0 : more * term(v, y); },
            [=](double v, double y) { return std::isnan(y) ? 0.0 : more * slope(v, y); });
      };
      Tensor loss = Tensor::empty({}, accumulator_dtype(dtype), device), total = Tensor::empty_like(loss),
             dx = Tensor::full({kRows, kColumns}, 9.0, dtype, device);
      const Expected bce = expected(
          [](double v, double y) { return std::max(v, 0.0) - v * y + std::log1p(std::exp(-std::abs(v))); },
          [](double v, double y) { return 1 / (1 + std::exp(-v)) - y; });
      kernels::bce_with_logits({.x = x, .target = t, .index = index, .total = total, .loss = loss});
      CHECK(total.item() == static_cast<double>(count));
      CHECK(close(loss, std::vector<double>{bce.loss}, tolerance(loss.dtype())));
      kernels::bce_with_logits_backward(
          {.x = x, .target = t, .index = index, .total = total, .dloss = dloss, .dx = dx});
      CHECK(close(dx, bce.gradient, gradient_tolerance(bce.gradient, dtype)));
      const Expected squares = expected([](double v, double y) { return (v - y) * (v - y); },
                                        [](double v, double y) { return 2 * (v - y); });
      kernels::mse_loss({.x = x, .target = t, .index = index, .total = total, .loss = loss});
      CHECK(close(loss, std::vector<double>{squares.loss}, tolerance(loss.dtype())));
      dx.fill_(9.0);
      kernels::mse_loss_backward(
          {.x = x, .target = t, .index = index, .total = total, .dloss = dloss, .dx = dx});
      CHECK(close(dx, squares.gradient, gradient_tolerance(squares.gradient, dtype)));
    }
    const Tensor x = random_tensor({4, 2}, dtype, device);
    const Tensor none = Tensor::full({4, 2}, kNone, accumulator_dtype(dtype), device);
    Tensor loss = Tensor::empty({}, accumulator_dtype(dtype), device), total = Tensor::empty_like(loss);
    const std::string said = error_of([&] {
      kernels::mse_loss({.x = x, .target = none, .total = total, .loss = loss});
      CHECK(loss.item() == 0.0);
    });
    CHECK(said.find("every selected target") == (device.is_cuda() ? std::string::npos : 10));
  });
}

TEST_CASE("losses give the same bits on any number of threads") {
  const Tensor x = random_tensor({30001, 7}), label = random_ints(30001, 0, 7);
  CHECK(same_bits_on_any_threads([&] {
    Tensor loss = Tensor::empty({});
    kernels::softmax_cross_entropy({.x = x, .label = label, .loss = loss});
    return loss;
  }));
  CHECK(same_bits_on_any_threads([&] {
    Tensor dx = Tensor::empty_like(x);
    kernels::softmax_cross_entropy_backward({.x = x,
                                             .label = label,
                                             .index = repeated_rows(30001, {}),
                                             .dloss = Tensor::full({}, 1.0),
                                             .dx = dx});
    return dx;
  }));
}

TEST_CASE("a row that stands in the index n times has n times its gradient, to the bit, in any order") {
  for (Device device : devices()) {
    const Tensor x = random_tensor({50, 6}, DType::f32, device), label = random_ints(50, 0, 6, device),
                 target = random_tensor({50, 6}, DType::f32, device),
                 dloss = Tensor::full({}, 1.0, DType::f32, device);
    // Means over eight rows, so that all factors are powers of two.
    const auto ints = [&](const std::vector<int32_t>& v) { return Tensor::from(v, device); };
    const Tensor once = ints({3, 1, 2, 9, 30, 31, 32, 33}), four = ints({7, 3, 3, 7, 3, 49, 3, 0}),
                 turned = ints({3, 0, 3, 49, 7, 3, 7, 3});
    const auto gradients = [&](const Tensor& index) {
      const Tensor total = Tensor::full({}, 8.0 * 6.0, DType::f32, device);
      std::vector<Tensor> dx;
      for (int k = 0; k < 3; ++k) dx.push_back(Tensor::full({50, 6}, 9.0, DType::f32, device));
      kernels::softmax_cross_entropy_backward(
          {.x = x, .label = label, .index = index, .dloss = dloss, .dx = dx[0]});
      kernels::bce_with_logits_backward(
          {.x = x, .target = target, .index = index, .total = total, .dloss = dloss, .dx = dx[1]});
      kernels::mse_loss_backward(
          {.x = x, .target = target, .index = index, .total = total, .dloss = dloss, .dx = dx[2]});
      return dx;
    };
    const auto of_once = gradients(once), of_four = gradients(four), of_turned = gradients(turned);
    for (size_t k = 0; k < 3; ++k) {
      CAPTURE(k);
      CHECK(same_bits(of_four[k], of_turned[k]));
      std::vector<double> single = values(of_once[k].rows(3, 4)), several = values(of_four[k].rows(3, 4));
      for (size_t c = 0; c < 6; ++c) CHECK(several[c] == 4.0 * single[c]);
      CHECK(close(of_four[k].rows(1, 2), std::vector<double>(6, 0.0), 0.0));
    }
  }
}

TEST_CASE("of many rows too, the order of the index changes no bit, wherever in it a row repeats") {
  constexpr int64_t kRows = 40000, kSelected = 9000;
  for (Device device : devices()) {
    const Tensor x = random_tensor({kRows, 3}, DType::f32, device), label = random_ints(kRows, 0, 3, device),
                 target = random_tensor({kRows, 3}, DType::f32, device),
                 dloss = Tensor::full({}, 1.0, DType::f32, device);
    for (size_t repeated_at : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{kSelected - 1}}) {
      CAPTURE(repeated_at);
      std::vector<int32_t> rows(kSelected);
      for (size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<int32_t>(4 * k + 3);
      if (repeated_at > 0) rows[repeated_at] = rows[repeated_at - 1];
      const Tensor index = Tensor::from(rows, device);
      std::reverse(rows.begin(), rows.end());
      const Tensor turned = Tensor::from(rows, device);
      const auto gradients = [&](const Tensor& of) {
        const Tensor total = Tensor::full({}, 3.0 * kSelected, DType::f32, device);
        std::vector<Tensor> dx;
        for (int k = 0; k < 2; ++k) dx.push_back(Tensor::full({kRows, 3}, 9.0, DType::f32, device));
        kernels::softmax_cross_entropy_backward(
            {.x = x, .label = label, .index = of, .dloss = dloss, .dx = dx[0]});
        kernels::mse_loss_backward(
            {.x = x, .target = target, .index = of, .total = total, .dloss = dloss, .dx = dx[1]});
        return dx;
      };
      const auto straight = gradients(index), backwards = gradients(turned);
      CHECK(same_bits(straight[0], backwards[0]));
      CHECK(same_bits(straight[1], backwards[1]));
      CHECK(
          close(straight[0],
                cross_entropy(values(x), label.to_vector<int32_t>(), 3, rows_of(index, kRows), 1.0).gradient,
                1e-9));
    }
  }
}

TEST_CASE("losses name a label and a row that are out of range, on a GPU where something is read") {
  for (Device device : devices()) {
    const bool later = device.is_cuda();
    const Tensor x = random_tensor({9, 3}, DType::f32, device),
                 target = random_tensor({9, 3}, DType::f32, device);
    const std::string end = later ? fmt::format(" (found on {})", device.str()) : "";
    for (int32_t bad :
         {-1, 3, 100, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
      CAPTURE(bad);
      const Tensor label = Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, bad, bad, 1, 2}, device),
                   index = Tensor::from(std::vector<int32_t>{8, 6, 5, 1}, device);
      for (bool some : {false, true}) {
        Tensor loss = Tensor::empty({}, DType::f32, device);
        const std::string message = error_of([&] {
          kernels::softmax_cross_entropy(
              {.x = x, .label = label, .index = some ? index : Tensor(), .loss = loss});
          (void)loss.item();
        });
        const int row = some && !later ? 6 : 5;  // the first in the index, or by place
        CHECK(message == fmt::format("cross_entropy: label[{}] is {}, expected [0, 3){}", row, bad, end));
        if (later) CHECK(std::isnan(loss.item()));  // told once
      }
      if (bad == 3) continue;
      const Tensor outside = Tensor::from(std::vector<int32_t>{1, 2, bad, 3}, device);
      const Tensor fine = random_ints(9, 0, 3, device);
      Tensor loss = Tensor::empty({}, DType::f32, device), total = Tensor::full({}, 12.0, DType::f32, device);
      const auto expected = [&](const char* op) {
        return fmt::format("{}: index[2] is {}, expected [0, 9){}", op, bad, end);
      };
      CHECK(error_of([&] {
              kernels::softmax_cross_entropy({.x = x, .label = fine, .index = outside, .loss = loss});
              (void)loss.item();
            }) == expected("cross_entropy"));
      CHECK(error_of([&] {
              kernels::bce_with_logits(
                  {.x = x, .target = target, .index = outside, .total = total, .loss = loss});
              (void)loss.item();
            }) == expected("bce_with_logits"));
      CHECK(error_of([&] {
              kernels::mse_loss({.x = x, .target = target, .index = outside, .total = total, .loss = loss});
              (void)loss.item();
            }) == expected("mse_loss"));
      Tensor dx = Tensor::empty_like(x);
      CHECK(error_of([&] {
              kernels::mse_loss_backward({.x = x,
                                          .target = target,
                                          .index = outside,
                                          .total = total,
                                          .dloss = Tensor::full({}, 1.0, DType::f32, device),
                                          .dx = dx});
              (void)dx.rows(0, 1).to_vector<float>();
            }) == expected("mse_loss_backward"));
    }
  }
}

TEST_CASE("losses refuse empty selections, labels and rows out of range") {
  const Tensor x = random_tensor({3, 2});
  Tensor loss = Tensor::empty({}), total = Tensor::full({}, 6.0);
  const Tensor label = Tensor::from(std::vector<int32_t>{0, 2, 1});
  CHECK_ERROR(kernels::softmax_cross_entropy({.x = x, .label = label, .loss = loss}),
              "cross_entropy: label[1] is 2, expected [0, 2)");
  CHECK_THROWS_AS(kernels::softmax_cross_entropy(
                      {.x = x, .label = label, .index = Tensor::empty({0}, DType::i32), .loss = loss}),
                  Error);
  CHECK_THROWS_AS(kernels::softmax_cross_entropy(
                      {.x = x, .label = label, .index = Tensor::from(std::vector<int32_t>{3}), .loss = loss}),
                  Error);
  CHECK_THROWS_AS(kernels::mse_loss({.x = x, .target = random_tensor({3, 1}), .total = total, .loss = loss}),
                  Error);
  const Tensor good = Tensor::from(std::vector<int32_t>{0, 1, 1}), one = Tensor::full({}, 1.0);
  Tensor in_place = random_tensor({3, 2});
  CHECK_ERROR(
      kernels::softmax_cross_entropy_backward({.x = in_place, .label = good, .dloss = one, .dx = in_place}),
      "softmax_cross_entropy_backward: dx cannot be x");
  CHECK_ERROR(
      kernels::mse_loss_backward({.x = in_place, .target = x, .total = total, .dloss = one, .dx = in_place}),
      "mse_loss_backward: dx cannot be x");
  // The bad label is not among the selected rows.
  kernels::softmax_cross_entropy(
      {.x = x, .label = label, .index = Tensor::from(std::vector<int32_t>{2, 0}), .loss = loss});
}
