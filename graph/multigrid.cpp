#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/multigrid.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/Eigenvalues>

namespace adj::detail {

namespace {

constexpr int64_t kCoarsest = 256;  // nodes of the level that is solved by its eigenvectors
constexpr int64_t kVectorGrain = 1 << 12;
// Two steps of Jacobi's method that damp eigenvalues of D^-1 (D - A) in [0.5, 2], by Chebyshev's polynomial.
constexpr std::array<double, 2> kSteps{0.5618, 1.3896};

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, kColumns, Eigen::RowMajor>;
using Sums = Eigen::Array<double, 1, kColumns>;

/// Sums of products by column. Chunks are added in their order.
Sums dots(const Panel& a, const Panel& b) {
  const int64_t n = std::ssize(a) / kColumns;
  std::vector<Sums> parts(static_cast<size_t>(ceil_div(n, kVectorGrain)));
  adj::parallel_for(n, kVectorGrain, [&](int64_t begin, int64_t end) {
    Sums sum = Sums::Zero();
    for (int64_t i = begin; i < end; ++i)
      sum += Eigen::Map<const Sums>(&a[static_cast<size_t>(i * kColumns)]) *
             Eigen::Map<const Sums>(&b[static_cast<size_t>(i * kColumns)]);
    parts[static_cast<size_t>(begin / kVectorGrain)] = sum;
  });
  Sums sum = Sums::Zero();
  for (const Sums& part : parts) sum += part;
  return sum;
}

/// y = x ∘ a + y ∘ b, factors by column.
void combine(const Panel& x, const Sums& a, Panel& y, const Sums& b) {
  adj::parallel_for(std::ssize(x) / kColumns, kVectorGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Eigen::Map<Sums> row(&y[static_cast<size_t>(i * kColumns)]);
      row = a * Eigen::Map<const Sums>(&x[static_cast<size_t>(i * kColumns)]) + b * row;
    }
  });
}

MatrixXd dense(const LaplacianLevel& level) {
  MatrixXd matrix = MatrixXd::Zero(level.nodes(), level.nodes());
  for (int64_t i = 0; i < level.nodes(); ++i) {
    matrix(i, i) = level.degree[static_cast<size_t>(i)];
    for (int64_t e = level.offsets[static_cast<size_t>(i)]; e < level.offsets[static_cast<size_t>(i) + 1];
         ++e)
      matrix(i, level.neighbors[static_cast<size_t>(e)]) -= static_cast<double>(level.weight(e));
  }
  return matrix;
}

Sums ratio(const Sums& a, const Sums& b) { return (b.abs() > 1e-300).select(a / b, 0.0); }

}  // namespace

struct Multigrid::State {
  struct Level {
    LaplacianLevel graph;
    std::optional<Aggregates> aggregates;   // the nodes of the next level; none in the last
    Panel r, x, other, first, first_image;  // [n, kColumns]; the finest has only `other`
  };
  std::vector<Level> levels;
  MatrixXd inverse;  // of the last level, on vectors with sum 0

  void prepare();
  void cycle(size_t l, const double* r, double* x);
  void solve(size_t l);
};

void Multigrid::State::prepare() {
  for (Level& level : levels) {
    level.other = Panel(level.graph.nodes(), kColumns);
    if (&level == &levels.front()) continue;
    for (Panel* panel : {&level.r, &level.x, &level.first, &level.first_image})
      *panel = Panel(level.graph.nodes(), kColumns);
  }
  if (levels.back().graph.nodes() > kCoarsest) return;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solved(dense(levels.back().graph));
  VectorXd values = solved.eigenvalues().cwiseInverse();
  values[0] = 0.0;
  inverse = solved.eigenvectors() * values.asDiagonal() * solved.eigenvectors().transpose();
}

