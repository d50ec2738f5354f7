#include <adjoint/core/parallel.h>
#include <adjoint/graph/sample/negative_sampling.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace adj {

namespace {

constexpr int64_t kGrain = 1 << 13;

/// The pairs without an edge, by target, then source; finds the r-th without listing them.
class FreePairs {
 public:
  /// `diagonal`: whether a node may be paired with itself. `reverse`: for pairs without an edge in either
  /// direction, those of src < dst.
  FreePairs(const Csr& csr, bool diagonal, const Csr* reverse = nullptr) {
    const Rows forward(csr), backward = reverse != nullptr ? Rows(*reverse) : Rows();
    offsets_.push_back(0);
    before_.push_back(0);
    taken_.reserve(forward.columns.size());
    std::vector<int32_t> both;
    for (int64_t i = 0; i < csr.rows; ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(taken_.size());
      const int64_t columns = reverse == nullptr ? csr.cols : i + (diagonal ? 1 : 0);
      both.clear();
      forward.append(i, columns, both);
      if (reverse != nullptr) {
        backward.append(i, columns, both);
        std::sort(both.begin(), both.end());
      }
      std::unique_copy(both.begin(), both.end(), std::back_inserter(taken_));
      if (!diagonal && reverse == nullptr) {
        const auto position = std::lower_bound(taken_.begin() + begin, taken_.end(), static_cast<int32_t>(i));
        if (position == taken_.end() || *position != i) taken_.insert(position, static_cast<int32_t>(i));
      }
      offsets_.push_back(static_cast<int64_t>(taken_.size()));
      before_.push_back(before_.back() + columns - (offsets_.back() - begin));
    }
  }

  int64_t count() const { return before_.back(); }

  void find(int64_t rank, int32_t* src, int32_t* dst) const {
    const auto row = std::upper_bound(before_.begin(), before_.end(), rank) - before_.begin() - 1;
    *src = column(row, rank - before_[static_cast<size_t>(row)]);
    *dst = static_cast<int32_t>(row);
  }

  int64_t count_in(int64_t row) const {
    return before_[static_cast<size_t>(row) + 1] - before_[static_cast<size_t>(row)];
  }

