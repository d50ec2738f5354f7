#include "bit_cases.h"
#include "cases.h"
#include <adjoint/autograd/fake_quantize.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

enum class Shared { all, column, row };

/// Numbers, scales and zeros of a case, on the CPU.
struct Case {
  int64_t rows, cols;
  int bits;
  Shared shared;
  Tensor x, scale, zero;

  Case(int64_t r, int64_t c, int b, Shared s, bool symmetric) : rows(r), cols(c), bits(b), shared(s) {
    x = random_tensor({r, c});
    // Numbers in the middle between two integers, at the ends and far beyond them.
    const int64_t n = count();
    const Numbers drawn = values(random_tensor({n}));
    const int last = (1 << b) - 1;
    std::vector<float> scales, zeros;
    for (int64_t i = 0; i < n; ++i) {
      const double value = drawn[uz(i)];
      scales.push_back(i % 3 == 0 ? 0.25f : static_cast<float>(0.05 + std::abs(value) / last));
      zeros.push_back(symmetric ? static_cast<float>(last) / 2.0f : static_cast<float>(i % (last + 1)));
    }
    scale = Tensor::from(scales);
    zero = Tensor::from(zeros);
    float* number = x.mutable_data<float>();
    for (int64_t i = 0; i < x.numel(); ++i)
      if (i % 4 == 0) number[i] = 0.125f * static_cast<float>(i % 41 - 20);
    if (x.numel() > 9) number[9] = 1e30f;
    if (x.numel() > 11) number[11] = -1e30f;
  }
  PackedAlong along() const { return shared == Shared::column ? PackedAlong::columns : PackedAlong::rows; }
  int64_t count() const { return shared == Shared::all ? 1 : shared == Shared::column ? cols : rows; }
  size_t index(int64_t r, int64_t c) const {
    return uz(shared == Shared::all ? 0 : shared == Shared::column ? c : r);
  }
};

template <class F>
void for_cases(F f) {
  for (int bits = 1; bits <= 8; ++bits)
    for (const Shared shared : {Shared::all, Shared::column, Shared::row})
      for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
               {1, 1}, {3, 5}, {17, 8}, {130, 33}, {7, 260}, {1001, 4}, {1, 40}, {0, 3}, {4, 0}}) {
        CAPTURES(bits, static_cast<int>(shared), rows, cols);
        f(Case(rows, cols, bits, shared, (bits + rows) % 2 == 0));
      }
}

/// Every third row.
Tensor some_rows(int64_t rows) {
  std::vector<uint8_t> keep(uz(rows));
  for (size_t r = 1; r < keep.size(); r += 3) keep[r] = 1;
  return Tensor::from(keep);
}

}  // namespace

TEST_CASE("fake_quantize equals to_values(to_bits()) to the bit, and does not change kept rows") {
  for_cases([](const Case& c) {
    const Tensor keep = some_rows(c.rows);
    for (Device device : devices()) {
      const Tensor x = c.x.to(device), scale = c.scale.to(device), zero = c.zero.to(device);
      const Tensor expected = to_values(to_bits(x, c.bits, scale, zero, c.along()), c.along());
      const Tensor y = fake_quantize(Var(x), c.bits, Var(scale), zero, {.along = c.along()}).value();
      CHECK(same_bits(y, expected));
      const Tensor kept =
          fake_quantize(Var(x), c.bits, Var(scale), zero, {.along = c.along(), .keep = keep.to(device)})
              .value();
      const auto before = c.x.to_vector<float>(), all = expected.to_vector<float>(),
                 now = kept.to_vector<float>();
      const auto which = keep.to_vector<uint8_t>();
      for (size_t i = 0; i < now.size(); ++i) CHECK(now[i] == (which[i / uz(c.cols)] ? before[i] : all[i]));
    }
  });
}

TEST_CASE("fake_quantize by hand: ties go to even, numbers out of range are clamped, NaN is 0") {
  for (Device device : devices()) {
    const Tensor x = Tensor::from<float>({0.25f, 0.75f, 1.25f, -0.25f, -9.0f, 9.0f, NAN, INFINITY, -INFINITY},
                                         {1, 9}, device);
    const Tensor half = scalar(0.5f, device), one = scalar(1.0f, device);
    // v = x / 0.5 + 1 = 1.5, 2.5, 3.5, 0.5, …, within 0 to 3.
    const Tensor y = fake_quantize(Var(x), 2, Var(half), one).value();
    CHECK(y.to_vector<float>() ==
          std::vector<float>{0.5f, 0.5f, 1.0f, -0.5f, -0.5f, 1.0f, -0.5f, 1.0f, -0.5f});
    Var leaf = Var::parameter(x.clone()), scale = Var::parameter(half.clone());
    sum(fake_quantize(leaf, 2, scale, one)).backward();
    CHECK(leaf.grad().to_vector<float>() == std::vector<float>{1, 1, 0, 1, 0, 0, 0, 0, 0});
    // round(v) - v = 0.5, -0.5; above 2; -0.5; below -1; above 2; NaN as below; above; below.
    CHECK(scale.grad().to_vector<float>() ==
          std::vector<float>{0.5f - 0.5f + 2.0f - 0.5f - 1.0f + 2.0f - 1.0f + 2.0f - 1.0f});
  }
}

