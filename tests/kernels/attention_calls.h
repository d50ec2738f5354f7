#pragma once

#include "attention_cases.h"

// Checks that the attention kernels share.
namespace adj::test {

using ops::GatCall, ops::Gatv2Call, ops::DotCall, ops::GradientMap, ops::Values;

inline double slope_at(double z) { return z > 0.0 ? 1.0 : static_cast<double>(GatCall::kSlope); }

/// Shapes for attention with edge features.
inline const std::vector<AttentionCase> kWideShapes{
    {1, 1, 0, false},   {8, 1, 0, true},     {3, 3, 3, true},  {8, 8, 0, true},   {8, 8, 8, false},
    {2, 33, 0, false},  {5, 7, 1, true},     {4, 16, 0, true}, {1, 64, 17, true}, {6, 128, 0, true},
    {2, 256, 3, false}, {1, 1024, 0, false}, {4, 64, 0, true}, {7, 20, 1, true}};
inline const std::vector<AttentionCase> kFewShapes{
    {8, 8, 0, true}, {4, 16, 3, false}, {1, 7, 0, true}, {3, 5, 1, true}};

/// Checks that O and each gradient of `names` have the same bits on any number of threads, and computed alone
/// or together.
template <class Call>
void check_same_gradients(Call& t, const std::string& names) {
  CHECK(same_bits_on_any_threads([&] {
    t.forward();
    return t.o.clone();
  }));
  for (char name : names) {
    CAPTURE(name);
    const Tensor all = t.backward(names).at(name);
    CHECK(same_bits(t.backward(std::string(1, name)).at(name), all));
    CHECK(same_bits_on_any_threads([&] { return t.backward(names).at(name); }));
  }
}

/// x times `factor`, with `bad` at each of `places`.
inline Tensor spoilt(const Tensor& x, double factor, std::initializer_list<size_t> places, double bad = NAN) {
  Numbers numbers = values(x);
  for (double& number : numbers) number *= factor;
  for (size_t k : places) numbers.at(k) = bad;
  return Tensor::from(numbers, x.shape()).to(x.dtype()).to(x.device());
}
inline bool of_target_4_head_1(size_t k) { return k / 15 == 4 && k % 15 / 5 == 1; }

/// Three heads of width 5, large operands, and a NaN in head 1 of target 4: it reaches O, the gradient of
/// that target (`of_target`) and those of its sources (`of_source`), in that head only. Returns all
/// gradients.
template <class Call>
GradientMap check_nan_of_target(Call t, Tensor Call::*target, Tensor Call::*source, double factor,
                                char of_target, char of_source) {
  t.*target = spoilt(t.*target, factor, {4 * 15 + 7});
  t.*source = spoilt(t.*source, factor, {});
  t.forward();
  check_nan(t.o, of_target_4_head_1);
  const GradientMap g = t.backward();
  check_nan(g.at(of_target), of_target_4_head_1);
  std::vector<bool> reached(61);
  each_edge(t.links, [&](size_t i, size_t j, size_t) { reached[j] = reached[j] || i == 4; });
  check_nan(g.at(of_source), [&](size_t k) { return reached[k / 15] && k % 15 / 5 == 1; });
  return g;
}

/// Compares the gradient of l with a bias of 1000 to that without: they may differ only by O's rounding.
template <class Call>
void check_large_bias() {
  for (Device device : devices())
    for (int64_t width : {8, 64, 200}) {
      CAPTURE(width);
      const Edges edges(symmetric_rows(), 61, false, device);
      Call t(edges, {3, width, 0, false}, DType::f32);
      const auto gradient = [&] {
        t.forward();
        return values(t.backward("l").at('l'));
      };
      const Numbers dl = gradient();
      t.bias = Tensor::full({3 * width}, 1000.0, DType::f32, device);
      const Numbers with_bias = gradient(), dO = values(t.d_o);
      const auto D = uz(width), per_head = dl.size() / (61 * 3);
      for (size_t k = 0; k < dl.size(); ++k) {
        double sizes = 0;  // Σ |d_o|
        for (size_t f = 0; f < D; ++f) sizes += std::abs(dO[k / per_head * D + f]);
        // Half a unit in the last place of 1000, times the factor of a logit's gradient.
        REQUIRE(std::abs(with_bias[k] - dl[k]) <= 0x1p-15 * sizes + 3e-5);
      }
    }
}

}  // namespace adj::test
