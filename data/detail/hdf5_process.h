#pragma once

#include <adjoint/data/detail/child_process.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj::hdf5 {

using detail::Descriptor;

/// A file in memory that holds these bytes. Throws DataError where there is no room.
Descriptor file_in_memory(const char* name, const void* bytes, size_t count);

/// Where that process looks for shared libraries: in `folder`, then as LD_LIBRARY_PATH was inherited, without
/// empty entries, which stand for the working directory.
std::string library_path(std::string_view folder, std::string_view inherited);

/// HDF5's library in a process of its own, for one file. That process is started by exec, not a copy of this
/// one: neither this one's memory nor a device or network that it holds comes along. All functions throw
/// DataError, also where no process can be started; they do not run HDF5 here instead.
class Process {
 public:
  /// `bytes` of the file are what limits of time and memory start from.
  Process(const Descriptor& file, size_t bytes);

  /// The directory of what is wanted (hdf5_wire.h).
  std::string list(const std::vector<std::string>& wanted);
  /// `bytes` of values of `rows` rows from `first` on.
  void read(size_t index, size_t first, size_t rows, void* to, size_t bytes);
  /// Has it crashed, or come to no end? Then there is nothing more to be had of it.
  bool has_ended() const { return !child_; }

 private:
  void ask(std::string_view request);
  /// Of the answer, which is awaited for as long as work on so many bytes may take.
  size_t length(size_t bytes);
  void get(void* to, size_t count, size_t bytes);
  void wait_for_answer(size_t bytes);
  [[noreturn]] void ended(bool too_long);

  std::optional<ChildProcess> child_;
  Descriptor socket_;
  size_t file_bytes_;
};

}  // namespace adj::hdf5
