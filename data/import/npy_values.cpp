#include <adjoint/core/convert.h>
#include <adjoint/core/detail/half.h>
#include <adjoint/core/error.h>
#include <adjoint/data/detail/shape_text.h>
#include <adjoint/data/import/detail/npy_values.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace adj {

namespace {

/// Storage type of a 16-bit float.
struct Half {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

template <class S>
S load(const char* source, bool swapped) {
  std::array<char, sizeof(S)> bytes;
  std::memcpy(bytes.data(), source, sizeof(S));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<S>(bytes);
}

/// Converts `value` to T; false if it does not fit.
template <class T, class S>
bool converts(S value, T* result) {
  if constexpr (std::is_same_v<S, Half>) {
    return converts(detail::from_half(value.bits), result);
  } else if constexpr (std::is_same_v<S, Bool>) {
    *result = static_cast<T>(value.byte);
    return value.byte <= 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    *result = static_cast<T>(value);
    if constexpr (std::is_same_v<S, double> && std::is_same_v<T, float>)
      return std::isfinite(*result) || !std::isfinite(value);
    return true;
  } else if constexpr (std::is_floating_point_v<S>) {
    return false;
  } else {
    *result = static_cast<T>(value);
    return std::in_range<T>(value);
  }
}

template <class S>
std::string number_text(S value) {
  if constexpr (std::is_same_v<S, Half>) return fmt::format("{}", detail::from_half(value.bits));
  if constexpr (std::is_same_v<S, Bool>) return fmt::format("{}", value.byte);
  if constexpr (std::is_arithmetic_v<S>) return fmt::format("{}", value);
}

/// Calls f.template operator()<S>() with the storage type of the array's elements.
template <class F>
void dispatch(const NpyHeader& header, F&& f) {
  const size_t width = header.width;
  switch (header.kind) {
    case NpyKind::boolean:
      return f.template operator()<Bool>();
    case NpyKind::integer:
      if (width == 1) return f.template operator()<int8_t>();
      if (width == 2) return f.template operator()<int16_t>();
      if (width == 4) return f.template operator()<int32_t>();
      return f.template operator()<int64_t>();
    case NpyKind::unsigned_integer:
      if (width == 1) return f.template operator()<uint8_t>();
      if (width == 2) return f.template operator()<uint16_t>();
      if (width == 4) return f.template operator()<uint32_t>();
      return f.template operator()<uint64_t>();
    default:
      if (width == 2) return f.template operator()<Half>();
      if (width == 4) return f.template operator()<float>();
      return f.template operator()<double>();
  }
}

/// Whether float32 does not hold a whole number.
template <class S>
bool is_rounded(S value, float number) {
  if (std::abs(number) < 0x1p24f || !std::isfinite(number)) return false;
  if constexpr (std::is_floating_point_v<S>)
    return value == std::floor(value) && static_cast<S>(number) != value;
  return static_cast<long double>(number) != static_cast<long double>(value);
}

std::string expected_text(DType as) {
  if (as == DType::u8) return "integers from 0 to 255";
  if (is_floating(as)) return fmt::format("numbers within {}", name_of(as));
  return fmt::format("integers within {}", name_of(as));
}

}  // namespace

NpyValues::Places::Places(const std::vector<int64_t>& shape)
    : shape_(shape), index_(shape.size()), stride_(shape.size(), 1) {
  for (size_t d = shape_.size(); d-- > 1;) stride_[d - 1] = stride_[d] * std::max<int64_t>(1, shape_[d]);
}

int64_t NpyValues::Places::next() {
  const int64_t place = place_;
  for (size_t d = 0; d < shape_.size(); ++d) {
    place_ += stride_[d];
    if (++index_[d] < shape_[d]) break;
    place_ -= stride_[d] * shape_[d];
    index_[d] = 0;
  }
  return place;
}

NpyValues::NpyValues(const NpyHeader& header, Tensor& target)
    : header_(header),
      target_(target),
      places_(header.shape),
      transposed_(header.fortran_order && header.shape.size() > 1) {}

void NpyValues::take(const char* data, size_t bytes) {
  const auto take_as = [&]<class T, class S>() {
    T* const target = target_.mutable_data<T>();
    for (const char *next = data, *end = data + bytes; next < end; next += sizeof(S), ++position_) {
      const S value = load<S>(next, header_.swapped);
      const int64_t place = transposed_ ? places_.next() : position_;
      if (!converts(value, target + place)) [[unlikely]]
        data_fail("{} at {}, expected {}", number_text(value), detail::place_text(header_.shape, place),
                  std::is_same_v<S, Bool> ? "bools, 0 or 1" : expected_text(target_.dtype()));
      if constexpr (std::is_same_v<T, float> && sizeof(S) >= 4 && std::is_arithmetic_v<S>)
        rounded_ += is_rounded(value, target[place]);
    }
  };
  dispatch_all(target_.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bfloat16>)
      dispatch(header_, [&]<class S>() { take_as.template operator()<T, S>(); });
  });
}

std::string npy_text(const NpyHeader& header, std::string_view bytes) {
  std::string text;
  if (header.kind != NpyKind::unicode) text = bytes;
  for (size_t k = 0; header.kind == NpyKind::unicode && k + 4 <= bytes.size(); k += 4) {
    const auto character = load<uint32_t>(bytes.data() + k, header.swapped);
    if (character >= 0x80) throw DataError("a character beyond ASCII in a string");
    text.push_back(static_cast<char>(character));
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace adj
