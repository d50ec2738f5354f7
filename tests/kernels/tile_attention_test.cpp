#include "attention_calls.h"
#include "tile_cases.h"

using namespace adj;
using namespace adj::test;

namespace {

/// |a - b| / |b|, NaN where either is. A b that cancels to less than a tenth of normal numbers counts as a
/// tenth.
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

/// f(device, dtype) for GPUs that have tiles; devices() reports once if there is none.
template <class F>
void on_tile_devices(F&& f) {
  for (Device device : product_devices())
    if (device.is_cuda())
      for (DType dtype : {DType::f32, DType::bf16}) {
        CAPTURE(name_of(dtype));
        f(device, dtype);
      }
}

struct Tiles {
  RowTiles by_row, by_column;
  Tiles(const Edges& edges, int64_t least)
      : by_row(kernels::make_row_tiles(edges.csr, least)),
        by_column(kernels::make_row_tiles(edges.transposed, least)) {}
};

/// O, lse and the gradients of `names`: over tiles, or by rows in float64.
template <class Call>
std::vector<Tensor> outputs(Call t, const Tiles* tiles, const std::string& names) {
  if (tiles) {
    t.tiles = &tiles->by_row;
    t.tiles_at = &tiles->by_column;
    t.make_outputs();
  } else {
    t.to_float64();
  }
  t.forward();
  const GradientMap g = t.backward(names);
  std::vector<Tensor> all{t.o, t.lse};
  for (char name : names) all.push_back(g.at(name));
  return all;
}

/// Compares calls over tiles with calls by rows, for make(edges, shape, dtype, device). The k-th output may
/// have an error of factor(edges, width, k) times that of its operands.
template <class Make, class Factor>
void check_precision(const std::vector<std::pair<int64_t, int64_t>>& shapes, const std::string& names,
                     Make make, Factor factor) {
  double largest[2][5] = {};
  on_tile_devices([&](Device device, DType dtype) {
    for (const Named& one : tile_structures())
      for (const auto& [heads, width] : shapes)
        for (int64_t least : {1, 3}) {
          if (one.csr.cols > 1000 && width % 64 != 0) continue;
          CAPTURES(one.name, heads, width, least);
          const Edges edges(one.rows, one.csr.cols, least == 3, device);
          const Tiles tiles(edges, least);
          const auto call = make(edges, AttentionCase{heads, width, 0, false}, dtype, device);
          const auto got = outputs(call, &tiles, names), again = outputs(call, &tiles, names),
                     wanted = outputs(call, nullptr, names);
          for (size_t k = 0; k < 5; ++k) {
            CAPTURE(k);
            const bool f32 = dtype == DType::f32;
            const double error = relative_error(got[k], wanted[k]);
            CHECK(error <= factor(edges, width, k) *
                               (k < 2 ? (f32 ? 5e-4 : 5e-3) : (f32 ? 1e-3 : 1e-2)));  // NaN fails
            largest[f32 ? 0 : 1][k] = std::max(largest[f32 ? 0 : 1][k], error);
            CHECK(same_bits(got[k], again[k]));
          }
        }
  });
  for (int t = 0; t < 2; ++t)
    for (size_t k = 0; k < 5; ++k)
      if (largest[t][k] > 0.0)
        MESSAGE(fmt::format("{} {}: {:.1e}", t == 0 ? "float32" : "bfloat16",
                            k == 0   ? "o"
                            : k == 1 ? "lse"
                                     : fmt::format("gradient of {}", names[k - 2]),
                            largest[t][k]));
}

/// Checks that outputs over tiles are finite where those by rows are, with each of these numbers at two
/// positions of the operand.
template <class Call>
void check_not_finite(const std::string& names,
                      std::initializer_list<std::pair<Tensor Call::*, double>> spoilt_operands) {
  on_tile_devices([&](Device device, DType dtype) {
    const Edges edges(random_rows(300, 300, 40.0, 6), 300, false, device);
    const Tiles tiles(edges, 2);
    REQUIRE(tiles.by_row.num_tiles() > 0);
    REQUIRE(tiles.by_row.rest.entries() > 0);
    for (size_t s = 0; s < spoilt_operands.size(); ++s) {
      const auto& [operand, bad] = spoilt_operands.begin()[s];
      CAPTURES(s, bad);
      Call call(edges, {2, 40, 0, false}, dtype);
      const auto n = uz((call.*operand).numel());
      call.*operand = spoilt(call.*operand, 1.0, {n / 60 + 2, n * 123 / 300 + 79}, bad);
      const auto got = outputs(call, &tiles, names), wanted = outputs(call, nullptr, names);
      for (size_t k = 0; k < 5; ++k) {
        CAPTURE(k);
        const Numbers a = values(got[k]), b = values(wanted[k]);
        for (size_t i = 0; i < a.size(); ++i)
          if (std::isfinite(a[i]) != std::isfinite(b[i])) {
            FAIL_CHECK("row ", i / (a.size() / 300), ": ", a[i], ", expected ", b[i]);
            break;
          }
      }
    }
  });
}

}  // namespace

