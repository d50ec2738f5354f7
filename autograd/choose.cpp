#include <adjoint/autograd/choose.h>
#include <adjoint/autograd/detail/broadcast.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/array/choose.h>

namespace adj {

namespace {

Tensor expanded(const Shape& shape, const Tensor& x) {
  return x.shape() == shape ? x : detail::expand_to(shape, x);
}

Tensor compared(const char* name, Comparison comparison, const Tensor& a, const Tensor& b) {
  ADJ_CHECK(a && b && a.dtype() == b.dtype() && a.device() == b.device(), "{}: operands {} and {}", name,
            a.str(), b.str());
  const Shape shape = kernels::broadcast_shape(name, a.shape(), b.shape());
  Tensor y = Tensor::empty(shape, DType::u8, a.device());
  kernels::compare({.comparison = comparison, .a = expanded(shape, a), .b = expanded(shape, b), .y = y});
  return y;
}

Tensor number_like(const Tensor& x, double value) { return Tensor::full({}, value, x.dtype(), x.device()); }

}  // namespace

Tensor less(const Tensor& a, const Tensor& b) { return compared("less", Comparison::less, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compared("less_equal", Comparison::less_equal, a, b);
}
Tensor greater(const Tensor& a, const Tensor& b) { return compared("greater", Comparison::less, b, a); }
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compared("greater_equal", Comparison::less_equal, b, a);
}
Tensor equal(const Tensor& a, const Tensor& b) { return compared("equal", Comparison::equal, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compared("not_equal", Comparison::not_equal, a, b);
}
Tensor less(const Tensor& a, double b) { return less(a, number_like(a, b)); }
Tensor less_equal(const Tensor& a, double b) { return less_equal(a, number_like(a, b)); }
Tensor greater(const Tensor& a, double b) { return greater(a, number_like(a, b)); }
Tensor greater_equal(const Tensor& a, double b) { return greater_equal(a, number_like(a, b)); }
Tensor equal(const Tensor& a, double b) { return equal(a, number_like(a, b)); }
Tensor not_equal(const Tensor& a, double b) { return not_equal(a, number_like(a, b)); }

Var where(const Tensor& condition, const Var& a, const Var& b) {
  const OpScope scope("where", a, b);
  ADJ_CHECK(a.dtype() == b.dtype() && a.device() == b.device(), "where: operands {} and {}", a.value().str(),
            b.value().str());
  const Shape shape = condition.shape();
  for (const Var* operand : {&a, &b})
    ADJ_CHECK(kernels::broadcast_shape("where", operand->shape(), shape) == shape,
              "where: an operand {} for a condition {}, expected one that broadcasts to it",
              operand->shape().str(), shape.str());
  Tensor y = Tensor::empty(shape, a.dtype(), a.device());
  kernels::choose(
      {.condition = condition, .a = expanded(shape, a.value()), .b = expanded(shape, b.value()), .y = y});
  enum : size_t { kA, kB };
  return record(
      "where", y, {a, b},
      [condition = Saved(condition), a_shape = a.shape(), b_shape = b.shape()](Tensor dy, Gradients& out) {
        Tensor part = Tensor::empty_like(dy);
        if (out.wanted(kA)) {
          kernels::choose({.condition = condition.get(), .a = dy, .y = part});
          out.add(kA, detail::reduce_to(a_shape, part));
        }
        if (!out.wanted(kB)) return;
        Tensor rest = reuse(dy);
        kernels::choose({.condition = condition.get(), .b = dy, .y = rest});
        out.add(kB, detail::reduce_to(b_shape, rest));
      });
}
Var where(const Tensor& condition, const Var& a, double b) {
  return where(condition, a, Var(number_like(a.value(), b)));
}
Var where(const Tensor& condition, double a, const Var& b) {
  return where(condition, Var(number_like(b.value(), a)), b);
}

}  // namespace adj
