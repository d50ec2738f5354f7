// Attention over tiles on Hopper's tensor cores (tile_attention.h), like FlashAttention (Dao 2023; on Hopper
// Shah et al. 2024), except that keys and values are the rows named by a tile's columns. A step is a tile and
// a head: logits S [128,64] = own x gathered, in registers; their weights there, masked by the tile's bits;
// then sums [128,D] += weights x gathered. While the tensor cores add to the sums, they also compute the next
// tile's logits; and while one warpgroup computes exponentials, they work for the other.
//
// A pass keeps the window rows' own features in shared memory and gathers the other side's, stage by stage:
//
//   pass             own      gathered  S          G           sums +=
//   forward          q        k, v      ⟨q, k⟩                 2^(S - m) v, online softmax by row
//   target_gradient  q, dO    k, v      ⟨q, k⟩     ⟨dO, v⟩     α (G - Δ) k
//   values           k        q, dO     ⟨k, q⟩                 α dO
//   source_gradient  k, v     q, dO     ⟨k, q⟩     ⟨v, dO⟩     α (G - Δ) q
//
// GAT's logits are sums of two scalars, so neither S nor its operands exist; its gradients are sums of α (G -
// Δ) leaky_relu' over rows:
//
//   forward                   x         l + r                  2^(S - m) x
//   target_gradient  dO       x         l + r      ⟨dO, x⟩
//   source_gradient  x        dO        r + l      ⟨x, dO⟩     α dO
//
// The gradients of keys and of values are two passes, as the sums of both, S and G do not fit in registers:
// this costs one extra product and one extra gather.
//
// Saved: lse and O. Recomputed: S, α and G.
//
// Bytes: 4 D per tile column and head, from L2; per window row and head 2 or 4 D read, and 4 D written.

#include <adjoint/kernels/tiles/cuda/attention_pass.cuh>

namespace adj::kernels::cuda {

namespace {

using namespace attention_pass;

/// Recomputes the thread's non-finite sums over their own entries.
template <class Operand, int kD, TileScore kScore, TilePass kPass>
__device__ __noinline__ void sum_again(const Arguments& a, const Part& part, const Factors& f,
                                       const float2 (&terms)[2], float* sums) {
  using S = Shape<kD, kScore, kPass>;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const auto operand_at = [](const uint16_t* x) {
    Operand operand;
    operand.bits = *x;
    return static_cast<float>(operand);
  };
  const auto product = [&](const uint16_t* x, const uint16_t* y) {
    float sum = 0;
    for (int d = 0; d < a.pitch; ++d) sum = fmaf(operand_at(x + d), operand_at(y + d), sum);
    return sum;
  };
  for (int which = 0; which < 2; ++which) {
    uint64_t bad = 0;
    for (int i = 0; i < kD / 2; ++i)
      if (i / 2 % 2 == which && !isfinite(sums[i])) {
        bad |= uint64_t{1} << i;
        sums[i] = 0;
      }
    if (bad == 0) continue;
    const int tile_row = warp * 16 + lane / 4 + which * 8;
    const int64_t row_offset =
        (int64_t{part.window} * kTileRows + tile_row) * a.row_pitch + part.head * a.pitch;
    for (int tile = part.first; tile < part.end; ++tile)
      for (uint64_t bits = a.bits[int64_t{tile} * kTileRows + tile_row]; bits != 0; bits &= bits - 1) {
        const int64_t column =
            a.columns[int64_t{tile} * kTileColumns + __ffsll(static_cast<long long>(bits)) - 1];
        const int64_t column_offset = column * a.row_pitch + part.head * a.pitch;
        const float2 term = S::kBySource ? a.terms[column * a.heads + part.head] : terms[which];
        float logit;
        if constexpr (S::kDot)
          logit = product(a.own_first + row_offset, a.first + column_offset);
        else
          logit = a.row_logit[(int64_t{part.window} * kTileRows + tile_row) * a.heads + part.head] +
                  a.column_logit[column * a.heads + part.head];
        const float g = S::kGradient ? product(a.own_second + row_offset, a.second + column_offset) : 0.0f;
        const Operand weight(weight_of<kScore, kPass>(logit, g, term, a.slope, f).of_rows);
        for (int i = 0; i < kD / 2; ++i) {
          const int feature = i / 4 * 8 + lane % 4 * 2 + i % 2;
          if ((bad >> i & 1) != 0 && feature < a.pitch)
            sums[i] =
                fmaf(static_cast<float>(weight),
                     operand_at((S::kSumsFirst ? a.first : a.second) + column_offset + feature), sums[i]);
        }
      }
  }
}

/// Work of a multiplier thread: its part of the sums of two rows of a window, kTogether tiles at a time, as
/// many as registers allow, to share common work and waits.
template <class Operand, int kD, TileScore kScore, TilePass kPass>
class Multiplier {
  using S = Shape<kD, kScore, kPass>;
  static constexpr int kTogether = S::kGradient ? 1 : 2;
  static_assert(S::kStages >= 2 * kTogether);  // some are summed while the next ones' logits are computed

