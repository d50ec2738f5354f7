#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace adj {

// One rule for all outputs: the path is a regular file, or does not exist yet. Folders, devices (/dev/null),
// pipes, sockets and write-protected files are refused. Symbolic links are followed: their target is replaced
// or created.

/// Replaces the file `path` with `bytes` atomically and durably: after a kill at any moment the file is the
/// old or the new one, complete. The new file keeps the permissions of the old one, and its owner and group
/// if this process may set them; until then no other user can read it. The bytes go to ".adjoint-<16 hex
/// digits>.tmp" in the same folder first; leftovers of killed runs are removed by a later write to the folder
/// once they are ten minutes old. Throws DataError naming the file on failure.
void replace_file(const std::string& path, std::string_view bytes);

/// The same for a file that does not exist: of several processes, one creates it. False, with the file
/// unchanged, if there is one already.
bool create_file(const std::string& path, std::string_view bytes);

/// replace_file() for output written in pieces. Without commit() the old file stays.
class FileReplacement {
 public:
  /// Throws DataError if `path` cannot be replaced or the temporary file cannot be written.
  explicit FileReplacement(std::string path);
  ~FileReplacement();

  /// Writes at an offset from the beginning; a gap before it reads as 0. Throws DataError.
  void write(int64_t offset, std::string_view bytes);
  /// Reads up to `count` written bytes; returns their number. Throws DataError.
  size_t read(int64_t offset, char* buffer, size_t count) const;
  void resize(int64_t length);  ///< in bytes: cuts, or fills up with 0; throws DataError
  void commit();
  /// Instead of commit(): false, and nothing happens, if the file exists.
  bool commit_new();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// For main(): from now on SIGINT, SIGTERM and SIGHUP, unless already handled or ignored, remove the
/// temporary files before they end the program.
void remove_pending_on_signals();

/// Why replace_file(path, …) would fail, as far as an empty trial write can tell; empty if it would succeed.
std::string obstacle_to_replacing(const std::string& path);

/// The first `count` bytes of a file; fewer, or none, if it has no more or cannot be read.
std::string first_bytes(const std::string& path, size_t count);

/// The file that replace_file(path, …) replaces: `path`, or the target of the symbolic link.
std::string followed(const std::string& path);

}  // namespace adj
