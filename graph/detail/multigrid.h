#pragma once

#include <adjoint/graph/detail/laplacian_level.h>

#include <memory>

namespace adj::detail {

/// Approximate solutions of (D - A) x = r by levels of aggregates, and their eigenvectors as a start. On a
/// graph whose aggregates have nearly as many edges as itself (random and social ones, of which each part has
/// many neighbours) there is but one level: there it is no help, nor is it needed.
class Multigrid {
 public:
  explicit Multigrid(LaplacianLevel graph);
  ~Multigrid();

  const LaplacianLevel& graph() const;
  bool is_coarsened() const;
  /// x of r, [n, kColumns] each; r has sums of 0 by column. A K-cycle (Notay & Vassilevski 2008), which is
  /// not linear in r.
  void solve(const double* r, double* x);
  /// Eigenvectors of (D - A) u = λ D u on the coarsest level, D summed over aggregates, ascending from the
  /// first above 0, and laid onto the nodes: [n, count] by row, `count` at most.
  std::vector<double> coarse_eigenvectors(int64_t& count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace adj::detail
