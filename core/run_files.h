#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace adj {

/// The files of one run, told apart by what they are on disk and not by their names.
class RunFiles {
 public:
  /// Standard output and error are files of the run where they go into one.
  RunFiles();
  /// A file that is read. An empty path is none.
  void read(const std::string& option, const std::string& path);
  /// One that will be written. Throws UsageError where it is another file of the run (of the option
  /// `may_be`, it may), DataError unless it can be made or replaced (core/file.h).
  void write(const std::string& option, const std::string& path, const std::string& may_be = "");

 private:
  struct Identity {
    dev_t device;
    ino_t inode;       // of the folder where there is no file yet
    std::string name;  // in it
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> identify(const std::string& path);

  std::vector<std::pair<Identity, std::string>> taken_;  // and what takes it
};

}  // namespace adj
