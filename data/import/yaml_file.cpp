#include <adjoint/data/import/detail/yaml_file.h>
#include <adjoint/data/import/text_source.h>

#include <set>

namespace adj::detail {

namespace {

std::string read_text(const std::string& path) {
  constexpr size_t kLongest = size_t{1} << 20;
  TextSource source(path, nullptr, kLongest);
  std::string text;
  for (std::string_view line; source.next(line);) {
    text.append(line);
    text += '\n';
    if (text.size() > kLongest) source.fail(source.line_number(), "more than {} bytes of YAML", kLongest);
  }
  return text;
}

}  // namespace

YamlFile::YamlFile(std::string path) : path_(std::move(path)) {
  try {
    root_ = YAML::Load(read_text(path_));
  } catch (const YAML::Exception& error) {
    fail(error.mark, "not YAML: {}", error.msg);
  }
}

std::string YamlFile::place(const YAML::Mark& mark) const {
  return mark.is_null() ? excerpt(path_) : fmt::format("{}:{}", excerpt(path_), mark.line + 1);
}

void YamlFile::expect_map(const YAML::Node& node, std::string_view keys) const {
  if (!node.IsMap()) fail(node.Mark(), "no keys with values, expected {}", keys);
  std::set<std::string> seen;
  for (const auto& entry : node)
    if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second)
      fail(entry.first.Mark(), "the key {} twice", entry.first.Scalar());
}

}  // namespace adj::detail
