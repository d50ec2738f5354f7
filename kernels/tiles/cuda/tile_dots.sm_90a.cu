// Products of rows, per entry, over tiles on Hopper's tensor cores (SDDMM; TC-GNN, section 4.2). A step is a
// tile and a slab of kN features: a window's rows stay in shared memory, readers gather the rows of the
// tile's columns, tensor cores multiply all pairs, and of the 128 x 64 products those with a bit in the tile
// are written to their entries, through shared memory, where a thread handles the entries of half a row.
// Wider heads take several slabs, each adding to the values that the same thread wrote for the previous one.
//
// Bytes: 2 kN per tile column and slab, from L2; 4 kN / 2 per window row; 8 per entry, and 8 more for each
// further slab.

#include <adjoint/kernels/tiles/cuda/pipeline.cuh>
#include <adjoint/kernels/tiles/cuda/tile_dots.h>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

struct Arguments {
  TileShares shares;
  const int32_t* window_of;
  const int32_t* columns;
  const uint64_t* bits;
  const int32_t* starts;
  const int32_t* entries;
  const int32_t* order;
  const uint16_t *row_features, *column_features;  // [rows, row_pitch], [cols, row_pitch]
  const float *row_scale, *column_scale;
  float* dw;
  int rows, heads, pitch, row_pitch, slabs_of_head;
};

/// A warpgroup's products of a step, 64 x 64, in shared memory: the row pitch in numbers avoids bank
/// conflicts of the fragments.
constexpr int kSquarePitch = 72, kSquareBytes = 64 * kSquarePitch * 4;

template <int kN>
struct Shape {
  static constexpr int kReaders = kN == 64 ? 128 : 256;
  static constexpr int kThreads = kMultipliers + kReaders;
  static constexpr int kMultiplierRegisters = kReaders == 256 ? 160 : 200,
                       kReaderRegisters = kReaders == 256 ? 96 : 104;
  static constexpr int kOwnPanel = kTileRows * kRowBytes, kOwnBytes = kN / 64 * kOwnPanel;
  /// Offsets in a stage. Up to a fixed number of a tile's entries are copied, the others read on demand.
  static constexpr int kBits = kN / 64 * kPanelBytes, kStarts = kBits + kTileRows * 8,
                       kEntries = kStarts + 512;
  static constexpr int kCopiedEntries = kN == 256 ? 1152 : 2048;
  static constexpr int kStageBytes = ceil_div(kEntries + kCopiedEntries * 4, 1024) * 1024;
  static constexpr int kStages =
      std::min(6, (227 * 1024 - 2 * kPatternBytes - kOwnBytes - 2 * kSquareBytes) / kStageBytes);
  static constexpr int kOwn = kStages * kStageBytes, kSquares = kOwn + kOwnBytes,
                       kBarriers = kSquares + 2 * kSquareBytes;
  static constexpr int kSharedBytes = kBarriers + 2 * kPatternBytes;
  static_assert(kStages >= 3);
  using Ring = StageRing<kStages, kReaders>;
};

/// Start of a slab's features in a row, and their number.
struct Slab {
  int head, feature, width;
  bool first;

  __device__ Slab(const Arguments& a, int slab, int n) {
    head = slab / a.slabs_of_head;
    const int of_head = slab % a.slabs_of_head;
    first = of_head == 0;
    feature = head * a.pitch + of_head * n;
    width = min(n, a.pitch - of_head * n);
  }
};

