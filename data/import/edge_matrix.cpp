#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/edge_matrix.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace adj::detail {

namespace {

/// Sorts the entries by row, then column, and merges equal ones.
void sort_entries(EdgeMatrix& matrix) {
  std::vector<std::pair<uint64_t, float>> entries(matrix.rows.size());
  for (size_t k = 0; k < entries.size(); ++k)
    entries[k] = {static_cast<uint64_t>(matrix.rows[k]) << 32 | static_cast<uint32_t>(matrix.cols[k]),
                  matrix.values[k]};
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(entries.begin(), entries.end(), before))
    std::stable_sort(entries.begin(), entries.end(), before);
  matrix.rows.clear();
  matrix.cols.clear();
  matrix.values.clear();
  int64_t merged = 0;
  for (size_t k = 0; k < entries.size(); ++k) {
    const auto [key, value] = entries[k];
    if (k > 0 && key == entries[k - 1].first) {
      ++merged;
      if (!matrix.lists) matrix.values.back() += value;
    } else {
      matrix.add(static_cast<int64_t>(key >> 32), static_cast<int64_t>(key & 0xffffffffu), value);
    }
  }
  if (merged > 0)
    matrix.note +=
        fmt::format("; {} equal entries {}", merged, matrix.lists ? "counted once" : "added to others");
}

void drop_zeros(EdgeMatrix& matrix) {
  size_t kept = 0;
  for (size_t k = 0; k < matrix.rows.size(); ++k) {
    if (matrix.values[k] == 0.0f) continue;
    matrix.rows[kept] = matrix.rows[k];
    matrix.cols[kept] = matrix.cols[k];
    matrix.values[kept++] = matrix.values[k];
  }
  const size_t zeros = matrix.rows.size() - kept;
  matrix.rows.resize(kept);
  matrix.cols.resize(kept);
  matrix.values.resize(kept);
  if (zeros > 0) matrix.note += fmt::format("; {} stored zeros are no edges", zeros);
}

/// Finds the entries of sorted matrices.
class EntryFinder {
 public:
  explicit EntryFinder(const EdgeMatrix& matrix)
      : matrix_(matrix), begins_(static_cast<size_t>(matrix.ids.size()) + 1) {
    for (const int32_t row : matrix.rows) ++begins_[static_cast<size_t>(row) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }
  /// 0: there is none.
  float value(int32_t row, int32_t col) const {
    const auto begin = matrix_.cols.begin() + begins_[static_cast<size_t>(row)],
               end = matrix_.cols.begin() + begins_[static_cast<size_t>(row) + 1],
               found = std::lower_bound(begin, end, col);
    return found == end || *found != col ? 0.0f
                                         : matrix_.values[static_cast<size_t>(found - matrix_.cols.begin())];
  }

 private:
  const EdgeMatrix& matrix_;
  std::vector<int64_t> begins_;
};

}  // namespace

void EdgeMatrix::set_names(const std::vector<std::string>& names, const std::string& place) {
  const bool integers =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return integer_in(name); });
  ids = NodeIds(integers ? NodeIds::Kind::integers : NodeIds::Kind::names);
  for (size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty()) data_fail("{}: node {} has no name, expected one", place, k + 1);
    if (!is_utf8(names[k])) data_fail("{}: a name that is no UTF-8, expected UTF-8 (or --encoding)", place);
    (void)ids.add_text(names[k]);
    if (ids.size() != static_cast<int64_t>(k) + 1)
      data_fail("{}: \"{}\" is the name of two nodes, expected different ones", place, excerpt(names[k]));
  }
}

ImportedEdges edges_of(EdgeMatrix& matrix, const std::string& path, const EdgeListOptions& options,
                       bool& undirected) {
  sort_entries(matrix);
  drop_zeros(matrix);
  const size_t count = matrix.rows.size();
  if (count == 0) data_fail("{}: no edges, expected some", excerpt(path));
  const auto name = [&](int32_t node) { return excerpt(matrix.ids.text(node)); };
  int64_t above = 0, below = 0;
  std::vector<size_t> alone;  // entries without an equal one on the other side
  const EntryFinder finder(matrix);
  for (size_t k = 0; k < count; ++k) {
    const int32_t row = matrix.rows[k], col = matrix.cols[k];
    if (!std::isfinite(matrix.values[k]))
      data_fail("{}: the entry from {} to {} is not a finite number within float32, expected one",
                excerpt(path), name(row), name(col));
    above += row < col;
    below += row > col;
    if (finder.value(col, row) != matrix.values[k]) alone.push_back(k);
  }
  if (alone.empty()) {
    undirected = true;
    matrix.note += matrix.lists ? "; every edge is listed both ways: undirected" : "; symmetric: undirected";
  } else if (options.undirected) {
    const int32_t row = matrix.rows[alone[0]], col = matrix.cols[alone[0]];
    if (!matrix.lists && above > 0 && below > 0)
      data_fail(
          "{}: the entry from {} to {} is {}, back it is {}, expected a symmetric matrix or one triangle "
          "(without "
          "--undirected edges are directed)",
          excerpt(path), name(row), name(col), matrix.values[alone[0]], finder.value(col, row));
    for (const size_t k : alone) matrix.add(matrix.cols[k], matrix.rows[k], matrix.values[k]);
    matrix.note += matrix.lists
                       ? fmt::format("; {} edges listed one way only, their reverses added", alone.size())
                       : fmt::format("; {} triangle only, its reverses added", above > 0 ? "upper" : "lower");
  } else {
    matrix.note += fmt::format("; not symmetric ({} to {}): directed", name(matrix.rows[alone[0]]),
                               name(matrix.cols[alone[0]]));
    if (matrix.lists || above == 0 || below == 0) matrix.note += " (--undirected adds the reverses)";
  }
  const bool ones =
      std::all_of(matrix.values.begin(), matrix.values.end(), [](float v) { return v == 1.0f; });
  ImportedEdges edges(!ones && options.columns.weight != "none", options.drop_self_loops);
  for (size_t k = 0; k < matrix.rows.size(); ++k)
    edges.append(matrix.rows[k], matrix.cols[k], {.weight = matrix.values[k]});
  return edges;
}

}  // namespace adj::detail
