#pragma once

#include <adjoint/core/random.h>

#include <cstring>
#if defined(__AVX512F__)
// GCC 12 takes the undefined operands inside its own intrinsics for uninitialized variables.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

// The draws of DropoutRule (core/random.h), sixteen Philox blocks at a time.
namespace adj::kernels::cpu {

/// Philox's round keys for a seed.
struct PhiloxKeys {
  uint32_t low[10], high[10];

  explicit PhiloxKeys(uint64_t seed) {
    for (uint32_t round = 0; round < 10; ++round) {
      low[round] = static_cast<uint32_t>(seed) + round * 0x9E3779B9u;
      high[round] = static_cast<uint32_t>(seed >> 32) + round * 0xBB67AE85u;
    }
  }
};

inline constexpr int64_t kDrawsPerBlock = 8;
inline constexpr int64_t kBlocksAtOnce = 16;
inline constexpr int64_t kDrawsAtOnce = kDrawsPerBlock * kBlocksAtOnce;

#if defined(__AVX512F__)

/// draws[0, 128) = the draws of sixteen consecutive blocks, given their counters.
inline void philox_draws(const PhiloxKeys& keys, uint64_t stream, __m512i (&c0)[2], uint16_t* draws) {
  // Eight blocks per vector, one per 64-bit lane. Only the low half of a lane counts: multiplication reads no
  // more, so products and xors may leave anything in the high half.
  const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
  const __m512i s2 = _mm512_set1_epi64(static_cast<int64_t>(stream)), s3 = _mm512_srli_epi64(s2, 32);
  __m512i c1[2], c2[2] = {s2, s2}, c3[2] = {s3, s3};
  for (int i = 0; i < 2; ++i) c1[i] = _mm512_srli_epi64(c0[i], 32);
  constexpr int kXor3 = 0x96;
  for (int round = 0; round < 10; ++round) {
    const __m512i k0 = _mm512_set1_epi32(static_cast<int>(keys.low[round]));
    const __m512i k1 = _mm512_set1_epi32(static_cast<int>(keys.high[round]));
    for (int i = 0; i < 2; ++i) {
      const __m512i p0 = _mm512_mul_epu32(c0[i], m0), p1 = _mm512_mul_epu32(c2[i], m1);
      c0[i] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[i], k0, kXor3);
      c2[i] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[i], k1, kXor3);
      c1[i] = p1;
      c3[i] = p0;
    }
  }
  const __m512i first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
                last = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
  for (int i = 0; i < 2; ++i) {
    const __m512i w01 = _mm512_mask_shuffle_epi32(c0[i], 0xAAAA, c1[i], _MM_PERM_CCAA);
    const __m512i w23 = _mm512_mask_shuffle_epi32(c2[i], 0xAAAA, c3[i], _MM_PERM_CCAA);
    _mm512_storeu_si512(draws + 64 * i, _mm512_permutex2var_epi64(w01, first, w23));
    _mm512_storeu_si512(draws + 64 * i + 32, _mm512_permutex2var_epi64(w01, last, w23));
  }
}

/// draws[0, 128) = the draws of the blocks [block, block + 16), ordered by position.
inline void philox_draws(const PhiloxKeys& keys, uint64_t stream, uint64_t block, uint16_t* draws) {
  const __m512i first = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(block)),
                                         _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  __m512i counters[2] = {first, _mm512_add_epi64(first, _mm512_set1_epi64(8))};
  philox_draws(keys, stream, counters, draws);
}
/// draws[0, 128) = the draws of sixteen blocks, in order.
[[gnu::noinline]] inline void philox_draws(const PhiloxKeys& keys, uint64_t stream, const uint64_t* blocks,
                                           uint16_t* draws) {
  __m512i counters[2] = {_mm512_loadu_si512(blocks), _mm512_loadu_si512(blocks + 8)};
  philox_draws(keys, stream, counters, draws);
}

#else

/// draws[0, 128) = the draws of sixteen blocks, in order.
[[gnu::noinline]] inline void philox_draws(const PhiloxKeys& keys, uint64_t stream, const uint64_t* blocks,
                                           uint16_t* draws) {
  uint32_t c0[kBlocksAtOnce], c1[kBlocksAtOnce], c2[kBlocksAtOnce], c3[kBlocksAtOnce];
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    c0[i] = static_cast<uint32_t>(blocks[i]);
    c1[i] = static_cast<uint32_t>(blocks[i] >> 32);
    c2[i] = static_cast<uint32_t>(stream);
    c3[i] = static_cast<uint32_t>(stream >> 32);
  }
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kBlocksAtOnce; ++i) {
      const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0[i];
      const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ keys.low[round];
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ keys.high[round];
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
    }
  }
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    const uint32_t words[4] = {c0[i], c1[i], c2[i], c3[i]};
    std::memcpy(draws + kDrawsPerBlock * i, words, sizeof words);
  }
}
/// draws[0, 128) = the draws of the blocks [block, block + 16), ordered by position.
inline void philox_draws(const PhiloxKeys& keys, uint64_t stream, uint64_t block, uint16_t* draws) {
  uint64_t blocks[kBlocksAtOnce];
  for (int i = 0; i < kBlocksAtOnce; ++i) blocks[i] = block + static_cast<uint64_t>(i);
  philox_draws(keys, stream, blocks, draws);
}

#endif

/// The draws of one sequence, position by position.
class DropoutMask {
 public:
  /// Maximum positions per draw().
  static constexpr int64_t kMost = 2048;

  DropoutMask(const RandomKey& key, const DropoutRule& rule)
      : keys_(key.seed), stream_(stream_of(key)), first_block_(key.first_block), threshold_(rule.threshold) {}

  /// The draws of positions [begin, begin + n), n <= kMost: position begin + i is kept if draws[i] >=
  /// threshold(). Valid until the next call.
  [[gnu::noinline]] const uint16_t* draw(int64_t begin, int64_t n) {
    const int64_t skipped = begin % kDrawsPerBlock;
    const uint64_t first = first_block_ + static_cast<uint64_t>(begin / kDrawsPerBlock);
    for (int64_t offset = 0; offset < skipped + n; offset += kDrawsAtOnce)
      philox_draws(keys_, stream_, first + static_cast<uint64_t>(offset / kDrawsPerBlock), draws_ + offset);
    return draws_ + skipped;
  }
  uint32_t threshold() const { return threshold_; }

 private:
  PhiloxKeys keys_;
  uint64_t stream_, first_block_;
  uint32_t threshold_;
  alignas(64) uint16_t draws_[kMost + kDrawsAtOnce];
};

}  // namespace adj::kernels::cpu
