#include "attention_calls.h"
#include <adjoint/kernels/attention/head_dot.h>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<AttentionCase> kWide{
    {1, 1, 0, false},   {8, 1, 0, true},     {3, 3, 1, true},  {8, 8, 0, true},  {8, 8, 1, false},
    {2, 33, 0, false},  {5, 7, 1, true},     {4, 16, 0, true}, {1, 64, 1, true}, {6, 128, 0, true},
    {2, 256, 0, false}, {1, 1024, 1, false}, {7, 2, 0, true},  {2, 12, 1, true}};
const std::vector<AttentionCase> kFew{{8, 8, 0, true}, {4, 16, 1, false}, {1, 7, 0, true}, {3, 5, 1, true}};

void compare(const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
  GatCall t(edges, shape, dtype);
  const auto H = uz(t.heads), D = uz(t.width);
  const double allowed = attention_tolerance(dtype, t.width);
  const Numbers L = values(t.l), R = values(t.r), X = values(t.x), dO = values(t.d_o),
                C = t.c ? values(t.c) : Numbers(uz(edges.count()) * H);
  Numbers z(C), e(C.size());
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t h = 0; h < H; ++h) {
      z[k * H + h] += L[i * H + h] + R[j * H + h];
      e[k * H + h] = z[k * H + h] * slope_at(z[k * H + h]);
    }
  });
  const auto value = [&](size_t j, size_t, size_t h, size_t c) { return X[(j * H + h) * D + c]; };
  const PlainAttention plain(edges, H, D, e, dropout_mask(e.size(), t.dropout.key, t.dropout.rule), value);
  t.forward();
  CHECK(close(t.o, with_bias(plain.o, t.bias), allowed));
  CHECK(close(t.lse, plain.lse, attention_tolerance(t.accumulator)));

  Numbers de = plain.backward(dO, value), dl(L.size()), dr(R.size());
  for (size_t k = 0; k < de.size(); ++k) de[k] *= slope_at(z[k]);
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t h = 0; h < H; ++h) {
      dl[i * H + h] += de[k * H + h];
      dr[j * H + h] += de[k * H + h];
    }
  });
  const GradientMap g = t.backward();
  const Numbers dx = plain.value_gradients(dO, D);
  const auto [of_delta, of_sources] = plain.logit_errors(dO, dtype);
  CHECK(close(g.at('l'), dl, allowed + of_delta));
  CHECK(close(g.at('r'), dr, allowed + of_sources));
  CHECK(close(g.at('x'), dx, allowed));
  if (t.c) CHECK(close(g.at('c'), de, allowed + of_delta));
  if (edges.rows() != edges.cols()) return;
  t.source = random_tensor({t.heads, t.width}, dtype, device);
  t.target = random_tensor({t.heads, t.width}, dtype, device);
  const Numbers S = values(t.source), T = values(t.target);
  Numbers whole = dx;
  for (size_t f = 0; f < whole.size(); ++f) {
    const size_t node = f / (H * D), in_row = f % (H * D), h = in_row / D;
    whole[f] += dl[node * H + h] * T[in_row] + dr[node * H + h] * S[in_row];
  }
  CHECK(close(t.backward("lrx").at('x'), whole, allowed + 4 * of_sources));
}

}  // namespace

TEST_CASE("gat and its gradients equal plain loops") { for_attention_cases(kWide, kFew, compare); }

TEST_CASE("gat of narrow rows, several to a vector, equals plain loops") { for_narrow_cases(compare); }

TEST_CASE("gat's gradients are the same alone and together, and on any number of threads") {
  for (Device device : devices())
    for (bool featured : {false, true}) {
      CAPTURE(featured);
      const Edges edges(skewed_rows(), 61, true, device);
      GatCall t(edges, {4, 16, featured ? 1 : 0, true}, DType::f32);
      check_same_gradients(t, "lrx");
      if (!featured) continue;
      CHECK(close(t.backward("lc").at('l'), values(t.backward("lrx").at('l')), 1e-4));
      CHECK(same_bits(t.backward("c").at('c'), t.backward("lrxc").at('c')));
      CHECK(same_bits_on_any_threads([&] { return t.backward("c").at('c'); }));
    }
}

