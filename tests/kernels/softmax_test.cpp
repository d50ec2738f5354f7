#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/reduce/reduce.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("softmax, log_softmax and their gradients, by the table of ops") { hold(ops::softmaxes()); }

TEST_CASE("softmax is correct for large numbers, and NaN where it is undefined") {
  on_devices_and_floats([](Device device, DType dtype) {
    const Numbers rows{1e4,       1e4,      0, -1e4, 0,   -INFINITY, -INFINITY, -INFINITY,
                       -INFINITY, INFINITY, 0, 0,    NAN, 1,         2};
    const Tensor x = Tensor::from(rows, {5, 3}).to(dtype).to(device);
    Tensor y = Tensor::empty_like(x);
    kernels::softmax({.log = true, .x = x, .y = y});
    Numbers out = values(y);
    CHECK(out[0] == doctest::Approx(-std::log(2.0)));
    CHECK(out[2] == doctest::Approx(-1e4 - std::log(2.0)));
    CHECK(out[3] == doctest::Approx(-1e4));
    CHECK(out[4] == doctest::Approx(0.0));
    CHECK(out[5] == -INFINITY);
    for (size_t i = 6; i < 15; ++i) CHECK(std::isnan(out[i]));
    kernels::softmax({.x = x, .y = y});
    out = values(y);
    CHECK(out[0] == doctest::Approx(0.5));
    CHECK(out[2] == 0.0);
    CHECK(out[4] == 1.0);
    CHECK(out[5] == 0.0);
    for (size_t i = 6; i < 15; ++i) CHECK(std::isnan(out[i]));
  });
}

TEST_CASE("softmax rejects mismatched arguments") {
  const Tensor x = random_tensor({4, 3});
  Tensor y = Tensor::empty({3, 4});
  CHECK_THROWS_AS(kernels::softmax({.x = x, .y = y}), Error);
  CHECK_THROWS_AS(kernels::softmax({.x = random_tensor({4}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::softmax_backward({.y = x, .dy = y, .dx = y}), Error);
}
