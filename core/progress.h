#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace adj {

/// Shows on stderr how far a loop has come: on a terminal a bar with the time left, elsewhere a plain line
/// every tenth of the way; nothing below LogLevel::info. One is shown at a time: the innermost.
///
///   for (int64_t epoch : progress(200)) log(epoch, step());
class Progress {
 public:
  /// Counts `unit`s from `done` to `total`.
  explicit Progress(int64_t total, int64_t done = 0, std::string unit = "epoch");
  /// Takes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// True if the next advance() will be shown: only then is a note worth making.
  bool due() const;
  /// What stands beside the count from now on ("loss 0.4312").
  void note(std::string text) { note_ = std::move(text); }
  /// What stands in place of the count "epoch 140/1000" from now on ("run 2/5  epoch 40/200").
  void label(std::string text) { label_ = std::move(text); }
  void advance(int64_t by = 1);
  /// Takes units that will not be done from the total: a loop that ended early.
  void shorten(int64_t by);

  /// The loop variable counts from `done` to `total` - 1; each step forward advances.
  class Iterator {
   public:
    Iterator(Progress* owner, int64_t at) : owner_(owner), at_(at) {}
    int64_t operator*() const { return at_; }
    Iterator& operator++() {
      ++at_;
      owner_->advance();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    Progress* owner_;
    int64_t at_;
  };
  Iterator begin() { return {this, done_}; }
  Iterator end() { return {this, total_}; }

  /// The innermost one alive, or null.
  static Progress* current();
  /// Clears the bar from the terminal, for a line of the log; the next advance() draws it again.
  void hide();

 private:
  void draw();
  std::string count() const;
  /// What brings the cursor to the beginning of the bar that stands there.
  std::string back() const;

  int64_t total_, done_, first_;
  std::string unit_, note_, label_;
  bool shown_, terminal_;
  size_t drawn_ = 0;           // characters of the bar that stands there
  int64_t start_, next_draw_;  // ns of the steady clock
  Progress* outer_;
};

inline Progress progress(int64_t total, int64_t done = 0) { return Progress(total, done); }

}  // namespace adj
