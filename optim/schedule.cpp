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

Schedule linear_decay(int64_t epochs) {
  ADJ_CHECK(epochs >= 1, "linear_decay: expected epochs >= 1, got {}", epochs);
  return [=](int64_t epoch) {
    return std::max(0.0, 1.0 - static_cast<double>(epoch) / static_cast<double>(epochs));
  };
}

Schedule cosine(int64_t epochs, double floor) {
  ADJ_CHECK(epochs >= 1 && floor >= 0.0 && floor <= 1.0,
            "cosine: expected epochs >= 1 and a floor in [0, 1], got {}, {}", epochs, floor);
  return [=](int64_t epoch) {
    const double done = std::min(1.0, static_cast<double>(epoch) / static_cast<double>(epochs));
    return floor + (1.0 - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  };
}

Schedule warm_up(int64_t epochs, Schedule then, double start) {
  ADJ_CHECK(epochs >= 1 && start > 0.0 && start <= 1.0,
            "warm_up: expected 1 epoch or more and a start in (0, 1], got {}, {}", epochs, start);
  return [=, then = std::move(then)](int64_t epoch) {
    if (epoch >= epochs) return then(epoch - epochs);
    return start + (1.0 - start) * static_cast<double>(epoch) / static_cast<double>(epochs);
  };
}

Plateau::Plateau(PlateauOptions options) : options_(options) {
  const auto& [better, factor, patience, threshold, relative, cooldown, floor] = options;
  ADJ_CHECK(factor > 0.0 && factor < 1.0, "Plateau: expected a factor in (0, 1), got {}", factor);
  ADJ_CHECK(patience >= 0 && cooldown >= 0,
            "Plateau: expected a patience and a cooldown of 0 or more, got {}, {}", patience, cooldown);
  ADJ_CHECK(threshold >= 0.0, "Plateau: expected a threshold of 0 or more, got {}", threshold);
  ADJ_CHECK(floor >= 0.0 && floor <= 1.0, "Plateau: expected a floor in [0, 1], got {}", floor);
}

double Plateau::observe(double metric) {
  State& s = state_;
  const double margin = options_.threshold * (options_.relative ? std::abs(s.best) : 1.0);
  const double gain = options_.better == Better::higher ? metric - s.best : s.best - metric;
  if (std::isfinite(metric) && (!s.any || gain > margin)) {
    s.any = true;
    s.best = metric;
    s.bad = 0;
  } else {
    ++s.bad;
  }
  if (s.cooldown > 0) {
    --s.cooldown;
    s.bad = 0;
  }
  if (s.bad > options_.patience) {
    s.factor = std::max(options_.floor, s.factor * options_.factor);
    s.cooldown = options_.cooldown;
    s.bad = 0;
  }
  return s.factor;
}

}  // namespace adj::optim