TEST_CASE("the gradients of fake_quantize equal plain loops") {
  for_cases([](const Case& c) {
    const Tensor dy = random_tensor({c.rows, c.cols}), keep = some_rows(c.rows);
    const double g = lsq_gradient_scale(c.rows * c.cols / std::max<int64_t>(c.count(), 1), c.bits);
    const auto x = c.x.to_vector<float>(), upstream = dy.to_vector<float>(),
               scale = c.scale.to_vector<float>(), zero = c.zero.to_vector<float>();
    const auto which = keep.to_vector<uint8_t>();
    const float last = static_cast<float>((1 << c.bits) - 1);
    for (const bool keeps : {false, true}) {
      Numbers dx, dscale(uz(c.count()));
      for (int64_t r = 0; r < c.rows; ++r)
        for (int64_t k = 0; k < c.cols; ++k) {
          const auto i = uz(r * c.cols + k);
          const size_t s = c.index(r, k);
          const float v = x[i] / scale[s] + zero[s];
          if (keeps && which[uz(r)]) {
            dx.push_back(upstream[i]);
            continue;
          }
          dx.push_back(v < 0.0f || v > last ? 0.0 : upstream[i]);
          const float slope = v < 0.0f ? -zero[s] : v > last ? last - zero[s] : std::nearbyint(v) - v;
          dscale[s] += g * upstream[i] * slope;
        }
      for (Device device : devices()) {
        CAPTURE(keeps);
        Var leaf = Var::parameter(c.x.to(device).clone()),
            of_scale = Var::parameter(c.scale.to(device).clone());
        const Var y = fake_quantize(
            leaf, c.bits, of_scale, c.zero.to(device),
            {.along = c.along(), .keep = keeps ? keep.to(device) : Tensor(), .gradient_scale = g});
        sum(y * Var(dy.to(device))).backward();
        CHECK(close(leaf.grad(), dx, 0.0));
        CHECK(close(of_scale.grad(), dscale, 1e-6));
      }
    }
  });
}

TEST_CASE("each gradient of fake_quantize is the same alone and with the other") {
  for (Device device : devices()) {
    const Tensor x = random_tensor({40, 12}, DType::f32, device),
                 dy = random_tensor({40, 12}, DType::f32, device);
    const Tensor scale = Tensor::full({12}, 0.3, DType::f32, device),
                 zero = Tensor::full({12}, 3.5, DType::f32, device);
    const auto gradients = [&](bool of_x, bool of_scale) {
      Var a = of_x ? Var::parameter(x.clone()) : Var(x),
          b = of_scale ? Var::parameter(scale.clone()) : Var(scale);
      sum(fake_quantize(a, 3, b, zero, {.along = PackedAlong::columns}) * Var(dy)).backward();
      return std::pair{a.grad(), b.grad()};
    };
    const auto both = gradients(true, true);
    CHECK(same_bits(gradients(true, false).first, both.first));
    CHECK(same_bits(gradients(false, true).second, both.second));
  }
}

TEST_CASE("fake_quantize has the same bits on any number of threads") {
  for (const Shared shared : {Shared::all, Shared::column, Shared::row}) {
    const Case c(3000, 70, 4, shared, true);
    const Tensor dy = random_tensor({3000, 70});
    CHECK(same_bits_on_any_threads([&] {
      Var x = Var::parameter(c.x.clone()), scale = Var::parameter(c.scale.clone());
      sum(fake_quantize(x, 4, scale, c.zero, {.along = c.along()}) * Var(dy)).backward();
      return std::vector{x.grad(), scale.grad()};
    }));
  }
}

TEST_CASE("sparse features are fake-quantised like dense ones, and refuse a zero") {
  for (Device device : devices()) {
    const SparseMatrix a(Relation::from_coo(4, 3, Tensor::from<int32_t>({0, 3, 1, 2, 3}),
                                            Tensor::from<int32_t>({0, 0, 2, 2, 2}))
                             .to(device),
                         Tensor::from<float>({0.3f, 1.0f, 0.26f, 7.0f, 0.1f}).to(device));
    const Tensor scale = scalar(0.2f, device), zero = scalar(0.0f, device);
    const Features y = fake_quantize(Features(a), 4, scale, zero);
    REQUIRE(y.is_sparse());
    CHECK(same_bits(y.to_dense(), fake_quantize(Features(a.to_dense()), 4, scale, zero).dense()));
    CHECK_ERROR_HAS(fake_quantize(Features(a), 4, scale, scalar(2.0f, device)), "sparse features");
  }
}

TEST_CASE("fake_quantize rejects mismatched arguments") {
  const Var x(random_tensor({3, 4}));
  const Tensor one = Tensor::full({1}, 1.0), four = Tensor::full({4}, 1.0);
  CHECK_ERROR_HAS(fake_quantize(x, 0, Var(one), one), "1 to 8 bits, got 0");
  CHECK_ERROR_HAS(fake_quantize(x, 9, Var(one), one), "1 to 8 bits, got 9");
  CHECK_ERROR_HAS(fake_quantize(x, 4, Var(four), four), "[1] or [3]");
  CHECK_THROWS_AS(fake_quantize(x, 4, Var(four), one, {.along = PackedAlong::columns}), Error);
  CHECK_THROWS_AS(fake_quantize(Var(random_tensor({3, 4}, DType::f64)), 4, Var(one), one), Error);
  CHECK_ERROR_HAS(fake_quantize(x, 4, Var(one), one, {.keep = Tensor::from<uint8_t>({1, 0})}), "keep");
}
