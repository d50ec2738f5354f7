#pragma once

#include <adjoint/graph/relation.h>

namespace adj {

/// The first eigenvectors of a graph's Laplacian, and what finding them took.
struct LaplacianEigenvectors {
  Tensor vectors;          ///< float32 [N, count], on the relation's device
  Tensor component_sizes;  ///< float32 [N, 1]: nodes of each node's component
  int64_t components = 0;  ///< connected components, each with eigenvectors of its own
  int64_t products = 0;    ///< with the matrix of a component that was too large for a dense solver
  double residual = 0.0;   ///< the largest |L v - λ v| of a unit vector v
};

/// For each connected component the eigenvectors of L = I - D^-1/2 A D^-1/2 with the `count` smallest
/// eigenvalues above the first, which is 0, ascending (Belkin & Niyogi 2003; Dwivedi et al. 2023, section
/// 4.1). A joins nodes with an edge in either direction, without loops, repeats and weights. Each has length
/// 1 over its component, and its largest entry (of several the first) is positive. Components of fewer nodes
/// have zeros in the columns that they lack.
///
/// On the host, in float64. Components of up to 256 nodes (with many columns, of 4 `count` + 96) by a dense
/// solver, others by a block Davidson method: on meshes, roads and trees corrected by multigrid, on others by
/// a polynomial of L. No N × N matrix: per node 3 `count` + 90 numbers, with multigrid 70 more. Each residual
/// is at most 1e-4 and, down to 2e-13, a thousandth of its eigenvalue. Eigenvalues that lie closer than their
/// residuals may come with mixed eigenvectors. Same bits for any number of threads. Throws for a negative
/// count, for a relation between two sets of nodes, and where 2,000 (`count` + 8) products with a component
/// do not reach those residuals.
LaplacianEigenvectors laplacian_eigenvectors(const Relation& relation, int64_t count);

}  // namespace adj
