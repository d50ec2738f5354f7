#include "tile_cases.h"

#include <map>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kRows = RowTiles::kRows, kColumns = RowTiles::kColumns;

/// A cut by its definition.
struct PlainCut {
  std::vector<int32_t> windows{0}, window_of, columns, starts, entries, rest, rest_entry;
  std::vector<int64_t> bits, rest_offsets{0};

  PlainCut(const Csr& csr, int64_t least) {
    const auto offsets = csr.offsets.to_vector<int64_t>();
    const auto indices = csr.indices.to_vector<int32_t>();
    for (int64_t first = 0; first < csr.rows; first += kRows) {
      const int64_t end = std::min(csr.rows, first + kRows);
      // The entry of each row that has (column, number among parallel ones).
      std::map<std::pair<int32_t, int64_t>, std::map<int64_t, int32_t>> entry_of;
      for (int64_t i = first; i < end; ++i) {
        std::map<int32_t, int64_t> parallel;
        for (int64_t e = offsets[uz(i)]; e < offsets[uz(i) + 1]; ++e) {
          const int32_t column = indices[uz(e)];
          const int64_t level = parallel[column]++;
          if (level < RowTiles::kLevels) entry_of[{column, level}][i - first] = static_cast<int32_t>(e);
        }
      }
      std::erase_if(entry_of, [&](const auto& one) { return std::ssize(one.second) < least; });
      std::set<int64_t> in_tiles;
      for (auto next = entry_of.begin(); next != entry_of.end();) {
        std::array<int64_t, kRows> words{};
        std::array<std::vector<int32_t>, kRows> of_row;
        for (int64_t c = 0; c < kColumns; ++c) {
          if (next == entry_of.end()) {  // the last column again, without entries
            columns.push_back(columns.back());
            continue;
          }
          columns.push_back(next->first.first);
          for (const auto& [r, e] : (next++)->second) {
            words[uz(r)] |= static_cast<int64_t>(uint64_t{1} << c);
            of_row[uz(r)].push_back(e);
            in_tiles.insert(e);
          }
        }
        for (const std::vector<int32_t>& row : of_row) {
          starts.push_back(static_cast<int32_t>(entries.size()));
          entries.insert(entries.end(), row.begin(), row.end());
        }
        while (std::ssize(entries) % RowTiles::kValueAlignment != 0) entries.push_back(-1);
        bits.insert(bits.end(), words.begin(), words.end());
        window_of.push_back(static_cast<int32_t>(first / kRows));
      }
      windows.push_back(static_cast<int32_t>(window_of.size()));
      for (int64_t i = first; i < end; ++i) {
        for (int64_t e = offsets[uz(i)]; e < offsets[uz(i) + 1]; ++e)
          if (!in_tiles.contains(e))
            rest.push_back(indices[uz(e)]), rest_entry.push_back(static_cast<int32_t>(e));
        rest_offsets.push_back(std::ssize(rest));
      }
    }
    starts.push_back(static_cast<int32_t>(entries.size()));
  }

  void check(const RowTiles& tiles) const {
    CHECK(tiles.num_tiles() == std::ssize(window_of));
    CHECK(tiles.windows.to_vector<int32_t>() == windows);
    CHECK(tiles.window_of.to_vector<int32_t>() == window_of);
    CHECK(tiles.columns.to_vector<int32_t>() == columns);
    CHECK(tiles.bits.to_vector<int64_t>() == bits);
    CHECK(tiles.starts.to_vector<int32_t>() == starts);
    CHECK(tiles.entries.to_vector<int32_t>() == entries);
    CHECK(tiles.rest.offsets.to_vector<int64_t>() == rest_offsets);
    CHECK(tiles.rest.indices.to_vector<int32_t>() == rest);
    CHECK(tiles.rest_entry.to_vector<int32_t>() == rest_entry);
  }
};

enum class Weights : uint8_t { ones, factors, any };

/// The weight of each entry (i, j), row[i] column[j].
Tensor products_of_factors(const Csr& csr, const Tensor& row, const Tensor& column) {
  const auto offsets = csr.offsets.to_vector<int64_t>();
  const auto indices = csr.indices.to_vector<int32_t>();
  const Numbers of_row = values(row), of_column = values(column);
  Numbers weight(indices.size());
  for (size_t i = 0; i < of_row.size(); ++i)
    for (auto e = uz(offsets[i]); e < uz(offsets[i + 1]); ++e)
      weight[e] = of_row[i] * of_column[uz(indices[e])];
  return Tensor::from(weight, csr.device());
}

}  // namespace

