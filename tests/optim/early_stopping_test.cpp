#include "../nn/module_state.h"
#include "../reference/plain.h"
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/optim/early_stopping.h>

#include <limits>

using namespace adj;
using namespace adj::test;
using optim::EarlyStopping;

namespace {

struct Layers : nn::Module {
  nn::Child<nn::Linear> linear{this, "linear", 4, 3};
  nn::Child<nn::BatchNorm> norm{this, "norm", 3};
  void set(double value) {
    for (auto& [name, tensor] : state()) Tensor(tensor).fill_(value);
  }
};
using Model = nn::Model<Layers>;

bool all_equal(const nn::Module& module, double value) {
  for (const auto& [name, tensor] : module.state())
    for (double v : values(tensor))
      if (v != value) return false;
  return true;
}

}  // namespace

TEST_CASE("early stopping stops after `patience` epochs without a better metric") {
  Model model;
  EarlyStopping stopping(model, 3);
  const double metrics[] = {0.1, 0.3, 0.3, 0.2, 0.4, 0.4, 0.3, 0.4};
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    CAPTURE(epoch);
    CHECK(stopping.observe(epoch, metrics[epoch]) == (epoch == 7));
  }
  CHECK(stopping.best_epoch() == 4);
  CHECK(stopping.best_metric() == 0.4);
  EarlyStopping patient(model);
  patient.observe(0, 1.0);
  for (int64_t epoch = 1; epoch < 100; ++epoch) CHECK_FALSE(patient.observe(epoch, 0.0));
  CHECK_THROWS_AS(EarlyStopping(model, -1), Error);
}

TEST_CASE("with a loss, early stopping waits while either improves, and keeps the epoch best in both") {
  Model model;
  EarlyStopping stopping(model, 3);
  struct Epoch {
    double metric, loss;
    int64_t best;
    bool stops;
  };
  const Epoch epochs[] = {
      {0.0, 2.0, 0, false},                        // the first, whatever its value
      {0.5, 1.0, 1, false},                        // both
      {0.6, 1.1, 1, false},                        // only the metric
      {0.4, 0.9, 1, false},                        // only the loss
      {0.5, 0.9, 1, false},                        // a loss as low as before
      {0.6, 0.9, 5, false},                        // as good in both
      {0.5, 1.0, 5, false}, {0.6, 1.0, 5, false},  // a metric as high as before
      {0.5, 1.0, 5, false}, {0.5, 1.0, 5, false}, {0.5, 1.0, 5, true},
  };
  for (int64_t epoch = 0; epoch < std::ssize(epochs); ++epoch) {
    CAPTURE(epoch);
    const Epoch& e = epochs[epoch];
    model.set(static_cast<double>(epoch));
    CHECK(stopping.observe(epoch, e.metric, e.loss) == e.stops);
    CHECK(stopping.best_epoch() == e.best);
    CHECK(stopping.best_metric() == epochs[e.best].metric);
  }
  stopping.restore();
  CHECK(all_equal(model, 5.0));
  EarlyStopping patient(model);
  for (int64_t epoch = 0; epoch < 100; ++epoch) CHECK_FALSE(patient.observe(epoch, 0.0, 1.0 + epoch));
  EarlyStopping falling(model, 1);
  CHECK_FALSE(falling.observe(0, 0.5, 1.0));
  CHECK(falling.observe(1, 0.4, 1.1));
  CHECK(falling.best_epoch() == 0);
}

TEST_CASE("early stopping continues from a checkpoint, by the metric alone and with a loss") {
  const std::pair<double, double> epochs[] = {{0.5, 1.0}, {0.6, 1.1}, {0.5, 0.9}, {0.4, 1.2},
                                              {0.5, 0.9}, {0.4, 1.0}, {0.3, 1.0}, {0.6, 0.9}};
  for (bool with_loss : {false, true})
    for (int64_t cut = 1; cut < std::ssize(epochs); ++cut) {
      CAPTURES(with_loss, cut);
      Model model;
      EarlyStopping whole(model, 3), first(model, 3), second(model, 3);
      for (int64_t epoch = 0; epoch < std::ssize(epochs); ++epoch) {
        const auto [metric, loss] = epochs[epoch];
        const auto observe = [&, m = metric, l = loss](EarlyStopping& stopping) {
          return with_loss ? stopping.observe(epoch, m, l) : stopping.observe(epoch, m);
        };
        model.set(static_cast<double>(epoch));
        const bool stops = observe(whole);
        if (epoch == cut) {
          std::map<std::string, Tensor> saved;
          for (const auto& [name, tensor] : first.best_state()) saved[name] = tensor.clone();
          second.load(first.best_epoch(), first.best_metric(), saved, first.marks());
        }
        CHECK(observe(epoch < cut ? first : second) == stops);
      }
      CHECK(second.best_epoch() == whole.best_epoch());
      CHECK(second.best_metric() == whole.best_metric());
      second.restore();
      CHECK(all_equal(model, static_cast<double>(whole.best_epoch())));
    }
}

TEST_CASE("restore copies the best weights and statistics back to the bit, in place") {
  on_devices([&](Device device) {
    Model model;
    model.to(device);
    EarlyStopping stopping(model);
    std::map<std::string, Tensor> best;
    Draw draw(330, device, DType::f32);
    for (int64_t epoch = 0; epoch < 6; ++epoch) {
      for (auto& [name, tensor] : model.state()) Tensor(tensor).copy_(draw.normal(tensor.shape()));
      if (epoch == 3) best = copied(model);
      stopping.observe(epoch, epoch == 3 ? 1.0 : 0.1 * static_cast<double>(epoch));
    }
    const Tensor before = model.linear.weight.value();
    stopping.restore();
    CHECK(before.shares_storage_with(model.linear.weight.value()));
    CHECK(equal(copied(model), best));
    CHECK(equal(stopping.best_state(), best));
  });
}

TEST_CASE("there is nothing to restore before the first epoch") {
  Model model;
  EarlyStopping stopping(model);
  CHECK(stopping.best_state().empty());
  CHECK_THROWS_WITH_AS(stopping.restore(), doctest::Contains("nothing to restore"), Error);
}

TEST_CASE("a first epoch with a non-finite metric does not stay the best") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Model model;
  EarlyStopping stopping(model, 2);
  model.set(1.0);
  CHECK_FALSE(stopping.observe(0, nan));
  CHECK_FALSE(stopping.observe(1, nan));
  model.set(2.0);
  CHECK_FALSE(stopping.observe(2, 0.1));
  CHECK_FALSE(stopping.observe(3, nan));
  CHECK(stopping.observe(4, nan));
  model.set(3.0);
  stopping.restore();
  CHECK(all_equal(model, 2.0));
  for (const auto& [metric, loss] : {std::pair(nan, 1.0), {0.1, nan}, {nan, nan}}) {
    EarlyStopping both(model, 2);
    CHECK_FALSE(both.observe(0, metric, loss));
    CHECK_FALSE(both.observe(1, 0.1, 2.0));
    CHECK_FALSE(both.observe(2, nan, nan));
    CHECK(both.observe(3, nan, nan));
    CHECK(both.marks().epoch == 1);
  }
  EarlyStopping hopeless(model, 2);
  CHECK_FALSE(hopeless.observe(0, nan));
  CHECK_FALSE(hopeless.observe(1, nan));
  CHECK(hopeless.observe(2, nan));
}
