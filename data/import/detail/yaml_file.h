#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/text.h>

#include <string>
#include <string_view>
#include <utility>

#include <yaml-cpp/yaml.h>

namespace adj::detail {

/// A YAML file of at most 1 MiB, plain or gzip, with errors "FILE:LINE: message".
class YamlFile {
 public:
  /// Throws DataError for what is not YAML.
  explicit YamlFile(std::string path);

  const YAML::Node& root() const { return root_; }
  const std::string& path() const { return path_; }
  /// "FILE:LINE"; "FILE" where a node has no place.
  std::string place(const YAML::Mark& mark) const;
  template <class... Args>
  [[noreturn]] void fail(const YAML::Mark& mark, fmt::format_string<Args...> format, Args&&... args) const {
    data_fail("{}: {}", place(mark), excerpt(fmt::format(format, std::forward<Args>(args)...)));
  }
  /// Throws "no keys with values, expected KEYS" for anything else, and for a key that occurs twice.
  void expect_map(const YAML::Node& node, std::string_view keys) const;

 private:
  std::string path_;
  YAML::Node root_;
};

/// read(file); what yaml-cpp throws in it becomes a DataError.
template <class Read>
auto with_yaml(const std::string& path, Read read) {
  try {
    return read(YamlFile(path));
  } catch (const YAML::Exception& error) {
    data_fail("{}: not YAML: {}", excerpt(path), excerpt(error.what()));
  }
}

}  // namespace adj::detail
