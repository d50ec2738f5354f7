#include <adjoint/core/parallel.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/kernels/elementwise/packed_rows.h>
#include <adjoint/kernels/types/bit_scale.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace adj {

namespace {

/// f(first, rows) over all rows in order, float32 [k, F] on the features' device, about 2^20 numbers at a
/// time.
template <class F>
void for_blocks(const Features& x, F&& f) {
  const int64_t step = std::max<int64_t>(1, (int64_t{1} << 20) / std::max<int64_t>(1, x.cols()));
  for (int64_t first = 0; first < x.rows(); first += step) {
    const int64_t last = std::min(x.rows(), first + step);
    if (x.is_dense()) {
      f(first, x.dense().rows(first, last).to(DType::f32));
      continue;
    }
    std::vector<int32_t> index(static_cast<size_t>(last - first));
    std::iota(index.begin(), index.end(), static_cast<int32_t>(first));
    f(first, x.rows(Tensor::from(index)).to_dense().to(DType::f32));
  }
}

struct MinMax {
  float least = HUGE_VALF, largest = -HUGE_VALF;
  void add(float value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  void add(const MinMax& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
  }
  kernels::BitScale scale(BitRange range, int bits) const {
    if (least > largest) return {1.0f, 0.0f};  // no finite number
    if (range == BitRange::symmetric || (least <= 0.0f && largest >= 0.0f))
      return kernels::bit_scale(least, largest, range, bits);
    const auto last = static_cast<float>((1 << bits) - 1);
    const float scale = kernels::usable_scale((largest / 2.0f - least / 2.0f) / last * 2.0f, last);
    return {scale, -least / scale};
  }
};

}  // namespace

FeatureQuantization::FeatureQuantization(int bits, const Tensor& scale, const Tensor& zero)
    : bits_(bits), scale_(scale.to(Device::cpu())), zero_(zero.to(Device::cpu())) {
  ADJ_CHECK(bits >= 1 && bits <= PackedRows::kMostBits, "feature quantization: expected 1 to 8 bits, got {}",
            bits);
  for (const Tensor* one : {&scale_, &zero_})
    ADJ_CHECK(*one && one->dims() == 1 && one->dtype() == DType::f32 && one->numel() == scale_.numel(),
              "feature quantization: scale {} and zero {}, expected float32 [1] or [F] both", scale.str(),
              zero.str());
  const std::vector<float> scales = scale_.to_vector<float>(), zeros = zero_.to_vector<float>();
  for (size_t k = 0; k < scales.size(); ++k)
    ADJ_CHECK(std::isfinite(scales[k]) && scales[k] > 0.0f && std::isfinite(zeros[k]),
              "feature quantization: column {} has scale {} and zero {}, expected finite numbers", k,
              scales[k], zeros[k]);
}

FeatureQuantization FeatureQuantization::fit(int bits, const Features& x, const FeatureRange& options) {
  if (bits == kNone) return {};
  ADJ_CHECK(bits >= 1 && bits <= PackedRows::kMostBits, "feature quantization: expected 1 to 8 bits, got {}",
            bits);
  ADJ_CHECK(!x.is_quantized(),
            "feature quantization: fitted to quantised features, expected unquantised ones");
  constexpr int64_t kColumns = 16;  // columns per thread: full cache lines
  std::vector<MinMax> columns(static_cast<size_t>(x.cols()));
  for_blocks(x.to(Device::cpu()), [&](int64_t, const Tensor& block) {
    const int64_t width = block.size(1), rows = block.size(0);
    const float* values = block.data<float>();
    parallel_for(width, kColumns, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t c = begin; c < end; ++c) columns[static_cast<size_t>(c)].add(values[i * width + c]);
    });
  });
  if (!options.by_column) {
    MinMax all;
    for (const MinMax& column : columns) all.add(column);
    columns.assign(1, all);
  }
  std::vector<float> scale, zero;
  for (const MinMax& column : columns) {
    const kernels::BitScale found = column.scale(options.range, bits);
    scale.push_back(found.scale);
    zero.push_back(found.zero);
  }
  return {bits, Tensor::from(scale), Tensor::from(zero)};
}

void FeatureQuantization::check_width(int64_t cols) const {
  ADJ_CHECK(scale_.numel() == 1 || scale_.numel() == cols, "feature quantization: {} columns, expected {}",
            cols, scale_.numel());
}

PackedRows FeatureQuantization::ranges(int64_t cols, Device device) const {
  return {cols, bits_, {}, scale_.to(device), zero_.to(device)};
}

Features FeatureQuantization::apply(const Features& x) const {
  if (!quantizes()) return x;
  check_width(x.cols());
  if (x.is_quantized()) {
    ADJ_CHECK(x.quantized().bits == bits_, "feature quantization: features of {} bits, expected {}",
              x.quantized().bits, bits_);
    return x;
  }
  const Features source = x.is_sparse() ? x.to(Device::cpu()) : x;
  PackedRows all = ranges(x.cols(), source.device());
  all.bytes = Tensor::empty({x.rows(), PackedRows::row_bytes(x.cols(), bits_)}, DType::u8, source.device());
  for_blocks(source, [&](int64_t first, const Tensor& block) {
    PackedRows part = all;
    part.bytes = all.bytes.rows(first, first + block.size(0));
    kernels::pack_rows({.x = block, .output = part});
  });
  return Features(all).to(x.device());
}

FileRows FeatureQuantization::apply(const FileRows& x) const {
  if (!quantizes()) return x;
  check_width(x.cols());
  return x.mapped(
      [quantization = *this](const Tensor& rows) { return quantization.apply(Features(rows)).to_dense(); });
}

void FeatureQuantization::count_clamped(const Tensor& block, std::vector<int64_t>& counts) const {
  const auto last = static_cast<float>((1 << bits_) - 1);
  const int64_t cols = block.size(1);
  const float *x = block.data<float>(), *scale = scale_.data<float>(), *zero = zero_.data<float>();
  const int64_t each = scale_.numel() == 1 ? 0 : 1;
  for (int64_t k = 0; k < block.numel(); ++k) {
    const int64_t c = k % cols;
    const float step = x[k] / scale[c * each] + zero[c * each];
    counts[static_cast<size_t>(c)] += step < -0.5f || step > last + 0.5f;
  }
}

std::vector<int64_t> FeatureQuantization::clamped(const Features& x) const {
  std::vector<int64_t> counts(static_cast<size_t>(x.cols()));
  if (!quantizes() || x.is_quantized()) return counts;
  check_width(x.cols());
  for_blocks(x.to(Device::cpu()), [&](int64_t, const Tensor& block) { count_clamped(block, counts); });
  return counts;
}

std::vector<int64_t> FeatureQuantization::clamped(const FileRows& x) const {
  std::vector<int64_t> counts(static_cast<size_t>(x.cols()));
  if (!quantizes()) return counts;
  check_width(x.cols());
  x.for_blocks([&](int64_t, const Tensor& block) { count_clamped(block, counts); });
  return counts;
}

}  // namespace adj
