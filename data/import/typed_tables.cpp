#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/edge_table.h>
#include <adjoint/data/import/typed_tables.h>
#include <adjoint/data/reordered.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <memory>
#include <numeric>

#include <fmt/ranges.h>

namespace adj {

std::string table_name(const std::string& path) {
  const std::string whole = input_file(path), rows = path.substr(whole.size());
  if (!rows.empty() && rows.find(' ') == std::string::npos) return rows.substr(1);
  const std::string file = std::filesystem::path(whole).filename().string();
  return file.substr(0, std::max<size_t>(file.find('.'), 1));
}

std::vector<std::string> TableFiles::paths() const {
  std::vector<std::string> all;
  for (const NodeTableFile& table : nodes)
    if (!table.path.empty()) all.push_back(table.path);
  for (const EdgeTableFile& table : edges) all.push_back(table.path);
  if (graphs && !graphs->path.empty()) all.push_back(graphs->path);
  return all;
}

Decimal TableFiles::id_decimal() const {
  const auto has_comma = [](const auto& files) { return files.text.decimal == Decimal::comma; };
  return has_comma(*this) || std::ranges::any_of(nodes, has_comma) || std::ranges::any_of(edges, has_comma)
             ? Decimal::comma
             : Decimal::point;
}

namespace {

/// Edges that join the same two nodes in the same direction, and what the added reverses lack.
void note_repeats(const std::string& path, const EdgeTable::Part& part, bool reverses, bool mergeable,
                  std::vector<std::string>& notes) {
  const Csr& csr = part.edges.relation.csr();
  const int64_t* const offsets = csr.offsets.data<int64_t>();
  const int32_t* const sources = csr.indices.data<int32_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < csr.rows; ++i)
    for (int64_t e = offsets[i] + 1; e < offsets[i + 1]; ++e) count += sources[e] == sources[e - 1];
  if (count > 0)
    notes.push_back(
        fmt::format("{}: {} of {} edges {} repeat another{}{}", excerpt(path), count, csr.indices.numel(),
                    text_of(part.type),
                    reverses ? "; where the table has both directions, undirected adds them again" : "",
                    mergeable ? " (coalesce merges them)" : ""));
  if (reverses && part.items.y)
    notes.push_back(
        fmt::format("{}: the added reverses of edges {} have no label", excerpt(path), text_of(part.type)));
}

class TableImport {
 public:
  TableImport(const TableFiles& files, std::vector<std::string>& notes) : files_(files), notes_(notes) {
    files_.text.input.copies = std::make_shared<const InputCopies>(files_.paths());
    bool joined = false;
    for (const EdgeTableFile& table : files_.edges) joined = joined || !table.graph.empty();
    for (const NodeTableFile& table : files_.nodes) {
      expect_like_alone(table, !table.features.empty());
      if (types_.contains(table.type))
        data_fail("two tables of nodes \"{}\", expected one for each type", excerpt(table.type));
      types_.try_emplace(table.type, table, written_as(table), joined);
    }
    for (const EdgeTableFile& table : files_.edges) {
      expect_like_alone(table, false);
      expect_graphs(table);
      tables_.push_back(std::make_unique<EdgeTable>(table, written_as(table), types_));
    }
  }

  NodeTypes& types() { return types_; }

  /// All tables, as if they were written as this one.
  const TableFiles& written_as(const ItemColumns& table) {
    TableFiles& files = written_.emplace_back(files_);
    TextFormat& text = files.text;
    if (table.text.comment) text.comment = table.text.comment;
    if (table.text.separator) text.separator = table.text.separator;
    if (table.text.decimal) text.decimal = table.text.decimal;
    if (!table.text.input.encoding.empty()) text.input.encoding = table.text.input.encoding;
    files.header = table.header.value_or(files.header);
    if (text.separator == Separator::comma && text.decimal == Decimal::comma)
      data_fail("{}: separator: a comma, expected another one beside decimal: comma", excerpt(table.path));
    return files;
  }

  TypedDataset read() {
    for (auto& [name, type] : types_) {
      find_ids(name, type);
      type.read_ids();
    }
    for (const auto& table : tables_) table->read_ends(types_);
    TypedDataset data;
    data.name = files_.name;
    HeteroGraph::NodeCounts counts;
    for (auto& [name, type] : types_) {
      if (type.size() == 0) data_fail("no nodes of type \"{}\" in any table, expected some", excerpt(name));
      counts.emplace(name, type.size());
      data.nodes.emplace(name, type.items(notes_));
    }
    std::map<EdgeType, HeteroGraph::Edges> relations;
    for (size_t k = 0; k < tables_.size(); ++k) {
      const auto& table = tables_[k];
      const bool undirected = files_.edges[k].undirected;
      for (EdgeTable::Part& part : table->parts(counts, notes_)) {
        note_repeats(table->path(), part, undirected && part.type.src == part.type.dst,
                     table->distinction().empty(), notes_);
        if (relations.contains(part.type))
          data_fail("{}: edges of type {}, as another table, expected one for each type",
                    excerpt(table->path()), text_of(part.type));
        relations.emplace(part.type, std::move(part.edges));
        data.edges.emplace(part.type, std::move(part.items));
      }
    }
    data.graph = HeteroGraph(std::move(counts), std::move(relations));
    return data;
  }

