#include "loss_calls.h"

#include <limits>
#include <numeric>
#include <tuple>

using namespace adj;
using namespace adj::test;

namespace {

enum class Rows { all, some, repeated, ascending, ascending_repeated };
constexpr std::initializer_list<Rows> kSelections = {Rows::all, Rows::some, Rows::repeated, Rows::ascending,
                                                     Rows::ascending_repeated};
/// Every third row or so, in no order or ascending; `repeated`: some of them many times.
Tensor selected(Rows which, int64_t rows, Device device) {
  if (which == Rows::all) return {};
  std::vector<int32_t> index;
  for (int64_t k = 0; k < (rows + 2) / 3; ++k) index.push_back(static_cast<int32_t>(rows - 1 - 3 * k));
  std::reverse(index.begin() + static_cast<int64_t>(index.size()) / 2, index.end());
  if (which == Rows::repeated || which == Rows::ascending_repeated) {
    for (size_t k = 1; k < index.size(); k += 2) index[k] = index[k / 4];
    index.push_back(index.front());
  }
  if (which >= Rows::ascending) std::sort(index.begin(), index.end());
  return Tensor::from(index, device);
}

/// Loss and gradient by the definition, in double; targets of NaN and ignored labels contribute to neither.
struct Expected {
  double loss = 0.0, count = 0.0;
  Numbers gradient;

  Expected(Loss which, const LossCall& p, double dloss) : gradient(uz(p.x.numel())) {
    const Numbers x = values(p.x), t = values(p.target), positive = values(p.positive),
                  weights = p.weight ? values(p.weight) : Numbers();
    const std::vector<int32_t> label = p.label.to_vector<int32_t>();
    const size_t width = uz(p.x.size(1));
    std::vector<int32_t> rows(uz(p.x.size(0)));
    std::iota(rows.begin(), rows.end(), 0);
    for (int32_t row : p.index ? p.index.to_vector<int32_t>() : rows) {
      const size_t begin = uz(row) * width, end = begin + width;
      if (which == Loss::cross_entropy) {
        const int32_t chosen = label[uz(row)];
        if (chosen == p.ignored) continue;
        const double weight = p.weight ? weights[uz(chosen)] : 1.0;
        const size_t truth = begin + uz(chosen);
        const double largest = *std::max_element(x.data() + begin, x.data() + end);
        double sum = 0.0;
        for (size_t k = begin; k < end; ++k) sum += std::exp(x[k] - largest);
        loss += weight * (std::log(sum) + largest - x[truth]);
        for (size_t k = begin; k < end; ++k)
          gradient[k] += weight * (std::exp(x[k] - largest) / sum - (k == truth ? 1.0 : 0.0));
        count += weight;
        continue;
      }
      for (size_t k = begin; k < end; ++k) {
        if (std::isnan(t[k])) continue;
        const double apart = x[k] - t[k];
        const double weight = which == Loss::weighted_bce ? positive[k - begin] : 1.0;
        const auto softplus = [](double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); };
        loss += which == Loss::mse ? apart * apart
                                   : weight * t[k] * softplus(-x[k]) + (1 - t[k]) * softplus(x[k]);
        gradient[k] += which == Loss::mse
                           ? 2 * apart
                           : (1 - t[k]) / (1 + std::exp(-x[k])) - weight * t[k] / (1 + std::exp(x[k]));
        ++count;
      }
    }
    loss /= count;
    for (double& g : gradient) g *= dloss / count;
  }
};

constexpr std::pair<int64_t, int64_t> kShapes[] = {{1, 1},    {5, 2},    {2708, 7},
                                                   {700, 40}, {33, 129}, {40000, 3}};

