#include "op.h"
#include <adjoint/kernels/elementwise/dropout.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/unary.h>

#include <cmath>

namespace adj::ops {

namespace {

constexpr Activation kActivations[] = {Activation::none, Activation::relu, Activation::leaky_relu,
                                       Activation::elu, Activation::gelu};
constexpr float kSlope = 0.2f;

double derivative(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::leaky_relu:
      return x < 0 ? double{kSlope} : 1;
    case Activation::elu:
      return x < 0 ? std::exp(x) : 1;
    case Activation::gelu:
      return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    default:
      return 1;
  }
}

struct Function {
  const char* name;
  Unary unary;
  double (*value)(double x);
  double (*slope)(double x, double y);
  double first = 0.0, second = 0.0;
};
const Function kFunctions[] = {
    {"exp", Unary::exp, std::exp, [](double, double y) { return y; }},
    {"log", Unary::log, std::log, [](double x, double) { return 1 / x; }},
    {"sqrt", Unary::sqrt, std::sqrt, [](double, double y) { return 0.5 / y; }},
    {"sigmoid", Unary::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
     [](double, double y) { return y * (1 - y); }},
    {"tanh", Unary::tanh, std::tanh, [](double, double y) { return 1 - y * y; }},
    {"reciprocal", Unary::reciprocal, [](double x) { return 1 / x; },
     [](double x, double) { return -1 / (x * x); }},
    {"inverse_sqrt", Unary::inverse_sqrt, [](double x) { return 1 / std::sqrt(x); },
     [](double x, double) { return -0.5 / (x * std::sqrt(x)); }},
    {"abs", Unary::abs, std::abs, [](double x, double) { return x > 0   ? 1.0
                                                                : x < 0 ? -1.0
                                                                        : 0.0; }},
    {"sin", Unary::sin, std::sin, [](double x, double) { return std::cos(x); }},
    {"cos", Unary::cos, std::cos, [](double x, double) { return -std::sin(x); }},
    {"power", Unary::power, [](double x) { return x * x * x; }, [](double x, double) { return 3 * x * x; },
     3.0},
    {"clamp", Unary::clamp, [](double x) { return std::min(std::max(x, -1.5), 0.5); },
     [](double x, double) { return x >= -1.5 && x <= 0.5 ? 1.0 : 0.0; }, -1.5, 0.5}};

/// Both signs and several sizes where the function is defined there.
Tensor arguments(const Call& c, Unary u) {
  const bool positive = u == Unary::log || u == Unary::sqrt || u == Unary::inverse_sqrt;
  Numbers x = values(c.normal(c.shape(), DType::f64));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (positive ? std::abs(x[i]) : x[i]) * (static_cast<double>(i % 7) + 0.01);
  return c.tensor(x, c.shape());
}

Op unary(const Function& f) {
  return {f.name,
          {{0}, {1}, {20011}, {70001}},
          [f](Call& c) {
            kernels::unary({.function = f.unary,
                            .first = f.first,
                            .second = f.second,
                            .x = c.in("x", [&] { return arguments(c, f.unary); }),
                            .y = c.out("y")});
          },
          [f](Plain& p) {
            const double relative = p.dtype() == DType::f64 ? 1e-12 : p.dtype() == DType::f32 ? 1e-6 : 0.004;
            const Numbers y = p["y"] = mapped(p["x"], f.value), slope = zipped(p["x"], y, f.slope);
            p["dx"] = zipped(p["dy"], slope, std::multiplies());
            // log's result is near 0 at 1: relative to the argument's rounding there. A derivative computed
            // from the rounded output inherits its rounding.
            const double least = f.unary == Unary::log ? 0.5 : 0.0;
            p.bounds["y"] = mapped(y, [=](double v) { return relative * std::max(std::abs(v), least); });
            p.bounds["dx"] = zipped(p["dx"], p["dy"], [=](double dx, double dy) {
              return 4 * relative * std::max(std::abs(dx), std::abs(dy));
            });
          },
          [f](Call& c) {
            kernels::unary_backward({.function = f.unary,
                                     .first = f.first,
                                     .second = f.second,
                                     .saved = c[saves_input(f.unary) ? "x" : "y"],
                                     .dy = c.in("dy"),
                                     .dx = c.out("dx").over("dy")});
          }};
}

struct Shapes {
  Shape a, b, y;
};

// Flat, rows, columns, an outer product, three and four dimensions that cannot be merged, odd, aligned and
// empty.
const std::vector<Shapes> kBroadcasts{{{70000}, {70000}, {70000}},
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
                                      {{2001, 130}, {130}, {2001, 130}},
                                      {{3001, 1}, {3001, 40}, {3001, 40}},
                                      {{0, 3}, {3}, {0, 3}},
                                      {{3, 0}, {3, 1}, {3, 0}}};

/// The element of `operand` that each element of y reads, by definition.
Numbers spread(const Numbers& numbers, const Shape& operand, const Shape& y) {
  Numbers all;
  for (int64_t i = 0; i < y.numel(); ++i) {
    int64_t position = 0, stride = 1, rest = i;
    for (int d = 0; d < y.dims(); ++d) {
      const int64_t extent = kernels::extent_from_last(y, d),
                    operand_extent = kernels::extent_from_last(operand, d);
      if (operand_extent != 1) position += rest % extent * stride;
      stride *= operand_extent;
      rest /= extent;
    }
    all.push_back(numbers[uz(position)]);
  }
  return all;
}

double result(Binary op, double a, double b) {
  return op == Binary::add ? a + b : op == Binary::subtract ? a - b : op == Binary::multiply ? a * b : a / b;
}

Op binary(Binary op, const Shapes& s) {
  return {fmt::format("binary {} of {} and {}", static_cast<int>(op), s.a.str(), s.b.str()),
          {{}},
          [=](Call& c) {
            // Away from 0, where a quotient's rounding would be large.
            const auto divisor = [&] { return c.ints(s.b.numel(), 1, 100).to(c.dtype).reshape(s.b); };
            kernels::binary({.op = op,
                             .a = c.in("a", s.a),
                             .b = c.in("b", divisor),
                             .y = c.out("y", s.y).over(s.a == s.y ? "a" : "")});
          },
          [=](Plain& p) {
            p["y"] = zipped(spread(p["a"], s.a, s.y), spread(p["b"], s.b, s.y),
                            [op](double a, double b) { return result(op, a, b); });
          }};
}

Op expand(const Shape& x, const Shape& y) {
  return {fmt::format("expand {} to {}", x.str(), y.str()),
          {{}},
          [=](Call& c) { kernels::expand({.x = c.in("x", x), .y = c.out("y", y).allow(0)}); },
          [=](Plain& p) { p["y"] = spread(p["x"], x, y); }};
}

}  // namespace

