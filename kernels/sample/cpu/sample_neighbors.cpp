// Rows in chunks over threads. Distant memory is prefetched: a row's bounds some rows ahead, and the columns
// of some rows' entries while the next of these rows draw. Draws depend only on the row.
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/sample/draws.h>
#include <adjoint/kernels/sample/sample_neighbors.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kGrain = 512;    // rows per chunk: at least some 50 µs
constexpr int64_t kFarAhead = 16;  // rows by which bounds are prefetched
constexpr int64_t kUnread = 64;    // entries taken before their columns are read

/// Set of the numbers below a limit drawn by a row.
class Drawn {
 public:
  /// For `count` numbers below `limit`.
  void start(int32_t limit, int64_t count) {
    if (limit <= 64) {
      few_ = 0;
      method_ = Method::few;
    } else if (limit <= kBits) {
      method_ = Method::bits;
      if (bits_.empty()) bits_.resize(kBits / 64);
    } else {
      method_ = Method::hash;
      size_t slots = 16;
      while (slots < 2 * static_cast<size_t>(count)) slots *= 2;
      if (hash_.size() < slots) hash_.assign(slots, -1);
      mask_ = static_cast<uint32_t>(slots - 1);
    }
  }
  /// False if already present.
  bool insert(int32_t number) {
    const auto n = static_cast<uint32_t>(number);
    const uint64_t bit = uint64_t{1} << (n % 64);
    if (method_ == Method::few) return (std::exchange(few_, few_ | bit) & bit) == 0;
    if (method_ == Method::bits) return (std::exchange(bits_[n / 64], bits_[n / 64] | bit) & bit) == 0;
    for (uint32_t slot = hashed(n);; slot = (slot + 1) & mask_) {
      if (hash_[slot] == number) return false;
      if (hash_[slot] < 0) {
        hash_[slot] = number;
        used_.push_back(slot);
        return true;
      }
    }
  }
  /// Removes the numbers inserted since start(): `numbers`, less `first`.
  void finish(const int32_t* numbers, int64_t count, int32_t first) {
    if (method_ == Method::bits)
      for (int64_t i = 0; i < count; ++i) bits_[static_cast<size_t>(numbers[i] - first) / 64] = 0;
    for (uint32_t slot : used_) hash_[slot] = -1;
    used_.clear();
  }

 private:
  static constexpr int32_t kBits = 1 << 16;  // 8 KiB: fits in L1
  enum class Method : uint8_t { few, bits, hash };
  uint32_t hashed(uint32_t n) const { return (n * 0x9E3779B9u >> 7) & mask_; }

  Method method_ = Method::few;
  uint64_t few_ = 0;
  std::vector<uint64_t> bits_;
  std::vector<int32_t> hash_;
  std::vector<uint32_t> used_;
  uint32_t mask_ = 0;
};

/// Sampler for the rows of one chunk.
class RowSampler : SampledRows {
 public:
  explicit RowSampler(const NeighborSample& request)
      : SampledRows(request), stream_(stream_of(request.key)) {}

  void ask_for_bounds(int32_t row) const {
    __builtin_prefetch(offsets + row);
    if (positive != nullptr) __builtin_prefetch(positive + row);
  }

  int64_t count(int32_t row) const {
    const int64_t degree = offsets[row + 1] - offsets[row];
    const int64_t choosable = positive != nullptr ? positive[row] : degree;
    if (fanout == kAllNeighbors || choosable == 0) return choosable;
    if (repeats()) return fanout;
    if (choosable <= fanout || choice != NeighborChoice::labor) return std::min(choosable, fanout);
    int64_t taken = 0;
    for (int64_t e = offsets[row]; e < offsets[row + 1]; ++e)
      taken += static_cast<int64_t>(takes(stream_, columns[e], degree));
    return taken;
  }

  /// Writes the `count` entries taken by the row.
  void take(int32_t row, int64_t count, int32_t* entry) {
    if (count == 0) return;
    const auto first = static_cast<int32_t>(offsets[row]);
    const auto degree = static_cast<int32_t>(offsets[row + 1] - first);
    // A row with at most fan-out eligible entries is taken whole.
    const int64_t choosable = positive != nullptr ? positive[row] : degree;
    const bool whole = fanout == kAllNeighbors || (!repeats() && choosable <= fanout);
    if (whole && choosable == degree) {
      std::iota(entry, entry + count, first);
    } else if (whole) {
      for (int32_t e = first; e < first + degree; ++e)
        if (weight[e] > 0.0f) *entry++ = e;
    } else if (choice == NeighborChoice::uniform) {
      distinct(row, first, degree, static_cast<int32_t>(count), entry);
    } else if (choice == NeighborChoice::uniform_repeated) {
      const auto range = static_cast<uint32_t>(degree);
      each_draw(row, degree, count, [&](int64_t i, auto&& scaled) { entry[i] = first + scaled(range); });
    } else if (choice == NeighborChoice::weighted) {
      smallest_keys(row, first, degree, count, entry);
    } else if (choice == NeighborChoice::weighted_repeated) {
      for (int64_t i = 0; i < count; ++i)
        entry[i] =
            first + sample::find_by_weight(sample::draw_unit(seed, stream_, row, static_cast<uint32_t>(i)),
                                           sums + first, degree);
    } else {
      for (int32_t e = first; e < first + degree; ++e)
        if (takes(stream_, columns[e], degree)) *entry++ = e;
    }
  }