void Multigrid::State::cycle(size_t l, const double* r, double* x) {
  Level& level = levels[l];
  const int64_t n = level.graph.nodes();
  if (l + 1 == levels.size() && inverse.size() > 0) {
    Eigen::Map<Rows>(x, n, kColumns).noalias() = inverse * Eigen::Map<const Rows>(r, n, kColumns);
    return;
  }
  double* other = level.other.data();
  adj::parallel_for(n, kVectorGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = i * kColumns; k < (i + 1) * kColumns; ++k)
        other[k] = kSteps[0] * r[k] / level.graph.degree[static_cast<size_t>(i)];
  });
  relax(level.graph, kSteps[1], r, other, x);
  if (l + 1 < levels.size()) {
    Level& next = levels[l + 1];
    const Aggregates& aggregates = *level.aggregates;
    subtract_product(level.graph, r, x, other);
    adj::parallel_for(next.graph.nodes(), kVectorGrain, [&](int64_t begin, int64_t end) {
      for (int64_t a = begin; a < end; ++a) {
        Sums sum = Sums::Zero();
        for (int64_t m = aggregates.begin(a); m < aggregates.begin(a + 1); ++m)
          sum += Eigen::Map<const Sums>(other + aggregates.members[static_cast<size_t>(m)] * kColumns);
        Eigen::Map<Sums>(&next.r[static_cast<size_t>(a * kColumns)]) = sum;
      }
    });
    solve(l + 1);
    adj::parallel_for(n, kVectorGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        Eigen::Map<Sums>(x + i * kColumns) += Eigen::Map<const Sums>(
            &next.x[static_cast<size_t>(aggregates.of_node[static_cast<size_t>(i)] * kColumns)]);
    });
  }
  relax(level.graph, kSteps[1], r, x, other);
  relax(level.graph, kSteps[0], r, other, x);
}

/// x of r on a level below the finest: two steps of flexible conjugate gradients.
void Multigrid::State::solve(size_t l) {
  Level& level = levels[l];
  if (l + 1 == levels.size()) return cycle(l, level.r.data(), level.x.data());
  cycle(l, level.r.data(), level.first.data());
  multiply(level.graph, level.first.data(), level.first_image.data());
  const Sums power = dots(level.first, level.first_image), along = ratio(dots(level.first, level.r), power);
  const Sums before = dots(level.r, level.r);
  combine(level.first_image, -along, level.r, Sums::Ones());
  if ((dots(level.r, level.r) <= 0.0625 * before).all()) {
    std::swap(level.x, level.first);
    return combine(level.x, Sums::Zero(), level.x, along);
  }
  cycle(l, level.r.data(), level.x.data());
  multiply(level.graph, level.x.data(), level.other.data());
  const Sums mixed = dots(level.x, level.first_image);
  const Sums rest = dots(level.x, level.other) - ratio(mixed * mixed, power);
  const Sums share = ratio(dots(level.x, level.r), rest);
  combine(level.first, along - ratio(mixed, power) * share, level.x, share);
}

Multigrid::Multigrid(LaplacianLevel graph) : state_(std::make_unique<State>()) {
  state_->levels.emplace_back().graph = std::move(graph);
  auto& levels = state_->levels;
  for (LaplacianLevel coarse; levels.back().graph.nodes() > kCoarsest;) {
    levels.back().aggregates = coarsen(levels.back().graph, coarse);
    if (!levels.back().aggregates) break;
    levels.emplace_back().graph = std::move(coarse);
  }
  if (is_coarsened()) state_->prepare();
}
Multigrid::~Multigrid() = default;

const LaplacianLevel& Multigrid::graph() const { return state_->levels.front().graph; }
bool Multigrid::is_coarsened() const { return state_->levels.size() > 1; }
void Multigrid::solve(const double* r, double* x) { state_->cycle(0, r, x); }

std::vector<double> Multigrid::coarse_eigenvectors(int64_t& count) const {
  const auto& levels = state_->levels;
  if (state_->inverse.size() == 0) return count = 0, std::vector<double>();
  std::vector<int32_t> place = levels.front().aggregates->of_node;  // of each node on the coarsest level
  for (size_t l = 1; l + 1 < levels.size(); ++l)
    for (int32_t& a : place) a = levels[l].aggregates->of_node[static_cast<size_t>(a)];
  const LaplacianLevel& last = levels.back().graph;
  count = std::min(count, last.nodes() - 1);
  VectorXd scale = VectorXd::Zero(last.nodes());
  for (size_t i = 0; i < place.size(); ++i) scale[place[i]] += graph().degree[i];
  scale = scale.cwiseSqrt().cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solved(scale.asDiagonal() * dense(last) * scale.asDiagonal());
  const MatrixXd coarse = scale.asDiagonal() * solved.eigenvectors().middleCols(1, count);
  std::vector<double> vectors(place.size() * static_cast<size_t>(count));
  for (size_t i = 0; i < place.size(); ++i)
    for (int64_t k = 0; k < count; ++k)
      vectors[i * static_cast<size_t>(count) + static_cast<size_t>(k)] = coarse(place[i], k);
  return vectors;
}

}  // namespace adj::detail
