#pragma once

#include "attention_cases.h"
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

// Structures for tests of tile cuts.
namespace adj::test {

/// A structure from column lists per row, sorted here.
inline Csr csr_of(const Rows& rows, int64_t cols) {
  return structure_of(std::ssize(rows), cols, [&](size_t i) { return rows[i]; }).csr;
}

inline Rows random_rows(int64_t rows, int64_t cols, double mean, unsigned seed) {
  std::mt19937 random(seed);
  std::poisson_distribution<int> length(mean);
  std::uniform_int_distribution<int32_t> column(0, static_cast<int32_t>(cols) - 1);
  Rows lists(uz(rows));
  for (auto& list : lists)
    for (int left = length(random); left > 0; --left) list.push_back(column(random));
  return lists;
}

/// Every column in each of that many rows.
inline Rows full_rows(size_t rows, size_t cols) {
  std::vector<int32_t> all(cols);
  std::iota(all.begin(), all.end(), 0);
  return Rows(rows, all);
}

struct Named {
  std::string name;
  Rows rows;
  Csr csr;

  Named(std::string label, Rows lists, int64_t cols)
      : name(std::move(label)), rows(std::move(lists)), csr(csr_of(rows, cols)) {}
};

/// All kinds of structures relevant to a cut.
inline std::vector<Named> tile_structures() {
  std::vector<Named> all;
  all.emplace_back("no rows", Rows(), 3);
  all.emplace_back("no columns", Rows(5), 0);
  all.emplace_back("empty", Rows(300), 10);
  all.emplace_back("one entry", Rows{{0}}, 1);
  all.emplace_back("tiny", Rows{{1, 1, 2}, {}, {0, 8}, {2}, {8, 8, 8}}, 9);
  all.emplace_back("random, rectangular", random_rows(301, 517, 9.0, 1), 517);
  all.emplace_back("random, wide", random_rows(70, 70000, 300.0, 2), 70000);
  all.emplace_back("full", full_rows(130, 200), 200);
  all.emplace_back("parallel", random_rows(200, 40, 90.0, 7), 40);
  auto blocks = random_rows(640, 640, 2.0, 3);
  std::mt19937 random(4);
  for (size_t i = 0; i < blocks.size(); ++i)
    for (int32_t c = 0; c < 100; ++c)
      if (random() % 3 == 0) blocks[i].push_back(static_cast<int32_t>(i / 128 * 128) + c);
  all.emplace_back("blocks", blocks, 640);
  // Hub rows and columns, and many tiles per window.
  auto skewed = random_rows(400, 6000, 3.0, 5);
  for (int32_t c = 0; c < 6000; ++c) {
    skewed[7].push_back(c);
    if (c % 2 == 0) skewed[8].push_back(c);
    if (c % 3 == 0) skewed[200].push_back(c);
  }
  for (auto& row : skewed)
    if (random() % 2 == 0) row.push_back(17);
  all.emplace_back("skewed", skewed, 6000);
  return all;
}

/// Devices with products over tiles.
inline Devices product_devices() {
  std::vector<Device> all{Device::cpu()};
  for (Device device : devices())
    if (kernels::has_tile_spmm(device)) all.push_back(device);
  return Devices(all);
}

}  // namespace adj::test
