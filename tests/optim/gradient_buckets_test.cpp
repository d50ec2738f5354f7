#include "../nn/module_state.h"
#include "../reference/plain.h"
#include <adjoint/nn/linear.h>
#include <adjoint/ops.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/gradient_buckets.h>
#include <adjoint/optim/optimizer.h>

using namespace adj;
using namespace adj::test;
using optim::GradientBuckets;

namespace {

std::vector<Var> leaves(std::initializer_list<Shape> shapes, Device device = {}) {
  std::vector<Var> all;
  for (const Shape& shape : shapes)
    all.push_back(Var::parameter(Tensor::full(shape, 1.0, DType::f32, device)));
  return all;
}

}  // namespace

TEST_CASE("buckets are filled from the last parameter to the first") {
  std::vector<Var> p = leaves({{10}, {3, 5}, {1000}, {7}, {}, {2}});
  p.push_back(Var::parameter(Tensor::zeros({2}, DType::f64)));
  const GradientBuckets buckets(p, 40);
  REQUIRE(buckets.size() == 5);  // f64 | [2] [] [7] | [1000] | [3,5] | [10]
  CHECK(buckets[0].dtype() == DType::f64);
  CHECK(buckets[1].numel() == 3 * 64);
  CHECK(buckets[2].numel() == 1024);
  for (const Var& v : p) sum(v).backward();
  CHECK(p[3].grad().shares_storage_with(buckets[1]));
  CHECK(p[5].grad().raw_data() == buckets[1].raw_data());
  CHECK(p[2].grad().raw_data() == buckets[2].raw_data());
  CHECK(p[0].grad().raw_data() == buckets[4].raw_data());
  CHECK(values(buckets[4])[9] == 1.0);
  CHECK(values(buckets[4])[10] == 0.0);
}

TEST_CASE("a bucket is reported when its last gradient is complete, in the order of the backward pass") {
  on_devices([&](Device device) {
    manual_seed(5);
    nn::Model<nn::MLP> model(std::vector<int64_t>{6, 5, 4, 3}), plain(std::vector<int64_t>{6, 5, 4, 3});
    plain.load_state(copied(model));
    model.to(device);
    plain.to(device);
    const Tensor x = random_tensor({8, 6}, DType::f32, device);
    std::vector<size_t> told;
    GradientBuckets buckets(model.parameters(), 1, [&](size_t b, Tensor& flat) {
      told.push_back(b);
      flat.copy_(scale(flat, 0.5).value());  // what an all-reduce would do
    });
    REQUIRE(buckets.size() == 6);
    optim::Adam adam(model.parameters()), other(plain.parameters());
    for (int step = 0; step < 3; ++step) {
      told.clear();
      sum(model(x)).backward();
      buckets.finish();
      CHECK(told.size() == 6);
      CHECK(std::max(told[0], told[1]) == 1);  // the last layer's weight and bias
      CHECK(std::min(told[4], told[5]) == 4);
      scale(sum(plain(x)), 0.5).backward();
      adam.step();
      other.step();
      for (size_t i = 0; i < 6; ++i) {
        CHECK(close(model.parameters()[i].value(), values(plain.parameters()[i].value()), 1e-5));
        CHECK_FALSE(model.parameters()[i].grad());
      }
    }
  });
}

TEST_CASE("gradients accumulate in their buckets over several passes") {
  for (Device device : devices()) {
    const std::vector<Var> p = leaves({{3}, {2, 2}}, device);
    int calls = 0;
    GradientBuckets buckets(p, 1000, [&](size_t, Tensor&) { ++calls; });
    for (int pass = 1; pass <= 3; ++pass) {
      (sum(p[0]) + sum(p[1] * p[1])).backward();
      CHECK(close(p[0].grad(), std::vector<double>(3, pass), 0.0));
      CHECK(close(p[1].grad(), std::vector<double>(4, 2.0 * pass), 0.0));
      CHECK(calls == pass);
    }
    CHECK(values(buckets[0])[0] == 6.0);
    CHECK(values(buckets[0])[64] == 3.0);
    const Tensor norm = optim::clip_grad_norm(p, 1.0);
    CHECK(norm.item() == doctest::Approx(std::sqrt(3 * 9.0 + 4 * 36.0)));
    CHECK(values(buckets[0])[0] == doctest::Approx(6.0 / norm.item()));
  }
}

