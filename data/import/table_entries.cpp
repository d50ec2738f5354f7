#include <adjoint/core/text.h>
#include <adjoint/data/import/node_files.h>
#include <adjoint/data/import/typed_tables.h>

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/ranges.h>

namespace adj {

namespace {

using Values = std::vector<std::string>;

/// The one value of an entry.
const std::string& single(const Values& values, const std::string& place) {
  if (values.size() != 1) data_fail("{}: {} values, expected one", place, values.size());
  return values[0];
}

template <class E>
using Words = std::vector<std::pair<std::string, E>>;

/// A truth as YAML writes it, in any case, as true or false; other texts unchanged.
std::string truth_in(const std::string& text) {
  const std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on") return "true";
  return word == "false" || word == "no" || word == "off" ? "false" : text;
}

template <class E>
E choice(const Values& values, const Words<E>& known, const std::string& place) {
  const std::string& text = single(values, place);
  Values names;
  for (const auto& [name, value] : known) {
    if (text == name || truth_in(text) == name) return value;
    names.push_back(name);
  }
  data_fail("{} {}: expected {}", place, excerpt(text), fmt::join(names, ", "));
}

/// The entries of a table: their names, and what sets each.
template <class Table>
using Entries =
    std::vector<std::pair<const char*, std::function<void(Table&, const Values&, const std::string& place)>>>;

// Entries that set a member: of a table, or what a function gives.

template <class Member>
auto text(Member member) {
  return [member](auto& table, const Values& values, const std::string& place) {
    std::invoke(member, table) = single(values, place);
  };
}
template <class Member>
auto list(Member member) {
  return [member](auto& table, const Values& values, const std::string&) {
    Values& all = std::invoke(member, table);
    all.insert(all.end(), values.begin(), values.end());
  };
}
template <class E, class Member>
auto word(Member member, Words<E> known) {
  return [member, known](auto& table, const Values& values, const std::string& place) {
    std::invoke(member, table) = choice(values, known, place);
  };
}

/// `item`: "node" or "edge".
template <class Table>
Entries<Table> common_entries(const std::string& item) {
  return {
      {"file", text(&ItemColumns::path)},
      {"label", [](Table& table, const Values& values,
                   const std::string&) { table.label = fmt::format("{}", fmt::join(values, ",")); }},
      {"split-column", text(&ItemColumns::split)},
      {"time", text(&ItemColumns::time)},
      {"graph", text(&ItemColumns::graph)},
      {"task", word<Task>(&ItemColumns::task, {{item + "_class", Task::node_class},
                                               {item + "_multilabel", Task::node_multilabel},
                                               {item + "_regression", Task::node_regression}})},
      {"missing-labels", list([](Table & table) -> auto& {
         return table.missing_labels ? *table.missing_labels : table.missing_labels.emplace();
       })},
      {"types",
       [](Table& table, const Values& values, const std::string& place) {
         for (const std::string& text : values) table.types.push_back(column_choice(text, place));
       }},
      {"impute", word<Imputation>(&ItemColumns::impute, {{"mean", Imputation::mean},
                                                         {"median", Imputation::median},
                                                         {"zero", Imputation::zero}})},
      {"separator",
       [](Table& table, const Values& values, const std::string& place) {
         table.text.separator = Separator::parse(single(values, place));
         if (!table.text.separator)
           data_fail("{}: expected 1 to {} bytes, without quotes and line ends", place, Separator::kLongest);
       }},
      {"decimal", word<Decimal>([](Table & table) -> auto& { return table.text.decimal; },
                                {{"point", Decimal::point}, {"comma", Decimal::comma}})},
      {"encoding",
       [](Table& table, const Values& values, const std::string& place) {
         if (!is_encoding(single(values, place)))
           data_fail("{}: iconv knows no \"{}\"", place, excerpt(values[0]));
         table.text.input.encoding = values[0];
       }},
      {"comment", text([](Table & table) -> auto& { return table.text.comment; })},
      {"header", word<Header>(&ItemColumns::header,
                              {{"true", Header::yes}, {"false", Header::no}, {"auto", Header::find_out}})}};
}

EdgeType edge_type_in(const Values& values, const std::string& place) {
  Values parts = values;
  if (values.size() == 1) {
    parts.clear();
    size_t begin = 0;
    for (size_t colon = values[0].find(':'); colon != std::string::npos; colon = values[0].find(':', begin)) {
      parts.push_back(values[0].substr(begin, colon - begin));
      begin = colon + 1;
    }
    parts.push_back(values[0].substr(begin));
  }
  if (parts.size() == 1) return {"", parts[0], ""};
  if (parts.size() != 3 || parts[0].empty() || parts[2].empty())
    data_fail("{} {}: expected a name, or the types of sources, edges and targets, as person:rated:film",
              place, excerpt(fmt::format("{}", fmt::join(values, ","))));
  return {parts[0], parts[1], parts[2]};
}

Entries<NodeTableFile> entries_of(const NodeTableFile&) {
  Entries<NodeTableFile> entries = common_entries<NodeTableFile>("node");
  entries.insert(entries.end(),
                 {{"id", text(&NodeTableFile::id)},
                  {"ids", word<NodeIds::Kind>(&NodeTableFile::ids, {{"integers", NodeIds::Kind::integers},
                                                                    {"names", NodeIds::Kind::names}})},
                  {"columns", list(&ItemColumns::features)},
                  {"without", list(&ItemColumns::without)}});
  return entries;
}

Entries<EdgeTableFile> entries_of(const EdgeTableFile&) {
  Entries<EdgeTableFile> entries = common_entries<EdgeTableFile>("edge");
  entries.insert(
      entries.end(),
      {{"type", [](EdgeTableFile& table, const Values& values,
                   const std::string& place) { table.type = edge_type_in(values, place); }},
       {"source", text([](EdgeTableFile & table) -> auto& { return table.columns.source; })},
       {"target", text([](EdgeTableFile & table) -> auto& { return table.columns.target; })},
       {"weight", text([](EdgeTableFile & table) -> auto& { return table.columns.weight; })},
       {"relation", text(&EdgeTableFile::relation)},
       {"attributes", list(&ItemColumns::features)},
       {"missing-ids", word<MissingIds>(&EdgeTableFile::missing_ids, {{"error", MissingIds::fail},
                                                                      {"drop", MissingIds::drop},
                                                                      {"keep", MissingIds::keep}})},
       {"undirected", word<bool>(&EdgeTableFile::undirected, {{"true", true}, {"false", false}})},
       {"coalesce", word<bool>(&EdgeTableFile::coalesce, {{"true", true}, {"false", false}})}});
  return entries;
}

template <class Table>
bool set(Table& table, std::string_view name, const Values& values, const std::string& place) {
  for (const auto& [known, put] : entries_of(table)) {
    if (name != known) continue;
    put(table, values, place);
    return true;
  }
  return false;
}

template <class Table>
Values names_in(const Table& table) {
  Values names;
  for (const auto& [name, put] : entries_of(table)) names.emplace_back(name);
  return names;
}

}  // namespace

bool set_entry(NodeTableFile& table, std::string_view name, const Values& values, const std::string& place) {
  return set(table, name, values, place);
}

bool set_entry(EdgeTableFile& table, std::string_view name, const Values& values, const std::string& place) {
  return set(table, name, values, place);
}

bool set_graph_entry(NodeTableFile& table, std::string_view name, const Values& values,
                     const std::string& place) {
  if (name != "task") return set(table, name, values, place);
  table.task = choice<Task>(values,
                            {{"graph_class", Task::node_class},
                             {"graph_regression", Task::node_regression},
                             {"node_class", Task::node_class},  // as it was called
                             {"node_regression", Task::node_regression}},
                            place);
  return true;
}

Values node_entries() { return names_in(NodeTableFile()); }
Values edge_entries() { return names_in(EdgeTableFile()); }

}  // namespace adj
