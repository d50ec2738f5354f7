#include "../support.h"
#include <adjoint/data/import/detail/column_numbers.h>

using namespace adj;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// Eight rows, one without a number.
const std::vector<float> kFew = {3, 1, 1, 10, 2, 1, 4.5};

void check(const ColumnFit& fit, const std::vector<float>& x, const std::vector<double>& expected,
           double tolerance = 1e-6) {
  for (size_t k = 0; k < x.size(); ++k) {
    CAPTURE(x[k]);
    CHECK(fit(x[k]) == doctest::Approx(expected[k]).epsilon(tolerance));
  }
  CHECK(std::isnan(fit(kNan)));
}

}  // namespace

TEST_CASE("transforms of columns equal those of scikit-learn 1.9") {
  const std::vector<float> x = {3, 1, 10, 2, -5, 100, 3.7f};
  check(ColumnFit(ColumnTransform::none, kFew, 8), x, {3, 1, 10, 2, -5, 100, 3.7f});
  check(ColumnFit(ColumnTransform::standard, kFew, 8), x,
        {-0.07090788334608078, -0.7327151298522949, 2.245417356491089, -0.40181151032447815,
         -2.71813702583313, 32.0267448425293, 0.1607246696949005});
  check(ColumnFit(ColumnTransform::min_max, kFew, 8), x,
        {0.222222238779068, 0.0, 1.0, 0.1111111119389534, -0.6666666865348816, 11.000000953674316,
         0.30000001192092896});
  check(ColumnFit(ColumnTransform::quantile_normal, kFew, 8), x,
        {0.39359837770462036, -5.199337482452393, 5.199337482452393, 0.0, -5.199337482452393,
         5.199337482452393, 0.6285092830657959});
  check(ColumnFit(ColumnTransform::quantile_uniform, kFew, 8), x,
        {0.6530612111091614, 0.0, 1.0, 0.5, 0.0, 1.0, 0.7351648211479187});
}

TEST_CASE("for more than a thousand rows a thousand quantiles are used, as in scikit-learn") {
  std::vector<float> values;
  for (int k = 0; k < 3000; ++k) {
    const double v = k * 7919 % 3001 / 300.0;
    values.push_back(static_cast<float>(v * v * v * v));  // so skewed that 999 quantiles give other ranks
  }
  check(ColumnFit(ColumnTransform::quantile_normal, values, 3000),
        {0, 1e-6f, 0.01f, 33, 700, 9000, 9950, 9990},
        {-5.199337482452393, -2.735962390899658, -1.8574784994125366, -0.7070865631103516,
         0.03561696782708168, 1.9430514574050903, 3.022599458694458, 3.4802653789520264});
}

TEST_CASE("a constant column is standardised without a division, and gets the lowest rank") {
  const std::vector<float> same(50, 0.1f);
  CHECK(std::abs(ColumnFit(ColumnTransform::standard, same, 50)(0.1f)) < 1e-6f);
  CHECK(ColumnFit(ColumnTransform::standard, same, 50)(1.1f) == doctest::Approx(1.0));
  CHECK(ColumnFit(ColumnTransform::min_max, same, 50)(0.1f) == doctest::Approx(0.0));
  CHECK(ColumnFit(ColumnTransform::quantile_normal, same, 50)(0.1f) == doctest::Approx(-5.1993375));
  CHECK(ColumnFit(ColumnTransform::quantile_uniform, {2.0f}, 1)(2.0f) == 0.0f);
}

TEST_CASE("missing numbers: the least of the most frequent, the mean, the median") {
  CHECK(detail::imputed_value(Imputation::most_frequent, {5, 2, 7, 2, 5, 9}) == 2.0f);
  CHECK(detail::imputed_value(Imputation::most_frequent, {3, 1}) == 1.0f);
  CHECK(detail::imputed_value(Imputation::mean, {5, 2, 7, 2}) == 4.0f);
  CHECK(detail::imputed_value(Imputation::median, {5, 2, 7, 2}) == 3.5f);
  CHECK(detail::imputed_value(Imputation::median, {5, 2, 7}) == 5.0f);
  CHECK_THROWS_AS((void)detail::imputed_value(Imputation::mean, {}), Error);
  CHECK_THROWS_AS(ColumnFit(ColumnTransform::standard, {}, 3), Error);
}

TEST_CASE("normal quantiles invert the distribution function") {
  for (double p : {1e-300, 1e-20, 1e-12, 1e-7, 1e-4, 0.01, 0.0749, 0.0751, 0.3, 0.4999, 0.5}) {
    CAPTURE(p);
    const double z = detail::normal_quantile(p);
    CHECK(std::abs(0.5 * std::erfc(-z / std::sqrt(2.0)) / p - 1.0) < 1e-13 * std::max(1.0, z * z));
    if (p > 1e-5) CHECK(detail::normal_quantile(1.0 - p) == doctest::Approx(-z).epsilon(1e-9));
  }
}
