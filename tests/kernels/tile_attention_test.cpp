#include "tile_cases.h"
#include <adjoint/kernels/attention/dot_attention.h>
#include <adjoint/kernels/attention/gat.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

/// |a - b| / |b|, NaN where either is. A b that cancels to less than a tenth of normal numbers is taken for
/// so many.
double relative_error(const Tensor& a, const Tensor& b) {
  const Numbers got = values(a), wanted = values(b);
  REQUIRE(got.size() == wanted.size());
  double error = 0.0, size = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += std::pow(got[i] - wanted[i], 2);
    size += wanted[i] * wanted[i];
  }
  return error == 0.0 ? 0.0 : std::sqrt(error / std::max(size, 0.01 * static_cast<double>(got.size())));
}

struct Outputs {
  Tensor o, lse, dq, dk, dv;
};

/// Queries, keys, values and a gradient over a structure.
struct Problem {
  const Edges& edges;
  int64_t heads;
  float scale;
  Tensor q, k, v, d_o;

  Problem(const Edges& of, int64_t h, int64_t width, DType dtype, Device device)
      : edges(of),
        heads(h),
        scale(1.0f / std::sqrt(static_cast<float>(width))),
        q(random_tensor({of.rows(), h * width}, dtype, device)),
        k(random_tensor({of.cols(), h * width}, dtype, device)),
        v(random_tensor(k.shape(), dtype, device)),
        d_o(random_tensor(q.shape(), dtype, device)) {}

  /// Over tiles, or by rows in float64.
  Outputs run(const RowTiles* tiles, const RowTiles* tiles_at) const {
    const auto as = [&](const Tensor& x) { return tiles ? x : x.to(DType::f64); };
    const DType dtype = tiles ? q.dtype() : DType::f64, accumulator = accumulator_dtype(dtype);
    const auto empty = [&](const Tensor& like) {
      return Tensor::full(like.shape(), NAN, dtype, like.device());
    };
    Outputs out{empty(q), Tensor::full({edges.rows(), heads}, NAN, accumulator, q.device()), empty(q),
                empty(k), empty(v)};
    Tensor none, delta = Tensor::empty_like(out.lse);
    kernels::dot_attention({.a = edges.a(),
                            .tiles = tiles,
                            .heads = heads,
                            .scale = scale,
                            .q = as(q),
                            .k = as(k),
                            .v = as(v),
                            .o = out.o,
                            .o_attr = none,
                            .lse = out.lse});
    kernels::dot_attention_backward({.a = edges.a(),
                                     .at = edges.at(),
                                     .tiles = tiles,
                                     .tiles_at = tiles_at,
                                     .heads = heads,
                                     .scale = scale,
                                     .q = as(q),
                                     .k = as(k),
                                     .v = as(v),
                                     .o = out.o,
                                     .lse = out.lse,
                                     .d_o = as(d_o),
                                     .delta = delta,
                                     .dq = out.dq,
                                     .dk = out.dk,
                                     .dv = out.dv,
                                     .ds = none,
                                     .dattr = none,
                                     .du = none});
    return out;
  }
};

constexpr Tensor Outputs::*kOutputs[] = {&Outputs::o, &Outputs::lse, &Outputs::dq, &Outputs::dk,
                                         &Outputs::dv};
const std::string kNames[] = {"o", "lse", "dq", "dk", "dv"};

/// GPUs that have tiles; none is said once, by devices().
template <class F>
void on_tile_devices(F&& f) {
  for (Device device : product_devices())
    if (device.is_cuda())
      for (DType dtype : {DType::f32, DType::bf16}) {
        CAPTURES(device.str(), name_of(dtype));
        f(device, dtype);
      }
}

}  // namespace

