#include <adjoint/core/parallel.h>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/tiles/row_tiles.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace adj::kernels {

namespace {

constexpr int64_t kRows = RowTiles::kRows, kColumns = RowTiles::kColumns, kLevels = RowTiles::kLevels;

/// Verifies a cut against its structure. Everything used as an index is checked first: sizes, then prefix
/// arrays (windows, starts, offsets of the rest), then the windows in parallel.
class CutCheck {
 public:
  CutCheck(std::string_view name, const Csr& a, const RowTiles& cut) : name_(name), a_(a), cut_(cut) {
    check_sizes();
    offsets_ = a.offsets.data<int64_t>();
    indices_ = a.indices.data<int32_t>();
    windows_ = cut.windows.data<int32_t>();
    columns_ = cut.columns.data<int32_t>();
    bits_ = reinterpret_cast<const uint64_t*>(cut.bits.data<int64_t>());
    starts_ = cut.starts.data<int32_t>();
    entries_ = cut.entries.data<int32_t>();
    rest_offsets_ = cut.rest.offsets.data<int64_t>();
    rest_indices_ = cut.rest.indices.data<int32_t>();
    rest_entry_ = cut.rest_entry.data<int32_t>();
  }

  void run() const {
    check_windows();
    check_starts();
    check_rest_offsets();
    const int64_t windows = cut_.num_windows();
    parallel_for(windows, std::max<int64_t>(1, ceil_div(windows, 64)), [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w) check_window(w);
    });
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(std::string_view member, fmt::format_string<Args...> text, Args&&... args) const {
    adj::fail("{}/{}: {}", name_, member, fmt::format(text, std::forward<Args>(args)...));
  }

  void expect(std::string_view member, const Tensor& tensor, DType dtype, const Shape& shape) const {
    if (!tensor || tensor.dtype() != dtype || tensor.shape() != shape || !tensor.device().is_cpu())
      wrong(member, "{}, expected {} {} on cpu", tensor.str(), shape.str(), name_of(dtype));
  }

  void check_sizes() const {
    check_csr(name_, a_);
    ADJ_CHECK(a_.device().is_cpu() && a_.ascending, "{}: expected a structure of ascending rows on cpu",
              name_);
    ADJ_CHECK(cut_.rows == a_.rows && cut_.cols == a_.cols && cut_.rest.rows == a_.rows &&
                  cut_.rest.cols == a_.cols,
              "{}: a cut of [{}, {}] with a rest of [{}, {}], expected [{}, {}]", name_, cut_.rows, cut_.cols,
              cut_.rest.rows, cut_.rest.cols, a_.rows, a_.cols);
    ADJ_CHECK(cut_.least >= 1 && cut_.least <= kRows, "{}: columns of at least {} entries, expected 1 to {}",
              name_, cut_.least, kRows);
    const int64_t tiles = cut_.bits && cut_.bits.dims() == 2 ? cut_.bits.size(0) : 0;
    expect("bits", cut_.bits, DType::i64, {tiles, kRows});
    expect("windows", cut_.windows, DType::i32, {ceil_div(a_.rows, kRows) + 1});
    expect("window_of", cut_.window_of, DType::i32, {tiles});
    expect("columns", cut_.columns, DType::i32, {tiles, kColumns});
    expect("starts", cut_.starts, DType::i32, {tiles * kRows + 1});
    expect("entries", cut_.entries, DType::i32, {cut_.entries.numel()});
    expect("rest_entry", cut_.rest_entry, DType::i32, {cut_.rest_entry.numel()});
    expect("rest/offsets", cut_.rest.offsets, DType::i64, {a_.rows + 1});
    expect("rest/indices", cut_.rest.indices, DType::i32, {cut_.rest_entry.numel()});
  }

