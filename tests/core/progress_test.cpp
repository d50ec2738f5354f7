#include "../support.h"
#include <adjoint/core/log.h>
#include <adjoint/core/progress.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

/// What `f` writes to stderr, which is no terminal meanwhile.
template <class F>
std::string written_by(F&& f) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("stderr");
  const int before = dup(STDERR_FILENO), file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  dup2(file, STDERR_FILENO);
  f();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  close(file);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Level {
  explicit Level(LogLevel level) { set_log_level(level); }
  ~Level() { set_log_level(LogLevel::info); }
};

}  // namespace

TEST_CASE("progress counts and says so every tenth of the way where there is no terminal") {
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

TEST_CASE("progress goes on from where it is told, jumps, and may be empty") {
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

TEST_CASE("progress is silent below the level of info, and a note is then not asked for") {
  const Level quiet(LogLevel::warning);
  CHECK(written_by([] {
          Progress steps(10);
          CHECK_FALSE(steps.due());
          steps.advance(10);
          log_info("not {}", "shown");
        }).empty());
}

TEST_CASE("log writes lines of its level and above") {
  const std::string text = written_by([] {
    log_debug("no");
    log_info("{} nodes", 3);
    log_warning("careful");
    log_line(LogLevel::error, "wrong");
    log(7, Tensor::full({}, 0.5));
  });
  CHECK(text == "3 nodes\nwarning: careful\nerror: wrong\nepoch 7: loss 0.5000\n");
  const Level all(LogLevel::debug);
  CHECK(written_by([] { log_debug("yes"); }) == "yes\n");
}
