#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/edge_matrix.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/edge_list.h>

#include <algorithm>
#include <array>

namespace adj {

namespace {

/// What an importer of lists is given by mistake, by the first two lines of the file; empty for others.
std::string other_format(std::string_view line, std::string_view second) {
  const auto via_networkx = [](std::string_view format, std::string_view reader) {
    return fmt::format(
        "{}, expected a list of edges; data/to_adjoint.py reads it: to_adjoint(networkx.{}, \"OUT.h5\")",
        format, reader);
  };
  const std::string begin = lower(trimmed(line).substr(0, 16));
  if (begin.starts_with("<gexf") || lower(trimmed(second)).starts_with("<gexf"))
    return via_networkx("GEXF", "read_gexf(FILE)");
  for (const std::string_view word : {"digraph", "graph", "strict digraph", "strict graph"})
    if (begin.starts_with(word) && trimmed(line).ends_with('{'))
      return via_networkx("DOT", "nx_pydot.read_dot(FILE)");
  if (begin.starts_with("<?xml") || begin.starts_with("<graphml"))
    return via_networkx("XML", "read_graphml(FILE)");
  if (begin.starts_with("{") || begin == "[")
    return via_networkx("JSON", "node_link_graph(json.load(open(FILE)))");
  if (begin.starts_with("graph [") || begin == "graph" || begin.starts_with("creator "))
    return via_networkx("GML", "read_gml(FILE)");
  if (begin.starts_with("*vertices")) return via_networkx("Pajek", "read_pajek(FILE)");
  if (begin.starts_with("nodedef>"))
    return "GDF, expected a list of edges (sed '1,/^edgedef>/d' FILE | cut -d , -f 1,2 makes one)";
  return "";
}

/// Whether the first lines are those of DIMACS: comments "c …", then "p FORMAT NODES EDGES".
bool is_dimacs(const std::string& path, const TextInput& input) {
  TextSource source(path, input);
  for (std::string_view line; source.next(line);) {
    if (line == "c" || line.starts_with("c ") || trimmed(line).empty()) continue;
    std::vector<std::string> fields;
    for (FieldCursor field(line, Separator::blanks); field.next();) fields.emplace_back(field.field());
    return fields.size() == 4 && fields[0] == "p" && integer_in(fields[2]) && integer_in(fields[3]);
  }
  return false;
}

/// Whether the file is Matrix Market, for a matrix: in coordinates. Throws for formats that only look like
/// lists.
bool has_matrix_market(const std::string& path, const TextInput& input, EdgeLayout layout) {
  TextSource source(path, input);
  std::string_view next;
  if (!source.next(next)) return false;
  const std::string line(next);
  const std::string second(source.next(next) ? next : "");
  if (const std::string other = other_format(line, second); !other.empty()) source.fail(1, "{}", other);
  if ((line.starts_with("c") || line.starts_with("p ")) && is_dimacs(path, input))
    source.fail(1, "DIMACS, expected a list of edges (grep '^[ae] ' FILE | cut -d ' ' -f 2- makes one)");
  return is_matrix_market(line) &&
         (layout == EdgeLayout::list || lower(line).find(" array") == std::string::npos);
}

bool has_integers(const std::vector<std::string>& fields, const EdgeColumns& columns,
                  std::optional<Decimal> decimal) {
  const auto is_integer = [&](int64_t column) {
    if (column >= std::ssize(fields)) return false;
    const std::string& field = fields[static_cast<size_t>(column)];
    return !is_code(field) && list_id(field, decimal);
  };
  return is_integer(columns.source) && is_integer(columns.target);
}

/// Pairs as (a, b) or edge(a, b). would have ids as "(a" and "b)."; where names do not say that they are ids,
/// "b;c" is a list.
void expect_single_ids(const TableHead& head, const EdgeColumns& columns, const std::string& place) {
  if (columns.source < 0) return;
  const auto opens = [](const std::string& field, std::string_view pair) {
    return std::ranges::count(field, pair[0]) - std::ranges::count(field, pair[1]);
  };
  const auto is_pair = [&](const std::vector<std::string>& row) {
    if (columns.source >= std::ssize(row)) return false;
    const auto source = row.begin() + columns.source;
    return std::ranges::any_of(std::array<std::string_view, 3>{"()", "[]", "{}"}, [&](std::string_view pair) {
      return opens(*source, pair) > 0 &&
             std::any_of(source + 1, row.end(), [&](const auto& field) { return opens(field, pair) < 0; });
    });
  };
  if (is_pair(head.first) && (head.second.empty() || is_pair(head.second)))
    data_fail("{}: \"{}\", which may be a pair in brackets, expected ids alone ({} removes them)", place,
              excerpt(head.row),
              head.row.find_first_of("([{") == 0 ? "tr -d '()[]{}'" : "sed 's/.*[([{]//; s/[])}].*//'");
  if (columns.rule != EdgeColumns::Rule::rest || head.second.size() != head.first.size()) return;
  for (const int64_t column : {columns.source, columns.target})
    if (const std::string& field = head.second[static_cast<size_t>(column)];
        field.find_first_of(";|") != std::string::npos)
      data_fail(
          "{}: \"{}\" in {}, which may be a list of ids, expected one (--source and --target: it is one)",
          place, excerpt(field), column_text(column, head.first));
}

ListLayout layout_of(const std::string& path, const EdgeListOptions& options) {
  using Rule = EdgeColumns::Rule;
  ListLayout layout;
  TableHead& head = layout.head;
  EdgeColumns& columns = layout.columns;
  const bool numbered = options.ids.value_or(NodeIds::Kind::names) != NodeIds::Kind::names;
  head = read_head(path, options.text, false, [&](const TableHead& seen, const auto&) {
    return !numbered && !has_integers(seen.first, {}, seen.decimal) &&
           !has_integers(seen.second, {}, seen.decimal);
  });
  const std::string place = head.place(path);
  if (head.empty) data_fail("{}: no edges, expected some{}", excerpt(path), head.beside_comments());
  if (head.columns() < 2)
    data_fail("{}: one column, expected two ids (--separator TEXT says what is between them)", place);
  const auto has_colon = [](const std::vector<std::string>& row) {
    return row.empty() || row[0].ends_with(':');
  };
  if (options.columns.source.empty() && has_colon(head.first) && has_colon(head.second))
    data_fail(
        "{}: \"{}\", which may be a node and its neighbours, expected a list of edges (--layout neighbors: a "
        "node and its neighbours in each line; with --source and --target it is a list)",
        place, excerpt(head.row));
  if (!head.is_table && options.header != Header::no && is_title(head.first, head.second))
    data_fail(
        "{}: \"{}\", a line above the header, expected the header first (sed 1d removes it; --header no: all "
        "lines are edges)",
        place, excerpt(head.row));
  const bool stated = head.is_table || options.header == Header::yes ||
                      (options.header == Header::find_out && has_chosen_name(head.first, options.columns));
  const auto says_columns = [&](const std::vector<std::string>& names) {
    return has_chosen_name(names, options.columns) || edge_columns(names, {}, place).rule == Rule::known;
  };
  const bool chosen = !options.columns.source.empty() && !has_chosen_name(head.commented, options.columns);
  const bool commented = !stated && (!chosen || options.header == Header::comment) &&
                         head.take_comment(path, options.header, says_columns);
  const bool may_be = !stated && !commented && options.header == Header::find_out && head.may_be_header() &&
                      (!head.has_numbers() || head.first[0].empty() ||
                       edge_columns(head.first, {}, place).rule == Rule::known);
  const auto without_header = [&] { return edge_columns(head.columns(), options.columns, place); };
  columns =
      stated || commented || may_be ? edge_columns(head.first, options.columns, place) : without_header();

  const bool integers_below = may_be && has_integers(head.second, columns, head.decimal);
  const bool relations = may_be && columns.rule == Rule::known && columns.relation >= 0;
  const bool alone = may_be && columns.rule == Rule::known && head.second.empty();
  const bool ends = may_be && names_ends_alone(head.first);
  if (stated || integers_below || relations || alone || ends) head.take_header();
  if (head.has_header() && head.second.empty())
    data_fail("{}: no edges after the header, expected some{}", place,
              alone ? " (--header no: it is an edge)" : "");
  const bool integers = has_integers(head.has_header() ? head.second : head.first, columns, head.decimal);
  layout.kind = options.ids.value_or(integers ? NodeIds::Kind::integers : NodeIds::Kind::names);
  if (layout.kind == NodeIds::Kind::names && integers_below && !ends) {
    head.format.header_line = 0;
    head.format.header.clear();
  }
  layout.doubtful = may_be && !head.has_header() && layout.kind == NodeIds::Kind::names;
  // A line that lacks an id is no header, whose columns of ids have names.
  const auto lacks = [&](int64_t column) { return is_missing_id(head.first[static_cast<size_t>(column)]); };
  if (layout.doubtful && (head.columns() == 2 || columns.rule == Rule::chosen))
    layout.doubtful = !lacks(columns.source) && !lacks(columns.target);
  if (!head.has_header() && !layout.doubtful) columns = without_header();
  expect_single_ids(head, columns, place);
  if (columns.rule == Rule::none)
    data_fail(
        "{}: {} columns, of which names make none source and target, expected --source and --target to say "
        "which (a name of the header, or a number from 1); --layout neighbors: a node and its neighbours in "
        "each line",
        place, head.columns());
  if (head.has_header()) expect_one_kind(path, layout);
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

/// Of Matrix Market in coordinates: of a symmetric matrix both triangles.
detail::EdgeMatrix read_market_entries(TextSource& source, EdgeListOptions options) {
  options.columns.weight.clear();   // for zeros are no edges, also without weights
  options.drop_self_loops = false;  // edges_of() drops and counts them
  MatrixMarket market = read_matrix_market(source, options);
  detail::EdgeMatrix matrix;
  matrix.ids.reserve_numbers(market.nodes);
  const Graph graph = market.edges.graph(source.path(), matrix.ids, market.symmetric, false);
  const EdgeIndex ends = graph.edge_index();
  const Tensor& weight = graph.edge_weight();
  for (int64_t e = 0; e < graph.num_edges(); ++e)
    matrix.add(ends.src.data<int32_t>()[e], ends.dst.data<int32_t>()[e],
               weight ? weight.data<float>()[e] : 1.0f);
  matrix.rounding = market.rounding;
  matrix.note = fmt::format("Matrix Market: row i is node i - 1, also in files of nodes{}", source.found());
  return matrix;
}

/// Of a matrix or lists of neighbours, which have all reverses.
ImportedEdges read_entries(const std::string& path, const EdgeListOptions& options, bool matrix_market,
                           NodeIds& ids, bool& undirected, ReadProgress& reading,
                           std::vector<std::string>& notes) {
  detail::EdgeMatrix matrix;
  const bool lists = options.layout == EdgeLayout::neighbors;
  if (!lists && detail::has_arrays(path)) {
    matrix = detail::read_matrix_arrays(path, options.variable);
  } else {
    if (!options.variable.empty())
      data_fail("{}: a text, which has one matrix, expected no --variable", excerpt(path));
    TextSource source(path, options.text.input, &reading);
    matrix = lists           ? detail::read_neighbors(source, options)
             : matrix_market ? read_market_entries(source, options)
                             : detail::read_matrix_text(source, options);
  }
  ImportedEdges edges = detail::edges_of(matrix, path, options, undirected);
  notes.push_back(fmt::format("{}: {}", excerpt(path), matrix.note));
  ids = std::move(matrix.ids);
  return edges;
}

ImportedEdges read_edges(const std::string& path, EdgeListOptions& options, NodeIds& ids, Dataset& data,
                         LabelTexts& labels, ReadProgress& reading, std::vector<std::string>& notes) {
  const TextInput& input = options.text.input;
  const bool arrays = options.layout == EdgeLayout::matrix && detail::has_arrays(path);
  const bool matrix_market = !arrays && has_matrix_market(path, input, options.layout);
  if (options.layout != EdgeLayout::list)
    return read_entries(path, options, matrix_market, ids, data.undirected, reading, notes);
  TextSource source(path, input, &reading);
  if (!matrix_market) {
    ListLayout layout = layout_of(path, options);
    ids = NodeIds(layout.kind, layout.head.decimal.value_or(Decimal::point));
    ids.reserve_numbers(layout.kind == NodeIds::Kind::numbers ? options.nodes : 0);
    if (layout.head.has_header() || layout.doubtful)
      for (const int64_t end : {layout.columns.source, layout.columns.target})
        options.node_files.columns.ends.push_back(layout.head.first[static_cast<size_t>(end)]);
    ImportedEdges edges = read_list(source, layout, options, ids, labels, notes);
    if (layout.head.has_header() && layout.columns.label >= 0 && options.edge_task == Task::edge_regression)
      data.class_names = {layout.head.first[static_cast<size_t>(layout.columns.label)]};
    return edges;
  }
  if (options.columns.weighted() || !options.columns.source.empty() || !options.columns.label.empty())
    source.fail(1, "a Matrix Market file, expected a list with columns to choose from");
  MatrixMarket matrix = read_matrix_market(source, options);
  ids.reserve_numbers(std::max(matrix.nodes, options.nodes));
  data.undirected = data.undirected || matrix.symmetric;
  const int64_t zeros = matrix.edges.zeros();
  notes.push_back(fmt::format(
      "{}: Matrix Market: row i is node i - 1, also in files of nodes{}{}{}", excerpt(path), source.found(),
      options.columns.weight == "none" ? "" : matrix.rounding.note("weight"),
      zeros == 0 ? ""
                 : fmt::format("; {} of {} entries are 0 and still edges (--layout matrix leaves them out)",
                               zeros, matrix.edges.size())));
  return std::move(matrix.edges);
}

/// Notes edges that join the same two nodes in the same direction; `reverses`: --undirected added some.
void note_parallel(const std::string& path, const Graph& graph, bool reverses, bool mergeable,
                   std::vector<std::string>& notes) {
  const Csr& csr = graph.in_edges();
  const int64_t* const offsets = csr.offsets.data<int64_t>();
  const int32_t* const sources = csr.indices.data<int32_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < csr.rows; ++i)
    for (int64_t e = offsets[i] + 1; e < offsets[i + 1]; ++e) count += sources[e] == sources[e - 1];
  if (count == 0) return;
  notes.push_back(
      fmt::format("{}: {} of {} edges repeat another{}{}", excerpt(path), count, graph.num_edges(),
                  reverses ? "; where the list has both directions, --undirected adds them again" : "",
                  mergeable ? " (--coalesce merges them)" : ""));
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
    notes.push_back(fmt::format("labels of edges are {}: {} classes{}{}", classes.order_text(), data.classes,
                                classes.hint("--edge-task edge_regression"), labels.note()));
    if (classes.named) data.class_names = std::move(classes.names);
  } else if (const std::string problem = detail::problem_of_names(data.class_names); !problem.empty()) {
    notes.push_back(fmt::format("{}: name of the target not kept: {}", excerpt(path), problem));
    data.class_names.clear();
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
  ImportedEdges edges = read_edges(path, options, ids, data, labels, reading, *notes);
  expect_nodes_listed(path, options, ids.size(), edges.size());
  choose_matching_id(options.node_files, options.text, ids, *notes);
  add_listed_nodes(files, options.text, ids, *notes);
  expect_nodes_listed(path, options, ids.size(), edges.size());
  const bool reverses = options.layout == EdgeLayout::list && data.undirected;
  const int64_t all = edges.size(reverses);
  data.graph = edges.graph(path, ids, reverses, options.coalesce);
  data.edge_y = edges.labels();
  if (options.drop_self_loops)
    notes->push_back(fmt::format("{}: {}", excerpt(path), edges.dropped_note(ids)));
  if (options.coalesce)
    notes->push_back(fmt::format("{}: {} of {} edges merged with equal ones{}{}", excerpt(path),
                                 all - data.graph.num_edges(), all,
                                 data.graph.edge_weight() ? ", adding their weights" : "",
                                 detail::zero_weights(data.graph.edge_weight())));
  note_parallel(path, data.graph, reverses, !data.edge_y, *notes);
  if (data.edge_y && !(files.train.empty() && files.split_column.empty()))
    data_fail("{}: a split of nodes and labels of edges, expected a split of edges", excerpt(path));
  NodeFiles of_nodes = files;
  if (data.edge_y) {
    of_nodes.split.reset();
    of_nodes.missing_labels.reset();
    of_nodes.split_items = "edges";
  }
  read_node_files(of_nodes, options.text, ids, data, &reading, *notes);
  if (data.edge_y) finish_edge_labels(path, options, labels, data, *notes);
  ids.move_to(data);
  return data;
}

}  // namespace adj
