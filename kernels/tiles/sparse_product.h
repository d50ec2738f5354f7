#pragma once

#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <functional>
#include <string_view>

// Sparse products by the fastest valid kernels for their device and sizes: rows of CSR, or tensor cores over
// a cut of the structure, as ComputeContext::sparse_kernels and the precision allow. Contracts and results
// are those of spmm, sddmm and spmm_backward, but for the rounding of tensor cores
// (kernels/tiles/tile_spmm.h). Errors and explanations name `op`.
namespace adj::kernels {

/// Values of a matrix in the order of a cut, kept between calls.
struct KeptValues {
  std::function<TileValues(const RowTiles&)> values;  ///< of a cut; called if there is one
  bool factors;  ///< whether each value is a row's number times a column's
};
/// Y = act(A X + bias), whose values are copied into a cut's order.
void sparse_product(std::string_view op, const SpmmArgs& args);
/// The rows of X [n, width], of which some are elsewhere: all at once, or some columns at a time from left to
/// right, so that a product of those that are here hides the way of the next.
struct RowParts {
  int64_t width;
  DType dtype;  ///< of all elements
  std::function<Tensor()> all;
  /// Columns [first, first + rows.size(1)) of X, of which `local` may have some (SpmmArgs::local).
  struct Part {
    const Tensor& rows;
    int64_t first;
    const Tensor& local;
    int64_t local_row;  ///< the row of X that is the first of `local`
  };
  std::function<void(const std::function<void(const Part&)>& visit)> each;  ///< visits all columns once
};
/// The same with kept values.
void sparse_product(std::string_view op, const CsrMatrix& a, const RowParts& x, const Tensor& bias,
                    Activation activation, Tensor& y, const KeptValues& kept);
/// sddmm. Tiles take heads of at most kMostTileSddmmWidth features.
void entry_products(std::string_view op, const SddmmArgs& args);
/// spmm_backward. Tiles take one head of at most kMostTileSddmmWidth features.
void sparse_product_backward(std::string_view op, const SpmmBackwardArgs& args);

}  // namespace adj::kernels
