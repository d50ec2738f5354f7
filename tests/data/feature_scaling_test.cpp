#include "../support.h"
#include "h5_file.h"

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using F = std::vector<float>;
using Kind = FeatureScaling::Kind;

Features dense(const F& values, int64_t columns) {
  return Features(Tensor::from(values, {static_cast<int64_t>(values.size()) / columns, columns}));
}

Kind automatic(const Features& x) { return FeatureScaling::automatic(summary_of(x)); }

/// Like word counts or TF-IDF: about `share` of the numbers are not 0.
Features documents(int64_t rows, int64_t columns, double share, bool counts) {
  Generator generator(5);
  const F draws = random_uniform({rows * columns}, 0.0, 1.0, generator).to_vector<float>();
  F x(draws.size(), 0.0f);
  for (size_t k = 0; k < x.size(); ++k)
    if (draws[k] < share) x[k] = counts ? std::floor(1.0f + 200.0f * draws[k]) : 0.01f + draws[k];
  return dense(x, columns);
}

}  // namespace

TEST_CASE("feature statistics are the same for dense, sparse and file features") {
  const F values = {0, -2, 3, 7, 0, 0, 0, 7, 1, 0, 0, 7, 0, 0.5f, 0, 7};
  const Features x = dense(values, 4);
  const SparseMatrix sparse =
      SparseMatrix::from_csr(4, 5, {0, 3, 4, 6, 8}, {1, 2, 3, 3, 0, 3, 1, 3}, {-2, 3, 7, 7, 1, 7, 0.5f, 7});
  const TemporaryDirectory folder;
  write_h5(folder.file("x.h5"), {{"nodes/x", x.dense()}});
  const FeatureSummary of_file = summary_of(FileRows::open(folder.file("x.h5")));
  for (const FeatureSummary& s : {summary_of(x), summary_of(sparse), of_file}) {
    CHECK(s.rows == 4);
    CHECK(s.not_zero == 8);
    CHECK(s.negative == 1);
    CHECK(s.not_binary == 7);
    CHECK(s.zero_rows == 0);
    CHECK(s.constant_columns == s.columns - 3);  // the sparse ones have an empty column
    CHECK(s.least_scale == 1.0);
    CHECK(s.largest_scale == 7.0);
    CHECK(s.largest_share == doctest::Approx(28.0 / 34.5));
    CHECK(s.real_columns == I{1, 2, 3});
  }
  CHECK(summary_of(sparse).sparse);
  CHECK_FALSE(of_file.sparse);
  CHECK(summary_of(dense({0, 0, 1, 2}, 2)).zero_rows == 1);
}

TEST_CASE("statistics of many rows are those of plain loops, for any number of threads") {
  constexpr int64_t kRows = 5000, kColumns = 37;
  F x = random_tensor({kRows, kColumns}).to_vector<float>();
  FeatureSummary expected;
  double all = 0.0, most = 0.0;
  for (int64_t k = 0; k < kColumns; ++k) {
    double sum = 0.0, scale = 0.0;
    for (int64_t i = 0; i < kRows; ++i) {
      float& value = x[static_cast<size_t>(i * kColumns + k)];
      value *= static_cast<float>(k + 1);
      if (i % 7 == 3 || k == 5) value = 0.0f;
      if (k == 6) value = 2.0f;
      expected.not_zero += value != 0.0f;
      expected.negative += value < 0.0f;
      sum += std::abs(double{value});
      scale = std::max(scale, std::abs(double{value}));
    }
    all += sum;
    most = std::max(most, sum);
    if (k != 5) expected.least_scale = k == 0 ? scale : std::min(expected.least_scale, scale);
    expected.largest_scale = std::max(expected.largest_scale, scale);
  }
  for (const int count : {1, 4}) {
    const Threads threads(count);
    const FeatureSummary s = summary_of(dense(x, kColumns));
    CHECK(s.not_zero == expected.not_zero);
    CHECK(s.not_binary == expected.not_zero);
    CHECK(s.negative == expected.negative);
    CHECK(s.zero_rows == 0);  // for column 6
    CHECK(s.constant_columns == 2);
    CHECK(s.least_scale == expected.least_scale);
    CHECK(s.largest_scale == expected.largest_scale);
    CHECK(s.largest_share == doctest::Approx(most / all));
    for (int64_t i = 0; i < kRows; ++i) x[static_cast<size_t>(i * kColumns + 6)] = 0.0f;
    CHECK(summary_of(dense(x, kColumns)).zero_rows == (kRows + 3) / 7);
    for (int64_t i = 0; i < kRows; ++i) x[static_cast<size_t>(i * kColumns + 6)] = 2.0f;
  }
}

