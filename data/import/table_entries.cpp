#include <adjoint/core/text.h>
#include <adjoint/data/import/node_files.h>
#include <adjoint/data/import/typed_tables.h>

#include <algorithm>
#include <functional>
#include <map>

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
E choice(const Values& values, std::initializer_list<std::pair<const char*, E>> known,
         const std::string& place) {
  const std::string& text = single(values, place);
  Values names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  data_fail("{} {}: expected {}", place, excerpt(text), fmt::join(names, ", "));
}

template <class Table>
struct Entry {
  using Set = std::function<void(Table&, const Values&, const std::string& place)>;
  const char* name;
  Set set;
};

template <class Table, class Part>
typename Entry<Table>::Set text_of_part(std::string Part::*member) {
  return [member](Table& table, const Values& values, const std::string& place) {
    table.*member = single(values, place);
  };
}

template <class Table>
void add_common(std::vector<Entry<Table>>& entries, const std::string& node_or_edge) {
  entries.push_back({"file", text_of_part<Table, ItemColumns>(&ItemColumns::path)});
  entries.push_back({"label", text_of_part<Table, ItemColumns>(&ItemColumns::label)});
  entries.push_back({"split-column", text_of_part<Table, ItemColumns>(&ItemColumns::split)});
  entries.push_back({"time", text_of_part<Table, ItemColumns>(&ItemColumns::time)});
  entries.push_back({"graph", text_of_part<Table, ItemColumns>(&ItemColumns::graph)});
  entries.push_back({"task", [node_or_edge](Table& table, const Values& values, const std::string& place) {
                       const std::string classes = node_or_edge + "_class",
                                         labels = node_or_edge + "_multilabel",
                                         numbers = node_or_edge + "_regression";
                       table.task = choice<Task>(values,
                                                 {{classes.c_str(), Task::node_class},
                                                  {labels.c_str(), Task::node_multilabel},
                                                  {numbers.c_str(), Task::node_regression}},
                                                 place);
                     }});
  entries.push_back({"missing-labels", [](Table& table, const Values& values, const std::string&) {
                       table.missing_labels = values;
                     }});
  entries.push_back({"types", [](Table& table, const Values& values, const std::string& place) {
                       for (const std::string& text : values)
                         table.types.push_back(column_choice(text, place));
                     }});
  entries.push_back(
      {"impute", [](Table& table, const Values& values, const std::string& place) {
         table.impute = choice<Imputation>(
             values, {{"mean", Imputation::mean}, {"median", Imputation::median}, {"zero", Imputation::zero}},
             place);
       }});
  entries.push_back({"separator", [](Table& table, const Values& values, const std::string& place) {
                       table.text.separator = Separator::parse(single(values, place));
                       if (!table.text.separator)
                         data_fail("{}: expected 1 to {} bytes, without quotes and line ends", place,
                                   Separator::kLongest);
                     }});
  entries.push_back({"decimal", [](Table& table, const Values& values, const std::string& place) {
                       table.text.decimal = choice<Decimal>(
                           values, {{"point", Decimal::point}, {"comma", Decimal::comma}}, place);
                     }});
  entries.push_back({"encoding", [](Table& table, const Values& values, const std::string& place) {
                       if (!is_encoding(single(values, place)))
                         data_fail("{}: iconv knows no \"{}\"", place, excerpt(values[0]));
                       table.text.input.encoding = values[0];
                     }});
  entries.push_back({"comment", [](Table& table, const Values& values, const std::string& place) {
                       table.text.comment = single(values, place);
                     }});
  entries.push_back({"header", [](Table& table, const Values& values, const std::string& place) {
                       table.header = choice<Header>(
                           values, {{"true", Header::yes}, {"false", Header::no}, {"auto", Header::find_out}},
                           place);
                     }});
}

std::vector<Entry<NodeTableFile>> all_entries(const NodeTableFile&) {
  std::vector<Entry<NodeTableFile>> entries;
  add_common(entries, "node");
  entries.push_back({"id", text_of_part<NodeTableFile>(&NodeTableFile::id)});
  entries.push_back({"ids", [](NodeTableFile& table, const Values& values, const std::string& place) {
                       table.ids = choice<NodeIds::Kind>(
                           values, {{"integers", NodeIds::Kind::integers}, {"names", NodeIds::Kind::names}},
                           place);
                     }});
  entries.push_back({"columns", [](NodeTableFile& table, const Values& values, const std::string&) {
                       table.features = values;
                     }});
  entries.push_back({"without", [](NodeTableFile& table, const Values& values, const std::string&) {
                       table.without = values;
                     }});
  return entries;
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

std::vector<Entry<EdgeTableFile>> all_entries(const EdgeTableFile&) {
  std::vector<Entry<EdgeTableFile>> entries;
  add_common(entries, "edge");
  const auto column = [](std::string EdgeColumnNames::*member) {
    return [member](EdgeTableFile& table, const Values& values, const std::string& place) {
      table.columns.*member = single(values, place);
    };
  };
  entries.push_back({"type", [](EdgeTableFile& table, const Values& values, const std::string& place) {
                       table.type = edge_type_in(values, place);
                     }});
  entries.push_back({"source", column(&EdgeColumnNames::source)});
  entries.push_back({"target", column(&EdgeColumnNames::target)});
  entries.push_back({"weight", column(&EdgeColumnNames::weight)});
  entries.push_back({"relation", text_of_part<EdgeTableFile>(&EdgeTableFile::relation)});
  entries.push_back({"attributes", [](EdgeTableFile& table, const Values& values, const std::string&) {
                       table.features = values;
                     }});
  entries.push_back(
      {"missing-ids", [](EdgeTableFile& table, const Values& values, const std::string& place) {
         table.missing_ids = choice<MissingIds>(
             values, {{"error", MissingIds::fail}, {"drop", MissingIds::drop}, {"keep", MissingIds::keep}},
             place);
       }});
  entries.push_back({"undirected", [](EdgeTableFile& table, const Values& values, const std::string& place) {
                       table.undirected = choice<bool>(values, {{"true", true}, {"false", false}}, place);
                     }});
  return entries;
}

template <class Table>
bool set(Table& table, std::string_view name, const Values& values, const std::string& place) {
  for (const Entry<Table>& entry : all_entries(table)) {
    if (name != entry.name) continue;
    entry.set(table, values, place);
    return true;
  }
  return false;
}

template <class Table>
Values names_in(const Table& table) {
  Values names;
  for (const Entry<Table>& entry : all_entries(table)) names.emplace_back(entry.name);
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