  /// The free column of a row with the rank `in_row` there.
  int32_t column(int64_t row, int64_t in_row) const {
    // Before taken column t[k] there are t[k] - k free ones.
    const int32_t* taken = taken_.data() + offsets_[static_cast<size_t>(row)];
    int64_t low = 0, high = offsets_[static_cast<size_t>(row) + 1] - offsets_[static_cast<size_t>(row)];
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (taken[middle] - middle <= in_row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return static_cast<int32_t>(in_row + low);
  }

 private:
  struct Rows {
    Rows() = default;
    explicit Rows(const Csr& csr)
        : offsets(csr.offsets.to_vector<int64_t>()), columns(csr.indices.to_vector<int32_t>()) {}
    /// The columns of row i that are below `limit`.
    void append(int64_t i, int64_t limit, std::vector<int32_t>& all) const {
      const auto row = static_cast<size_t>(i);
      const auto first = columns.begin() + offsets[row], last = columns.begin() + offsets[row + 1];
      all.insert(all.end(), first, std::lower_bound(first, last, limit));
    }
    std::vector<int64_t> offsets;
    std::vector<int32_t> columns;
  };

  std::vector<int64_t> offsets_, before_;
  std::vector<int32_t> taken_;
};

/// A set of non-negative numbers.
class NumberSet {
 public:
  explicit NumberSet(int64_t most)
      : slots_(std::bit_ceil(static_cast<size_t>(2 * most + 2)), -1),
        shift_(64 - std::countr_zero(slots_.size())) {}
  /// False if it was present.
  bool insert(int64_t value) {
    size_t slot = static_cast<size_t>(static_cast<uint64_t>(value) * 0x9E3779B97F4A7C15u >> shift_);
    while (slots_[slot] != -1) {
      if (slots_[slot] == value) return false;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = value;
    return true;
  }

 private:
  std::vector<int64_t> slots_;
  int shift_;
};

/// `count` distinct numbers of [0, limit), uniformly, in random order.
std::vector<int64_t> distinct_numbers(int64_t count, int64_t limit, Generator& generator) {
  std::vector<int64_t> numbers;
  if (limit <= 3 * count && limit <= std::numeric_limits<int32_t>::max()) {
    const std::vector<int32_t> all = random_permutation(limit, generator).to_vector<int32_t>();
    numbers.assign(all.begin(), all.begin() + count);
    return numbers;
  }
  NumberSet seen(count);
  while (static_cast<int64_t>(numbers.size()) < count) {
    const int64_t missing = count - static_cast<int64_t>(numbers.size());
    for (int64_t number : random_integers({missing}, 0, limit, generator).to_vector<int64_t>())
      if (seen.insert(number)) numbers.push_back(number);
  }
  return numbers;
}

/// Made once for a relation; `reverse` as in FreePairs.
std::shared_ptr<const FreePairs> free_pairs(const Relation& relation, bool diagonal, const Csr* reverse) {
  ADJ_CHECK(relation.rows_ascend(),
            "negative_sampling: the sources of a target do not ascend, as in a sampled block, expected "
            "ascending ones");
  return relation.cache().get<FreePairs>((diagonal ? 1 : 0) + (reverse != nullptr ? 2 : 0),
                                         [&] { return new FreePairs(relation.csr(), diagonal, reverse); });
}

/// `reverse`: the relation's out-edges, for pairs without an edge in either direction.
EdgeIndex sample(const Relation& relation, int64_t count, Generator& generator, bool diagonal, bool repeated,
                 const Csr* reverse = nullptr) {
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  ADJ_CHECK(count >= 0 && count < kLimit, "negative_sampling: {} pairs, expected 0 to {}", count, kLimit - 1);
  const auto pairs = free_pairs(relation, diagonal, reverse);
  ADJ_CHECK(count == 0 || (repeated ? pairs->count() > 0 : pairs->count() >= count),
            "negative_sampling: {}{} pairs, but only {} have no edge", count, repeated ? "" : " distinct",
            pairs->count());
  const std::vector<int64_t> ranks =
      count == 0 ? std::vector<int64_t>()
      : repeated ? random_integers({count}, 0, pairs->count(), generator).to_vector<int64_t>()
                 : distinct_numbers(count, pairs->count(), generator);
  Tensor src = Tensor::empty({count}, DType::i32), dst = Tensor::empty({count}, DType::i32);
  int32_t *source = src.mutable_data<int32_t>(), *target = dst.mutable_data<int32_t>();
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) pairs->find(ranks[static_cast<size_t>(k)], source + k, target + k);
  });
  return {src.to(relation.device()), dst.to(relation.device())};
}

}  // namespace

EdgeIndex negative_sampling(const Graph& graph, int64_t count, Generator& generator,
                            const NegativeSampling& options) {
  return sample(graph.relation(), count, generator, options.self_loops, options.repeated,
                options.undirected ? &graph.out_edges() : nullptr);
}

EdgeIndex negative_sampling(const Relation& relation, int64_t count, Generator& generator, bool repeated) {
  return sample(relation, count, generator, true, repeated);
}

Tensor negative_sources(const Relation& relation, const Tensor& dst, Generator& generator) {
  const auto pairs = free_pairs(relation, true, nullptr);
  const std::vector<int32_t> targets = dst.to_vector<int32_t>();
  Tensor src = Tensor::empty({std::ssize(targets)}, DType::i32);
  int32_t* source = src.mutable_data<int32_t>();
  const RandomKey key = generator.next();
  parallel_for(std::ssize(targets), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = targets[static_cast<size_t>(k)];
      ADJ_CHECK(row >= 0 && row < relation.num_dst(), "negative_sources: target {} of {}", row,
                relation.num_dst());
      const auto free = static_cast<uint64_t>(pairs->count_in(row));
      ADJ_CHECK(free > 0, "negative_sources: target {} has an edge from every source", row);
      const PhiloxBlock block = philox(key.seed, stream_of(key), static_cast<uint64_t>(k));
      const uint64_t rank = (block.word[0] * free + (block.word[1] * free >> 32)) >> 32;
      source[k] = pairs->column(row, static_cast<int64_t>(rank));
    }
  });
  return src.to(relation.device());
}

}  // namespace adj