template <int kN>
__device__ void read_tiles(const Arguments& a, uint32_t shared) {
  using S = Shape<kN>;
  const int thread = static_cast<int>(threadIdx.x) - kMultipliers;
  RowCopies<kN, S::kReaders> rows[2] = {RowCopies<kN, S::kReaders>(thread),
                                        RowCopies<kN, S::kReaders>(thread)};
  int first[2] = {}, end[2] = {};  // entries
  const uint32_t pitch = keep(kAllLanes, static_cast<uint32_t>(a.row_pitch * 2));
  typename S::Ring ring(shared + S::kBarriers);
  for_each_step(
      a.shares,
      [&](const TileSteps& step, auto i) {
        rows[i].find(a.columns, step.tile);
        first[i] = __ldg(a.starts + int64_t{step.tile} * kTileRows);
        end[i] = __ldg(a.starts + int64_t{step.tile} * kTileRows + kTileRows);
      },
      [&](const TileSteps& step, auto i) {
        ring.wait_until_read();
        const uint32_t destination = shared + ring.stage() * S::kStageBytes;
        const Slab slab(a, step.slab, kN);
        rows[i].begin(a.column_features + slab.feature, pitch, rows[i].feature() < slab.width, destination);
        copy_bits(a.bits, step.tile, thread, destination + S::kBits);
        if (thread < kTileRows / 4)
          copy_async(destination + S::kStarts + thread * 16,
                     a.starts + int64_t{step.tile} * kTileRows + thread * 4, true);
        const int count = min(end[i] - first[i], S::kCopiedEntries);
        for (int e = thread * 4; e < count; e += S::kReaders * 4)
          copy_async(destination + S::kEntries + e * 4, a.entries + first[i] + e, true);
        ring.written_by_copies();
        ring.advance();
      });
  wait_for_copies<0>();
}

template <class Operand, int kN>
__device__ void multiply_all(const Arguments& a, uint32_t shared) {
  using S = Shape<kN>;
  const int thread = static_cast<int>(threadIdx.x) % 128, warp = thread / 32, lane = thread % 32;
  const int warpgroup = warpgroup_of_multipliers();
  const float scale = (a.row_scale != nullptr ? __ldg(a.row_scale) : 1.0f) *
                      (a.column_scale != nullptr ? __ldg(a.column_scale) : 1.0f);
  const uint64_t row_tile = describe_tile(shared + S::kOwn + warpgroup * 64 * kRowBytes, S::kOwnPanel),
                 gathered = describe_tile(shared, kPanelBytes);
  TileSteps steps(a.shares);
  int window = -1, slab_of_window = -1;
  typename S::Ring ring(shared + S::kBarriers);
  for (; steps.valid(a.shares); steps.advance()) {
    const Slab slab(a, steps.slab, kN);
    const int tile_window = __ldg(a.window_of + steps.tile);
    if (tile_window != window || steps.slab != slab_of_window) {
      window = tile_window;
      slab_of_window = steps.slab;
      copy_window<kN>(a.row_features + slab.feature, window, a.rows, a.row_pitch, slab.width, warpgroup,
                      shared + S::kOwn);
      commit_copies();
      wait_for_copies<0>();
      publish_to_tensor_cores();
      meet<128>(1 + warpgroup);
    }
    ring.wait_until_written();
    const uint32_t stage = shared + ring.stage() * S::kStageBytes;
    float dot[32];
    begin_products();
#pragma unroll
    for (int k = 0; k < kN / 16; ++k)
      multiply_tiles<false, false, Operand>(
          dot, moved(row_tile, k / 4 * S::kOwnPanel + k % 4 * 32),
          moved(gathered, ring.stage() * S::kStageBytes + k / 4 * kPanelBytes + k % 4 * 32), k > 0);
    end_products();
    // A thread takes half a row's entries; finds their positions meanwhile.
    const int row = warpgroup * 64 + thread / 2;
    uint32_t bits[2], start, tile_start;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(bits[0]), "=r"(bits[1])
                 : "r"(stage + S::kBits + row * 8)
                 : "memory");
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(start) : "r"(stage + S::kStarts + row * 4) : "memory");
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(tile_start) : "r"(stage + S::kStarts) : "memory");
    if (thread % 2 == 1) start += __popc(bits[0]);
    wait_for_products();
    const uint32_t square = shared + S::kSquares + warpgroup * kSquareBytes;
    meet<128>(1 + warpgroup);  // all have read the previous square
