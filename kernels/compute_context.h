#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace adj {

namespace kernels {
class CutStore;  // kernels/tiles/cut_store.h
}

/// How float32 matrix products are computed on a GPU. exact: to the accuracy of float32 arithmetic, operands
/// in all their bits. tf32, bf16: tensor cores with operands rounded to 10 or 7 bits of mantissa, float32
/// accumulation; only when asked for. The CPU is always exact.
enum class MatmulPrecision : uint8_t { exact, tf32, bf16 };

/// What an exact product is computed by on a GPU of compute capability 9.0. float32: its float32 units.
/// split: its tensor cores, operands as sums of three bfloat16 numbers, about twice as fast where the product
/// is large and no less accurate (no term loses more than 2^-22 |a b|, however small a or b is).
/// by_size: split where that is faster. Other devices: float32 alone.
enum class ExactProducts : uint8_t { by_size, float32, split };

/// What computes products of sparse matrices with features (spmm) and attention on a GPU. `csr`: rows of CSR.
/// `tiles`: tensor cores, every entry in a tile. `hybrid`: the columns that enough rows of a window share in
/// tiles, the rest by rows of CSR. `automatic`: hybrid or csr, by tile_cost() or attention_tile_cost()
/// (graph/sparse_kernels.h), never by a clock.
///
/// Tensor cores round their operands, so they are for features in bfloat16, and for float32 where the matmul
/// precision is not exact: then as kernels/tiles/tile_spmm.h says, by 11 significant bits. They are those of
/// GPUs of compute capability 9.0. On a CPU, and for float64, products go by rows of CSR whatever is set.
/// Elsewhere a product for which `tiles` or `hybrid` is set throws Error where it cannot be had: on another
/// GPU, in exact float32, over rows that do not ascend, with weights by head; attention, too, with dropout,
/// edge features or heads of more than 128 features, and GATv2's always.
enum class SparseKernels : uint8_t { automatic, csr, tiles, hybrid };

/// How neighbours are summed where a relation is an edge list of which nothing is derived yet (fuseGNN, Chen
/// et al. 2020, section 5). `reduce` (GAR): the list is sorted into CSR and, for a backward pass, its
/// transpose, and every row is summed in a register. `scatter` (GAS): every edge's row is added to its
/// target's, over the list as it is. Both are the same in every run, but they are not the same bits: sums are
/// taken in another order. `automatic`: by aggregation_cost() (graph/detail/aggregation.h), never by a
/// measurement. A relation that began as CSR, as Graph::from_coo makes it, is reduced whatever is set.
enum class Aggregation : uint8_t { automatic, reduce, scatter };

/// How the calling thread computes, where more than one way is right.
struct ComputeContext {
  MatmulPrecision matmul_precision = MatmulPrecision::exact;
  ExactProducts exact_products = ExactProducts::by_size;
  SparseKernels sparse_kernels = SparseKernels::automatic;
  Aggregation aggregation = Aggregation::automatic;
  /// Where cuts for tensor cores are looked for before they are made, and which is told of those that are
  /// kept; null: nowhere.
  std::shared_ptr<kernels::CutStore> cuts = {};
};

/// The calling thread's, which may be changed: what it says counts from the next op on. A thread begins with
/// the defaults, those of a Prefetcher with their maker's.
ComputeContext& compute_context();

/// The calling thread's context as long as it lives.
class ComputeScope {
 public:
  explicit ComputeScope(ComputeContext context)
      : before_(std::exchange(compute_context(), std::move(context))) {}
  ~ComputeScope() { compute_context() = std::move(before_); }
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  ComputeContext before_;
};

}  // namespace adj
