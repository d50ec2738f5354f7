// The cut on the device. Entries are stably sorted by window, column and level (number of parallel ones
// before it in its row), so that the entries of a column of a window are contiguous, by row: a run. Runs of
// enough rows become tile columns. The rest is counting, prefix sums and scatters to the resulting positions;
// bits are set by integer atomics, deterministic in any order.
//
// Bytes: the sort, 24 bytes per entry and pass of 8 bits, and some 40 per entry besides; about 50 bytes of
// temporary memory per entry.

#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>
#include <adjoint/kernels/sparse/cuda/sort.cuh>
#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kRows = RowTiles::kRows, kColumns = RowTiles::kColumns;
constexpr int kLevelBits = 2;
static_assert(RowTiles::kLevels == 1 << kLevelBits);
constexpr char kName[] = "row_tiles";

/// x[i] = Σ x[0 … i), int32 [n], in place.
void exclusive_sum(Tensor& x) { cuda::exclusive_sum(x.mutable_data<int32_t>(), x.numel(), x.device()); }

int64_t last_of(const Tensor& x) { return x.rows(x.numel() - 1, x.numel()).to_vector<int32_t>()[0]; }

/// Entries sorted by (window, column).
struct Sorted {
  Tensor key;    ///< (window << col_bits | column) << kLevelBits | level
  Tensor order;  ///< index of the entry
};

template <class Key>
Sorted sort_by_window(const Csr& a, int col_bits, int bits) {
  const Device device = a.device();
  const int64_t n = a.entries();
  Tensor keys = empty_keys<Key>(n, device), iota = Tensor::empty({n}, DType::i32, device);
  Sorted sorted{empty_keys<Key>(n, device), Tensor::empty({n}, DType::i32, device)};
  auto* key = static_cast<Key*>(keys.raw_mutable_data());
  auto* number = iota.mutable_data<int32_t>();
  const int32_t* columns = a.indices.data<int32_t>();
  const int64_t* offsets = a.offsets.data<int64_t>();
  for_each_entry(kName, a, [=] __device__(int64_t i, int64_t e) {
    int level = 0;
    while (level + 1 < RowTiles::kLevels && e - level > offsets[i] && columns[e - level - 1] == columns[e])
      ++level;
    key[e] = (static_cast<Key>(i / kRows) << col_bits | static_cast<uint32_t>(columns[e])) << kLevelBits |
             static_cast<Key>(level);
    number[e] = static_cast<int32_t>(e);
  });
  sort_pairs<Key>(key, static_cast<Key*>(sorted.key.raw_mutable_data()), number,
                  sorted.order.mutable_data<int32_t>(), n, bits, device);
  return sorted;
}

/// Sizes and offsets of an empty cut; the full result if there are no tiles.
RowTiles without_tiles(const Csr& a, int64_t least) {
  const Device device = a.device();
  RowTiles tiles{.rows = a.rows,
                 .cols = a.cols,
                 .least = least,
                 .windows = Tensor::zeros({ceil_div(a.rows, kRows) + 1}, DType::i32, device),
                 .window_of = Tensor::empty({0}, DType::i32, device),
                 .columns = Tensor::empty({0, kColumns}, DType::i32, device),
                 .bits = Tensor::empty({0, kRows}, DType::i64, device),
                 .starts = Tensor::zeros({1}, DType::i32, device),
                 .entries = Tensor::empty({0}, DType::i32, device),
                 .rest = a,
                 .rest_entry = Tensor::empty({a.entries()}, DType::i32, device)};
  tiles.rest.cache = std::make_shared<KeyedCache>();
  auto* entry = tiles.rest_entry.mutable_data<int32_t>();
  for_each(kName, device.index, a.entries(),
           [=] __device__(int64_t e) { entry[e] = static_cast<int32_t>(e); });
  return tiles;
}

