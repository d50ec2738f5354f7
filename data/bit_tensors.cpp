#include <adjoint/core/text.h>
#include <adjoint/data/bit_tensors.h>
#include <adjoint/kernels/bits/bit_pack.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace adj {

namespace {

constexpr const char* kFormat = "adjoint.bits";
constexpr int64_t kVersion = 1;
constexpr int64_t kChunk = 16;  // consecutive bytes of a row in memory

int64_t row_bytes(int64_t inner) { return ceil_div(inner, 8); }

/// Calls f(plane, row, first byte of the row, offset in BitTensor::planes, number of bytes) for every chunk.
template <class F>
void for_chunks(const BitTensor& q, F&& f) {
  const int64_t bytes = row_bytes(q.inner);
  for (int64_t p = 0; p < q.bits; ++p)
    for (int64_t o = 0; o < q.outer; ++o)
      for (int64_t offset = 0; offset < bytes; offset += kChunk)
        f(p, o, offset, p * q.plane_bytes() + bit_place(q.step_bytes(), o, offset * 8),
          std::min(kChunk, bytes - offset));
}

/// Index of the first number that is not finite, or with `positive` not above 0; else -1.
int64_t wrong_number(const Tensor& numbers, bool positive) {
  const auto* values = numbers.data<float>();
  for (int64_t i = 0; i < numbers.numel(); ++i)
    if (!std::isfinite(values[i]) || (positive && values[i] <= 0.0f)) return i;
  return -1;
}

/// Index of the first row whose numbers, scale (q - zero), are not all finite; else -1.
int64_t infinite_row(const Tensor& scale, const Tensor& zero, int bits) {
  const auto value_of = [](const Tensor& tensor, int64_t row) {
    return tensor.data<float>()[tensor.numel() == 1 ? 0 : row];
  };
  const auto largest = static_cast<float>((1 << bits) - 1);
  for (int64_t o = 0; o < std::max(scale.numel(), zero.numel()); ++o)
    for (float q : {0.0f, largest})
      if (!std::isfinite(value_of(scale, o) * (q - value_of(zero, o)))) return o;
  return -1;
}

/// Sum of a row's numbers over all planes.
int64_t sum_of(const uint8_t* planes, int bits, int64_t plane_bytes, int64_t bytes) {
  int64_t sum = 0;
  for (int p = 0; p < bits; ++p)
    for (int64_t i = 0; i < bytes; ++i) sum += int64_t{std::popcount(planes[p * plane_bytes + i])} << p;
  return sum;
}

}  // namespace

void write_bits(H5Writer& file, const std::string& path, const BitTensor& q) {
  kernels::detail::check_bits("write_bits", path, q);
  const BitTensor host = q.to(Device::cpu());
  for (const auto& [name, numbers, positive] :
       {std::tuple("scale", host.scale, true), std::tuple("zero", host.zero, false)})
    if (const int64_t i = wrong_number(numbers, positive); i >= 0)
      fail("write_bits: {}/{}: {} at position {}, expected finite numbers{}", path, name,
           numbers.data<float>()[i], i, positive ? " above 0" : "");
  if (const int64_t o = infinite_row(host.scale, host.zero, host.bits); o >= 0)
    fail("write_bits: {}/zero: row {} has numbers beyond float32", path, o);
  const int64_t bytes = row_bytes(host.inner);
  Tensor planes = Tensor::empty({host.bits, host.outer, bytes}, DType::u8);
  auto* target = planes.mutable_data<uint8_t>();
  const auto* source = host.planes.data<uint8_t>();
  for_chunks(host, [&](int64_t p, int64_t o, int64_t offset, int64_t place, int64_t n) {
    std::memcpy(target + (p * host.outer + o) * bytes + offset, source + place, static_cast<size_t>(n));
  });
  file.write(path + "/planes", planes);
  file.write(path + "/scale", host.scale);
  file.write(path + "/zero", host.zero);
  file.attribute(path, "format", std::string(kFormat));
  file.attribute(path, "version", kVersion);
  file.attribute(path, "bits", int64_t{host.bits});
  file.attribute(path, "inner", host.inner);
}

BitTensor read_bits(const H5Reader& file, const std::string& path) {
  if (const std::string format = file.text(path, "format"); format != kFormat)
    file.fail(path, "format '{}', expected '{}'", excerpt(format), kFormat);
  if (const int64_t version = file.integer(path, "version"); version != kVersion)
    file.fail(path, "version {}, expected {}", version, kVersion);
  const int64_t bits = file.integer(path, "bits"), inner = file.integer(path, "inner");
  if (bits < 1 || bits > BitTensor::kMostBits) file.fail(path, "{} bits, expected 1 to 8", bits);
  if (inner < 0 || inner >= int64_t{1} << 31) file.fail(path, "inner {}, expected 0 to 2^31 - 1", inner);

  const int64_t bytes = row_bytes(inner);
  const std::string place_of_planes = path + "/planes";
  const Tensor planes = file.tensor(place_of_planes, {DType::u8}, {bits, -1, bytes});
  const int64_t outer = planes.size(1);
  if (outer >= int64_t{1} << 31) file.fail(place_of_planes, "{} rows, expected fewer than 2^31", outer);
  const auto numbers = [&](const char* name, bool positive) {
    const std::string place = fmt::format("{}/{}", path, name);
    Tensor read = file.tensor(place, {DType::f32}, {-1});
    if (read.numel() != 1 && read.numel() != outer)
      file.fail(place, "{} numbers, expected 1 or {}", read.numel(), outer);
    if (const int64_t i = wrong_number(read, positive); i >= 0)
      file.fail(place, "{} at position {}, expected finite numbers{}", read.data<float>()[i], i,
                positive ? " above 0" : "");
    return read;
  };
  const Tensor scale = numbers("scale", true), zero = numbers("zero", false);
  if (const int64_t o = infinite_row(scale, zero, static_cast<int>(bits)); o >= 0)
    file.fail(path + "/zero", "row {} has numbers beyond float32", o);

  BitTensor q = BitTensor::empty(outer, inner, static_cast<int>(bits), scale, zero, Device::cpu());
  q.planes.zero_();
  auto* target = q.planes.mutable_data<uint8_t>();
  const auto* source = planes.data<uint8_t>();
  if (const auto used = static_cast<int>(inner % 8); used != 0)
    for (int64_t row = 0; row < bits * outer; ++row)
      if (const int last = source[(row + 1) * bytes - 1]; last >> used != 0)
        file.fail(place_of_planes, "row {} of plane {} ends with {:#04x}, expected 0 after number {}",
                  row % outer, row / outer, last, inner - 1);
  for_chunks(q, [&](int64_t p, int64_t o, int64_t offset, int64_t place, int64_t n) {
    std::memcpy(target + place, source + (p * outer + o) * bytes + offset, static_cast<size_t>(n));
  });
  auto* sums = q.sums.mutable_data<int32_t>();
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t sum = sum_of(source + o * bytes, q.bits, outer * bytes, bytes);
    if (sum > std::numeric_limits<int32_t>::max())
      file.fail(place_of_planes, "row {} sums up to {}, expected less than 2^31", o, sum);
    sums[o] = static_cast<int32_t>(sum);
  }
  return q;
}

}  // namespace adj
