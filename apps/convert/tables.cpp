#include "formats.h"
#include "node_options.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/typed_tables.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

using Words = std::vector<std::string>;

/// An option of the columns of one table: "[TYPE=]VALUE[,VALUE]…", any number of times.
struct EntryOption {
  const char *name, *placeholder, *help;
  Words words = {};
};

struct Arguments {
  Words nodes, edges;
  std::string like, graphs;
  std::vector<EntryOption> entries = {
      {"id", "COLUMN", "nodes: column of ids (default: by name, as node_id, id or user_id, else the first)"},
      {"ids", "KIND", "nodes: integers or names (default: integers if all are)"},
      {"label", "COLUMN",
       "column of labels (default: label or class of nodes, none of edges); none: no labels"},
      {"task", "TASK",
       "kind of labels: node_class, node_multilabel or node_regression; edge_class, …; graph_class or "
       "graph_regression"},
      {"missing-labels", "LIST", "classes that mean no label, beside empty ones, NA and the like"},
      {"columns", "LIST", "nodes: columns of features (default: all that have no other purpose)"},
      {"without", "LIST", "nodes: columns that are no features"},
      {"types", "LIST", "types of columns, as in zip=category,age=number"},
      {"impute", "HOW", "replace missing features by mean or median of training items, or zero"},
      {"split-column", "COLUMN", "column that says train, val or test"},
      {"time", "COLUMN", "column of times: integers or dates"},
      {"graph", "COLUMN", "for many graphs: column with the graph of a node, and of an edge"},
      {"source", "COLUMN", "edges: column of sources (default: by names as source, src, from, :START_ID)"},
      {"target", "COLUMN", "edges: column of targets"},
      {"weight", "COLUMN", "edges: column of weights (default: one called weight); none: no weights"},
      {"relation", "COLUMN",
       "edges: column of the names of types (default: by names as relation, predicate, :TYPE); none: one "
       "type"},
      {"attributes", "LIST",
       "edges: columns of attributes, or all that have no other purpose (default: none)"},
      {"missing-ids", "HOW", "edges: lines without an id: error, drop or keep (as a name)"},
      {"undirected", "true",
       "edges: add the reverse of each edge; between nodes of two types as edges rev_NAME"},
      {"coalesce", "true", "edges: merge equal edges of a type, adding their weights"}};
  /// How tables are written, of one type or of all.
  std::vector<EntryOption> texts = {
      {"separator", "TEXT",
       "what is between two fields, in a table or in all: any text as :: or |, \\t for a tab, ' ' for any "
       "blanks (default: the first of tab, semicolon and comma that is in the first line, else blanks)"},
      {"decimal", "MARK", "decimal mark of numbers: point or comma (default: point)"},
      {"encoding", "NAME", "latin1, cp1252 or another name that iconv knows (default: UTF-8)"},
      {"comment", "PREFIX",
       "skip lines with this prefix; '': skip none (default: # or %, before the first row)"},
      {"header", "NAME",
       "whether tables have headers: auto, yes, no, or comment: the one above the first row is it (default: "
       "auto)"}};
  std::shared_ptr<const SplitOptions> splits;
};

