#pragma once

#include <adjoint/core/random.h>

#include <cstring>

// The draws of DropoutRule (core/random.h), sixteen Philox blocks at a time: one block per lane of a vector.
namespace adj::kernels::cpu {

inline constexpr int64_t kDrawsPerBlock = 8;
inline constexpr int64_t kBlocksAtOnce = 16;
inline constexpr int64_t kDrawsAtOnce = kDrawsPerBlock * kBlocksAtOnce;

/// draws[0, 128) = the draws of the blocks [block, block + 16), in the order of their positions.
inline void philox_draws(uint64_t seed, uint64_t stream, uint64_t block, uint16_t* draws) {
  uint32_t c0[kBlocksAtOnce], c1[kBlocksAtOnce], c2[kBlocksAtOnce], c3[kBlocksAtOnce];
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    const uint64_t counter = block + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(counter);
    c1[i] = static_cast<uint32_t>(counter >> 32);
    c2[i] = static_cast<uint32_t>(stream);
    c3[i] = static_cast<uint32_t>(stream >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kBlocksAtOnce; ++i) {
      const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0[i];
      const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2[i];
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
      c0[i] = n0;
      c2[i] = n2;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  uint32_t words[4 * kBlocksAtOnce];
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
  std::memcpy(draws, words, sizeof words);
}

/// The draws of one sequence, position by position.
class DropoutMask {
 public:
  /// Positions that draw() makes at once.
  static constexpr int64_t kMost = 2048;

  DropoutMask(const RandomKey& key, const DropoutRule& rule)
      : seed_(key.seed), stream_(stream_of(key)), threshold_(static_cast<uint16_t>(rule.threshold)) {}

  /// The draws of positions [begin, begin + n), n <= kMost: position begin + i is kept where draws[i] >=
  /// threshold(). They stand until the next call.
  const uint16_t* draw(int64_t begin, int64_t n) {
    const int64_t first = begin / kDrawsPerBlock, skipped = begin % kDrawsPerBlock;
    for (int64_t at = 0; at < skipped + n; at += kDrawsAtOnce)
      philox_draws(seed_, stream_, static_cast<uint64_t>(first + at / kDrawsPerBlock), draws_ + at);
    return draws_ + skipped;
  }
  uint16_t threshold() const { return threshold_; }

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint16_t threshold_;
  alignas(64) uint16_t draws_[kMost + kDrawsAtOnce];
};

}  // namespace adj::kernels::cpu
