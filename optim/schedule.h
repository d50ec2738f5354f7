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
/// Rises linearly from `start` at epoch 0 to 1 at epoch `epochs`, where `then` takes over, which counts from
/// there: PyTorch's LinearLR, followed by `then` in a SequentialLR.
Schedule warm_up(int64_t epochs, Schedule then = constant(), double start = 1.0 / 3.0);

/// Which metric is better: a loss that is lower, or an accuracy that is higher.
enum class Better : uint8_t { lower, higher };

struct PlateauOptions {
  Better better = Better::lower;
  double factor = 0.1;  ///< what the rate is multiplied by, in (0, 1)
  int64_t patience =
      10;  ///< this many epochs without a better metric are borne, the next one lowers the rate
  double threshold = 1e-4;  ///< an improvement by less does not count
  bool relative = true;     ///< the threshold is a share of the best metric, or is what it is
  int64_t cooldown = 0;     ///< epochs after a reduction in which nothing is counted
  double floor = 0.0;       ///< the least factor on the rate, in [0, 1]
};

/// Lowers the factor on the learning rate when a metric stops getting better, as PyTorch's ReduceLROnPlateau
/// does with the same options: `adam.set_rate_factor(plateau.observe(loss))`. Different in two things: a
/// metric that is not finite is never better (there, a loss of -inf stays the best for ever), and a relative
/// threshold is a share of the best metric's size, so that it asks for an improvement of negative metrics
/// too. Its state is what observe() was told: part of a checkpoint.
class Plateau {
 public:
  explicit Plateau(PlateauOptions options = {});
  /// Called after each epoch; returns the factor from here on.
  double observe(double metric);

  struct State {
    bool any = false;   ///< has there been a finite metric?
    double best = 0.0;  ///< the best one
    double factor = 1.0;
    int64_t bad = 0;       ///< epochs without a better one, in a row
    int64_t cooldown = 0;  ///< epochs left to cool down
    bool operator==(const State&) const = default;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  PlateauOptions options_;
  State state_;
};

}  // namespace adj::optim