TEST_CASE("attention over tiles equals attention to the precision of its operands") {
  check_precision(
      {{1, 1}, {3, 5}, {8, 8}, {2, 33}, {4, 64}, {1, 72}, {2, 100}, {4, 128}, {16, 16}, {1, 128}}, "qkv",
      [](const Edges& edges, const AttentionCase& shape, DType dtype, Device) {
        return DotCall(edges, shape, dtype);
      },
      [](const Edges& edges, int64_t width, size_t) {
        // Errors of few numbers, or of logits of few products, do not average out.
        return width >= 16 && edges.count() > 1000 ? 1.0 : edges.count() > 1 ? 4.0 : 8.0;
      });
}

TEST_CASE("GAT over tiles equals GAT to the precision of its operands") {
  check_precision(
      {{1, 1}, {3, 5}, {8, 8}, {2, 33}, {1, 64}, {2, 100}, {4, 128}}, "lrx",
      [](const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
        GatCall t(edges, shape, dtype);
        if (dtype != DType::bf16) t.bias = random_tensor({t.heads * t.width}, dtype, device);
        if (edges.rows() != edges.cols()) return t;
        t.source = random_tensor({t.heads, t.width}, dtype, device);
        t.target = random_tensor({t.heads, t.width}, dtype, device);
        return t;
      },
      [](const Edges& edges, int64_t width, size_t k) {
        // A row's gradients of logits cancel except for the slopes: errors are those of ⟨dO, x⟩.
        return (width >= 16 && edges.count() > 1000 ? 1.0
                : edges.count() > 1                 ? 4.0
                                                    : 8.0) *
               (k == 2 || k == 3 ? std::sqrt(static_cast<double>(width)) : 1.0);
      });
}

TEST_CASE("in attention over tiles NaN and infinities reach only neighbours") {
  // A logit of -inf may make its row NaN or be ignored: no infinity in k.
  check_not_finite<DotCall>("qkv", {{&DotCall::q, NAN},
                                    {&DotCall::q, INFINITY},
                                    {&DotCall::k, NAN},
                                    {&DotCall::v, NAN},
                                    {&DotCall::v, INFINITY},
                                    {&DotCall::d_o, NAN},
                                    {&DotCall::d_o, INFINITY}});
  check_not_finite<GatCall>(
      "lrx", {{&GatCall::x, NAN}, {&GatCall::l, NAN}, {&GatCall::r, NAN}, {&GatCall::d_o, NAN}});
}

TEST_CASE("attention over tiles scales operands far from 1") {
  on_tile_devices([&](Device device, DType dtype) {
    const Edges edges(random_rows(300, 300, 40.0, 6), 300, false, device);
    const Tiles tiles(edges, 2);
    // Also products of scales below the least float32.
    for (const auto& [q, k, v, d_o] : {std::array{0x1p-60, 0x1p60, 0x1p40, 0x1p-70},
                                       {0x1p-70, 0x1p-60, 1.0, 1.0},
                                       {1.0, 1.0, 0x1p-75, 0x1p-70}}) {
      CAPTURES(q, k, v, d_o);
      DotCall call(edges, {2, 40, 0, false}, dtype);
      call.q = spoilt(call.q, q, {});
      call.k = spoilt(call.k, k, {});
      call.v = spoilt(call.v, v, {});
      call.d_o = spoilt(call.d_o, d_o, {});
      const auto got = outputs(call, &tiles, "qkv"), wanted = outputs(call, nullptr, "qkv");
      for (size_t n = 0; n < 5; ++n) {
        CAPTURE(n);
        CHECK(relative_error(got[n], wanted[n]) <= (dtype == DType::f32 ? 1e-3 : 2e-2));
      }
    }
  });
}

TEST_CASE("errors of attention over tiles") {
  const Edges edges(small_rows(), 61, false, {});
  const Tiles tiles(edges, 1);
  const auto call = [&](int64_t width, const RowTiles& with, bool dropout = false, Values kind = Values::v) {
    DotCall t(edges, {1, width, 0, dropout}, DType::f32, kind);
    t.tiles = &with;
    t.forward();
  };
  CHECK_ERROR(call(129, tiles.by_column),
              "dot_attention: tiles of another structure: [61, 8], expected [8, 61]");
  CHECK_ERROR(call(129, tiles.by_row),
              "dot_attention: over tiles expected heads of at most 128 features, got 129");
  CHECK_ERROR(call(64, tiles.by_row, true),
              "dot_attention: over tiles there is neither attention dropout nor edge features");
  CHECK_ERROR(call(64, tiles.by_row, false, Values::keys), "dot_attention: over tiles keys cannot be values");
}