  /// Numbers start at 0, never decrease and end at `last`.
  template <class T>
  void check_ascends(std::string_view member, const T* numbers, int64_t n, int64_t last) const {
    if (numbers[0] != 0) wrong(member, "begins with {}, expected 0", numbers[0]);
    for (int64_t i = 1; i < n; ++i)
      if (numbers[i] < numbers[i - 1])
        wrong(member, "falls from {} to {} at position {}, expected ascending numbers", numbers[i - 1],
              numbers[i], i);
    if (numbers[n - 1] != last) wrong(member, "ends with {}, expected {}", numbers[n - 1], last);
  }

  void check_windows() const {
    const int64_t windows = cut_.num_windows();
    check_ascends("windows", windows_, windows + 1, cut_.num_tiles());
    const auto* window_of = cut_.window_of.data<int32_t>();
    for (int64_t w = 0; w < windows; ++w)
      for (int64_t t = windows_[w]; t < windows_[w + 1]; ++t)
        if (window_of[t] != w) wrong("window_of", "{} at tile {}, expected {}", window_of[t], t, w);
  }

  /// Each tile row has as many values as bits, and every entry is in a tile or in the rest: the total count
  /// matches, and check_window() finds no duplicates.
  void check_starts() const {
    const int64_t rows = cut_.num_tiles() * kRows;
    int64_t value = 0, filled = 0;
    for (int64_t i = 0; i < rows; ++i) {
      if (starts_[i] != value) wrong("starts", "{} at position {}, expected {}", starts_[i], i, value);
      value += std::popcount(bits_[i]);
      filled += std::popcount(bits_[i]);
      if (i % kRows == kRows - 1)
        value = ceil_div(value, RowTiles::kValueAlignment) * RowTiles::kValueAlignment;
    }
    if (starts_[rows] != value) wrong("starts", "ends with {}, expected {}", starts_[rows], value);
    if (cut_.entries.numel() != value)
      wrong("entries", "{} values, expected {} for the bits", cut_.entries.numel(), value);
    if (filled + cut_.rest_entry.numel() != a_.entries())
      wrong("rest_entry", "{} entries in addition to {} in tiles, expected {} in all",
            cut_.rest_entry.numel(), filled, a_.entries());
  }

  void check_rest_offsets() const {
    check_ascends("rest/offsets", rest_offsets_, a_.rows + 1, cut_.rest_entry.numel());
  }

  bool is_in_row(int64_t e, int64_t i) const { return e >= offsets_[i] && e < offsets_[i + 1]; }
  /// Number of parallel entries before e in row i, at most kLevels.
  int64_t level_of(int64_t e, int64_t i) const {
    int64_t level = 0;
    while (level < kLevels && e - level > offsets_[i] && indices_[e - level - 1] == indices_[e]) ++level;
    return level;
  }

  /// Windows are independent. A column is identified by column * kLevels + level.
  void check_window(int64_t w) const {
    const int64_t first_row = w * kRows, end_row = std::min(a_.rows, first_row + kRows);
    std::vector<int64_t> kept;
    for (int64_t t = windows_[w]; t < windows_[w + 1]; ++t) {
      check_columns(w, t, end_row - first_row, kept);
      check_entries(t, first_row, kept.data() + (t - windows_[w]) * kColumns);
    }
    check_rest(w, first_row, end_row, kept);
  }

  /// Appends the tile's columns to the window's; nothing for padding.
  void check_columns(int64_t w, int64_t t, int64_t rows, std::vector<int64_t>& kept) const {
    int64_t count[kColumns] = {};
    for (int64_t r = 0; r < kRows; ++r) {
      uint64_t word = bits_[t * kRows + r];
      if (word != 0 && r >= rows)
        wrong("bits", "row {} of tile {} is not 0, expected 0 after row {} of the structure", r, t,
              a_.rows - 1);
      for (; word != 0; word &= word - 1) ++count[std::countr_zero(word)];
    }
    const bool is_first = t == windows_[w], is_last = t + 1 == windows_[w + 1];
    bool padded = false;
    for (int64_t c = 0; c < kColumns; ++c) {
      const int64_t column = columns_[t * kColumns + c];
      const auto unexpected = [&](std::string_view expected) {
        wrong("columns", "{} at place {} of tile {}, expected {}", column, c, t, expected);
      };
      if (column < 0 || column >= a_.cols) unexpected(fmt::format("0 to {}", a_.cols - 1));
      if (count[c] == 0 && c > 0 && is_last) {
        padded = true;
        if (const int64_t last = kept.back() / kLevels; column != last)
          unexpected(fmt::format("the window's last one, {}, again", last));
        continue;
      }
      if (padded || count[c] < cut_.least)
        wrong("bits", "column {} of tile {} has {} rows, expected {}", c, t, count[c],
              padded ? "none after an empty one" : fmt::format("{} or more", cut_.least));
      int64_t level = 0;
      if (!is_first || c > 0) {
        const int64_t before = kept.back() / kLevels;
        if (column < before) unexpected(fmt::format("{} or more", before));
        if (column == before) level = kept.back() % kLevels + 1;
        if (level == kLevels) unexpected(fmt::format("one column at most {} times", kLevels));
      }
      kept.push_back(column * kLevels + level);
    }
  }

