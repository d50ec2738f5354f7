#include "../reference/plain.h"
#include <adjoint/nn/metrics/classification_report.h>
#include <adjoint/nn/metrics/metrics.h>

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
      const auto a = uz(p), b = uz(n);
      if (label[a] != 1 || label[b] != 0) continue;
      pairs += 1.0;
      won += score[a] > score[b] ? 1.0 : score[a] == score[b] ? 0.5 : 0.0;
    }
  return won / pairs;
}

}  // namespace

TEST_CASE("a class with a NaN logit is never predicted") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (Device device : devices())
    CHECK(nn::accuracy(Tensor::from(std::vector<double>{nan, -inf, 1, nan, inf, nan}, {3, 2}, device),
                       ints({1, 0, 0}, device)) == 1.0);
}

TEST_CASE("accuracy counts the largest logit, ties to the smallest class") {
  on_devices([&](Device device) {
    const Tensor logits =
        Tensor::from(std::vector<float>{1, 2, 0, 3, 3, 1, -1, -2, -1, 0, 0, 0, -5, 1, 1}, {5, 3}, device);
    // Predictions: 1, 0, 0, 0, 1.
    CHECK(nn::accuracy(logits, ints({1, 0, 0, 0, 1}, device)) == 1.0);
    CHECK(nn::accuracy(logits, ints({1, 1, 2, 2, 2}, device)) == Approx(0.2));
    CHECK(nn::accuracy(logits, ints({1, 1, 2, 2, 1}, device), ints({4, 1, 0}, device)) == Approx(2.0 / 3.0));
  });
}

TEST_CASE("macro-F1 equals values computed by hand, with classes absent") {
  on_devices([&](Device device) {
    const std::vector<int32_t> predicted{0, 0, 1, 1, 1, 2};
    std::vector<float> one_hot(6 * 4);
    for (size_t i = 0; i < 6; ++i) one_hot[i * 4 + uz(predicted[i])] = 1.0f;
    const Tensor logits = Tensor::from(one_hot, {6, 4}, device), label = ints({0, 1, 1, 1, 0, 0}, device);
    // Class 0: tp 1, fp 1, fn 2: 2/5. Class 1: tp 2, fp 1, fn 1: 2/3. Class 2: predicted, never right: 0.
    // Class 3 is neither predicted nor present.
    CHECK(nn::macro_f1(logits, label) == Approx((2.0 / 5.0 + 2.0 / 3.0) / 3.0));
    // Nodes 0, 2, 3: classes 0 and 1 are all right.
    CHECK(nn::macro_f1(logits, label, ints({3, 0, 2}, device)) == Approx(1.0));
    // Only node 5: class 2 predicted, class 0 true.
    CHECK(nn::macro_f1(logits, label, ints({5}, device)) == 0.0);
  });
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
      const auto all = draw.distinct(n, n).to_vector<int32_t>();
      CHECK(nn::roc_auc(score, label) == Approx(pairs_in_order(s, y, all)).epsilon(1e-12));
      CHECK(nn::roc_auc(score, label, index) == Approx(pairs_in_order(s, y, some)).epsilon(1e-12));
    }
  }
}

