#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace adj {

// One rule for everything that is written: an output is a regular file, or a name where there is nothing yet.
// A folder, a device (/dev/null), a pipe and a socket are refused, and so is a file that must not be written.
// A symbolic link stays one: what it points to is replaced, or made where there is nothing yet.

/// Puts `bytes` in the place of the file `path` in one step, on disk: a kill at any moment leaves the old
/// file or the new one, whole. The new one has the permissions of the old one, and its owner and group where
/// this process may give them; nobody else reads it before. They are written beside it, as ".adjoint-<16 hex
/// digits>.tmp"; what runs that were killed left under such names goes when the folder is next written to,
/// ten minutes later at the earliest. Throws DataError naming the file where it cannot be written.
void replace_file(const std::string& path, std::string_view bytes);

/// replace_file() of what is written piece by piece. Without commit(), what stood there stays.
class FileReplacement {
 public:
  /// Throws DataError where nothing can be put in the place of `path`, or written beside it.
  explicit FileReplacement(std::string path);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  /// Writes at a distance from the beginning; bytes before that are not written yet are 0. Throws DataError.
  void write(int64_t at, std::string_view bytes);
  /// Up to `count` bytes of what was written; how many there were. Throws DataError.
  size_t read(int64_t at, char* to, size_t count) const;
  /// The file has that length from now on.
  void resize(int64_t length);
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// From now on SIGINT, SIGTERM and SIGHUP, where nobody has said what is to become of them, remove what is
/// being written beside its place before they end the program: for main().
void remove_pending_on_signals();

/// Why replace_file(path, …) would fail, as far as can be found out by trying to write nothing; empty where
/// it would not.
std::string obstacle_to_replacing(const std::string& path);

/// What replace_file(path, …) replaces: `path`, or where it leads as a symbolic link.
std::string followed(const std::string& path);

}  // namespace adj
