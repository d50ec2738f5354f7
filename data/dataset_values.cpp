#include <adjoint/core/convert.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_values.h>
#include <adjoint/data/detail/shape_text.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace adj::detail {

void Problems::keep(std::string_view place, std::string line) {
  places_.emplace(place);
  // A dataset's read error recurs for every reader of it; report it once.
  if (!lines_.insert(line).second) return;
  if (kept_->size() < kMost) {
    kept_->push_back(std::move(line));
  } else {
    ++left_out_;
  }
}

void Problems::finish() {
  if (left_out_ > 0)
    kept_->push_back(fmt::format("{}: {} more problems, expected none", excerpt(file_.file()), left_out_));
}

void WrongValues::insert(int64_t position, std::string text) {
  const auto after = std::upper_bound(first_.begin(), first_.end(), position,
                                      [](int64_t key, const auto& other) { return key < other.first; });
  first_.insert(after, {position, std::move(text)});
  if (first_.size() > Problems::kShown) first_.pop_back();
}

void WrongValues::say() {
  for (const auto& [position, text] : first_) problems_.say(place_, "{}", text);
  if (count_ > first_.size())
    problems_.say(place_, "{} more such values, {} in all", count_ - first_.size(), count_);
  first_.clear();
  count_ = 0;
}

namespace {

/// True if all are in [from, limit); int32 holds these bounds.
template <class T>
bool all_within(const T* x, int64_t n, int64_t least, int64_t limit) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const auto shift = static_cast<Unsigned>(least), range = static_cast<Unsigned>(limit - least);
  Unsigned bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= static_cast<Unsigned>(x[i]) - shift >= range;
  return bad == 0;
}

/// A wrong value as T: stays out of range if T cannot represent it.
template <class T, class S>
T nearest(S value) {
  if constexpr (std::is_same_v<S, double> && std::is_same_v<T, float>) {
    if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
      return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value > 0.0 ? 1 : -1));
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<S> && sizeof(S) > sizeof(T)) {
    return static_cast<T>(std::clamp<S>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
  return static_cast<T>(value);
}

}  // namespace

// Branch-free integer checks, which the compiler vectorizes: 15 times as fast as comparisons, so they keep
// up with reading.
bool all_finite(const float* x, int64_t n) {
  constexpr auto kInfinity = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= (std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu) >= kInfinity;
  return bad == 0;
}

/// Reads the dataset as T from any numeric type, after expect() has checked its shape and type.
/// check(values, n, position) checks each block in its stored type, and returns true if all values are
/// valid.
template <class T, class Expect, class Check>
Tensor FileValues::read_as(const std::string& path, WrongValues& wrong, Expect expect, Check check,
                           RowRange rows) const {
  Tensor result;
  problems_.attempt(path, [&] {
    expect();
    const std::vector<int64_t>& shape = file_.shape(path);
    int64_t row = 1;
    for (size_t d = 1; d < shape.size(); ++d) row *= shape[d];
    const int64_t end = rows.end == kAny ? shape[0] : rows.end, wanted = end - rows.begin;
    Tensor values = Tensor::empty(shape.size() == 2 ? Shape{wanted, shape[1]} : Shape{wanted}, dtype_of<T>());
    T* const begin = values.template mutable_data<T>();
    const auto read_stored = [&]<class S>() {
      file_.for_blocks(path, rows.begin, end, [&](int64_t first, int64_t count) {
        const int64_t offset = first * row, n = count * row;
        T* const target = begin + (first - rows.begin) * row;
        if constexpr (std::is_same_v<S, T>) {
          file_.rows(path, first, count, target);
          check(target, n, offset);
        } else {
          std::vector<S> stored(static_cast<size_t>(n));
          file_.rows(path, first, count, stored.data());
          const bool good = check(stored.data(), n, offset);
          for (int64_t k = 0; good && k < n; ++k) target[k] = static_cast<T>(stored[static_cast<size_t>(k)]);
          for (int64_t k = 0; !good && k < n; ++k) target[k] = nearest<T>(stored[static_cast<size_t>(k)]);
        }
      });
    };
    try {
      dispatch_all(file_.dtype(path), [&]<class S>() {
        if constexpr (!std::is_same_v<S, bfloat16>) read_stored.template operator()<S>();
      });
    } catch (const DataError&) {
      wrong.say();  // from earlier blocks
      throw;
    }
    wrong.say();
    result = std::move(values);
  });
  return result;
}

