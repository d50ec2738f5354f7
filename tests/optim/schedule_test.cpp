#include <adjoint/core/error.h>
#include <adjoint/optim/schedule.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <doctest/doctest.h>

using namespace adj::optim;
using doctest::Approx;

TEST_CASE("constant and step schedules") {
  CHECK(constant()(0) == 1.0);
  CHECK(constant()(1000) == 1.0);
  const Schedule steps = step_decay(10, 0.5);
  for (const auto& [epoch, factor] : {std::pair(0, 1.0), {9, 1.0}, {10, 0.5}, {19, 0.5}, {30, 0.125}})
    CHECK(steps(epoch) == factor);
  CHECK(step_decay(1)(3) == Approx(1e-3));
}

TEST_CASE("cosine schedule") {
  const Schedule schedule = cosine(100, 0.2);
  CHECK(schedule(0) == 1.0);
  CHECK(schedule(25) == Approx(0.2 + 0.8 * 0.5 * (1.0 + std::cos(std::numbers::pi / 4.0))));
  CHECK(schedule(50) == Approx(0.6));
  CHECK(schedule(100) == Approx(0.2));
  CHECK(schedule(250) == Approx(0.2));
  CHECK(cosine(10)(10) == Approx(0.0));
  for (int64_t epoch = 0; epoch < 100; ++epoch) CHECK(schedule(epoch) > schedule(epoch + 1));
}

TEST_CASE("linear decay") {
  const Schedule schedule = linear_decay(4);
  for (const auto& [epoch, factor] : {std::pair(0, 1.0), {1, 0.75}, {3, 0.25}, {4, 0.0}, {9, 0.0}})
    CHECK(schedule(epoch) == factor);
  CHECK_THROWS_AS(linear_decay(0), adj::Error);
}

TEST_CASE("warm-up rises to 1, then the other schedule follows") {
  // PyTorch: SequentialLR([LinearLR(start_factor=0.2, total_iters=4), StepLR(2, 0.5)], milestones=[4])
  const Schedule schedule = warm_up(4, step_decay(2, 0.5), 0.2);
  const double expected[] = {0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 0.5, 0.5, 0.25};
  for (int64_t epoch = 0; epoch < 9; ++epoch) CHECK(schedule(epoch) == Approx(expected[epoch]));
  CHECK(warm_up(2)(0) == Approx(1.0 / 3.0));
  CHECK(warm_up(2)(1) == Approx(2.0 / 3.0));
  CHECK(warm_up(2)(100) == 1.0);
}

namespace {

// torch.optim.lr_scheduler.ReduceLROnPlateau's step(), for an optimizer whose rate is 1.
struct TorchPlateau {
  PlateauOptions o;
  double best, lr = 1.0;
  int64_t num_bad_epochs = 0, cooldown_counter = 0;

  explicit TorchPlateau(PlateauOptions options) : o(options) {
    const double worst = std::numeric_limits<double>::infinity();
    best = o.better == Better::lower ? worst : -worst;
  }
  bool is_better(double a) const {
    if (o.better == Better::lower)
      return o.relative ? a < best * (1.0 - o.threshold) : a < best - o.threshold;
    return o.relative ? a > best * (o.threshold + 1.0) : a > best + o.threshold;
  }
  double step(double current) {
    num_bad_epochs = is_better(current) ? 0 : num_bad_epochs + 1;
    if (is_better(current)) best = current;
    if (cooldown_counter > 0) {
      cooldown_counter -= 1;
      num_bad_epochs = 0;
    }
    if (num_bad_epochs > o.patience) {
      lr = std::max(lr * o.factor, o.floor);
      cooldown_counter = o.cooldown;
      num_bad_epochs = 0;
    }
    return lr;
  }
};

}  // namespace

