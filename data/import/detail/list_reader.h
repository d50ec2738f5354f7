#pragma once

#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/label_classes.h>
#include <adjoint/data/import/table_head.h>

#include <vector>

namespace adj {

/// Format of an edge list, known before its edges are read.
struct ListLayout {
  TableHead head;
  EdgeColumns columns;
  NodeIds::Kind kind = NodeIds::Kind::names;
  int64_t header_line = 0;  ///< 0: none
  bool doubtful = false;    ///< the first line may be a header; the ids of the other lines decide
};

/// Throws DataError if the header's names say that edges or nodes are of several kinds.
void expect_one_kind(const std::string& path, const ListLayout& layout);

/// Reads an edge list in parallel, and decides whether its first line is a header. Adds the texts of classes
/// of edges to `labels`, and a note on what was detected.
ImportedEdges read_list(TextSource& source, const ListLayout& layout, const EdgeListOptions& options,
                        NodeIds& ids, LabelTexts& labels, std::vector<std::string>& notes);

}  // namespace adj
