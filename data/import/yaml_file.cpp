#include <adjoint/data/import/detail/yaml_file.h>
#include <adjoint/data/import/text_source.h>

#include <set>
#include <vector>

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
    const std::vector<YAML::Node> documents = YAML::LoadAll(read_text(path_));
    if (!documents.empty()) root_ = documents[0];
    for (size_t k = 1; k < documents.size(); ++k)
      if (!documents[k].IsNull())
        fail(documents[k].Mark(), "a second document, after --- or ..., expected one in a file");
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
