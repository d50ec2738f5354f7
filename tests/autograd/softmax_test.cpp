#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/softmax.h>
#include <adjoint/autograd/unary.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("softmax and log_softmax over the last dimension") {
  for (const Shape& shape : {Shape{5}, Shape{4, 3}, Shape{2, 3, 4}, Shape{3, 1}, Shape{0, 3}, Shape{3, 0}})
    on_devices(22, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const Tensor x = draw.normal(shape);
      const Var e = exp(Var(x)), share = e / sum(e, -1, true);
      CHECK(softmax(x).shape() == shape);
      CHECK(close(softmax(x).value(), share.value(), 1e-14));
      CHECK(close(log_softmax(x).value(), log(share).value(), 1e-14));
      check([](const auto& v) { return softmax(v[0]); }, {x});
      check([](const auto& v) { return log_softmax(v[0]); }, {x});
    });
  CHECK_ERROR_HAS(softmax(Tensor::zeros({})), "softmax");
}
