#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>

namespace adj {

namespace {

/// As load_dataset() has it: nodes of which nothing but their number is known.
constexpr int64_t kBareNodes = 1'000'000;
constexpr int64_t kBareNodesPerEdge = 16;

bool passed_over(std::string_view line) {
  return line.empty() || line[0] == '#' || line[0] == '%' || trimmed(line).empty();
}

/// What the first lines of a list say about all.
struct Layout {
  bool matrix_market = false;
  Separator separator = Separator::blanks;
  int64_t columns = 0;
  bool integers = true;     // are the ids of the first edge
  int64_t header_line = 0;  // 0: none
};

bool begins_with_integers(std::string_view line, Separator separator) {
  FieldCursor at(line, separator);
  return at.next() && integer_in(at.field()) && at.next() && integer_in(at.field());
}

Layout layout_of(const std::string& path, bool header) {
  TextSource source(path);
  Layout layout;
  std::string first;
  int64_t first_line = 0;
  for (std::string_view line; source.next(line);) {
    if (source.line_number() == 1 && is_matrix_market(line)) {
      layout.matrix_market = true;
      return layout;
    }
    if (passed_over(line)) continue;
    if (first_line == 0) {
      first = line;
      first_line = source.line_number();
      layout.separator = separator_of(line);
      for (FieldCursor at(line, layout.separator); at.next();) ++layout.columns;
      layout.integers = begins_with_integers(line, layout.separator);
      if (layout.integers && !header) break;
      continue;
    }
    const bool integers = begins_with_integers(line, layout.separator);
    if (header || integers) {
      layout.header_line = first_line;
      layout.integers = integers;
    }
    break;
  }
  if (first_line == 0) source.fail(0, "no edges, expected some");
  if (header && layout.header_line == 0) source.fail(first_line, "no edges behind the header, expected some");
  if (layout.columns < 2) source.fail(first_line, "one column, expected two ids");
  return layout;
}

/// The edges of one block of lines. Names point into the block.
struct Ends {
  std::vector<int64_t> ids;
  std::vector<std::string_view> names;
  std::vector<float> weights;
  int64_t last_line = 0;
};

class ListReader {
 public:
  ListReader(TextSource& source, const Layout& layout, const EdgeListOptions& options, NodeIds& ids)
      : source_(source),
        layout_(layout),
        options_(options),
        ids_(ids),
        edges_(options.weight_column > 0, options.drop_self_loops) {}

  ImportedEdges read() {
    source_.for_blocks([this](const TextBlock& block) { return parse(block); },
                       [this](const Ends& ends) { take(ends); });
    return std::move(edges_);
  }

 private:
  bool named() const { return ids_.kind() == NodeIds::Kind::names; }

  Ends parse(const TextBlock& block) const {
    Ends ends;
    for (LineCursor at(block); at.next();) {
      const std::string_view line = at.line();
      if (passed_over(line) || at.number() == layout_.header_line) continue;
      ends.last_line = at.number();
      int64_t column = 0;
      for (FieldCursor field(line, layout_.separator); field.next();) {
        ++column;
        if (column <= 2) {
          add_id(field.field(), at.number(), column, ends);
        } else if (column == options_.weight_column) {
          const auto weight = float_in(field.field());
          if (!weight)
            source_.fail(at.number(), "\"{}\" in column {}, expected a weight, finite and within float32",
                         excerpt(field.field()), column);
          ends.weights.push_back(*weight);
        }
      }
      if (column != layout_.columns)
        source_.fail(at.number(), "{} fields, expected {} as in the first line", column, layout_.columns);
    }
    return ends;
  }