TEST_CASE("attention over tiles is attention to the precision of its operands") {
  const std::vector<std::pair<int64_t, int64_t>> shapes{{1, 1},  {3, 5},   {8, 8},   {2, 33},  {4, 64},
                                                        {1, 72}, {2, 100}, {4, 128}, {16, 16}, {1, 128}};
  double largest[2][5] = {};
  on_tile_devices([&](Device device, DType dtype) {
    for (const Named& one : tile_structures())
      for (const auto& [heads, width] : shapes)
        for (int64_t least : {1, 3}) {
          if (one.csr.cols > 1000 && width % 64 != 0) continue;
          CAPTURES(one.name, heads, width, least);
          const Edges edges(one.rows, one.csr.cols, least == 3, device);
          const RowTiles tiles = kernels::make_row_tiles(edges.csr, least),
                         tiles_at = kernels::make_row_tiles(edges.transposed, least);
          const Problem problem(edges, heads, width, dtype, device);
          const Outputs got = problem.run(&tiles, &tiles_at), again = problem.run(&tiles, &tiles_at),
                        wanted = problem.run(nullptr, nullptr);
          for (int k = 0; k < 5; ++k) {
            CAPTURE(kNames[k]);
            const bool f32 = dtype == DType::f32;
            const double error = relative_error(got.*kOutputs[k], wanted.*kOutputs[k]);
            // Errors of few numbers, or of logits of few products, do not even out. NaN fails.
            const double factor = width >= 16 && edges.count() > 1000 ? 1.0 : edges.count() > 1 ? 4.0 : 8.0;
            CHECK(error <= factor * (k < 2 ? (f32 ? 5e-4 : 5e-3) : (f32 ? 1e-3 : 1e-2)));
            largest[f32 ? 0 : 1][k] = std::max(largest[f32 ? 0 : 1][k], error);
            CHECK(same_bits(got.*kOutputs[k], again.*kOutputs[k]));
          }
        }
  });
  for (int t = 0; t < 2; ++t)
    for (int k = 0; k < 5; ++k)
      if (largest[t][k] > 0.0)
        MESSAGE(fmt::format("{} {}: {:.1e}", t == 0 ? "float32" : "bfloat16", kNames[k], largest[t][k]));
}

TEST_CASE("attention over tiles keeps what is not finite to its neighbours, and small gradients") {
  on_tile_devices([&](Device device, DType dtype) {
    const Edges edges(random_rows(300, 300, 40.0, 6), 300, false, device);
    const RowTiles tiles = kernels::make_row_tiles(edges.csr, 2),
                   tiles_at = kernels::make_row_tiles(edges.transposed, 2);
    REQUIRE(tiles.num_tiles() > 0);
    REQUIRE(tiles.rest.entries() > 0);
    constexpr int64_t kWidth = 40;
    for (Tensor Problem::*spoilt : {&Problem::q, &Problem::k, &Problem::v, &Problem::d_o})
      for (float bad : {NAN, std::numeric_limits<float>::infinity()}) {
        // A logit of -inf may make its row NaN or be left out of it.
        if (spoilt == &Problem::k && std::isinf(bad)) continue;
        CAPTURES(bad, spoilt == &Problem::q, spoilt == &Problem::k, spoilt == &Problem::v);
        Problem problem(edges, 2, kWidth, dtype, device);
        Numbers numbers = values(problem.*spoilt);
        numbers[5 * 2 * kWidth + 3] = static_cast<double>(bad);
        numbers[123 * 2 * kWidth + 79] = static_cast<double>(bad);
        problem.*spoilt = Tensor::from(numbers, (problem.*spoilt).shape()).to(dtype).to(device);
        const Outputs got = problem.run(&tiles, &tiles_at), wanted = problem.run(nullptr, nullptr);
        for (int k = 0; k < 5; ++k) {
          CAPTURE(kNames[k]);
          const Numbers a = values(got.*kOutputs[k]), b = values(wanted.*kOutputs[k]);
          for (size_t i = 0; i < a.size(); ++i)
            if (std::isfinite(a[i]) != std::isfinite(b[i])) {
              FAIL_CHECK(kNames[k], " of row ", i / (a.size() / 300), ": ", a[i], ", expected ", b[i]);
              break;
            }
        }
      }
    // Scales far from 1 are taken out of operands.
    Problem small(edges, 2, kWidth, dtype, device);
    for (const auto& [member, power] : std::initializer_list<std::pair<Tensor Problem::*, int>>{
             {&Problem::q, -60}, {&Problem::k, 60}, {&Problem::v, 40}, {&Problem::d_o, -70}}) {
      Numbers numbers = values(small.*member);
      for (double& number : numbers) number = std::ldexp(number, power);
      small.*member = Tensor::from(numbers, (small.*member).shape()).to(dtype).to(device);
    }
    const Outputs got = small.run(&tiles, &tiles_at), wanted = small.run(nullptr, nullptr);
    for (int k = 0; k < 5; ++k) {
      CAPTURE(kNames[k]);
      CHECK(relative_error(got.*kOutputs[k], wanted.*kOutputs[k]) <= (dtype == DType::f32 ? 1e-3 : 2e-2));
    }
  });
}