TEST_CASE("bags of words are distinguished from measured columns") {
  CHECK(automatic(load_demo_dataset().x) == Kind::rows);
  CHECK(automatic(documents(300, 200, 0.1, false)) == Kind::rows);  // TF-IDF
  CHECK(automatic(documents(300, 200, 0.1, true)) == Kind::rows);   // counts
  CHECK(automatic(documents(300, 200, 0.35, false)) == Kind::real);
  CHECK(automatic(dense({1, 0, 1, 0, 1, 1, 1, 1, 1}, 3)) == Kind::rows);  // only 0 and 1
  CHECK(automatic(dense({0, 0, 0, 0}, 2)) == Kind::none);
  CHECK(automatic(dense({1, 0, -1, 0}, 2)) == Kind::real);
  CHECK(automatic(dense({34, 51000, 18, 23000, 65, 90500, 41, 0}, 2)) == Kind::real);  // ages and incomes
  // An age and 30 one-hot columns: sparse, but one column is most of a row's sum.
  F mixed;
  for (int i = 0; i < 200; ++i)
    for (int k = 0; k < 31; ++k)
      mixed.push_back(k == 30 ? 20.0f + static_cast<float>(i % 50) : k % 6 == i % 6 ? 1.0f : 0.0f);
  CHECK(summary_of(dense(mixed, 31)).not_zero * 4 < 200 * 31);
  CHECK(automatic(dense(mixed, 31)) == Kind::real);
  for (const auto& [name, expected] :
       {std::pair("cora.h5", Kind::rows), {"citeseer.h5", Kind::rows}, {"tolokers.h5", Kind::real}})
    if (have_data(name)) CHECK(automatic(load_dataset(data_file(name).string()).x) == expected);
  // Sparse measurements become dense only up to 2^26 numbers.
  const auto sparse = [](int64_t columns) {
    return Features(SparseMatrix::from_csr(2, columns, {0, 1, 2}, {0, 1}, {-1, 2}));
  };
  CHECK(automatic(sparse(1 << 25)) == Kind::real);
  CHECK(automatic(sparse((1 << 25) + 1)) == Kind::none);
}

TEST_CASE("real columns are standardised, columns of 0 and 1 stay as they are") {
  // Age, one-hot color, score, and a column that is 0 and 1 among the training rows only.
  const F x = {20, 1, 0, -0.5f, 1, 30, 0, 1, 0.25f, 0, 40, 1, 0, 0.5f, 1, 90, 0, 1, 7, 2};
  const Tensor train = Tensor::from(I{0, 1, 2});
  const TemporaryDirectory folder;
  write_h5(folder.file("x.h5"), {{"nodes/x", dense(x, 5).dense()}});
  const FileRows file = FileRows::open(folder.file("x.h5"));
  const double age = std::sqrt(200.0 / 3.0), mean = 0.25 / 3.0,
               score = std::sqrt((0.25 + 0.0625 + 0.25) / 3.0 - mean * mean), last = std::sqrt(2.0 / 9.0);
  for (const FeatureScaling& scaling :
       {FeatureScaling::fit(Kind::real, dense(x, 5), train), FeatureScaling::fit(Kind::real, file, train),
        FeatureScaling::fit(Kind::standard, dense(x, 5), train).restricted(I{0, 3, 4})}) {
    CHECK(scaling.kind() == Kind::real);
    CHECK(close(scaling.mean(), {30, 0, 0, mean, 2.0 / 3.0}, 1e-6));
    CHECK(close(scaling.deviation(), {age, 1, 1, score, last}, 1e-6));
    const F scaled = scaling.apply(dense(x, 5)).dense().to_vector<float>();
    for (size_t i = 0; i < x.size(); ++i)
      if (i % 5 == 1 || i % 5 == 2) CHECK(scaled[i] == x[i]);
    CHECK(scaled[15] == doctest::Approx(60.0 / age));
    CHECK(same_bits(scaling.apply(file).gather(Tensor::from(I{0, 1, 2, 3})),
                    scaling.apply(dense(x, 5)).dense()));
  }
  CHECK_THROWS_AS((void)FeatureScaling::rows().restricted(I{}), Error);
  CHECK_THROWS_AS((void)FeatureScaling::fit(Kind::standard, dense(x, 5)).restricted(I{5}), Error);
}

TEST_CASE("what a table's encoder made of texts and categories is no measurement") {
  using enum ColumnType;
  FeatureEncoder encoder;
  encoder.columns = {{.column = "age", .type = number},
                     {.column = "member", .type = boolean, .filling = {0.4f}},
                     {.column = "color", .type = category, .categories = {"blue", "red"}},
                     {.column = "size", .type = ordinal, .categories = {"l", "m", "s"}},
                     {.column = "note", .type = text, .columns = 2},
                     {.column = "town", .type = hash, .columns = 2},
                     {.column = "since", .type = date},
                     {.column = "place", .type = vector, .columns = 2}};
  const Features x = dense(F(24, 0.5f), 12);
  CHECK(real_columns(summary_of(x), encoder) == I{0, 4, 9, 10, 11});
  CHECK(FeatureScaling::automatic(summary_of(x), encoder) == Kind::real);
  CHECK_THROWS_AS((void)real_columns(summary_of(dense({1, 2}, 2)), encoder), Error);
  encoder.columns = {{.column = "note", .type = text, .columns = 12}};
  CHECK(FeatureScaling::automatic(summary_of(x), encoder) == Kind::none);
}