TEST_CASE("Plateau follows PyTorch's, whatever the options") {
  for (const Better better : {Better::lower, Better::higher})
    for (const bool relative : {false, true})
      for (const int64_t patience : {0, 1, 3})
        for (const int64_t cooldown : {0, 2})
          for (const double threshold : {0.0, 1e-4, 0.05}) {
            const PlateauOptions options{better, 0.5, patience, threshold, relative, cooldown, 0.01};
            Plateau plateau(options);
            TorchPlateau torch(options);
            uint64_t state = 12345;
            for (int epoch = 0; epoch < 60; ++epoch) {
              state = state * 6364136223846793005u + 1442695040888963407u;
              const double noise = static_cast<double>(state >> 40) * 0x1p-24;
              const double trend = std::exp(-epoch / 10.0) * (better == Better::lower ? 1.0 : -1.0);
              const double metric = 2.0 + trend + 0.1 * noise;
              CHECK(plateau.observe(metric) == torch.step(metric));
            }
            CHECK(plateau.state().factor < 1.0);
          }
}

TEST_CASE("Plateau lowers after more than `patience` bad epochs, down to its floor") {
  Plateau plateau({.better = Better::higher, .factor = 0.5, .patience = 2, .threshold = 0.01, .floor = 0.2});
  for (double metric : {0.5, 0.6, 0.605, 0.6}) CHECK(plateau.observe(metric) == 1.0);
  CHECK(plateau.observe(0.1) == 0.5);
  CHECK(plateau.observe(0.7) == 0.5);
  for (double factor : {0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2})
    CHECK(plateau.observe(0.0) == factor);
}

TEST_CASE("a gain of exactly Plateau's threshold is no improvement") {
  for (const double threshold : {0.0, 0.25}) {
    Plateau plateau({.factor = 0.5, .patience = 0, .threshold = threshold, .relative = false});
    CHECK(plateau.observe(1.0) == 1.0);
    CHECK(plateau.observe(1.0 - threshold) == 0.5);
    CHECK(plateau.state().best == 1.0);
  }
}

TEST_CASE("Plateau continues from its state") {
  const PlateauOptions options{.factor = 0.5, .patience = 1, .cooldown = 2};
  Plateau whole(options), broken(options);
  for (double metric : {0.5, 0.6, 0.6, 0.6}) whole.observe(metric);
  broken.set_state(whole.state());
  for (double metric : {0.6, 0.6, 0.4, 0.5, 0.5, 0.5}) CHECK(broken.observe(metric) == whole.observe(metric));
  CHECK(broken.state() == whole.state());
  CHECK(whole.state().factor == 0.25);
}

TEST_CASE("Plateau counts NaN and infinity as no improvement, and a negative metric unlike PyTorch") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const Better better : {Better::lower, Better::higher})
    for (double diverged : {nan, inf, -inf}) {
      Plateau plateau({.better = better, .factor = 0.5, .patience = 1});
      CHECK(plateau.observe(diverged) == 1.0);
      CHECK(plateau.observe(diverged) == 0.5);
      CHECK_FALSE(plateau.state().any);
      CHECK(plateau.observe(3.0) == 0.5);
      CHECK(plateau.observe(diverged) == 0.5);
      CHECK(plateau.state().best == 3.0);
      CHECK(plateau.observe(diverged) == 0.25);
    }
  Plateau likelihood({.better = Better::higher, .factor = 0.5, .patience = 0, .threshold = 0.1});
  CHECK(likelihood.observe(-10.0) == 1.0);
  CHECK(likelihood.observe(-10.5) == 0.5);  // worse
  CHECK(likelihood.observe(-9.5) == 0.25);  // better by less than a tenth
  CHECK(likelihood.observe(-8.0) == 0.25);
}

TEST_CASE("schedules refuse arguments out of range") {
  CHECK_THROWS_AS(step_decay(0), adj::Error);
  CHECK_THROWS_AS(step_decay(1, 0.0), adj::Error);
  CHECK_THROWS_AS(cosine(0), adj::Error);
  CHECK_THROWS_AS(cosine(1, -0.1), adj::Error);
  CHECK_THROWS_AS(cosine(1, 1.1), adj::Error);
  CHECK_THROWS_AS(warm_up(0), adj::Error);
  CHECK_THROWS_AS(warm_up(1, constant(), 0.0), adj::Error);
  for (const PlateauOptions& bad : {PlateauOptions{.factor = 1.0},
                                    {.patience = -1},
                                    {.threshold = -0.1},
                                    {.cooldown = -1},
                                    {.floor = 1.5}})
    CHECK_THROWS_AS(Plateau{bad}, adj::Error);
}
