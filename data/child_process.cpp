#include <adjoint/data/detail/child_process.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace adj::hdf5 {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr idtype_t kByDescriptor = static_cast<idtype_t>(3);  // P_PIDFD, missing in older headers
/// A killed process ends at once, unless it is stuck in a file system: then no caller waits for it.
constexpr milliseconds kEndOfKilled{5000};

/// Invalid if the kernel has no pidfd.
int descriptor_of(pid_t child) {
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  siginfo_t info{};
  if (descriptor >= 0 &&
      waitid(kByDescriptor, static_cast<id_t>(descriptor), &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
      errno == EINVAL) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

}  // namespace

ChildProcess::ChildProcess(pid_t child) : child_(child), descriptor_(descriptor_of(child)) {}

ChildProcess::~ChildProcess() { (void)end(milliseconds(0)); }

ChildProcess::Status ChildProcess::end(milliseconds patience) {
  if (!ends_within(patience)) {
    kill();
    (void)ends_within(kEndOfKilled);
    ended_ = true;
  }
  return status_;
}

void ChildProcess::kill() {
  if (ended_) return;
  if (descriptor_.get() >= 0) {
    syscall(SYS_pidfd_send_signal, descriptor_.get(), SIGKILL, nullptr, 0);
    return;
  }
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    ::kill(child_, SIGKILL);
}

bool ChildProcess::ends_within(milliseconds patience) {
  const bool watched = descriptor_.get() >= 0;
  const auto deadline = steady_clock::now() + patience;
  while (!ended_) {
    siginfo_t info{};
    const int found =
        watched ? waitid(kByDescriptor, static_cast<id_t>(descriptor_.get()), &info, WEXITED | WNOHANG)
                : waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG);
    if (found < 0 && errno == EINTR) continue;
    ended_ = found < 0 || info.si_pid != 0;
    if (found == 0 && info.si_pid != 0)
      (info.si_code == CLD_EXITED ? status_.exit : status_.signal) = info.si_status;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (ended_ || left.count() <= 0) break;
    pollfd end{descriptor_.get(), POLLIN, 0};
    poll(&end, watched ? 1 : 0, static_cast<int>(watched ? left.count() : 1));
  }
  return ended_;
}

}  // namespace adj::hdf5
