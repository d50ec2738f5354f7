#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/choose.h>
#include <adjoint/autograd/unary.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("comparisons broadcast, with NaN as IEEE has it") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    on_devices(60, DType::f32, [&](Draw&, Device device) {
      const Tensor
          a = Tensor::from(std::vector<double>{1.0, 2.0, NAN, -0.0, 5.0, 2.0}, {2, 3}).to(dtype).to(device),
          row = Tensor::from(std::vector<double>{1.0, 3.0, NAN}).to(dtype).to(device);
      const auto bits = [](const Tensor& t) { return t.to_vector<uint8_t>(); };
      using Bits = std::vector<uint8_t>;
      CHECK(bits(less(a, row)) == Bits{0, 1, 0, 1, 0, 0});
      CHECK(bits(less_equal(a, row)) == Bits{1, 1, 0, 1, 0, 0});
      CHECK(bits(greater(a, row)) == Bits{0, 0, 0, 0, 1, 0});
      CHECK(bits(greater_equal(a, row)) == Bits{1, 0, 0, 0, 1, 0});
      CHECK(bits(equal(a, row)) == Bits{1, 0, 0, 0, 0, 0});
      CHECK(bits(not_equal(a, row)) == Bits{0, 1, 1, 1, 1, 1});
      CHECK(bits(greater(a, 1.0)) == Bits{0, 1, 0, 0, 1, 1});
      CHECK(bits(less_equal(a, 0.0)) == Bits{0, 0, 0, 1, 0, 0});
      CHECK(bits(equal(row, a)) == bits(equal(a, row)));
      CHECK(less(Tensor::zeros({0, 3}, dtype, device), row).shape() == Shape{0, 3});
    });
  CHECK_ERROR_HAS(less(Tensor::zeros({2}), Tensor::zeros({3})), "less: shapes [2] and [3] do not fit");
  CHECK_ERROR_HAS(equal(Tensor::zeros({2}), Tensor::zeros({2}, DType::f64)), "equal: operands");
}

TEST_CASE("where takes either operand, and gives the gradient to it alone") {
  on_devices(61, DType::f64, [&](Draw& draw, Device device) {
    const Tensor a = draw.normal({50, 3}), row = draw.normal({3}), column = draw.normal({50, 1});
    const Tensor condition = greater(a, 0.2);
    const Numbers x = values(a), r = values(row), c = values(column);
    const Tensor chosen = where(condition, row, column).value();
    size_t wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) wrong += values(chosen)[i] != (x[i] > 0.2 ? r[i % 3] : c[i / 3]);
    CHECK(wrong == 0);
    check_each([&](const std::vector<Var>& v) { return where(condition, v[0], v[1]); }, {row, column});
    check_each([&](const std::vector<Var>& v) { return where(condition, v[0], v[1]) * v[0]; },
               {a, draw.normal({})});
    CHECK(values(where(condition, 7.0, a).value())[0] == (x[0] > 0.2 ? 7.0 : x[0]));
    CHECK(values(where(condition, a, -1.0).value())[0] == (x[0] > 0.2 ? x[0] : -1.0));
    // What is not chosen may be NaN or infinite.
    const Var p = Var::parameter(Tensor::from(std::vector{4.0, -4.0}).to(device));
    where(greater(p.value(), 0.0), sqrt(p), 0.0 * p).backward(Tensor::full({2}, 1.0, DType::f64, device));
    CHECK(values(p.grad())[0] == 0.25);
  });
  const Tensor two = Tensor::zeros({2}, DType::u8);
  CHECK_ERROR_HAS(where(two, Var(Tensor::zeros({3, 2})), 0.0),
                  "where: an operand [3, 2] for a condition [2]");
  CHECK_ERROR_HAS(where(Tensor::zeros({2}), Var(Tensor::zeros({2})), 0.0), "where: condition is");
}
