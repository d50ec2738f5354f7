#include <adjoint/core/parallel.h>
#include <adjoint/kernels/tiles/row_tiles.h>

#include <algorithm>
#include <bit>

namespace adj::kernels::cpu {

namespace {

constexpr int kRows = RowTiles::kRows, kColumns = RowTiles::kColumns;

/// Offsets of a window: totals over the previous windows.
struct Counts {
  int64_t tiles = 0, values = 0, rest = 0;
};

constexpr int kLevels = RowTiles::kLevels;
constexpr int32_t kNone = -1;

/// Number of rows per column of a window, for a chunk of windows. Columns are distinguished by level, as
/// column * kLevels + level.
class ColumnCounts {
 public:
  explicit ColumnCounts(const Csr& a)
      : offsets_(a.offsets.data<int64_t>()),
        columns_(a.indices.data<int32_t>()),
        count_(static_cast<size_t>(a.cols * kLevels)) {}

  /// Calls f(row, entry, column and level or kNone) for the window's entries.
  template <class F>
  void for_entries(int64_t first_row, int64_t end_row, F&& f) const {
    for (int64_t i = first_row; i < end_row; ++i) {
      int level = 0;
      for (int64_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
        level = e > offsets_[i] && columns_[e - 1] == columns_[e] ? level + 1 : 0;
        f(i, e, level < kLevels ? int64_t{columns_[e]} * kLevels + level : kNone);
      }
    }
  }
  void count(int64_t first_row, int64_t end_row) {
    touched_.clear();
    for_entries(first_row, end_row, [&](int64_t, int64_t, int64_t column) {
      if (column != kNone && count_[static_cast<size_t>(column)]++ == 0) touched_.push_back(column);
    });
  }
  int32_t& operator[](int64_t column) { return count_[static_cast<size_t>(column)]; }
  std::vector<int64_t>& touched() { return touched_; }
  void clear() {
    for (int64_t column : touched_) count_[static_cast<size_t>(column)] = 0;
  }