TEST_CASE("a cut has every entry once, in tiles if columns have enough rows") {
  for (const Named& one : tile_structures())
    for (int64_t least : {1, 2, 3, 8, 128}) {
      CAPTURES(one.name, least);
      const PlainCut plain(one.csr, least);
      for (Device device : devices()) {
        const Csr csr = one.csr.to(device);
        plain.check(kernels::make_row_tiles(csr, least));
      }
    }
}

TEST_CASE("a cut is refused if columns do not ascend within rows, or the threshold is out of range") {
  Csr csr = csr_of({{0, 1}}, 2);
  CHECK_ERROR(kernels::make_row_tiles(csr, 0),
              "row_tiles: expected columns of at least 1 to 128 entries, got 0");
  CHECK_THROWS_AS(kernels::make_row_tiles(csr, 129), Error);
  csr.ascending = false;
  CHECK_ERROR(kernels::make_row_tiles(csr, 1), "row_tiles: expected rows of ascending columns");
}

TEST_CASE("tile_spmm equals spmm to the precision of its operands") {
  const std::vector<int64_t> widths{1,   3,   7,   8,   16,  24,  33,  64,   72,  100,
                                    128, 136, 192, 256, 264, 320, 512, 1000, 1024};
  for (const Named& one : tile_structures())
    for (Device device : product_devices())
      for (DType dtype : {DType::f32, DType::bf16})
        for (Weights weights : {Weights::ones, Weights::factors, Weights::any})
          for (int64_t least : {1, 3})
            for (int64_t width : widths) {
              const bool weighted = weights == Weights::any;
              if (one.csr.cols > 1000 && width > 40 && (device.is_cpu() || width % 128 != 0)) continue;
              // The CPU has one loop for any width.
              if (device.is_cpu() && width > 264 && (width != 1000 || least > 1)) continue;
              if (kSanitized && width > 33 && width != 136) continue;
              CAPTURES(one.name, name_of(dtype), static_cast<int>(weights), least, width);
              const Csr csr = one.csr.to(device);
              const int64_t m = csr.entries();
              std::vector<int32_t> shuffled(uz(m));
              for (int64_t e = 0; e < m; ++e) shuffled[uz(e)] = static_cast<int32_t>(m - 1 - e);
              const Tensor order = weighted ? Tensor::from(shuffled, device) : Tensor();
              Tensor weight = weighted ? random_tensor({m}, DType::f32, device) : Tensor();
              const Tensor x = random_tensor({csr.cols, width}, dtype, device);
              const bool finished = width % 2 == 0;
              const Tensor bias = finished ? random_tensor({width}, dtype, device) : Tensor();
              const RowTiles tiles = kernels::make_row_tiles(csr, least);
              kernels::TileValues tile_values = kernels::make_tile_values(tiles, weight, order, dtype);
              if (weights == Weights::factors) {
                tile_values.row_factor = random_tensor({csr.rows}, DType::f32, device);
                tile_values.column_factor = random_tensor({csr.cols}, DType::f32, device);
                weight = products_of_factors(csr, tile_values.row_factor, tile_values.column_factor);
              }
              Tensor y = Tensor::full({csr.rows, width}, NAN, dtype, device);
              const auto run = [&](Tensor& output) {
                kernels::tile_spmm({.tiles = tiles,
                                    .values = tile_values,
                                    .x = x,
                                    .bias = bias,
                                    .activation = finished ? Activation::relu : Activation::none,
                                    .y = output});
              };
              run(y);
              Tensor expected = Tensor::empty({csr.rows, width}, DType::f64, device);
              kernels::spmm({.a = {csr, weight ? weight.to(DType::f64) : Tensor(), order},
                             .x = x.to(DType::f64),
                             .bias = bias ? bias.to(DType::f64) : Tensor(),
                             .activation = finished ? Activation::relu : Activation::none,
                             .y = expected});
              const Numbers got = values(y), wanted = values(expected);
              // Sums may cancel: errors are relative to the size of the terms, too.
              const auto squared = [](const Tensor& t) {
                return Tensor::from(mapped(t, [](double v) { return v * v; }), t.shape(), t.device());
              };
              Tensor terms = Tensor::empty_like(expected);
              kernels::spmm(
                  {.a = {csr, weight ? squared(weight) : Tensor(), order}, .x = squared(x), .y = terms});
              double error = 0.0, size = 0.0;
              for (double term : values(terms)) size += term;
              for (double sum : wanted) size += sum * sum;
              for (size_t i = 0; i < got.size(); ++i) error += (got[i] - wanted[i]) * (got[i] - wanted[i]);
              // Parallel entries of the same weight have the same error, which adds up. NaN fails.
              const double allowed = (dtype == DType::f32 ? 5e-4 : 1e-2) * (one.name == "parallel" ? 2 : 1);
              CHECK(std::sqrt(error) <= allowed * std::sqrt(size));
              Tensor again = Tensor::empty_like(y);
              run(again);
              CHECK(values(again) == got);
            }
}