void check_loss(Loss which, LossCall& p) {
  CAPTURE(static_cast<int>(which));
  const Expected expected(which, p, -1.3);
  CHECK(close(p.forward(which), Numbers{expected.loss}, tolerance(p.accumulator)));
  CHECK(p.total.item() == expected.count);
  // The gradient's elements are far below 1.
  CHECK(close_to_scale(p.backward(which, -1.3), Tensor::from(expected.gradient, p.x.shape()),
                       tolerance(p.x.dtype())));
}

}  // namespace

TEST_CASE("losses and their gradients: all rows, a subset, and repeated rows") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes)
      for (Rows which : kSelections) {
        CAPTURES(which, rows, columns);
        LossCall p(rows, columns, dtype, device);
        p.index = selected(which, rows, device);
        for (Loss loss : kLosses) check_loss(loss, p);
      }
  });
}

TEST_CASE("softmax_cross_entropy and its gradient: weights of classes and ignored labels") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, classes] : kShapes)
      for (bool weighted : {false, true})
        for (Rows which : kSelections) {
          CAPTURES(which, rows, classes, weighted);
          LossCall p(rows, classes, dtype, device);
          std::vector<int32_t> truth =
              random_ints(rows, -1, static_cast<int32_t>(classes)).to_vector<int32_t>();
          truth.back() = 0;  // at least one selected row counts
          p.label = Tensor::from(truth, device);
          if (weighted) p.weight = random_ints(classes, 1, 5).to(p.accumulator).to(device);
          p.ignored = -1;
          p.index = selected(which, rows, device);
          check_loss(Loss::cross_entropy, p);
        }
  });
}

TEST_CASE("softmax_cross_entropy is correct for large logits, and NaN for NaN") {
  on_devices_and_features([](Device device, DType dtype) {
    LossCall p(3, 3, dtype, device);
    const Numbers logits{1000, 0, -1000, -1e30, -1e30, -1e30, 1e4, 1e4, 1e4};
    p.x = tensor_of(logits, {3, 3}, dtype, device);
    p.label = Tensor::from<int32_t>({1, 2, 0}, device);
    CHECK(close(p.forward(Loss::cross_entropy), Numbers{(1000 + 2 * std::log(3.0)) / 3},
                tolerance(p.accumulator)));
    CHECK(close(p.backward(Loss::cross_entropy, 3.0),
                {1, -1, 0, 1. / 3, 1. / 3, -2. / 3, -2. / 3, 1. / 3, 1. / 3}, tolerance(dtype)));
    p.x.fill_(NAN);
    CHECK(std::isnan(p.forward(Loss::cross_entropy).item()));
  });
}

TEST_CASE("bce_with_logits is correct for large logits") {
  on_devices_and_features([](Device device, DType dtype) {
    LossCall p(8, 1, dtype, device);
    p.x = tensor_of({1e4, -1e4, 1e4, -30, -1e4, -30, 30, 1e4}, {8, 1}, dtype, device);
    p.target = tensor_of({1, 0, 0, 0, 1, 1, 1, 0}, {8, 1}, p.accumulator, device);
    const double far = values(p.x)[0];  // 1e4 rounded to dtype
    p.positive.fill_(3.0);
    const double tiny = std::exp(-30.0);
    for (const auto& [loss, w] : {std::pair(Loss::bce, 1.0), {Loss::weighted_bce, 3.0}}) {
      CHECK(close(p.forward(loss), Numbers{(2 * far + w * (far + 30)) / 8}, tolerance(p.accumulator)));
      CHECK(
          close(p.backward(loss, 8.0), {0, 0, 1, tiny, -w, w * (-1 + tiny), -w * tiny, 1}, tolerance(dtype)));
    }
  });
}