 private:
  const int64_t* offsets_;
  const int32_t* columns_;
  std::vector<int32_t> count_;
  std::vector<int64_t> touched_;
};

/// Keeps in `touched` the columns that become tile columns, ascending; zeroes the counts of the others.
void keep_columns(ColumnCounts& counts, int64_t least) {
  std::vector<int64_t>& touched = counts.touched();
  const auto end =
      std::partition(touched.begin(), touched.end(), [&](int64_t column) { return counts[column] >= least; });
  for (auto it = end; it != touched.end(); ++it) counts[*it] = 0;
  touched.erase(end, touched.end());
  std::sort(touched.begin(), touched.end());
}

int64_t padded(int64_t values) {
  return ceil_div(values, RowTiles::kValueAlignment) * RowTiles::kValueAlignment;
}

/// Calls f(window, its column counts) over all windows, with separate counts per chunk.
template <class F>
void for_windows(const Csr& a, int64_t windows, int64_t least, F&& f) {
  parallel_for(windows, std::max<int64_t>(1, ceil_div(windows, 64)), [&](int64_t begin, int64_t end) {
    ColumnCounts counts(a);
    for (int64_t w = begin; w < end; ++w) {
      const int64_t first_row = w * kRows, end_row = std::min(a.rows, first_row + kRows);
      counts.count(first_row, end_row);
      keep_columns(counts, least);
      f(w, first_row, end_row, counts);
      counts.clear();
    }
  });
}

Tensor ints(int64_t n, int32_t fill = 0) {
  Tensor tensor = Tensor::empty({n}, DType::i32);
  std::fill_n(tensor.mutable_data<int32_t>(), n, fill);
  return tensor;
}

}  // namespace

RowTiles make_row_tiles(const Csr& a, int64_t least) {
  const int64_t windows = ceil_div(a.rows, kRows);
  std::vector<Counts> before(static_cast<size_t>(windows) + 1);
  for_windows(a, windows, least, [&](int64_t w, int64_t first_row, int64_t end_row, ColumnCounts& counts) {
    const std::vector<int64_t>& kept = counts.touched();
    Counts& window_counts = before[static_cast<size_t>(w) + 1];
    window_counts.tiles = ceil_div(static_cast<int64_t>(kept.size()), kColumns);
    const int64_t* offsets = a.offsets.data<int64_t>();
    window_counts.rest = offsets[end_row] - offsets[first_row];
    for (int64_t t = 0; t < window_counts.tiles; ++t) {
      int64_t values = 0;
      const auto end = std::min<int64_t>((t + 1) * kColumns, static_cast<int64_t>(kept.size()));
      for (int64_t c = t * kColumns; c < end; ++c) values += counts[kept[static_cast<size_t>(c)]];
      window_counts.values += padded(values);
      window_counts.rest -= values;
    }
  });
  for (size_t w = 0; w + 1 < before.size(); ++w) {
    before[w + 1].tiles += before[w].tiles;
    before[w + 1].values += before[w].values;
    before[w + 1].rest += before[w].rest;
  }
  const Counts total = before.back();
  ADJ_CHECK(total.tiles * kRows < kMaxEntries && total.values < kMaxEntries,
            "row_tiles: {} tiles with {} values, more than int32 can number", total.tiles, total.values);

  RowTiles tiles{.rows = a.rows,
                 .cols = a.cols,
                 .least = least,
                 .windows = ints(windows + 1),
                 .window_of = ints(total.tiles),
                 .columns = Tensor::empty({total.tiles, kColumns}, DType::i32),
                 .bits = Tensor::zeros({total.tiles, kRows}, DType::i64),
                 .starts = ints(total.tiles * kRows + 1),
                 .entries = ints(total.values, -1),
                 .rest = {},
                 .rest_entry = ints(total.rest)};
  tiles.rest.rows = a.rows;
  tiles.rest.cols = a.cols;
  tiles.rest.offsets = Tensor::zeros({a.rows + 1}, DType::i64);
  tiles.rest.indices = ints(total.rest);
  auto* tile_at = tiles.windows.mutable_data<int32_t>();
  auto* window_of = tiles.window_of.mutable_data<int32_t>();
  auto* columns = tiles.columns.mutable_data<int32_t>();
  auto* bits = reinterpret_cast<uint64_t*>(tiles.bits.mutable_data<int64_t>());
  auto* starts = tiles.starts.mutable_data<int32_t>();
  auto* entries = tiles.entries.mutable_data<int32_t>();
  auto* rest_offsets = tiles.rest.offsets.mutable_data<int64_t>();
  auto* rest_indices = tiles.rest.indices.mutable_data<int32_t>();
  auto* rest_entry = tiles.rest_entry.mutable_data<int32_t>();
  tile_at[windows] = static_cast<int32_t>(total.tiles);
  starts[total.tiles * kRows] = static_cast<int32_t>(total.values);

  for_windows(a, windows, least, [&](int64_t w, int64_t first_row, int64_t end_row, ColumnCounts& place) {
    const std::vector<int64_t>& kept = place.touched();
    const Counts start = before[static_cast<size_t>(w)], next = before[static_cast<size_t>(w) + 1];
    const int64_t own_tiles = next.tiles - start.tiles;
    tile_at[w] = static_cast<int32_t>(start.tiles);
    std::fill(window_of + start.tiles, window_of + next.tiles, static_cast<int32_t>(w));
    for (int64_t c = 0; c < own_tiles * kColumns; ++c)
      columns[start.tiles * kColumns + c] = static_cast<int32_t>(
          kept[static_cast<size_t>(std::min<int64_t>(c, static_cast<int64_t>(kept.size()) - 1))] / kLevels);
    for (size_t c = 0; c < kept.size(); ++c) place[kept[c]] = static_cast<int32_t>(c) + 1;
    // Bits first: they determine where each row's values begin.
    int64_t rest = start.rest;
    place.for_entries(first_row, end_row, [&](int64_t i, int64_t e, int64_t column) {
      const int64_t c = column == kNone ? -1 : place[column] - 1;
      if (c >= 0) {
        bits[(start.tiles + c / kColumns) * kRows + i - first_row] |= uint64_t{1} << (c % kColumns);
      } else {
        rest_indices[rest] = a.indices.data<int32_t>()[e];
        rest_entry[rest++] = static_cast<int32_t>(e);
      }
      if (e + 1 == a.offsets.data<int64_t>()[i + 1]) rest_offsets[i + 1] = rest;
    });
    rest = start.rest;
    for (int64_t i = first_row; i < end_row; ++i) {  // empty rows
      rest_offsets[i + 1] = std::max(rest_offsets[i + 1], rest);
      rest = rest_offsets[i + 1];
    }
    int64_t value = start.values;
    for (int64_t t = start.tiles; t < next.tiles; ++t) {
      for (int64_t r = 0; r < kRows; ++r) {
        starts[t * kRows + r] = static_cast<int32_t>(value);
        value += std::popcount(bits[t * kRows + r]);
      }
      value = padded(value);
    }
    place.for_entries(first_row, end_row, [&](int64_t i, int64_t e, int64_t column) {
      const int64_t c = column == kNone ? -1 : place[column] - 1;
      if (c < 0) return;
      const int64_t row = (start.tiles + c / kColumns) * kRows + i - first_row;
      const uint64_t below = (uint64_t{1} << (c % kColumns)) - 1;
      entries[starts[row] + std::popcount(bits[row] & below)] = static_cast<int32_t>(e);
    });
  });
  return tiles;
}

}  // namespace adj::kernels::cpu