double activated(Activation activation, double x, double slope) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::leaky_relu:
      return x < 0 ? slope * x : x;
    case Activation::elu:
      return x < 0 ? std::expm1(x) : x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    default:
      return x;
  }
}

Op activate(Activation a) {
  return {fmt::format("activate {}", name_of(a)),
          {{0}, {1}, {37}, {3, 401}, {70001}},
          [a](Call& c) {
            kernels::activate({.activation = a, .slope = kSlope, .x = c.in("x"), .y = c.out("y").over("x")});
          },
          [a](Plain& p) {
            p["y"] = mapped(p["x"], [a](double x) { return activated(a, x, kSlope); });
            p["dx"] = zipped(p["x"], p["dy"], [a](double x, double dy) { return dy * derivative(a, x); });
          },
          [a](Call& c) {
            kernels::activate_backward({.activation = a,
                                        .slope = kSlope,
                                        .x = c["x"],
                                        .dy = c.in("dy"),
                                        .dx = c.out("dx").over("dy").allow(2 * c.tolerance())});
          }};
}

Op dropout(Activation a, float rate) {
  const RandomKey key{0x123456789abcdefull, 0xfedcba9876543210ull, nullptr};
  const DropoutRule rule = dropout_rule(rate);
  return {fmt::format("dropout {} {}", name_of(a), rate),
          {{0}, {1}, {7}, {8}, {127}, {128}, {129}, {2047}, {2049}, {65537}, {140001}},
          [=](Call& c) {
            kernels::dropout({.activation = a,
                              .slope = kSlope,
                              .x = c.in("x"),
                              .key = key,
                              .rule = rule,
                              .y = c.out("y").over("x")});
          },
          [=](Plain& p) {
            const Numbers mask = dropout_mask(p["x"].size(), key, rule);
            p["y"] = zipped(p["x"], mask, [a](double x, double m) { return m * activated(a, x, kSlope); });
            p["dx"] =
                zipped(zipped(p["x"], p["dy"], [a](double x, double dy) { return dy * derivative(a, x); }),
                       mask, std::multiplies());
          },
          [=](Call& c) {
            kernels::dropout_backward({.activation = a,
                                       .slope = kSlope,
                                       .x = c["x"],
                                       .dy = c.in("dy"),
                                       .key = key,
                                       .rule = rule,
                                       .dx = c.out("dx").over("dy").allow(2 * c.tolerance())});
          }};
}