TEST_CASE("targets of NaN are excluded from loss and gradient") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const Rows which : kSelections) {
      CAPTURE(static_cast<int>(which));
      LossCall p(3000, 3, dtype, device);
      p.index = selected(which, 3000, device);
      Numbers partly = values(p.target);
      for (size_t k = 0; k < partly.size(); ++k)
        if (k % 5 == 0 || k % 7 == 3) partly[k] = NAN;
      p.target = tensor_of(partly, {3000, 3}, p.accumulator, device);
      for (Loss loss : {Loss::bce, Loss::weighted_bce, Loss::mse}) check_loss(loss, p);
    }
    LossCall none(4, 2, dtype, device);
    none.target.fill_(NAN);
    CHECK(none.forward(Loss::mse).item() == 0.0);
    CHECK(values(none.backward(Loss::mse)) == Numbers(8, 0.0));
  });
}

TEST_CASE("losses and their gradients have the same bits on any number of threads") {
  for (DType dtype : {DType::f32, DType::f64}) {  // sums are in float64: float32 rarely shows their order
    LossCall p(30001, 7, dtype, {});
    for (Rows which : {Rows::all, Rows::repeated})
      for (Loss loss : kLosses) {
        p.index = selected(which, 30001, {});
        CHECK(same_bits_on_any_threads([&] {
          return std::vector{p.forward(loss).clone(), p.backward(loss)};
        }));
      }
  }
}

TEST_CASE("a row that is in the index n times has n times its gradient, to the bit, in any order") {
  for (Device device : devices()) {
    LossCall p(50, 6, DType::f32, device);
    p.target = random_tensor({50, 6}, DType::f32, device);
    for (Loss loss : kLosses) {
      CAPTURE(static_cast<int>(loss));
      p.total = p.scalar(loss == Loss::cross_entropy ? 8.0 : 8.0 * 6.0);
      // Means over eight rows, so that all factors are powers of two.
      const auto gradient = [&](const std::vector<int32_t>& index) {
        p.index = Tensor::from(index, device);
        return p.backward(loss);
      };
      const Tensor once = gradient({3, 1, 2, 9, 30, 31, 32, 33}), four = gradient({7, 3, 3, 7, 3, 49, 3, 0});
      CHECK(same_bits(four, gradient({3, 0, 3, 49, 7, 3, 7, 3})));
      const Numbers single = values(once.rows(3, 4)), several = values(four.rows(3, 4));
      for (size_t c = 0; c < 6; ++c) CHECK(several[c] == 4.0 * single[c]);
      CHECK(close(four.rows(1, 2), Numbers(6, 0.0), 0.0));
    }
  }
}

TEST_CASE("the order of a long index changes no bit, wherever rows repeat") {
  constexpr int64_t kRows = 40000, kSelected = 9000;
  for (Device device : devices()) {
    LossCall p(kRows, 3, DType::f32, device);
    p.target = random_tensor({kRows, 3}, DType::f32, device);
    const auto backward = [&](Loss loss) {
      p.total = p.scalar(loss == Loss::cross_entropy ? kSelected : 3.0 * kSelected);
      return p.backward(loss);
    };
    for (size_t repeated_at : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{kSelected - 1}}) {
      CAPTURE(repeated_at);
      std::vector<int32_t> rows(kSelected);
      for (size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<int32_t>(4 * k + 3);
      if (repeated_at > 0) rows[repeated_at] = rows[repeated_at - 1];
      p.index = Tensor::from(rows, device);
      const Tensor entropy = backward(Loss::cross_entropy), squares = backward(Loss::mse);
      CHECK(close(entropy, Expected(Loss::cross_entropy, p, 1.0).gradient, 1e-9));
      std::reverse(rows.begin(), rows.end());
      p.index = Tensor::from(rows, device);
      CHECK(same_bits(backward(Loss::cross_entropy), entropy));
      CHECK(same_bits(backward(Loss::mse), squares));
    }
  }
}

