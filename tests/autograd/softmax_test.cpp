#include "../reference/plain.h"
#include <adjoint/autograd/softmax.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("softmax and log_softmax over the last dimension") {
  for (const Shape& shape : {Shape{5}, Shape{4, 3}, Shape{2, 3, 4}, Shape{3, 1}, Shape{0, 3}, Shape{3, 0}})
    on_devices(22, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const Tensor x = draw.normal(shape);
      const int64_t width = shape[-1];
      Numbers expected = values(x);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = std::exp(expected[i]);
      for (size_t row = 0; row * uz(width) < expected.size(); ++row) {
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(row) * width;
        const double total = std::accumulate(begin, begin + width, 0.0);
        for (auto e = begin; e != begin + width; ++e) *e /= total;
      }
      CHECK(softmax(x).shape() == shape);
      CHECK(close(softmax(x).value(), expected, 1e-14));
      for (double& e : expected) e = std::log(e);
      CHECK(close(log_softmax(x).value(), expected, 1e-14));
      check([](const auto& v) { return softmax(v[0]); }, {x});
      check([](const auto& v) { return log_softmax(v[0]); }, {x});
    });
  CHECK_ERROR_HAS(softmax(Tensor::zeros({})), "softmax");
}
