#include "../support.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/gradient_rollback.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/variable.h>

using namespace adj;
using namespace adj::test;

namespace {

Var weight(Device device) { return Var::parameter(random_tensor({4, 3}, DType::f32, device)); }

void backward(const Var& w, const Var& v) { sum(w * v).backward(); }

}  // namespace

TEST_CASE("a rollback restores gradients that a step created, replaced or cleared") {
  for (Device device : devices()) {
    Var fresh = weight(device), held = weight(device), cleared = weight(device), reset = weight(device);
    backward(held, cleared);
    backward(reset, reset.detach());
    const Tensor of_held = held.grad(), of_cleared = cleared.grad(), of_reset = reset.grad();
    const Tensor values_of_held = of_held.clone();
    {
      const GradientRollback rollback;
      backward(fresh, reset);
      backward(held, fresh);  // its gradient is shared with this test, so that it gives way to the sum
      cleared.zero_grad();
      backward(cleared, reset);
      reset.set_grad(Tensor::zeros({4, 3}, DType::f32, device));
      held.zero_grad();
      CHECK(fresh.grad());
      CHECK(!held.grad());
    }
    CHECK(!fresh.grad());
    CHECK(held.grad().shares_storage_with(of_held));
    CHECK(same_bits(held.grad(), values_of_held));
    CHECK(cleared.grad().shares_storage_with(of_cleared));
    CHECK(reset.grad().shares_storage_with(of_reset));
  }
}

TEST_CASE("kept gradients stay, and keep() returns the replaced ones") {
  Var fresh = weight({}), held = weight({});
  backward(held, held.detach());
  const uint64_t before = held.grad().storage_id();
  Tensor after;
  {
    GradientRollback rollback;
    held.zero_grad();
    backward(fresh, held);
    after = held.grad();
    const std::vector<Tensor> replaced = rollback.keep();
    REQUIRE(replaced.size() == 1);
    CHECK(replaced[0].storage_id() == before);
  }
  CHECK(fresh.grad());
  CHECK(held.grad().shares_storage_with(after));
}

TEST_CASE("a gradient accumulated in place still belongs to its variable") {
  Var w = weight({});
  backward(w, w.detach());
  const uint64_t storage = w.grad().storage_id();
  {
    const GradientRollback rollback;
    backward(w, w.detach());
    CHECK(w.grad().storage_id() == storage);  // nothing else holds it
    CHECK(w.grad().is_unique());
  }
  CHECK(w.grad().storage_id() == storage);
}
