#pragma once

#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/label_classes.h>
#include <adjoint/data/import/table_head.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace adj {

/// Format of an edge list, known before its edges are read.
struct ListLayout {
  TableHead head;
  EdgeColumns columns;
  NodeIds::Kind kind = NodeIds::Kind::names;
  bool doubtful = false;  ///< the first line may be a header; the ids of the other lines decide
};

/// An integer as lists write ids: also 7.0, as data frames do, but not 1e5.
inline std::optional<int64_t> list_id(std::string_view text, std::optional<Decimal> decimal) {
  const std::optional<int64_t> integer = integer_in(text);
  return integer ? integer : integer_in(without_fraction(text, decimal.value_or(Decimal::point)));
}

/// Throws DataError if the header's names say that edges or nodes are of several kinds.
void expect_one_kind(const std::string& path, const ListLayout& layout);

/// Throws DataError for a graph of METIS: a `first` line with the numbers of nodes and edges, then a line for
/// each node, with so many neighbours in all.
void expect_no_metis(const TextSource& source, std::span<const std::string> first, int64_t lines,
                     int64_t neighbors);

/// The least and the largest of ids and 0.
struct IdRange {
  int64_t least = 0, most = 0;
  void add(int64_t id) {
    least = std::min(least, id);
    most = std::max(most, id);
  }
};
/// Throws DataError for a list of `rows` lines whose first one may be the numbers of nodes and of edges: so
/// many lines follow, without larger ids (`below`).
void expect_no_counts(const TextSource& source, const TableHead& head, int64_t rows, const IdRange& below);

/// Reads an edge list in parallel, and decides whether its first line is a header, in `layout`. Adds the
/// texts of classes of edges to `labels`, and a note on what was detected.
ImportedEdges read_list(TextSource& source, ListLayout& layout, const EdgeListOptions& options, NodeIds& ids,
                        LabelTexts& labels, std::vector<std::string>& notes);

}  // namespace adj
