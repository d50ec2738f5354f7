#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/import/detail/edge_matrix.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/edge_list.h>

#include <algorithm>

namespace adj {

namespace {

/// What an importer of lists is given by mistake, by the first line of the file; empty for others.
std::string other_format(std::string_view line) {
  const auto via_networkx = [](std::string_view format, std::string_view reader) {
    return fmt::format(
        "{}, expected a list of edges; data/to_adjoint.py reads it: to_adjoint(networkx.{}, "
        "\"OUT.h5\")",
        format, reader);
  };
  const std::string begin = lower(trimmed(line).substr(0, 16));
  if (begin.starts_with("<?xml") || begin.starts_with("<graphml"))
    return via_networkx("XML", "read_graphml(FILE)");
  if (begin.starts_with("{") || begin == "[")
    return via_networkx("JSON", "node_link_graph(json.load(open(FILE)))");
  if (begin.starts_with("graph [") || begin == "graph" || begin.starts_with("creator "))
    return via_networkx("GML", "read_gml(FILE)");
  if (begin.starts_with("*vertices")) return via_networkx("Pajek", "read_pajek(FILE)");
  return "";
}

/// Whether the file is Matrix Market, for a matrix: in coordinates. Throws for formats that only look like
/// lists.
bool has_matrix_market(const std::string& path, const TextInput& input, EdgeLayout layout) {
  TextSource source(path, input);
  std::string_view line;
  if (!source.next(line)) return false;
  if (const std::string other = other_format(line); !other.empty()) source.fail(1, "{}", other);
  return is_matrix_market(line) &&
         (layout == EdgeLayout::list || lower(line).find(" array") == std::string::npos);
}

bool has_integers(const std::vector<std::string>& fields, const EdgeColumns& columns) {
  const auto is_integer = [&](int64_t column) {
    return column < std::ssize(fields) && integer_in(fields[static_cast<size_t>(column)]);
  };
  return is_integer(columns.source) && is_integer(columns.target);
}

ListLayout layout_of(const std::string& path, const EdgeListOptions& options) {
  using Rule = EdgeColumns::Rule;
  ListLayout layout;
  TableHead& head = layout.head;
  EdgeColumns& columns = layout.columns;
  const bool numbered = options.ids.value_or(NodeIds::Kind::names) != NodeIds::Kind::names;
  head = read_head(path, options.text, false, [&](const TableHead& seen, const auto&) {
    return !numbered && !has_integers(seen.first, {}) && !has_integers(seen.second, {});
  });
  const int64_t line = head.format.first_line;
  const std::string place = fmt::format("{}:{}", excerpt(path), line);
  if (head.empty) data_fail("{}: no edges, expected some{}", excerpt(path), head.beside_comments());
  if (head.columns() < 2)
    data_fail("{}: one column, expected two ids (--separator TEXT says what is between them)", place);
  const auto has_colon = [](const std::vector<std::string>& row) {
    return row.empty() || row[0].ends_with(':');
  };
  if (options.columns.source.empty() && has_colon(head.first) && has_colon(head.second))
    data_fail(
        "{}: \"{}\", which may be a node and its neighbours, expected a list of edges (--layout neighbors: a "
        "node and "
        "its neighbours in each line; with --source and --target it is a list)",
        place, excerpt(head.row));
  const bool stated = head.is_table || options.header == Header::yes ||
                      (options.header == Header::find_out && has_chosen_name(head.first, options.columns));
  const bool may_be = !stated && options.header == Header::find_out && head.may_be_header();
  if (stated || may_be)
    columns = edge_columns(head.first, options.columns, place);
  else
    columns = edge_columns(head.columns(), options.columns, place);

  const bool integers_below = may_be && has_integers(head.second, columns);
  const bool relations = may_be && columns.rule == Rule::known && columns.relation >= 0;
  const bool alone = may_be && columns.rule == Rule::known && head.second.empty();
  if (stated || integers_below || relations || alone) layout.header_line = line;
  if (layout.header_line > 0 && head.second.empty())
    data_fail("{}: no edges after the header, expected some{}", place,
              alone ? " (--header no: it is an edge)" : "");
  const bool integers = has_integers(layout.header_line > 0 ? head.second : head.first, columns);
  layout.kind = options.ids.value_or(integers ? NodeIds::Kind::integers : NodeIds::Kind::names);
  if (layout.kind == NodeIds::Kind::names && integers_below) layout.header_line = 0;
  layout.doubtful = may_be && layout.header_line == 0 && layout.kind == NodeIds::Kind::names;
  if (layout.header_line == 0 && !layout.doubtful)
    columns = edge_columns(head.columns(), options.columns, place);
  if (columns.rule == Rule::none)
    data_fail(
        "{}: {} columns, of which names make none source and target, expected --source and --target to "
        "say which (a name of the header, or a number from 1); --layout neighbors: a node and its neighbours "
        "in each "
        "line",
        place, head.columns());
  if (layout.header_line > 0) expect_one_kind(path, layout);
  if (columns.rule != Rule::chosen && lower(head.first_comment).starts_with("% bip"))
    data_fail(
        "{}: \"{}\", so that sources and targets are of two kinds, expected ids of one kind (--source 1 "
        "--target 2 takes them as one)",
        excerpt(path), excerpt(head.first_comment));
  return layout;
}

/// Numeric ids can declare any number of nodes. If there are more than the edges justify, each needs
/// features, or one in 16 a label.
void expect_nodes_listed(const std::string& path, const EdgeListOptions& options, int64_t nodes,
                         int64_t edges) {
  const NodeFiles& files = options.node_files;
  const TextInput& input = options.text.input;
  if (nodes <= detail::most_bare_nodes(edges)) return;
  const bool of_all = !files.features.empty();
  if (of_all ? lines_in(files.features, input) >= nodes
             : !files.labels.empty() && nodes <= detail::most_bare_nodes(lines_in(files.labels, input)))
    return;
  data_fail("{}: {} nodes for {} edges, expected ids without large gaps, or mapped ids (--ids integers)",
            excerpt(path), nodes, edges);
}

/// Of a matrix or lists of neighbours, which have all reverses.
ImportedEdges read_entries(const std::string& path, const EdgeListOptions& options, NodeIds& ids,
                           bool& undirected, ReadProgress& reading, std::vector<std::string>& notes) {
  detail::EdgeMatrix matrix;
  const bool lists = options.layout == EdgeLayout::neighbors;
  if (!lists && detail::has_arrays(path)) {
    matrix = detail::read_matrix_arrays(path, options.variable);
  } else {
    if (!options.variable.empty())
      data_fail("{}: a text, which has one matrix, expected no --variable", excerpt(path));
    TextSource source(path, options.text.input, &reading);
    matrix = lists ? detail::read_neighbors(source, options) : detail::read_matrix_text(source, options);
  }
  ImportedEdges edges = detail::edges_of(matrix, path, options, undirected);
  notes.push_back(fmt::format("{}: {}", excerpt(path), matrix.note));
  ids = std::move(matrix.ids);
  return edges;
}

ImportedEdges read_edges(const std::string& path, EdgeListOptions& options, NodeIds& ids, bool& undirected,
                         LabelTexts& labels, ReadProgress& reading, std::vector<std::string>& notes) {
  const TextInput& input = options.text.input;
  const bool arrays = options.layout == EdgeLayout::matrix && detail::has_arrays(path);
  const bool matrix_market = !arrays && has_matrix_market(path, input, options.layout);
  if (matrix_market && options.layout == EdgeLayout::matrix)
    options.layout = EdgeLayout::list;  // in coordinates
  if (options.layout != EdgeLayout::list) return read_entries(path, options, ids, undirected, reading, notes);
  TextSource source(path, input, &reading);
  if (!matrix_market) {
    const ListLayout layout = layout_of(path, options);
    ids = NodeIds(layout.kind);
    ids.reserve_numbers(layout.kind == NodeIds::Kind::numbers ? options.nodes : 0);
    return read_list(source, layout, options, ids, labels, notes);
  }
  if (options.columns.weighted() || !options.columns.source.empty() || !options.columns.label.empty())
    source.fail(1, "a Matrix Market file, expected a list with columns to choose from");
  MatrixMarket matrix = read_matrix_market(source, options);
  ids.reserve_numbers(std::max(matrix.nodes, options.nodes));
  undirected = undirected || matrix.symmetric;
  notes.push_back(fmt::format("{}: Matrix Market: row i is node i - 1, also in files of nodes{}",
                              excerpt(path), source.found()));
  return std::move(matrix.edges);
}

/// Classes instead of numbers of texts, and the splits of labelled edges.
void finish_edge_labels(const std::string& path, const EdgeListOptions& options, const LabelTexts& labels,
                        Dataset& data, std::vector<std::string>& notes) {
  data.task = options.edge_task;
  if (data.task == Task::edge_class) {
    std::vector<int32_t> y = data.edge_y.to_vector<int32_t>();
    std::vector<const std::string*> used(labels.texts().size());  // without that of a header
    for (const int32_t label : y)
      if (label >= 0) used[static_cast<size_t>(label)] = labels.texts()[static_cast<size_t>(label)];
    std::vector<size_t> place(used.size());
    for (size_t text = 0, next = 0; text < used.size(); ++text) place[text] = used[text] ? next++ : 0;
    std::erase(used, nullptr);
    LabelClasses classes = label_classes(used);
    for (int32_t& label : y)
      if (label >= 0) label = classes.class_of[place[static_cast<size_t>(label)]];
    data.edge_y = Tensor::from(y);
    data.classes = std::ssize(classes.names);
    notes.push_back(fmt::format(
        "labels of edges are {}: {} classes{}{}",
        classes.order == LabelClasses::Order::text ? "text, alphabetical" : "numbers, in ascending order",
        data.classes,
        classes.fractions ? ", some with fractions (--edge-task edge_regression for targets)" : "",
        labels.note()));
    if (classes.named) data.class_names = std::move(classes.names);
  }
  data.unlabelled = detail::count_unlabelled(data.edge_y);
  if (data.unlabelled == data.graph.num_edges())
    data_fail("{}: no labels of edges, expected some", excerpt(path));
  if (data.unlabelled > 0)
    notes.push_back(
        fmt::format("{} of {} edges are without a label", data.unlabelled, data.graph.num_edges()));
  if (!options.node_files.split) return;
  data.splits = options.node_files.split->draw(data, path);
  notes.push_back(options.node_files.split->note(data.splits, "edges"));
}

}  // namespace

Dataset import_edge_list(const std::string& path, const EdgeListOptions& wanted,
                         std::vector<std::string>* notes) {
  EdgeListOptions options = wanted;
  const NodeFiles& files = options.node_files;
  const std::vector<std::string> paths{path,        files.features, files.labels,
                                       files.train, files.val,      files.test};
  TextInput& input = options.text.input;
  input.copies = std::make_shared<const InputCopies>(paths);
  std::vector<std::string> unheard;
  if (notes == nullptr) notes = &unheard;
  ReadProgress reading(paths, input);
  Dataset data;
  data.undirected = options.undirected;
  NodeIds ids(NodeIds::Kind::numbers);
  LabelTexts labels(files.missing_labels, [](std::string_view text) { return is_missing(text); });
  ImportedEdges edges = read_edges(path, options, ids, data.undirected, labels, reading, *notes);
  expect_nodes_listed(path, options, ids.size(), edges.size());
  add_listed_nodes(files, options.text, ids, *notes);
  expect_nodes_listed(path, options, ids.size(), edges.size());
  const bool reverses = options.layout == EdgeLayout::list && data.undirected;
  data.graph = edges.graph(path, ids, reverses, options.coalesce);
  data.edge_y = edges.labels();
  NodeFiles of_nodes = files;
  if (data.edge_y) {
    of_nodes.split.reset();
    of_nodes.missing_labels.reset();
  }
  read_node_files(of_nodes, options.text, ids, data, &reading, *notes);
  if (data.edge_y) finish_edge_labels(path, options, labels, data, *notes);
  ids.move_to(data);
  return data;
}

}  // namespace adj
