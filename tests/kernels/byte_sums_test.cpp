#include "../structures.h"
#include "bit_cases.h"
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/kernels/bits/byte_sums.h>

#include <set>

using namespace adj;
using namespace adj::test;

namespace {

/// Rows of that many distinct random columns.
HostCsr distinct_structure(const std::vector<int64_t>& lengths, int64_t cols) {
  std::mt19937 random(3);
  const auto row = [&](size_t i) {
    std::set<int32_t> columns;
    while (std::ssize(columns) < lengths[i])
      columns.insert(static_cast<int32_t>(random() % static_cast<uint32_t>(cols)));
    return std::vector<int32_t>(columns.begin(), columns.end());
  };
  return structure_of(std::ssize(lengths), cols, row);
}

/// Empty, short and long rows.
std::vector<int64_t> row_lengths(int64_t rows, int64_t cols) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < rows; ++i)
    lengths.push_back(i % 50 == 7 ? cols : i % 5 == 0 ? 0 : std::min<int64_t>(cols, i % 23));
  return lengths;
}

}  // namespace

TEST_CASE("a one-bit adjacency has a bit per entry, and reports repeated entries") {
  for (int64_t cols : {1, 7, 129, 3000}) {
    const HostCsr host = distinct_structure(row_lengths(170, cols), cols);
    Numbers dense(uz(170 * cols));
    std::vector<int32_t> sums(170);
    host.each([&](size_t i, size_t j, size_t) {
      dense[i * uz(cols) + j] = 1.0;
      ++sums[i];
    });
    for (Device device : devices()) {
      const auto bits = adjacency_bits(host.csr.to(device));
      REQUIRE(bits);
      CHECK(values(to_values(*bits)) == dense);
      CHECK(bits->sums.to_vector<int32_t>() == sums);
      CHECK_FALSE(adjacency_bits(random_structure(std::vector<int64_t>(9, 2 * cols), cols, device).csr));
    }
  }
}

