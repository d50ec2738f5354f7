#include "op.h"
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/edge/edge.h>

#include <cmath>

namespace adj::ops {

namespace {

/// Relative to the largest sum, as tens of thousands of terms may cancel.
double sum_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 8e-3 : 2e-4; }
double product_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : 1e-5; }

/// [n] for no heads, else [n, heads], which are the last of the sizes.
Shape head_shape(const Call& c, int64_t n) { return c.size.back() == 0 ? Shape{n} : Shape{n, c.size.back()}; }
Shape edge_shape(const Call& c) { return head_shape(c, c.links.entries()); }
/// [n, features of all heads]
Shape feature_shape(const Call& c, int64_t n) { return {n, c.size[0] * std::max<int64_t>(c.size[1], 1)}; }

Tensor& source(Call& c) { return c.in("x", feature_shape(c, c.links.cols())); }
Tensor& target(Call& c, const char* name) { return c.in(name, feature_shape(c, c.links.rows())); }
Tensor weight(Call& c, bool weighted) {
  return weighted ? c.in("weight", edge_shape(c), c.accumulator()) : Tensor();
}
Operand& sums(Call& c, const char* name, int64_t rows) {
  return c.out(name, feature_shape(c, rows)).allow(sum_tolerance(c.dtype));
}
Operand& products(Call& c) {
  return c.out("dw", edge_shape(c), c.accumulator()).allow(product_tolerance(c.dtype));
}

/// f(edge's and head's place, target's place, source's place) for each edge and feature.
template <class F>
void each_term(const Plain& p, F f) {
  const size_t heads = uz(std::max<int64_t>(p.size(1), 1)), width = uz(p.size(0)), all = heads * width;
  p.each([&](size_t i, size_t j, size_t k) {
    for (size_t c = 0, h = k * heads; h < (k + 1) * heads; ++h)
      for (const size_t end = c + width; c < end; ++c) f(h, i * all + c, j * all + c);
  });
}

auto plain_spmm(bool weighted) {
  return [=](Plain& p) {
    Numbers &y = p["y"], &dx = p["dx"], &dw = p["dw"];
    const Numbers &x = p["x"], &dy = p["dy"], w = weighted ? p["weight"] : Numbers(dw.size(), 1.0);
    each_term(p, [&](size_t k, size_t i, size_t j) {
      y[i] += w[k] * x[j];
      dx[j] += w[k] * dy[i];
      dw[k] += dy[i] * x[j];
    });
  };
}

const Sizes& widths() {
  static const Sizes sizes{{0, 0},   {1, 0},   {2, 0},   {3, 0},   {7, 0},   {8, 0},   {15, 0},
                           {16, 0},  {17, 0},  {40, 0},  {64, 0},  {72, 0},  {100, 0}, {128, 0},
                           {129, 0}, {130, 0}, {256, 0}, {300, 0}, {1, 1},   {3, 2},   {8, 2},
                           {16, 2},  {33, 2},  {64, 1},  {300, 1}, {300, 2}, {600, 1}, {600, 2},
                           {1, 3},   {8, 3},   {16, 8},  {33, 3},  {64, 8},  {24, 4}};
  return sizes;
}

auto plain_with_bias(Activation activation, bool weighted) {
  return [=](Plain& p) {
    Numbers &y = p["y"], &x = p["x"];
    const Numbers w = weighted ? p["weight"] : Numbers(uz(p.links().entries()), 1.0);
    each_term(p, [&](size_t k, size_t i, size_t j) { y[i] += w[k] * x[j]; });
    y = zipped(y, p["bias"], [=](double sum, double b) { return activated(activation, sum + b, 0.0); });
  };
}

Op spmm_with_bias(Activation activation) {
  return {"spmm with a bias",
          {{37, 0}, {8, 2}, {64, 1}, {33, 3}},
          [=](Call& c) {
            kernels::spmm({.a = c.links.a(weight(c, true)),
                           .x = source(c),
                           .bias = c.in("bias", {feature_shape(c, 1)[1]}),
                           .activation = activation,
                           .y = sums(c, "y", c.links.rows())});
          },
          plain_with_bias(activation, true)};
}

