#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/detail/feature_product.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/dense/gemm.h>

#include <optional>

namespace adj {

namespace {

// The operands of a product among the inputs of an op.
struct ProductSlots {
  size_t x, w;
  std::optional<size_t> bias = {};
};
// The gradients of a product x w + bias from dz.
void product_gradients(Saved& x, const Saved& w, const Tensor& dz, Gradients& out,
                       const ProductSlots& slots) {
  using kernels::Transpose;
  const Shape x_shape = x.get().shape();
  if (out.wanted(slots.w)) {
    Tensor dw = Tensor::empty_like(w.get()), dbias;
    if (slots.bias && out.wanted(*slots.bias)) dbias = Tensor::empty({dz.size(1)}, dz.dtype(), dz.device());
    kernels::weight_gradients({.x = x.get(), .dz = dz, .dw = dw, .dbias = dbias});
    out.add(slots.w, dw);
    if (dbias) out.add(*slots.bias, dbias);
  } else if (slots.bias) {
    detail::bias_gradient(dz, *slots.bias, out);
  }
  detail::FusedGradients& fused = detail::FusedGradients::access(out);
  const bool from_relu = fused.from_relu(slots.x);
  const Tensor relu_of_x = from_relu ? x.get() : Tensor();  // which the op that made it holds, too
  x = {};
  if (!out.wanted(slots.x)) return;
  Tensor dx = fused.begun(slots.x, from_relu);
  const bool adds = static_cast<bool>(dx);
  if (!adds) dx = Tensor::empty(x_shape, dz.dtype(), dz.device());
  kernels::gemm({.a = dz,
                 .b = w.get(),
                 .trans_b = Transpose::yes,
                 .accumulate = adds,
                 .through_relu = relu_of_x,
                 .c = dx});
  if (!adds) fused.add(slots.x, dx, from_relu);
}

void check_product(const char* op, const Var& x, const Var& w) {
  ADJ_CHECK(x.shape().dims() == 2 && w.shape().dims() == 2 && x.size(1) == w.size(0),
            "{}: input {} does not fit weight {}", op, x.shape().str(), w.shape().str());
}

Var product(const char* name, const Var& x, const Var& w, const Var& bias = {},
            Activation activation = Activation::none) {
  check_same_device(name, {x, w, bias});
  check_product(name, x, w);
  if (activation != Activation::none && activation != Activation::relu)
    return activate(activation, product(name, x, w, bias));
  Tensor y = Tensor::empty({x.size(0), w.size(1)}, w.dtype(), w.device());
  kernels::gemm(
      {.a = x.value(), .b = w.value(), .bias = bias.value_or_absent(), .activation = activation, .c = y});
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  enum : size_t { kX, kW, kBias };
  return detail::after(
      activation,
      record(name, y, {x, w, bias},
             [x = Saved(x.value()), w = Saved(w.value()), y = output](Tensor dy, Gradients& out) mutable {
               const Tensor dz = detail::through_activation(y, std::move(dy), out);
               y = {};
               product_gradients(x, w, dz, out, {kX, kW, kBias});
             }));
}

// The product of features of any kind, which take no gradient.
Var product(const char* name, const Features& x, const Var& w, const Var& bias = {},
            Activation activation = Activation::none) {
  if (x.is_dense()) return product(name, variable_of(x), w, bias, activation);
  ADJ_CHECK(x.device() == w.device(), "{}: features on {}, weight on {}", name, x.device().str(),
            w.device().str());
  ADJ_CHECK(w.shape().dims() == 2 && x.cols() == w.size(0), "{}: features [{}, {}] do not fit weight {}",
            name, x.rows(), x.cols(), w.shape().str());
  if (activation != Activation::none && activation != Activation::relu)
    return activate(activation, product(name, x, w, bias));
  const Features a = x.to(w.dtype());
  Tensor y = Tensor::empty({a.rows(), w.size(1)}, w.dtype(), w.device());
  detail::feature_product(a, w.value(), bias.value_or_absent(), activation, y);
  const Saved held(a.is_sparse() ? a.sparse().values() : a.quantized().bytes);
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  enum : size_t { kW, kBias };
  return detail::after(activation,
                       record(name, y, {w, bias}, [a, held, y = output](Tensor dy, Gradients& out) {
                         const Tensor dz = detail::through_activation(y, std::move(dy), out);
                         detail::bias_gradient(dz, kBias, out);
                         if (!out.wanted(kW)) return;
                         (void)held.get();  // shared with the features: throws if modified
                         out.add(kW, detail::feature_weight_gradient(a, dz));
                       }));
}

}  // namespace

Var linear(const Var& x, const Var& w, const Var& bias, Activation activation) {
  const OpScope scope("linear", x, w, bias);
  return product("linear", x, w, bias, activation);
}
Var linear(const Features& x, const Var& w, const Var& bias, Activation activation) {
  const OpScope scope("linear", x, w, bias);
  return product("linear", x, w, bias, activation);
}

Var matmul(const Var& a, const Var& b) {
  const OpScope scope("matmul", a, b);
  return product("matmul", a, b);
}
Var matmul(const Features& a, const Var& b) {
  const OpScope scope("matmul", a, b);
  return product("matmul", a, b);
}

Var linear_sum(const Var& x, const Var& w, const Var& bias, const std::function<Var()>& x2, const Var& w2) {
  const Var sum = linear(x, w, bias), second = x2();
  const OpScope scope("linear_sum", x, w, bias, second, w2);
  check_same_device("linear_sum", {sum, second, w2});
  check_product("linear_sum", second, w2);
  ADJ_CHECK(sum.size(0) == second.size(0) && sum.size(1) == w2.size(1),
            "linear_sum: {} times {} and {} times {} have different shapes", x.shape().str(), w.shape().str(),
            second.shape().str(), w2.shape().str());
  Tensor y = sum.value();  // not shared
  kernels::gemm({.a = second.value(), .b = w2.value(), .accumulate = true, .c = y});
  enum : size_t { kSum, kX, kW };
  return record("linear_sum", y, {sum, second, w2},
                [x = Saved(second.value()), w = Saved(w2.value())](Tensor dy, Gradients& out) mutable {
                  product_gradients(x, w, dy, out, {kX, kW});
                  out.add(kSum, std::move(dy));
                });
}

}  // namespace adj