  void add_id(std::string_view field, int64_t line, int64_t column, Ends& ends) const {
    if (named()) {
      if (field.empty()) source_.fail(line, "nothing in column {}, expected the id of a node", column);
      ends.names.push_back(field);
      return;
    }
    const auto id = integer_in(field);
    const bool numbers = ids_.kind() == NodeIds::Kind::numbers;
    if (!id && !numbers)
      source_.fail(line, "\"{}\" in column {}, expected an integer of 64 bits, as the first ids are",
                   excerpt(field), column);
    if (numbers && (!id || *id < 0 || *id >= NodeIds::kMost))
      source_.fail(line, "\"{}\" in column {}, expected an integer from 0 to {}", excerpt(field), column,
                   NodeIds::kMost - 1);
    ends.ids.push_back(*id);
  }

  void take(const Ends& ends) {
    const size_t edges = (ends.ids.size() + ends.names.size()) / 2;
    if (edges_.size() + static_cast<int64_t>(edges) > ImportedEdges::kMost)
      source_.fail(ends.last_line, "more than {} edges, expected at most that", ImportedEdges::kMost);
    for (size_t k = 0; k < edges; ++k) {
      const int32_t src = named() ? ids_.add(ends.names[2 * k]) : ids_.add(ends.ids[2 * k]);
      const int32_t dst = named() ? ids_.add(ends.names[2 * k + 1]) : ids_.add(ends.ids[2 * k + 1]);
      if (src < 0 || dst < 0)
        source_.fail(ends.last_line, "more than {} nodes by then, expected at most that", NodeIds::kMost);
      edges_.append(src, dst, ends.weights.empty() ? 1.0f : ends.weights[k]);
    }
  }

  TextSource& source_;
  const Layout& layout_;
  const EdgeListOptions& options_;
  NodeIds& ids_;
  ImportedEdges edges_;
};

void expect_nodes_known(const std::string& path, const Dataset& data, int64_t nodes) {
  if (data.x || data.y) return;
  if (nodes > std::max(kBareNodes, kBareNodesPerEdge * data.graph.num_edges()))
    data_fail("{}: {} nodes for {} edges, expected ids that number the nodes, or ids that are mapped to such",
              excerpt(path), nodes, data.graph.num_edges());
}

}  // namespace

Dataset import_edge_list(const std::string& path, const EdgeListOptions& options) {
  const NodeFiles& files = options.node_files;
  Layout layout = layout_of(path, options.header);
  ReadProgress reading{path, files.features, files.labels, files.train, files.val, files.test};
  TextSource source(path, &reading);
  Dataset data;
  bool undirected = options.undirected;
  NodeIds::Kind kind = layout.integers ? NodeIds::Kind::integers : NodeIds::Kind::names;
  if (layout.matrix_market)
    kind = NodeIds::Kind::numbers;
  else if (options.ids)
    kind = *options.ids;
  NodeIds ids(kind);
  ids.reserve_numbers(kind == NodeIds::Kind::numbers ? options.nodes : 0);
  const auto finish = [&](ImportedEdges edges) {
    data.graph = edges.graph(path, ids.size(), undirected, options.coalesce);
  };
  if (layout.matrix_market) {
    if (options.weight_column > 0)
      source.fail(1, "a Matrix Market file, expected a list with a column of weights");
    MatrixMarket matrix = read_matrix_market(source, options);
    ids.reserve_numbers(matrix.nodes);
    undirected = undirected || matrix.symmetric;
    finish(std::move(matrix.edges));
  } else {
    // Ids hold no blanks where they are numbers: those may stand beside tabs.
    if (kind != NodeIds::Kind::names && layout.separator == Separator::tab)
      layout.separator = Separator::blanks;
    if (options.weight_column > layout.columns || options.weight_column == 1 || options.weight_column == 2)
      source.fail(0, "{} columns, expected weights in column {} behind two ids", layout.columns,
                  options.weight_column);
    const int64_t unused = layout.columns - 2 - (options.weight_column > 0 ? 1 : 0);
    if (unused > 0) log_warning("{}: {} columns besides are passed over", excerpt(path), unused);
    finish(ListReader(source, layout, options, ids).read());
  }
  data.undirected = undirected;
  read_node_files(files, ids, data, &reading);
  expect_nodes_known(path, data, ids.size());
  ids.move_to(data);
  return data;
}

}  // namespace adj
