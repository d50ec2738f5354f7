// One sorting scheme for all structures. Entries are distributed into buckets of adjacent rows (a stable
// counting pass over fixed chunks of the list), and each bucket, small enough for the cache, is sorted by
// column digits and then row, all in stable passes; the column passes are skipped if each row's columns
// already ascend, as in a transposition. An already sorted list, common after transforms and in files, is
// only copied. A stable sort is unique, so the result does not depend on threads.
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/cpu/entries.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kRowGrain = 2048;
constexpr int64_t kEntryGrain = 1 << 15;

struct Placed {
  int32_t row;
  int32_t col;
  int32_t position;
};

/// `shift` for row ranges of 2^shift rows: at most 1024 of them, with at least 4096 rows and entries on
/// average, and at least 64 rows each.
int bucket_shift(int64_t rows, int64_t entries) {
  const int64_t buckets = std::clamp<int64_t>((rows + entries) / 4096, 1, 1024);
  int shift = 6;
  while ((rows >> shift) >= buckets) ++shift;
  return shift;
}

/// `start[bucket]` of the entries in `placed`, distributed into buckets in list order.
std::vector<int64_t> deal_into_buckets(const int32_t* row, const int32_t* col, int64_t entries, int64_t rows,
                                       int shift, Placed* placed) {
  const int64_t buckets = (rows >> shift) + 1;
  const int64_t grain = std::max(kEntryGrain, ceil_div(entries, 256));  // keeps the counts small
  const int64_t chunks = ceil_div(entries, grain);
  std::vector<int64_t> next(static_cast<size_t>(chunks * buckets), 0);
  parallel_for(entries, grain, [&](int64_t begin, int64_t end) {
    int64_t* count = next.data() + begin / grain * buckets;
    for (int64_t e = begin; e < end; ++e) ++count[row[e] >> shift];
  });
  std::vector<int64_t> start(static_cast<size_t>(buckets) + 1, 0);
  int64_t total = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    start[static_cast<size_t>(bucket)] = total;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      int64_t& slot = next[static_cast<size_t>(chunk * buckets + bucket)];
      total += std::exchange(slot, total);
    }
  }
  start.back() = total;
  parallel_for(entries, grain, [&](int64_t begin, int64_t end) {
    int64_t* cursor = next.data() + begin / grain * buckets;
    for (int64_t e = begin; e < end; ++e)
      placed[cursor[row[e] >> shift]++] = {row[e], col[e], static_cast<int32_t>(e)};
  });
  return start;
}

/// Stable, by column: alternates between `a` and `b` and returns the one with the result.
const Placed* sort_by_column(Placed* a, Placed* b, int64_t entries, int64_t cols) {
  constexpr int kDigit = 9;
  for (int shift = 0; shift < 31 && (cols - 1) >> shift > 0; shift += kDigit) {
    std::array<int64_t, (1 << kDigit) + 1> next{};
    const auto digit = [=](const Placed& entry) { return (entry.col >> shift) & ((1 << kDigit) - 1); };
    for (int64_t e = 0; e < entries; ++e) ++next[static_cast<size_t>(digit(a[e])) + 1];
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    for (int64_t e = 0; e < entries; ++e) b[next[static_cast<size_t>(digit(a[e]))]++] = a[e];
    std::swap(a, b);
  }
  return a;
}

bool is_sorted(const int32_t* row, const int32_t* col, int64_t entries) {
  std::atomic<bool> sorted = true;
  parallel_for(entries, kEntryGrain, [=, &sorted](int64_t begin, int64_t end) {
    for (int64_t e = std::max<int64_t>(begin, 1); e < end && sorted.load(std::memory_order_relaxed);) {
      const int64_t stop = std::min(end, e + 256);
      int falls = 0;
      for (int64_t k = e; k < stop; ++k)
        falls |= static_cast<int>(row[k] < row[k - 1]) |
                 (static_cast<int>(row[k] == row[k - 1]) & static_cast<int>(col[k] < col[k - 1]));
      if (falls != 0) sorted.store(false, std::memory_order_relaxed);
      e = stop;
    }
  });
  return sorted;
}

