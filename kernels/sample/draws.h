#pragma once

#include <adjoint/kernels/sample/sample_neighbors.h>

#include <cmath>
#include <cstdint>

// Random numbers of neighbor sampling: functions of only the key and global ids, in integer and single IEEE
// operations, so that every device draws the same bits, for any number of threads and any position of a node
// in the batch.
namespace adj::kernels::sample {

/// A Philox block of a node; different nodes never share one.
ADJ_HOST_DEVICE inline uint64_t block_of(int32_t node, uint32_t block) {
  return static_cast<uint64_t>(static_cast<uint32_t>(node)) << 32 | block;
}

/// Narrow words have 32 bits, four per block; wide ones 64, two per block. A narrow word drawn into [0,
/// range) is biased by at most range / 2^32: 1.5e-5 for rows up to this length; wide ones by 2^-33.
constexpr int64_t kNarrowRange = 1 << 16;

/// Wide word of a slot, in its block: the first if `slot` is even, else the second.
ADJ_HOST_DEVICE inline uint64_t wide_word(const PhiloxBlock& words, uint32_t slot) {
  const bool second = (slot & 1) != 0;
  return static_cast<uint64_t>(second ? words.word[3] : words.word[1]) << 32 |
         (second ? words.word[2] : words.word[0]);
}

/// floor(word * range / 2^32), in [0, range).
ADJ_HOST_DEVICE inline int32_t scaled_narrow(uint32_t word, uint32_t range) {
  return static_cast<int32_t>(static_cast<uint64_t>(word) * range >> 32);
}
/// floor(word * range / 2^64), in [0, range).
ADJ_HOST_DEVICE inline int32_t scaled_wide(uint64_t word, uint32_t range) {
  const uint64_t low = (word & 0xffffffffu) * range >> 32;
  return static_cast<int32_t>(((word >> 32) * range + low) >> 32);
}

/// Draw of slot `slot` for a row of `degree` in [0, range), from its node's words.
ADJ_HOST_DEVICE inline int32_t draw_below(uint64_t seed, uint64_t stream, int32_t node, int64_t degree,
                                          uint32_t slot, uint32_t range) {
  if (degree <= kNarrowRange)
    return scaled_narrow(philox(seed, stream, block_of(node, slot / 4)).word[slot % 4], range);
  return scaled_wide(wide_word(philox(seed, stream, block_of(node, slot / 2)), slot), range);
}

/// Uniform in [0, 1), 53 bits.
ADJ_HOST_DEVICE inline double draw_unit(uint64_t seed, uint64_t stream, int32_t node, uint32_t slot) {
  const uint64_t word = wide_word(philox(seed, stream, block_of(node, slot / 2)), slot);
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

/// The entry at fraction `u` of a row's weights: the first whose prefix sum in `sums` [degree] exceeds it;
/// the last sum is positive.
ADJ_HOST_DEVICE inline int32_t find_by_weight(double u, const double* sums, int32_t degree) {
  const double total = sums[degree - 1], threshold = u * total;
  // If rounding reaches the end, take the last entry with a positive weight.
  const bool at_end = !(threshold < total);
  int32_t low = 0, high = degree - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (at_end ? sums[middle] < total : !(sums[middle] > threshold)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// -ln((w + 1/2) / 2^52) of a word's upper 52 bits w: exponentially distributed, positive, finite. The
/// logarithm is computed here by FMAs, which every device rounds identically; libraries differ.
ADJ_HOST_DEVICE inline double exponential(uint64_t word) {
  uint64_t bits = (word >> 12) << 1 | 1;
  int shift = 0;
  for (int step = 32; step > 0; step /= 2)
    if (bits < uint64_t{1} << (53 - step)) {
      bits <<= step;
      shift += step;
    }
  // bits in [2^52, 2^53): u = m 2^-(shift + 1) with m in [1, 2).
  double m = static_cast<double>(bits) * 0x1.0p-52;
  double exponent = static_cast<double>(shift + 1);
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    exponent = static_cast<double>(shift);
  }
  // ln m = 2 artanh(s) = 2 s (1 + s^2 / 3 + s^4 / 5 + …), s = (m - 1) / (m + 1), |s| < 0.172.
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 17.0;
  p = fma(p, z, 1.0 / 15.0);
  p = fma(p, z, 1.0 / 13.0);
  p = fma(p, z, 1.0 / 11.0);
  p = fma(p, z, 1.0 / 9.0);
  p = fma(p, z, 1.0 / 7.0);
  p = fma(p, z, 1.0 / 5.0);
  p = fma(p, z, 1.0 / 3.0);
  p = fma(p, z, 1.0);
  const double t = 2.0 * s;
  return fma(-t, p, exponent * 0.69314718055994531);
}

/// Key of entry `place` of a node's row in weighted sampling without replacement (Efraimidis & Spirakis,
/// Weighted random sampling with a reservoir, 2006): -ln(u) / w; the smallest keys are taken.
ADJ_HOST_DEVICE inline double weighted_key(uint64_t seed, uint64_t stream, int32_t node, uint32_t place,
                                           float weight) {
  const uint64_t word = wide_word(philox(seed, stream, block_of(node, place / 2)), place);
  return exponential(word) / static_cast<double>(weight);
}

/// Whether a row of `degree` entries with `fanout` expected ones takes the source whose random number r is
/// this word. LABOR-0: r / 2^32 < fanout / degree.
ADJ_HOST_DEVICE inline bool labor_takes(uint32_t word, int64_t degree, int64_t fanout) {
  return static_cast<uint64_t>(word) * static_cast<uint64_t>(degree) < static_cast<uint64_t>(fanout) << 32;
}
/// Random number r of a source for labor_takes: the same in all rows that have it.
ADJ_HOST_DEVICE inline uint32_t labor_word(uint64_t seed, uint64_t stream, int32_t source) {
  return philox(seed, stream, static_cast<uint64_t>(static_cast<uint32_t>(source)) / 4)
      .word[static_cast<uint32_t>(source) % 4];
}

}  // namespace adj::kernels::sample

namespace adj::kernels {

/// The rows of a request, as the kernels read them.
struct SampledRows {
  const int64_t* offsets;   ///< of the structure, as `columns`
  const int32_t* columns;   ///< of its entries
  const int32_t* rows;      ///< which rows to draw for
  int64_t num_rows;         ///< their number
  int64_t fanout;           ///< most entries of a row
  NeighborChoice choice;    ///< how entries are drawn
  uint64_t seed;            ///< of the key
  RandomKey key;            ///< of the draws
  const float* weight;      ///< of entries; null, as the next two: equal ones
  const double* sums;       ///< of weights up to each entry
  const int32_t* positive;  ///< by row: entries with a weight

  explicit SampledRows(const NeighborSample& request)
      : offsets(request.csr.offsets.data<int64_t>()),
        columns(request.csr.indices.data<int32_t>()),
        rows(request.rows.data<int32_t>()),
        num_rows(request.rows.numel()),
        fanout(request.fanout),
        choice(request.choice),
        seed(request.key.seed),
        key(request.key),
        weight(request.weights != nullptr ? request.weights->weight.data<float>() : nullptr),
        sums(request.weights != nullptr ? request.weights->sums.data<double>() : nullptr),
        positive(request.weights != nullptr ? request.weights->positive.data<int32_t>() : nullptr) {}

  /// An entry may be drawn several times.
  ADJ_HOST_DEVICE bool repeats() const {
    return choice == NeighborChoice::uniform_repeated || choice == NeighborChoice::weighted_repeated;
  }
  /// LABOR: whether a row of `degree` entries takes the one of `source`.
  ADJ_HOST_DEVICE bool takes(uint64_t stream, int32_t source, int64_t degree) const {
    return sample::labor_takes(sample::labor_word(seed, stream, source), degree, fanout);
  }
};

}  // namespace adj::kernels
