#pragma once

#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/nn/linear.h>

namespace adj::nn {

/// The rows of `types`, int32 [N], as groups of a product: make them once, and use them in every step.
inline RowGroups groups_of(const TypedRows& rows) { return {rows.offsets, {}, rows.rows}; }

/// Options of HeteroLinear.
struct HeteroLinearOptions {
  bool bias = true;                   ///< b
  Initial initial = Initial::fan_in;  ///< of every map
};

/// x_i W_t + b_t for the type t of each row: x [N,in] -> [N,out] (PyG's HeteroLinear). All types in one
/// product.
class HeteroLinear : public Module {
 public:
  HeteroLinear(int64_t in, int64_t out, int64_t types, const HeteroLinearOptions& options = {});
  /// `rows`: typed_rows() of the types of x's rows, as groups_of(); or groups that pick rows of x.
  Var operator()(const Var& x, const RowGroups& rows) const { return grouped_linear(x, weight, rows, bias); }
  std::string describe() const override;

  Var weight;  ///< [types, in, out]
  Var bias;    ///< [types, out], or absent
};

}  // namespace adj::nn
