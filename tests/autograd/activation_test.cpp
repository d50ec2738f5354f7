#include "../reference/plain.h"
#include <adjoint/autograd/activation.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Case {
  Activation activation;
  float slope;
  std::function<double(double)> plain;
};

const std::vector<Case> kCases{
    {Activation::relu, 0.0f, [](double x) { return x > 0.0 ? x : 0.0; }},
    {Activation::leaky_relu, 0.01f, [](double x) { return x > 0.0 ? x : static_cast<double>(0.01f) * x; }},
    {Activation::leaky_relu, 0.25f, [](double x) { return x > 0.0 ? x : 0.25 * x; }},
    {Activation::elu, 0.0f, [](double x) { return x > 0.0 ? x : std::expm1(x); }},
    {Activation::gelu, 0.0f, [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }},
};

}  // namespace

TEST_CASE("activations equal their formulas") {
  const Tensor x = Tensor::from<double>({-3.0, -0.5, 0.0, 0.5, 3.0});
  for (const Case& c : kCases)
    CHECK(close(activate(c.activation, x, c.slope).value(), mapped(Dense(x), c.plain).data, 1e-12));
}

TEST_CASE("gradients of activations") {
  for (const Case& c : kCases)
    for (const Shape& shape : {Shape{5, 7}, Shape{2, 3, 2}})
      on_devices(21, DType::f64, [&](Draw& draw, Device) {
        CAPTURES(name_of(c.activation), c.slope);
        check([&](const auto& v) { return activate(c.activation, v[0], c.slope); }, {draw.off_zero(shape)});
      });
}

TEST_CASE("Activation::none returns the variable itself") {
  const Var x = Var::parameter(Tensor::full({2}, -1.0));
  CHECK(activate(Activation::none, x).value().shares_storage_with(x.value()));
}

TEST_CASE("short names are the corresponding activations") {
  Draw draw(22);
  const Tensor x = draw.normal({50});
  CHECK(same_bits(relu(x).value(), activate(Activation::relu, x).value()));
  CHECK(same_bits(leaky_relu(x, 0.2f).value(), activate(Activation::leaky_relu, x, 0.2f).value()));
  CHECK(same_bits(elu(x).value(), activate(Activation::elu, x).value()));
  CHECK(same_bits(gelu(x).value(), activate(Activation::gelu, x).value()));
}