TEST_CASE("finish() gives a parameter without a gradient zeros; without it the next pass throws") {
  for (Device device : devices()) {
    std::vector<Var> p = leaves({{3}, {2}, {2}}, device);
    std::vector<size_t> told;
    GradientBuckets buckets({p[0], p[1]}, 1000, [&](size_t b, Tensor&) { told.push_back(b); });
    GradientBuckets second({p[2]}, 1000, [&](size_t, Tensor&) { told.push_back(7); });
    (sum(p[0]) + sum(p[1])).backward();
    buckets.finish();
    CHECK(told == std::vector<size_t>{0});
    second.finish();
    CHECK(told == std::vector<size_t>{0, 7});
    for (Var& v : p) v.zero_grad();

    sum(p[0]).backward();
    CHECK(told.size() == 2);
    buckets.finish();
    CHECK(told.size() == 3);
    CHECK(close(p[0].grad(), std::vector<double>(3, 1.0), 0.0));
    CHECK(close(p[1].grad(), std::vector<double>(2, 0.0), 0.0));
    CHECK(values(buckets[0])[0] == 0.0);
    sum(p[1]).backward();  // p[0] keeps its gradient
    buckets.finish();
    CHECK(close(p[0].grad(), std::vector<double>(3, 1.0), 0.0));
    CHECK(close(p[1].grad(), std::vector<double>(2, 1.0), 0.0));

    sum(p[0]).backward();
    CHECK(mentions(error_of([&] { sum(p[0]).backward(); }), "finish()"));
  }
}

TEST_CASE("a captured step fills buckets and acts on them to the same bits") {
  on_devices([&](Device device) {
    const Tensor x = random_tensor({16, 6}, DType::f32, device);
    const auto run = [&](bool capture, bool in_buckets) {
      manual_seed(9);
      nn::Model<nn::MLP> model(std::vector<int64_t>{6, 5, 3}, {.dropout = 0.3f});
      model.to(device);
      optim::Adam adam(model.parameters());
      std::unique_ptr<GradientBuckets> buckets;
      const auto act = [](size_t, Tensor& flat) { flat.copy_(scale(flat, 1.0).value()); };
      if (in_buckets) buckets = std::make_unique<GradientBuckets>(model.parameters(), 100, act);
      optim::CapturedStep step(
          [&] {
            const Var loss = sum(model(x));
            loss.backward();
            if (buckets) buckets->finish();
            adam.step();
            return loss;
          },
          {.capture = capture});
      for (int i = 0; i < 6; ++i) step();
      return copied(model);
    };
    const auto expected = run(false, false);
    CHECK(equal(run(false, true), expected));
    CHECK(equal(run(true, true), expected));
  });
}

TEST_CASE("gradients may outlive their buckets, and a parameter is in one bucket at a time") {
  std::vector<Var> p = leaves({{3}, {2}});
  {
    const GradientBuckets buckets(p);
    sum(p[0]).backward();
    CHECK(p[0].grad().shares_storage_with(buckets[0]));
    CHECK(mentions(error_of([&] { GradientBuckets again({p[1]}); }), "already"));
  }
  CHECK(close(p[0].grad(), std::vector<double>(3, 1.0), 0.0));
  sum(p[0]).backward();
  CHECK(close(p[0].grad(), std::vector<double>(3, 2.0), 0.0));
  CHECK(mentions(error_of([&] { GradientBuckets twice({p[0], p[1], p[0]}); }), "already"));
  const GradientBuckets good(p);  // after the failed one
  CHECK_THROWS_AS(GradientBuckets(std::vector<Var>{}), Error);
  CHECK_THROWS_AS(GradientBuckets({Var(Tensor::zeros({2}))}), Error);
}
