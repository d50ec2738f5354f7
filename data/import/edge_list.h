#pragma once

#include <adjoint/data/import/node_files.h>

#include <optional>
#include <string>

namespace adj {

/// How a list of edges is read, and what is made of it.
struct EdgeListOptions {
  /// Integers if those of the first edge are, else names, where it is not given.
  std::optional<NodeIds::Kind> ids = {};
  int64_t nodes = 0;          ///< of ids that are numbers: so many at least
  bool header = false;        ///< the first line is one whatever stands in it
  int64_t weight_column = 0;  ///< counted from 1; 0: none
  bool unweighted = false;    ///< values of a Matrix Market file are left out
  bool undirected = false;    ///< an edge stands for both directions: those behind are added
  bool coalesce = false;      ///< equal edges become one, weights added
  bool drop_self_loops = false;
  NodeFiles node_files;
};

/// A dataset of a list of edges, plain or gzip: a line an edge, source and target, separated by tab,
/// semicolon, comma or blanks, as the first line has it; lines that begin with # or % are passed over, and so
/// are further columns. A first line whose ids are no integers where the second's are is a header. Or a
/// Matrix Market file (coordinate; real, integer or pattern; general or symmetric; entry i, j is the edge
/// from node i - 1 to node j - 1), told by its first line. Ids are kept (Dataset::node_ids, node_names).
/// Edges keep the order of the list; reverses stand behind.
///
/// Takes the memory of the result and some 300 MB, with `coalesce` of weighted edges a few times that. Throws
/// DataError naming file and line: a line of other columns than the first, an id that is none, a weight that
/// is no finite number, 2^31 - 1 nodes or edges or more, no edges, numbers as ids far beyond what there are
/// edges of; a Matrix Market file that is not square, or has other entries than its size line says; and as
/// read_node_files().
Dataset import_edge_list(const std::string& path, const EdgeListOptions& options);

}  // namespace adj
