#include "../support.h"
#include <adjoint/core/log.h>
#include <adjoint/core/progress.h>

#include <algorithm>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Calls f while stderr is another file.
template <class F>
void with_stderr(int file, F&& f) {
  const int before = dup(STDERR_FILENO);
  dup2(file, STDERR_FILENO);
  f();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
}

/// Output of `f` to stderr, which is not a terminal.
template <class F>
std::string written_by(F&& f) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("stderr");
  const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  with_stderr(file, f);
  close(file);
  return contents_of(path);
}

/// A minimal root file system may have no terminals.
bool has_terminals() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) MESSAGE("skipped: no terminal to be had");
  if (master >= 0) close(master);
  return master >= 0;
}

/// Sets the width of the terminal on stderr.
void widen(int columns) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  REQUIRE(ioctl(STDERR_FILENO, TIOCSWINSZ, &size) == 0);
}

/// Output of `f` to stderr, a terminal with that many columns.
template <class F>
std::string shown_by(F&& f, int columns = 120) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(master >= 0);
  REQUIRE(grantpt(master) == 0);
  REQUIRE(unlockpt(master) == 0);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(slave >= 0);
  with_stderr(slave, [&] {
    widen(columns);
    f();
  });
  std::string text;
  char buffer[4096];
  fcntl(master, F_SETFL, O_NONBLOCK);
  for (ssize_t got = 0; (got = read(master, buffer, sizeof buffer)) > 0;) text.append(buffer, uz(got));
  close(slave);
  close(master);
  return text;
}

const std::string kGone = "\r\x1b[K";

struct Level {
  explicit Level(LogLevel level) { set_log_level(level); }
  ~Level() { set_log_level(LogLevel::info); }
};

}  // namespace

TEST_CASE("without a terminal progress prints at every tenth") {
  std::vector<int64_t> seen;
  const std::string text = written_by([&] {
    for (int64_t epoch : progress(20)) {
      log(epoch, Tensor::full({}, static_cast<double>(epoch)));
      seen.push_back(epoch);
    }
  });
  REQUIRE(seen.size() == 20);
  CHECK(seen.front() == 0);
  CHECK(seen.back() == 19);
  CHECK(std::count(text.begin(), text.end(), '\n') == 10);
  CHECK(text.starts_with("epoch 2/20  loss 1.0000\n"));
  CHECK(text.ends_with("epoch 20/20  loss 19.0000\n"));
}

TEST_CASE("progress starts anywhere, jumps, and may be empty") {
  const std::string text = written_by([] {
    Progress steps(100, 35, "step");
    CHECK_FALSE(steps.due());
    steps.advance(40);  // to 75
    steps.advance(1000);
    CHECK_FALSE(steps.due());
    for (int64_t never : progress(0)) FAIL("a loop over nothing ran: " << never);
  });
  CHECK(text == "step 75/100\nstep 100/100\n");
  CHECK_THROWS_AS(Progress(10, 11), Error);
}

TEST_CASE("progress is silent below level info, and does not compute its note") {
  const Level quiet(LogLevel::warning);
  CHECK(written_by([] {
          Progress steps(10);
          CHECK_FALSE(steps.due());
          steps.advance(10);
          log_info("not {}", "shown");
        }).empty());
}

TEST_CASE("only messages at the set level or above are written") {
  const struct {
    LogLevel level;
    const char* text;
  } cases[] = {{LogLevel::debug, "a\n3 nodes\nwarning: c\nb\nerror: d\nepoch 7: loss 0.5000\n"},
               {LogLevel::info, "3 nodes\nwarning: c\nb\nerror: d\nepoch 7: loss 0.5000\n"},
               {LogLevel::warning, "warning: c\nerror: d\n"},
               {LogLevel::error, "error: d\n"}};
  for (const auto& c : cases) {
    const Level level(c.level);
    CHECK(log_level() == c.level);
    CHECK(written_by([] {
            log_debug("a");
            log_info("{} nodes", 3);
            log_warning("c");
            log_line(LogLevel::info, "b");
            log_line(LogLevel::error, "d");
            log(7, Tensor::full({}, 0.5));
          }) == c.text);
    CHECK(written_by([] { Progress(1).advance(); }).empty() == (c.level > LogLevel::info));
  }
}

