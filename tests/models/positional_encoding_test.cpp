#include "../support.h"
#include <adjoint/graph/laplacian.h>
#include <adjoint/models/family.h>
#include <adjoint/models/positional_encoding.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;
using models::Positional;

namespace {

constexpr double kPi = 3.14159265358979323846;

struct Links {
  std::vector<int32_t> src, dst;
  void join(int64_t a, int64_t b) {
    src.push_back(static_cast<int32_t>(a));
    dst.push_back(static_cast<int32_t>(b));
  }
  Graph graph(int64_t nodes) const { return Graph::from_coo(nodes, Tensor::from(src), Tensor::from(dst)); }
};

/// The eigenvalue of row i … of a column, by a plain loop over the edges: ⟨v, L v⟩ for the unit vector v of
/// nodes [begin, end), and how far L v is from it.
struct Checked {
  double value = 0.0, residual = 0.0, length = 0.0;
};
Checked check_column(const Links& links, const Numbers& v, int64_t columns, int64_t k, int64_t begin,
                     int64_t end) {
  const auto n = static_cast<size_t>(end - begin);
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0.0));
  for (size_t e = 0; e < links.src.size(); ++e) {
    const auto i = static_cast<size_t>(links.src[e] - begin), j = static_cast<size_t>(links.dst[e] - begin);
    if (links.src[e] < begin || links.src[e] >= end || i == j) continue;
    a[i][j] = a[j][i] = 1.0;
  }
  std::vector<double> degree(n, 0.0), x(n), y(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) degree[i] += a[i][j];
    x[i] = v[static_cast<size_t>((begin + static_cast<int64_t>(i)) * columns + k)];
  }
  Checked found;
  for (size_t i = 0; i < n; ++i) {
    y[i] = x[i];
    for (size_t j = 0; j < n; ++j)
      if (a[i][j] != 0.0) y[i] -= x[j] / std::sqrt(degree[i] * degree[j]);
    found.value += x[i] * y[i];
    found.length += x[i] * x[i];
  }
  for (size_t i = 0; i < n; ++i) found.residual += std::pow(y[i] - found.value * x[i], 2);
  found.residual = std::sqrt(found.residual);
  return found;
}

}  // namespace

TEST_CASE("eigenvectors of components have the eigenvalues of paths, rings and stars") {
  Links links;
  for (int64_t i = 0; i < 7; ++i) links.join(i, (i + 1) % 7);  // ring of 7, one direction
  links.join(3, 3);
  links.join(1, 0);  // both directions of one pair, and a repeat
  links.join(0, 1);
  for (int64_t i = 8; i < 13; ++i) links.join(7, i);        // star of 5 rays
  links.join(13, 14);                                       // a pair; 15 is alone
  for (int64_t i = 16; i < 419; ++i) links.join(i, i + 1);  // path of 404, beyond the dense solver
  constexpr int64_t kColumns = 3;
  const auto of_ring = [](int64_t k) {
    return 1.0 - std::cos(2.0 * kPi * static_cast<double>((k + 2) / 2) / 7.0);
  };
  const auto of_star = [](int64_t) { return 1.0; };
  const auto of_path = [](int64_t k) { return 1.0 - std::cos(kPi * static_cast<double>(k + 1) / 403.0); };
  for (Device device : devices()) {
    const LaplacianEigenvectors found =
        laplacian_eigenvectors(links.graph(420).to(device).relation(), kColumns);
    CHECK(found.vectors.device() == device);
    CHECK(found.components == 5);
    CHECK(found.products > 0);
    CHECK(found.residual < 1e-4);
    const Numbers v = values(found.vectors);
    const auto check = [&](int64_t begin, int64_t end, auto&& wanted) {
      for (int64_t k = 0; k < kColumns; ++k) {
        CAPTURES(begin, k);
        const Checked one = check_column(links, v, kColumns, k, begin, end);
        CHECK(one.length == doctest::Approx(1.0).epsilon(1e-5));
        CHECK(one.value == doctest::Approx(wanted(k)).epsilon(1e-3));
        CHECK(one.residual < 2e-4);
        double largest = 0.0;
        for (int64_t i = begin; i < end; ++i) {
          const double x = v[static_cast<size_t>(i * kColumns + k)];
          if (std::abs(x) > std::abs(largest) * (1.0 + 1e-5)) largest = x;
        }
        CHECK(largest > 0.0);
      }
    };
    check(0, 7, of_ring);
    check(7, 13, of_star);
    check(16, 420, of_path);
    // Of a pair there is one, of a node alone none.
    const auto entry = [&](int64_t i, int64_t k) { return v[static_cast<size_t>(i * kColumns + k)]; };
    CHECK(entry(13, 0) == doctest::Approx(-entry(14, 0)));
    for (const auto& [i, k] : {std::pair<int64_t, int64_t>{13, 1}, {14, 2}, {15, 0}, {15, 2}})
      CHECK(entry(i, k) == 0.0);
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      CHECK(same_bits(laplacian_eigenvectors(links.graph(420).to(device).relation(), kColumns).vectors,
                      found.vectors));
    }
  }
  CHECK_ERROR_HAS(laplacian_eigenvectors(links.graph(420).relation(), -1), "-1, expected 0 or more");
}

