#include "cases.h"
#include <adjoint/kernels/elementwise/broadcast.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Case {
  Shape a, b, y;
};

// Flat, rows, columns, an outer product, three and four dimensions that cannot be merged, odd, aligned and
// empty.
const std::vector<Case> kCases{{{70000}, {70000}, {70000}},
                               {{70001}, {}, {70001}},
                               {{}, {33}, {33}},
                               {{}, {}, {}},
                               {{513, 7}, {7}, {513, 7}},
                               {{64}, {300, 64}, {300, 64}},
                               {{300, 64}, {300, 1}, {300, 64}},
                               {{300, 1}, {64}, {300, 64}},
                               {{2, 50000}, {2, 1}, {2, 50000}},
                               {{40, 8, 16}, {8, 1}, {40, 8, 16}},
                               {{40, 1, 16}, {8, 1}, {40, 8, 16}},
                               {{5, 1, 3, 1}, {1, 4, 1, 6}, {5, 4, 3, 6}},
                               {{0, 3}, {3}, {0, 3}},
                               {{3, 0}, {3, 1}, {3, 0}}};

/// Position that element `i` of y reads from an operand, by definition.
size_t place(const Shape& operand, const Shape& y, int64_t i) {
  int64_t position = 0, stride = 1;
  for (int d = 0; d < y.dims(); ++d) {
    const int64_t extent = kernels::extent_from_last(y, d),
                  operand_extent = kernels::extent_from_last(operand, d);
    if (operand_extent != 1) position += i % extent * stride;
    stride *= operand_extent;
    i /= extent;
  }
  return uz(position);
}

double binary_of(Binary op, double a, double b) {
  return op == Binary::add ? a + b : op == Binary::subtract ? a - b : op == Binary::multiply ? a * b : a / b;
}

}  // namespace

TEST_CASE("binary: all operations with broadcasting") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const Case& shapes : kCases)
      for (Binary op : {Binary::add, Binary::subtract, Binary::multiply, Binary::divide}) {
        CAPTURES(shapes.a.str(), shapes.b.str());
        const Tensor a = random_tensor(shapes.a, dtype, device);
        // Away from 0, where a quotient's rounding would be large.
        const Tensor b = random_ints(shapes.b.numel(), 1, 100).to(dtype).to(device).reshape(shapes.b);
        const Numbers left = values(a), right = values(b);
        Numbers expected(uz(shapes.y.numel()));
        for (size_t i = 0; i < expected.size(); ++i)
          expected[i] = binary_of(op, left[place(shapes.a, shapes.y, static_cast<int64_t>(i))],
                                  right[place(shapes.b, shapes.y, static_cast<int64_t>(i))]);
        const auto binary = [&](const Tensor& left_of, Tensor& y) {
          kernels::binary({.op = op, .a = left_of, .b = b, .y = y});
        };
        if (shapes.a == shapes.y) {
          check_also_in_place(a, expected, tolerance(dtype), binary);
        } else {
          Tensor y = Tensor::empty(shapes.y, dtype, device);
          binary(a, y);
          CHECK(close(y, expected, tolerance(dtype)));
        }
      }
  });
}

TEST_CASE("binary reads views at any offset") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (int64_t of_a : {0, 1})
      for (int64_t of_b : {0, 1}) {
        const Tensor a = at_offset(of_a, random_tensor({10, 12}, dtype, device)),
                     b = at_offset(of_b, random_tensor({1, 12}, dtype, device));
        Tensor y = Tensor::empty({10, 12}, dtype, device);
        kernels::binary({.op = Binary::add, .a = a, .b = b, .y = y});
        CHECK(close(y, zipped(values(a), values(b), std::plus()), tolerance(dtype)));
      }
  });
}

TEST_CASE("expand repeats") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const Case& shapes : kCases)
      for (const Shape& operand : {shapes.a, shapes.b, Shape{}}) {
        CAPTURES(operand.str(), shapes.y.str());
        const Tensor x = random_tensor(operand, dtype, device);
        Tensor y = Tensor::empty(shapes.y, dtype, device);
        kernels::expand({.x = x, .y = y});
        const Numbers in = values(x), out = values(y);
        for (size_t i = 0; i < out.size(); ++i)
          REQUIRE(out[i] == in[place(operand, shapes.y, static_cast<int64_t>(i))]);
      }
  });
}

TEST_CASE("binary rejects mismatched arguments, naming both shapes") {
  const Tensor a = random_tensor({2, 3}), b = random_tensor({3, 2});
  Tensor y = Tensor::empty({2, 3});
  CHECK_ERROR(kernels::binary({.op = Binary::add, .a = a, .b = b, .y = y}),
              "binary: shapes [2, 3] and [3, 2] do not fit: expected equal extents, or 1, from the last "
              "dimension on");
  CHECK_THROWS_AS(kernels::binary({.op = Binary::add, .a = a, .b = random_tensor({3}, DType::f64), .y = y}),
                  Error);
  CHECK_THROWS_AS(kernels::binary({.op = Binary::add, .a = random_tensor({3}), .b = a.rows(0, 1), .y = y}),
                  Error);
  CHECK_THROWS_AS(kernels::expand({.x = random_tensor({2, 3, 1}), .y = y}), Error);
}