 public:
  __device__ Multiplier(const Arguments& a, uint32_t shared)
      : a_(a),
        shared_(shared),
        window_(describe_tile(shared + S::kOwn + warpgroup_of_multipliers() * 64 * kRowBytes, S::kOwnPanel)),
        gathered_(describe_tile(shared, kPanelBytes)),
        factors_(find_factors<Operand>(a, kScore, kPass)),
        ring_(shared + S::kBarriers) {
#pragma unroll
    for (int i = 0; i < kD / 2; ++i) sum_[i] = 0;
#pragma unroll
    for (int i = 0; i < kTogether * 32; ++i) logit(i) = 0;
  }

  __device__ __forceinline__ void run() {
    const int begin = a_.shares.begin(blockIdx.x), end = a_.shares.begin(blockIdx.x + 1);
    for (int head = 0; head < a_.heads; ++head)
      for (int first = begin; first < end; first = part_.end) {
        const int window = __ldg(a_.window_of + first);
        part_ = {first, min(__ldg(a_.windows + window + 1), end), window, head, window};
        if (first > 0 && first == begin && __ldg(a_.window_of + first - 1) == window)
          part_.index = a_.num_windows + blockIdx.x;
        sum_part();
        leave_part();
      }
  }

 private:
  __device__ __forceinline__ void sum_part() {
    begin_part();
    begin_logits(part_.first);
    wait_for_products();
    for (int tile = part_.first; tile < part_.end; tile += kTogether) {
      const bool ends = tile + kTogether >= part_.end;
      if (S::kOwnMatrices > 0 && ends) arrive_by_warp(own_rows_read());
      if constexpr (!S::kDot) add_terms();
      if constexpr (S::kForward)
        weigh_by_largest();
      else
        weigh_by_terms();
      if constexpr (S::kSums) begin_sums(tile);
      int held[kTogether];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) held[u] = stage_[u];
      if (!ends) {
        begin_logits(tile + kTogether);
        wait_for_all_products_but<1>();
      } else {
        wait_for_products();
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u)
        if (tile + u < part_.end) ring_.read(held[u]);
      wait_for_products();
    }
  }

  __device__ __forceinline__ uint32_t own_rows_read() const {
    return shared_ + S::kOwnRowsRead + warpgroup_of_multipliers() * 8;
  }
  /// Loads the window's own rows and their terms.
  __device__ __forceinline__ void begin_part() {
    // A warp waits for its own products only: others' may still read the previous part's rows.
    if constexpr (S::kOwnMatrices > 0) {
      wait_for_barrier(own_rows_read(), round_ ^ 1);
      round_ ^= 1;
    }
    const auto copy_own = [&](const uint16_t* x, uint32_t destination) {
      copy_window<kD>(x + part_.head * a_.pitch, part_.window, a_.rows, a_.row_pitch, a_.pitch,
                      warpgroup_of_multipliers(), destination);
    };
    if constexpr (S::kDot) copy_own(a_.own_first, shared_ + S::kOwn);
    if constexpr (S::kGradient) copy_own(a_.own_second, shared_ + S::kOwn + S::kOwnSecond);
    commit_copies();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = part_.window * kTileRows + tile_row() + r * 8;
      const bool is_row = row < a_.rows;
      const int64_t term = int64_t{row} * a_.heads + part_.head;
      total_[r] = 0;
      if constexpr (S::kForward)
        terms_[r].x = lowest<float>();
      else if constexpr (!S::kBySource)
        terms_[r] = is_row ? __ldg(a_.terms + term) : float2{0, 0};
      if constexpr (!S::kDot) row_logit_[r] = is_row ? __ldg(a_.row_logit + term) : 0.0f;
    }
    wait_for_copies<0>();
    publish_to_tensor_cores();
    meet<128>(1 + warpgroup_of_multipliers());
  }

