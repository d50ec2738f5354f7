#pragma once

#include <cstdint>
#include <functional>

namespace adj::optim {

/// Factor on the learning rate at an epoch, counted from 0: `adam.set_rate_factor(schedule(epoch))`. A pure
/// function of the epoch, so a resumed run needs no other state.
using Schedule = std::function<double(int64_t epoch)>;

Schedule constant();  ///< 1 at every epoch
/// gamma^floor(epoch / every).
Schedule step_decay(int64_t every, double gamma = 0.1);
/// From 1 at epoch 0 to 0 at epoch `epochs` along a line, then 0.
Schedule linear_decay(int64_t epochs);
/// From 1 to `floor` along half a cosine over `epochs` (Loshchilov & Hutter 2017, eq. 5), then `floor`.
Schedule cosine(int64_t epochs, double floor = 0.0);
/// Linear from `start` at epoch 0 to 1 at epoch `epochs`, then `then`, whose epochs count from there:
/// PyTorch's LinearLR followed by `then` in a SequentialLR.
Schedule warm_up(int64_t epochs, Schedule then = constant(), double start = 1.0 / 3.0);

/// Direction of the metric: lower for a loss, higher for an accuracy.
enum class Better : uint8_t { lower, higher };

/// Options of Plateau; `better` is the direction of its metric.
struct PlateauOptions {
  Better better = Better::lower;
  double factor = 0.1;  ///< multiplies the rate, in (0, 1)
  int64_t patience =
      10;  ///< number of epochs without a better metric that are tolerated; the next one lowers the rate
  double threshold = 1e-4;  ///< smaller improvements do not count
  bool relative = true;     ///< the threshold is relative to the best metric, else absolute
  int64_t cooldown = 0;     ///< epochs after a reduction that are not counted
  double floor = 0.0;       ///< minimum factor, in [0, 1]
};

/// Lowers the learning rate when a metric stops improving, like PyTorch's ReduceLROnPlateau with the same
/// options: `adam.set_rate_factor(plateau.observe(loss))`. Two differences: a non-finite metric is never
/// better (in PyTorch a loss of -inf stays the best for ever), and a relative threshold refers to the best
/// metric's absolute value, so negative metrics must improve too. Its state depends only on the observed
/// metrics and is part of a checkpoint.
class Plateau {
 public:
  explicit Plateau(PlateauOptions options = {});
  /// Call after each epoch; returns the new factor.
  double observe(double metric);

  /// For a checkpoint; `factor` is the current one.
  struct State {
    bool any = false;   ///< there was a finite metric
    double best = 0.0;  ///< the best one
    double factor = 1.0;
    int64_t bad = 0;       ///< consecutive epochs without a better one
    int64_t cooldown = 0;  ///< cooldown epochs left
    bool operator==(const State&) const = default;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }  ///< continues from it; checks nothing

 private:
  PlateauOptions options_;
  State state_;
};

}  // namespace adj::optim
