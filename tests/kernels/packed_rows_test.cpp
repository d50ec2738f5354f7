#include "cases.h"
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/elementwise/dropout.h>
#include <adjoint/kernels/elementwise/packed_rows.h>

using namespace adj;
using namespace adj::test;

namespace {

/// x in `bits` bits, with the ranges of kernels/bits: per column, or one for all.
PackedRows packed(const Tensor& x, int bits, BitRange range, bool by_column) {
  const int64_t n = by_column ? x.size(1) : 1;
  PackedRows q{
      x.size(1), bits,
      Tensor::full({x.size(0), PackedRows::row_bytes(x.size(1), bits)}, 255.0, DType::u8, x.device()),
      Tensor::empty({n}, DType::f32, x.device()), Tensor::empty({n}, DType::f32, x.device())};
  kernels::bit_range({.x = x,
                      .along = PackedAlong::columns,
                      .range = range,
                      .bits = bits,
                      .scale = q.scale,
                      .zero = q.zero});
  kernels::pack_rows({.x = x, .output = q});
  return q;
}

Tensor unpacked(const PackedRows& q, int64_t begin, int64_t end, DType dtype = DType::f32, RandomKey key = {},
                DropoutRule rule = {}) {
  Tensor y = Tensor::empty({end - begin, q.cols}, dtype, q.device());
  kernels::unpack_rows({.input = q, .first = begin, .key = key, .rule = rule, .y = y});
  return y;
}

constexpr std::array<std::array<int64_t, 2>, 7> kShapes{
    {{1, 1}, {5, 7}, {33, 8}, {64, 128}, {17, 1433}, {0, 5}, {3, 0}}};

}  // namespace

TEST_CASE("packed rows represent the same numbers as a bit tensor of the same ranges") {
  for (Device device : devices())
    for (const auto& [rows, cols] : kShapes)
      for (int bits = 1; bits <= 8; ++bits)
        for (bool by_column : {true, false})
          for (BitRange range : {BitRange::affine, BitRange::symmetric}) {
            CAPTURES(rows, cols, bits, by_column);
            if (by_column && cols == 0) continue;
            const Tensor x = random_tensor({rows, cols}, DType::f32, device);
            const PackedRows q = packed(x, bits, range, by_column);
            CHECK(q.bytes.bytes() == uz(rows * bits * ((cols + 7) / 8)));
            const Tensor y = unpacked(q, 0, rows);
            const BitTensor same = to_bits(x, bits, q.scale, q.zero, PackedAlong::columns);
            CHECK(same_bits(y, to_values(same, PackedAlong::columns)));
            CHECK(same_bits(unpacked(q, rows / 3, rows), y.rows(rows / 3, rows)));
            CHECK(same_bits(unpacked(q, 0, rows, DType::f64), y.to(DType::f64)));
            CHECK(same_bits(unpacked(q, 0, rows, DType::bf16), y.to(DType::bf16)));
          }
}

TEST_CASE("in packed rows byte p of eight numbers has bit p of each, and rows are padded with zeros") {
  for (Device device : devices()) {
    PackedRows q{10, 3, Tensor::full({1, 6}, 255.0, DType::u8, device),
                 Tensor::full({1}, 1.0, DType::f32, device), Tensor::zeros({1}, DType::f32, device)};
    const Tensor x = Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 7, 2}, {1, 10}).to(device);
    kernels::pack_rows({.x = x, .output = q});
    CHECK(q.bytes.to_vector<uint8_t>() == std::vector<uint8_t>{0xaa, 0xcc, 0xf0, 0x01, 0x03, 0x01});
    CHECK(same_bits(unpacked(q, 0, 1), x));
  }
}

TEST_CASE("dropout of packed rows drops the same elements as dropout of the whole matrix") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::bf16, DType::f64})
      for (const auto& [rows, cols] : kShapes) {
        CAPTURES(name_of(dtype), cols);
        const PackedRows q =
            packed(random_tensor({rows, cols}, DType::f32, device), 5, BitRange::affine, false);
        const RandomKey key{11, 3, nullptr};
        const DropoutRule rule = dropout_rule(0.3f);
        Tensor dropped = unpacked(q, 0, rows, dtype);
        kernels::dropout({.x = dropped, .key = key, .rule = rule, .y = dropped});
        CHECK(same_bits(unpacked(q, 0, rows, dtype, key, rule), dropped));
        CHECK(same_bits(unpacked(q, rows / 2, rows, dtype, key, rule), dropped.rows(rows / 2, rows)));
      }
}

TEST_CASE("packed rows have the same bits on any number of threads, and on every device") {
  const Tensor x = random_tensor({3000, 203});
  const PackedRows host = packed(x, 6, BitRange::affine, true);
  const auto all = [](const PackedRows& q) {
    return unpacked(q, 0, 3000, DType::f32, {5, 1, nullptr}, dropout_rule(0.5f));
  };
  CHECK(same_bits_on_any_threads([&] { return packed(x, 6, BitRange::affine, true).bytes; }));
  CHECK(same_bits_on_any_threads([&] { return all(host); }));
  for (Device device : devices()) {
    const PackedRows q = packed(x.to(device), 6, BitRange::affine, true);
    CHECK(same_bits(q.bytes.to(Device::cpu()), host.bytes));
    CHECK(same_bits(all(q).to(Device::cpu()), all(host)));
  }
}

TEST_CASE("packed rows reject mismatched arguments") {
  PackedRows q = packed(random_tensor({4, 9}), 4, BitRange::affine, true);
  Tensor y = Tensor::empty({4, 9});
  const auto refused = [&](const char* what) {
    CHECK_ERROR_HAS(kernels::unpack_rows({.input = q, .y = y}), what);
  };
  CHECK_ERROR_HAS(kernels::unpack_rows({.input = q, .first = 1, .y = y}), "rows 1 to 5 of 4");
  q.bits = 9;
  refused("rows of 9 bits, expected 1 to 8");
  q.bits = 3;
  refused("bytes of rows");
  q.bits = 4;
  q.zero = Tensor::zeros({1});
  refused("scale and zero");
  q.zero = Tensor::zeros({9});
  y = Tensor::empty({4, 8});
  refused("y is");
  const Tensor narrow = random_tensor({4, 8});
  CHECK_THROWS_AS(kernels::pack_rows({.x = narrow, .output = q}), Error);
}