void copy_sorted(const int32_t* row, const int32_t* col, int64_t entries, int64_t rows, int64_t* offsets,
                 int32_t* indices, int32_t* order) {
  parallel_for(entries, kEntryGrain, [=](int64_t begin, int64_t end) {
    std::copy(col + begin, col + end, indices + begin);
    std::iota(order + begin, order + end, static_cast<int32_t>(begin));
    for (int64_t e = begin; e < end; ++e)
      for (int64_t i = e > 0 ? row[e - 1] + int64_t{1} : 0; i <= row[e]; ++i) offsets[i] = e;
  });
  std::fill(offsets + (entries > 0 ? row[entries - 1] + int64_t{1} : 0), offsets + rows + 1, entries);
}

void sort_by_row_and_column(const int32_t* row, const int32_t* col, int64_t entries, int64_t rows,
                            int64_t cols, int64_t* offsets, int32_t* indices, int32_t* order) {
  if (is_sorted(row, col, entries)) return copy_sorted(row, col, entries, rows, offsets, indices, order);
  const int shift = bucket_shift(rows, entries);
  Tensor scratch = Tensor::empty({entries, 3}, DType::i32);
  auto* placed = static_cast<Placed*>(scratch.raw_mutable_data());
  const std::vector<int64_t> start = deal_into_buckets(row, col, entries, rows, shift, placed);
  offsets[rows] = entries;
  parallel_for(static_cast<int64_t>(start.size()) - 1, 1, [&](int64_t bucket, int64_t) {
    const int64_t first_row = bucket << shift, last_row = std::min(rows, (bucket + 1) << shift);
    const int64_t begin = start[static_cast<size_t>(bucket)], end = start[static_cast<size_t>(bucket) + 1];
    if (first_row >= last_row) return;
    std::vector<int64_t> next(static_cast<size_t>(last_row - first_row) + 1, 0);
    std::vector<int32_t> last_col(next.size(), -1);
    bool ascend = true;
    for (int64_t e = begin; e < end; ++e) {
      const auto i = static_cast<size_t>(placed[e].row - first_row);
      ++next[i + 1];
      ascend &= placed[e].col >= std::exchange(last_col[i], placed[e].col);
    }
    next[0] = begin;
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    std::copy(next.begin(), next.end() - 1, offsets + first_row);
    const Placed* source = placed + begin;
    std::vector<Placed> other;
    if (!ascend) {
      other.resize(static_cast<size_t>(end - begin));
      source = sort_by_column(placed + begin, other.data(), end - begin, cols);
    }
    for (int64_t k = 0; k < end - begin; ++k) {
      const int64_t slot = next[static_cast<size_t>(source[k].row - first_row)]++;
      indices[slot] = source[k].col;
      order[slot] = source[k].position;
    }
  });
}

/// Calls f(row, begin, end) for every row, in parallel.
template <class F>
void for_rows(const Csr& a, F&& f) {
  const int64_t* offsets = a.offsets.data<int64_t>();
  for_each_index(a.rows, kRowGrain, [&](int64_t i) { f(i, offsets[i], offsets[i + 1]); });
}

float sum_entries(const EntryValues<float>& values, int64_t begin, int64_t end) {
  if (values.values == nullptr) return static_cast<float>(end - begin);
  double sum = 0.0;
  for (int64_t e = begin; e < end; ++e) sum += static_cast<double>(values[e]);
  return static_cast<float>(sum);
}

}  // namespace

void coo_to_csr(const CooToCsrArgs& args) {
  sort_by_row_and_column(args.row.data<int32_t>(), args.col.data<int32_t>(), args.row.numel(),
                         args.offsets.numel() - 1, args.cols, args.offsets.mutable_data<int64_t>(),
                         args.indices.mutable_data<int32_t>(), args.order.mutable_data<int32_t>());
}

