#pragma once

#include <adjoint/core/detail/descriptor.h>

#include <chrono>

#include <sys/types.h>

namespace adj::hdf5 {

/// A child of this process, by a descriptor where the kernel has such (Linux 5.4): its number may be
/// another's once it has ended and been waited for, by the program's own handler or since it ignores SIGCHLD.
/// Without, it is asked for before a signal goes to the number.
class ChildProcess {
 public:
  /// A child that has not been waited for.
  explicit ChildProcess(pid_t child);
  /// Ends it, and waits for a while.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// How it ended: what it returned, or the signal; both -1 where others have been told.
  struct Status {
    int exit = -1, signal = -1;
  };
  /// Waits for its end so long, then kills it.
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
