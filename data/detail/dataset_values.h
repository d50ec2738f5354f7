#pragma once

#include <adjoint/data/hdf5_file.h>

#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adj::detail {

/// Problems found while reading a file as a dataset. Either thrown at once, as a one-line DataError, or, with
/// a list for them, collected while reading continues: both use the same rules. Places with a problem are
/// remembered, so that dependent parts can be skipped.
class Problems {
 public:
  static constexpr size_t kShown = 3;    ///< per kind and place
  static constexpr size_t kMost = 1000;  ///< per file

  explicit Problems(const H5Reader& file, std::vector<std::string>* kept = nullptr)
      : file_(file), kept_(kept) {}

  bool keeps() const { return kept_ != nullptr; }
  /// True if this place has a known problem. Always false if problems are thrown.
  bool in(std::string_view place) const { return places_.find(place) != places_.end(); }

  /// "FILE: PLACE: message".
  template <class... Args>
  void say(std::string_view place, fmt::format_string<Args...> format, Args&&... args) {
    attempt(place, [&] { file_.fail(place, format, std::forward<Args>(args)...); });
  }
  /// Calls f; a DataError from it becomes a problem at this place. Returns false if there was one.
  template <class F>
  bool attempt(std::string_view place, F&& f) {
    if (!keeps()) {
      f();
      return true;
    }
    try {
      f();
      return true;
    } catch (const DataError& error) {
      keep(place, error.what());
      return false;
    }
  }
  /// Reports how many problems exceeded kMost.
  void finish();

 private:
  void keep(std::string_view place, std::string line);

  const H5Reader& file_;
  std::vector<std::string>* kept_;
  std::set<std::string, std::less<>> places_, lines_;
  size_t left_out_ = 0;
};

/// Wrong values of one kind in one place: the first few are reported, the rest are counted. May be found in
/// any order and on any thread.
class WrongValues {
 public:
  WrongValues(Problems& problems, std::string place) : problems_(problems), place_(std::move(place)) {}

  /// text() describes the wrong value at `position`. Thrown at once if problems are thrown.
  template <class Text>
  void found(int64_t position, Text text) {
    if (!problems_.keeps()) return problems_.say(place_, "{}", text());
    const std::lock_guard lock(mutex_);
    ++count_;
    if (first_.size() == Problems::kShown && first_.back().first < position) return;
    insert(position, text());
  }
  /// Reports them by position.
  void say();

 private:
  void insert(int64_t position, std::string text);

  Problems& problems_;
  std::string place_;
  std::mutex mutex_;
  std::vector<std::pair<int64_t, std::string>> first_;
  size_t count_ = 0;
};

constexpr int64_t kAny = -1;  ///< any extent
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

bool all_finite(const float* x, int64_t n);

/// Some rows of a dataset; by default all.
struct RowRange {
  int64_t begin = 0;
  int64_t end = kAny;  ///< exclusive
};

/// The datasets of a file in the schema's types, converted and checked block by block while in cache. An
/// unreadable tensor is absent; one with single wrong values is returned with these values unchanged (out of
/// range, not finite).
class FileValues {
 public:
  FileValues(const H5Reader& file, Problems& problems) : file_(file), problems_(problems) {}

  /// int32 [length] in [from, limit), from integers of any type; those of the `rows` of so many.
  Tensor indices(const std::string& path, int64_t length, int64_t limit, int64_t least = 0,
                 RowRange rows = {}) const;
  /// int64 [length], from integers of any type.
  Tensor integers(const std::string& path, int64_t length, RowRange rows = {}) const;
  /// int64 [length], from 0 to `total` (kAny: any), non-decreasing.
  Tensor offsets(const std::string& path, int64_t length, int64_t total, const std::string& meaning) const;
  /// float32 from any floating type; finite in float32.
  Tensor floats(const std::string& path, std::initializer_list<int64_t> shape, RowRange rows = {}) const;
  /// float32 [rows, *] from any numeric type, finite or NaN; 0, 1 or NaN if `binary`.
  Tensor targets(const std::string& path, bool binary) const;
  /// int32, from integers in [0, limit) or from a mask of `length`: the true positions, ascending.
  Tensor selection(const std::string& path, int64_t length, int64_t limit) const;

 private:
  template <class T, class Expect, class Check>
  Tensor read_as(const std::string& path, WrongValues& wrong, Expect expect, Check check,
                 RowRange rows = {}) const;

  const H5Reader& file_;
  Problems& problems_;
};

}  // namespace adj::detail
