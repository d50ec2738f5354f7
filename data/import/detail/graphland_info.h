#pragma once

#include <string>
#include <vector>

namespace adj::graphland {

/// The used fields of a GraphLand folder's info.yaml; others are ignored.
struct Info {
  enum class Kind { binary, multiclass, regression };
  Kind task = Kind::binary;
  std::string target;
  std::vector<std::string> numerical;  ///< without the fraction columns
  std::vector<std::string> fraction;
  std::vector<std::string> categorical;
};

/// Throws DataError with the line: not YAML, larger than 1 MiB, a key missing or of another kind, a duplicate
/// column.
Info read_info(const std::string& path);

}  // namespace adj::graphland