TEST_CASE("encodings stand behind features of any kind") {
  Links links;
  for (int64_t i = 0; i < 5; ++i) links.join(i, (i + 1) % 5);
  const Graph graph = links.graph(6);
  models::ModelOptions options{.positional = Positional::degree};
  CHECK(models::positional_columns({}) == 0);
  CHECK(models::positional_columns(options) == 1);
  const Tensor degree = models::positional_encoding(graph, options);
  CHECK(
      close(degree, {std::log(2.0), std::log(2.0), std::log(2.0), std::log(2.0), std::log(2.0), 0.0}, 1e-7));
  options = {.positional = Positional::random_walk, .positional_size = 5};
  CHECK(values(models::positional_encoding(graph, options))[4] == 1.0);  // around the ring
  const Tensor dense = random_tensor({6, 2});
  const SparseMatrix sparse =
      SparseMatrix::from_csr(6, 2, {0, 1, 1, 2, 4, 4, 5}, {1, 0, 0, 1, 0}, {2, 3, 4, 5, 6});
  const auto check = [&](const Features& x, const Tensor& original) {
    const Features both = models::with_encoding(x, degree);
    CHECK(both.is_sparse() == x.is_sparse());
    REQUIRE(both.cols() == 3);
    const Numbers all = values(both.to_dense()), first = values(original), last = values(degree);
    for (size_t i = 0; i < 6; ++i)
      for (size_t k = 0; k < 3; ++k) CHECK(all[3 * i + k] == (k < 2 ? first[2 * i + k] : last[i]));
  };
  check(Features(dense), dense);
  check(Features(sparse), sparse.to_dense());
  CHECK(same_bits(models::with_encoding(Features(), degree).dense(), degree));
  CHECK_ERROR_HAS(models::with_encoding(Features(random_tensor({4, 2})), degree),
                  "6 rows beside features of 4");
  CHECK_ERROR_HAS(models::positional_encoding(graph, {}), "expected laplacian, random-walk or degree");
}

TEST_CASE("a graph transformer trains with eigenvectors of either sign, and predicts with the given ones") {
  Links links;
  for (int64_t i = 0; i < 9; ++i) links.join(i, (i * 2 + 1) % 9);
  const Graph graph = links.graph(9);
  models::ModelOptions options{.hidden = 4, .layers = 1, .dropout = 0.0, .heads = 1};
  const auto plain = models::gps().make_as<models::NodeModel>(3, 2, options);
  options.positional = Positional::laplacian;
  options.positional_size = 2;
  const auto varied = models::gps().make_as<models::NodeModel>(3, 2, options);
  const auto copy_state = [&] {
    const auto state = plain->state();
    varied->load_state({state.begin(), state.end()});
  };
  copy_state();
  const Tensor x = random_tensor({9, 3});
  std::vector<Numbers> wanted;  // by the signs of the last two columns
  for (const float first : {1.0f, -1.0f})
    for (const float second : {1.0f, -1.0f}) {
      std::vector<float> turned = x.to_vector<float>();
      for (size_t i = 0; i < 9; ++i) turned[3 * i + 1] *= first, turned[3 * i + 2] *= second;
      wanted.push_back(values((*plain)(graph, Features(Tensor::from(turned, {9, 3}))).value()));
    }
  std::vector<int> seen(4, 0);
  for (int draw = 0; draw < 40; ++draw) {
    const Numbers found = values((*varied)(graph, Features(x)).value());
    size_t k = 0;
    const auto equal = [](double a, double b) { return std::abs(a - b) < 1e-4; };
    while (k < 4 && !std::equal(found.begin(), found.end(), wanted[k].begin(), equal)) ++k;
    REQUIRE(k < 4);
    ++seen[k];
  }
  for (const int count : seen) CHECK(count > 0);
  copy_state();  // of the batch norms
  varied->eval();
  plain->eval();
  CHECK(same_bits((*varied)(graph, Features(x)).value(), (*plain)(graph, Features(x)).value()));
}
