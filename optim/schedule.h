#pragma once

#include <cstdint>
#include <functional>

namespace adj::optim {

/// The factor on the learning rate at an epoch, counted from 0: `adam.set_rate_factor(schedule(epoch))`. A
/// function of the epoch alone, so a resumed run needs nothing but its epoch.
using Schedule = std::function<double(int64_t epoch)>;

Schedule constant();
/// gamma^(epoch / every), rounded down.
Schedule step_decay(int64_t every, double gamma = 0.1);
/// From 1 to `floor` along half a cosine over `epochs` (Loshchilov & Hutter 2017, eq. 5), `floor` afterwards.
Schedule cosine(int64_t epochs, double floor = 0.0);
/// Rises linearly to 1 over `epochs` (1 / epochs at epoch 0), then follows `then`, which counts from there.
Schedule warm_up(int64_t epochs, Schedule then = constant());

/// Multiplies the factor by `gamma` when a metric (higher is better) has not improved by more than
/// `threshold` for `patience` epochs, down to `floor`. Its state is what observe() was told: part of a
/// checkpoint.
class Plateau {
 public:
  explicit Plateau(int64_t patience = 10, double gamma = 0.5, double threshold = 1e-4, double floor = 1e-3);
  /// Returns the factor from here on.
  double observe(double metric);

  struct State {
    double best = -1e300;
    double factor = 1.0;
    int64_t waited = 0;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  int64_t patience_;
  double gamma_, threshold_, floor_;
  State state_;
};

}  // namespace adj::optim