/// The type before the first =, or nothing.
std::pair<std::string, std::string> typed(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::string name_in(const EdgeTableFile& table) {
  return table.type.name.empty() ? table_name(table.path) : table.type.name;
}

template <class Table>
bool has_entry(const std::string& name) {
  const Words all = std::is_same_v<Table, NodeTableFile> ? node_entries() : edge_entries();
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// The tables that have a value of an option; absent: all tables.
using TablesSet = std::set<const ItemColumns*>;

/// Throws UsageError if the table has one already; lists grow.
void expect_first(const EntryOption& option, const std::string& word, const ItemColumns* table,
                  TablesSet& before) {
  if (!before.insert(table).second && std::string_view(option.placeholder) != "LIST")
    usage_fail("--{} {}: a second value for {}, expected one", option.name, excerpt(word),
               table != nullptr ? "its table" : "all tables");
}

/// Sets one option of one table: that of its type, or, without one, the only table of nodes, or of edges for
/// options that nodes do not have.
void set_option(const EntryOption& option, const std::string& word, TableFiles& files, TablesSet& before) {
  const auto [type, value] = typed(word);
  const std::string place = fmt::format("--{}", option.name);
  const bool task_of_graphs = type.empty() && place == "--task" && value.starts_with("graph_");
  if (files.graphs && (type == "graphs" || task_of_graphs) && has_entry<NodeTableFile>(option.name)) {
    expect_first(option, word, &*files.graphs, before);
    (void)set_graph_entry(*files.graphs, option.name, items_of(value), place);
    return;
  }
  if (std::string_view(option.name) == "graph" && type.empty()) {
    expect_first(option, word, nullptr, before);
    for (NodeTableFile& table : files.nodes) table.graph = value;
    for (EdgeTableFile& table : files.edges) table.graph = value;
    return;
  }
  const auto set = [&](auto& table, const std::string& text) {
    expect_first(option, word, &table, before);
    (void)set_entry(table, option.name, items_of(text), place);
  };
  const bool of_nodes = has_entry<NodeTableFile>(option.name),
             of_edges = has_entry<EdgeTableFile>(option.name);
  if (!type.empty() && of_nodes)
    for (NodeTableFile& table : files.nodes)
      if (table.type == type) return set(table, value);
  if (!type.empty() && of_edges)
    for (EdgeTableFile& table : files.edges)
      if (name_in(table) == type || text_of(table.type) == type) return set(table, value);
  if (of_nodes && files.nodes.size() == 1) return set(files.nodes[0], word);
  if (of_edges && (!of_nodes || files.nodes.empty()) && files.edges.size() == 1)
    return set(files.edges[0], word);
  Words known;
  for (const NodeTableFile& table : files.nodes)
    if (of_nodes) known.push_back(table.type);
  for (const EdgeTableFile& table : files.edges)
    if (of_edges) known.push_back(name_in(table));
  if (known.empty()) usage_fail("--{}: requires a table of nodes (--nodes)", option.name);
  usage_fail("--{} {}: which table, expected TYPE={} with a type of {}", option.name, excerpt(word),
             option.placeholder, fmt::join(known, ", "));
}

/// Sets how a table is written.
void set_text(ItemColumns& table, const std::string& name, const std::string& value) {
  if (name == "header") {
    table.header = value_named<Header>(value);
    if (!table.header) usage_fail("--header {}: expected auto, yes, no or comment", excerpt(value));
    return;
  }
  NodeTableFile alone;
  alone.text = table.text;
  try {
    (void)set_entry(alone, name, {value}, "--" + name);
  } catch (const DataError& error) {
    throw UsageError(error.what());
  }
  table.text = alone.text;
}

/// The tables of a type, nodes before edges as in set_option().
ItemColumns* table_of_type(const std::string& type, TableFiles& files) {
  if (files.graphs && type == "graphs") return &*files.graphs;
  for (NodeTableFile& table : files.nodes)
    if (table.type == type) return &table;
  for (EdgeTableFile& table : files.edges)
    if (name_in(table) == type || text_of(table.type) == type) return &table;
  return nullptr;
}

/// Sets how the table of a type is written, or, without one, all that do not say it.
void set_text_option(const EntryOption& option, const std::string& word, TableFiles& files,
                     TablesSet& before) {
  const auto [type, value] = typed(word);
  if (ItemColumns* table = table_of_type(type, files)) {
    expect_first(option, word, table, before);
    return set_text(*table, option.name, value);
  }
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!type.empty() && std::ranges::all_of(type, is_word)) {
    Words known;
    for (const NodeTableFile& table : files.nodes) known.push_back(table.type);
    for (const EdgeTableFile& table : files.edges) known.push_back(name_in(table));
    usage_fail("--{} {}: no table \"{}\", expected {} for all tables, or TYPE={} with a type of {}",
               option.name, excerpt(word), excerpt(type), option.placeholder, option.placeholder,
               fmt::join(known, ", "));
  }
  expect_first(option, word, nullptr, before);
  ItemColumns all;
  all.text = files.text;
  set_text(all, option.name, word);
  files.text = all.text;
  files.header = all.header.value_or(files.header);
}

TableFiles tables_in(const Arguments& arguments) {
  TableFiles files;
  for (const std::string& word : arguments.nodes) {
    const auto [type, path] = typed(word);
    NodeTableFile table;
    table.type = type.empty() ? table_name(path) : type;
    table.path = path;
    files.nodes.push_back(std::move(table));
  }
  for (const std::string& word : arguments.edges) {
    const auto [type, path] = typed(word);
    EdgeTableFile table;
    if (!type.empty()) (void)set_entry(table, "type", {type}, "--edges");
    table.path = path;
    files.edges.push_back(std::move(table));
  }
  if (!arguments.graphs.empty()) {
    files.graphs.emplace();
    files.graphs->type = "graphs";
    files.graphs->path = arguments.graphs;
  }
  if (files.edges.empty()) usage_fail("--edges: expected a table of edges, or a description, as TABLES.yaml");
  return files;
}

/// Of a table of edges with attributes: they are those of the file. Says so.
void set_like_attributes(EdgeTableFile& table, LikeFile like, Words& notes) {
  Words known;
  for (const ColumnEncoder& encoder : like.encoder.columns) known.push_back(encoder.column);
  for (const std::string& name : table.features)
    if (name != "all" && !integer_in(name) && std::ranges::find(known, name) == known.end())
      data_fail("{}: edges \"{}\" have no attribute \"{}\", expected {}", excerpt(like.path),
                excerpt(name_in(table)), excerpt(name), fmt::join(known, ", "));
  if (table.features != Words{"all"} && table.features.size() != known.size())
    data_fail("{}: {} attributes of edges \"{}\", expected all {} of {}: {}", excerpt(table.path),
              table.features.size(), excerpt(name_in(table)), known.size(), excerpt(like.path),
              fmt::join(known, ", "));
  notes.push_back(
      fmt::format("{}: attributes of edges \"{}\", their types and values for gaps are as in {}: {}",
                  excerpt(table.path), excerpt(name_in(table)), excerpt(like.path), fmt::join(known, ", ")));
  table.features = std::move(known);
  table.like = std::move(like);
}

bool is_like(const EdgeTableFile& table, const EdgeType& type) {
  return type.name == name_in(table) && (table.type.src.empty() || table.type.src == type.src) &&
         (table.type.dst.empty() || table.type.dst == type.dst);
}

FeatureEncoder encoder_of(const ItemTable& items) {
  return items.encoder.empty() ? FeatureEncoder::numbers(items.feature_names) : items.encoder;
}

/// From a file of several types. The names of types may be in a column: then all have the same encoder.
void set_like_edges(const std::string& path, const TypedDataset& data, EdgeTableFile& table, Words& notes) {
  if (table.features.empty()) return;
  Words known;
  std::vector<FeatureEncoder> found;
  for (const auto& [type, items] : data.edges) {
    known.push_back(text_of(type));
    if (is_like(table, type)) found.push_back(encoder_of(items));
  }
  const bool alone = found.empty() && table.type.name.empty();
  for (const auto& [type, items] : data.edges)
    if (alone && std::ranges::find(found, encoder_of(items)) == found.end())
      found.push_back(encoder_of(items));
  if (found.size() != 1)
    data_fail("{}: {} types of edges \"{}\", expected one of {} (--edges TYPE={})", excerpt(path),
              found.size(), excerpt(name_in(table)), fmt::join(known, ", "), excerpt(table.path));
  if (!found[0].empty()) return set_like_attributes(table, {path, found[0]}, notes);
  notes.push_back(fmt::format("{}: attributes of edges \"{}\" are new, as {} has none with names",
                              excerpt(table.path), excerpt(name_in(table)), excerpt(path)));
}

/// From a file of one type, whose edges may have attributes.
void set_like_edges(const std::string& path, TableFiles& files, Words& notes) {
  std::optional<LikeFile> like;
  for (EdgeTableFile& table : files.edges) {
    if (table.features.empty()) continue;
    if (!like) like = read_like_attributes(path);
    if (like && files.edges.size() != 1)
      usage_fail("--like {}: a file of one type of edges, expected one table of edges, not {}", excerpt(path),
                 files.edges.size());
    if (like) return set_like_attributes(table, *like, notes);
    notes.push_back(fmt::format("{}: attributes of edges \"{}\" are new, as {} has none with names",
                                excerpt(table.path), excerpt(name_in(table)), excerpt(path)));
  }
}

/// The encoders of a file by type; of a file of one type under its own names.
void set_like(const std::string& path, TableFiles& files, Words& notes) {
  const auto set = [&](ItemColumns& table, const ItemTable& items) {
    if (FeatureEncoder encoder = encoder_of(items); !encoder.empty())
      table.like = LikeFile{path, std::move(encoder)};
  };
  const H5Reader file = H5Reader::open(path, {"@format"});
  const bool is_data = file.has_attribute("", "format") && file.text("", "format") == "adjoint.graph";
  if (!is_data || !is_typed_dataset(path)) {
    set_like_edges(path, files, notes);
    const bool of_edges = files.nodes.empty() && files.edges.size() == 1 && files.edges[0].like;
    if (files.nodes.size() != 1 && !of_edges)
      usage_fail("--like {}: a file of one type of nodes, expected one table of nodes, not {}", excerpt(path),
                 files.nodes.size());
    if (!of_edges) files.nodes[0].like = read_like_file(path);
    return;
  }
  const TypedDataset data = load_typed_dataset(path);
  for (NodeTableFile& table : files.nodes) {
    const auto items = data.nodes.find(table.type);
    if (items == data.nodes.end())
      data_fail("{}: no nodes of type \"{}\", expected those of the tables", excerpt(path),
                excerpt(table.type));
    set(table, items->second);
  }
  for (EdgeTableFile& table : files.edges) set_like_edges(path, data, table, notes);
}

std::variant<Dataset, TypedDataset> import_all(const std::string& input, Arguments& arguments, Words& notes) {
  const bool described = !input.empty();
  if (described && (!arguments.nodes.empty() || !arguments.edges.empty()))
    usage_fail("{}: conflicts with --nodes and --edges, expected a description or these", excerpt(input));
  TableFiles files = described ? read_table_description(input) : tables_in(arguments);
  for (const auto& [options, set] :
       {std::pair(&arguments.entries, &set_option), std::pair(&arguments.texts, &set_text_option)})
    for (const EntryOption& option : *options) {
      TablesSet before;
      for (const std::string& word : option.words) {
        if (described)
          usage_fail("--{}: expected in {}, which describes the tables", option.name, excerpt(input));
        set(option, word, files, before);
      }
    }
  files.split = arguments.splits->random();
  if (!arguments.like.empty()) set_like(arguments.like, files, notes);
  if (files.graphs || (!files.nodes.empty() && !files.nodes[0].graph.empty()))
    return import_graph_tables(files, notes);
  TypedDataset data = import_tables(files, notes);
  const auto has_splits = [](const auto& entry) { return !entry.second.splits.empty(); };
  if (files.split && std::none_of(data.nodes.begin(), data.nodes.end(), has_splits) &&
      std::none_of(data.edges.begin(), data.edges.end(), has_splits))
    data_fail("no labels in any table, expected some for --split (--label TYPE=COLUMN)");
  return data;
}

}  // namespace