  /// S and G of the tiles from `tile` on, and their bits.
  __device__ __forceinline__ void begin_logits(int tile) {
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      if (u > 0 && tile + u >= part_.end) {
        bits_[u] = {};
        continue;
      }
      ring_.wait_until_written();
      stage_[u] = ring_.stage();
      ring_.advance();
      const uint64_t others = moved(gathered_, stage_[u] * S::kStageBytes);
      begin_products();
      if constexpr (S::kDot) {
#pragma unroll
        for (int k = 0; k < kD / 16; ++k)
          multiply_tiles<false, false, Operand>(logit_[u], moved(window_, k / 4 * S::kOwnPanel + k % 4 * 32),
                                                moved(others, k / 4 * kPanelBytes + k % 4 * 32), k > 0);
      }
      if constexpr (S::kGradient) {
#pragma unroll
        for (int k = 0; k < kD / 16; ++k)
          multiply_tiles<false, false, Operand>(
              product_, moved(window_, S::kOwnSecond + k / 4 * S::kOwnPanel + k % 4 * 32),
              moved(others, S::kSecond + k / 4 * kPanelBytes + k % 4 * 32), k > 0);
      }
      bits_[u].read(shared_ + stage_[u] * S::kStageBytes + S::kBits);
      // Bit 8 j + b of a row's words: is there an entry in the thread's column b of the j-th 8?
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        bits_[u].row[r].x >>= lane() % 4 * 2;
        bits_[u].row[r].y >>= lane() % 4 * 2;
      }
    }
    end_products();
  }

  __device__ __forceinline__ bool is_entry(int i) const {
    const uint2 row = bits_[i / 32].row[i / 2 % 2];
    const uint32_t word = i % 32 < 16 ? row.x : row.y;
    return (word & 1u << (i / 4 % 4 * 8 + i % 2)) != 0;
  }

  /// Logits of score `sum`, from two scalars each.
  __device__ __forceinline__ void add_terms() {
#pragma unroll
    for (int i = 0; i < kTogether * 32; i += 4) {
      float2 of_columns;
      asm volatile(
          "ld.shared.v2.f32 {%0, %1}, [%2];"
          : "=f"(of_columns.x), "=f"(of_columns.y)
          : "r"(shared_ + stage_[i / 32] * S::kStageBytes + S::kLogits + (i % 32 * 2 + lane() % 4 * 2) * 4)
          : "memory");
#pragma unroll
      for (int k = i; k < i + 4; ++k)
        logit(k) = row_logit_[k / 2 % 2] + (k % 2 == 0 ? of_columns.x : of_columns.y);
    }
  }

  /// Logits to weights by each row's running maximum; sums are rescaled if it changed.
  __device__ __forceinline__ void weigh_by_largest() {
    float largest[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, factor[2];
#pragma unroll
    for (int i = 0; i < kTogether * 32; ++i) {
      if constexpr (!S::kDot) logit(i) *= leaky_slope(logit(i), a_.slope);
      logit(i) = is_entry(i) ? logit(i) : -INFINITY;
      largest[i % 4] = fmaxf(largest[i % 4], logit(i));
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float& most = largest[r];
      most = fmaxf(largest[r * 2], largest[r * 2 + 1]);
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
      most = fmaxf(fmaf(most, factors_.logit, -kRaised<Operand>), terms_[r].x);
      factor[r] = power_of_2(terms_[r].x - most);
    }
    if (__any_sync(kAllLanes, largest[0] != terms_[0].x || largest[1] != terms_[1].x)) {
#pragma unroll
      for (int i = 0; i < kD / 2; ++i) sum_[i] *= factor[i / 2 % 2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        total_[r] *= factor[r];
        terms_[r].x = largest[r];
      }
    }
    float more[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kTogether * 32; ++i) {
      logit(i) = power_of_2(fmaf(logit(i), factors_.logit, -terms_[i / 2 % 2].x));
      (i % 2 == 0 ? total_ : more)[i / 2 % 2] += logit(i);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) total_[r] += more[r];
  }

  /// The same by lse, and logit gradients by Δ.
  __device__ __forceinline__ void weigh_by_terms() {
#pragma unroll
    for (int i = 0; i < kTogether * 32; i += 4) {
      [[maybe_unused]] float2 of_columns[2];
      if constexpr (S::kBySource)
        asm volatile(
            "ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(of_columns[0].x), "=f"(of_columns[0].y), "=f"(of_columns[1].x), "=f"(of_columns[1].y)
            : "r"(shared_ + stage_[i / 32] * S::kStageBytes + S::kTerms + (i % 32 * 2 + lane() % 4 * 2) * 8)
            : "memory");
#pragma unroll
      for (int k = i; k < i + 4; ++k) {
        const Weight weight = weight_of<kScore, kPass>(logit(k), product_[S::kGradient ? k : 0],
                                                       S::kBySource ? of_columns[k % 2] : terms_[k / 2 % 2],
                                                       a_.slope, factors_);
        logit(k) = is_entry(k) ? weight.of_rows : 0.0f;
        if constexpr (S::kRowSums) total_[k / 2 % 2] += is_entry(k) ? weight.of_row : 0.0f;
      }
    }
  }

  /// Sums += weights x gathered rows.
  __device__ __forceinline__ void begin_sums(int tile) {
    uint32_t operand[kTogether][kTileColumns / 16][4];
#pragma unroll
    for (int i = 0; i < kTogether * 16; ++i)
      operand[i / 16][i / 4 % 4][i % 4] = pack_operands<Operand>(logit(i * 2), logit(i * 2 + 1));
    begin_products();
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      if (u > 0 && tile + u >= part_.end) continue;
      const uint64_t summed = moved(gathered_, stage_[u] * S::kStageBytes + (S::kSumsFirst ? 0 : S::kSecond));
#pragma unroll
      for (int k = 0; k < kTileColumns / 16; ++k)
        multiply_tiles<true, Operand>(sum_, operand[u][k], moved(summed, k * 16 * kRowBytes),
                                      u > 0 || k > 0 || tile != part_.first);
    }
    end_products();
  }

  __device__ __forceinline__ void leave_part() {
    if (S::kSums && !all_finite(sum_)) {
      float copy[kD / 2];  // keeps the sums in registers elsewhere
#pragma unroll
      for (int i = 0; i < kD / 2; ++i) copy[i] = sum_[i];
      const Part part = part_;
      const Factors factors = factors_;
      const float2 terms[2] = {terms_[0], terms_[1]};
      sum_again<Operand, kD, kScore, kPass>(a_, part, factors, terms, copy);
#pragma unroll
      for (int i = 0; i < kD / 2; ++i) sum_[i] = copy[i];
    }
    const int64_t row = part_.index * kTileRows + tile_row();
    if constexpr (S::kSums) {
      float* const upper = a_.parts + row * a_.row_pitch + part_.head * a_.pitch + lane() % 4 * 2;
      const float factor = factors_.sum;
#pragma unroll
      for (int j = 0; j < kD / 8; ++j) {
        if (j * 8 >= a_.pitch) break;
        float* const output = upper + j * 8;
        __stcs(reinterpret_cast<float2*>(output), float2{sum_[j * 4] * factor, sum_[j * 4 + 1] * factor});
        __stcs(reinterpret_cast<float2*>(output + 8 * a_.row_pitch),
               float2{sum_[j * 4 + 2] * factor, sum_[j * 4 + 3] * factor});
      }
    }
    if constexpr (S::kRowSums) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        total_[r] += __shfl_xor_sync(kAllLanes, total_[r], 1);
        total_[r] += __shfl_xor_sync(kAllLanes, total_[r], 2);
        if (lane() % 4 == 0)
          reinterpret_cast<float2*>(a_.stats)[(row + r * 8) * a_.heads + part_.head] =
              S::kForward ? float2{terms_[r].x, total_[r]}
                          : float2{total_[r] * power_of_2(-kRaised<Operand>), 0.0f};
      }
    }
  }

  __device__ __forceinline__ float& logit(int i) { return logit_[i / 32][i % 32]; }
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  /// The upper of the thread's two rows in a window; the other is 8 below.
  static __device__ __forceinline__ int tile_row() {
    return static_cast<int>(threadIdx.x) / 32 * 16 + lane() / 4;
  }

  const Arguments& a_;
  const uint32_t shared_;
  const uint64_t window_, gathered_;
  const Factors factors_;
  typename S::Ring ring_;
  Part part_{};
  uint32_t round_ = 0;  // of the barrier own_rows_read
  int stage_[kTogether] = {};
  TileBits bits_[kTogether] = {};
  float sum_[kD / 2], logit_[kTogether][32], product_[S::kGradient ? 32 : 1];
  // Per row; in the forward pass the running maximum logit, less kRaised, and nothing.
  float2 terms_[2] = {};
  float total_[2] = {}, row_logit_[2] = {};
};

