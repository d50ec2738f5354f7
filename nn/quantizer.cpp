#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/core/capture.h>
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/bits/least_squares.h>
#include <adjoint/nn/detail/known_value.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/quantizer.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace adj::nn {

namespace {

using kernels::BitScale;

/// Range of least squared error for these numbers (finite ones only), over shares from 1 to 2^-8 of the full
/// range, eighths of a power of two apart. Errors are summed in float64, in order.
BitScale best_range(const std::vector<float>& x, BitRange range, int bits) {
  float least = 0.0f, largest = 0.0f;
  for (const float value : x) least = std::min(least, value), largest = std::max(largest, value);
  std::vector<BitScale> scales;
  for (int k = 0; k < 65; ++k) {
    const float share = std::exp2(-static_cast<float>(k) / 8.0f);
    scales.push_back(kernels::bit_scale(least * share, largest * share, range, bits));
  }
  const auto rounded = [&](size_t k, float value) {
    return kernels::fake_quantized(value, scales[k].scale, scales[k].zero, (1 << bits) - 1);
  };
  return scales[static_cast<size_t>(kernels::least_squared_error(x, std::ssize(scales), rounded))];
}

/// Evenly spaced rows of a matrix, 2^18 numbers at most.
std::vector<float> some_rows(const Tensor& x) {
  std::vector<float> all = x.to_vector<float>();
  const auto width = static_cast<size_t>(x.size(1)), rows = static_cast<size_t>(x.size(0));
  const size_t step = std::max<size_t>(1, (all.size() + (size_t{1} << 18) - 1) >> 18);
  if (step == 1) return all;
  std::vector<float> some;
  for (size_t r = 0; r < rows; r += step)
    some.insert(some.end(), all.begin() + static_cast<int64_t>(r * width),
                all.begin() + static_cast<int64_t>((r + 1) * width));
  return some;
}

}  // namespace

Quantizer::Quantizer(const QuantizerOptions& options)
    : options_(options), known_scale_(std::make_shared<detail::KnownValue>()) {
  const int64_t columns = options.columns;
  ADJ_CHECK((options.bits >= 0 && options.bits <= BitTensor::kMostBits) || options.bits == 32,
            "Quantizer: expected 1 to 8 bits, or 32 where nothing is quantised, got {}", options.bits);
  ADJ_CHECK(columns >= 0, "Quantizer: expected 0 or more columns, got {}", columns);
  ADJ_CHECK(options.momentum > 0.0 && options.momentum <= 1.0,
            "Quantizer: expected a momentum in (0, 1], got {}", options.momentum);
  if (!quantizes()) return;
  const Shape shape{std::max<int64_t>(columns, 1)};
  if (options.scales == Scales::learned) add_parameter("log_scale", log_scale_, constant(shape, 0.0));
  add_buffer("scale", scale_, constant(shape, 0.0));
  add_buffer("zero", zero_, constant(shape, 0.0));
  if (options.scales == Scales::running) add_buffer("mean_zero", mean_zero_, constant(shape, 0.0));
}

Var Quantizer::operator()(const Var& x, const Tensor& keep) const {
  if (!quantizes()) return x;
  ADJ_CHECK(x.shape().dims() == 2 && (options_.columns == 0 || x.size(1) == options_.columns),
            "Quantizer: input {}, expected a matrix{}", x.shape().str(),
            options_.columns == 0 ? "" : fmt::format(" of {} columns", options_.columns));
  if (!training())
    ADJ_CHECK(ready(), "Quantizer: there is no scale yet, expected a pass in training mode first");
  const Var scale = training() ? moved_scale(x.value()) : Var(scale_);
  return fake_quantize(
      x, options_.bits, scale, zero_.clone(),
      {.along = along(),
       .keep = keep,
       .gradient_scale = lsq_gradient_scale(x.value().numel() / scale_.numel(), options_.bits)});
}

// Unit of exp(log_scale). Weights grow faster per step than a logarithm moves, and clamped weights take no
// gradient. With one or two bits most weights are outside the range, and a unit that moves with them was
// measured to train worse. A column of zeros has the smallest unit.
Tensor Quantizer::unit_of(const Tensor& x) const {
  const NoGrad no_grad;
  if (options_.range == BitRange::affine || options_.bits <= 2)
    return Tensor::full(scale_.shape(), 1.0, DType::f32, x.device());
  const Var size = relu(Var(x)) + relu(-Var(x));
  const Var all = options_.columns > 0 ? mean(size, 0) : reshape(mean(size), {1});
  return (all + 1e-12).value();
}