  /// `kept`: the tile's columns with bits.
  void check_entries(int64_t t, int64_t first_row, const int64_t* kept) const {
    int64_t value = starts_[t * kRows];
    for (int64_t r = 0; r < kRows; ++r)
      for (uint64_t word = bits_[t * kRows + r]; word != 0; word &= word - 1, ++value) {
        const int64_t c = std::countr_zero(word), e = entries_[value], i = first_row + r;
        if (!is_in_row(e, i) || indices_[e] * kLevels + level_of(e, i) != kept[c] ||
            level_of(e, i) == kLevels)
          wrong(
              "entries", "{} at position {}, expected the entry of row {} in column {}{}", e, value, i,
              kept[c] / kLevels,
              kept[c] % kLevels > 0 ? fmt::format(", number {} of those there", kept[c] % kLevels + 1) : "");
      }
    for (; value < starts_[(t + 1) * kRows]; ++value)
      if (entries_[value] != -1)
        wrong("entries", "{} at position {}, expected -1, as tile {} ends there", entries_[value], value, t);
  }

  /// Entries of the rest belong to their row, and to no column shared by enough rows.
  void check_rest(int64_t w, int64_t first_row, int64_t end_row, const std::vector<int64_t>& kept) const {
    std::vector<int64_t> left;
    for (int64_t i = first_row; i < end_row; ++i)
      for (int64_t k = rest_offsets_[i]; k < rest_offsets_[i + 1]; ++k) {
        const int64_t e = rest_entry_[k];
        if (!is_in_row(e, i)) wrong("rest_entry", "{} at position {}, expected an entry of row {}", e, k, i);
        if (k > rest_offsets_[i] && rest_entry_[k - 1] >= e)
          wrong("rest_entry", "{} after {} at position {}, expected ascending ones", e, rest_entry_[k - 1],
                k);
        if (rest_indices_[k] != indices_[e])
          wrong("rest/indices", "{} at position {}, expected {}, the column of entry {}", rest_indices_[k], k,
                indices_[e], e);
        if (const int64_t level = level_of(e, i); level < kLevels)
          left.push_back(indices_[e] * kLevels + level);
      }
    std::sort(left.begin(), left.end());
    for (auto run = left.begin(); run != left.end();) {
      const auto end = std::upper_bound(run, left.end(), *run);
      const int64_t rows = end - run;
      if (rows >= cut_.least || std::binary_search(kept.begin(), kept.end(), *run))
        wrong("rest_entry", "{} rows of window {} have column {} in the rest, expected it in tiles", rows, w,
              *run / kLevels);
      run = end;
    }
  }

  std::string_view name_;
  const Csr& a_;
  const RowTiles& cut_;
  const int64_t *offsets_, *rest_offsets_;
  const int32_t *indices_, *windows_, *columns_, *starts_, *entries_, *rest_indices_, *rest_entry_;
  const uint64_t* bits_;
};

}  // namespace

void check_row_tiles(std::string_view name, const Csr& a, const RowTiles& cut) {
  CutCheck(name, a, cut).run();
}

}  // namespace adj::kernels
