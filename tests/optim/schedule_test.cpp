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
  CHECK(steps(0) == 1.0);
  CHECK(steps(9) == 1.0);
  CHECK(steps(10) == 0.5);
  CHECK(steps(19) == 0.5);
  CHECK(steps(30) == 0.125);
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

TEST_CASE("warm-up rises to 1 and hands over") {
  const Schedule schedule = warm_up(4, step_decay(2, 0.5));
  const double expected[] = {0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.5, 0.5, 0.25};
  for (int64_t epoch = 0; epoch < 9; ++epoch) CHECK(schedule(epoch) == Approx(expected[epoch]));
  CHECK(warm_up(2)(100) == 1.0);
}

TEST_CASE("Plateau lowers the factor when nothing gets better") {
  Plateau plateau(3, 0.5, 0.01, 0.2);
  CHECK(plateau.observe(0.5) == 1.0);
  CHECK(plateau.observe(0.6) == 1.0);
  CHECK(plateau.observe(0.605) == 1.0);  // by less than the threshold
  CHECK(plateau.observe(0.6) == 1.0);
  CHECK(plateau.observe(0.1) == 0.5);
  CHECK(plateau.observe(0.7) == 0.5);
  for (double factor : {0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2})
    CHECK(plateau.observe(0.0) == factor);
}

TEST_CASE("Plateau goes on from its state, and counts what is not a number as no improvement") {
  Plateau whole(2), broken(2);
  whole.observe(0.5);
  whole.observe(0.4);
  broken.set_state(whole.state());
  CHECK(whole.observe(0.4) == 0.5);
  CHECK(broken.observe(0.4) == 0.5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Plateau diverged(2);
  diverged.observe(nan);
  CHECK(diverged.observe(nan) == 0.5);
  CHECK(diverged.state().best < 0.0);
}

TEST_CASE("schedules refuse arguments out of range") {
  CHECK_THROWS_AS(step_decay(0), adj::Error);
  CHECK_THROWS_AS(step_decay(1, 0.0), adj::Error);
  CHECK_THROWS_AS(cosine(0), adj::Error);
  CHECK_THROWS_AS(cosine(1, -0.1), adj::Error);
  CHECK_THROWS_AS(cosine(1, 1.1), adj::Error);
  CHECK_THROWS_AS(warm_up(0), adj::Error);
  CHECK_THROWS_AS(Plateau(0), adj::Error);
  CHECK_THROWS_AS(Plateau(1, 1.0), adj::Error);
}