 private:
  /// Calls f(i, scaled) for i = 0 … count - 1; scaled(range) is slot i's draw below range, equal to
  /// draw_below, with each block of words computed once.
  template <class F>
  void each_draw(int32_t row, int64_t degree, int64_t count, F&& f) const {
    const bool narrow = degree <= sample::kNarrowRange;
    const int64_t slots = narrow ? 4 : 2;
    for (int64_t i = 0; i < count; i += slots) {
      const PhiloxBlock words =
          philox(seed, stream_, sample::block_of(row, static_cast<uint32_t>(i / slots)));
      for (int64_t lane = 0; lane < slots && i + lane < count; ++lane)
        f(i + lane, [&](uint32_t range) {
          return narrow ? sample::scaled_narrow(words.word[lane], range)
                        : sample::scaled_wide(sample::wide_word(words, static_cast<uint32_t>(lane)), range);
        });
    }
  }

  void distinct(int32_t row, int32_t first, int32_t degree, int32_t count, int32_t* entry) {
    drawn_.start(degree, count);
    const int32_t base = degree - count;
    each_draw(row, degree, count, [&](int64_t i, auto&& scaled) {
      const int32_t last = base + static_cast<int32_t>(i);
      int32_t place = scaled(static_cast<uint32_t>(last) + 1);
      if (!drawn_.insert(place)) drawn_.insert(place = last);
      entry[i] = first + place;
    });
    drawn_.finish(entry, count, first);
  }

  void smallest_keys(int32_t row, int32_t first, int32_t degree, int64_t count, int32_t* entry) {
    keys_.clear();
    for (int32_t e = first; e < first + degree; ++e)
      if (weight[e] > 0.0f)
        keys_.emplace_back(
            sample::weighted_key(seed, stream_, row, static_cast<uint32_t>(e - first), weight[e]), e);
    // Ties: the earlier entry.
    std::nth_element(keys_.begin(), keys_.begin() + count, keys_.end());
    for (int64_t i = 0; i < count; ++i) entry[i] = keys_[static_cast<size_t>(i)].second;
    std::sort(entry, entry + count);
  }

  uint64_t stream_;
  Drawn drawn_;
  std::vector<std::pair<double, int32_t>> keys_;
};

}  // namespace

void sample_counts(const SampleCountsArgs& args) {
  const int32_t* rows = args.request.rows.data<int32_t>();
  const int64_t n = args.request.rows.numel();
  int64_t* offsets = args.offsets.mutable_data<int64_t>();
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    const RowSampler sampler(args.request);
    for (int64_t i = begin; i < end; ++i) {
      if (i + kFarAhead < end) sampler.ask_for_bounds(rows[i + kFarAhead]);
      offsets[i + 1] = sampler.count(rows[i]);
    }
  });
  offsets[0] = 0;
  for (int64_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
}

void sample_neighbors(const SampleNeighborsArgs& args) {
  const int32_t *rows = args.request.rows.data<int32_t>(),
                *columns = args.request.csr.indices.data<int32_t>();
  const int64_t* offsets = args.offsets.data<int64_t>();
  int32_t *entry = args.entry.mutable_data<int32_t>(), *col = args.col.mutable_data<int32_t>();
  parallel_for(args.request.rows.numel(), kGrain, [&](int64_t begin, int64_t end) {
    RowSampler sampler(args.request);
    const auto read = [&](int64_t first, int64_t last) {
      for (int64_t s = offsets[first]; s < offsets[last]; ++s) col[s] = columns[entry[s]];
    };
    int64_t unread = begin;
    for (int64_t i = begin; i < end; ++i) {
      if (i + kFarAhead < end) sampler.ask_for_bounds(rows[i + kFarAhead]);
      sampler.take(rows[i], offsets[i + 1] - offsets[i], entry + offsets[i]);
      for (int64_t s = offsets[i]; s < offsets[i + 1]; ++s) __builtin_prefetch(columns + entry[s]);
      if (offsets[i + 1] - offsets[unread] >= kUnread) read(std::exchange(unread, i + 1), i + 1);
    }
    read(unread, end);
  });
}

// One pass in order, on the calling thread only: every number depends on the previous ones. It is bound by
// table lookups, so their cache lines are prefetched; whether a node is new is handled branch-free, as it is
// unpredictable.
void number_nodes(const NumberNodesArgs& args) {
  constexpr int64_t kAhead = 24;
  const int32_t* ids = args.ids.data<int32_t>();
  const int64_t n = args.used ? *args.used.data<int64_t>() : args.ids.numel();
  int32_t *table = args.table.mutable_data<int32_t>(), *nodes = args.nodes.mutable_data<int32_t>(),
          *number = args.number.mutable_data<int32_t>();
  const auto base = static_cast<int32_t>(args.base);
  auto next = static_cast<int32_t>(args.known);
  const auto take = [&](int64_t k) {
    const int32_t id = ids[k], found = table[id] - base;
    const bool is_new = found < 0;
    const int32_t chosen = is_new ? next : found;
    table[id] = base + chosen;
    nodes[next] = id;  // always written; overwritten by the next new one if this is known; there is room
    number[k] = chosen;
    next += static_cast<int32_t>(is_new);
  };
  const int64_t ahead = std::max<int64_t>(n - kAhead, 0);
  for (int64_t k = 0; k < std::min(n, kAhead); ++k) __builtin_prefetch(table + ids[k], 1);
  for (int64_t k = 0; k < ahead; ++k) {
    __builtin_prefetch(table + ids[k + kAhead], 1);
    take(k);
  }
  for (int64_t k = ahead; k < n; ++k) take(k);
  *args.count.mutable_data<int64_t>() = next;
}

}  // namespace adj::kernels::cpu