TEST_CASE("a terminal shows a bar with the remaining time, also in hours") {
  if (!has_terminals()) return;
  const std::string bar = shown_by([] {
    Progress steps(1'000'000'000, 0, "step");
    usleep(20000);
    steps.note("loss 0.5");
    steps.advance(250'000'000);
  });
  CHECK(bar.starts_with("\rstep 250000000/1000000000 [======                  ] loss 0.5  ETA 0:01\x1b[K"));
  CHECK(bar.ends_with(kGone));

  const std::string text = shown_by([] {
    Progress steps(1'000'000, 0);
    usleep(20000);
    steps.advance();
  });
  const size_t position = text.find("ETA ");
  REQUIRE(position != std::string::npos);
  int hours = 0, minutes = 0, seconds = 0, read = 0;
  REQUIRE(std::sscanf(text.c_str() + position, "ETA %d:%2d:%2d%n", &hours, &minutes, &seconds, &read) == 3);
  CHECK(text.substr(position + uz(read)).starts_with("\x1b[K"));
  CHECK(text.substr(position, uz(read)) == fmt::format("ETA {}:{:02}:{:02}", hours, minutes, seconds));
  CHECK(hours >= 5);  // a million times 20 ms and more
  CHECK(minutes < 60);
  CHECK(seconds < 60);
}

TEST_CASE("the remaining time is estimated from this run's steps, and a bar fits its line") {
  if (!has_terminals()) return;
  const auto seconds_left = [](int64_t done) {
    const std::string text = shown_by([&] {
      Progress steps(1'000'100, done);
      usleep(20000);
      steps.note(std::string(20, 'n'));
      steps.advance(100);
    });
    const size_t position = text.find("ETA ");
    REQUIRE(position != std::string::npos);
    int a = 0, b = 0, c = 0;
    return std::sscanf(text.c_str() + position, "ETA %d:%d:%d", &a, &b, &c) == 3 ? 3600 * a + 60 * b + c
                                                                                 : 60 * a + b;
  };
  CHECK(seconds_left(0) >= 200);  // ten thousand times 20 ms and more
  CHECK(seconds_left(500'000) >= 100);

  const std::string text = shown_by([] {
    Progress steps(10, 0, "step");
    steps.note(std::string(200, 'n'));
    steps.advance();
  });
  const std::string shown = text.substr(1, text.find("\x1b[K") - 1);
  CHECK(shown.size() == 119);  // one less than the terminal is wide, which does not wrap then
  CHECK(shown.starts_with("step 1/10  nnn"));
}

TEST_CASE("in a narrow terminal the bar is omitted in favour of loss and remaining time") {
  if (!has_terminals()) return;
  for (const auto& [columns, bar] : {std::pair(200, "[============            ] "),
                                     {80, "[===========           ] "},
                                     {66, "[====    ] "},
                                     {60, " "},
                                     {20, " "},
                                     {1, ""}}) {
    CAPTURE(columns);
    const std::string text = shown_by(
        [] {
          Progress steps(200);
          steps.note("loss 0.6487  validation 0.7960");
          steps.advance(100);
        },
        columns);
    std::string all = fmt::format("epoch 100/200 {}loss 0.6487  validation 0.7960  ETA 0:0", bar);
    all.resize(std::min(all.size(), uz(columns - 1)));
    CHECK(text.starts_with("\r" + all));
    CHECK(text.find("\x1b[K") <= uz(columns));
  }
}

TEST_CASE("a bar wrapped by a narrowed terminal is cleared completely") {
  if (!has_terminals()) return;
  const std::string text = shown_by([] {
    Progress steps(200);
    steps.note("loss 0.6487  validation 0.796");
    steps.advance(100);  // 80 characters
    widen(40);
    log_info("one");
    widen(120);
    usleep(110000);
    steps.advance();
    widen(30);
    usleep(110000);
    steps.advance();
  });
  const std::string last = "ETA 0:01\x1b[K";
  CHECK(text.find(last + "\r\x1b[1A\x1b[J\x1b[Kone\r\n\repoch 101/200") != std::string::npos);
  CHECK(text.find(last + "\r\x1b[2A\x1b[Jepoch 102/200") != std::string::npos);
}

TEST_CASE("after an early end, a loop continues with the rest under a new name") {
  const std::string text = written_by([] {
    Progress epochs(400);
    epochs.advance(30);
    epochs.shorten(170);  // to 230
    epochs.label("run 2/2  epoch 100/200");
    epochs.note("loss 0.5");
    epochs.advance(100);
    epochs.label("run 2/2  epoch 200/200");
    epochs.advance(100);
    epochs.shorten(1);
  });
  CHECK(text == "run 2/2  epoch 100/200  loss 0.5\nrun 2/2  epoch 200/200  loss 0.5\n");
}

TEST_CASE("of nested bars the innermost is shown, and log lines are on lines of their own") {
  if (!has_terminals()) return;
  CHECK(Progress::current() == nullptr);
  const std::string text = shown_by([] {
    Progress outer(4, 0, "run");
    CHECK(Progress::current() == &outer);
    outer.advance();
    {
      Progress inner(2, 0, "epoch");
      CHECK(Progress::current() == &inner);
      log_info("one");
      inner.advance();
      usleep(110000);
      outer.advance();
      log_info("two");
      usleep(110000);
    }
    CHECK(Progress::current() == &outer);
    outer.advance();
  });
  CHECK(Progress::current() == nullptr);
  const auto bar = [](const char* count, const char* filled) {
    return fmt::format("\r{} [{: <24}] ETA 0:0", count, filled);
  };
  std::string plain;  // without the seconds, which depend on the clock
  for (size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    if (plain.ends_with("ETA 0:0")) ++i;
  }
  const std::string end = "\x1b[K";
  CHECK(plain == bar("run 1/4", "======") + end + kGone + "one\r\n" + bar("epoch 1/2", "============") + end +
                     kGone + "two\r\n" + bar("run 3/4", "==================") + end + kGone);
}
