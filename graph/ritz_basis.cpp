#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/detail/ritz_basis.h>

#include <cmath>

#include <Eigen/Eigenvalues>

namespace adj::detail {

namespace {

constexpr int64_t kBasisGrain = 1 << 11;  // rows per chunk: of a basis of 64, 1 MB
constexpr int kMostPasses = 8;
// Of the Gram matrix of unit columns without their part along the basis: directions with eigenvalues below
// the first lie within the basis; if all are above the second, rounding leaves orthogonal columns.
constexpr double kDependent = 1e-13;
constexpr double kIndependent = 1e-3;

using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

struct RitzBasis::State {
  explicit State(const LaplacianLevel& level) : graph(level), rows(level.nodes()) {}

  const LaplacianLevel& graph;
  int64_t rows, columns = 0, width = 0, used = 0;
  uint64_t draws = 0;
  VectorXd root;             // D^1/2
  Panel vectors;             // [rows, 1 + columns]; the first is D^1/2 1
  Panel block;               // [rows, width]
  Panel panel, image;        // [rows, kColumns]
  MatrixXd projected, turn;  // of L on the basis, and its eigenvectors
  std::vector<double> values;

  auto block_rows(int64_t begin, int64_t end) {
    return Eigen::Map<RowMatrix>(block.data() + begin * width, end - begin, width);
  }
  auto basis_rows(int64_t begin, int64_t end, int64_t first, int64_t count) {
    return Eigen::Map<RowMatrix, 0, Eigen::OuterStride<>>(vectors.data() + begin * (1 + columns) + first,
                                                          end - begin, count,
                                                          Eigen::OuterStride<>(1 + columns));
  }
  auto panel_rows(Panel& numbers, int64_t begin, int64_t end) {
    return Eigen::Map<RowMatrix>(numbers.data() + begin * kColumns, end - begin, kColumns);
  }
  auto roots(int64_t begin, int64_t end) { return root.segment(begin, end - begin).asDiagonal(); }
  auto inverse_roots(int64_t begin, int64_t end) {
    return root.segment(begin, end - begin).cwiseInverse().asDiagonal();
  }
  template <class F>
  void for_chunks(F&& f) {
    adj::parallel_for(rows, kBasisGrain, f);
  }
  /// Σ of f(begin, end) over chunks of rows, in their order.
  template <class F>
  MatrixXd sum_of_chunks(F&& f) {
    std::vector<MatrixXd> parts(static_cast<size_t>(ceil_div(rows, kBasisGrain)));
    for_chunks(
        [&](int64_t begin, int64_t end) { parts[static_cast<size_t>(begin / kBasisGrain)] = f(begin, end); });
    for (size_t k = 1; k < parts.size(); ++k) parts[0] += parts[k];
    return std::move(parts[0]);
  }
  void randomize(int64_t column);
  bool orthonormalize();
  void project();
  void restart();
};

void RitzBasis::State::randomize(int64_t column) {
  const uint64_t stream = draws++;
  for_chunks([&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      block[static_cast<size_t>(i * width + column)] =
          static_cast<double>(philox(0, stream, static_cast<uint64_t>(i)).word[0]) * 0x1p-31 - 1.0;
  });
}

/// One pass of block Gram-Schmidt, against the basis and within the block by its Gram matrix (Stathopoulos &
/// Wu 2002, SVQB). Whether the block is orthonormal to rounding.
bool RitzBasis::State::orthonormalize() {
  const int64_t all = 1 + used;
  const MatrixXd sums = sum_of_chunks([&](int64_t begin, int64_t end) {
    MatrixXd part(all + width, width);
    part.topRows(all).noalias() = basis_rows(begin, end, 0, all).transpose() * block_rows(begin, end);
    part.bottomRows(width).noalias() = block_rows(begin, end).transpose() * block_rows(begin, end);
    return part;
  });
  const auto along = sums.topRows(all);
  const VectorXd scale = sums.bottomRows(width).diagonal().unaryExpr(
      [](double square) { return square > 1e-290 ? 1.0 / std::sqrt(square) : 0.0; });
  const MatrixXd gram =
      scale.asDiagonal() * (sums.bottomRows(width) - along.transpose() * along) * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solved(gram);
  MatrixXd mixing = scale.asDiagonal() * solved.eigenvectors();
  int64_t dependent = 0;  // the first ones, as eigenvalues ascend
  for (int64_t k = 0; k < width; ++k) {
    const double square = solved.eigenvalues()[k];
    if (!(square > kDependent)) ++dependent;
    mixing.col(k) *= square > kDependent ? 1.0 / std::sqrt(square) : 0.0;
  }
  const MatrixXd back = along * mixing;
  for_chunks([&](int64_t begin, int64_t end) {
    RowMatrix turned = block_rows(begin, end) * mixing;
    turned.noalias() -= basis_rows(begin, end, 0, all) * back;
    block_rows(begin, end) = turned;
  });
  for (int64_t k = 0; k < dependent; ++k) randomize(k);
  return solved.eigenvalues()[0] > kIndependent;
}

/// The basis with the block, L on it, and that matrix's eigenvectors.
void RitzBasis::State::project() {
  for_chunks(
      [&](int64_t begin, int64_t end) { basis_rows(begin, end, 1 + used, width) = block_rows(begin, end); });
  for (int64_t first = 0; first < width; first += kColumns) {
    for_chunks([&](int64_t begin, int64_t end) {
      panel_rows(panel, begin, end) =
          inverse_roots(begin, end) * block_rows(begin, end).middleCols(first, kColumns);
    });
    multiply(graph, panel.data(), image.data());
    const MatrixXd added = sum_of_chunks([&](int64_t begin, int64_t end) -> MatrixXd {
      const RowMatrix product = inverse_roots(begin, end) * panel_rows(image, begin, end);
      return basis_rows(begin, end, 1, used + width).transpose() * product;
    });
    projected.block(0, used + first, used + width, kColumns) = added;
    projected.block(used + first, 0, kColumns, used) = added.topRows(used).transpose();
  }
  used += width;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solved(projected.topLeftCorner(used, used));
  values.assign(solved.eigenvalues().data(), solved.eigenvalues().data() + used);
  turn = solved.eigenvectors();
}

void RitzBasis::State::restart() {
  const int64_t kept = columns * 3 / 4 / width * width;
  for_chunks([&](int64_t begin, int64_t end) {
    const RowMatrix turned = basis_rows(begin, end, 1, used) * turn.leftCols(kept);
    basis_rows(begin, end, 1, kept) = turned;
  });
  projected.setZero();
  for (int64_t k = 0; k < kept; ++k) projected(k, k) = values[static_cast<size_t>(k)];
  used = kept;
}

RitzBasis::RitzBasis(const LaplacianLevel& graph, int64_t columns, int64_t block)
    : state_(std::make_unique<State>(graph)) {
  State& s = *state_;
  s.columns = columns;
  s.width = block;
  s.root = Eigen::Map<const VectorXd>(graph.degree.data(), s.rows).cwiseSqrt();
  s.vectors = Panel(s.rows, 1 + columns);
  s.basis_rows(0, s.rows, 0, 1) = s.root.normalized();
  s.block = Panel(s.rows, block);
  for (Panel* panel : {&s.panel, &s.image}) *panel = Panel(s.rows, kColumns);
  s.projected = MatrixXd::Zero(columns, columns);
}
RitzBasis::~RitzBasis() = default;

Panel& RitzBasis::block() { return state_->block; }
void RitzBasis::randomize(int64_t column) { state_->randomize(column); }
const std::vector<double>& RitzBasis::values() const { return state_->values; }

void RitzBasis::append() {
  State& s = *state_;
  if (s.used + s.width > s.columns) s.restart();
  s.for_chunks([&](int64_t begin, int64_t end) {
    s.block_rows(begin, end) = (s.roots(begin, end) * s.block_rows(begin, end)).eval();
  });
  int passes = 0;
  while (!s.orthonormalize())
    ADJ_CHECK(++passes < kMostPasses,
              "laplacian eigenvectors: found no {} directions beside {} over {} nodes", s.width, s.used,
              s.rows);
  s.project();
}

void RitzBasis::ritz_vectors(int64_t first, int64_t count, double* u) const {
  State& s = *state_;
  s.for_chunks([&](int64_t begin, int64_t end) {
    Eigen::Map<RowMatrix>(u + begin * count, end - begin, count).noalias() =
        s.inverse_roots(begin, end) * (s.basis_rows(begin, end, 1, s.used) * s.turn.middleCols(first, count));
  });
}

}  // namespace adj::detail