#pragma unroll
    for (int i = 0; i < 32; i += 2)
      asm volatile(
          "st.shared.v2.f32 [%0], {%1, %2};" ::"r"(
              square +
              ((warp * 16 + lane / 4 + i / 2 % 2 * 8) * kSquarePitch + i / 4 * 8 + lane % 4 * 2) * 4),
          "f"(dot[i] * scale), "f"(dot[i + 1] * scale)
          : "memory");
    meet<128>(1 + warpgroup);
    const uint32_t of_row = square + (thread / 2 * kSquarePitch + thread % 2 * 32) * 4;
    float* const dw = a.dw + slab.head;
    // Four at a time, to overlap their latencies.
    constexpr int kTogether = 4;
    for (uint32_t left = thread % 2 == 0 ? bits[0] : bits[1]; left != 0; start += kTogether) {
      float product[kTogether];
      int place[kTogether];
      bool valid[kTogether];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        valid[u] = left != 0;
        const int column = valid[u] ? __ffs(static_cast<int>(left)) - 1 : 0;
        left &= left - 1;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(product[u]) : "r"(of_row + column * 4) : "memory");
        const uint32_t offset = start - tile_start + u;
        place[u] = 0;
        if (offset < S::kCopiedEntries)
          asm volatile("ld.shared.u32 %0, [%1];"
                       : "=r"(place[u])
                       : "r"(stage + S::kEntries + offset * 4)
                       : "memory");
        else if (valid[u])
          place[u] = __ldg(a.entries + start + u);
      }
      if (a.order != nullptr) {
#pragma unroll
        for (int u = 0; u < kTogether; ++u)
          if (valid[u]) place[u] = __ldg(a.order + place[u]);
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        if (!valid[u]) continue;
        float* const output = dw + int64_t{place[u]} * a.heads;
        // The only thread that adds there, so the order is fixed: a reduction without waiting.
        if (slab.first)
          *output = product[u];
        else
          asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(output), "f"(product[u]) : "memory");
      }
    }
    ring.read();
    ring.advance();
  }
}

template <class Operand, int kN>
__global__ void __launch_bounds__(Shape<kN>::kThreads, 1)
    tile_dots_kernel(const __grid_constant__ Arguments a) {
  using S = Shape<kN>;
  begin_leading();
  const uint32_t shared = patterned_shared();
  S::Ring::initialize(shared + S::kBarriers);
  if (threadIdx.x >= kMultipliers) {
    give_registers<S::kReaderRegisters>();
    read_tiles<kN>(a, shared);
  } else {
    take_registers<S::kMultiplierRegisters>();
    multiply_all<Operand, kN>(a, shared);
  }
}

template <class Operand, int kN>
void run(Device device, Arguments a) {
  using S = Shape<kN>;
  a.slabs_of_head = static_cast<int>(ceil_div(a.pitch, kN));
  a.shares.slabs = a.heads * a.slabs_of_head;
  launch_over_tiles<S>("tile_sddmm", device, tile_dots_kernel<Operand, kN>, a);
}

template <class Operand>
void run(Device device, const Arguments& a) {
  a.pitch > 128  ? run<Operand, 256>(device, a)
  : a.pitch > 64 ? run<Operand, 128>(device, a)
                 : run<Operand, 64>(device, a);
}

}  // namespace

void tile_dots(const TileDots& dots) {
  const RowTiles& tiles = dots.tiles;
  const Device device = tiles.device();
  Arguments a{};
  a.shares = tile_shares(tiles, 64, properties(device.index).multiprocessors);
  if (a.shares.blocks == 0) return;
  a.window_of = tiles.window_of.data<int32_t>();
  a.columns = tiles.columns.data<int32_t>();
  a.bits = static_cast<const uint64_t*>(tiles.bits.raw_data());
  a.starts = tiles.starts.data<int32_t>();
  a.entries = tiles.entries.data<int32_t>();
  a.order = data_or_null<int32_t>(dots.order);
  a.row_features = static_cast<const uint16_t*>(dots.row_features.data);
  a.column_features = static_cast<const uint16_t*>(dots.column_features.data);
  a.row_scale = dots.row_features.scale();
  a.column_scale = dots.column_features.scale();
  a.dw = dots.dw.mutable_data<float>();
  a.rows = static_cast<int>(tiles.rows);
  a.heads = static_cast<int>(dots.heads);
  a.pitch = static_cast<int>(dots.pitch);
  a.row_pitch = static_cast<int>(dots.heads * dots.pitch);
  dots.row_features.operand == TileOperand::float16 ? run<float16>(device, a) : run<bfloat16>(device, a);
}

}  // namespace adj::kernels::cuda
