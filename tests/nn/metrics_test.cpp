#include "../reference/plain.h"
#include <adjoint/nn/metrics.h>

#include <limits>

using namespace adj;
using namespace adj::test;
using doctest::Approx;

namespace {

Tensor ints(const std::vector<int32_t>& v, Device device) { return Tensor::from(v, device); }

// The share of (positive, negative) pairs that the score puts in order, ties counted half.
double pairs_in_order(const std::vector<double>& score, const std::vector<int32_t>& label,
                      const std::vector<int32_t>& index) {
  double won = 0.0, pairs = 0.0;
  for (int32_t p : index)
    for (int32_t n : index) {
      const auto a = static_cast<size_t>(p), b = static_cast<size_t>(n);
      if (label[a] != 1 || label[b] != 0) continue;
      pairs += 1.0;
      won += score[a] > score[b] ? 1.0 : score[a] == score[b] ? 0.5 : 0.0;
    }
  return won / pairs;
}

}  // namespace

TEST_CASE("accuracy counts the largest logit, ties to the smallest class") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    const Tensor logits =
        Tensor::from(std::vector<float>{1, 2, 0, 3, 3, 1, -1, -2, -1, 0, 0, 0, -5, 1, 1}, {5, 3}, device);
    // Predictions: 1, 0, 0, 0, 1.
    CHECK(nn::accuracy(logits, ints({1, 0, 0, 0, 1}, device)) == 1.0);
    CHECK(nn::accuracy(logits, ints({1, 1, 2, 2, 2}, device)) == Approx(0.2));
    CHECK(nn::accuracy(logits, ints({1, 1, 2, 2, 1}, device), ints({4, 1, 0}, device)) == Approx(2.0 / 3.0));
  }
}

TEST_CASE("macro-F1 equals values computed by hand, with classes absent") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    const std::vector<int32_t> predicted{0, 0, 1, 1, 1, 2};
    std::vector<float> one_hot(6 * 4);
    for (size_t i = 0; i < 6; ++i) one_hot[i * 4 + static_cast<size_t>(predicted[i])] = 1.0f;
    const Tensor logits = Tensor::from(one_hot, {6, 4}, device), label = ints({0, 1, 1, 1, 0, 0}, device);
    // Class 0: tp 1, fp 1, fn 2: 2/5. Class 1: tp 2, fp 1, fn 1: 2/3. Class 2: predicted, never right: 0.
    // Class 3 is neither predicted nor present.
    CHECK(nn::macro_f1(logits, label) == Approx((2.0 / 5.0 + 2.0 / 3.0) / 3.0));
    // Nodes 0, 2, 3: classes 0 and 1 are all right.
    CHECK(nn::macro_f1(logits, label, ints({3, 0, 2}, device)) == Approx(1.0));
    // Node 5 alone: class 2 predicted, class 0 true.
    CHECK(nn::macro_f1(logits, label, ints({5}, device)) == 0.0);
  }
}

TEST_CASE("ROC-AUC equals values computed by hand") {
  for (Device device : devices()) {
    const Tensor score = Tensor::from(std::vector<float>{0.1f, 0.4f, 0.35f, 0.8f}, device);
    CHECK(nn::roc_auc(score, ints({0, 0, 1, 1}, device)) == Approx(0.75));
    CHECK(nn::roc_auc(score, ints({1, 1, 0, 0}, device)) == Approx(0.25));
    CHECK(nn::roc_auc(Tensor::full({4}, 2.0, DType::f32, device), ints({0, 1, 1, 0}, device)) == Approx(0.5));
    CHECK(nn::roc_auc(score, ints({1, 0, 0, 1}, device), ints({3, 1}, device)) == 1.0);
  }
}

TEST_CASE("ROC-AUC equals a count over all pairs, with many ties") {
  for (uint64_t seed = 240; seed < 260; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int64_t n = 60 + static_cast<int64_t>(seed % 7);
    const Tensor ties = draw.ints(n, -4, 5), label = draw.ints(n, 0, 2), index = draw.distinct(n / 2, n);
    const Tensor distinct = draw.normal({n});
    for (const Tensor& score : {ties.to(DType::f32), distinct}) {
      const auto s = values(score);
      const auto y = label.to_vector<int32_t>(), some = index.to_vector<int32_t>();
      std::vector<int32_t> all(static_cast<size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      CHECK(nn::roc_auc(score, label) == Approx(pairs_in_order(s, y, all)).epsilon(1e-12));
      CHECK(nn::roc_auc(score, label, index) == Approx(pairs_in_order(s, y, some)).epsilon(1e-12));
    }
  }
}

TEST_CASE("metrics refuse what they are not defined for") {
  const Tensor logits = Tensor::zeros({3, 2}), three = Tensor::zeros({3}), label = ints({0, 1, 1}, {});
  const Tensor none = Tensor::empty({0}, DType::i32);
  CHECK_THROWS_AS(nn::accuracy(logits, label, none), Error);
  CHECK_THROWS_AS(nn::macro_f1(logits, label, none), Error);
  CHECK_THROWS_AS(nn::accuracy(three, label), Error);
  CHECK_THROWS_AS(nn::accuracy(Tensor::zeros({2, 2}), label), Error);
  CHECK_THROWS_AS(nn::macro_f1(Tensor::zeros({2, 2}), label), Error);
  CHECK(mentions(error_of([&] { nn::macro_f1(logits, ints({0, 1, 2}, {})); }), "label 2 of node 2"));
  CHECK(mentions(error_of([&] { nn::macro_f1(logits, label, ints({3}, {})); }), "index 3"));
  CHECK(mentions(error_of([&] { nn::roc_auc(three, label, ints({-1}, {})); }), "index -1"));
  CHECK(mentions(error_of([&] { nn::roc_auc(three, ints({1, 1, 1}, {})); }), "only one class"));
  CHECK_THROWS_AS(nn::roc_auc(Tensor::zeros({2}), label), Error);
  const Tensor not_a_number =
      Tensor::from(std::vector<float>{0.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f});
  CHECK(mentions(error_of([&] { nn::roc_auc(not_a_number, label); }), "node 1"));
}
