#pragma once

#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/rounding.h>
#include <adjoint/data/import/text_source.h>

#include <string>
#include <vector>

namespace adj::detail {

/// The entries of a square matrix, or the pairs of lists of neighbours: [i, j] is an edge from node i to node
/// j.
struct EdgeMatrix {
  struct Entry {
    int32_t row, col;
    float value;
  };
  NodeIds ids{NodeIds::Kind::numbers};
  std::vector<Entry> entries = {};
  Rounding rounding = {};  ///< of the values
  bool lists = false;      ///< of neighbours: no weights; a pair that is listed twice is one
  std::string note = {};  ///< on the format, for a summary: "separated by a comma; names from the first line"

  void add(int64_t row, int64_t col, float value) {
    entries.push_back({static_cast<int32_t>(row), static_cast<int32_t>(col), value});
  }
  int64_t size() const { return std::ssize(entries); }
  /// Adds nodes by their names, integers if all are. Throws DataError beginning with `place` for two equal
  /// ones.
  void set_names(const std::vector<std::string>& names, const std::string& place);
};

/// The graph's edges, by source, then target: of all entries but zeros, with weights unless all are 1 or
/// `options` wants none. Equal entries are added up. A symmetric matrix is undirected; with --undirected one
/// triangle may be empty, and lists may have each edge once. Sets `undirected`, and completes `matrix.note`.
/// Throws DataError for a matrix that has to be undirected and is not, and for one without entries.
ImportedEdges edges_of(EdgeMatrix& matrix, const std::string& path, const EdgeListOptions& options,
                       bool& undirected);

/// A matrix as text: a row in each line, with or without names of rows and columns, which are then matched;
/// or the array format of Matrix Market. Throws DataError naming file and line.
EdgeMatrix read_matrix_text(TextSource& source, const EdgeListOptions& options);
/// A file of arrays: .npy, .npz (a sparse matrix of scipy, or one array), .mat. `variable`: the array's name,
/// if there are several. Throws DataError.
EdgeMatrix read_matrix_arrays(const std::string& path, const std::string& variable);
/// Whether a file begins as one of these do.
bool has_arrays(const std::string& path);
/// Lists of neighbours: a node and its neighbours in each line, separated as in any list of edges; a colon
/// may follow the node. Throws DataError naming file and line.
EdgeMatrix read_neighbors(TextSource& source, const EdgeListOptions& options);

}  // namespace adj::detail
