#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/graphland_info.h>
#include <adjoint/data/import/text_source.h>

#include <algorithm>
#include <set>

#include <yaml-cpp/yaml.h>

namespace adj::graphland {

namespace {

constexpr size_t kLongest = size_t{1} << 20;
constexpr size_t kMostColumns = 100'000;

std::string read_text(const std::string& path) {
  TextSource source(path, nullptr, kLongest);
  std::string text;
  for (std::string_view line; source.next(line);) {
    text.append(line);
    text += '\n';
    if (text.size() > kLongest) source.fail(source.line_number(), "more than {} bytes of YAML", kLongest);
  }
  return text;
}

class InfoReader {
 public:
  explicit InfoReader(std::string path) : path_(std::move(path)) {
    try {
      root_ = YAML::Load(read_text(path_));
    } catch (const YAML::Exception& error) {
      fail(error.mark, "not YAML: {}", error.msg);
    }
    if (!root_.IsMap()) fail(root_.Mark(), "no keys with values, expected task, target_name and others");
    std::set<std::string> keys;
    for (const auto& entry : root_)
      if (entry.first.IsScalar() && !keys.insert(entry.first.Scalar()).second)
        fail(entry.first.Mark(), "the key {} twice", entry.first.Scalar());
  }

  Info read() {
    Info info;
    const std::string task = scalar("task");
    if (task == "regression") {
      info.task = Info::Kind::regression;
    } else if (task == "multiclass_classification") {
      info.task = Info::Kind::multiclass;
    } else if (task != "binary_classification") {
      fail(root_["task"].Mark(),
           "task \"{}\", expected binary_classification, "
           "multiclass_classification or regression",
           task);
    }
    info.target = scalar("target_name");
    const std::vector<std::string> numerical = names("numerical_features_names");
    info.fraction = names("fraction_features_names");
    info.categorical = names("categorical_features_names");
    for (const std::string& name : numerical)
      if (std::find(info.fraction.begin(), info.fraction.end(), name) == info.fraction.end())
        info.numerical.push_back(name);
    for (const std::string& name : info.categorical)
      if (std::find(numerical.begin(), numerical.end(), name) != numerical.end() ||
          std::find(info.fraction.begin(), info.fraction.end(), name) != info.fraction.end())
        fail(root_["categorical_features_names"].Mark(), "{} is also a numerical feature", name);
    return info;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const YAML::Mark& mark, fmt::format_string<Args...> format, Args&&... args) const {
    const std::string message = fmt::format(format, std::forward<Args>(args)...);
    if (mark.is_null()) data_fail("{}: {}", excerpt(path_), excerpt(message));
    data_fail("{}:{}: {}", excerpt(path_), mark.line + 1, excerpt(message));
  }

  YAML::Node value(const char* key) const {
    const YAML::Node node = root_[key];
    if (!node) fail(root_.Mark(), "the key {} is missing", key);
    return node;
  }

  std::string scalar(const char* key) const {
    const YAML::Node node = value(key);
    if (!node.IsScalar() || node.Scalar().empty()) fail(node.Mark(), "{}: expected a text", key);
    return node.Scalar();
  }

  std::vector<std::string> names(const char* key) const {
    const YAML::Node node = value(key);
    if (node.IsNull()) return {};
    if (!node.IsSequence() || node.size() > kMostColumns)
      fail(node.Mark(), "{}: expected a list of at most {} names", key, kMostColumns);
    std::vector<std::string> names;
    for (const YAML::Node& entry : node) {
      if (!entry.IsScalar()) fail(entry.Mark(), "{}: expected names of columns", key);
      names.push_back(entry.Scalar());
    }
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      fail(node.Mark(), "{}: {} twice", key, *twice);
    return names;
  }

  std::string path_;
  YAML::Node root_;
};

}  // namespace

Info read_info(const std::string& path) {
  try {
    return InfoReader(path).read();
  } catch (const YAML::Exception& error) {
    data_fail("{}: not YAML: {}", excerpt(path), excerpt(error.what()));
  }
}

}  // namespace adj::graphland
