#include "cases.h"
#include <adjoint/kernels/loss/loss.h>

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
    const int32_t truth = label[static_cast<size_t>(i)];
    e.loss += (std::log(total) + largest - row[truth]) / n;
    for (int64_t c = 0; c < classes; ++c)
      e.gradient[static_cast<size_t>(i * classes + c)] =
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
      const auto k = static_cast<size_t>(i * width + c);
      e.loss += term(x[k], t[k]) / n;
      e.gradient[k] = dloss / n * slope(x[k], t[k]);
    }
  return e;
}

constexpr std::pair<int64_t, int64_t> kShapes[] = {{1, 1}, {5, 2}, {2708, 7}, {700, 40}, {33, 129}};

/// Relative to the largest element of the gradient, which is far below 1.
double gradient_tolerance(const std::vector<double>& gradient, DType dtype) {
  double largest = 0.0;
  for (double g : gradient) largest = std::max(largest, std::abs(g));
  return tolerance(dtype) * largest;
}

}  // namespace

TEST_CASE("softmax_cross_entropy and its gradient, all rows and a subset") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, classes] : kShapes)
      for (bool subset : {false, true}) {
        CAPTURE(rows);
        CAPTURE(classes);
        const Tensor x = random_tensor({rows, classes}, dtype, device);
        const Tensor label = random_ints(rows, 0, static_cast<int32_t>(classes), device);
        const Tensor index = subset ? some_rows(rows, device) : Tensor();
        const Expected expected =
            cross_entropy(values(x), label.to_vector<int32_t>(), classes, rows_of(index, rows), 0.7);
        Tensor loss = Tensor::empty({}, wide_dtype(dtype), device),
               dx = Tensor::full({rows, classes}, 9.0, dtype, device);
        kernels::softmax_cross_entropy({.x = x, .label = label, .index = index, .loss = loss});
        CHECK(close(loss, std::vector<double>{expected.loss}, tolerance(loss.dtype())));
        kernels::softmax_cross_entropy_backward({.x = x,
                                                 .label = label,
                                                 .index = index,
                                                 .dloss = Tensor::full({}, 0.7, wide_dtype(dtype), device),
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
    Tensor loss = Tensor::empty({}, wide_dtype(dtype), device), dx = Tensor::empty_like(x);
    kernels::softmax_cross_entropy({.x = x, .label = label, .loss = loss});
    CHECK(close(loss, std::vector<double>{(1000 + 2 * std::log(3.0)) / 3}, tolerance(loss.dtype())));
    kernels::softmax_cross_entropy_backward(
        {.x = x, .label = label, .dloss = Tensor::full({}, 3.0, wide_dtype(dtype), device), .dx = dx});
    CHECK(close(dx, {1, -1, 0, 1. / 3, 1. / 3, -2. / 3, -2. / 3, 1. / 3, 1. / 3}, tolerance(dtype)));

    Tensor odd = Tensor::full({2, 3}, std::nan(""), dtype, device);
    kernels::softmax_cross_entropy({.x = odd, .label = label.rows(0, 2), .loss = loss});
    CHECK(std::isnan(loss.item()));
  });
}

TEST_CASE("bce_with_logits and mse with their gradients") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes)
      for (bool subset : {false, true}) {
        CAPTURE(rows);
        CAPTURE(columns);
        Tensor x = random_tensor({rows, columns}, dtype, device);
        const Tensor t =
            random_ints(rows * columns, 0, 2, device).to(wide_dtype(dtype)).reshape({rows, columns});
        const Tensor index = subset ? some_rows(rows, device) : Tensor();
        const Tensor dloss = Tensor::full({}, -1.3, wide_dtype(dtype), device);
        Tensor loss = Tensor::empty({}, wide_dtype(dtype), device),
               dx = Tensor::full({rows, columns}, 9.0, dtype, device);

        const Expected bce = mean_of(
            values(x), values(t), columns, rows_of(index, rows), dloss.item(),
            [](double v, double y) { return std::max(v, 0.0) - v * y + std::log1p(std::exp(-std::abs(v))); },
            [](double v, double y) { return 1 / (1 + std::exp(-v)) - y; });
        kernels::bce_with_logits({.x = x, .target = t, .index = index, .loss = loss});
        CHECK(close(loss, std::vector<double>{bce.loss}, tolerance(loss.dtype())));
        kernels::bce_with_logits_backward({.x = x, .target = t, .index = index, .dloss = dloss, .dx = dx});
        CHECK(close(dx, bce.gradient, gradient_tolerance(bce.gradient, dtype)));

        const Expected squares = mean_of(
            values(x), values(t), columns, rows_of(index, rows), dloss.item(),
            [](double v, double y) { return (v - y) * (v - y); },
            [](double v, double y) { return 2 * (v - y); });
        kernels::mse({.x = x, .target = t, .index = index, .loss = loss});
        CHECK(close(loss, std::vector<double>{squares.loss}, tolerance(loss.dtype())));
        dx.fill_(9.0);
        kernels::mse_backward({.x = x, .target = t, .index = index, .dloss = dloss, .dx = dx});
        CHECK(close(dx, squares.gradient, gradient_tolerance(squares.gradient, dtype)));
      }
  });
}

TEST_CASE("bce_with_logits holds for large logits") {
  on_devices_and_features([](Device device, DType dtype) {
    const Tensor x = Tensor::from(std::vector<double>{1e4, -1e4, 1e4, -30}, {4, 1}).to(dtype).to(device);
    const Tensor t = Tensor::from(std::vector<double>{1, 0, 0, 0}, {4, 1}).to(wide_dtype(dtype)).to(device);
    Tensor loss = Tensor::empty({}, wide_dtype(dtype), device), dx = Tensor::empty_like(x);
    kernels::bce_with_logits({.x = x, .target = t, .loss = loss});
    CHECK(close(loss, std::vector<double>{values(x)[2] / 4}, tolerance(loss.dtype())));
    kernels::bce_with_logits_backward(
        {.x = x, .target = t, .dloss = Tensor::full({}, 4.0, wide_dtype(dtype), device), .dx = dx});
    CHECK(close(dx, {0, 0, 1, std::exp(-30.0)}, tolerance(dtype)));
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
    kernels::softmax_cross_entropy_backward(
        {.x = x, .label = label, .index = some_rows(30001, {}), .dloss = Tensor::full({}, 1.0), .dx = dx});
    return dx;
  }));
}

TEST_CASE("losses refuse empty selections, labels and rows out of range") {
  const Tensor x = random_tensor({3, 2});
  Tensor loss = Tensor::empty({});
  const Tensor label = Tensor::from(std::vector<int32_t>{0, 2, 1});
  CHECK_THROWS_WITH_AS(kernels::softmax_cross_entropy({.x = x, .label = label, .loss = loss}),
                       "softmax_cross_entropy: label[1] is 2, expected [0, 2)", Error);
  CHECK_THROWS_AS(kernels::softmax_cross_entropy(
                      {.x = x, .label = label, .index = Tensor::empty({0}, DType::i32), .loss = loss}),
                  Error);
  CHECK_THROWS_AS(kernels::softmax_cross_entropy(
                      {.x = x, .label = label, .index = Tensor::from(std::vector<int32_t>{3}), .loss = loss}),
                  Error);
  CHECK_THROWS_AS(kernels::mse({.x = x, .target = random_tensor({3, 1}), .loss = loss}), Error);
  // The bad label is not among the selected rows.
  kernels::softmax_cross_entropy(
      {.x = x, .label = label, .index = Tensor::from(std::vector<int32_t>{2, 0}), .loss = loss});
}
