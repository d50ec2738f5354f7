#pragma once

#include <adjoint/kernels/attention/attention.h>
#include <adjoint/kernels/elementwise/cpu/dropout_mask.h>

#include <algorithm>

namespace adj::kernels::cpu {

/// Attention dropout decisions for runs of a structure's entries.
template <class T>
class AttentionMask {
 public:
  AttentionMask(const AttentionDropout& dropout, const int32_t* order, int64_t heads)
      : drops_(dropout.drops()),
        order_(order),
        heads_(heads),
        scale_(static_cast<T>(dropout.rule.scale)),
        stream_(stream_of(dropout.key)),
        first_block_(dropout.key.first_block),
        keys_(dropout.key.seed),
        mask_(dropout.key, dropout.rule) {}

  bool drops() const { return drops_; }

  /// w[k, h] *= m of entry begin + k and head h.
  void apply(int64_t begin, int64_t count, T* w) {
    if (!drops_) return;
    if (order_ != nullptr) return apply_each(begin, count, w);
    const int64_t first = begin * heads_, n = count * heads_;
    for (int64_t offset = 0; offset < n; offset += DropoutMask::kMost) {
      const int64_t length = std::min(n - offset, DropoutMask::kMost);
      scale(mask_.draw(first + offset, length), length, w + offset);
    }
  }

 private:
  void scale(const uint16_t* draws, int64_t n, T* w) const {
    const uint32_t threshold = mask_.threshold();
    const T kept = scale_;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) w[i] *= draws[i] >= threshold ? kept : T{0};
  }
  /// For edges in any order: draws the blocks that hold an edge's heads, sixteen at a time across edges.
  void apply_each(int64_t begin, int64_t count, T* w) {
    alignas(64) uint16_t draws[kDrawsAtOnce];
    uint64_t blocks[kBlocksAtOnce] = {};
    struct Piece {
      T* w;
      int64_t skipped, length;
    } pieces[kBlocksAtOnce];
    int64_t waiting = 0;
    const auto flush = [&] {
      philox_draws(keys_, stream_, blocks, draws);
      for (int64_t b = 0; b < waiting; ++b) {
        const Piece& piece = pieces[b];
        const uint16_t* source = draws + b * kDrawsPerBlock + piece.skipped;
        for (int64_t i = 0; i < piece.length; ++i)
          piece.w[i] *= source[i] >= mask_.threshold() ? scale_ : T{0};
      }
      waiting = 0;
    };
    for (int64_t k = 0; k < count; ++k) {
      const int64_t first = static_cast<int64_t>(order_[begin + k]) * heads_;
      for (int64_t h = 0; h < heads_;) {
        const int64_t skipped = (first + h) % kDrawsPerBlock;
        const int64_t length = std::min(heads_ - h, kDrawsPerBlock - skipped);
        blocks[waiting] = first_block_ + static_cast<uint64_t>((first + h) / kDrawsPerBlock);
        pieces[waiting] = {w + k * heads_ + h, skipped, length};
        if (++waiting == kBlocksAtOnce) flush();
        h += length;
      }
    }
    if (waiting > 0) flush();
  }

  bool drops_;
  const int32_t* order_;
  int64_t heads_;
  T scale_;
  uint64_t stream_, first_block_;
  PhiloxKeys keys_;
  DropoutMask mask_;
};

}  // namespace adj::kernels::cpu
