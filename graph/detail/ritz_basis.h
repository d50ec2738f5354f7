#pragma once

#include <adjoint/graph/detail/laplacian_level.h>

#include <memory>

namespace adj::detail {

/// Orthonormal vectors x in the space of L = I - D^-1/2 A D^-1/2 of a graph, all at right angles to D^1/2 1,
/// and the Ritz vectors of their span: the best approximations of L's eigenvectors in it. Vectors go in and
/// come out as u = D^-1/2 x, for which L is I - D^-1 A. The graph must outlive it.
class RitzBasis {
 public:
  /// Room for `columns` vectors; `block` of them, a multiple of kColumns, come at once.
  RitzBasis(const LaplacianLevel& graph, int64_t columns, int64_t block);
  ~RitzBasis();

  /// [n, block] by row: what append() adds.
  Panel& block();
  /// Random numbers into one column of the block.
  void randomize(int64_t column);
  /// Adds the span of the block, with random vectors for what lies within the basis. If there is no room it
  /// first keeps the first three quarters of the Ritz vectors alone.
  void append();
  /// Ritz values, ascending.
  const std::vector<double>& values() const;
  /// u of Ritz vectors `first` …, [n, count] by row.
  void ritz_vectors(int64_t first, int64_t count, double* u) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace adj::detail
