#pragma once

#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels {

/// Marks an absent value: beyond the last place of a tile.
inline constexpr uint32_t kNoPlace = 0xffff;

/// Position of (row, column) of a tile in shared memory, in 16-bit operands: rows of 64 operands, with groups
/// of eight swizzled by row (kernels/dense/cuda/tensor_core.cuh).
ADJ_HOST_DEVICE inline uint32_t place_in_tile(int row, int column) {
  return static_cast<uint32_t>(row * RowTiles::kColumns + ((column / 8 ^ row % 8) * 8 + column % 8));
}

/// A matrix's values in the order of a cut; or, if each is a row factor times a column factor, as in GCN,
/// only the factors. All absent: ones.
struct TileValues {
  Tensor tile;   ///< int32 [values]: place_in_tile() << 16 | float16 or bfloat16; padding: kNoPlace << 16
  Tensor scale;  ///< float32 [1]: their multiplier, a power of two
  Tensor rest;   ///< float32 [entries of the rest]
  Tensor row_factor, column_factor;  ///< float32 [rows], [cols]; either may be absent
};

/// Fills `output`, allocated as described at TileValues for the cut `tiles`, from values float32 [M] indexed
/// by `order` (CsrMatrix). bfloat16 with scale 1 for bfloat16 features. For float32 features float16, with
/// the largest raised to 2^15 by the scale: values no less than 2^-29 of it keep all 11 bits, smaller ones
/// fewer.
struct TileValuesArgs {
  const RowTiles& tiles;
  const Tensor& values;
  const Tensor& order = kAbsent;
  DType features = DType::f32;
  TileValues& output;

  Device device() const { return tiles.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    const Device device = tiles.device();
    const int64_t entries = tiles.entries.numel(), rest = tiles.rest.entries();
    ADJ_CHECK(features == DType::f32 || features == DType::bf16,
              "{}: expected float32 or bfloat16 features, got {}", op, name_of(features));
    check_tensor(op, "values", values, {values.numel()}, DType::f32, device);
    if (order) check_tensor(op, "order", order, {order.numel()}, DType::i32, device);
    check_tensor(op, "tile", output.tile, {entries}, DType::i32, device);
    check_tensor(op, "scale", output.scale, {1}, DType::f32, device);
    check_tensor(op, "rest", output.rest, {rest}, DType::f32, device);
  }
};
ADJ_KERNEL(tile_values, TileValuesArgs)  ///< Values in the order of a cut.

/// `y` [rows,F] = act(A X + bias), like spmm, for a cut matrix: tiles by tensor cores, the rest by CSR rows,
/// accumulated in float32. `x` [cols,F], bias [F] and y are float32 or bfloat16; `activation` is none or
/// relu.
///
/// Precision. bfloat16: features are unchanged, tile values rounded to bfloat16. float32: both are rounded to
/// 11 significant bits, as in TF32; features as float16, each column scaled by a power of two so that numbers
/// no less than 2^-29 of the column's largest finite one keep all 11. Column factors are multiplied into the
/// features before rounding, row factors into the sums. The order of each sum depends only on the structure.
/// NaN and infinity reach only the rows that have them as a neighbor.
///
/// Requires a GPU of compute capability 9.0 (has_tile_spmm); the CPU version applies the same roundings in
/// plain loops, as a reference. Scratch: 2 F bytes per column (float32 features), 4 F per row, 512 F per SM.
struct TileSpmmArgs {
  const RowTiles& tiles;
  const TileValues& values;
  const Tensor& x;
  const Tensor& bias = kAbsent;
  Activation activation = Activation::none;
  Tensor& y;

  void check(std::string_view op) const {
    const Device device = tiles.device();
    ADJ_CHECK(x.dtype() == DType::f32 || x.dtype() == DType::bf16,
              "{}: expected float32 or bfloat16 features, got {}", op, name_of(x.dtype()));
    const int64_t width = detail::width_of(op, x, tiles.cols, device);
    if (bias) check_tensor(op, "bias", bias, {width}, x.dtype(), device);
    check_tensor(op, "y", y, {tiles.rows, width}, x.dtype(), device);
    check_fused(op, activation);
    if (values.tile) {
      check_tensor(op, "values", values.tile, {tiles.entries.numel()}, DType::i32, device);
      check_tensor(op, "scale", values.scale, {1}, DType::f32, device);
      check_tensor(op, "values of the rest", values.rest, {tiles.rest.entries()}, DType::f32, device);
    }
    if (values.row_factor)
      check_tensor(op, "row_factor", values.row_factor, {tiles.rows}, DType::f32, device);
    if (values.column_factor)
      check_tensor(op, "column_factor", values.column_factor, {tiles.cols}, DType::f32, device);
    ADJ_CHECK(!y.shares_storage_with(x), "{}: y cannot be x", op);
  }
};
ADJ_KERNEL(tile_spmm, TileSpmmArgs)  ///< spmm over a cut.

/// Whether tile_spmm is supported: CPUs and GPUs of compute capability 9.0.
bool has_tile_spmm(Device device);
namespace cpu {
inline bool has_tile_products(Device) { return true; }
}  // namespace cpu
namespace cuda {
bool has_tile_products(Device device);
}

/// Tile values of a matrix for features of the given dtype. Absent values give absent ones.
inline TileValues make_tile_values(const RowTiles& tiles, const Tensor& values, const Tensor& order,
                                   DType features) {
  if (!values) return {};
  const Device device = tiles.device();
  TileValues result{Tensor::empty({tiles.entries.numel()}, DType::i32, device),
                    Tensor::empty({1}, DType::f32, device),
                    Tensor::empty({tiles.rest.entries()}, DType::f32, device),
                    {},
                    {}};
  tile_values({.tiles = tiles, .values = values, .order = order, .features = features, .output = result});
  return result;
}

/// Maximum features per head.
inline constexpr int64_t kMostTileSddmmWidth = 1024;

/// dw[order[e] or e] = ⟨Y_i, X_j⟩ per head for `y` [rows,F] and `x` [cols,F], like sddmm, for a cut structure
/// `a`: tiles by tensor cores on a GPU of compute capability 9.0 (has_tile_spmm), the rest by CSR rows. On a
/// GPU float32 features are rounded to 11 significant bits (float16, each matrix scaled by one power of two:
/// numbers no less than 2^-29 of its largest keep them all), bfloat16 ones stay unchanged; heads have at most
/// kMostTileSddmmWidth features. A CPU ignores tiles.
struct TileSddmmArgs {
  const CsrMatrix& a;
  const RowTiles& tiles;
  const Tensor& y;
  const Tensor& x;
  Tensor& dw;

  void check(std::string_view op) const {
    ADJ_CHECK(x.dtype() == DType::f32 || x.dtype() == DType::bf16,
              "{}: expected float32 or bfloat16 features, got {}", op, name_of(x.dtype()));
    ADJ_CHECK(tiles.rows == a.csr.rows && tiles.cols == a.csr.cols &&
                  tiles.rest.entries() <= a.csr.entries() && tiles.device() == a.device(),
              "{}: tiles of another structure: [{}, {}], expected [{}, {}]", op, tiles.rows, tiles.cols,
              a.csr.rows, a.csr.cols);
    SddmmArgs{.a = a, .y = y, .x = x, .dw = dw}.check(op);
  }
};
ADJ_KERNEL(tile_sddmm, TileSddmmArgs)  ///< sddmm over a cut.

}  // namespace adj::kernels
