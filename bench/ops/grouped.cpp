#include "op.h"
#include <adjoint/kernels/dense/grouped_gemm.h>

#include <cmath>
#include <numeric>

namespace adj::ops {

namespace {

/// Sizes of groups whose sum is `rows`: the first has half of them, some have one row or none.
std::vector<int64_t> offsets_of(int64_t rows, int64_t groups) {
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t left = rows - offsets.back();
    offsets.push_back(offsets.back() + (g + 1 == groups ? left
                                        : g % 3 == 2    ? std::min<int64_t>(left, g % 2)
                                                        : left / 2));
  }
  return offsets;
}

}  // namespace

Op grouped_gemm(bool picked, bool turned, bool biased, bool placed) {
  const auto index = [=](Call& c) {
    return picked ? c.in("index", [&] { return c.ints(c.size[0], 0, c.size[0] / 2 + 1); }) : Tensor();
  };
  const auto place = [=](Call& c) {
    return placed ? c.in("place",
                         [&] {
                           std::vector<int32_t> last_first(uz(c.size[0]));
                           std::iota(last_first.rbegin(), last_first.rend(), 0);
                           return Tensor::from(last_first, c.device);
                         })
                  : Tensor();
  };
  const auto offsets = [](Call& c) -> Tensor& {
    return c.in("offsets", [&] { return Tensor::from(offsets_of(c.size[0], c.size[3]), c.device); });
  };
  const auto matrices = [=](const Call& c) {
    return turned ? Shape{c.size[3] * c.size[4], c.size[2], c.size[1]}
                  : Shape{c.size[3] * c.size[4], c.size[1], c.size[2]};
  };
  const auto allowed = [](const Call& c, int64_t terms) {
    return c.dtype == DType::f32 ? 1e-6 * std::sqrt(double(terms + 4)) : c.tolerance();
  };
  const auto input = [=](Call& c) -> Tensor& {
    return c.in("x", {picked ? c.size[0] / 2 + 1 : c.size[0], c.size[1] * c.size[4]});
  };
  Op op{fmt::format("grouped_gemm{}{}{}{}", picked ? " picked" : "", turned ? " turned" : "",
                    biased ? " biased" : "", placed ? " placed" : ""),
        {{0, 3, 5, 2, 1},
         {1, 1, 1, 1, 1},
         {7, 5, 3, 4, 2},
         {300, 16, 8, 7, 1},
         {700, 33, 65, 5, 1},
         {1500, 64, 64, 128, 1},
         {2100, 20, 12, 3, 3},
         {70, 130, 129, 2, 1}},
        [=](Call& c) {
          kernels::grouped_gemm(
              {.x = input(c),
               .index = index(c),
               .place = place(c),
               .offsets = offsets(c),
               .b = c.in("b", matrices(c)),
               .trans_b = turned ? kernels::Transpose::yes : kernels::Transpose::no,
               .bias = biased ? c.in("bias", {c.size[3], c.size[2] * c.size[4]}) : Tensor(),
               .c = c.out("c", {c.size[0], c.size[2] * c.size[4]}).allow(allowed(c, c.size[1]))});
        },
        [=](Plain& p) {
          const Numbers &x = p["x"], &b = p["b"], bias = biased ? p["bias"] : Numbers();
          const Numbers dz = turned ? Numbers() : p["dz"];
          Numbers &c = p["c"], dw(b.size());
          const size_t inner = uz(p.size(1)), outer = uz(p.size(2)), blocks = uz(p.size(4));
          const std::vector<int64_t> groups = offsets_of(p.size(0), p.size(3));
          const std::vector<int32_t> rows = picked ? p.ints("index") : std::vector<int32_t>();
          for (size_t g = 0; g + 1 < groups.size(); ++g)
            for (auto k = uz(groups[g]); k < uz(groups[g + 1]); ++k)
              for (size_t h = 0; h < blocks; ++h)
                for (size_t f = 0; f < outer; ++f) {
                  double sum = biased ? bias[(g * blocks + h) * outer + f] : 0.0;
                  for (size_t d = 0; d < inner; ++d) {
                    const double value = x[((picked ? uz(rows[k]) : k) * blocks + h) * inner + d];
                    const size_t w =
                        (g * blocks + h) * inner * outer + (turned ? f * inner + d : d * outer + f);
                    sum += value * b[w];
                    if (!turned)
                      dw[w] +=
                          value * dz[(placed ? uz(p.size(0)) - 1 - k : k) * blocks * outer + h * outer + f];
                  }
                  c[(placed ? uz(p.size(0)) - 1 - k : k) * blocks * outer + h * outer + f] = sum;
                }
          if (!turned) p["dw"] = dw;
        }};
  if (!turned)
    op.backward = [=](Call& c) {
      kernels::grouped_weight_gradient({.x = c["x"],
                                        .index = picked ? c["index"] : Tensor(),
                                        .place = placed ? c["place"] : Tensor(),
                                        .offsets = c["offsets"],
                                        .dz = c.in("dz", {c.size[0], c.size[2] * c.size[4]}),
                                        .dw = c.out("dw", matrices(c)).allow(allowed(c, c.size[0]))});
    };
  return op;
}

Ops grouped_products() {
  return {grouped_gemm(false, false, true), grouped_gemm(true, false, false),
          grouped_gemm(false, true, false), grouped_gemm(true, true, true),
          grouped_gemm(true, false, true, true)};
}

}  // namespace adj::ops