 private:
  /// Decides by edges what names of a table leave open.
  void find_ids(const std::string& name, NodeType& type) {
    std::vector<std::string> names;
    for (const auto& table : tables_) std::ranges::copy(table->ends_of(name), std::back_inserter(names));
    type.set_ends(std::move(names));
    if (!type.has_open_id() && !type.has_doubtful_head()) return;
    NodeIds ends(NodeIds::Kind::names, files_.id_decimal());
    for (const auto& table : tables_) table->add_ids(name, ends);
    if (ends.size() == 0) return;
    if (type.has_open_id()) type.choose_id(ends, notes_);
    if (type.has_doubtful_head()) type.expect_head(ends);
  }

  /// What the file of an encoder decides cannot be chosen.
  static void expect_like_alone(const ItemColumns& table, bool columns) {
    if (table.like && (columns || !table.without.empty() || !table.types.empty() || table.impute))
      data_fail(
          "{}: --like: conflicts with columns, without, types and impute of the table, which {} decides",
          excerpt(table.path), excerpt(table.like->path));
  }

  /// Where edges have no column of graphs that was chosen for all tables, nodes alone may have it.
  void expect_graphs(const EdgeTableFile& table) {
    if (table.graph.empty() || is_number(table.graph) || files_.nodes.empty()) return;
    const TableFiles& files = written_as(table);
    const TableRows rows(table.path, files.text, files.header,
                         std::vector<std::string>{table.graph, table.columns.source, table.columns.target});
    if (!rows.has_header() || std::ranges::find(rows.names(), table.graph) != rows.names().end()) return;
    data_fail(
        "{}: no column \"{}\", expected one with the graphs of edges, or, if ids of nodes are unique over "
        "all graphs, a choice for the nodes alone (--graph {}={})",
        rows.place(), excerpt(table.graph), excerpt(files_.nodes[0].type), excerpt(table.graph));
  }

  TableFiles files_;
  std::list<TableFiles> written_;  // one a table, which refers to it
  std::vector<std::string>& notes_;
  NodeTypes types_;
  std::vector<std::unique_ptr<EdgeTable>> tables_;
};

/// Refuses what graphs cannot have, which would be passed over else.
void expect_of_graphs(const NodeTableFile& table) {
  const std::string path = excerpt(table.path);
  if (!table.time.empty())
    data_fail(
        "{}: time {}: files keep no times of graphs, expected none (split OUT.h5 --table {} --by-time {} "
        "divides the graphs by it)",
        path, excerpt(table.time), path, excerpt(table.time));
  if (!table.graph.empty())
    data_fail("{}: graph: each row is a graph, expected id (--id graphs=COLUMN)", path);
  for (const auto& [name, chosen] : {std::pair("columns", !table.features.empty()),
                                     {"types", !table.types.empty()},
                                     {"impute", table.impute.has_value()}})
    if (chosen) data_fail("{}: {}: graphs have no features, expected none", path, name);
}

/// Columns of the graphs' table that have no purpose, by their names. Its ids are in the column that is
/// called as that of `graphs` in the table of nodes, if there is one.
std::vector<std::string> pass_over_features(NodeTableFile& table, const TableFiles& files,
                                            const std::string& graphs, std::vector<std::string>& notes) {
  if (table.path.empty()) return {};
  std::vector<std::string> without = table.without, names;
  if (!table.split.empty()) without.push_back(table.split);
  std::vector<std::string> chosen = without;
  chosen.insert(chosen.end(), {table.id, table.label});
  const bool open = table.id.empty() && !graphs.empty() && std::ranges::find(chosen, graphs) == chosen.end();
  if (open) chosen.push_back(graphs);
  const TableRows rows(table.path, files.text, files.header, chosen);
  if (open && std::ranges::find(rows.names(), graphs) != rows.names().end()) {
    table.id = graphs;
    notes.push_back(fmt::format("{}: ids from {}, called as the graphs of nodes", excerpt(table.path),
                                column_text(rows.column(graphs), rows.names())));
  }
  for (const int64_t column : node_columns(rows.names(), rows.first_fields(), rows.columns(),
                                           {table.id, table.label, {}, without}, false, rows.place())
                                  .features) {
    table.without.push_back(choice_for(column, rows.names()));
    names.push_back(column_name(column, rows.names()));
  }
  return names;
}

Task task_of_graphs(Task task) {
  if (task == Task::node_multilabel)
    data_fail("task node_multilabel of graphs, expected node_class or node_regression");
  return task == Task::node_class        ? Task::graph_class
         : task == Task::node_regression ? Task::graph_regression
                                         : Task::none;
}

}  // namespace

