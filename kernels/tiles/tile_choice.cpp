#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/plan/explain.h>
#include <adjoint/kernels/tiles/cut_store.h>
#include <adjoint/kernels/tiles/tile_choice.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <chrono>
#include <cmath>

namespace adj::kernels {

namespace {

double share_in_tiles(const CutCounts& counts) {
  return counts.entries == 0 ? 0.0
                             : 100.0 * static_cast<double>(counts.entries - counts.rest) /
                                   static_cast<double>(counts.entries);
}

struct Wanted {
  std::string_view op;
  int64_t width, heads;
  DType features;
  const char* obstacle;
};

template <class Cost>
std::shared_ptr<const RowTiles> choose(const Csr& a, const Wanted& wanted, Cost&& cost_of) {
  const SparseKernels choice = compute_context().sparse_kernels;
  const Device device = a.device();
  const std::string_view op = wanted.op;
  if (choice == SparseKernels::csr || device.is_cpu() || wanted.features == DType::f64) return nullptr;
  const bool rounds =
      wanted.features == DType::bf16 || compute_context().matmul_precision != MatmulPrecision::exact;
  const std::string subject = explaining() ? fmt::format("kernels of {}", op) : std::string();
  const auto explain = [&]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
    if (explaining())
      explain_sparse(subject, a, wanted.width, wanted.heads, wanted.features, "{}",
                     fmt::format(text, std::forward<Args>(args)...));
  };
  if (choice == SparseKernels::automatic) {
    if (a.whole || !rounds || !a.ascending || a.entries() < kLeastCutEntries ||
        a.entries() > kMostCutEntries || a.entries() < 16 * a.rows || !has_tile_spmm(device))
      return nullptr;
    if (wanted.obstacle != nullptr) {
      explain("rows of CSR: tensor cores support no {}", wanted.obstacle);
      return nullptr;
    }
    std::shared_ptr<RowTiles> cut;  // to count its parts; kept if used
    const auto counts = a.cache->get<CutCounts>(kHybridLeast, [&] {
      if (explaining()) synchronize(device);
      const auto begin = std::chrono::steady_clock::now();
      cut = find_or_make(a, kHybridLeast);
      const auto of_cut = std::make_shared<CutCounts>(a, *cut);
      if (explaining()) {
        synchronize(device);
        of_cut->cut_ms =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      }
      return of_cut;
    });
    const TileCost cost = cost_of(*counts, device_rates(device));
    const double saved_ms = (cost.csr - cost.hybrid) / 1e6;
    explain(
        "{}: {:.1f} % of entries fit {} tiles; {:.3f} ms by rows of CSR at best, {:.3f} ms with tensor cores "
        "(by rule){}",
        cost.tiles() ? "tensor cores and rows of CSR" : "rows of CSR", share_in_tiles(*counts), counts->tiles,
        cost.csr / 1e6, cost.hybrid / 1e6,
        counts->cut_ms == 0.0 || !cost.tiles()
            ? std::string()
            : fmt::format(", cut in {:.1f} ms, repaid after {:.0f}", counts->cut_ms,
                          std::ceil(counts->cut_ms / saved_ms)));
    if (!cost.tiles()) return nullptr;
    return row_tiles(a, kHybridLeast, cut);
  }
  ADJ_CHECK(has_tile_spmm(device), "{}: tensor-core kernels require a GPU of compute capability 9.0, not {}",
            op, device.str());
  ADJ_CHECK(rounds,
            "{}: tensor cores round float32 features to 11 bits, which a precision of tf32 allows and exact "
            "float32 does not",
            op);
  ADJ_CHECK(!a.whole, "{}: tensor-core kernels require all rows of a structure, not a rank's", op);
  ADJ_CHECK(a.ascending, "{}: tensor-core kernels require rows of ascending columns", op);
  ADJ_CHECK(wanted.obstacle == nullptr, "{}: tensor-core kernels support no {}", op, wanted.obstacle);
  auto tiles = row_tiles(a, choice == SparseKernels::tiles ? 1 : kHybridLeast);
  explain("tensor cores for {:.1f} % of entries in {} tiles, as requested", share_in_tiles({a, *tiles}),
          tiles->num_tiles());
  return tiles;
}

}  // namespace

std::shared_ptr<const RowTiles> choose_tiles(std::string_view op, const Csr& a, int64_t width, DType features,
                                             TiledOp kind, const char* obstacle) {
  return choose(a, {op, width, 1, features, obstacle},
                [&](const CutCounts& counts, const DeviceRates& rates) {
                  return tile_cost(counts, rates, width, features, kind);
                });
}

std::shared_ptr<const RowTiles> choose_attention_tiles(std::string_view op, const Csr& a,
                                                       const AttentionCall& call) {
  const char* const obstacle = call.gatv2                     ? "logits of GATv2"
                               : call.drops                   ? "attention dropout"
                               : call.edge_features           ? "edge features"
                               : call.width > kWidestTileHead ? "heads of more than 128 features"
                                                              : nullptr;
  return choose(a, {op, call.heads * call.width, call.heads, call.features, obstacle},
                [&](const CutCounts& counts, const DeviceRates& rates) {
                  return attention_tile_cost(counts, rates, call.heads, call.width, call.gathered,
                                             call.features);
                });
}

}  // namespace adj::kernels
