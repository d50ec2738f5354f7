#include "op.h"
#include <adjoint/kernels/aggregate/gine_sum.h>

namespace adj::ops {

namespace {

/// Sizes: features, and edge features that are mapped to these, or as many as them. With the gradients of the
/// edge operands that are wanted.
Op gine_sum(bool mapped, bool of_e, bool of_w) {
  const auto edge_features = [=](Call& c) -> Tensor& {
    return c.in("e", {c.links.entries(), c.size[mapped ? 1 : 0]});
  };
  const auto map = [=](Call& c) { return mapped ? c.in("w", {c.size[1], c.size[0]}) : Tensor(); };
  // Sums of many terms are less precise.
  const auto sum = [](Call& c, const char* name, int64_t rows) -> Operand& {
    const double of_f32 = c.links.entries() > 1000 ? 1e-4 : 2e-5;
    return c.out(name, {rows, c.size[0]})
        .allow(c.dtype == DType::f64   ? 1e-12
               : c.dtype == DType::f32 ? of_f32
                                       : 0.02);
  };
  return {fmt::format("gine_sum {} {} {}", mapped, of_e, of_w),
          {{1, 1}, {3, 2}, {8, 8}, {12, 3}, {32, 3}, {33, 4}, {64, 1}, {160, 5}, {20, 17}},
          [=](Call& c) {
            kernels::gine_sum({.a = c.links.a(),
                               .x = c.in("x", {c.links.cols(), c.size[0]}),
                               .e = edge_features(c),
                               .w = map(c),
                               .y = sum(c, "y", c.links.rows())});
          },
          [=](Plain& p) {
            const Numbers &x = p["x"], &e = p["e"], w = mapped ? p["w"] : Numbers(), &dy = p["dy"];
            Numbers &y = p["y"], &dx = p["dx"], de(e.size()), dw(w.size());
            const size_t width = uz(p.size(0)), terms = mapped ? uz(p.size(1)) : 0;
            p.each([&](size_t i, size_t j, size_t k) {
              for (size_t v = 0; v < width; ++v) {
                double z = x[j * width + v] + (mapped ? 0.0 : e[k * width + v]);
                for (size_t c = 0; c < terms; ++c) z += e[k * terms + c] * w[c * width + v];
                if (z <= 0.0) continue;
                const double d = dy[i * width + v];
                y[i * width + v] += z;
                dx[j * width + v] += d;
                if (!mapped) de[k * width + v] = d;
                for (size_t c = 0; c < terms; ++c) {
                  de[k * terms + c] += w[c * width + v] * d;
                  dw[c * width + v] += e[k * terms + c] * d;
                }
              }
            });
            if (of_e) p["de"] = de;
            if (of_w) p["dw"] = dw;
          },
          [=](Call& c) {
            Tensor de, dw;
            if (of_e) de = c.out("de", edge_features(c).shape(), c.accumulator()).allow(2e-4);
            if (of_w) dw = c.out("dw", map(c).shape(), c.accumulator()).allow(2e-4);
            kernels::gine_sum_backward({.at = c.links.at(),
                                        .dy = c.in("dy", {c.links.rows(), c.size[0]}),
                                        .x = c["x"],
                                        .e = edge_features(c),
                                        .w = map(c),
                                        .dx = sum(c, "dx", c.links.cols()),
                                        .de = de,
                                        .dw = dw});
          }};
}

}  // namespace

Ops gine_sums() {
  return {gine_sum(true, true, true),   gine_sum(true, true, false),  gine_sum(true, false, true),
          gine_sum(true, false, false), gine_sum(false, true, false), gine_sum(false, false, false)};
}

}  // namespace adj::ops
