#include "../reference/plain.h"
#include <adjoint/nn/metrics/classification_report.h>
#include <adjoint/nn/metrics/metrics.h>

#include <algorithm>
#include <limits>
#include <numeric>

using namespace adj;
using namespace adj::test;
using doctest::Approx;

namespace {

/// Ten nodes with tied scores, of which eight are selected.
struct Ranked {
  std::vector<double> score{0.9, 0.1, 0.5, 0.5, -2, 0.5, 0.7, 0.1, 5, -9};
  std::vector<int32_t> label{1, 0, 0, 1, 1, 1, 0, 0, 0, 1};
  std::vector<int32_t> index{7, 0, 1, 2, 3, 4, 5, 6};
  Tensor scores(Device device) const { return Tensor::from(score, device); }
  Tensor labels(Device device) const { return Tensor::from(label, device); }
  Tensor chosen(Device device) const { return Tensor::from(index, device); }

  /// Precision and recall of the nodes whose score is at least `threshold`.
  std::pair<double, double> outcome(double threshold) const {
    double hits = 0.0, found = 0.0, positives = 0.0;
    for (const int32_t i : index) {
      positives += label[uz(i)];
      if (score[uz(i)] < threshold) continue;
      found += 1.0;
      hits += label[uz(i)];
    }
    return {hits / found, hits / positives};
  }
  /// Mean number of positives among the first k over all orders by score.
  double hits(int64_t k) const {
    std::vector<int32_t> order = index;
    std::sort(order.begin(), order.end());
    double sum = 0.0, orders = 0.0;
    do {
      const bool sorted = std::is_sorted(order.begin(), order.end(),
                                         [&](int32_t a, int32_t b) { return score[uz(a)] > score[uz(b)]; });
      if (!sorted) continue;
      for (int64_t j = 0; j < k; ++j) sum += label[uz(order[uz(j)])];
      orders += 1.0;
    } while (std::next_permutation(order.begin(), order.end()));
    return sum / orders;
  }
};

}  // namespace

TEST_CASE_FIXTURE(
    Ranked, "average precision is the mean precision at the positives, and recall at a precision the best") {
  on_devices([&](Device device) {
    const Tensor s = scores(device), y = labels(device), i = chosen(device);
    double sum = 0.0, positives = 0.0;
    for (const int32_t k : index)
      if (label[uz(k)] == 1) sum += outcome(score[uz(k)]).first, positives += 1.0;
    CHECK(nn::average_precision(s, y, i) == Approx(sum / positives));
    for (const double precision : {0.3, 0.5, 0.6, 0.61, 0.99, 1.0}) {
      CAPTURE(precision);
      double best = 0.0;
      for (const int32_t k : index)
        if (const auto [p, r] = outcome(score[uz(k)]); p >= precision) best = std::max(best, r);
      CHECK(nn::recall_at_precision(precision, s, y, i) == Approx(best));
    }
    for (int64_t k = 1; k <= 8; ++k) {
      CHECK(nn::precision_at(k, s, y, i) == Approx(hits(k) / static_cast<double>(k)));
      CHECK(nn::recall_at(k, s, y, i) == Approx(hits(k) / positives));
    }
    // All nodes: the best is no positive.
    CHECK(nn::recall_at_precision(0.9, s, y) == 0.0);
    CHECK(nn::precision_at(1, s, y) == 0.0);
  });
  // scikit-learn's example: average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) is 0.8333.
  CHECK(nn::average_precision(Tensor::from(std::vector<double>{0.1, 0.4, 0.35, 0.8}),
                              Tensor::from(std::vector<int32_t>{0, 0, 1, 1})) == Approx(0.5 + 1.0 / 3.0));
}

TEST_CASE_FIXTURE(Ranked, "columns without a positive are left out of the mean average precision") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> out, target;
  for (size_t i = 0; i < 10; ++i) {
    out.insert(out.end(), {static_cast<float>(score[i]), static_cast<float>(-score[i]), 1.0f});
    target.insert(target.end(),
                  {static_cast<float>(label[i]), i % 3 == 0 ? none : static_cast<float>(label[i]), 0.0f});
  }
  const Tensor x = Tensor::from(out, {10, 3}), y = Tensor::from(target, {10, 3}), i = chosen(Device::cpu());
  Ranked second = *this;
  std::erase_if(second.index, [](int32_t k) { return k % 3 == 0; });
  for (double& s : second.score) s = -s;
  CHECK(nn::mean_average_precision(x, y, i) ==
        Approx((nn::average_precision(scores(Device::cpu()), labels(Device::cpu()), i) +
                nn::average_precision(second.scores(Device::cpu()), labels(Device::cpu()),
                                      second.chosen(Device::cpu()))) /
               2.0));
  CHECK_ERROR_HAS((void)nn::mean_average_precision(x, Tensor::zeros({10, 3})),
                  "no positive in any of 3 columns");
}

