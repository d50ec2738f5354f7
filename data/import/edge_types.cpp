#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/edge_table.h>

#include <algorithm>

namespace adj {

namespace {

/// The words of a column's name that say what its ids are of: user of user_id; none of source_id.
std::vector<std::string> kind_words(const std::string& name) {
  constexpr std::string_view kEnds[] = {"id",   "ids",  "source", "src", "target", "dst",   "from", "to",
                                        "head", "tail", "start",  "end", "node",   "index", "key"};
  std::vector<std::string> words = words_in(name);
  std::erase_if(words, [&](const std::string& word) {
    return std::find(std::begin(kEnds), std::end(kEnds), word) != std::end(kEnds);
  });
  return words;
}

bool is_same_kind(const std::string& type, const std::string& word) {
  const std::string name = lower(type);
  return name == word || name == word + "s" || name + "s" == word;
}

/// "Person" of ":START_ID(Person)"; or empty.
std::string neo4j_group(const std::string& name) {
  const size_t begin = name.find('(');
  if (name.find("_ID(") == std::string::npos || !name.ends_with(')')) return "";
  return name.substr(begin + 1, name.size() - begin - 2);
}

}  // namespace

/// Chooses the columns whose names are types of nodes: those of the type of edges, or else the only two.
bool EdgeTable::find_typed_columns(const NodeTypes& types) {
  std::vector<int64_t> sources, targets, all;
  for (int64_t k = 0; k < std::ssize(rows_.names()); ++k) {
    const std::vector<std::string> words = kind_words(rows_.names()[static_cast<size_t>(k)]);
    const auto names = [&](const std::string& type) {
      return words.size() == 1 && is_same_kind(type, words[0]);
    };
    if (names(table_.type.src)) sources.push_back(k);
    if (names(table_.type.dst)) targets.push_back(k);
    if (std::any_of(types.begin(), types.end(), [&](const auto& type) { return names(type.first); }))
      all.push_back(k);
  }
  if (table_.type.src.empty() && all.size() == 2) {
    sources = {all[0]};
    targets = {all[1]};
  }
  if (sources.size() != 1 || targets.size() != 1 || sources == targets) return false;
  table_.columns.source = column_name(sources[0], rows_.names());
  table_.columns.target = column_name(targets[0], rows_.names());
  return true;
}

std::vector<std::string> EdgeTable::types_named(int64_t column, const NodeTypes& types) const {
  std::vector<std::string> found;
  const std::string name = rows_.has_header() ? column_name(column, rows_.names()) : "";
  for (const auto& [type, nodes] : types) {
    if (!nodes.is_declared()) continue;
    const std::vector<std::string> words = kind_words(name);
    if (std::any_of(words.begin(), words.end(), [&](const auto& word) { return is_same_kind(type, word); }))
      found.push_back(type);
  }
  return found;
}

void EdgeTable::find_types(const NodeTypes& types) {
  type_ = table_.type;
  if (type_.name.empty()) type_.name = table_name(table_.path);
  std::vector<std::string> declared;
  for (const auto& [type, nodes] : types)
    if (nodes.is_declared()) declared.push_back(type);
  const auto find = [&](int64_t column, int64_t other, const std::string& chosen) {
    if (!chosen.empty()) return chosen;
    const std::string name = rows_.has_header() ? column_name(column, rows_.names()) : "";
    if (const std::string group = neo4j_group(name); !group.empty()) return group;
    const std::vector<std::string> found = types_named(column, types), words = kind_words(name);
    if (found.size() == 1) return found[0];
    if (declared.size() == 1 && !columns_.two_kinds) return declared[0];
    // Nodes without a table, beside those of one.
    const bool alone = found.empty() && (declared.empty() || types_named(other, types).size() == 1);
    if (columns_.two_kinds && alone && !words.empty()) return words.back();
    if (declared.empty()) return std::string("node");
    data_fail("{}: {} may be ids of any type of nodes ({}), expected the type of edges, as {}:{}:{}",
              rows_.place(), column_text(column, rows_.names()), detail::listed(declared, 5),
              declared.front(), type_.name, declared.back());
  };
  type_.src = find(columns_.source, columns_.target, table_.type.src);
  type_.dst = find(columns_.target, columns_.source, table_.type.dst);
}

}  // namespace adj
