#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/edge_table.h>

#include <algorithm>

#include <fmt/ranges.h>

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
  const auto is_plural = [](const std::string& many, const std::string& one) {
    return many == one + "s" || (one.ends_with('y') && many == one.substr(0, one.size() - 1) + "ies");
  };
  return name == word || is_plural(name, word) || is_plural(word, name);
}

/// Whether a column of these words, without those of ends, is called as the type.
bool is_called(const std::vector<std::string>& words, const std::string& type) {
  const auto joined = [](const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, ""));
  };
  return !words.empty() && !type.empty() && is_same_kind(joined(words_in(type)), joined(words));
}

/// Whether a name has a word for this end of an edge: 0 source, 1 target.
bool says_end(const std::string& name, size_t end) {
  constexpr std::string_view kWords[2][5] = {{"source", "src", "from", "head", "start"},
                                             {"target", "dst", "to", "tail", "end"}};
  return std::ranges::any_of(words_in(name), [&](const std::string& word) {
    return std::ranges::find(kWords[end], word) != std::end(kWords[end]);
  });
}

bool has_number_id(const std::vector<std::string>& row, int64_t column, Decimal decimal) {
  const auto k = static_cast<size_t>(column);
  return k < row.size() && integer_id(row[k], decimal) && !is_code(row[k]);
}

}  // namespace

/// Chooses the columns whose names are types of nodes: those of the type of edges, in whatever order, or else
/// the only two. False if names say no more than the order.
bool EdgeTable::find_typed_columns(const NodeTypes& types) {
  using Rule = EdgeColumns::Rule;
  if (!rows_.has_header() || !table_.columns.source.empty()) return false;
  const EdgeType& type = table_.type;
  expect_ends_as_declared(types);
  std::vector<int64_t> sources, targets, all;
  for (int64_t k = 0; k < std::ssize(rows_.names()); ++k) {
    const std::vector<std::string> words = kind_words(rows_.names()[static_cast<size_t>(k)]);
    if (is_called(words, type.src)) sources.push_back(k);
    if (is_called(words, type.dst)) targets.push_back(k);
    if (std::any_of(types.begin(), types.end(), [&](const auto& one) { return is_called(words, one.first); }))
      all.push_back(k);
  }
  if (columns_.rule == Rule::none && type.src.empty() && all.size() == 2) {
    sources = {all[0]};
    targets = {all[1]};
  }
  if (columns_.rule == Rule::rest) {  // one name is enough to tell two columns apart
    if (sources.size() == 1 && targets.empty() && sources[0] == columns_.target) targets = {columns_.source};
    if (targets.size() == 1 && sources.empty() && targets[0] == columns_.source) sources = {columns_.target};
  } else if (columns_.rule != Rule::none) {
    return false;
  }
  if (sources.size() != 1 || targets.size() != 1 || sources == targets) return false;
  if (columns_.rule == Rule::rest && sources[0] == columns_.source && targets[0] == columns_.target)
    return false;
  if (says_end(rows_.names()[static_cast<size_t>(sources[0])], 1) ||
      says_end(rows_.names()[static_cast<size_t>(targets[0])], 0))
    fail_reversed(targets[0], sources[0]);
  table_.columns.source = choice_for(sources[0], rows_.names());
  table_.columns.target = choice_for(targets[0], rows_.names());
  return true;
}

void EdgeTable::fail_reversed(int64_t source, int64_t target) const {
  data_fail(
      "{}: {} and {} are by their names the ends of edges {}:{}:{}, expected these, or {}:{}:{} with source "
      "{} and "
      "target {} to say which column has which",
      rows_.place(), column_text(source, rows_.names()), column_text(target, rows_.names()), table_.type.dst,
      table_.type.name, table_.type.src, table_.type.src, table_.type.name, table_.type.dst,
      excerpt(choice_for(target, rows_.names())), excerpt(choice_for(source, rows_.names())));
}