TEST_CASE("tile_spmm is precise in columns of any scale, and NaN and infinities reach only neighbours") {
  const Csr host = csr_of(random_rows(300, 300, 40.0, 6), 300);
  for (Device device : product_devices())
    for (DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(name_of(dtype));
      const Csr csr = host.to(device);
      const RowTiles tiles = kernels::make_row_tiles(csr, 2);
      REQUIRE(tiles.num_tiles() > 0);
      REQUIRE(tiles.rest.entries() > 0);
      constexpr int64_t kWidth = 70;
      std::vector<float> x = random_tensor({300, kWidth}, DType::f32, Device::cpu()).to_vector<float>();
      for (int64_t j = 0; j < 300; ++j)
        for (int64_t f = 0; f < kWidth; ++f)
          x[uz(j * kWidth + f)] *= std::ldexp(1.0f, static_cast<int>(3 * f - 105));
      const auto product = [&](const std::vector<float>& features, bool exact) {
        const Tensor input = Tensor::from(features, {300, kWidth}, device).to(exact ? DType::f64 : dtype);
        Tensor y = Tensor::empty({300, kWidth}, input.dtype(), device);
        if (exact)
          kernels::spmm({.a = {csr, {}, {}}, .x = input, .y = y});
        else
          kernels::tile_spmm({.tiles = tiles, .values = {}, .x = input, .y = y});
        return values(y);
      };
      const Numbers plain = product(x, false), exact = product(x, true);
      for (int64_t f = 0; f < kWidth; ++f) {
        double error = 0.0, size = 0.0;
        for (int64_t i = 0; i < 300; ++i) {
          const double wanted = exact[uz(i * kWidth + f)];
          error += std::pow(plain[uz(i * kWidth + f)] - wanted, 2);
          size += wanted * wanted;
        }
        CAPTURE(f);
        CHECK(std::sqrt(error) <= (dtype == DType::f32 ? 5e-4 : 1e-2) * std::sqrt(size));
      }
      for (float bad : {NAN, INFINITY, -INFINITY}) {
        std::vector<float> spoilt = x;
        spoilt[uz(5 * kWidth + 69)] = bad;
        spoilt[uz(123 * kWidth + 2)] = bad;
        const Numbers got = product(spoilt, false), wanted = product(spoilt, true);
        for (size_t i = 0; i < got.size(); ++i)
          if (std::isfinite(wanted[i]))
            CHECK(std::isfinite(got[i]));
          else
            CHECK((std::isnan(wanted[i]) ? std::isnan(got[i]) : got[i] == wanted[i]));
      }
    }
}

TEST_CASE("consecutive products see writes between them") {
  const Csr host = csr_of(random_rows(4000, 4000, 100.0, 3), 4000);
  for (Device device : product_devices()) {
    if (device.is_cpu()) continue;
    const RowTiles tiles = kernels::make_row_tiles(host.to(device), 4);
    REQUIRE(tiles.num_tiles() > 100);
    REQUIRE(tiles.rest.entries() > 100'000);
    for (DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(name_of(dtype));
      const kernels::TileValues ones;
      const auto product = [&](const Tensor& x) {
        Tensor y = Tensor::empty({4000, 256}, dtype, device);
        kernels::tile_spmm({.tiles = tiles, .values = ones, .x = x, .y = y});
        return y;
      };
      std::vector<Tensor> inputs, expected;
      for (int i = 0; i < 4; ++i) {
        inputs.push_back(random_tensor({4000, 256}, dtype, device));
        expected.push_back(product(inputs.back()));
        synchronize(device);
      }
      Tensor x = Tensor::empty({4000, 256}, dtype, device);
      for (int i = 0; i < 200; ++i) {
        x.copy_(inputs[uz(i % 4)]);
        const Tensor y = product(x);
        if (i % 7 == 0) CHECK(values(y) == values(expected[uz(i % 4)]));
      }
    }
  }
}
