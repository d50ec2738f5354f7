#include "cases.h"
#include <adjoint/kernels/reduce/softmax.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr std::pair<int64_t, int64_t> kShapes[] = {{0, 3},   {3, 0},     {1, 1},    {2708, 7}, {513, 16},
                                                   {65, 63}, {100, 129}, {7, 2001}, {19, 1024}};

}  // namespace

TEST_CASE("softmax and log_softmax with their gradients") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, width] : kShapes)
      for (bool log : {false, true}) {
        CAPTURES(rows, width, log);
        const Tensor x = random_tensor({rows, width}, dtype, device),
                     dy = random_tensor({rows, width}, dtype, device);
        Tensor y = Tensor::empty_like(x);
        kernels::softmax({.log = log, .x = x, .y = y});
        const Numbers in = values(x), d = values(dy), out = values(y);
        Numbers expected(in.size()), gradient(in.size());
        for (int64_t i = 0; i < rows; ++i) {
          double total = 0.0, along = 0.0;
          const auto index = [=](int64_t c) { return uz(i * width + c); };
          for (int64_t c = 0; c < width; ++c) total += std::exp(in[index(c)]);
          for (int64_t c = 0; c < width; ++c) {
            expected[index(c)] = log ? in[index(c)] - std::log(total) : std::exp(in[index(c)]) / total;
            along += log ? d[index(c)] : d[index(c)] * out[index(c)];
          }
          for (int64_t c = 0; c < width; ++c)
            gradient[index(c)] =
                log ? d[index(c)] - std::exp(out[index(c)]) * along : out[index(c)] * (d[index(c)] - along);
        }
        check_also_in_place(x, expected, tolerance(dtype), [&](const Tensor& input, Tensor& output) {
          kernels::softmax({.log = log, .x = input, .y = output});
        });
        check_also_in_place(dy, gradient, 4 * tolerance(dtype), [&](const Tensor& upstream, Tensor& dx) {
          kernels::softmax_backward({.log = log, .y = y, .dy = upstream, .dx = dx});
        });
      }
  });
}

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
