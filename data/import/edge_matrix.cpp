#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/edge_matrix.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace adj::detail {

namespace {

/// Sorts the entries by row, then column, merges equal ones, and drops zeros.
void sort_entries(EdgeMatrix& matrix) {
  std::vector<EdgeMatrix::Entry>& entries = matrix.entries;
  const auto place = [](const EdgeMatrix::Entry& entry) {
    return static_cast<uint64_t>(entry.row) << 32 | static_cast<uint32_t>(entry.col);
  };
  if (!std::ranges::is_sorted(entries, {}, place)) std::ranges::stable_sort(entries, {}, place);
  size_t kept = 0;
  for (const EdgeMatrix::Entry& entry : entries) {
    if (kept == 0 || place(entry) != place(entries[kept - 1]))
      entries[kept++] = entry;
    else if (!matrix.lists)
      entries[kept - 1].value += entry.value;
  }
  if (const size_t merged = entries.size() - kept; merged > 0)
    matrix.note +=
        fmt::format("; {} equal entries {}", merged, matrix.lists ? "counted once" : "added to others");
  entries.resize(kept);
  if (const size_t zeros = std::erase_if(entries, [](const auto& entry) { return entry.value == 0.0f; });
      zeros > 0)
    matrix.note += fmt::format("; {} stored entries are 0 and no edges", zeros);
}

/// Finds the entries of sorted matrices.
class EntryFinder {
 public:
  explicit EntryFinder(const EdgeMatrix& matrix)
      : matrix_(matrix), begins_(static_cast<size_t>(matrix.ids.size()) + 1) {
    for (const EdgeMatrix::Entry& entry : matrix.entries) ++begins_[static_cast<size_t>(entry.row) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }
  /// 0: there is none.
  float value(int32_t row, int32_t col) const {
    const auto begin = matrix_.entries.begin() + begins_[static_cast<size_t>(row)],
               end = matrix_.entries.begin() + begins_[static_cast<size_t>(row) + 1],
               found = std::ranges::lower_bound(begin, end, col, {}, &EdgeMatrix::Entry::col);
    return found == end || found->col != col ? 0.0f : found->value;
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
  if (matrix.entries.empty()) data_fail("{}: no edges, expected some", excerpt(path));
  const auto name = [&](int32_t node) { return excerpt(matrix.ids.text(node)); };
  int64_t above = 0, below = 0;
  std::vector<EdgeMatrix::Entry> alone;  // entries without an equal one on the other side
  const EntryFinder finder(matrix);
  for (const auto& [row, col, value] : matrix.entries) {
    if (!std::isfinite(value))
      data_fail("{}: the entry from {} to {} is not a finite number within float32, expected one",
                excerpt(path), name(row), name(col));
    above += row < col;
    below += row > col;
    if (finder.value(col, row) != value) alone.push_back({row, col, value});
  }
  if (alone.empty()) {
    undirected = true;
    matrix.note += matrix.lists ? "; every edge is listed both ways: undirected" : "; symmetric: undirected";
  } else if (options.undirected) {
    const auto& [row, col, value] = alone[0];
    if (!matrix.lists && above > 0 && below > 0)
      data_fail(
          "{}: the entry from {} to {} is {}, back it is {}, expected a symmetric matrix or one triangle "
          "(without --undirected edges are directed)",
          excerpt(path), name(row), name(col), value, finder.value(col, row));
    for (const EdgeMatrix::Entry& entry : alone) matrix.add(entry.col, entry.row, entry.value);
    matrix.note += matrix.lists
                       ? fmt::format("; {} edges listed one way only, their reverses added", alone.size())
                       : fmt::format("; {} triangle only, its reverses added", above > 0 ? "upper" : "lower");
  } else {
    matrix.note +=
        fmt::format("; not symmetric ({} to {}): directed", name(alone[0].row), name(alone[0].col));
    if (matrix.lists || above == 0 || below == 0) matrix.note += " (--undirected adds the reverses)";
  }
  const bool ones =
      std::ranges::all_of(matrix.entries, [](const auto& entry) { return entry.value == 1.0f; });
  const bool weighted = !ones && options.columns.weight != "none";
  const bool vanished = matrix.rounding.zeros() > 0;
  if (weighted || vanished)
    matrix.note += matrix.rounding.note("weight") + (vanished ? ", and so no edges" : "");
  ImportedEdges edges(weighted, options.drop_self_loops);
  for (const auto& [row, col, value] : matrix.entries) edges.append(row, col, {.weight = value});
  return edges;
}

}  // namespace adj::detail
