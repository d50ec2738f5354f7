#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace adj {

/// Progress of a loop on stderr: a bar with the remaining time on a terminal, else one plain line per tenth;
/// nothing below LogLevel::info. Only the innermost is shown.
///
///   for (int64_t epoch : progress(200)) log(epoch, step());
class Progress {
 public:
  /// Counts `unit`s from `done` to `total`.
  explicit Progress(int64_t total, int64_t done = 0, std::string unit = "epoch");
  /// Clears the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// True if the next advance() will be shown; otherwise skip note().
  bool due() const;
  /// Text next to the count from now on ("loss 0.4312").
  void note(std::string text) { note_ = std::move(text); }
  /// Replaces the count "epoch 140/1000" from now on ("run 2/5  epoch 40/200").
  void label(std::string text) { label_ = std::move(text); }
  void advance(int64_t steps = 1);  ///< adds to the count, up to the total; draws the bar if it is time
  /// Reduces the total by units that will not run: a loop that ended early.
  void shorten(int64_t steps);

  /// The loop variable counts from `done` to `total` - 1; each increment advances.
  class Iterator {
   public:
    Iterator(Progress* owner, int64_t position) : owner_(owner), position_(position) {}
    int64_t operator*() const { return position_; }  ///< the loop variable
    /// To the next unit; advances the bar.
    Iterator& operator++() {
      ++position_;
      owner_->advance();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return position_ != other.position_; }

   private:
    Progress* owner_;
    int64_t position_;
  };
  Iterator begin() { return {this, done_}; }  ///< at the current count
  Iterator end() { return {this, total_}; }   ///< at the current total

  /// The innermost one alive; null if none.
  static Progress* current();
  /// Clears the bar for a log line; the next advance() draws it again.
  void hide();

 private:
  void draw();
  std::string count() const;
  /// Escape sequence that moves the cursor to the start of the bar.
  std::string back() const;

  int64_t total_, done_, first_;
  std::string unit_, note_, label_;
  bool shown_, terminal_;
  size_t drawn_ = 0;           // characters of the drawn bar
  int64_t start_, next_draw_;  // in ns, steady clock
  Progress* outer_;
};

inline Progress progress(int64_t total, int64_t done = 0) { return Progress(total, done); }  ///< of epochs

}  // namespace adj
