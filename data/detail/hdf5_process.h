#pragma once

#include <adjoint/core/detail/descriptor.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

using detail::Descriptor;

/// An in-memory file with these bytes. Throws DataError if out of memory.
Descriptor file_in_memory(const char* name, const void* bytes, size_t count);

/// LD_LIBRARY_PATH for the child: `folder`, then the inherited entries without empty ones, which mean the
/// working directory.
std::string library_path(std::string_view folder, std::string_view inherited);

/// Runs the HDF5 library in a child process, for one file. The child is started by exec, not by fork alone:
/// it inherits neither memory nor devices nor sockets. All functions throw DataError, also if no process can
/// be started; there is no in-process fallback.
class Process {
 public:
  /// `bytes` of the file determine the limits of time and memory.
  Process(const Descriptor& file, size_t bytes);

  /// The directory of the wanted objects (hdf5_wire.h).
  std::string list(const std::vector<std::string>& wanted);
  /// Reads `rows` rows from `first` on, `bytes` in total.
  void read(size_t index, size_t first, size_t rows, void* buffer, size_t bytes);
  /// True if the child crashed or timed out; it cannot be used any more.
  bool has_ended() const { return !child_; }

 private:
  void ask(std::string_view request);
  /// Length of the answer; the timeout allows for work on `bytes`.
  size_t length(size_t bytes);
  void get(void* buffer, size_t count, size_t bytes);
  void wait_for_answer(size_t bytes);
  [[noreturn]] void ended(bool too_long);

  std::optional<ChildProcess> child_;
  Descriptor socket_;
  size_t file_bytes_;
};

}  // namespace adj::hdf5