TEST_CASE("sums of bytes to bits are the product with the adjacency's bits, to the bit") {
  for (int64_t width : {1, 3, 4, 12, 16, 20, 33, 64, 100, 128, 260, 1030})
    for (int bits : {1, 4, 8})
      for (int bits_to : {1, 3, 8}) {
        CAPTURES(width, bits, bits_to);
        // Sometimes with so many rows that each has only a few lanes of a GPU.
        const int64_t kCols = 700, rows = bits == 1 || width > 300 ? 170 : kSanitized ? 1'283 : 12'803;
        std::vector<int64_t> lengths = row_lengths(rows, kCols);
        if (bits_to == 3) {  // few entries per row, except a hub
          for (int64_t& length : lengths) length = std::min<int64_t>(length, 12);
          lengths[60] = kCols;
        }
        const Csr host = distinct_structure(lengths, kCols).csr;
        const Tensor x = random_tensor({kCols, width}), row_scale = random_tensor({rows});
        // A folded batch norm, sometimes only its shift.
        const Tensor column_scale = bits == 4 ? random_tensor({width}) : Tensor(),
                     column_shift = bits != 1 ? random_tensor({width}) : Tensor();
        Alike alike;
        for (Device device : devices()) {
          const Csr csr = host.to(device);
          const Tensor scale = scalar(2.0f / static_cast<float>(1 << bits), device),
                       zero = scalar(static_cast<float>(1 << bits) / 2, device), input = x.to(device),
                       of_rows = row_scale.to(device),
                       columns = column_scale ? column_scale.to(device) : Tensor(),
                       shifts = column_shift ? column_shift.to(device) : Tensor();
          const auto numbers = static_cast<float>(1 << bits_to);
          BitTensor in_bytes = empty_bits(rows, width, bits_to, 8.0f / numbers, numbers / 3, device, true),
                    wanted = empty_bits(rows, width, bits_to, 8.0f / numbers, numbers / 3, device);
          const ByteTensor bytes = to_bytes(input, bits, scale, zero);
          kernels::sum_bytes_to_bits({.a = csr,
                                      .order = RowOrder(csr),
                                      .x = bytes,
                                      .row_scale = of_rows,
                                      .column_scale = columns,
                                      .column_shift = shifts,
                                      .output = in_bytes});
          kernels::bit_gemm_to_bits({.a = *adjacency_bits(csr),
                                     .b = to_bits(input, bits, scale, zero, PackedAlong::columns),
                                     .row_scale = of_rows,
                                     .column_scale = columns,
                                     .column_shift = shifts,
                                     .output = wanted});
          CHECK(same_bits(in_bytes.sums, wanted.sums));
          alike(wanted.planes);
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

TEST_CASE("sums of bytes count repeated entries, also in long rows") {
  // 70,000 entries of one row, of 255 each: more than 16 bits of any lane.
  const Csr host = random_structure({0, 70'000, 3}, 40).csr;
  const Tensor x = Tensor::full({40, 20}, 255.0, DType::f32);
  for (Device device : devices()) {
    const ByteTensor bytes = to_bytes(x.to(device), 8, scalar(1.0f, device), scalar(0.0f, device));
    const Csr csr = host.to(device);
    const RowOrder order(csr);
    const auto rows = order.rows.to_vector<int32_t>();  // begin, in two words, row and entries
    CHECK(rows == std::vector<int32_t>{0, 0, 1, 70'000, 70'000, 0, 2, 3, 0, 0, 0, 0});
    CHECK(order.long_rows == 1);
    BitTensor output = empty_bits(3, 20, 8, 70'000.0f, 1.0f, device, true);
    kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = bytes, .output = output});
    CHECK(output.sums.to_vector<int32_t>() == std::vector<int32_t>{20, 20 * 255, 20});
    BitTensor wide = empty_bits(3, 20, 8, 100'000.0f, 1.0f, device, true);
    kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = bytes, .output = wide});
    CHECK(wide.sums.to_vector<int32_t>() ==
          std::vector<int32_t>{20, 20 * 180, 20});  // 178.5 and 1, ties to even
  }
}

TEST_CASE("sums of bytes without entries, and their errors") {
  for (Device device : devices()) {
    const Csr none = random_structure({}, 0, device).csr;
    BitTensor output = empty_bits(0, 5, 2, 1.0f, 0.0f, device, true);
    const ByteTensor bytes =
        to_bytes(Tensor::zeros({0, 5}, DType::f32, device), 2, scalar(1.0f, device), scalar(0.0f, device));
    kernels::sum_bytes_to_bits({.a = none, .order = RowOrder(none), .x = bytes, .output = output});
    CHECK(adjacency_bits(none)->sums.numel() == 0);
    const Csr csr = distinct_structure({2, 1}, 3).csr.to(device);
    BitTensor two = empty_bits(2, 5, 2, 1.0f, 0.0f, device, true);
    const RowOrder order(csr);
    CHECK_THROWS_AS(kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = bytes, .output = two}), Error);
    const ByteTensor three =
        to_bytes(Tensor::zeros({3, 5}, DType::f32, device), 2, scalar(1.0f, device), scalar(0.0f, device));
    kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = three, .output = two});
    CHECK_THROWS_AS(kernels::sum_bytes_to_bits({.a = csr, .order = {}, .x = three, .output = two}), Error);
    const Tensor four = Tensor::zeros({4}, DType::f32, device);
    CHECK_ERROR_HAS(kernels::sum_bytes_to_bits(
                        {.a = csr, .order = order, .x = three, .column_shift = four, .output = two}),
                    "column_scale or column_shift");
    BitTensor planes = empty_bits(2, 5, 2, 1.0f, 0.0f, device);
    CHECK_THROWS_AS(kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = three, .output = planes}),
                    Error);
    BitTensor wrong = empty_bits(2, 4, 1, 1.0f, 0.0f, device);
    Tensor repeats = Tensor::zeros({1}, DType::i32, device);
    CHECK_THROWS_AS(kernels::adjacency_bits({.a = csr, .output = wrong, .repeats = repeats}), Error);
  }
}
