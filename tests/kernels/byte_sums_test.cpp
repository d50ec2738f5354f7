#include "../structures.h"
#include "../support.h"
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/bits/adjacency_bits.h>
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/bits/byte_sums.h>

#include <algorithm>
#include <random>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

Tensor scalar(float value, Device device = {}) { return Tensor::full({1}, value, DType::f32, device); }

/// Rows of so many random columns each, ascending; `repeats`: columns may come twice.
Csr random_structure(const std::vector<int64_t>& lengths, int64_t cols, bool repeats, uint32_t seed) {
  std::mt19937 random(seed);
  const auto row = [&](size_t i) {
    std::multiset<int32_t> columns;
    while (static_cast<int64_t>(columns.size()) < lengths[i]) {
      const auto column = static_cast<int32_t>(random() % static_cast<uint32_t>(cols));
      if (repeats || !columns.contains(column)) columns.insert(column);
    }
    return std::vector<int32_t>(columns.begin(), columns.end());
  };
  return structure_of(std::ssize(lengths), cols, row).csr;
}

/// Empty, short and long rows.
std::vector<int64_t> skewed_lengths(int64_t rows, int64_t cols) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < rows; ++i)
    lengths.push_back(i % 50 == 7 ? cols : i % 5 == 0 ? 0 : std::min<int64_t>(cols, i % 23));
  return lengths;
}

}  // namespace

TEST_CASE("an adjacency of one bit an entry has the entries' bits, and says where they repeat") {
  for (int64_t cols : {1, 7, 129, 3000}) {
    const Csr host = random_structure(skewed_lengths(170, cols), cols, false, 3);
    const auto offsets = host.offsets.to_vector<int64_t>();
    const auto indices = host.indices.to_vector<int32_t>();
    Numbers dense(uz(170 * cols));
    std::vector<int32_t> sums;
    for (size_t i = 0; i < 170; ++i) {
      for (auto e = uz(offsets[i]); e < uz(offsets[i + 1]); ++e) dense[i * uz(cols) + uz(indices[e])] = 1.0;
      sums.push_back(static_cast<int32_t>(offsets[i + 1] - offsets[i]));
    }
    for (Device device : devices()) {
      const auto bits = adjacency_bits(host.to(device));
      REQUIRE(bits);
      CHECK(values(to_values(*bits)) == dense);
      CHECK(bits->sums.to_vector<int32_t>() == sums);
      CHECK_FALSE(
          adjacency_bits(random_structure(std::vector<int64_t>(9, 2 * cols), cols, true, 4).to(device)));
    }
  }
}

TEST_CASE("sums of bytes to bits are the product with the adjacency's bits, to the bit") {
  for (int64_t width : {1, 3, 4, 12, 16, 20, 33, 64, 100, 128, 260, 1030})
    for (int bits : {1, 4, 8})
      for (int bits_to : {1, 3, 8}) {
        CAPTURES(width, bits, bits_to);
        // At times so many rows that each has but a few lanes of a GPU.
        const int64_t kCols = 700, rows = bits == 1 || width > 300 ? 170 : 12'803;
        std::vector<int64_t> lengths = skewed_lengths(rows, kCols);
        if (bits_to == 3) {  // few entries a row, but for a hub
          for (int64_t& length : lengths) length = std::min<int64_t>(length, 12);
          lengths[60] = kCols;
        }
        const Csr host = random_structure(lengths, kCols, false, 3);
        const Tensor x = random_tensor({kCols, width}), row_scale = random_tensor({rows});
        // A folded batch norm, at times its shift alone.
        const Tensor column_scale = bits == 4 ? random_tensor({width}) : Tensor(),
                     column_shift = bits != 1 ? random_tensor({width}) : Tensor();
        std::vector<uint8_t> first;
        for (Device device : devices()) {
          const Csr csr = host.to(device);
          const Tensor scale = scalar(2.0f / static_cast<float>(1 << bits), device),
                       zero = scalar(static_cast<float>(1 << bits) / 2, device), at = x.to(device),
                       of_rows = row_scale.to(device),
                       columns = column_scale ? column_scale.to(device) : Tensor(),
                       shifts = column_shift ? column_shift.to(device) : Tensor();
          const auto empty = [&](bool bytes) {
            return BitTensor::empty(rows, width, bits_to,
                                    scalar(8.0f / static_cast<float>(1 << bits_to), device),
                                    scalar(static_cast<float>(1 << bits_to) / 3, device), device, bytes);
          };
          BitTensor in_bytes = empty(true), wanted = empty(false);
          const ByteTensor bytes = to_bytes(at, bits, scale, zero);
          kernels::sum_bytes_to_bits({.a = csr,
                                      .order = RowOrder(csr),
                                      .x = bytes,
                                      .row_scale = of_rows,
                                      .column_scale = columns,
                                      .column_shift = shifts,
                                      .to = in_bytes});
          kernels::bit_gemm_to_bits({.a = *adjacency_bits(csr),
                                     .b = to_bits(at, bits, scale, zero, PackedAlong::columns),
                                     .row_scale = of_rows,
                                     .column_scale = columns,
                                     .column_shift = shifts,
                                     .to = wanted});
          CHECK(same_bits(in_bytes.sums, wanted.sums));
          if (first.empty()) first = wanted.planes.to_vector<uint8_t>();
          CHECK(wanted.planes.to_vector<uint8_t>() == first);
          // Numbers and the padding after them, of existing rows only.
          const auto held = in_bytes.planes.to_vector<uint8_t>(),
                     expanded = as_bytes(wanted).planes.to_vector<uint8_t>();
          for (int64_t o = 0; o < rows; ++o)
            for (int64_t k = 0; k < in_bytes.steps() * in_bytes.step_numbers(); ++k) {
              const auto place =
                  uz(byte_place(in_bytes.step_bytes(), o, k % 128) + k / 128 * in_bytes.step_bytes());
              if (held[place] != expanded[place])
                FAIL_CHECK(o, ", ", k, ": ", int{held[place]}, ", ", int{expanded[place]});
            }
        }
      }
}

