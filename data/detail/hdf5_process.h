#pragma once

#include <adjoint/data/detail/child_process.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj::hdf5 {

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
