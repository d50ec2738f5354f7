#include "../support.h"
#include <adjoint/ops.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/non_finite.h>

#include <cmath>
#include <limits>

using namespace adj;
using namespace adj::test;

TEST_CASE("a monitor reports a non-finite number, even if later ones are finite") {
  const double inf = std::numeric_limits<double>::infinity();
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64})
      for (double bad : {inf, -inf, std::nan("")}) {
        CAPTURES(device.str(), name_of(dtype), bad);
        optim::NonFiniteMonitor watch(device, dtype);
        CHECK(watch.all_finite());
        const auto add = [&](double number) { watch.add(Tensor::full({}, number, dtype, device)); };
        for (int k = 0; k < 20; ++k) add(3e38);  // their sum overflows in float32
        CHECK(watch.all_finite());
        add(1.0);
        add(bad);
        add(-bad);
        add(2.0);
        CHECK_FALSE(watch.all_finite());
        add(2.0);
        CHECK(watch.all_finite());
      }
}

TEST_CASE("a monitor works in a replayed step") {
  on_devices([&](Device device) {
    const Var x = Var::parameter(Tensor::full({3}, 1.0, DType::f32, device));
    Tensor scale = Tensor::full({}, 1.0, DType::f32, device);
    optim::NonFiniteMonitor watch(device);
    optim::CapturedStep step([&] {
      const Var loss = sum(x * Var(scale));
      loss.backward();
      watch.add(loss.value());
      return loss;
    });
    for (int k = 0; k < 6; ++k) (void)step();
    CHECK(step.captured() == device.is_cuda());
    CHECK(watch.all_finite());
    scale.fill_(std::numeric_limits<double>::infinity());
    (void)step();
    scale.fill_(2.0);
    CHECK(step().item() == 6.0);
    CHECK_FALSE(watch.all_finite());
    CHECK(step().item() == 6.0);
    CHECK(watch.all_finite());
  });
}
