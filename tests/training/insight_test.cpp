#include <adjoint/adjoint.h>
#include <adjoint/training/insight.h>

#include <cmath>

#include <doctest/doctest.h>

using namespace adj;
using namespace adj::training;

TEST_CASE("permutation importance is the fall of the score that shuffling a column causes") {
  // The score is a squared error of 3 x_1 - x_2 against itself: by shuffling it falls by about twice the
  // term's variance.
  constexpr int64_t kRows = 4000;
  Generator generator(5);
  const std::vector<float> noise = random_uniform({kRows * 3}, -1.0, 1.0, generator).to_vector<float>();
  const Tensor x = Tensor::from(noise, {kRows, 3});
  const auto told = [&](const std::vector<float>& v, size_t i) {
    return 3.0 * v[3 * i + 1] - double{v[3 * i + 2]};
  };
  int64_t calls = 0;
  const auto score = [&](const Tensor& shuffled) {
    ++calls;
    const std::vector<float> v = shuffled.to_vector<float>();
    double sum = 0.0;
    for (size_t i = 0; i < kRows; ++i) sum += std::pow(told(v, i) - told(noise, i), 2);
    return 7.0 - sum / kRows;
  };
  const std::vector<ColumnImportance> found = permutation_importance(x, 3, 1, score);
  REQUIRE(found.size() == 3);
  CHECK(calls == 10);
  CHECK(found[0].column == 1);
  CHECK(found[0].fall == doctest::Approx(6.0).epsilon(0.1));
  CHECK(found[1].column == 2);
  CHECK(found[1].fall == doctest::Approx(2.0 / 3.0).epsilon(0.1));
  CHECK(found[2].column == 0);
  CHECK(found[2].fall == 0.0);
  CHECK(x.to_vector<float>() == noise);
  const std::vector<ColumnImportance> again = permutation_importance(x, 3, 1, score);
  for (size_t k = 0; k < 3; ++k) CHECK(again[k].fall == found[k].fall);
}

TEST_CASE("the principal plane of points on an ellipse has its axes") {
  // Rows m + a cos(t) u + b sin(t) v for orthonormal u and v: variances a^2 / 2 and b^2 / 2.
  constexpr int64_t kRows = 360;
  const std::vector<double> u{0.6, 0.0, -0.8, 0.0}, v{0.0, 1.0, 0.0, 0.0}, mean{5.0, -3.0, 100.0, 2.0};
  std::vector<float> rows;
  for (int64_t i = 0; i < kRows; ++i) {
    const double t = 2.0 * M_PI * static_cast<double>(i) / kRows;
    for (size_t k = 0; k < 4; ++k)
      rows.push_back(static_cast<float>(mean[k] + 3.0 * std::cos(t) * u[k] + 1.0 * std::sin(t) * v[k]));
  }
  const Projection plane = principal_plane(Tensor::from(rows, {kRows, 4}));
  CHECK(plane.share_x == doctest::Approx(0.9));
  CHECK(plane.share_y == doctest::Approx(0.1));
  for (size_t i = 0; i < kRows; i += 30) {
    const double t = 2.0 * M_PI * static_cast<double>(i) / kRows;
    CHECK(plane.x[i] ==
          doctest::Approx(-3.0 * std::cos(t)).epsilon(1e-4));  // -u: its largest entry is positive
    CHECK(plane.y[i] == doctest::Approx(std::sin(t)).epsilon(1e-4));
  }
  const Projection line = principal_plane(Tensor::from(std::vector<float>{1.0f, 2.0f, 6.0f}, {3, 1}));
  CHECK(line.x == std::vector<double>{-2.0, -1.0, 3.0});
  CHECK(line.y == std::vector<double>(3));
  const Projection point = principal_plane(Tensor::full({4, 2}, 1.0));
  CHECK(point.x == std::vector<double>(4));
}
