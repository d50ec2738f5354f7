#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/edge_list.h>

#include <algorithm>

namespace adj {

namespace {

bool begins_with_integers(const std::vector<std::string>& fields) {
  return fields.size() > 1 && integer_in(fields[0]) && integer_in(fields[1]);
}

bool has_matrix_market(const std::string& path) {
  TextSource source(path);
  std::string_view line;
  return source.next(line) && is_matrix_market(line);
}

ListLayout layout_of(const std::string& path, const EdgeListOptions& options) {
  ListLayout layout;
  TableHead& head = layout.head;
  const bool numbered = options.ids.value_or(NodeIds::Kind::names) != NodeIds::Kind::names;
  head = read_head(path, options.comment, false, [&](const TableHead& seen, const auto&) {
    return !numbered && !begins_with_integers(seen.first) && !begins_with_integers(seen.second);
  });
  const int64_t line = head.format.first_line;
  if (head.empty) data_fail("{}: no edges, expected some{}", excerpt(path), head.beside_comments());
  if (head.columns() < 2) data_fail("{}:{}: one column, expected two ids", excerpt(path), line);
  const bool may_be = options.header == Header::find_out && head.may_be_header();
  const bool integers_below = may_be && begins_with_integers(head.second);
  const bool alone =
      may_be && head.second.empty() && is_column_name(head.first[0]) && is_column_name(head.first[1]);
  if (options.header == Header::yes || integers_below || alone) layout.header_line = line;
  if (layout.header_line > 0 && head.second.empty())
    data_fail("{}:{}: no edges after the header, expected some{}", excerpt(path), line,
              alone ? " (--header no: it is an edge)" : "");
  const bool integers = begins_with_integers(layout.header_line > 0 ? head.second : head.first);
  layout.kind = options.ids.value_or(integers ? NodeIds::Kind::integers : NodeIds::Kind::names);
  if (layout.kind == NodeIds::Kind::names && integers_below) layout.header_line = 0;
  layout.doubtful = may_be && layout.header_line == 0;
  return layout;
}

/// Numeric ids can declare any number of nodes. If there are more than the edges justify, each needs
/// features, or one in 16 a label.
void expect_nodes_listed(const std::string& path, const NodeFiles& files, int64_t nodes, int64_t edges) {
  if (nodes <= detail::most_bare_nodes(edges)) return;
  const bool of_all = !files.features.empty();
  if (of_all ? lines_in(files.features) >= nodes
             : !files.labels.empty() && nodes <= detail::most_bare_nodes(lines_in(files.labels)))
    return;
  data_fail("{}: {} nodes for {} edges, expected ids without large gaps, or mapped ids (--ids integers)",
            excerpt(path), nodes, edges);
}

}  // namespace

Dataset import_edge_list(const std::string& path, const EdgeListOptions& options,
                         std::vector<std::string>* notes) {
  const NodeFiles& files = options.node_files;
  std::vector<std::string> unheard;
  if (notes == nullptr) notes = &unheard;
  const bool matrix_market = has_matrix_market(path);
  ListLayout layout;
  if (matrix_market)
    layout.kind = NodeIds::Kind::numbers;
  else
    layout = layout_of(path, options);
  ReadProgress reading{path, files.features, files.labels, files.train, files.val, files.test};
  TextSource source(path, &reading);
  NodeIds ids(layout.kind);
  ids.reserve_numbers(layout.kind == NodeIds::Kind::numbers ? options.nodes : 0);
  Dataset data;
  data.undirected = options.undirected;
  const auto finish = [&](ImportedEdges edges) {
    expect_nodes_listed(path, files, ids.size(), edges.size());
    data.graph = edges.graph(path, ids, data.undirected, options.coalesce);
  };
  if (matrix_market) {
    if (options.weight_column > 0)
      source.fail(1, "a Matrix Market file, expected a list with a column of weights");
    MatrixMarket matrix = read_matrix_market(source, options);
    ids.reserve_numbers(matrix.nodes);
    data.undirected = data.undirected || matrix.symmetric;
    notes->push_back(
        fmt::format("{}: Matrix Market: row i is node i - 1, also in files of nodes", excerpt(path)));
    finish(std::move(matrix.edges));
  } else {
    finish(read_list(source, layout, options, ids, *notes));
  }
  read_node_files(files, options.comment, ids, data, &reading, *notes);
  ids.move_to(data);
  return data;
}

}  // namespace adj