void transpose(const TransposeArgs& args) {
  Tensor row = Tensor::empty({args.a.entries()}, DType::i32);
  expand_rows({.a = args.a, .row = row});
  sort_by_row_and_column(args.a.indices.data<int32_t>(), row.data<int32_t>(), args.a.entries(), args.a.cols,
                         args.a.rows, args.offsets.mutable_data<int64_t>(),
                         args.indices.mutable_data<int32_t>(), args.order.mutable_data<int32_t>());
}

void join_rows(const JoinRowsArgs& args) {
  const int64_t *a = args.a.offsets.data<int64_t>(), *b = args.b.offsets.data<int64_t>();
  const int32_t *a_indices = args.a.indices.data<int32_t>(), *b_indices = args.b.indices.data<int32_t>();
  const int32_t *a_values = args.a_value.data<int32_t>(), *b_values = args.b_value.data<int32_t>();
  int64_t* offsets = args.offsets.mutable_data<int64_t>();
  int32_t *indices = args.indices.mutable_data<int32_t>(), *values = args.values.mutable_data<int32_t>();
  offsets[0] = 0;
  for_rows(args.a, [=](int64_t i, int64_t begin, int64_t end) {
    std::copy(a_indices + begin, a_indices + end, indices + begin + b[i]);
    std::copy(a_values + begin, a_values + end, values + begin + b[i]);
    std::copy(b_indices + b[i], b_indices + b[i + 1], indices + end + b[i]);
    std::copy(b_values + b[i], b_values + b[i + 1], values + end + b[i]);
    offsets[i + 1] = a[i + 1] + b[i + 1];
  });
}

void expand_rows(const ExpandRowsArgs& args) {
  int32_t* out = args.row.mutable_data<int32_t>();
  for_rows(args.a, [=](int64_t i, int64_t begin, int64_t end) {
    std::fill(out + begin, out + end, static_cast<int32_t>(i));
  });
}

void row_sums(const RowSumsArgs& args) {
  const EntryValues<float> values(args.a);
  float* sum = args.y.mutable_data<float>();
  for_rows(args.a.csr,
           [=](int64_t i, int64_t begin, int64_t end) { sum[i] = sum_entries(values, begin, end); });
}

void csr_to_dense(const CsrToDenseArgs& args) {
  const EntryValues<float> values(args.a);
  const int32_t* indices = args.a.csr.indices.data<int32_t>();
  const int64_t cols = args.a.csr.cols;
  float* y = args.y.mutable_data<float>();
  for_rows(args.a.csr, [=](int64_t i, int64_t begin, int64_t end) {
    float* row = y + i * cols;
    std::fill_n(row, cols, 0.0f);
    for (int64_t e = begin; e < end; ++e) row[indices[e]] += values[e];
  });
}

void diagonal_offsets(const DiagonalOffsetsArgs& args) {
  const int32_t* indices = args.a.indices.data<int32_t>();
  int64_t* out = args.offsets.mutable_data<int64_t>();
  for_rows(args.a, [=](int64_t i, int64_t begin, int64_t end) {
    const bool has = std::binary_search(indices + begin, indices + end, static_cast<int32_t>(i));
    out[i + 1] = end - begin + (has ? 0 : 1);
  });
  out[0] = 0;
  for (int64_t i = 0; i < args.a.rows; ++i) out[i + 1] += out[i];
}