Format tables_format(std::shared_ptr<const SplitOptions> splits) {
  auto arguments = std::make_shared<Arguments>();
  arguments->splits = std::move(splits);
  Format format{"tables",
                "tables of nodes and of edges, of one type or several: columns are found by their names; "
                "text with any separator, plain or gzip. A description, TABLES.yaml, may say all of it",
                {{"nodes", &arguments->nodes, "[TYPE=]FILE",
                  "table of the nodes of a type (default: the file's name), any number of times"},
                 {"edges", &arguments->edges, "[TYPE=]FILE",
                  "table of edges; TYPE is a name or SOURCE:NAME:TARGET (default: types of nodes by names of "
                  "columns, columns of types or Neo4j groups; the file's name)"}},
                {}};
  const auto add_entry = [&](EntryOption& option) {
    format.options.push_back(
        {option.name, &option.words, fmt::format("[TYPE=]{}", option.placeholder), option.help});
  };
  for (EntryOption& option : arguments->entries) add_entry(option);
  format.options += OptionList{
      {"graphs", &arguments->graphs, "FILE",
       "for many graphs: table of their labels and splits; its type for the options above is graphs"},
      {"like", &arguments->like, "FILE",
       "a dataset or trained model: columns, categories and values for gaps of each type of nodes and of "
       "chosen attributes of edges as there"}};
  for (EntryOption& option : arguments->texts) add_entry(option);
  format.input_is_optional = true;
  format.draws_splits = true;
  format.import = [arguments](const std::string& input, Words& notes) {
    return import_all(input, *arguments, notes);
  };
  format.files = [arguments] {
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& word : arguments->nodes) files.emplace_back("nodes", typed(word).second);
    for (const std::string& word : arguments->edges) files.emplace_back("edges", typed(word).second);
    if (!arguments->graphs.empty()) files.emplace_back("graphs", arguments->graphs);
    if (!arguments->like.empty()) files.emplace_back("like", arguments->like);
    return files;
  };
  return format;
}