TEST_CASE("metrics of several columns equal those of each, and values computed by hand") {
  on_devices(261, DType::f32, [&](Draw& draw, Device device) {
    const Tensor score = draw.normal({50, 3}), index = draw.distinct(20, 50);
    Tensor target = Tensor::zeros({50, 3}, DType::f32);
    const auto bits = draw.ints(50, 0, 2).to_vector<int32_t>();
    for (int64_t i = 0; i < 50; ++i) {
      target.mutable_data<float>()[3 * i] = static_cast<float>(bits[uz(i)]);
      target.mutable_data<float>()[3 * i + 2] = static_cast<float>(1 - bits[uz(i)]);
    }  // column 1 is of one class, and left out
    const auto column = [](const Tensor& matrix, int64_t t) {
      std::vector<float> all = matrix.to_vector<float>(), some;
      for (size_t i = uz(t); i < all.size(); i += 3) some.push_back(all[i]);
      return Tensor::from(some);
    };
    const Tensor host = index.to(Device{});
    const double mean = (nn::roc_auc(column(score, 0), column(target, 0).to(DType::i32), host) +
                         nn::roc_auc(column(score, 2), column(target, 2).to(DType::i32), host)) /
                        2.0;
    CHECK(nn::mean_roc_auc(score, target.to(device), index) == Approx(mean));

    const auto pairs = [&](std::vector<float> v) { return Tensor::from(v, {3, 2}, device); };
    const Tensor truth = pairs({1, 0, 1, 1, 0, 0});
    CHECK(nn::micro_f1(pairs({2, -1, -3, 1, 0.5, 0}), truth) == Approx(2.0 * 2.0 / (3.0 + 3.0)));
    CHECK(nn::micro_f1(pairs({2, -1, -3, 1, 0.5, 0}), truth, ints({0}, device)) == 1.0);
    CHECK(nn::mean_absolute_error(pairs({1, 1, 1, 1, 1, 1}), truth) == Approx(0.5));
    CHECK(nn::mean_absolute_error(pairs({3, 0, 1, 1, 1, 1}), truth, ints({0, 1}, device)) == Approx(0.5));

    const Tensor t = pairs({1, 5, 2, 5, 6, 5});  // column 1 is constant, and left out
    CHECK(nn::r2(t, t) == 1.0);
    CHECK(nn::r2(pairs({3, 0, 3, 0, 3, 0}), t) == Approx(0.0));
    CHECK(nn::r2(pairs({1, 0, 2, 0, 3, 0}), t) == Approx(1.0 - 9.0 / 14.0));
    CHECK(nn::r2(pairs({1, 0, 0, 0, 0, 0}), t, ints({0, 1}, device)) == Approx(1.0 - 4.0 / 0.5));
  });
}

TEST_CASE("metrics of several columns refuse inputs for which they are undefined") {
  const Tensor x = Tensor::zeros({3, 2}), ones = Tensor::full({3, 2}, 1.0);
  const Tensor none = Tensor::empty({0}, DType::i32);
  const Tensor missing = Tensor::full({3, 2}, std::numeric_limits<double>::quiet_NaN());
  const auto refuses = [&](auto metric, const Tensor& target, const Tensor& index, const char* part) {
    CHECK_ERROR_HAS(metric(x, target, index), part);
  };
  refuses(nn::mean_roc_auc, ones, {}, "only one class is present in each of 2 columns");
  refuses(nn::micro_f1, x, {}, "nothing is predicted");
  refuses(nn::r2, Tensor::full({3, 2}, 0.1), {}, "are the same in each of 2 columns");
  for (auto metric : {nn::mean_roc_auc, nn::micro_f1, nn::r2, nn::mean_absolute_error}) {
    refuses(metric, Tensor::zeros({3, 1}), {}, "[3, 1]");
    refuses(metric, ones, none, "no nodes selected");
    refuses(metric, ones, ints({3}, {}), "index 3");
    CHECK_THROWS_AS(metric(x, missing, {}), Error);
  }
}

TEST_CASE("metrics take int64 labels and indices, and errors have their names") {
  on_devices(12, DType::f32, [&](Draw& draw, Device) {
    const Tensor logits = draw.normal({20, 3}), score = draw.normal({20}), label = draw.ints(20, 0, 3),
                 yes = draw.ints(20, 0, 2), index = draw.distinct(11, 20);
    const auto wide = [](const Tensor& t) { return t.to(DType::i64); };
    CHECK(nn::accuracy(logits, wide(label), wide(index)) == nn::accuracy(logits, label, index));
    CHECK(nn::macro_f1(logits, wide(label), wide(index)) == nn::macro_f1(logits, label, index));
    CHECK(same_bits(nn::confusion_matrix(logits, wide(label), wide(index)),
                    nn::confusion_matrix(logits, label, index)));
    CHECK(nn::roc_auc(score, wide(yes), wide(index)) == nn::roc_auc(score, yes, index));
    CHECK(nn::r2(logits, draw.normal({20, 3}), wide(index)) <= 1.0);
  });
  const Tensor logits = Tensor::zeros({2, 3}),
               beyond = Tensor::from(std::vector<int64_t>{0, int64_t{1} << 32});
  const Tensor two = Tensor::zeros({2}, DType::i32), three = Tensor::zeros({3}, DType::i32);
  CHECK_ERROR(nn::accuracy(logits, beyond), "accuracy: label[1] is 4294967296, expected [0, 3)");
  CHECK_ERROR(nn::macro_f1(logits, beyond), "macro_f1: label[1] is 4294967296, expected [0, 3)");
  CHECK_ERROR(nn::accuracy(logits, two, beyond), "accuracy: index[1] is 4294967296, expected [0, 2)");
  CHECK(error_of([&] { nn::accuracy(Tensor::zeros({2}), beyond); }).starts_with("accuracy: "));
  CHECK(error_of([&] { nn::accuracy(logits, three); }).starts_with("accuracy: "));
}