TEST_CASE("standard scaling is fitted to the training rows and applied to all") {
  // The third column is constant among those, the fourth everywhere.
  const Features x = dense({1, 1e6f, 5, 3, 2, 3e6f, 5, 3, 100, 9e6f, 6, 3, 3, 2e6f, 5, 3}, 4);
  const Tensor train = Tensor::from(I{3, 0, 1});
  const FeatureScaling scaling = FeatureScaling::fit(Kind::standard, x, train);
  CHECK(scaling.kind() == Kind::standard);
  const double deviation = std::sqrt(2.0 / 3.0);
  CHECK(close(scaling.mean(), {2, 2e6, 5, 3}, 1e-6));
  CHECK(close(scaling.deviation(), {deviation, deviation * 1e6, 1, 1}, 1e-6));
  for (Device device : devices()) {
    CHECK(close(scaling.apply(x.to(device)).dense(),
                {-1 / deviation, -1 / deviation, 0, 0, 0, 1 / deviation, 0, 0, 98 / deviation, 7 / deviation,
                 1, 0, 1 / deviation, 0, 0, 0},
                1e-6));
  }
  CHECK(close(FeatureScaling::fit(Kind::standard, x).mean(), {26.5, 3.75e6, 5.25, 3}, 1e-6));
  CHECK_THROWS_AS((void)FeatureScaling::fit(Kind::standard, x, Tensor::from(I{})), Error);
  CHECK_THROWS_AS((void)scaling.apply(dense({1, 2}, 2)), Error);
}

TEST_CASE("columns of large mean and small spread are scaled without cancellation") {
  F x;
  for (int i = 0; i < 40000; ++i) x.push_back(1e6f + static_cast<float>(i % 3));
  const FeatureScaling scaling = FeatureScaling::fit(Kind::standard, dense(x, 1));
  CHECK(close(scaling.deviation(), {std::sqrt(2.0 / 3.0)}, 1e-4));
}

TEST_CASE("a fit has the same bits for any number of threads, and for features in a file") {
  const Tensor x = random_tensor({3000, 500});  // several blocks
  const TemporaryDirectory folder;
  write_h5(folder.file("x.h5"), {{"nodes/x", x}});
  const FileRows rows = FileRows::open(folder.file("x.h5"));
  const Tensor train = random_ints(2500, 0, 3000);
  const Threads one(1);
  const FeatureScaling alone = FeatureScaling::fit(Kind::standard, Features(x), train);
  const Threads three(3);
  for (const FeatureScaling& other : {FeatureScaling::fit(Kind::standard, Features(x), train),
                                      FeatureScaling::fit(Kind::standard, rows, train)}) {
    CHECK(same_bits(other.mean(), alone.mean()));
    CHECK(same_bits(other.deviation(), alone.deviation()));
  }
  for (const FeatureScaling& scaling : {FeatureScaling(), FeatureScaling::rows(), alone}) {
    const Tensor index = Tensor::from(I{2999, 0, 7});
    CHECK(same_bits(scaling.apply(rows).gather(index), scaling.apply(Features(x)).rows(index).dense()));
  }
}

TEST_CASE("sparse features stay sparse unless columns are shifted") {
  const SparseMatrix x = SparseMatrix::from_csr(3, 2, {0, 2, 2, 3}, {0, 1, 0}, {1, 3, 5});
  CHECK(FeatureScaling().apply(Features(x)).is_sparse());
  CHECK(FeatureScaling::rows().apply(Features(x)).is_sparse());
  const FeatureScaling scaling = FeatureScaling::fit(Kind::standard, Features(x));
  CHECK(close(scaling.mean(), {2, 1}, 1e-6));
  CHECK(close(scaling.apply(Features(x)).dense(), scaling.apply(Features(x.to_dense())).dense(), 1e-6));
  const SparseMatrix wide = SparseMatrix::from_csr(3, 1 << 29, {0, 2, 2, 3}, {0, 1, 0}, {1, 3, 5});
  CHECK_ERROR_HAS((void)FeatureScaling::fit(Kind::standard, Features(wide)), "dense");
}

TEST_CASE("invalid means and deviations are refused") {
  const Tensor good = Tensor::from(F{1, 2});
  CHECK_THROWS_AS((void)FeatureScaling::standard(good, good, Kind::rows), Error);
  CHECK_THROWS_AS((void)FeatureScaling::standard(good, Tensor::from(F{1, 0})), Error);
  CHECK_THROWS_AS((void)FeatureScaling::standard(good, Tensor::from(F{1})), Error);
  CHECK_THROWS_AS((void)FeatureScaling::standard(Tensor::from(F{1, std::nanf("")}), good), Error);
  for (const Kind kind : {Kind::none, Kind::rows, Kind::standard, Kind::real})
    CHECK(value_named<Kind>(name_of(kind)) == kind);
  CHECK_FALSE(value_named<Kind>("auto"));
}
