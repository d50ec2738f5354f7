#include "../reference/plain.h"
#include <adjoint/optim/sgd.h>

using namespace adj;
using namespace adj::test;

namespace {

// Hands the optimizer `steps` drawn gradients, and `scalar` the same ones element by element.
template <class Scalar>
void compare(const optim::SGDOptions& options, Scalar&& scalar) {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64})
      for (const Shape& shape : {Shape{7, 5}, Shape{1}, Shape{20'011}}) {
        CAPTURE(device.str());
        CAPTURE(name_of(dtype));
        CAPTURE(shape.str());
        Draw draw(300, device, dtype);
        Var p = Var::parameter(draw.normal(shape));
        std::vector<double> expected = values(p.value()), velocity(expected.size(), 0.0);
        optim::SGD sgd({p}, options);
        for (int step = 0; step < 6; ++step) {
          const Tensor gradient = draw.normal(shape);
          const std::vector<double> g = values(gradient);
          p.set_grad(gradient);
          sgd.step();
          for (size_t i = 0; i < g.size(); ++i) scalar(expected[i], velocity[i], g[i]);
        }
        CHECK(close(p.value(), expected, dtype == DType::f64 ? 1e-12 : 1e-5));
      }
}

}  // namespace

TEST_CASE("SGD: p -= lr (g + decay p)") {
  compare({.lr = 0.3}, [](double& p, double&, double g) { p -= 0.3 * g; });
  compare({.lr = 0.3, .weight_decay = 0.1}, [](double& p, double&, double g) { p -= 0.3 * (g + 0.1 * p); });
}

TEST_CASE("SGD with momentum: v = mu v + g + decay p; p -= lr v") {
  compare({.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05}, [](double& p, double& v, double g) {
    v = 0.9 * v + g + 0.05 * p;
    p -= 0.1 * v;
  });
}

TEST_CASE("SGD by Nesterov: v = mu v + g + decay p; p -= lr (g + decay p + mu v)") {
  compare({.lr = 0.1, .momentum = 0.8, .weight_decay = 0.05, .nesterov = true},
          [](double& p, double& v, double g) {
            const double d = g + 0.05 * p;
            v = 0.8 * v + d;
            p -= 0.1 * (d + 0.8 * v);
          });
}

TEST_CASE("SGD refuses options out of range") {
  const Var p = Var::parameter(Tensor::zeros({2}));
  for (double momentum : {-0.1, 1.0}) CHECK_THROWS_AS(optim::SGD({p}, {.momentum = momentum}), Error);
  for (double lr : {0.0, -1.0}) CHECK_THROWS_AS(optim::SGD({p}, {.lr = lr}), Error);
  CHECK_THROWS_AS(optim::SGD({p}, {.weight_decay = -0.1}), Error);
  CHECK_THROWS_WITH_AS(optim::SGD({p}, {.nesterov = true}),
                       "SGD: nesterov with a momentum of 0, expected one above 0", Error);
}