/// Throws if the names of the ends that were found say the types the other way round.
void EdgeTable::expect_ends_as_declared(const NodeTypes& types) const {
  using Rule = EdgeColumns::Rule;
  const EdgeType& type = table_.type;
  if ((columns_.rule != Rule::known && columns_.rule != Rule::alike) || type.src.empty() ||
      type.dst.empty() || type.src == type.dst)
    return;
  const auto is_of = [&](int64_t column, const std::string& kind) {
    const std::string name = column_name(column, rows_.names()), group = neo4j_group(name);
    if (group.empty()) return is_called(kind_words(name), kind);
    const auto nodes = types.find(kind);
    const std::string declared = nodes == types.end() ? "" : nodes->second.group();
    return declared.empty() ? is_same_kind(kind, lower(group)) : declared == group;
  };
  const bool reversed = is_of(columns_.source, type.dst) || is_of(columns_.target, type.src);
  const bool agrees = is_of(columns_.source, type.src) || is_of(columns_.target, type.dst);
  if (reversed && !agrees) fail_reversed(columns_.source, columns_.target);
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

std::string EdgeTable::type_with(const std::string& group, int64_t column, const NodeTypes& types) const {
  std::vector<std::string> having, alike, groups, tables;
  for (const auto& [type, nodes] : types) {
    if (!nodes.has_table()) continue;
    tables.push_back(type);
    const std::string declared = nodes.group();
    if (!declared.empty()) groups.push_back(declared);
    if (declared == group) having.push_back(type);
    if (declared.empty() && is_same_kind(type, lower(group))) alike.push_back(type);
  }
  if (having.empty()) having = alike;
  if (having.size() == 1) return having[0];
  if (having.empty() && groups.empty()) return group;
  data_fail("{}: {} has ids of the group \"{}\", which {}, expected the type of edges, as {}:{}:{}",
            rows_.place(), column_text(column, rows_.names()), excerpt(group),
            having.empty() ? "no table of nodes has (" + detail::listed(groups, 5) + ")"
                           : "several tables of nodes have (" + detail::listed(having, 5) + ")",
            tables.front(), type_.name, tables.back());
}

std::string EdgeTable::type_choice(size_t end, const std::string& type, const std::string& other) const {
  return fmt::format("the type of edges: {}:{}:{}, or {}:{}:{} if they are of one kind (--edges TYPE=FILE)",
                     excerpt(end == 0 ? type : other), excerpt(type_.name), excerpt(end == 0 ? other : type),
                     excerpt(other), excerpt(type_.name), excerpt(other));
}

void EdgeTable::fail_doubtful(size_t end, std::string_view id, int64_t line) {
  const int64_t column = end == 0 ? columns_.source : columns_.target;
  rows_.source().fail(line, "\"{}\" in {} is no node of \"{}\", expected {}", excerpt(id),
                      column_text(column, rows_.names()), excerpt(type_.src),
                      type_choice(end, kind_words(column_name(column, rows_.names())).back(), type_.src));
}

std::string EdgeTable::find_type(size_t end, const NodeTypes& types) {
  const int64_t column = end == 0 ? columns_.source : columns_.target;
  const int64_t other = end == 0 ? columns_.target : columns_.source;
  const std::string name = rows_.has_header() ? column_name(column, rows_.names()) : "";
  if (const std::string group = neo4j_group(name); !group.empty()) return type_with(group, column, types);
  const std::vector<std::string> found = types_named(column, types), words = kind_words(name),
                                 other_types = types_named(other, types);
  if (found.size() == 1) return found[0];
  std::vector<std::string> declared;
  for (const auto& [type, nodes] : types)
    if (nodes.is_declared()) declared.push_back(type);
  // Nodes without a table, beside those of one.
  const bool alone = found.empty() && (declared.empty() || other_types.size() == 1);
  if (columns_.two_kinds && alone && !words.empty()) return words.back();
  if (columns_.unlike && !columns_.two_kinds && declared.size() < 2 && graph_ < 0 && !words.empty()) {
    const std::vector<std::string> others = kind_words(column_name(other, rows_.names()));
    doubtful_[end] = words != others && !other_types.empty();
    // Equal names are one node; equal numbers of "user" and "item" need not be.
    const Decimal decimal = files_.id_decimal();
    const bool numbers =
        has_number_id(rows_.first_row(), column, decimal) && has_number_id(rows_.first_row(), other, decimal);
    const std::string second = !declared.empty() ? declared[0] : others.empty() ? "node" : others.back();
    if (numbers && words != others)
      data_fail("{}: {} and {} may be ids of two kinds of nodes, expected {}", rows_.place(),
                column_text(columns_.source, rows_.names()), column_text(columns_.target, rows_.names()),
                type_choice(end, words.back(), second));
  }
  if (declared.size() == 1 && !columns_.two_kinds) return declared[0];
  if (declared.empty()) return "node";
  data_fail("{}: {} may be ids of any type of nodes ({}), expected the type of edges, as {}:{}:{}",
            rows_.place(), column_text(column, rows_.names()), detail::listed(declared, 5), declared.front(),
            type_.name, declared.back());
}

void EdgeTable::find_types(const NodeTypes& types) {
  type_ = table_.type;
  if (type_.name.empty()) type_.name = table_name(table_.path);
  const bool typed = columns_.source_type >= 0;
  if (typed && type_.src.empty() && graph_ < 0) return;  // rows name them
  columns_.source_type = columns_.target_type = -1;
  if (typed) columns_.two_kinds = false;  // as the user says, or in many graphs
  if (type_.src.empty()) type_.src = find_type(0, types);
  if (type_.dst.empty()) type_.dst = find_type(1, types);
}

const std::string& EdgeTable::type_called(std::string_view field, NodeTypes& types) const {
  if (const auto type = types.find(field); type != types.end()) return type->first;
  const Decimal decimal = files_.id_decimal();
  for (const auto& [type, nodes] : types)
    if ((nodes.has_table() && (is_same_kind(type, lower(field)) || nodes.group() == field)) ||
        without_fraction(type, decimal) == without_fraction(field, decimal))
      return type;
  NodeTableFile alone;
  alone.type = field;
  alone.ids = NodeIds::Kind::names;  // some of a type may be numbers
  return types.try_emplace(alone.type, alone, files_).first->first;
}

std::vector<std::string> EdgeTable::ends_of(const std::string& type) const {
  std::vector<std::string> names;
  if (!rows_.has_header() || columns_.source_type >= 0) return names;
  if (type_.src == type) names.push_back(column_name(columns_.source, rows_.names()));
  if (type_.dst == type) names.push_back(column_name(columns_.target, rows_.names()));
  return names;
}

void EdgeTable::add_ids(const std::string& type, NodeIds& ids) {
  const bool typed = columns_.source_type >= 0;
  if (!typed && type_.src != type && type_.dst != type) return;
  const auto add = [&](std::string_view id, std::string_view kind) {
    if (!is_missing_id(id) && (kind == type || (typed && is_same_kind(type, lower(kind)))))
      (void)ids.add(std::string_view(NodeType::id_key(id)));
  };
  rows_.read({columns_.source, columns_.target, columns_.source_type, columns_.target_type},
             [&](const RowFields& block) {
               for (size_t k = 0; k < block.fields.size(); k += 4)
                 for (size_t end = 0; end < 2; ++end)
                   add(block.fields[k + end], typed      ? block.fields[k + 2 + end]
                                              : end == 0 ? std::string_view(type_.src)
                                                         : std::string_view(type_.dst));
             });
}

void EdgeTable::note_bare(const NodeTypes& types) {
  std::vector<std::string> tables, found;
  for (const auto& [type, nodes] : types)
    if (nodes.has_table()) tables.push_back(type);
  for (const EdgeType& kind : has_kinds() ? kinds_ : std::vector{type_})
    for (const std::string& type : {kind.src, kind.dst})
      (types.at(type).has_table() ? found : bare_).push_back(type);
  std::sort(bare_.begin(), bare_.end());
  bare_.erase(std::unique(bare_.begin(), bare_.end()), bare_.end());
  if (tables.empty()) bare_.clear();
  if (columns_.source_type >= 0 && !tables.empty() && found.empty())
    data_fail(
        "{}: types {} in {}, of which no table of nodes is ({}), expected the type of edges, as {}:{}:{}",
        rows_.place(), detail::listed(bare_, 5), column_text(columns_.source_type, rows_.names()),
        detail::listed(tables, 5), tables.front(), type_.name, tables.back());
}

}  // namespace adj
