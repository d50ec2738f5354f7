#include <adjoint/core/error.h>
#include <adjoint/core/log.h>
#include <adjoint/core/progress.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

namespace adj {

namespace {

constexpr int64_t kDrawEvery = 100'000'000;  // in ns
constexpr size_t kBarWidth = 24, kNarrowestBar = 8;

thread_local Progress* innermost = nullptr;

int64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// "0:07", "12:40", "3:05:00".
std::string clock_text(double seconds) {
  const auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

Progress::Progress(int64_t total, int64_t done, std::string unit)
    : total_(total),
      done_(done),
      first_(done),
      unit_(std::move(unit)),
      shown_(log_level() <= LogLevel::info),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(now()),
      next_draw_(start_),
      outer_(innermost) {
  ADJ_CHECK(done >= 0 && done <= total, "progress: expected 0 <= done <= total, got {} of {}", done, total);
  if (outer_ != nullptr) outer_->hide();
  innermost = this;
}

Progress::~Progress() {
  hide();
  innermost = outer_;
}

Progress* Progress::current() { return innermost; }

bool Progress::due() const {
  if (!shown_ || done_ == total_) return false;
  return terminal_ ? now() >= next_draw_ : (done_ + 1) * 10 / total_ > done_ * 10 / total_;
}

void Progress::advance(int64_t steps) {
  const int64_t before = done_;
  done_ = std::min(total_, done_ + steps);
  if (!shown_ || done_ == before) return;
  if (terminal_) {
    if (innermost == this && now() >= next_draw_) draw();
    return;
  }
  if (done_ * 10 / total_ > before * 10 / total_)
    log_info("{}{}{}", count(), note_.empty() ? "" : "  ", note_);
}

void Progress::shorten(int64_t steps) { total_ = std::max(done_, total_ - steps); }

std::string Progress::count() const {
  return label_.empty() ? fmt::format("{} {}/{}", unit_, done_, total_) : label_;
}

// In a narrow terminal the note takes precedence over the bar.
void Progress::draw() {
  const int64_t time_ns = now();
  next_draw_ = time_ns + kDrawEvery;
  const double elapsed = 1e-9 * static_cast<double>(time_ns - start_);
  const double left = elapsed * static_cast<double>(total_ - done_) / static_cast<double>(done_ - first_);
  std::string line = count();
  const std::string tail = fmt::format("{}{}ETA {}", note_, note_.empty() ? "" : "  ", clock_text(left));
  const size_t room = terminal_width() - 1, needed = line.size() + tail.size() + std::string(" [] ").size();
  if (const size_t bar = std::min(kBarWidth, room - std::min(room, needed)); bar >= kNarrowestBar) {
    const size_t filled = bar * static_cast<size_t>(done_) / static_cast<size_t>(total_);
    line += fmt::format(" [{:=<{}}{: <{}}] ", "", filled, "", bar - filled);
  } else {
    line += "  ";
  }
  line += tail;
  line.resize(std::min(line.size(), room));
  const std::string text = back() + line + "\x1b[K";
  std::fwrite(text.data(), 1, text.size(), stderr);
  drawn_ = line.size();
}

// A terminal that was narrowed has wrapped the bar; the cursor is in its last line.
std::string Progress::back() const {
  const size_t above = drawn_ == 0 ? 0 : (drawn_ - 1) / terminal_width();
  return above == 0 ? "\r" : fmt::format("\r\x1b[{}A\x1b[J", above);
}

void Progress::hide() {
  if (drawn_ == 0) return;
  const std::string text = back() + "\x1b[K";
  std::fwrite(text.data(), 1, text.size(), stderr);
  drawn_ = 0;
}

}  // namespace adj
