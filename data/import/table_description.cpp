#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/yaml_file.h>
#include <adjoint/data/import/typed_tables.h>

#include <algorithm>
#include <filesystem>

#include <fmt/ranges.h>

namespace adj {

namespace {

class DescriptionReader {
 public:
  explicit DescriptionReader(const detail::YamlFile& file) : file_(file), root_(file.root()) {}

  TableFiles read() {
    constexpr const char* kKnown =
        "nodes, edges, graphs, name, separator, decimal, encoding, comment or header";
    TableFiles files;
    file_.expect_map(root_, kKnown);
    for (const auto& entry : root_) {
      const std::string key = text_in(entry.first, "a key");
      if (key == "nodes")
        read_nodes(entry.second, files);
      else if (key == "edges")
        read_edges(entry.second, files);
      else if (key == "graphs")
        set_entries(entry.second, node_entries(), files.graphs.emplace(), set_graph_entry);
      else if (!set_text(key, entry.second, files))
        file_.fail(entry.first.Mark(), "\"{}\", expected {}", key, kKnown);
    }
    if (files.text.separator == Separator::comma && files.text.decimal == Decimal::comma)
      file_.fail(root_.Mark(), "separator: a comma, expected another one beside decimal: comma");
    if (files.edges.empty()) file_.fail(root_.Mark(), "no edges, expected some");
    return files;
  }

 private:
  std::string text_in(const YAML::Node& node, std::string_view what) const {
    if (!node.IsScalar()) file_.fail(node.Mark(), "{}: expected a text", what);
    return node.Scalar();
  }

  /// Of all tables.
  bool set_text(const std::string& key, const YAML::Node& node, TableFiles& files) const {
    if (key == "name") {
      files.name = text_in(node, key);
      return true;
    }
    constexpr std::string_view kKeys[] = {"separator", "decimal", "encoding", "comment", "header"};
    if (std::ranges::find(kKeys, key) == std::end(kKeys)) return false;
    NodeTableFile all;
    all.text = files.text;
    (void)set_entry(all, key, {text_in(node, key)}, fmt::format("{}: {}", file_.place(node.Mark()), key));
    files.text = all.text;
    files.header = all.header.value_or(files.header);
    return true;
  }

  /// A scalar, a list of them, or a map, whose items become "key=value".
  std::vector<std::string> values_in(const YAML::Node& node, const std::string& key) const {
    std::vector<std::string> values;
    if (node.IsScalar()) {
      values.push_back(node.Scalar());
    } else if (node.IsSequence()) {
      for (const YAML::Node& item : node) values.push_back(text_in(item, key));
    } else if (node.IsMap()) {
      for (const auto& item : node)
        values.push_back(fmt::format("{}={}", text_in(item.first, key), text_in(item.second, key)));
    } else {
      file_.fail(node.Mark(), "{}: nothing, expected a value", key);
    }
    return values;
  }

  template <class Table>
  using Set = bool (*)(Table& table, std::string_view name, const std::vector<std::string>& values,
                       const std::string& place);

  template <class Table>
  void set_entries(const YAML::Node& node, const std::vector<std::string>& known, Table& table,
                   Set<Table> set = set_entry) const {
    if (node.IsScalar()) {
      table.path = node.Scalar();
    } else {
      file_.expect_map(node, fmt::format("a file, or some of {}", fmt::join(known, ", ")));
      for (const auto& entry : node) {
        const std::string key = text_in(entry.first, "a key");
        const std::string where = fmt::format("{}: {}", file_.place(entry.second.Mark()), key);
        if (!set(table, key, values_in(entry.second, key), where))
          file_.fail(entry.first.Mark(), "\"{}\", expected {}", key, fmt::join(known, ", "));
      }
    }
    // As in a shell, a path is relative to where it is written.
    if (!table.path.empty() && std::filesystem::path(table.path).is_relative())
      table.path = (std::filesystem::path(file_.path()).parent_path() / table.path).string();
  }

  void read_nodes(const YAML::Node& node, TableFiles& files) const {
    file_.expect_map(node, "a type of nodes for each");
    for (const auto& entry : node) {
      NodeTableFile table;
      table.type = text_in(entry.first, "a type of nodes");
      if (!entry.second.IsNull()) set_entries(entry.second, node_entries(), table);
      files.nodes.push_back(std::move(table));
    }
  }

  void read_edges(const YAML::Node& node, TableFiles& files) const {
    if (!node.IsSequence() || node.size() == 0)
      file_.fail(node.Mark(), "edges: expected a list of tables, each a file or keys with values");
    for (const YAML::Node& item : node) {
      EdgeTableFile table;
      set_entries(item, edge_entries(), table);
      if (table.path.empty()) file_.fail(item.Mark(), "no file, expected one for edges");
      files.edges.push_back(std::move(table));
    }
  }

  const detail::YamlFile& file_;
  const YAML::Node& root_;
};

}  // namespace

TableFiles read_table_description(const std::string& path) {
  return detail::with_yaml(path, [](const detail::YamlFile& file) { return DescriptionReader(file).read(); });
}

}  // namespace adj
