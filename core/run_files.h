#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace adj {

/// The files of one run, identified by device and inode, not by name.
class RunFiles {
 public:
  /// Includes standard output and error if they are redirected to files.
  RunFiles();
  /// Adds an input file. An empty path is ignored.
  void read(const std::string& option, const std::string& path);
  /// Adds an output file. Throws UsageError if it is another file of the run (except that of the option
  /// `may_be`), DataError if it cannot be created or replaced (core/file.h).
  void write(const std::string& option, const std::string& path, const std::string& may_be = "");

 private:
  struct Identity {
    dev_t device;      ///< of the inode
    ino_t inode;       ///< of the folder if the file does not exist yet
    std::string name;  ///< in that folder; empty for an existing file
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> identify(const std::string& path);

  std::vector<std::pair<Identity, std::string>> taken_;  // with the option that uses it
};

}  // namespace adj
