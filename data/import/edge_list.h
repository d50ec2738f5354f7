#pragma once

#include <adjoint/data/import/node_files.h>

#include <optional>
#include <string>

namespace adj {

/// How a list of edges is read, and what is made of it.
struct EdgeListOptions {
  /// Integers if those of the first edge are, else names, where it is not given.
  std::optional<NodeIds::Kind> ids = {};
  int64_t nodes = 0;  ///< of ids that are numbers: so many at least
  Header header = Header::find_out;
  /// Lines that begin with it are comments, in all files of text; empty: none are. Where it is not given,
  /// those before the first row that begin with # or %.
  std::optional<std::string> comment = {};
  int64_t weight_column = 0;  ///< counted from 1; 0: none
  bool unweighted = false;    ///< values of a Matrix Market file are left out
  bool undirected = false;    ///< an edge stands for both directions: those behind are added
  bool coalesce = false;      ///< equal edges become one, weights added
  bool drop_self_loops = false;
  NodeFiles node_files = {};
};

/// A dataset of a list of edges, plain or gzip: a line an edge, source and target, separated by tab,
/// semicolon, comma or blanks, as the first edge has it, in quotes as RFC 4180 has them; further columns are
/// passed over. Of numbers between tabs, a line without a tab is separated by blanks. Or a Matrix Market file
/// (coordinate; real, integer or pattern; general or symmetric; entry i, j is the edge from node i - 1 to
/// node j - 1), told by its first line. Ids are kept (Dataset::node_ids, node_names). Edges keep the order of
/// the list; reverses stand behind.
///
/// The first line is a header where none of its fields is a number, its ids stand in no other line, and
/// either the second line has a number below a word, or the two are common names of columns (is_column_name),
/// or it is the only line whose ids stand nowhere else.
///
/// `notes`: lines that say what was found so ("links.csv: separated by a comma; line 1 taken as header:
/// src,dst; ids are names"), and what read_node_files() adds.
///
/// Takes the memory of the result and some 300 MB, with `coalesce` of weighted edges a few times that. Throws
/// DataError naming file and line: a line of other columns than the first, an id that is none, a weight that
/// is no finite number, equal edges whose weights add up beyond float32, a comment that may be an edge,
/// 2^31 - 1 nodes or edges or more, no edges, numbers as ids far beyond what there are edges of; a Matrix
/// Market file that is not square, or has other entries than its size line says; and as read_node_files().
Dataset import_edge_list(const std::string& path, const EdgeListOptions& options,
                         std::vector<std::string>* notes = nullptr);

}  // namespace adj