template <class Operand, int kD, TileScore kScore, TilePass kPass>
__global__ void __launch_bounds__(Shape<kD, kScore, kPass>::kThreads, 1)
    tile_attention_kernel(const __grid_constant__ Arguments a) {
  using S = Shape<kD, kScore, kPass>;
  begin_overlapping();
  const uint32_t shared = patterned_shared();
  if (threadIdx.x < 2) initialize_barrier(shared + S::kOwnRowsRead + threadIdx.x * 8, 128 / 32);
  S::Ring::initialize(shared + S::kBarriers);
  if (threadIdx.x >= kMultipliers) {
    give_registers<S::kReaderRegisters>();
    read_tiles<kD, kScore, kPass>(a, shared);
  } else {
    take_registers<S::kMultiplierRegisters>();
    Multiplier<Operand, kD, kScore, kPass>(a, shared).run();
  }
}

template <class Operand, int kD, TileScore kScore, TilePass kPass>
void run(Device device, const Arguments& a) {
  using S = Shape<kD, kScore, kPass>;
  launch_over_tiles<S>("tile_attention", device, tile_attention_kernel<Operand, kD, kScore, kPass>, a);
}

template <class Operand, int kD>
void run(Device device, TileScore score, TilePass pass, const Arguments& a) {
  const auto with = [&]<TilePass kPass>() {
    if constexpr (kPass != TilePass::values)
      if (score == TileScore::sum) return run<Operand, kD, TileScore::sum, kPass>(device, a);
    run<Operand, kD, TileScore::dot, kPass>(device, a);
  };
  switch (pass) {
    case TilePass::forward:
      return with.template operator()<TilePass::forward>();
    case TilePass::values:
      return with.template operator()<TilePass::values>();
    case TilePass::target_gradient:
      return with.template operator()<TilePass::target_gradient>();
    case TilePass::source_gradient:
      return with.template operator()<TilePass::source_gradient>();
  }
}