const Sizes kListWidths{{0, 0}, {1, 0}, {3, 0}, {8, 0}, {33, 0}, {64, 0}, {128, 0}, {130, 0}, {256, 0}};

/// Sums over a list: by sequential additions, so that a long row's error is larger than that of other sums.
Operand& list_sums(Call& c, const char* name, int64_t rows) {
  return sums(c, name, rows).allow(c.dtype == DType::f32 ? 2e-5 : sum_tolerance(c.dtype));
}
Operand& list_products(Call& c) { return products(c).allow(c.dtype == DType::f64 ? 1e-12 : 2e-5); }

Op spmm_coo_with_bias() {
  return {"spmm_coo with a bias and relu", kListWidths,
          [](Call& c) {
            kernels::spmm_coo({.a = c.links.list,
                               .x = source(c),
                               .bias = c.in("bias", {c.size[0]}),
                               .activation = Activation::relu,
                               .y = list_sums(c, "y", c.links.rows())});
          },
          plain_with_bias(Activation::relu, false)};
}

Op spmm_coo_weight_gradient() {
  return {
      "gradient of the weights of spmm_coo", kListWidths,
      [](Call& c) {
        Tensor absent;
        kernels::spmm_coo_backward(
            {.a = c.links.list, .dy = target(c, "dy"), .x = source(c), .dx = absent, .dw = list_products(c)});
      },
      [](Plain& p) {
        Numbers &dw = p["dw"], &x = p["x"], &dy = p["dy"];
        each_term(p, [&](size_t k, size_t i, size_t j) { dw[k] += dy[i] * x[j]; });
      }};
}

const Sizes kHeads{{0}, {1}, {3}, {4}, {8}, {40}};

Op edge_add() {
  return {"edge_add and edge_sum", kHeads,
          [](Call& c) {
            kernels::edge_add({.a = c.links.a(),
                               .l = c.in("l", head_shape(c, c.links.rows())),
                               .r = c.in("r", head_shape(c, c.links.cols())),
                               .e = c.out("e", edge_shape(c), c.accumulator())});
          },
          [](Plain& p) {
            const size_t heads = uz(std::max<int64_t>(p.size(0), 1));
            Numbers &e = p["e"], &l = p["l"], &r = p["r"], &dl = p["dl"], &dr = p["dr"], &de = p["de"];
            p.each([&](size_t i, size_t j, size_t k) {
              for (size_t h = 0; h < heads; ++h) {
                e[k * heads + h] = l[i * heads + h] + r[j * heads + h];
                dl[i * heads + h] += de[k * heads + h];
                dr[j * heads + h] += de[k * heads + h];
              }
            });
          },
          [](Call& c) {
            const double error = c.dtype == DType::bf16 ? 8e-3 : 4 * c.tolerance();
            const Tensor& de = c.in("de", edge_shape(c), c.accumulator());
            kernels::edge_sum(
                {.a = c.links.a(), .e = de, .y = c.out("dl", head_shape(c, c.links.rows())).allow(error)});
            kernels::edge_sum(
                {.a = c.links.at(), .e = de, .y = c.out("dr", head_shape(c, c.links.cols())).allow(error)});
          }};
}

Op edge_mean(bool weighted) {
  return {
      "edge_mean", kHeads,
      [=](Call& c) {
        kernels::edge_mean({.a = c.links.a(),
                            .w = weight(c, weighted),
                            .y = c.out("y", edge_shape(c), c.accumulator()).over(weighted ? "weight" : "")});
      },
      [=](Plain& p) {
        const size_t heads = uz(std::max<int64_t>(p.size(0), 1));
        Numbers &y = p["y"], length(uz(p.links().rows()));
        p.each([&](size_t i, size_t, size_t) { ++length[i]; });
        p.each([&](size_t i, size_t, size_t k) {
          for (size_t e = k * heads; e < (k + 1) * heads; ++e)
            y[e] = (weighted ? p["weight"][e] : 1.0) / length[i];
        });
      }};
}

}  // namespace