TEST_CASE("gat with large logits is finite, -inf has weight 0, and NaN is passed on") {
  for (Device device : devices())
    for (int32_t repeats : {1, 4000, 12000}) {  // of the first row: a short one, and ones in parts
      CAPTURE(repeats);
      Rows rows{{}, {0, 1}, {3, 3}, {2, 0}, {4}, {}};
      for (int32_t k = 0; k < repeats; ++k) rows[0].insert(rows[0].end(), {0, 3, 1});
      const Edges edges(rows, 5, false, device);
      GatCall t(edges, {1, 2, 0, false}, DType::f32);
      // Sources 0 and 1 have equal, huge terms, 2 has NaN, 3 has -inf.
      t.l = Tensor::from<float>({0, -6e37f, 0, 0, 0, 0}, {6, 1}, device);
      t.r = Tensor::from<float>({3e38f, 3e38f, NAN, -INFINITY, -1e4f}, {5, 1}, device);
      t.x = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2}, device);
      t.forward();
      const Numbers o = values(t.o), lse = values(t.lse);
      CHECK(o[0] == doctest::Approx(2.0));  // only sources 0 and 1
      CHECK(o[1] == doctest::Approx(3.0));
      CHECK(o[2] == 2.0);
      CHECK(o[3] == 3.0);
      CHECK(std::isnan(o[4]));  // only -inf
      CHECK(std::isnan(o[6]));  // one NaN
      CHECK(o[8] == 9.0);
      CHECK(lse[4] == doctest::Approx(-2e3));
      CHECK(o[10] == 0.0);  // no edges
      CHECK(lse[5] == 0.0);
      const GradientMap g = t.backward();
      const Numbers dl = values(g.at('l')), dx = values(g.at('x'));
      CHECK(std::isnan(dl[3]));
      CHECK(dl[5] == 0.0);
      CHECK(std::isnan(dx[4]));  // of source 2, by the row that is not a number
      CHECK(!std::isnan(dx[2]));
    }
}

TEST_CASE("in gat a NaN stays in its head") {
  for (Device device : devices()) {
    const Edges edges(symmetric_rows(), 61, false, device);
    GatCall t(edges, {3, 5, 0, false}, DType::f32);
    t.l = spoilt(t.l, 1.0, {4 * 3 + 1});
    t.forward();
    check_nan(t.o, of_target_4_head_1);
    check_nan(t.backward().at('l'), [](size_t k) { return k == 13; });
  }
}

TEST_CASE("with a bias far larger than gat's sums, gradients lose no more than the rounding of O") {
  check_large_bias<GatCall>();
}