Ops activations() {
  Ops ops;
  for (Activation a : kActivations) ops.push_back(activate(a));
  return ops;
}

Ops dropouts() {
  Ops ops;
  for (float rate : {0.0f, 0.1f, 0.5f, 0.999999f}) ops.push_back(dropout(Activation::none, rate));
  for (Activation a : kActivations) ops.push_back(dropout(a, 0.4f));
  return ops;
}

Ops elementwise() {
  const Sizes columns{{0, 1}, {1, 1}, {33, 1}, {66000, 1}};
  // Narrow, odd, wide and empty.
  const Sizes matrices{{0, 5},    {4, 0},   {1, 1},   {1000, 1}, {333, 7},
                       {257, 16}, {31, 63}, {17, 64}, {5, 65},   {900, 257}};
  return {
      {"linear_combination",
       {{0}, {1}, {15}, {100003}},
       [](Call& c) {
         kernels::linear_combination(
             {.alpha = 1.5, .a = c.in("a"), .beta = -0.25, .b = c.in("b"), .y = c.out("y").over("b")});
       },
       [](Plain& p) {
         p["y"] = zipped(p["a"], p["b"], [](double a, double b) { return 1.5 * a - 0.25 * b; });
       }},
      {"linear_combination without b",
       {{0}, {1}, {15}, {100003}},
       [](Call& c) {
         kernels::linear_combination({.alpha = 3.0, .a = c.in("a"), .beta = 7.0, .y = c.out("y").over("a")});
       },
       [](Plain& p) { p["y"] = mapped(p["a"], [](double a) { return 3.0 * a; }); }},
      {"multiply_scalar", columns,
       [](Call& c) {
         kernels::multiply_scalar(
             {.a = c.in("a"), .s = c.in("s", {}, c.accumulator()), .y = c.out("y").over("a")});
       },
       [](Plain& p) { p["y"] = zipped(p["a"], p["s"], std::multiplies()); }},
      {"add_bias", matrices,
       [](Call& c) {
         kernels::add_bias({.x = c.in("x"), .bias = c.in("bias", {c.size[1]}), .y = c.out("y").over("x")});
       },
       [](Plain& p) { p["y"] = zipped(p["x"], p["bias"], std::plus()); }},
      {"scale_rows", matrices,
       [](Call& c) {
         kernels::scale_rows({.x = c.in("x"), .s = c.in("s", {c.size[0]}), .y = c.out("y").over("x")});
       },
       [](Plain& p) {
         p["y"] = p["x"];
         for (size_t k = 0; k < p["y"].size(); ++k) p["y"][k] *= p["s"][k / uz(p.size(1))];
       }},
      {"permute",
       {{0}, {1001}},
       [](Call& c) {
         const int64_t n = c.size[0];
         kernels::permute({.x = c.in("x", [&] { return c.ints(n, 0, 200).to(c.dtype); }),
                           .order = c.in("order", [&] { return c.ints(n, 0, n); }),
                           .y = c.out("y").allow(0)});
       },
       [](Plain& p) {
         size_t k = 0;
         for (int32_t place : p.ints("order")) p["y"][k++] = p["x"][uz(place)];
       },
       {},
       {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8}},
      {"affine",
       {{1003}, {70001}},
       [](Call& c) {
         kernels::affine({.scale = -1.5, .shift = 0.25, .x = c.in("x"), .y = c.out("y").over("x")});
       },
       [](Plain& p) { p["y"] = mapped(p["x"], [](double x) { return 0.25 - 1.5 * x; }); }},
  };
}

Ops broadcasts() {
  Ops ops;
  for (const Shapes& s : kBroadcasts) {
    for (Binary op : {Binary::add, Binary::subtract, Binary::multiply, Binary::divide})
      ops.push_back(binary(op, s));
    for (const Shape& x : {s.a, s.b, Shape{}}) ops.push_back(expand(x, s.y));
  }
  return ops;
}

Ops unary_functions() {
  Ops ops;
  for (const Function& f : kFunctions) ops.push_back(unary(f));
  return ops;
}

}  // namespace adj::ops