namespace {

/// GAT's, of features whose logits are products of theirs where `square`, and else numbers of their own.
struct GatProblem {
  const Edges& edges;
  int64_t heads;
  bool square;
  Tensor x, l, r, bias, d_o, source, target;

  GatProblem(const Edges& of, int64_t h, int64_t width, DType dtype, Device device)
      : edges(of),
        heads(h),
        square(of.rows() == of.cols()),
        x(random_tensor({of.cols(), h * width}, dtype, device)),
        l(random_tensor({of.rows(), h}, DType::f32, device)),
        r(random_tensor({of.cols(), h}, DType::f32, device)),
        d_o(random_tensor({of.rows(), h * width}, dtype, device)),
        source(random_tensor({h, width}, dtype, device)),
        target(random_tensor({h, width}, dtype, device)) {
    if (dtype != DType::bf16) bias = random_tensor({h * width}, dtype, device);
  }
  /// O, lse, dl, dr and dx.
  std::vector<Tensor> run(const RowTiles* tiles, const RowTiles* tiles_at) const {
    const DType dtype = tiles ? x.dtype() : DType::f64, accumulator = accumulator_dtype(dtype);
    const auto as = [&](const Tensor& t) { return !t ? t : tiles ? t : t.to(DType::f64); };
    const auto empty = [&](const Shape& shape, DType type) {
      return Tensor::full(shape, NAN, type, x.device());
    };
    Tensor o = empty(d_o.shape(), dtype), lse = empty(l.shape(), accumulator),
           dl = empty(l.shape(), accumulator), dr = empty(r.shape(), accumulator),
           dx = empty(x.shape(), dtype), delta = empty(l.shape(), accumulator), none;
    const Tensor l_terms = as(l), r_terms = as(r);
    kernels::gat({.a = edges.a(),
                  .tiles = tiles,
                  .l = l_terms,
                  .r = r_terms,
                  .x = as(x),
                  .slope = 0.2f,
                  .bias = as(bias),
                  .o = o,
                  .lse = lse});
    kernels::gat_backward({.a = edges.a(),
                           .at = edges.at(),
                           .tiles = tiles,
                           .tiles_at = tiles_at,
                           .l = l_terms,
                           .r = r_terms,
                           .x = as(x),
                           .slope = 0.2f,
                           .bias = as(bias),
                           .o = o,
                           .lse = lse,
                           .d_o = as(d_o),
                           .source = square ? as(source) : Tensor(),
                           .target = square ? as(target) : Tensor(),
                           .delta = delta,
                           .dl = dl,
                           .dr = dr,
                           .dx = dx,
                           .dc = none});
    return {o, lse, dl, dr, dx};
  }
};

const std::string kGatNames[] = {"o", "lse", "dl", "dr", "dx"};

}  // namespace

TEST_CASE("GAT over tiles is GAT to the precision of its operands") {
  const std::vector<std::pair<int64_t, int64_t>> shapes{{1, 1},  {3, 5},   {8, 8},  {2, 33},
                                                        {1, 64}, {2, 100}, {4, 128}};
  double largest[2][5] = {};
  on_tile_devices([&](Device device, DType dtype) {
    for (const Named& one : tile_structures())
      for (const auto& [heads, width] : shapes)
        for (int64_t least : {1, 3}) {
          if (one.csr.cols > 1000 && width % 64 != 0) continue;
          CAPTURES(one.name, heads, width, least);
          const Edges edges(one.rows, one.csr.cols, least == 3, device);
          const RowTiles tiles = kernels::make_row_tiles(edges.csr, least),
                         tiles_at = kernels::make_row_tiles(edges.transposed, least);
          const GatProblem problem(edges, heads, width, dtype, device);
          const auto got = problem.run(&tiles, &tiles_at), again = problem.run(&tiles, &tiles_at),
                     wanted = problem.run(nullptr, nullptr);
          for (size_t k = 0; k < 5; ++k) {
            CAPTURE(kGatNames[k]);
            const bool f32 = dtype == DType::f32;
            const double error = relative_error(got[k], wanted[k]);
            // What a row's logits get cancels but for the slopes: errors are those of ⟨dO, x⟩.
            const double factor = (width >= 16 && edges.count() > 1000 ? 1.0 : 4.0) *
                                  (k == 2 || k == 3 ? std::sqrt(static_cast<double>(width)) : 1.0);
            CHECK(error <= factor * (k < 2 ? (f32 ? 5e-4 : 5e-3) : (f32 ? 1e-3 : 1e-2)));  // NaN fails
            largest[f32 ? 0 : 1][k] = std::max(largest[f32 ? 0 : 1][k], error);
            CHECK(same_bits(got[k], again[k]));
          }
        }
  });
  for (int t = 0; t < 2; ++t)
    for (int k = 0; k < 5; ++k)
      if (largest[t][k] > 0.0)
        MESSAGE(fmt::format("{} {}: {:.1e}", t == 0 ? "float32" : "bfloat16", kGatNames[k], largest[t][k]));
}

