#include <adjoint/core/detail/dispatch.h>
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/plan/tile_cost.h>

#include <array>
#include <bit>
#include <numeric>

namespace adj::kernels {

namespace {

// Nanoseconds a unit of the terms below, fitted to 272 pairs of times: an H100's, and an H200's of
// bench/results/tiles.csv; most weight where times are close. Largest loss against the faster kernels, over
// hm and tolokers (arxiv and roads have too few entries a row to be tried): 3.1 %.
constexpr size_t kCsrTerms = 7, kTileTerms = 6;
struct Costs {
  double csr[kCsrTerms], tiles[kTileTerms];
};

// By TiledOp. CSR: bytes read by lanes, the same and entries if 16 bits, entries, bytes of columns by
// window, bytes of rows, launches. Hybrid: tiles, their features, entries, bytes of the rest, of rows,
// launches.
constexpr Costs kProducts[] = {
    {{0.0107, 0.00403, 0.741, 0.543, 0.00826, 3.53, 18.1}, {1370.0, 2.51, 0.0, 0.0113, 1.77, 24.2}},
    {{0.0105, 0.00568, 0.0, 1.27, 0.00483, 6.99, 17.7}, {0.0, 5.89, 2.09, 0.0148, 1.45, 27.4}},
    {{0.0087, 0.00599, 0.0, 1.27, 0.0101, 4.61, 15.8}, {1260.0, 0.0, 6.87, 0.0186, 1.68, 35.0}},
    {{0.0146, 0.00984, 0.0, 1.59, 0.00984, 4.8, 20.8}, {4870.0, 3.34, 0.362, 0.0183, 1.49, 10.1}},
    {{0.0131, 0.0173, 0.0, 4.31, 0.0249, 2.72, 20.0}, {7970.0, 14.3, 5.51, 0.0425, 3.39, 60.1}}};

// Of forward and backward, GAT's and dot attention's. CSR: bytes read by lanes, features of them if 16 bits,
// features read one at a time, heads of entries, bytes of columns by window, of rows, launches. Hybrid: heads
// of tiles, the same if wide, heads of the rest, bytes of the rest, of rows, launches.
constexpr Costs kGat = {{0.0544, 0.14, 0.875, 1.84, 0.024, 10.2, 135.0},
                        {5490.0, 1660.0, 5.08, 0.038, 2.1, 103.0}},
                kDot = {{0.0861, 0.146, 1.02, 1.71, 0.0624, 11.4, 160.0},
                        {6680.0, 5480.0, 6.12, 0.0486, 3.65, 120.0}};

template <size_t kTerms>
double sum(const double (&costs)[kTerms], const std::array<double, kTerms>& units) {
  return std::inner_product(units.begin(), units.end(), costs, 0.0);
}

}  // namespace

namespace cpu {
namespace {
DeviceRates device_rates(Device) { return {}; }
}  // namespace
}  // namespace cpu

DeviceRates device_rates(Device device) { return ADJ_DISPATCH(device, device_rates, device); }

TileCost tile_cost(const CutCounts& counts, const DeviceRates& rates, int64_t width, DType features,
                   TiledOp op) {
  const bool narrow = features == DType::bf16;
  const int64_t row = width * (narrow ? 2 : 4), whole = ceil_div(row, int64_t{16}) * 16;
  // Lanes read 16 bytes each: a power of two of them, or whole warps.
  const auto lanes = static_cast<double>(whole < 512 ? std::bit_ceil(static_cast<uint64_t>(whole))
                                                     : ceil_div(whole, int64_t{512}) * 512);
  const auto f = static_cast<double>(width), bytes = static_cast<double>(row),
             rows = static_cast<double>(counts.rows),
             entries = static_cast<double>(counts.entries) / rates.cycles,
             tiles = static_cast<double>(counts.tiles) / rates.cycles;
  const Costs& costs = kProducts[static_cast<size_t>(op)];
  return {
      .csr = sum(costs.csr, {entries * lanes, narrow ? entries * lanes : 0.0, narrow ? entries : 0.0, entries,
                             counts.columns() * bytes / rates.l2, rows * bytes / rates.memory, 1e3}),
      // Rows of sums are written by tiles and joined with the rest's; those of float32 are rounded.
      .hybrid =
          sum(costs.tiles, {tiles, tiles * f, entries, static_cast<double>(counts.rest) * f * 2.0 / rates.l2,
                            rows * f * (narrow ? 14.0 : 30.0) / rates.memory, 1e3})};
}

TileCost attention_tile_cost(const CutCounts& counts, const DeviceRates& rates, int64_t heads, int64_t width,
                             int64_t gathered, DType features) {
  const bool narrow = features == DType::bf16;
  const int64_t size = narrow ? 2 : 4, vector = 16 / size, padded = ceil_div(width, int64_t{8}) * 8;
  // As the CSR kernels lay out a head: by 16 bytes a lane, or by single features.
  const bool vectors = width % vector == 0;
  const auto slots = static_cast<double>(
      vectors ? std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(width / vector, 2))) *
                    static_cast<uint64_t>(vector)
      : width <= 8   ? 8
      : width <= 32  ? 32
      : width <= 128 ? 128
                     : 1024);
  const auto h = static_cast<double>(heads), bytes = static_cast<double>(heads * width * size),
             row = h * static_cast<double>(padded), rows = static_cast<double>(counts.rows),
             rest = static_cast<double>(counts.rest),
             per_head = h * static_cast<double>(counts.entries) / rates.cycles, read = per_head * slots,
             tiles = h * static_cast<double>(counts.tiles) / rates.cycles;
  const Costs& costs = gathered == 1 ? kGat : kDot;
  return {.csr = sum(costs.csr, {vectors ? read * static_cast<double>(size) : 0.0,
                                 vectors && narrow ? read : 0.0, vectors ? 0.0 : read, per_head,
                                 counts.columns() * bytes / rates.l2, rows * bytes / rates.memory, 1e3}),
          .hybrid = sum(costs.tiles, {tiles, padded > 64 ? tiles : 0.0, h * rest / rates.cycles,
                                      rest * row * 2.0 / rates.l2,
                                      rows * row * (narrow ? 58.0 : 80.0) / rates.memory, 1e3})};
}

}  // namespace adj::kernels