Op spmm(bool weighted) {
  return {weighted ? "spmm" : "spmm of ones", widths(),
          [=](Call& c) {
            kernels::spmm(
                {.a = c.links.a(weight(c, weighted)), .x = source(c), .y = sums(c, "y", c.links.rows())});
          },
          plain_spmm(weighted),
          [=](Call& c) {
            kernels::spmm_backward({.at = c.links.at(weight(c, weighted)),
                                    .dy = target(c, "dy"),
                                    .x = source(c),
                                    .dx = sums(c, "dx", c.links.cols()),
                                    .dw = products(c)});
          }};
}

Op sddmm() {
  return {"sddmm", widths(),
          [](Call& c) {
            kernels::sddmm({.a = c.links.a(), .y = target(c, "y"), .x = source(c), .dw = products(c)});
          },
          [](Plain& p) {
            Numbers &dw = p["dw"], &x = p["x"], &y = p["y"];
            each_term(p, [&](size_t k, size_t i, size_t j) { dw[k] += y[i] * x[j]; });
          }};
}

Op edge_softmax() {
  return {"edge_softmax", kHeads,
          [](Call& c) {
            const Tensor& e = c.in("e", edge_shape(c));
            kernels::edge_softmax(
                {.a = c.links.a(),
                 .e = e,
                 .y = c.out("y", e.shape(), c.accumulator()).over(c.dtype == DType::bf16 ? "" : "e")});
          },
          [](Plain& p) {
            const size_t heads = uz(std::max<int64_t>(p.size(0), 1));
            Numbers &y = p["y"], &e = p["e"], &dy = p["dy"], &de = p["de"];
            const Numbers stored = p.stored("y");
            Numbers sum(uz(p.links().rows()) * heads), along(sum.size());
            p.each([&](size_t i, size_t, size_t k) {
              for (size_t h = 0; h < heads; ++h) {
                sum[i * heads + h] += std::exp(e[k * heads + h]);
                along[i * heads + h] += stored[k * heads + h] * dy[k * heads + h];
              }
            });
            p.each([&](size_t i, size_t, size_t k) {
              for (size_t h = 0; h < heads; ++h) {
                y[k * heads + h] = std::exp(e[k * heads + h]) / sum[i * heads + h];
                de[k * heads + h] = stored[k * heads + h] * (dy[k * heads + h] - along[i * heads + h]);
              }
            });
          },
          [](Call& c) {
            const Tensor& dy = c.in("dy", edge_shape(c), c.accumulator());
            kernels::edge_softmax_backward(
                {.a = c.links.a(),
                 .y = c.in("y", dy.shape(), c.accumulator()),
                 .dy = dy,
                 .de = c.out("de", dy.shape()).over(c.dtype == DType::bf16 ? "" : "dy")});
          }};
}

Op spmm_coo(bool weighted, kernels::ScatterSums method) {
  return {weighted ? "spmm_coo" : "spmm_coo of ones", kListWidths,
          [=](Call& c) {
            kernels::spmm_coo({.a = c.links.list,
                               .values = weight(c, weighted),
                               .x = source(c),
                               .sums = method,
                               .y = list_sums(c, "y", c.links.rows())});
          },
          plain_spmm(weighted),
          [=](Call& c) {
            kernels::spmm_coo_backward({.a = c.links.list,
                                        .values = weight(c, weighted),
                                        .dy = target(c, "dy"),
                                        .x = source(c),
                                        .sums = method,
                                        .dx = list_sums(c, "dx", c.links.cols()),
                                        .dw = list_products(c)});
          }};
}

Ops list_products() {
  Ops ops{spmm_coo(true), spmm_coo(false), spmm_coo_with_bias(), spmm_coo_weight_gradient()};
  for (Op& op : ops) op.f64_on_gpu = false;
  return ops;
}

Ops sparse_products() {
  return {spmm(true), spmm(false), sddmm(), spmm_with_bias(Activation::none),
          spmm_with_bias(Activation::relu)};
}

Ops edge_kernels() { return {edge_softmax(), edge_add(), edge_mean(true), edge_mean(false)}; }

}  // namespace adj::ops