TEST_CASE("head_dot and its gradients equal plain loops") {
  on_devices_and_features([](Device device, DType dtype) {
    for (auto [nodes, heads, width] : {std::array<int64_t, 3>{0, 2, 3},
                                       {1, 1, 1},
                                       {37, 8, 8},
                                       {500, 5, 33},
                                       {3000, 4, 16},
                                       {70, 1, 1024},
                                       {65, 7, 128},
                                       {20000, 1, 7}}) {
      CAPTURES(nodes, heads, width);
      const DType accumulator = accumulator_dtype(dtype);
      const auto H = uz(heads), D = uz(width);
      const Tensor x = random_tensor({nodes, heads * width}, dtype, device);
      const Tensor a[2] = {random_tensor({heads, width}, dtype, device),
                           random_tensor({heads, width}, dtype, device)};
      const Tensor dy[2] = {random_tensor({nodes, heads}, accumulator, device),
                            random_tensor({nodes, heads}, accumulator, device)};
      const Numbers X = values(x), A[2] = {values(a[0]), values(a[1])},
                    dY[2] = {values(dy[0]), values(dy[1])};
      Numbers y[2], da[2], dx[2];
      for (int v = 0; v < 2; ++v) {
        y[v].resize(uz(nodes) * H);
        da[v].resize(H * D);
        dx[v].resize(X.size());
        if (v == 1) dx[1] = dx[0];
        for (size_t f = 0; f < X.size(); ++f) {
          const size_t in_row = f % (H * D), t = f / D;
          y[v][t] += X[f] * A[v][in_row];
          da[v][in_row] += X[f] * dY[v][t];
          dx[v][f] += A[v][in_row] * dY[v][t];
        }
      }
      const double allowed = attention_tolerance(dtype) * 4;
      Tensor y1 = random_tensor({nodes, heads}, accumulator, device), y2 = y1.clone(), none;
      kernels::head_dot({.x = x, .a = a[0], .y = y1, .y2 = none});
      CHECK(close(y1, y[0], attention_tolerance(accumulator) * 4));
      const Tensor alone = y1.clone();
      kernels::head_dot({.x = x, .a = a[0], .a2 = a[1], .y = y1, .y2 = y2});
      CHECK(same_bits(y1, alone));
      CHECK(close(y2, y[1], attention_tolerance(accumulator) * 4));

      Tensor dx1 = random_tensor(x.shape(), dtype, device), da1 = random_tensor(a[0].shape(), dtype, device),
             da2 = da1.clone(), dbias = random_tensor({heads * width}, dtype, device);
      kernels::head_dot_backward(
          {.x = x, .a = a[0], .dy = dy[0], .dx = dx1, .da = da1, .da2 = none, .dbias = none});
      CHECK(close(dx1, dx[0], allowed));
      CHECK(close(da1, da[0], allowed));
      const Tensor d_o = random_tensor(x.shape(), dtype, device);
      const auto backward = [&](const Tensor& of_o, Tensor& to_x, Tensor& to_a, Tensor& to_bias) {
        kernels::head_dot_backward({.x = x,
                                    .a = a[0],
                                    .a2 = a[1],
                                    .dy = dy[0],
                                    .dy2 = dy[1],
                                    .d_o = of_o,
                                    .dx = to_x,
                                    .da = to_a,
                                    .da2 = da2,
                                    .dbias = to_bias});
      };
      backward({}, dx1, da1, none);
      CHECK(close(dx1, dx[1], allowed));
      CHECK(close(da1, da[0], allowed));
      CHECK(close(da2, da[1], allowed));
      const Tensor da1_alone = da1.clone(), da2_alone = da2.clone();
      backward(d_o, none, da1, dbias);
      CHECK(close(dbias, column_sums(d_o), allowed));
      CHECK(same_bits(da1, da1_alone));
      CHECK(same_bits(da2, da2_alone));
      CHECK(same_bits_on_any_threads([&] {
        backward({}, none, none, none);
        return da2.clone();
      }));
    }
  });
}

TEST_CASE("gat and head_dot reject mismatched arguments, naming them") {
  const Edges edges(small_rows(), 61, false, {});
  const auto call = [&](auto change) {
    GatCall t(edges, {2, 3, 0, false}, DType::f32);
    change(t);
    t.forward();
    t.backward("lrx");
  };
  const Tensor two = Tensor::zeros({2, 3});
  CHECK_ERROR_HAS(call([](GatCall& t) { t.l = Tensor::zeros({8, 4}); }), "do not divide into 4 heads");
  CHECK_ERROR_HAS(call([](GatCall& t) { t.l = Tensor::zeros({7, 2}); }), "gat: l is [7, 2]");
  CHECK_ERROR_HAS(call([](GatCall& t) { t.c = Tensor::zeros({t.count(), 3}); }), "for 2 heads");
  CHECK_ERROR_HAS(call([](GatCall& t) { t.x = Tensor::zeros({61, 0}); }), "0 columns of x");
  CHECK_ERROR_HAS(call([&](GatCall& t) { t.source = two; }), "source without target");
  CHECK_ERROR_HAS(call([&](GatCall& t) { t.source = t.target = two; }), "one set of nodes");
}
