#include "../support.h"
#include <adjoint/data/detail/hdf5_process.h>

#include <csignal>

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;
using hdf5::ChildProcess;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLong{60'000};

template <class F>
pid_t forked(F&& f) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child != 0) return child;
  signal(SIGTERM, SIG_DFL);
  f();
  _exit(0);
}
[[noreturn]] void sleep_on() {
  while (true) pause();
}

/// A child of this number that sleeps; -1 if this process may not choose pids.
pid_t forked_as(pid_t number) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
        cgroup;
  } arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<uint64_t>(&number);
  arguments.set_tid_size = 1;
  const auto child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  if (child == 0) sleep_on();
  return child;
}

}  // namespace

TEST_CASE("the exit status of a child is known") {
  ChildProcess returned(forked([] { _exit(7); })), killed(forked([] { raise(SIGTERM); }));
  CHECK(returned.end(kLong).exit == 7);
  CHECK(returned.end(kLong).exit == 7);
  CHECK(killed.end(kLong).signal == SIGTERM);
}

TEST_CASE("waiting for a hung child times out") {
  const pid_t child = forked([] { sleep_on(); });
  ChildProcess process(child);
  CHECK(process.end(milliseconds(20)).signal == SIGKILL);
  CHECK(kill(child, 0) < 0);
}

TEST_CASE("a child already waited for elsewhere is not killed, as its pid may be reused") {
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (descriptor < 0) {
    MESSAGE("skipped: this kernel has no descriptors of processes");
    return;
  }
  close(descriptor);
  const pid_t child = forked([] {});
  ChildProcess process(child);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  const pid_t other = forked_as(child);
  if (other < 0) {
    MESSAGE("skipped: this process may not choose the numbers of processes");
  } else {
    REQUIRE(other == child);
    process.kill();
    CHECK(process.end(milliseconds(0)).signal == -1);
    usleep(20000);
    CHECK(waitpid(other, nullptr, WNOHANG) == 0);  // lives
    kill(other, SIGKILL);
    CHECK(waitpid(other, nullptr, 0) == other);
  }
}

TEST_CASE("the process for HDF5 does not look for libraries in the working directory") {
  using hdf5::library_path;
  CHECK(library_path("/lib", "") == "/lib");
  CHECK(library_path("/lib", "/a:/b") == "/lib:/a:/b");
  CHECK(library_path("/lib", ":/a::/b;;/c:") == "/lib:/a:/b:/c");
  CHECK(library_path("", "/a") == "/a");
  CHECK(library_path("", ":") == "");
}