TypedDataset import_tables(const TableFiles& files, std::vector<std::string>& notes) {
  if (files.graphs) data_fail("{}: a table of graphs, expected nodes and edges", excerpt(files.graphs->path));
  return TableImport(files, notes).read();
}

Dataset import_graph_tables(const TableFiles& files, std::vector<std::string>& notes) {
  if (files.nodes.size() != 1 || files.edges.size() != 1 || files.nodes[0].graph.empty())
    data_fail(
        "tables of many graphs: {} of nodes and {} of edges{}, expected one of each, with a column of graphs "
        "in that of nodes (graph)",
        files.nodes.size(), files.edges.size(),
        files.nodes.empty() || !files.nodes[0].graph.empty() ? "" : " without a column of graphs");
  if (files.graphs) expect_of_graphs(*files.graphs);
  TableImport import(files, notes);
  NodeType& nodes = import.types().begin()->second;
  NodeTableFile table = files.graphs.value_or(NodeTableFile());
  if (table.type.empty()) table.type = "graphs";
  table.of_graphs = true;
  const TableFiles& written = import.written_as(table);
  const std::vector<std::string> others = pass_over_features(table, written, nodes.graph_name(), notes);
  NodeType graphs(table, written);
  const std::string& of_edges = files.edges[0].label;
  const bool edges_alone = !of_edges.empty() && of_edges != "none" && !nodes.is_labelled();
  const std::string_view split_items = graphs.is_labelled() ? "graphs" : edges_alone ? "edges" : "nodes";
  if (split_items != "nodes") nodes.leave_splits(split_items);
  if (split_items != "graphs") graphs.leave_splits(split_items);
  const TypedDataset typed = import.read();
  if (typed.nodes.size() != 1 || typed.edges.size() != 1)
    data_fail("{}: several types of nodes or edges, expected one type for many graphs",
              excerpt(files.edges[0].path));
  Dataset data = typed.homogeneous(typed.edges.begin()->first);
  graphs.read_ids();
  const int64_t listed = graphs.size();
  const std::vector<int32_t> graph_of = nodes.read_graphs(graphs, notes);
  if (listed > 0 && graphs.size() > listed)
    data_fail("{}: {} graphs, of which {} have no row in {}, first \"{}\", expected one for each",
              excerpt(files.nodes[0].path), graphs.size(), graphs.size() - listed, excerpt(table.path),
              excerpt(graphs.id(listed)));
  std::vector<int32_t> order(graph_of.size());
  std::iota(order.begin(), order.end(), 0);
  const auto graph = [&](int32_t node) { return graph_of[static_cast<size_t>(node)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return graph(a) < graph(b); });
  if (!std::is_sorted(graph_of.begin(), graph_of.end())) {
    data = reordered(data, Tensor::from(order));
    if (!data.node_ids && !data.node_names)
      data.node_ids = data.order.to(DType::i64);  // were the rows' numbers
    data.order = {};
  }
  std::vector<int64_t> offsets(static_cast<size_t>(graphs.size()) + 1);
  for (const int32_t g : graph_of) ++offsets[static_cast<size_t>(g) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  data.graph_offsets = Tensor::from(offsets);
  ItemTable items = graphs.items(notes);
  if (items.node_names)
    data.graph_names = adj::detail::unpacked({items.node_names, items.node_name_offsets});
  else if (items.node_ids)
    for (const int64_t id : items.node_ids.to_vector<int64_t>())
      data.graph_names.push_back(std::to_string(id));
  if (!others.empty())
    notes.push_back(fmt::format("{}: passed over: {}, as graphs have no features{}", excerpt(table.path),
                                adj::detail::listed(others, 10),
                                items.y ? "" : " (label graphs=COLUMN: it is the label)"));
  if (!items.y && table.task != Task::node_class)
    data_fail(
        "{}: no column of labels, expected one called label or class (--label graphs=COLUMN says which)",
        excerpt(table.path));
  std::vector<std::string> bare;
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    if (offsets[g] == offsets[g + 1])
      bare.push_back(data.graph_names.empty() ? std::to_string(g) : data.graph_names[g]);
  if (!bare.empty())
    notes.push_back(fmt::format("{}: {} of {} graphs without any node: {}", excerpt(table.path), bare.size(),
                                graphs.size(), adj::detail::listed(bare, 3)));
  if (items.task != Task::none) {
    data.task = task_of_graphs(items.task);
    data.classes = items.classes;
    data.class_names = items.class_names;
    data.graph_y = items.y;
    data.unlabelled = items.unlabelled;
    if (!data.splits.empty())
      notes.push_back(fmt::format("{}: a split of edges left out, as the task is of graphs",
                                  excerpt(files.edges[0].path)));
    data.splits = items.splits;
  }
  if (files.split && data.splits.empty())
    data_fail("no labels in any table, expected some for --split (--label graphs=COLUMN)");
  data.use_first_split();
  notes.push_back(fmt::format("{} graphs, numbered {}", graphs.size(),
                              listed > 0 ? "as in " + excerpt(table.path) : "by first appearance"));
  return data;
}

}  // namespace adj
