// Reference for a GPU's tensor cores: plain loops with the same roundings, not optimized.
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace adj::kernels::cpu {

namespace {

float widened(uint16_t bits, DType features) {
  if (features == DType::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

uint16_t narrowed(float value, DType features) {
  if (features == DType::bf16) return bfloat16(value).bits;
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

/// 2^k that scales numbers up to this absolute value into float16's range.
float power_to_fit(float largest) {
  if (largest == 0.0f) return 1.0f;
  return std::ldexp(1.0f, std::clamp(14 - std::ilogb(largest), -126, 126));
}

float largest_finite(const float* x, int64_t n, int64_t stride) {
  float largest = 0.0f;
  for (int64_t i = 0; i < n; ++i)
    if (std::isfinite(x[i * stride])) largest = std::max(largest, std::abs(x[i * stride]));
  return largest;
}

/// Features, rows times `factor`, rounded to the operands' precision, as float32.
std::vector<float> rounded_features(const Tensor& x, const Tensor& factor) {
  const int64_t rows = x.size(0), width = x.size(1);
  const Tensor wide = x.to(DType::f32);
  const float *input = wide.data<float>(), *factors = factor ? factor.data<float>() : nullptr;
  std::vector<float> rounded(static_cast<size_t>(x.numel()));
  for (int64_t i = 0; i < x.numel(); ++i)
    rounded[static_cast<size_t>(i)] = factors != nullptr ? input[i] * factors[i / width] : input[i];
  for_each_index(width, 4, [&](int64_t f) {
    const float scale =
        x.dtype() == DType::bf16 ? 1.0f : power_to_fit(largest_finite(rounded.data() + f, rows, width));
    for (int64_t j = 0; j < rows; ++j) {
      float& value = rounded[static_cast<size_t>(j * width + f)];
      value = widened(narrowed(value * scale, x.dtype()), x.dtype()) / scale;
    }
  });
  return rounded;
}

template <class S>
void spmm_rows(const TileSpmmArgs& args) {
  const RowTiles& tiles = args.tiles;
  const int64_t width = args.x.size(1);
  const std::vector<float> x = rounded_features(args.x, args.values.column_factor);
  const auto* windows = tiles.windows.data<int32_t>();
  const auto* columns = tiles.columns.data<int32_t>();
  const auto* bits = reinterpret_cast<const uint64_t*>(tiles.bits.data<int64_t>());
  const auto* starts = tiles.starts.data<int32_t>();
  const auto* rest_offsets = tiles.rest.offsets.data<int64_t>();
  const auto* rest_indices = tiles.rest.indices.data<int32_t>();
  const bool weighted = static_cast<bool>(args.values.tile);
  const auto* values = weighted ? args.values.tile.data<int32_t>() : nullptr;
  const auto* rest_values = weighted ? args.values.rest.data<float>() : nullptr;
  const float scale = weighted ? args.values.scale.data<float>()[0] : 1.0f;
  const float* row_factor = args.values.row_factor ? args.values.row_factor.data<float>() : nullptr;
  const auto* bias = args.bias ? args.bias.data<S>() : nullptr;
  auto* y = args.y.mutable_data<S>();
  parallel_for(tiles.rows, 64, [&](int64_t begin, int64_t end) {
    std::vector<float> tile_sum(static_cast<size_t>(width)), sum(static_cast<size_t>(width));
    const auto add = [&](std::vector<float>& total, float weight, int64_t column) {
      const float* source = x.data() + column * width;
      for (int64_t f = 0; f < width; ++f) total[static_cast<size_t>(f)] += weight * source[f];
    };
    for (int64_t i = begin; i < end; ++i) {
      std::fill(tile_sum.begin(), tile_sum.end(), 0.0f);
      std::fill(sum.begin(), sum.end(), 0.0f);
      const int64_t w = i / RowTiles::kRows;
      for (int64_t t = windows[w]; t < windows[w + 1]; ++t) {
        const int64_t row = t * RowTiles::kRows + i % RowTiles::kRows;
        int64_t value = starts[row];
        for (uint64_t left = bits[row]; left != 0; left &= left - 1, ++value)
          add(tile_sum, weighted ? widened(static_cast<uint16_t>(values[value]), args.x.dtype()) : 1.0f,
              columns[t * RowTiles::kColumns + std::countr_zero(left)]);
      }
      for (int64_t e = rest_offsets[i]; e < rest_offsets[i + 1]; ++e)
        add(sum, weighted ? rest_values[e] : 1.0f, rest_indices[e]);
      for (int64_t f = 0; f < width; ++f) {
        float value = sum[static_cast<size_t>(f)] + scale * tile_sum[static_cast<size_t>(f)];
        if (row_factor != nullptr) value *= row_factor[i];
        if (bias != nullptr) value += widen(bias[f]);
        y[i * width + f] = narrow<S>(args.activation == Activation::relu && value < 0.0f ? 0.0f : value);
      }
    }
  });
}

}  // namespace

void tile_values(const TileValuesArgs& args) {
  const float* values = args.values.data<float>();
  const int32_t* order = args.order ? args.order.data<int32_t>() : nullptr;
  const auto value_of = [&](int64_t entry) { return values[order != nullptr ? order[entry] : entry]; };
  const int32_t *entries = args.tiles.entries.data<int32_t>(),
                *rest_entry = args.tiles.rest_entry.data<int32_t>();
  const int64_t n = args.tiles.entries.numel(), rest = args.tiles.rest.entries();
  float scale = 1.0f;
  if (args.features == DType::f32) {
    float largest = 0.0f;
    for (int64_t v = 0; v < n; ++v)
      if (entries[v] >= 0 && std::isfinite(value_of(entries[v])))
        largest = std::max(largest, std::abs(value_of(entries[v])));
    scale = power_to_fit(largest);
  }
  auto* tile = args.output.tile.mutable_data<int32_t>();
  const auto pack = [](uint32_t place, uint16_t operand) {
    return static_cast<int32_t>(place << 16 | operand);
  };
  const auto* bits = reinterpret_cast<const uint64_t*>(args.tiles.bits.data<int64_t>());
  const auto* starts = args.tiles.starts.data<int32_t>();
  auto* to_rest = args.output.rest.mutable_data<float>();
  args.output.scale.mutable_data<float>()[0] = 1.0f / scale;
  for_each_index(args.tiles.num_tiles() * RowTiles::kRows, 1 << 10, [&](int64_t row) {
    int64_t v = starts[row];
    for (uint64_t left = bits[row]; left != 0; left &= left - 1, ++v)
      tile[v] = pack(place_in_tile(static_cast<int>(row % RowTiles::kRows), std::countr_zero(left)),
                     narrowed(value_of(entries[v]) * scale, args.features));
    for (; v < starts[row + 1]; ++v) tile[v] = pack(kNoPlace, 0);
  });
  for_each_index(rest, 1 << 14, [&](int64_t e) { to_rest[e] = value_of(rest_entry[e]); });
}

void tile_spmm(const TileSpmmArgs& args) {
  args.x.dtype() == DType::bf16 ? spmm_rows<bfloat16>(args) : spmm_rows<float>(args);
}

void tile_sddmm(const TileSddmmArgs& args) { sddmm({.a = args.a, .y = args.y, .x = args.x, .dw = args.dw}); }

}  // namespace adj::kernels::cpu
