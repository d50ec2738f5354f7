#pragma once

#include <adjoint/graph/detail/laplacian_level.h>

#include <vector>

namespace adj::detail {

/// Eigenvectors of L = I - D^-1/2 A D^-1/2 of a connected graph.
struct Eigenpairs {
  std::vector<double> values;   ///< ascending, from the first above 0
  std::vector<double> vectors;  ///< [n, values.size()] by row, of length 1
  int64_t products = 0;         ///< of a matrix of the graph's size and a vector
  double residual = 0.0;        ///< the largest |L v - λ v|
};

/// The columns of the basis that davidson() holds. The graph must have twice as many nodes.
int64_t davidson_columns(int64_t count);

/// The `count` smallest eigenvalues above the first, by a block Davidson method with restarts (Davidson 1975;
/// Stathopoulos & Saad 1998). Multigrid corrects the Ritz vectors where the graph has levels, else a
/// Chebyshev polynomial filters them (Zhou & Saad 2007). Each residual |L v - λ v| comes to at most 1e-4 and,
/// if that is more than rounding's 2e-13, λ/1000. Throws where that takes too many products.
Eigenpairs davidson(LaplacianLevel graph, int64_t count);

}  // namespace adj::detail
