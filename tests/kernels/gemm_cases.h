#pragma once

#include "cases.h"
#include <adjoint/kernels/dense/gemm.h>

// Products in every transpose form.
namespace adj::test {

struct Product {
  int64_t m, k, n;
  bool turned_a = false, turned_b = false;

  Shape shape_a() const { return turned_a ? Shape{k, m} : Shape{m, k}; }
  Shape shape_b() const { return turned_b ? Shape{n, k} : Shape{k, n}; }
};

/// All four transpose forms of each size.
inline std::vector<Product> in_all_forms(const std::vector<Product>& sizes) {
  std::vector<Product> all;
  for (const Product& p : sizes)
    for (bool turned_a : {false, true})
      for (bool turned_b : {false, true}) all.push_back({p.m, p.k, p.n, turned_a, turned_b});
  return all;
}

struct GemmOptions {
  Tensor bias = {};
  Activation activation = Activation::none;
  bool accumulate = false;
  Tensor through_relu = {};
};

inline void multiply(const Product& p, const Tensor& a, const Tensor& b, Tensor& c,
                     const GemmOptions& options = {}) {
  const auto form = [](bool turned) { return turned ? kernels::Transpose::yes : kernels::Transpose::no; };
  kernels::gemm({.a = a,
                 .trans_a = form(p.turned_a),
                 .b = b,
                 .trans_b = form(p.turned_b),
                 .bias = options.bias,
                 .activation = options.activation,
                 .accumulate = options.accumulate,
                 .through_relu = options.through_relu,
                 .c = c});
}
/// The product in a new tensor.
inline Tensor multiplied(const Product& p, const Tensor& a, const Tensor& b,
                         const GemmOptions& options = {}) {
  Tensor c = Tensor::full({p.m, p.n}, NAN, a.dtype(), a.device());
  multiply(p, a, b, c, options);
  return c;
}

/// The rows of a product plus a bias, which may be absent, then the activation: none or relu.
inline Numbers finished(Numbers product, const Tensor& bias, Activation activation) {
  const Numbers added = bias ? values(bias) : Numbers{0.0};
  for (size_t i = 0; i < product.size(); ++i) {
    product[i] += added[i % added.size()];
    if (activation == Activation::relu) product[i] = std::max(product[i], 0.0);
  }
  return product;
}

/// A gradient where relu's result is positive, else 0.
inline double through_relu(double gradient, double result) { return result > 0.0 ? gradient : 0.0; }

/// The absolute values, in float64.
inline Tensor sizes(const Tensor& x) {
  return Tensor::from(mapped(x, [](double v) { return std::abs(v); }), x.shape()).to(x.device());
}

/// The largest error of the product c = a b, relative to the sums of the terms' sizes; 1 if one is not
/// finite.
inline double worst_error(const Product& p, const Tensor& a, const Tensor& b, const Numbers& c) {
  const Numbers exact = values(multiplied(p, a.to(DType::f64), b.to(DType::f64))),
                terms = values(multiplied(p, sizes(a), sizes(b)));
  double worst = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    const double error = std::abs(c[i] - exact[i]);
    const double relative = terms[i] > 0 ? error / terms[i] : error == 0 ? 0.0 : 1.0;
    worst = std::max(worst, std::isfinite(c[i]) ? relative : 1.0);
  }
  return worst;
}

}  // namespace adj::test