const uint16_t* operands_of(const OperandFeatures& x) { return static_cast<const uint16_t*>(x.data); }

}  // namespace

namespace {

/// All but the terms.
Arguments arguments_of(const TileAttention& attention) {
  const RowTiles& tiles = attention.tiles;
  const AttentionOperands& x = attention.operands;
  const bool by_source = attention.pass == TilePass::values || attention.pass == TilePass::source_gradient;
  const uint16_t *q = operands_of(x.q), *k = operands_of(x.k), *v = operands_of(x.v),
                 *d_o = operands_of(x.d_o);
  Arguments a{};
  a.shares = attention.shares;
  a.windows = tiles.windows.data<int32_t>();
  a.window_of = tiles.window_of.data<int32_t>();
  a.columns = tiles.columns.data<int32_t>();
  a.bits = static_cast<const uint64_t*>(tiles.bits.raw_data());
  a.own_first = by_source ? k : q;
  a.own_second = by_source ? v : d_o;
  a.first = by_source ? q : k;
  a.second = by_source ? d_o : v;
  a.q_scale = x.q.scale();
  a.k_scale = x.k.scale();
  a.v_scale = x.v.scale();
  a.d_o_scale = x.d_o.scale();
  a.scale = x.scale;
  a.row_logit = by_source ? x.r : x.l;
  a.column_logit = by_source ? x.l : x.r;
  a.slope = x.slope;
  if (x.terms) a.terms = static_cast<const float2*>(x.terms.raw_data());
  a.parts = attention.parts.mutable_data<float>();
  a.stats = attention.stats.mutable_data<float>();
  a.num_windows = tiles.num_windows();
  a.rows = static_cast<int>(tiles.rows);
  a.heads = static_cast<int>(x.heads);
  a.pitch = static_cast<int>(x.v.pitch);
  a.row_pitch = static_cast<int>(x.heads * x.v.pitch);
  return a;
}

}  // namespace

Tensor tile_attention_terms(const TileAttention& attention, const Tensor& lse, const Tensor& delta) {
  const Device device = lse.device();
  Tensor terms = Tensor::empty({lse.size(0), lse.size(1), 2}, DType::f32, device);
  const auto kernel =
      attention.operands.v.operand == TileOperand::float16 ? find_terms<float16> : find_terms<bfloat16>;
  launch("tile_attention", over(device.index, lse.numel()), kernel, arguments_of(attention),
         attention.operands.score, lse.data<float>(), delta.data<float>(), lse.numel(),
         static_cast<float2*>(terms.raw_mutable_data()));
  return terms;
}

void tile_attention(const TileAttention& attention) {
  if (attention.shares.blocks == 0) return;
  const Arguments a = arguments_of(attention);
  const Device device = attention.tiles.device();
  const bool wide = attention.operands.v.pitch > 64;
  attention.operands.v.operand == TileOperand::float16
      ? (wide ? run<float16, 128>(device, attention.operands.score, attention.pass, a)
              : run<float16, 64>(device, attention.operands.score, attention.pass, a))
      : (wide ? run<bfloat16, 128>(device, attention.operands.score, attention.pass, a)
              : run<bfloat16, 64>(device, attention.operands.score, attention.pass, a));
}

}  // namespace adj::kernels::cuda
