#include <adjoint/graph/sparse_kernels.h>
#include <adjoint/kernels/aggregate/explain.h>
#include <adjoint/kernels/tiles/cut_store.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <chrono>
#include <cmath>

namespace adj {

namespace {

double share_in_tiles(const CutCounts& counts) {
  return counts.entries == 0 ? 0.0
                             : 100.0 * static_cast<double>(counts.entries - counts.rest) /
                                   static_cast<double>(counts.entries);
}

/// By how much gathers by rows of CSR take longer than where rows side by side share most: hm has 0.19
/// columns an entry.
double unshared(const CutCounts& counts) {
  constexpr double kShared = 0.19, kSlope = 2.7;
  return 1.0 + kSlope * std::max(0.0, counts.columns_an_entry() - kShared);
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
      kernels::explain_sparse(subject, a, wanted.width, wanted.heads, wanted.features, "{}",
                              fmt::format(text, std::forward<Args>(args)...));
  };
  if (choice == SparseKernels::automatic) {
    if (!rounds || !a.ascending || a.entries() < kLeastCutEntries || a.entries() > kMostCutEntries ||
        a.entries() < 16 * a.rows || !kernels::has_tile_spmm(device))
      return nullptr;
    if (wanted.obstacle != nullptr) {
      explain("rows of CSR: tensor cores take no {}", wanted.obstacle);
      return nullptr;
    }
    std::shared_ptr<RowTiles> made;  // to count its parts; kept if used
    const auto counts = a.cache->get<CutCounts>(kHybridLeast, [&] {
      if (explaining()) synchronize(device);
      const auto begin = std::chrono::steady_clock::now();
      made = kernels::find_or_make(a, kHybridLeast);
      const auto of_cut = std::make_shared<CutCounts>(a, *made);
      if (explaining()) {
        synchronize(device);
        of_cut->cut_ms =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      }
      return of_cut;
    });
    const TileCost cost = cost_of(*counts);
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
    return kernels::row_tiles(a, kHybridLeast, made);
  }
  ADJ_CHECK(kernels::has_tile_spmm(device),
            "{}: tensor-core kernels require a GPU of compute capability 9.0, not {}", op, device.str());
  ADJ_CHECK(rounds,
            "{}: tensor cores round float32 features to 11 bits, which a precision of tf32 allows and exact "
            "float32 does not",
            op);
  ADJ_CHECK(a.ascending, "{}: tensor-core kernels require rows of ascending columns", op);
  ADJ_CHECK(wanted.obstacle == nullptr, "{}: tensor-core kernels support no {}", op, wanted.obstacle);
  auto tiles = kernels::row_tiles(a, choice == SparseKernels::tiles ? 1 : kHybridLeast);
  explain("tensor cores for {:.1f} % of entries in {} tiles, as requested", share_in_tiles({a, *tiles}),
          tiles->num_tiles());
  return tiles;
}

}  // namespace

TileCost tile_cost(const CutCounts& counts, int64_t width, DType features, TiledOp op) {
  const bool float32 = features == DType::f32;
  const auto f = static_cast<double>(width), rows = static_cast<double>(counts.rows),
             cols = static_cast<double>(counts.cols), entries = static_cast<double>(counts.entries);
  // Bytes per nanosecond: best gathers, with rows partly in L1; from L2; from memory.
  const double best_gathers = float32 ? 20'500.0 : 14'200.0;
  constexpr double kFromL2 = 8'900.0, kRest = 8'000.0, kMemory = 4'000.0;
  // Nanoseconds: per tile and feature over all 132 SMs; per weighted feature; per weight permuted into tile
  // order.
  constexpr double kTileFeature = 0.033, kWeighed = 2.1e-5, kNewWeight = 0.02;
  constexpr double kHidden = 0.62;     // of the shorter of tiles and rest, which run concurrently
  constexpr double kFixed = 45'000.0;  // six launches, and idle SMs at their ends
  const double gathers = std::max(best_gathers / unshared(counts), kFromL2);
  const double csr = entries * f * (float32 ? 4.0 : 2.0) / gathers;
  const double rest = static_cast<double>(counts.rest) * f * 2.0 / kRest;
  const double tiles = static_cast<double>(counts.tiles) * f * kTileFeature;
  const double beside = std::max(rest, tiles) + (1.0 - kHidden) * std::min(rest, tiles);
  const double parts = (float32 ? 20.0 : 14.0) * rows * f / kMemory,
               rounding = float32 ? 10.0 * cols * f / kMemory : 0.0;
  const double product = beside + parts + rounding + kFixed, kept = product + entries * f * kWeighed,
               made = kept + entries * kNewWeight;
  // Entry products write one number per entry, and read rows of both sides.
  const double by_entry = 1.85 * product;
  const TileCost costs[] = {// by TiledOp
                            {csr, product},
                            {csr, kept},
                            {csr, made},
                            {1.5 * csr, by_entry},
                            {2.0 * csr, 1.2 * (made + by_entry)}};
  return costs[static_cast<size_t>(op)];
}

TileCost attention_tile_cost(const CutCounts& counts, int64_t heads, int64_t width, int64_t gathered,
                             DType features) {
  const bool float32 = features == DType::f32;
  const auto f = static_cast<double>(heads * width), rows = static_cast<double>(counts.rows),
             cols = static_cast<double>(counts.cols);
  // Nanoseconds: per entry and feature, for the best CSR rows and for the rest; per tile and feature, with
  // heads padded. Bytes per nanosecond of memory, and bytes: written and added by tiles, and for rounding.
  const double csr_entry = (float32 ? 1.9e-3 : 1.4e-3) * std::min(unshared(counts), float32 ? 1.46 : 1.4);
  constexpr double kRest = 2.3e-3;
  constexpr double kTileFeature = 0.36, kMemory = 4'000.0, kFixed = 180'000.0;
  const double part_bytes = float32 ? 77.0 : 58.0, rounded_bytes = float32 ? 84.0 : 0.0;
  // GAT gathers one feature row instead of two, and has no product for its logits.
  const bool one = gathered == 1;
  const double csr_share = one ? 0.65 : 1.0, rest_share = one ? 0.5 : 1.0, tile_share = one ? 0.65 : 1.0;
  const double csr = static_cast<double>(counts.entries) * f * csr_entry * csr_share;
  const auto padded = static_cast<double>(heads * (width > 64 ? 128 : 90));
  const double passes = static_cast<double>(counts.tiles) * padded * kTileFeature * tile_share;
  const double bytes = (part_bytes + rounded_bytes) * (rows + cols) / 2 * f / kMemory;
  return {.csr = csr,
          .hybrid = static_cast<double>(counts.rest) * f * kRest * rest_share + passes + bytes + kFixed};
}

std::shared_ptr<const RowTiles> tiles_for(std::string_view op, const Csr& a, int64_t width, DType features,
                                          TiledOp kind, const char* obstacle) {
  return choose(a, {op, width, 1, features, obstacle},
                [&](const CutCounts& counts) { return tile_cost(counts, width, features, kind); });
}

std::shared_ptr<const RowTiles> attention_tiles_for(std::string_view op, const Csr& a, int64_t heads,
                                                    int64_t width, int64_t rows, DType features,
                                                    const char* obstacle) {
  return choose(a, {op, heads * width, heads, features, obstacle}, [&](const CutCounts& counts) {
    return attention_tile_cost(counts, heads, width, rows, features);
  });
}

}  // namespace adj
