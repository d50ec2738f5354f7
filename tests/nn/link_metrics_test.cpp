#include "../support.h"
#include <adjoint/nn/metrics/link_metrics.h>
#include <adjoint/nn/metrics/metrics.h>

#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

/// Few different values, so that many tie.
Tensor rough(int64_t n, Device device = {}) { return random_ints(n, 0, 12, device).to(DType::f32); }

Tensor list(const std::vector<float>& values) { return Tensor::from(values); }

}  // namespace

TEST_CASE("link_auc equals roc_auc of labels, with ties") {
  for (Device device : devices()) {
    const Tensor positive = rough(37, device), negative = rough(90, device);
    auto all = positive.to_vector<float>();
    std::vector<int32_t> label(37, 1);
    for (float score : negative.to_vector<float>()) all.push_back(score), label.push_back(0);
    CHECK(nn::link_auc(positive, negative) ==
          doctest::Approx(nn::roc_auc(Tensor::from(all), Tensor::from(label))));
  }
  CHECK(nn::link_auc(list({2, 3}), list({1, 0})) == 1.0);
  CHECK(nn::link_auc(list({1}), list({1})) == 0.5);
}

TEST_CASE("hits are positives above the k-th best negative") {
  const Tensor positive = list({5, 3, 1}), negative = list({4, 3, 2, 0});
  CHECK(nn::hits_at(1, positive, negative) == doctest::Approx(1.0 / 3));
  CHECK(nn::hits_at(2, positive, negative) == doctest::Approx(1.0 / 3));  // 3 does not score above 3
  CHECK(nn::hits_at(3, positive, negative) == doctest::Approx(2.0 / 3));
  CHECK(nn::hits_at(4, positive, negative) == 1.0);
  CHECK(nn::hits_at(5, positive, negative) == 1.0);
}

TEST_CASE("a rank counts better scores, and half of equal ones") {
  for (Device device : devices()) {
    const int64_t pairs = 57, each = 300;
    const Tensor positive = rough(pairs, device),
                 negative = rough(pairs * each, device).reshape({pairs, each});
    const auto ranks = nn::link_ranks(positive, negative).to_vector<double>();
    const auto scores = positive.to_vector<float>(), others = negative.to_vector<float>();
    double reciprocal = 0.0, hits = 0.0;
    for (int64_t i = 0; i < pairs; ++i) {
      double below = 1.0, above = 1.0;  // ranks without and with ties
      for (int64_t q = 0; q < each; ++q) {
        const float other = others[uz(i * each + q)];
        below += other > scores[uz(i)] ? 1.0 : 0.0;
        above += other >= scores[uz(i)] ? 1.0 : 0.0;
      }
      const double rank = (below + above) / 2.0;
      CHECK(ranks[uz(i)] == rank);
      reciprocal += 1.0 / rank;
      hits += rank <= 50.0 ? 1.0 : 0.0;
    }
    const Tensor input = Tensor::from(ranks);
    CHECK(nn::mean_reciprocal_rank(input) == doctest::Approx(reciprocal / static_cast<double>(pairs)));
    CHECK(nn::hits_at(50, input) == doctest::Approx(hits / static_cast<double>(pairs)));
  }
}

TEST_CASE("ranks among common negatives equal ranks among copies of them") {
  for (Device device : devices()) {
    const int64_t pairs = 41, count = 77;
    const Tensor positive = rough(pairs, device), negative = rough(count, device);
    std::vector<float> copies;
    for (int64_t i = 0; i < pairs; ++i)
      for (const float score : negative.to_vector<float>()) copies.push_back(score);
    CHECK(same_bits(nn::link_ranks(positive, negative),
                    nn::link_ranks(positive, Tensor::from(copies, {pairs, count}))));
  }
}

TEST_CASE("link metrics refuse NaN, empty lists and mismatched shapes") {
  const Tensor some = list({1, 2}), none = Tensor::empty({0}),
               odd = list({0, std::numeric_limits<float>::quiet_NaN()});
  CHECK_ERROR(nn::link_auc(some, odd), "link_auc: negative score 1 is not a number");
  CHECK_THROWS_AS(nn::link_auc(none, some), Error);
  CHECK_THROWS_AS(nn::link_auc(some, {}), Error);
  CHECK_THROWS_AS(nn::hits_at(0, some, some), Error);
  CHECK_THROWS_AS(nn::hits_at(1, some, none), Error);
  CHECK_THROWS_AS(nn::link_ranks(some, Tensor::zeros({3, 4})), Error);
  CHECK_THROWS_AS(nn::link_ranks(some, odd), Error);
  CHECK_THROWS_AS(nn::link_ranks(some, none), Error);
  CHECK_THROWS_AS(nn::link_ranks(some, Tensor::zeros({2, 2, 2})), Error);
  CHECK_THROWS_AS(nn::mean_reciprocal_rank(none), Error);
}