// Scale of a training pass; also written to the state.
Var Quantizer::moved_scale(const Tensor& x) const {
  if (options_.scales == Scales::running)
    follow(x);
  else if (!ready())
    begin(x);
  Var scale = log_scale_ ? exp(log_scale_) * Var(unit_of(x)) : Var(scale_.clone());
  if (log_scale_) scale_.copy_(scale.value());
  known_scale_->set(scale_, 1.0);
  return scale;
}

bool Quantizer::ready() const { return known_scale_->read(scale_) > 0.0; }

void Quantizer::begin(const Tensor& x) const {
  const OutsideCapture once;
  const std::vector<float> some = some_rows(x);
  const auto n = static_cast<size_t>(std::max<int64_t>(options_.columns, 1));
  const std::vector<float> units = unit_of(x).to_vector<float>();
  std::vector<float> logs, zeros;
  for (size_t c = 0; c < n; ++c) {
    std::vector<float> column;
    for (size_t i = c; i < some.size(); i += n)
      if (std::isfinite(some[i])) column.push_back(some[i]);
    const BitScale best = best_range(column, options_.range, options_.bits);
    logs.push_back(std::log(best.scale / units[c]));
    zeros.push_back(best.zero);
  }
  Tensor log_scale = log_scale_.value();  // in place: the optimizer refers to it
  log_scale.copy_(Tensor::from(logs, x.device()));
  zero_.copy_(Tensor::from(zeros, x.device()));
}

void Quantizer::follow(const Tensor& x) const {
  const NoGrad no_grad;
  Tensor scale = Tensor::empty_like(scale_), zero = Tensor::empty_like(zero_);
  kernels::bit_range({.x = x,
                      .along = along(),
                      .range = options_.range,
                      .bits = options_.bits,
                      .scale = scale,
                      .zero = zero});
  if (ready()) {
    const double share = options_.momentum;
    scale = linear_combination(1.0 - share, Var(scale_), share, Var(scale)).value();
    zero = linear_combination(1.0 - share, Var(mean_zero_), share, Var(zero)).value();
  }
  scale_.copy_(scale);
  mean_zero_.copy_(zero);
  if (options_.range == BitRange::affine) {
    // Zeros are rounded to 0 … 255: 8 bits of scale 1.
    const Tensor one = Tensor::full({1}, 1.0, DType::f32, x.device()),
                 none = Tensor::zeros({1}, DType::f32, x.device());
    zero = fake_quantize(Var(zero.reshape({1, zero.numel()})), BitTensor::kMostBits, Var(one), none)
               .value()
               .reshape(zero_.shape());
  }
  zero_.copy_(zero);
}

std::string Quantizer::describe() const {
  if (!quantizes()) return "Quantizer(none)";
  return fmt::format("Quantizer({} bits, {}{}, {})", options_.bits,
                     options_.range == BitRange::affine ? "affine" : "symmetric",
                     options_.columns > 0 ? fmt::format(", {} columns", options_.columns) : "",
                     options_.scales == Scales::learned ? "learned" : "running");
}

QuantLinear::QuantLinear(int64_t in, int64_t out, const QuantLinearOptions& o)
    : input(this, "input", QuantizerOptions{.bits = o.input_bits, .scales = o.scales}),
      // Running ranges of weights follow the current weights: there is no batch to average over.
      weights(this, "weights",
              QuantizerOptions{.bits = o.weight_bits,
                               .range = BitRange::symmetric,
                               .scales = o.scales,
                               .columns = out,
                               .momentum = 1.0}),
      activation_(o.activation) {
  ADJ_CHECK(in > 0 && out > 0, "QuantLinear: expected positive widths, got {} -> {}", in, out);
  add_parameter("weight", weight, glorot_uniform(in, out), {.transposed = true});
  if (o.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

Var QuantLinear::operator()(const Var& x, const Tensor& keep) const {
  return linear(input(x, keep), weights(weight), bias, activation_);
}

std::string QuantLinear::describe() const {
  return fmt::format("QuantLinear({} -> {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