TEST_CASE("a NaN target leaves its node out of its column") {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const auto two = [](const std::vector<float>& values) {
    return Tensor::from(values, {static_cast<int64_t>(values.size()) / 2, 2});
  };
  const Tensor score = two({0.1f, 0.9f, 0.4f, 0.2f, 0.35f, 0.5f, 0.8f, 0.6f, 0.7f, 0.1f});
  // Column 0 has 0, 0, 1, 1; column 1 has 1, 0, 1.
  const Tensor bits = two({0, 1, 0, 0, 1, kNone, 1, kNone, kNone, 1});
  CHECK(nn::mean_roc_auc(score, bits) == Approx((3.0 / 4.0 + 1.0 / 2.0) / 2.0));
  CHECK(nn::mean_roc_auc(score, two({0, kNone, 0, 1, 1, kNone, 1, kNone, kNone, 1})) == Approx(3.0 / 4.0));
  const Tensor logits = two({-1, 1, 1, 1, 1, -1, 1, 1, 1, -1});
  CHECK(nn::micro_f1(logits, bits) == Approx(2.0 * 3 / (5 + 4)));  // 3 of 5 predicted and 4 present
  const Tensor numbers = two({1, 5, 3, 7, kNone, 9, 2, kNone, kNone, kNone});
  const Tensor guess = two({2, 5, 3, 8, 100, 7, 2, 100, 100, 100});
  // Column 0: 1, 3, 2 by 2, 3, 2; column 1: 5, 7, 9 by 5, 8, 7.
  CHECK(nn::r2(guess, numbers) == Approx(((1 - 1.0 / 2) + (1 - 5.0 / 8)) / 2));
  CHECK(nn::mean_absolute_error(guess, numbers) == Approx((1 + 1 + 2) / 6.0));
}

TEST_CASE("metrics refuse inputs for which they are undefined") {
  const Tensor logits = Tensor::zeros({3, 2}), three = Tensor::zeros({3}), label = ints({0, 1, 1}, {});
  const Tensor none = Tensor::empty({0}, DType::i32);
  for (auto metric : {nn::accuracy, nn::macro_f1}) {
    CHECK_THROWS_AS(metric(logits, label, none), Error);
    CHECK_THROWS_AS(metric(three, label, {}), Error);
    CHECK_THROWS_AS(metric(Tensor::zeros({2, 2}), label, {}), Error);
  }
  CHECK_ERROR_HAS(nn::macro_f1(logits, ints({0, 1, 2}, {})), "label 2 of node 2");
  CHECK_ERROR_HAS(nn::macro_f1(logits, label, ints({3}, {})), "index 3");
  CHECK_ERROR_HAS(nn::roc_auc(three, label, ints({-1}, {})), "index -1");
  CHECK_ERROR_HAS(nn::roc_auc(three, ints({1, 1, 1}, {})), "only one class");
  CHECK_THROWS_AS(nn::roc_auc(Tensor::zeros({2}), label), Error);
  const Tensor nan = Tensor::from<float>({0.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f});
  CHECK_ERROR_HAS(nn::roc_auc(nan, label), "node 1");
}
