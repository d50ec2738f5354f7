#include <adjoint/core/error.h>
#include <adjoint/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace adj::optim {

Schedule constant() {
  return [](int64_t) { return 1.0; };
}

Schedule step_decay(int64_t every, double gamma) {
  ADJ_CHECK(every >= 1 && gamma > 0.0, "step_decay: expected a positive period and factor, got {} and {}",
            every, gamma);
  return [=](int64_t epoch) { return std::pow(gamma, static_cast<double>(epoch / every)); };
}

Schedule cosine(int64_t epochs, double floor) {
  ADJ_CHECK(epochs >= 1 && floor >= 0.0 && floor <= 1.0,
            "cosine: expected epochs >= 1 and a floor in [0, 1], got {}, {}", epochs, floor);
  return [=](int64_t epoch) {
    const double done = std::min(1.0, static_cast<double>(epoch) / static_cast<double>(epochs));
    return floor + (1.0 - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  };
}

Schedule warm_up(int64_t epochs, Schedule then) {
  ADJ_CHECK(epochs >= 1, "warm_up: expected 1 epoch or more, got {}", epochs);
  return [epochs, then = std::move(then)](int64_t epoch) {
    return epoch < epochs ? static_cast<double>(epoch + 1) / static_cast<double>(epochs)
                          : then(epoch - epochs);
  };
}

Plateau::Plateau(int64_t patience, double gamma, double threshold, double floor)
    : patience_(patience), gamma_(gamma), threshold_(threshold), floor_(floor) {
  ADJ_CHECK(patience >= 1 && gamma > 0.0 && gamma < 1.0,
            "Plateau: expected patience >= 1 and gamma in (0, 1), got {}, {}", patience, gamma);
}

double Plateau::observe(double metric) {
  if (metric > state_.best + threshold_) {
    state_.best = metric;
    state_.waited = 0;
  } else if (++state_.waited >= patience_) {
    state_.factor = std::max(floor_, state_.factor * gamma_);
    state_.waited = 0;
  }
  return state_.factor;
}

}  // namespace adj::optim
