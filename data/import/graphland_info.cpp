#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/graphland_info.h>
#include <adjoint/data/import/detail/yaml_file.h>

#include <algorithm>

namespace adj::graphland {

namespace {

constexpr size_t kMostColumns = 100'000;

class InfoReader {
 public:
  explicit InfoReader(const detail::YamlFile& file) : file_(file), root_(file.root()) {
    file_.expect_map(root_, "task, target_name and others");
  }

  Info read() {
    Info info;
    const std::string task = scalar("task");
    if (task == "regression") {
      info.task = Info::Kind::regression;
    } else if (task == "multiclass_classification") {
      info.task = Info::Kind::multiclass;
    } else if (task != "binary_classification") {
      file_.fail(root_["task"].Mark(),
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
        file_.fail(root_["categorical_features_names"].Mark(), "{} is also a numerical feature", name);
    return info;
  }

 private:
  YAML::Node value(const char* key) const {
    const YAML::Node node = root_[key];
    if (!node) file_.fail(root_.Mark(), "the key {} is missing", key);
    return node;
  }

  std::string scalar(const char* key) const {
    const YAML::Node node = value(key);
    if (!node.IsScalar() || node.Scalar().empty()) file_.fail(node.Mark(), "{}: expected a text", key);
    return node.Scalar();
  }

  std::vector<std::string> names(const char* key) const {
    const YAML::Node node = value(key);
    if (node.IsNull()) return {};
    if (!node.IsSequence() || node.size() > kMostColumns)
      file_.fail(node.Mark(), "{}: expected a list of at most {} names", key, kMostColumns);
    std::vector<std::string> names;
    for (const YAML::Node& entry : node) {
      if (!entry.IsScalar()) file_.fail(entry.Mark(), "{}: expected names of columns", key);
      names.push_back(entry.Scalar());
    }
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      file_.fail(node.Mark(), "{}: {} twice", key, *twice);
    return names;
  }

  const detail::YamlFile& file_;
  const YAML::Node& root_;
};

}  // namespace

Info read_info(const std::string& path) {
  return detail::with_yaml(path, [](const detail::YamlFile& file) { return InfoReader(file).read(); });
}

}  // namespace adj::graphland
