#pragma once

#include <string>
#include <vector>

namespace adj::graphland {

/// What a GraphLand folder's info.yaml says; what else it says is not read.
struct Info {
  enum class Kind { binary, multiclass, regression };
  Kind task = Kind::binary;
  std::string target;
  std::vector<std::string> numerical;  ///< without those that are fractions
  std::vector<std::string> fraction;
  std::vector<std::string> categorical;
};

/// Throws DataError with the line: not YAML, larger than 1 MiB, a key missing or of another kind, a column
/// named twice.
Info read_info(const std::string& path);

}  // namespace adj::graphland
