#include "../support.h"
#include <adjoint/kernels/bits/bit_pack.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Rows of `q`, and 0xcc for padding.
ByteTensor bytes_of(const std::vector<uint8_t>& q, int64_t rows, int64_t cols, int bits, Device device) {
  const int64_t pitch = ByteTensor::pitch(cols, bits), share = bits <= 4 ? 2 : 1;
  std::vector<uint8_t> padded(uz(rows * pitch), 0xcc);
  for (int64_t i = 0; i < rows * cols; ++i) {
    const int64_t column = i % cols;
    uint8_t& byte = padded[uz(i / cols * pitch + column / share)];
    const uint8_t number = q[uz(i)];
    byte = static_cast<uint8_t>(column % share == 0 ? number : byte | number << 4);
  }
  return {bits, cols, Tensor::from(padded, {rows, pitch}).to(device),
          Tensor::full({1}, 0.5, DType::f32, device), Tensor::full({1}, 2.0, DType::f32, device)};
}

}  // namespace

TEST_CASE("numbers of few bits are packed into bytes and unpacked again") {
  for (Device device : devices())
    for (int bits = 1; bits <= 8; ++bits)
      for (const auto& [rows, cols] : std::initializer_list<std::pair<int64_t, int64_t>>{
               {1, 1}, {1, 7}, {3, 3}, {5, 8}, {17, 33}, {0, 4}, {300, 131}}) {
        CAPTURES(bits, rows, cols);
        const auto n = uz(rows * cols);
        const size_t width = bits == 3 ? 4 : bits > 4 ? 8 : uz(bits), share = 8 / width;
        const size_t pitch = (uz(cols) + share - 1) / share;
        std::vector<uint8_t> q, expected(uz(rows) * pitch);
        for (size_t i = 0; i < n; ++i) {
          q.push_back(static_cast<uint8_t>((i * i * 7 + i * 3 + 1) % (size_t{1} << bits)));
          const size_t row = i / uz(cols), column = i % uz(cols);
          expected[row * pitch + column / share] |= static_cast<uint8_t>(q[i] << column % share * width);
        }
        const ByteTensor x = bytes_of(q, rows, cols, bits, device);
        const ByteTensor narrow = narrowed(x);
        CHECK(narrow.bytes.to_vector<uint8_t>() == expected);
        ByteTensor back = bytes_of(std::vector<uint8_t>(n, 0), rows, cols, bits, device);
        kernels::repack_bytes({.x = narrow, .output = back});
        CHECK(back.bytes.to_vector<uint8_t>() == x.bytes.to_vector<uint8_t>());
        const Tensor values = to_values(x);
        std::vector<float> wanted;
        for (uint8_t number : q) wanted.push_back((static_cast<float>(number) - 2.0f) * 0.5f);
        CHECK(values.to_vector<float>() == wanted);
        // Numbers are unchanged; the padding of rows is not written.
        const ByteTensor packed = to_bytes(values, bits, x.scale, x.zero);
        CHECK(to_values(packed).to_vector<float>() == wanted);
      }
}

TEST_CASE("bytes of another width or bit count are refused, and narrow ones where padded are expected") {
  const ByteTensor x = bytes_of(std::vector<uint8_t>(15), 3, 5, 2, {});
  ByteTensor few = narrowed(x), other = few;
  few.bytes = few.bytes.rows(0, 2);
  CHECK_ERROR_HAS(kernels::repack_bytes({.x = x, .output = few}), "expected [3, 2] uint8");
  other.bits = 1;
  other.bytes = Tensor::empty({3, 1}, DType::u8);
  CHECK_ERROR(kernels::repack_bytes({.x = x, .output = other}), "repack_bytes: 2 bits to 1");
  CHECK_ERROR_HAS(to_values(narrowed(x)), "narrow bytes, expected padded ones");
}