template <class Key>
RowTiles cut(const Csr& a, int64_t least, int col_bits, int bits) {
  const Device device = a.device();
  const int64_t n = a.entries(), windows = ceil_div(a.rows, kRows);
  const int64_t* offsets = a.offsets.data<int64_t>();
  const int64_t rows = a.rows;
  const auto ints = [&](int64_t count) { return Tensor::empty({count}, DType::i32, device); };

  Tensor row_of = ints(n);
  expand_rows({.a = a, .row = row_of});
  const int32_t* row = row_of.data<int32_t>();
  const Sorted sorted = sort_by_window<Key>(a, col_bits, bits);
  const auto* key = static_cast<const Key*>(sorted.key.raw_data());
  const int32_t* order = sorted.order.data<int32_t>();
  const auto begins = [=] __device__(int64_t k) { return k == 0 || key[k] != key[k - 1]; };
  // Beyond the last level.
  const auto is_parallel = [=] __device__(int64_t k) {
    return k > 0 && key[k] == key[k - 1] && row[order[k]] == row[order[k - 1]];
  };

  // The run of each sorted entry, counted from 1 (an exclusive sum that includes the entry's own start), and
  // the number of non-parallel entries before it.
  Tensor runs = ints(n + 1), singles = ints(n + 1);
  auto *run = runs.mutable_data<int32_t>(), *single = singles.mutable_data<int32_t>();
  for_each(kName, device.index, n + 1, [=] __device__(int64_t k) {
    run[k] = k < n && begins(k) ? 1 : 0;
    single[k] = k < n && !is_parallel(k) ? 1 : 0;
  });
  exclusive_sum(runs);
  exclusive_sum(singles);
  const int64_t num_runs = last_of(runs);
  const auto run_of = [=] __device__(int64_t k) { return run[k] - (begins(k) ? 0 : 1); };

  Tensor run_starts = ints(num_runs + 1);
  auto* run_start = run_starts.mutable_data<int32_t>();
  for_each(kName, device.index, n + 1, [=] __device__(int64_t k) {
    if (k == n || begins(k)) run_start[run[k]] = static_cast<int32_t>(k);
  });
  // Number of kept runs before each.
  Tensor kept_before = ints(num_runs + 1);
  auto* kept = kept_before.mutable_data<int32_t>();
  const auto is_kept = [=] __device__(int64_t r) {
    return single[run_start[r + 1]] - single[run_start[r]] >= least;
  };
  for_each(kName, device.index, num_runs + 1,
           [=] __device__(int64_t r) { kept[r] = r < num_runs && is_kept(r) ? 1 : 0; });
  exclusive_sum(kept_before);
  // The entries of window w occupy the same range before and after sorting.
  const auto kept_at = [=] __device__(int64_t w) {
    const int64_t first = offsets[min(w * kRows, rows)];
    return first == n ? kept[num_runs] : kept[run[first]];  // a window begins a run
  };

  Tensor tiles_before = ints(windows + 1);
  auto* tile_at = tiles_before.mutable_data<int32_t>();
  for_each(kName, device.index, windows + 1, [=] __device__(int64_t w) {
    const int columns = w < windows ? kept_at(w + 1) - kept_at(w) : 0;
    tile_at[w] = (columns + kColumns - 1) / kColumns;
  });
  exclusive_sum(tiles_before);
  const int64_t num_tiles = last_of(tiles_before);
  if (num_tiles == 0) return without_tiles(a, least);
  ADJ_CHECK(num_tiles * kRows < kMaxEntries, "row_tiles: {} tiles, more than int32 can number", num_tiles);

  RowTiles tiles{.rows = a.rows,
                 .cols = a.cols,
                 .least = least,
                 .windows = tiles_before,
                 .window_of = ints(num_tiles),
                 .columns = Tensor::empty({num_tiles, kColumns}, DType::i32, device),
                 .bits = Tensor::zeros({num_tiles, kRows}, DType::i64, device),
                 .starts = ints(num_tiles * kRows + 1),
                 .entries = {},
                 .rest = {},
                 .rest_entry = {}};
  auto* window_of = tiles.window_of.mutable_data<int32_t>();
  for_each(kName, device.index, windows, [=] __device__(int64_t w) {
    for (int t = tile_at[w]; t < tile_at[w + 1]; ++t) window_of[t] = static_cast<int32_t>(w);
  });

  // Placement of tile entries, by sorted position.
  auto* columns = tiles.columns.mutable_data<int32_t>();
  auto* tile_bits = reinterpret_cast<unsigned long long*>(tiles.bits.mutable_data<int64_t>());
  struct Place {
    int64_t tile_row;  ///< tile * kRows + row of the window; -1: in the rest
    int64_t tile;
    int bit;
  };
  const auto place_of = [=] __device__(int64_t k) {
    const int64_t r = run_of(k);
    if (kept[r + 1] == kept[r] || is_parallel(k)) return Place{-1, 0, 0};
    const int64_t i = row[order[k]], w = i / kRows, c = kept[r] - kept_at(w),
                  tile = tile_at[w] + c / kColumns;
    return Place{tile * kRows + i % kRows, tile, static_cast<int>(c % kColumns)};
  };
  ADJ_CUDA_CHECK(cudaMemsetAsync(columns, 0xff, static_cast<size_t>(num_tiles) * kColumns * sizeof(int32_t),
                                 current_stream(device.index)));
  Tensor in_rest = ints(n + 1);
  auto* rest_at = in_rest.mutable_data<int32_t>();
  for_each(kName, device.index, n + 1, [=] __device__(int64_t k) {
    if (k == n) {
      rest_at[n] = 0;
      return;
    }
    const Place place = place_of(k);
    rest_at[order[k]] = place.tile_row < 0 ? 1 : 0;
    if (place.tile_row < 0) return;
    atomicOr(tile_bits + place.tile_row, 1ull << place.bit);
    if (begins(k))
      columns[place.tile * kColumns + place.bit] =
          static_cast<int32_t>(key[k] >> kLevelBits & ((Key{1} << col_bits) - 1));
  });
  for_each(kName, device.index, num_tiles * kColumns, [=] __device__(int64_t c) {
    if (columns[c] >= 0) return;
    int64_t last = c - 1;
    while (columns[last] < 0) --last;  // concurrent writers write the same value
    columns[c] = columns[last];
  });

  auto* start = tiles.starts.mutable_data<int32_t>();
  for_each(kName, device.index, num_tiles * kRows + 1, [=] __device__(int64_t r) {
    start[r] = r < num_tiles * kRows ? __popcll(tile_bits[r]) : 0;
    if (r % kRows != kRows - 1 || r >= num_tiles * kRows) return;
    int values = 0;
    for (int64_t other = r - kRows + 1; other <= r; ++other) values += __popcll(tile_bits[other]);
    start[r] += (RowTiles::kValueAlignment - values % RowTiles::kValueAlignment) % RowTiles::kValueAlignment;
  });
  exclusive_sum(tiles.starts);
  exclusive_sum(in_rest);
  const int64_t num_values = last_of(tiles.starts), num_rest = last_of(in_rest);
  ADJ_CHECK(num_values >= 0, "row_tiles: more values in tiles than int32 can number");
  tiles.entries = ints(num_values);
  tiles.rest_entry = ints(num_rest);
  tiles.rest.rows = a.rows;
  tiles.rest.cols = a.cols;
  tiles.rest.offsets = Tensor::empty({a.rows + 1}, DType::i64, device);
  tiles.rest.indices = ints(num_rest);
  auto *entry = tiles.entries.mutable_data<int32_t>(), *rest_entry = tiles.rest_entry.mutable_data<int32_t>(),
       *rest_index = tiles.rest.indices.mutable_data<int32_t>();
  auto* rest_offset = tiles.rest.offsets.mutable_data<int64_t>();
  const int32_t* index = a.indices.data<int32_t>();
  ADJ_CUDA_CHECK(cudaMemsetAsync(entry, 0xff, static_cast<size_t>(num_values) * sizeof(int32_t),
                                 current_stream(device.index)));
  for_each(kName, device.index, rows + 1,
           [=] __device__(int64_t i) { rest_offset[i] = rest_at[offsets[i]]; });
  for_each(kName, device.index, n, [=] __device__(int64_t k) {
    const int32_t e = order[k];
    const Place place = place_of(k);
    if (place.tile_row < 0) {
      rest_index[rest_at[e]] = index[e];
      rest_entry[rest_at[e]] = e;
    } else {
      entry[start[place.tile_row] + __popcll(tile_bits[place.tile_row] & ((1ull << place.bit) - 1))] = e;
    }
  });
  return tiles;
}

}  // namespace

RowTiles make_row_tiles(const Csr& a, int64_t least) {
  const DeviceScope scope(a.device().index);
  if (a.entries() == 0) return without_tiles(a, least);
  const int col_bits = bits_for(a.cols), bits = bits_for(ceil_div(a.rows, kRows)) + col_bits + kLevelBits;
  return bits <= 31 ? cut<uint32_t>(a, least, col_bits, bits) : cut<uint64_t>(a, least, col_bits, bits);
}

}  // namespace adj::kernels::cuda