TEST_CASE("losses name a label and a row out of range, on a GPU when a result is read") {
  for (Device device : devices()) {
    const bool later = device.is_cuda();
    const std::string end = later ? fmt::format(" (found on {})", device.str()) : "";
    for (int32_t bad :
         {-1, 3, 100, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
      CAPTURE(bad);
      LossCall p(9, 3, DType::f32, device);
      const Tensor fine = p.label;
      p.label = Tensor::from<int32_t>({0, 1, 2, 0, 1, bad, bad, 1, 2}, device);
      for (const auto& [some, weighted, ignoring] : {std::tuple{false, false, false},
                                                     {true, false, false},
                                                     {true, true, false},
                                                     {true, false, true},
                                                     {false, true, true}}) {
        CAPTURES(some, weighted, ignoring);
        p.weight = weighted ? Tensor::full({3}, 0.5, DType::f32, device) : Tensor();
        p.ignored = ignoring ? 2 : kernels::kNothingIgnored;
        p.index = some ? Tensor::from<int32_t>({8, 6, 5, 1}, device) : Tensor();
        const std::string message = error_of([&] { (void)p.forward(Loss::cross_entropy).item(); });
        const int row = some && !later ? 6 : 5;  // the first in the index, or by place
        CHECK(message == fmt::format("cross_entropy: label[{}] is {}, expected [0, 3){}", row, bad, end));
        if (later) CHECK(std::isnan(p.loss.item()));  // reported once
      }
      p.weight = {};
      p.ignored = kernels::kNothingIgnored;
      if (bad == 3) continue;
      p.index = Tensor::from<int32_t>({1, 2, bad, 3}, device);
      p.label = fine;
      p.total = p.scalar(12.0);
      const auto expected = [&](const char* op) {
        return fmt::format("{}: index[2] is {}, expected [0, 9){}", op, bad, end);
      };
      const char* names[] = {"cross_entropy", "bce_with_logits", "bce_with_logits", "mse_loss"};
      for (Loss loss : kLosses)
        CHECK(error_of([&] { (void)p.forward(loss).item(); }) == expected(names[static_cast<int>(loss)]));
      CHECK(error_of([&] { (void)p.backward(Loss::mse).rows(0, 1).to_vector<float>(); }) ==
            expected("mse_loss_backward"));
    }
  }
}

TEST_CASE("losses refuse empty selections, labels and rows out of range") {
  const Tensor x = random_tensor({3, 2});
  Tensor loss = Tensor::empty({}), total = Tensor::full({}, 6.0);
  const Tensor label = Tensor::from<int32_t>({0, 2, 1});
  const auto cross_entropy = [&](const Tensor& index) {
    kernels::softmax_cross_entropy({.x = x, .label = label, .index = index, .total = total, .loss = loss});
  };
  CHECK_ERROR(cross_entropy({}), "cross_entropy: label[1] is 2, expected [0, 2)");
  CHECK_THROWS_AS(cross_entropy(Tensor::empty({0}, DType::i32)), Error);
  CHECK_THROWS_AS(cross_entropy(Tensor::from<int32_t>({3})), Error);
  CHECK_NOTHROW(cross_entropy(Tensor::from<int32_t>({2, 0})));  // the bad label is not among these
  kernels::softmax_cross_entropy({.x = x, .label = label, .ignored = 2, .total = total, .loss = loss});
  CHECK(total.item() == 2.0);
  CHECK_THROWS_AS(kernels::softmax_cross_entropy(
                      {.x = x, .label = label, .weight = random_tensor({3}), .total = total, .loss = loss}),
                  Error);
  CHECK_THROWS_AS(kernels::mse_loss({.x = x, .target = random_tensor({3, 1}), .total = total, .loss = loss}),
                  Error);
  const Tensor three = random_tensor({3}), two = random_tensor({2});
  CHECK_ERROR(
      kernels::bce_with_logits({.x = x, .target = x, .positive = three, .total = total, .loss = loss}),
      "bce_with_logits: positive is [3] float32 on cpu, expected [2] float32 on cpu");
  CHECK_ERROR(kernels::mse_loss({.x = x, .target = x, .positive = two, .total = total, .loss = loss}),
              "mse_loss: positive is [2] float32 on cpu, expected none");
}
