#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace adj::detail {

/// A subset of 0 … n - 1 with rank queries: a bitmap with counts, N / 8 + N / 16 bytes, which stays in cache
/// where a table of N numbers would not.
class NodeSet {
 public:
  explicit NodeSet(int64_t n) : words_(static_cast<size_t>((n + 63) / 64)), before_(words_.size()) {}

  /// Members must be in [0, n).
  void insert(std::span<const int32_t> members) {
    for (const int32_t i : members) words_[static_cast<uint32_t>(i) / 64] |= uint64_t{1} << (i % 64);
    uint32_t count = 0;
    for (size_t w = 0; w < words_.size(); ++w) {
      before_[w] = count;
      count += static_cast<uint32_t>(std::popcount(words_[w]));
    }
    size_ = count;
  }
  int64_t size() const { return size_; }
  bool contains(int32_t i) const { return ((words_[static_cast<uint32_t>(i) / 64] >> (i % 64)) & 1) != 0; }
  /// Number of members below i.
  int32_t rank(int32_t i) const {
    const size_t w = static_cast<uint32_t>(i) / 64;
    const uint64_t below = words_[w] & ((uint64_t{1} << (i % 64)) - 1);
    return static_cast<int32_t>(before_[w] + static_cast<uint32_t>(std::popcount(below)));
  }
  /// All members, ascending.
  std::vector<int32_t> members() const {
    std::vector<int32_t> all;
    all.reserve(static_cast<size_t>(size_));
    for (size_t w = 0; w < words_.size(); ++w)
      for (uint64_t left = words_[w]; left != 0; left &= left - 1)
        all.push_back(static_cast<int32_t>(64 * w) + std::countr_zero(left));
    return all;
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<uint32_t> before_;
  int64_t size_ = 0;
};

}  // namespace adj::detail