TEST_CASE("GAT over tiles keeps what is not finite to its neighbours") {
  on_tile_devices([&](Device device, DType dtype) {
    const Edges edges(random_rows(300, 300, 40.0, 6), 300, false, device);
    const RowTiles tiles = kernels::make_row_tiles(edges.csr, 2),
                   tiles_at = kernels::make_row_tiles(edges.transposed, 2);
    constexpr int64_t kWidth = 40;
    for (Tensor GatProblem::*spoilt : {&GatProblem::x, &GatProblem::l, &GatProblem::r, &GatProblem::d_o}) {
      GatProblem problem(edges, 2, kWidth, dtype, device);
      problem.square = false;  // what comes by logits would reach all of a node's features
      CAPTURES(spoilt == &GatProblem::x, spoilt == &GatProblem::l, spoilt == &GatProblem::r);
      Tensor& bad = problem.*spoilt;
      Numbers numbers = values(bad);
      numbers[numbers.size() / 60] = numbers[numbers.size() / 3 + 1] = NAN;
      bad = Tensor::from(numbers, bad.shape()).to(bad.dtype()).to(device);
      const auto got = problem.run(&tiles, &tiles_at), wanted = problem.run(nullptr, nullptr);
      for (size_t k = 0; k < 5; ++k) {
        const Numbers a = values(got[k]), b = values(wanted[k]);
        for (size_t i = 0; i < a.size(); ++i)
          if (std::isfinite(a[i]) != std::isfinite(b[i])) {
            FAIL_CHECK(kGatNames[k], " at ", i, ": ", a[i], ", expected ", b[i]);
            break;
          }
      }
    }
  });
}

TEST_CASE("attention over tiles refuses what it cannot do") {
  const Device device = Device::cpu();
  const Edges edges(small_rows(), 61, false, device);
  const RowTiles tiles = kernels::make_row_tiles(edges.csr, 1),
                 other = kernels::make_row_tiles(edges.transposed, 1);
  Tensor x = random_tensor({61, 129}), q = random_tensor({8, 129}), o = Tensor::empty({8, 129}),
         lse = Tensor::empty({8, 1}), none;
  const auto call = [&](const RowTiles* with, const Tensor& v, kernels::AttentionDropout dropout) {
    kernels::dot_attention({.a = edges.a(),
                            .tiles = with,
                            .heads = 1,
                            .scale = 1.0f,
                            .q = q,
                            .k = x,
                            .v = v,
                            .dropout = dropout,
                            .o = o,
                            .o_attr = none,
                            .lse = lse});
  };
  CHECK_THROWS_WITH_AS(call(&other, x, {}),
                       "dot_attention: tiles of another structure: [61, 8], expected [8, 61]", Error);
  CHECK_THROWS_WITH_AS(call(&tiles, x, {}),
                       "dot_attention: over tiles expected heads of at most 128 features, got 129", Error);
  x = random_tensor({61, 64}), q = random_tensor({8, 64}), o = Tensor::empty({8, 64});
  CHECK_THROWS_WITH_AS(call(&tiles, x, attention_dropout(true)),
                       "dot_attention: over tiles there is neither attention dropout nor edge features",
                       Error);
  CHECK_THROWS_WITH_AS(call(&tiles, none, {}), "dot_attention: over tiles keys cannot be values", Error);
}
