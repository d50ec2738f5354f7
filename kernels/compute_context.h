#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace adj {

namespace kernels {
class CutStore;  // kernels/tiles/cut_store.h
}

/// How float32 matrix products are computed on a GPU. exact: full float32 operands and accuracy. tf32, bf16:
/// tensor cores with operands rounded to 10 or 7 bits of mantissa, float32 accumulation; only on request. The
/// CPU is always exact.
enum class MatmulPrecision : uint8_t { exact, tf32, bf16 };

/// Method of an exact product on a GPU of compute capability 9.0. float32: its float32 units. split: its
/// tensor cores, operands as sums of three bfloat16 numbers, about twice as fast where the product is large
/// and no less accurate (no term loses more than 2^-22 |a b|, however small a or b is).
/// by_size: split where that is faster. Other devices always use float32.
enum class ExactProducts : uint8_t { by_size, float32, split };
/// Names of the values, in their order, for options and messages.
constexpr auto names_of(ExactProducts) { return std::array{"by-size", "float32", "split"}; }

/// Kernels for products of sparse matrices with features (spmm) and for attention on a GPU. `csr`: rows of
/// CSR. `tiles`: tensor cores, every entry in a tile. `hybrid`: columns shared by enough rows of a window in
/// tiles, the rest by rows of CSR. `automatic`: hybrid or csr, by tile_cost() or attention_tile_cost()
/// (kernels/plan/tile_cost.h), never by a clock.
///
/// Tensor cores require a GPU of compute capability 9.0. They round their operands, so they are used for
/// bfloat16 features, and for float32 if the matmul precision is not exact (11 significant bits,
/// kernels/tiles/tile_spmm.h). CPUs and float64 always use CSR rows. Otherwise `tiles` and `hybrid` throw
/// Error if unsupported: on other GPUs, in exact float32, for unsorted rows, for weights per head; for
/// attention also with dropout, edge features or heads wider than 128; always for GATv2.
enum class SparseKernels : uint8_t { automatic, csr, tiles, hybrid };
constexpr auto names_of(SparseKernels) { return std::array{"auto", "csr", "tiles", "hybrid"}; }

/// How neighbours are summed if a relation is an edge list without derived forms (fuseGNN, Chen et al. 2020,
/// section 5). `reduce` (GAR): the list is sorted into CSR and, for a backward pass, its transpose, and every
/// row is summed in a register. `scatter` (GAS): every edge's row is added to its target's, in the order of
/// the list. Each gives the same bits in every run, but the two differ in the last bits, as they sum in
/// different orders. `automatic`: by aggregation_cost() (kernels/plan/aggregation_cost.h), never by a
/// measurement. A relation that began as CSR, as Graph::from_coo makes it, always uses `reduce`.
enum class Aggregation : uint8_t { automatic, reduce, scatter };

/// Choices between valid methods, per thread: `matmul_precision` and `exact_products` for dense products,
/// `sparse_kernels` for sparse ones and attention, `aggregation` for edge lists. By default float32 stays
/// exact and methods are chosen by rules on sizes.
struct ComputeContext {
  MatmulPrecision matmul_precision = MatmulPrecision::exact;
  ExactProducts exact_products = ExactProducts::by_size;
  SparseKernels sparse_kernels = SparseKernels::automatic;
  Aggregation aggregation = Aggregation::automatic;
  /// Where tensor-core cuts are looked up before they are computed, and where cached cuts are registered;
  /// null: none.
  std::shared_ptr<kernels::CutStore> cuts = {};
};

/// The calling thread's context. Changes apply from the next op on. New threads have the defaults; workers of
/// a Prefetcher have their creator's context.
ComputeContext& compute_context();

/// Sets the calling thread's context during its lifetime.
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
