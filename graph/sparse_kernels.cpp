#include <adjoint/graph/sparse_kernels.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/sparse/explain.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <atomic>

namespace adj {

namespace {

std::atomic<SparseKernels> chosen{SparseKernels::automatic};

double share_in_tiles(const CutCounts& counts) {
  return counts.entries == 0 ? 0.0
                             : 100.0 * static_cast<double>(counts.entries - counts.rest) /
                                   static_cast<double>(counts.entries);
}

}  // namespace

void set_sparse_kernels(SparseKernels kernels) { chosen = kernels; }
SparseKernels sparse_kernels() { return chosen; }

TileCost tile_cost(const CutCounts& counts, int64_t width, DType features) {
  const bool wide = features == DType::f32;
  const auto f = static_cast<double>(width), rows = static_cast<double>(counts.rows),
             cols = static_cast<double>(counts.cols);
  // Bytes per nanosecond: gathers of rows that L1 holds in part, gathers from L2, and of memory.
  constexpr double kBestGathers32 = 20'500.0, kBestGathers16 = 14'200.0, kGathers = 8'000.0,
                   kMemory = 4'000.0;
  constexpr double kTileFeature = 0.033;  // of a tile, by all of 132 multiprocessors
  constexpr double kFixed = 60'000.0;     // five launches, and what does not fill the GPU at their ends
  const double csr =
      static_cast<double>(counts.entries) * f * (wide ? 4.0 / kBestGathers32 : 2.0 / kBestGathers16);
  const double rest = static_cast<double>(counts.rest) * f * 2.0 / kGathers;
  const double product = static_cast<double>(counts.tiles) * f * kTileFeature;
  const double parts = 8.0 * rows * f / kMemory, rounding = wide ? 10.0 * cols * f / kMemory : 0.0;
  return {.csr = csr, .hybrid = rest + product + parts + rounding + kFixed};
}

std::shared_ptr<const RowTiles> tiles_for(std::string_view op, const Csr& a, int64_t width, DType features) {
  const SparseKernels choice = sparse_kernels();
  const Device device = a.device();
  if (choice == SparseKernels::csr || device.is_cpu() || features == DType::f64) return nullptr;
  const bool rounds = features == DType::bf16 || matmul_precision() != MatmulPrecision::exact;
  const std::string subject = explaining() ? fmt::format("kernels of {}", op) : std::string();
  if (choice == SparseKernels::automatic) {
    if (!rounds || !a.ascending || a.entries() < kLeastCutEntries || a.entries() > kMostCutEntries ||
        a.entries() < 16 * a.rows || !kernels::has_tile_spmm(device))
      return nullptr;
    const auto counts = a.cache->get<CutCounts>(kHybridLeast, [&] {
      return std::make_shared<CutCounts>(a, kernels::make_row_tiles(a, kHybridLeast));
    });
    const TileCost cost = tile_cost(*counts, width, features);
    if (explaining())
      kernels::explain_sparse(
          subject, a, width, 1, features,
          "{}: {:.1f} % of entries fit {} tiles; {:.3f} ms by rows of CSR at best, {:.3f} ms with "
          "tensor cores (by rule)",
          cost.tiles() ? "tensor cores and rows of CSR" : "rows of CSR", share_in_tiles(*counts),
          counts->tiles, cost.csr / 1e6, cost.hybrid / 1e6);
    return cost.tiles() ? kernels::row_tiles(a, kHybridLeast) : nullptr;
  }
  ADJ_CHECK(kernels::has_tile_spmm(device),
            "{}: kernels of tensor cores want a GPU of compute capability 9.0, not {}", op, device.str());
  ADJ_CHECK(rounds,
            "{}: tensor cores round float32 features to 11 bits, which a precision of tf32 allows and exact "
            "float32 does not",
            op);
  ADJ_CHECK(a.ascending, "{}: kernels of tensor cores want rows of ascending columns", op);
  auto tiles = kernels::row_tiles(a, choice == SparseKernels::tiles ? 1 : kHybridLeast);
  if (explaining())
    kernels::explain_sparse(subject, a, width, 1, features,
                            "tensor cores for {:.1f} % of entries in {} tiles, as asked",
                            share_in_tiles({a, *tiles}), tiles->num_tiles());
  return tiles;
}

}  // namespace adj
