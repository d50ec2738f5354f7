#pragma once

#include <adjoint/core/detail/descriptor.h>

#include <chrono>

#include <sys/types.h>

namespace adj::hdf5 {

/// A child process, held by a pidfd if the kernel has them (Linux 5.4): its pid may be reused once it has
/// been waited for, by the program's own handler or because SIGCHLD is ignored. Without a pidfd its state is
/// checked before a signal is sent.
class ChildProcess {
 public:
  /// `child` must not have been waited for.
  explicit ChildProcess(pid_t child);
  /// Kills the child and waits for a limited time.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Exit status or signal; both -1 if the child was already waited for elsewhere.
  struct Status {
    int exit = -1, signal = -1;
  };
  /// Waits up to `patience` for the end, then kills the child.
  Status end(std::chrono::milliseconds patience);
  void kill();

 private:
  bool ends_within(std::chrono::milliseconds patience);

  pid_t child_;
  detail::Descriptor descriptor_;
  bool ended_ = false;
  Status status_;
};

}  // namespace adj::hdf5
