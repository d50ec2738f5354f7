#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_files.h>

#include <optional>
#include <string>

namespace adj {

/// What happens to a line without an id: empty or is_missing(). `keep`: such a text, unless empty, is a
/// name as any other (NA may be Namibia).
enum class MissingIds : uint8_t { fail, drop, keep };
constexpr auto names_of(MissingIds) { return std::array{"error", "drop", "keep"}; }  ///< in options

/// What a file of edges is: a list of them; lists of neighbours, a node and its neighbours in each line; or a
/// square matrix, whose entry in row i and column j is the edge from node i to node j, and 0 is none.
enum class EdgeLayout : uint8_t { list, neighbors, matrix };
constexpr auto names_of(EdgeLayout) { return std::array{"list", "neighbors", "matrix"}; }  ///< for options

/// Options for reading an edge list.
struct EdgeListOptions {
  EdgeLayout layout = EdgeLayout::list;  ///< of the file
  std::string variable = {};             ///< the matrix in a file of several
  /// Default: integers if the ids of the first edge are, else names.
  std::optional<NodeIds::Kind> ids = {};
  int64_t nodes = 0;                 ///< for numeric ids: minimum number of nodes
  Header header = Header::find_out;  ///< of the list; NodeFiles::headers of the others
  TextFormat text = {};              ///< of all text files
  /// Of a Matrix Market file only `weight` "none" means something: its values are ignored.
  EdgeColumnNames columns = {};
  MissingIds missing_ids = MissingIds::fail;  ///< in columns of ids
  bool undirected = false;                    ///< treat edges as undirected: append reverses
  bool coalesce = false;                      ///< merge equal edges, adding weights
  bool drop_self_loops = false;               ///< leave out edges from a node to itself
  /// With columns.label. edge_class: any text, classes in ascending order; edge_regression: numbers.
  Task edge_task = Task::edge_class;
  NodeFiles node_files = {};  ///< features, labels and splits of the nodes
};

/// Imports an edge list, plain or gzip: one edge per line, its fields separated by tab, semicolon, comma or
/// blanks, as detected from the first line, or by a chosen text (TextFormat), with RFC 4180 quotes. The
/// header's names say which columns are source, target and weight (edge_columns.h): source and target, src
/// and dst, from and to, head and tail, :START_ID and :END_ID, …, in any case, order and company; without a
/// header the first two columns are source and target. With tab-separated numbers, a line without a tab is
/// split at blanks. Or a Matrix Market file (coordinate; real, integer or pattern; general or symmetric;
/// entry i, j is the edge from node i - 1 to node j - 1), detected by its first line. Ids are kept
/// (Dataset::node_ids, node_names). Edges keep the list's order; reverses follow them.
///
/// The first line is a header if none of its fields is a number, its ids occur in no other line, and either
/// the second line has a number below a word, or its names are those of source and target, or it is the only
/// line whose ids occur nowhere else; that one is refused if it may be an edge, without a usual name. Names
/// that say nothing but source and target are a header whatever the other lines are. Later lines that repeat
/// the header are passed over, unless its names are nodes.
///
/// A matrix is text, with or without the nodes' names in its first line and first column (which are matched),
/// the array format of Matrix Market, .npy, .npz (scipy.sparse.save_npz, or a square array) or .mat (MATLAB 5
/// to 7.3). Weights are kept unless all are 1. Edges come by source, then target. A symmetric one is
/// undirected; with `undirected` one triangle may be empty. Lists of neighbours may have a colon behind the
/// node; with `undirected` an edge may be listed once.
///
/// With a column of edge labels the dataset is one of labelled edges; NodeFiles::missing_labels are texts
/// that mean none beside empty, NA, nan, … (but not -1), and NodeFiles::split divides the labelled edges.
///
/// `notes`: lines about what was detected ("links.csv: separated by a comma; line 1 taken as header:
/// src,dst,n; edges from src to dst; passed over: n; ids are names"), and those of read_node_files().
///
/// Pipes are copied to files without a name in the folder of temporary files first.
///
/// Takes the memory of the result plus about 300 MB; `coalesce` of weighted edges takes a few times that.
/// Throws DataError naming file and line: columns whose names leave open which are source and target, name
/// ids of two kinds (userId, movieId) or relations, unless EdgeListOptions::columns says which; what may be
/// an adjacency matrix or lists of neighbours, or is GraphML, GML, Pajek or JSON; a line with another number
/// of columns than the first, a missing or invalid id, a weight that is not a finite number, equal edges
/// whose weights overflow float32, a comment that may be an edge, 2^31 - 1 or more nodes or edges, no edges,
/// numeric ids far larger than the number of edges; a Matrix Market file that is not square, or whose entries
/// do not match its size line; a column of edge labels with none; and as read_node_files().
Dataset import_edge_list(const std::string& path, const EdgeListOptions& options,
                         std::vector<std::string>* notes = nullptr);

}  // namespace adj