TEST_CASE("sums of bytes count entries that repeat, of long rows too") {
  // 70,000 entries of one row, of 255 each: more than 16 bits of any lane.
  const Csr host = random_structure({0, 70'000, 3}, 40, true, 8);
  const Tensor x = Tensor::full({40, 20}, 255.0, DType::f32);
  for (Device device : devices()) {
    const ByteTensor bytes = to_bytes(x.to(device), 8, scalar(1.0f, device), scalar(0.0f, device));
    const Csr csr = host.to(device);
    const RowOrder order(csr);
    const auto rows = order.rows.to_vector<int32_t>();  // begin, in two words, row and entries
    CHECK(rows == std::vector<int32_t>{0, 0, 1, 70'000, 70'000, 0, 2, 3, 0, 0, 0, 0});
    CHECK(order.long_rows == 1);
    BitTensor to = BitTensor::empty(3, 20, 8, scalar(70'000.0f, device), scalar(1.0f, device), device, true);
    kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = bytes, .to = to});
    CHECK(to.sums.to_vector<int32_t>() == std::vector<int32_t>{20, 20 * 255, 20});
    BitTensor wide =
        BitTensor::empty(3, 20, 8, scalar(100'000.0f, device), scalar(1.0f, device), device, true);
    kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = bytes, .to = wide});
    CHECK(wide.sums.to_vector<int32_t>() ==
          std::vector<int32_t>{20, 20 * 180, 20});  // 178.5 and 1, ties to even
  }
}

TEST_CASE("sums of bytes of nothing, and what they refuse") {
  for (Device device : devices()) {
    const Csr none = random_structure({}, 0, false, 1).to(device);
    BitTensor to = BitTensor::empty(0, 5, 2, scalar(1.0f, device), scalar(0.0f, device), device, true);
    const ByteTensor bytes =
        to_bytes(Tensor::zeros({0, 5}, DType::f32, device), 2, scalar(1.0f, device), scalar(0.0f, device));
    kernels::sum_bytes_to_bits({.a = none, .order = RowOrder(none), .x = bytes, .to = to});
    CHECK(adjacency_bits(none)->sums.numel() == 0);
    const Csr csr = random_structure({2, 1}, 3, false, 1).to(device);
    BitTensor two = BitTensor::empty(2, 5, 2, scalar(1.0f, device), scalar(0.0f, device), device, true);
    const RowOrder order(csr);
    CHECK_THROWS_AS(kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = bytes, .to = two}), Error);
    const ByteTensor three =
        to_bytes(Tensor::zeros({3, 5}, DType::f32, device), 2, scalar(1.0f, device), scalar(0.0f, device));
    kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = three, .to = two});
    CHECK_THROWS_AS(kernels::sum_bytes_to_bits({.a = csr, .order = {}, .x = three, .to = two}), Error);
    const Tensor four = Tensor::zeros({4}, DType::f32, device);
    CHECK_ERROR_HAS(
        kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = three, .column_shift = four, .to = two}),
        "column_scale or column_shift");
    BitTensor planes = BitTensor::empty(2, 5, 2, scalar(1.0f, device), scalar(0.0f, device), device);
    CHECK_THROWS_AS(kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = three, .to = planes}), Error);
    BitTensor wrong = BitTensor::empty(2, 4, 1, scalar(1.0f, device), scalar(0.0f, device), device);
    Tensor repeats = Tensor::zeros({1}, DType::i32, device);
    CHECK_THROWS_AS(kernels::adjacency_bits({.a = csr, .to = wrong, .repeats = repeats}), Error);
  }
}