void insert_diagonal(const InsertDiagonalArgs& args) {
  const float fill = args.fill;
  const EntryValues<float> values(args.a);
  const int32_t* indices = args.a.csr.indices.data<int32_t>();
  const int64_t* new_offsets = args.offsets.data<int64_t>();
  int32_t* new_indices = args.indices.mutable_data<int32_t>();
  float* new_values = args.values.mutable_data<float>();
  ADJ_CHECK(new_offsets[args.a.csr.rows] == args.indices.numel(),
            "insert_diagonal: args.offsets end at {}, {} indices", new_offsets[args.a.csr.rows],
            args.indices.numel());
  for_rows(args.a.csr, [=](int64_t i, int64_t begin, int64_t end) {
    const int64_t added = new_offsets[i + 1] - new_offsets[i] - (end - begin);
    const int64_t before =
        added == 0 ? end
                   : std::lower_bound(indices + begin, indices + end, static_cast<int32_t>(i)) - indices;
    int64_t out = new_offsets[i];
    for (int64_t e = begin; e < end; ++e) {
      if (e == before) ++out;
      new_indices[out] = indices[e];
      new_values[out++] = values[e];
    }
    if (added != 0) {
      const int64_t place = new_offsets[i] + before - begin;
      new_indices[place] = static_cast<int32_t>(i);
      new_values[place] = fill;
    }
  });
}

void gcn_normalize(const GcnNormalizeArgs& args) {
  if (!args.known) row_sums({.a = args.a, .y = args.degree});
  const EntryValues<float> values(args.a);
  const int32_t* indices = args.a.csr.indices.data<int32_t>();
  const float* d = args.degree.data<float>();
  float* out = args.weights.mutable_data<float>();
  for_rows(args.a.csr, [=](int64_t i, int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const float d_j = d[indices[e]];
      // Two roots instead of one of the product, which may overflow. NaN propagates.
      out[e] = d[i] <= 0.0f || d_j <= 0.0f ? 0.0f : values[e] / (std::sqrt(d[i]) * std::sqrt(d_j));
    }
  });
}

void row_normalize_entries(const RowNormalizeEntriesArgs& args) {
  const EntryValues<float> values(args.a);
  const int32_t* indices = args.a.csr.indices.data<int32_t>();
  const float* column_sums = args.column_sums ? args.column_sums.data<float>() : nullptr;
  float* out = args.weights.mutable_data<float>();
  for_rows(args.a.csr, [=](int64_t, int64_t begin, int64_t end) {
    const float row_sum = column_sums == nullptr ? sum_entries(values, begin, end) : 0.0f;
    for (int64_t e = begin; e < end; ++e) {
      const float sum = column_sums == nullptr ? row_sum : column_sums[indices[e]];
      out[e] = sum != 0.0f ? values[e] / sum : 0.0f;
    }
  });
}

void find_entries(const FindEntriesArgs& args) {
  const int64_t* offsets = args.csr.offsets.data<int64_t>();
  const int32_t* indices = args.csr.indices.data<int32_t>();
  const int32_t *row = args.row.data<int32_t>(), *col = args.col.data<int32_t>();
  int32_t* entry = args.entry.mutable_data<int32_t>();
  // Edges in structure order ask for ascending entries: each search continues from the end of the previous
  // one, in doubling steps.
  parallel_for(args.row.numel(), kCostlyGrain, [=](int64_t begin, int64_t end) {
    const int32_t *cursor = nullptr, *last = nullptr;
    for (int64_t k = begin; k < end; ++k) {
      if (k == begin || row[k] != row[k - 1] || col[k] < col[k - 1]) {
        cursor = indices + offsets[row[k]];
        last = indices + offsets[row[k] + 1];
      }
      std::ptrdiff_t step = 1;
      while (cursor < last && *cursor < col[k]) {
        if (step >= last - cursor || cursor[step] >= col[k]) {
          cursor = std::lower_bound(cursor + 1, cursor + std::min(step, last - cursor), col[k]);
          break;
        }
        cursor += step;
        step *= 2;
      }
      entry[k] = cursor != last && *cursor == col[k] ? static_cast<int32_t>(cursor - indices) : -1;
    }
  });
}

}  // namespace adj::kernels::cpu
