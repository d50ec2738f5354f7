// Structures are sorted by one scheme: entries are dealt into buckets of neighbouring rows (a stable counting
// pass over fixed chunks of the list), then each bucket, small enough for the cache, is dealt into its rows,
// and each row sorted by (column, position). The result of a stable sort is unique, so it does not depend on
// threads.

#include <adjoint/core/parallel.h>
#include <adjoint/kernels/sparse/cpu/entries.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kRowGrain = 2048;
constexpr int64_t kEntryGrain = 1 << 16;

/// A position in the list (low half) under its column (high half): ordered by (column, position).
using Key = uint64_t;
Key make_key(int32_t col, int64_t position) {
  return static_cast<uint64_t>(static_cast<uint32_t>(col)) << 32 | static_cast<uint32_t>(position);
}

struct Placed {
  int32_t row;
  int32_t col;
  int32_t position;
};

/// Row ranges of 2^shift rows: at most 1024 of them, and no smaller than 64 rows.
int bucket_shift(int64_t rows) {
  int shift = 6;
  while ((rows >> shift) >= 1024) ++shift;
  return shift;
}

/// `start[bucket]` of the entries in `placed`, which are dealt into buckets in list order.
std::vector<int64_t> deal_into_buckets(const int32_t* row, const int32_t* col, int64_t entries, int64_t rows,
                                       int shift, Placed* placed) {
  const int64_t buckets = (rows >> shift) + 1;
  const int64_t chunks = (entries + kEntryGrain - 1) / kEntryGrain;
  std::vector<int64_t> next(static_cast<size_t>(chunks * buckets), 0);
  parallel_for(entries, kEntryGrain, [&](int64_t begin, int64_t end) {
    int64_t* count = next.data() + begin / kEntryGrain * buckets;
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
  parallel_for(entries, kEntryGrain, [&](int64_t begin, int64_t end) {
    int64_t* to = next.data() + begin / kEntryGrain * buckets;
    for (int64_t e = begin; e < end; ++e)
      placed[to[row[e] >> shift]++] = {row[e], col[e], static_cast<int32_t>(e)};
  });
  return start;
}

void sort_by_row_and_column(const int32_t* row, const int32_t* col, int64_t entries, int64_t rows,
                            int64_t* offsets, int32_t* indices, int32_t* order) {
  const int shift = bucket_shift(rows);
  std::vector<Placed> placed(static_cast<size_t>(entries));
  const std::vector<int64_t> start = deal_into_buckets(row, col, entries, rows, shift, placed.data());
  offsets[rows] = entries;
  parallel_for(static_cast<int64_t>(start.size()) - 1, 1, [&](int64_t bucket, int64_t) {
    const int64_t first_row = bucket << shift, last_row = std::min(rows, (bucket + 1) << shift);
    const int64_t begin = start[static_cast<size_t>(bucket)], end = start[static_cast<size_t>(bucket) + 1];
    if (first_row >= last_row) return;
    std::vector<int64_t> next(static_cast<size_t>(last_row - first_row) + 1, 0);
    for (int64_t e = begin; e < end; ++e) ++next[static_cast<size_t>(placed[e].row - first_row) + 1];
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    for (int64_t i = first_row; i < last_row; ++i)
      offsets[i] = begin + next[static_cast<size_t>(i - first_row)];
    std::vector<Key> keys(static_cast<size_t>(end - begin));
    for (int64_t e = begin; e < end; ++e) {
      const Placed& entry = placed[static_cast<size_t>(e)];
      keys[static_cast<size_t>(next[static_cast<size_t>(entry.row - first_row)]++)] =
          make_key(entry.col, entry.position);
    }
    int64_t row_begin = 0;
    for (int64_t i = first_row; i < last_row; ++i) {
      const int64_t row_end = next[static_cast<size_t>(i - first_row)];
      const auto from = keys.begin() + row_begin, to = keys.begin() + row_end;
      if (!std::is_sorted(from, to)) std::sort(from, to);
      row_begin = row_end;
    }
    for (int64_t e = begin; e < end; ++e) {
      const Key key = keys[static_cast<size_t>(e - begin)];
      indices[e] = static_cast<int32_t>(key >> 32);
      order[e] = static_cast<int32_t>(key & 0xffffffffu);
    }
  });
}

/// Calls f(row, begin, end) for every row, in parallel.
template <class F>
void for_rows(const Csr& a, F&& f) {
  const int64_t* offsets = a.offsets.data<int64_t>();
  parallel_for(a.rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i, offsets[i], offsets[i + 1]);
  });
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
                         args.offsets.numel() - 1, args.offsets.mutable_data<int64_t>(),
                         args.indices.mutable_data<int32_t>(), args.order.mutable_data<int32_t>());
}

void transpose(const TransposeArgs& args) {
  Tensor row = Tensor::empty({args.a.entries()}, DType::i32);
  expand_rows({.a = args.a, .row = row});
  sort_by_row_and_column(args.a.indices.data<int32_t>(), row.data<int32_t>(), args.a.entries(), args.a.cols,
                         args.offsets.mutable_data<int64_t>(), args.indices.mutable_data<int32_t>(),
                         args.order.mutable_data<int32_t>());
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
  const EntryValues<float> from_values(args.a);
  const int32_t* from = args.a.csr.indices.data<int32_t>();
  const int64_t* new_offsets = args.offsets.data<int64_t>();
  int32_t* to = args.indices.mutable_data<int32_t>();
  float* to_values = args.values.mutable_data<float>();
  ADJ_CHECK(new_offsets[args.a.csr.rows] == args.indices.numel(),
            "insert_diagonal: args.offsets end at {}, {} indices", new_offsets[args.a.csr.rows],
            args.indices.numel());
  for_rows(args.a.csr, [=](int64_t i, int64_t begin, int64_t end) {
    const int64_t added = new_offsets[i + 1] - new_offsets[i] - (end - begin);
    const int64_t before =
        added == 0 ? end : std::lower_bound(from + begin, from + end, static_cast<int32_t>(i)) - from;
    int64_t out = new_offsets[i];
    for (int64_t e = begin; e < end; ++e) {
      if (e == before) ++out;
      to[out] = from[e];
      to_values[out++] = from_values[e];
    }
    if (added != 0) {
      const int64_t place = new_offsets[i] + before - begin;
      to[place] = static_cast<int32_t>(i);
      to_values[place] = fill;
    }
  });
}

void gcn_normalize(const GcnNormalizeArgs& args) {
  row_sums({.a = args.a, .y = args.degree});
  const EntryValues<float> values(args.a);
  const int32_t* indices = args.a.csr.indices.data<int32_t>();
  const float* d = args.degree.data<float>();
  float* out = args.weights.mutable_data<float>();
  for_rows(args.a.csr, [=](int64_t i, int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const float d_j = d[indices[e]];
      // Two roots rather than one of the product, which may overflow.
      out[e] = d[i] > 0.0f && d_j > 0.0f ? values[e] / (std::sqrt(d[i]) * std::sqrt(d_j)) : 0.0f;
    }
  });
}

void row_normalize_entries(const RowNormalizeEntriesArgs& args) {
  const EntryValues<float> values(args.a);
  float* out = args.weights.mutable_data<float>();
  for_rows(args.a.csr, [=](int64_t, int64_t begin, int64_t end) {
    const float sum = sum_entries(values, begin, end);
    for (int64_t e = begin; e < end; ++e) out[e] = sum != 0.0f ? values[e] / sum : 0.0f;
  });
}

}  // namespace adj::kernels::cpu
