#pragma once

#include <adjoint/data/hdf5_file.h>

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adj::detail {

/// What is found to be wrong with a file while it is read as a dataset. It is thrown at once, as a DataError
/// of one line; or, where there is a list for it, kept there, and reading goes on: the rules stand once for
/// both. A place in which something is wrong is remembered, so that what depends on it can be left out.
class Problems {
 public:
  static constexpr size_t kShown = 3;    ///< of one kind in one place
  static constexpr size_t kMost = 1000;  ///< of a file

  explicit Problems(const H5Reader& file, std::vector<std::string>* kept = nullptr)
      : file_(file), kept_(kept) {}

  bool keeps() const { return kept_ != nullptr; }
  /// Is something known to be wrong there? Never where problems are thrown.
  bool in(std::string_view place) const { return places_.find(place) != places_.end(); }

  /// "FILE: PLACE: message".
  template <class... Args>
  void say(std::string_view place, fmt::format_string<Args...> format, Args&&... args) {
    attempt(place, [&] { file_.fail(place, format, std::forward<Args>(args)...); });
  }
  /// Calls f, a DataError out of which is a problem in that place. False where there was one.
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
  /// Says how many there were beyond kMost.
  void finish();

 private:
  void keep(std::string_view place, std::string line);

  const H5Reader& file_;
  std::vector<std::string>* kept_;
  std::set<std::string, std::less<>> places_, lines_;
  size_t left_out_ = 0;
};

/// Values that are wrong in one way, in one place: the first of them are said, the others counted. Found in
/// any order and on any thread.
class WrongValues {
 public:
  WrongValues(Problems& problems, std::string place) : problems_(problems), place_(std::move(place)) {}

  /// text() says what is wrong with the value at that position. Throws it where problems are thrown.
  template <class Text>
  void found(int64_t position, Text text) {
    if (!problems_.keeps()) return problems_.say(place_, "{}", text());
    const std::lock_guard lock(mutex_);
    ++count_;
    if (first_.size() == Problems::kShown && first_.back().first < position) return;
    insert(position, text());
  }
  /// Hands them over, by position.
  void say();

 private:
  void insert(int64_t position, std::string text);

  Problems& problems_;
  std::string place_;
  std::mutex mutex_;
  std::vector<std::pair<int64_t, std::string>> first_;
  size_t count_ = 0;
};

}  // namespace adj::detail