namespace {

/// Whose labels and splits a graph of one type has.
enum class LabelledItems : uint8_t { nodes, edges };
constexpr auto names_of(LabelledItems) { return std::array{"nodes", "edges"}; }

/// "labels and a split"; or nothing.
std::string answers_in(const ItemTable& items) {
  const std::string splits = items.splits.empty() ? "" : items.splits.size() == 1 ? "a split" : "splits";
  return items.y ? "labels" + (splits.empty() ? "" : " and " + splits) : splits;
}

/// The graph of one type of edges. Notes what of labels and splits it cannot hold.
Dataset graph_of_type(TypedDataset data, const EdgeType& type, LabelledItems labelled, Words& notes) {
  ItemTable& nodes = data.nodes.at(type.src);
  const ItemTable& edges = data.edges.at(type);
  const bool possible = edges.y && edges.task != Task::node_multilabel;
  const std::string of_nodes = answers_in(nodes), of_edges = answers_in(edges);
  const bool takes_edges = possible && (labelled == LabelledItems::edges || nodes.task == Task::none);
  if (labelled == LabelledItems::edges && !possible)
    data_fail("--labels edges: edges {} have {}, expected one label, class or number, of each", text_of(type),
              edges.y ? "several labels" : "no labels");
  if (takes_edges && !of_nodes.empty()) {
    notes.push_back(fmt::format("{} of nodes \"{}\" left out, as those of edges {} are taken{}", of_nodes,
                                excerpt(type.src), text_of(type),
                                nodes.y ? " (--labels nodes takes them instead)" : ""));
    nodes.task = Task::none;
    nodes.y = {};
    nodes.classes = nodes.unlabelled = 0;
    nodes.class_names.clear();
    nodes.splits.clear();
    nodes.train = nodes.val = nodes.test = {};
  }
  if (!takes_edges && !of_edges.empty())
    notes.push_back(fmt::format("{} of edges {} left out, {}{}", of_edges, text_of(type),
                                nodes.task != Task::none
                                    ? fmt::format("as nodes \"{}\" have labels", excerpt(type.src))
                                : edges.y ? "as a graph has no edges of several labels"
                                          : "as they have no labels",
                                possible ? " (--labels edges takes them instead)" : ""));
  return data.homogeneous(type);
}

}  // namespace

Format typed_format() {
  struct Arguments {
    std::string edges;
    LabelledItems labels = LabelledItems::nodes;
  };
  auto arguments = std::make_shared<Arguments>();
  Format format{"typed",
                "a dataset of several types: the graph of one type of edges between nodes of one type",
                {{"edges", &arguments->edges, "TYPE", "type of edges: a name, or SOURCE:NAME:TARGET"},
                 {"labels", &arguments->labels, "NAME",
                  "whose labels and splits the graph has: nodes (if these have none, edges), or edges"}},
                {}};
  format.import = [arguments](const std::string& input, auto& notes) {
    if (arguments->edges.empty()) usage_fail("--edges: expected a type of edges");
    TypedDataset data = load_typed_dataset(input);
    const EdgeType type = data.edge_type(arguments->edges);
    if (type.src != type.dst) return data.homogeneous(type);  // throws
    return graph_of_type(std::move(data), type, arguments->labels, notes);
  };
  return format;
}

}  // namespace adj::apps
