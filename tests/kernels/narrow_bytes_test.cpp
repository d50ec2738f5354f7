#include "../captures.h"
#include "../support.h"
#include <adjoint/kernels/bits/narrow_bytes.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Rows of `q`, and 0xcc for padding.
ByteTensor bytes_of(const std::vector<uint8_t>& q, int64_t rows, int64_t cols, int bits, Device device) {
  const int64_t pitch = ByteTensor::pitch(cols, bits), share = bits <= 4 ? 2 : 1;
  std::vector<uint8_t> padded(static_cast<size_t>(rows * pitch), 0xcc);
  for (int64_t i = 0; i < rows * cols; ++i) {
    const int64_t column = i % cols;
    uint8_t& byte = padded[static_cast<size_t>(i / cols * pitch + column / share)];
    const uint8_t number = q[static_cast<size_t>(i)];
    byte = static_cast<uint8_t>(column % share == 0 ? number : byte | number << 4);
  }
  return {bits, cols, Tensor::from(padded, {rows, pitch}).to(device),
          Tensor::full({1}, 0.5, DType::f32, device), Tensor::full({1}, 2.0, DType::f32, device)};
}

}  // namespace

TEST_CASE("numbers of few bits share bytes, and come apart again") {
  for (Device device : devices())
    for (int bits = 1; bits <= 8; ++bits)
      for (const auto& [rows, cols] : std::initializer_list<std::pair<int64_t, int64_t>>{
               {1, 1}, {1, 7}, {3, 3}, {5, 8}, {17, 33}, {0, 4}, {300, 131}}) {
        CAPTURES(device.str(), bits, rows, cols);
        const auto n = static_cast<size_t>(rows * cols);
        const size_t width = bits == 3 ? 4 : bits > 4 ? 8 : static_cast<size_t>(bits), share = 8 / width;
        std::vector<uint8_t> q, expected((n + share - 1) / share);
        for (size_t i = 0; i < n; ++i) {
          q.push_back(static_cast<uint8_t>((i * i * 7 + i * 3 + 1) % (size_t{1} << bits)));
          expected[i / share] |= static_cast<uint8_t>(q[i] << i % share * width);
        }
        const ByteTensor x = bytes_of(q, rows, cols, bits, device);
        const Tensor narrow = narrow_bytes(x);
        CHECK(narrow.to_vector<uint8_t>() == expected);
        ByteTensor back = bytes_of(std::vector<uint8_t>(n, 0), rows, cols, bits, device);
        kernels::widen_bytes({.from = narrow, .to = back});
        CHECK(back.bytes.to_vector<uint8_t>() == x.bytes.to_vector<uint8_t>());
        const Tensor values = to_values(x);
        std::vector<float> wanted;
        for (uint8_t number : q) wanted.push_back((static_cast<float>(number) - 2.0f) * 0.5f);
        CHECK(values.to_vector<float>() == wanted);
        // Numbers as they were; what rows are padded with is not written.
        const ByteTensor packed = to_bytes(values, bits, x.scale, x.zero);
        CHECK(to_values(packed).to_vector<float>() == wanted);
      }
}

TEST_CASE("numbers that share bytes are refused where there are too many or too few of these") {
  const ByteTensor x = bytes_of(std::vector<uint8_t>(15), 3, 5, 2, {});
  Tensor few = Tensor::empty({3}, DType::u8);
  CHECK_THROWS_WITH_AS(kernels::narrow_bytes({.x = x, .to = few}), doctest::Contains("expected [4] uint8"),
                       Error);
  ByteTensor to = x;
  CHECK_THROWS_WITH_AS(kernels::widen_bytes({.from = few, .to = to}), doctest::Contains("expected [4] uint8"),
                       Error);
}