Tensor FileValues::indices(const std::string& path, int64_t length, int64_t limit, int64_t least,
                           RowRange rows) const {
  WrongValues wrong(problems_, path);
  const auto expect = [&] { file_.expect_integers(path, {length}); };
  const auto check = [&](const auto* values, int64_t n, int64_t offset) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*values)>>)
      if (all_within(values, n, least, limit)) return true;
    for (int64_t k = 0; k < n; ++k)
      if (const auto value = static_cast<int64_t>(values[k]); value < least || value >= limit)
        wrong.found(offset + k, [&] {
          return fmt::format("{} at position {}, expected {} to {}", value, offset + k, least, limit - 1);
        });
    return false;
  };
  return read_as<int32_t>(path, wrong, expect, check, rows);
}

Tensor FileValues::integers(const std::string& path, int64_t length, RowRange rows) const {
  WrongValues none(problems_, path);
  const auto expect = [&] { file_.expect_integers(path, {length}); };
  const auto check = [](const auto*, int64_t, int64_t) { return true; };
  return read_as<int64_t>(path, none, expect, check, rows);
}

Tensor FileValues::offsets(const std::string& path, int64_t length, int64_t total,
                           const std::string& meaning) const {
  WrongValues falling(problems_, path);
  const auto expect = [&] { file_.expect_integers(path, {length}); };
  Tensor offsets =
      read_as<int64_t>(path, falling, expect, [](const auto*, int64_t, int64_t) { return true; });
  if (!offsets) return {};
  const int64_t n = offsets.numel();
  if (n < 2) {
    problems_.say(path, "{} numbers, expected at least 2", n);
    return {};
  }
  const int64_t* values = offsets.data<int64_t>();
  if (values[0] != 0) problems_.say(path, "starts with {}, expected 0", values[0]);
  for (int64_t k = 1; k < n; ++k)
    if (values[k] < values[k - 1])
      falling.found(k, [&] {
        return fmt::format("falls from {} to {} at position {}, expected ascending numbers", values[k - 1],
                           values[k], k);
      });
  falling.say();
  if (total != kAny && values[n - 1] != total)
    problems_.say(path, "ends with {}, expected {}, {}", values[n - 1], total, meaning);
  return offsets;
}

Tensor FileValues::floats(const std::string& path, std::initializer_list<int64_t> shape,
                          RowRange rows) const {
  WrongValues wrong(problems_, path);
  const auto expect = [&] { file_.expect_floats(path, shape); };
  const auto check = [&](const auto* values, int64_t n, int64_t offset) {
    constexpr double kMost = std::numeric_limits<float>::max();
    if constexpr (std::is_same_v<decltype(values), const float*>)
      if (all_finite(values, n)) return true;
    bool good = true;
    for (int64_t k = 0; k < n; ++k) {
      if (std::abs(static_cast<double>(values[k])) <= kMost) continue;
      good = false;
      wrong.found(offset + k, [&] {
        return fmt::format("{} at {}, expected finite numbers", values[k],
                           place_text(file_.shape(path), offset + k));
      });
    }
    return good;
  };
  return read_as<float>(path, wrong, expect, check, rows);
}

Tensor FileValues::targets(const std::string& path, bool binary) const {
  WrongValues infinite(problems_, path), other(problems_, path);
  const std::vector<int64_t>& shape = file_.shape(path);
  const Tensor y = read_as<float>(
      path, infinite, [] {},
      [&](const auto* values, int64_t n, int64_t offset) {
        bool good = true;
        for (int64_t k = 0; k < n; ++k) {
          const double value = static_cast<double>(values[k]);
          if (std::isnan(value)) continue;  // unlabelled
          if (std::abs(value) > std::numeric_limits<float>::max()) {
            good = false;
            infinite.found(offset + k, [&] {
              return fmt::format("{} at {}, expected finite numbers, or nan for no label", values[k],
                                 place_text(shape, offset + k));
            });
          } else if (binary && value != 0.0 && value != 1.0) {
            other.found(offset + k, [&] {
              return fmt::format("label {} at {}, expected 0 or 1", values[k], place_text(shape, offset + k));
            });
          }
        }
        return good;
      });
  other.say();
  return y && y.dims() == 1 ? y.reshape({y.numel(), 1}) : y;
}

Tensor FileValues::selection(const std::string& path, int64_t length, int64_t limit) const {
  bool is_mask = false;
  if (!problems_.attempt(path, [&] { is_mask = file_.has(path) && file_.is_bool(path); })) return {};
  if (!is_mask) return indices(path, kAny, limit);
  Tensor positions;
  problems_.attempt(path, [&] {
    const Tensor mask = file_.tensor(path, {DType::u8}, {length});
    std::vector<int32_t> chosen;
    for (int64_t i = 0; i < std::min(mask.numel(), kLargest); ++i)
      if (mask.data<uint8_t>()[i] != 0) chosen.push_back(static_cast<int32_t>(i));
    positions = Tensor::from(chosen);
  });
  return positions;
}

}  // namespace adj::detail
