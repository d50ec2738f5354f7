#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/spmm.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/graph/sparse_kernels.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj {

namespace {

void check_fit(const char* op, int64_t cols, Device device, const Var& x) {
  ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == cols, "{}: input {} does not fit a matrix of {} columns",
            op, x.shape().str(), cols);
  ADJ_CHECK(x.device() == device, "{}: matrix on {}, input on {}", op, device.str(), x.device().str());
}

// Y = act(A X + bias), or with the adjoint of A, over CSR rows or by tensor cores, according to
// ComputeContext::sparse_kernels.
void sparse_product(const SparseMatrix& a, bool adjoint, const Tensor& x, const Tensor& bias,
                    Activation activation, Tensor& y) {
  const CsrMatrix matrix = adjoint ? a.adjoint() : a.matrix();
  const TiledOp op = a.has_factors() ? TiledOp::product : TiledOp::kept_weights;
  if (const auto tiles = tiles_for("spmm", matrix.csr, x.size(1), x.dtype(), op)) {
    const kernels::TileValues values = a.tile_values(*tiles, adjoint, x.dtype());
    kernels::tile_spmm(
        {.tiles = *tiles, .values = values, .x = x, .bias = bias, .activation = activation, .y = y});
  } else {
    kernels::spmm({.a = matrix, .x = x, .bias = bias, .activation = activation, .y = y});
  }
}

}  // namespace

Var spmm(const SparseMatrix& matrix, const Var& x, const Var& bias, Activation activation) {
  const OpScope scope("spmm", matrix, x, bias);
  check_fit("spmm", matrix.cols(), matrix.device(), x);
  kernels::check_fused("spmm", activation);
  const SparseMatrix a = matrix.for_features(x.dtype());
  Tensor y = Tensor::empty({a.rows(), x.size(1)}, x.dtype(), x.device());
  const bool scatters = a.relation().scatters(x.dtype());
  if (scatters) {
    kernels::spmm_coo({.a = a.relation().coo(),
                       .values = a.values(),
                       .x = x.value(),
                       .bias = bias.value_or_absent(),
                       .activation = activation,
                       .y = y});
  } else {
    sparse_product(a, false, x.value(), bias.value_or_absent(), activation, y);
  }
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  const Var result = record(
      "spmm", y, {x, bias}, [a, scatters, values = Saved(a.values()), y = output](Tensor dy, Gradients& out) {
        const Tensor dz = detail::through_activation(y, std::move(dy), out);
        detail::bias_gradient(dz, 1, out);
        if (!out.wanted(0)) return;
        (void)values.get();  // shared with the matrix: throws if modified
        Tensor dx = Tensor::empty({a.cols(), dz.size(1)}, dz.dtype(), dz.device());
        if (scatters) {
          kernels::spmm_coo({.a = a.relation().coo().transposed(), .values = a.values(), .x = dz, .y = dx});
        } else {
          sparse_product(a, true, dz, {}, Activation::none, dx);
        }
        out.add(0, dx);
      });
  return detail::after(activation, result);
}

}  // namespace adj