TEST_CASE_FIXTURE(Ranked, "metrics of rankings refuse what has no answer") {
  const Tensor s = scores(Device::cpu()), y = labels(Device::cpu());
  CHECK_ERROR_HAS((void)nn::average_precision(s, Tensor::zeros({10}, DType::i32)),
                  "no positive among 10 nodes");
  CHECK_ERROR_HAS((void)nn::average_precision(s, y, Tensor::from(std::vector<int32_t>{})),
                  "no nodes selected");
  CHECK_ERROR_HAS((void)nn::average_precision(Tensor::from(std::vector<double>(10, NAN)), y), "not a number");
  CHECK_ERROR_HAS((void)nn::average_precision(Tensor::zeros({9}), y), "9 scores for 10 labels");
  CHECK_ERROR_HAS((void)nn::precision_at(0, s, y), "k is 0, expected 1 to 10");
  CHECK_ERROR_HAS((void)nn::recall_at(11, s, y), "k is 11, expected 1 to 10");
  for (const double precision : {0.0, 1.01, static_cast<double>(NAN)})
    CHECK_ERROR_HAS((void)nn::recall_at_precision(precision, s, y), "expected a number in (0, 1]");
}

TEST_CASE("the calibration error of bins by hand") {
  // Confidences of two classes: 0.9, 0.9, 0.6, 0.62 and 0.5; of those the first, third and last are right.
  const auto logit = [](double p) { return static_cast<float>(std::log(p / (1.0 - p))); };
  const Tensor x = Tensor::from(std::vector<float>{0, logit(0.9), 0, logit(0.9), logit(0.6), 0, 0,
                                                   logit(0.62), 1, 1, 7, 0},
                                {6, 2}),
               y = Tensor::from(std::vector<int32_t>{1, 0, 0, 0, 0, 0}),
               index = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4});
  on_devices([&](Device device) {
    const auto error = [&](int64_t bins) {
      return nn::expected_calibration_error(x.to(device), y.to(device), index.to(device), bins);
    };
    // Of 15 bins 0.9 is in (13/15, 14/15], 0.6 in (8/15, 9/15], 0.62 in the next, 0.5 in (7/15, 8/15].
    CHECK(error(15) ==
          Approx((std::abs(1.8 - 1) + std::abs(0.6 - 1) + 0.62 + std::abs(0.5 - 1)) / 5).epsilon(1e-5));
    CHECK(error(1) == Approx(std::abs(0.9 + 0.9 + 0.6 + 0.62 + 0.5 - 3) / 5).epsilon(1e-5));
    CHECK(error(2) == Approx((std::abs(0.5 - 1) + std::abs(1.8 + 0.6 + 0.62 - 2)) / 5).epsilon(1e-5));
  });
  CHECK_ERROR_HAS((void)nn::expected_calibration_error(x, y, {}, 0), "0 bins");
  CHECK_ERROR_HAS((void)nn::expected_calibration_error(Tensor::full({6, 2}, NAN), y), "not a number");
}

TEST_CASE("the temperature with the least cross entropy, by hand and by a search") {
  on_devices([&](Device device) {
    // Two classes with logits 0 and z, of which a share p is of the second: σ(z / T) = p.
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int k = 0; k < 10; ++k) x.insert(x.end(), {0.0f, 3.0f}), y.push_back(k < 8 ? 1 : 0);
    const Tensor logits = Tensor::from(x, {10, 2}, device), label = Tensor::from(y, device);
    const double t = nn::calibration_temperature(logits, label);
    CHECK(t == Approx(3.0 / std::log(4.0)).epsilon(1e-9));
    CHECK(nn::expected_calibration_error(logits, label, {}, 15, t) < 1e-9);
    CHECK(
        nn::calibration_temperature(logits, label, Tensor::from(std::vector<int32_t>{0, 1, 2, 8}, device)) ==
        Approx(3.0 / std::log(3.0)).epsilon(1e-9));
    // Without a minimum the ends of the range: all right, and none.
    const Tensor right = Tensor::full({10}, 1, DType::i32, device),
                 wrong = Tensor::zeros({10}, DType::i32, device);
    CHECK(nn::calibration_temperature(logits, right) == 0.01);
    CHECK(nn::calibration_temperature(logits, wrong) == 100.0);
  });
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int k = 0; k < 400; ++k) {
    for (int c = 0; c < 7; ++c) x.push_back(static_cast<float>((k * 37 + c * 101 + k * c * 13) % 97) / 3.0f);
    y.push_back(k % 3 == 0 ? k % 7
                           : static_cast<int32_t>(std::max_element(x.end() - 7, x.end()) - (x.end() - 7)));
  }
  const auto entropy = [&](double t) {
    double sum = 0.0;
    for (size_t k = 0; k < y.size(); ++k) {
      double total = 0.0;
      for (size_t c = 0; c < 7; ++c) total += std::exp(static_cast<double>(x[7 * k + c]) / t);
      sum += std::log(total) - static_cast<double>(x[7 * k + static_cast<size_t>(y[k])]) / t;
    }
    return sum;
  };
  double best = 0.01;
  for (double t = 0.01; t <= 100.0; t *= 1.001)
    if (entropy(t) < entropy(best)) best = t;
  CHECK(nn::calibration_temperature(Tensor::from(x, {400, 7}), Tensor::from(y)) ==
        Approx(best).epsilon(2e-3));
  CHECK_ERROR_HAS(
      (void)nn::calibration_temperature(Tensor::full({2, 2}, INFINITY), Tensor::zeros({2}, DType::i32)),
      "calibration_temperature: a logit is inf");
}
