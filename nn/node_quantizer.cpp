#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/node_quantize.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/least_squares.h>
#include <adjoint/kernels/bits/node_quantize.h>
#include <adjoint/nn/detail/known_value.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/node_quantizer.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

namespace adj::nn {

namespace {

/// The step size of least squared error for a node's numbers, of all shares of its largest one from 1 to
/// 2^-8, eighths of a power of two apart; 1 where all are 0.
float best_scale(std::span<const float> row, float bits, float is_signed) {
  std::vector<float> x;
  std::copy_if(row.begin(), row.end(), std::back_inserter(x),
               [](float value) { return std::isfinite(value); });
  float most = 0.0f;
  for (const float value : x) most = std::max(most, std::abs(value));
  const float steps = kernels::node_range(1.0f, bits, is_signed).largest;
  std::vector<float> scales;
  std::vector<kernels::NodeRange> ranges;
  for (int k = 0; k < 65; ++k) {
    const float scale = most * std::exp2(-static_cast<float>(k) / 8.0f) / steps;
    if (!(scale > 0.0f)) break;
    scales.push_back(scale);
    ranges.push_back(kernels::node_range(scale, bits, is_signed));
  }
  if (scales.empty()) return 1.0f;
  const auto rounded = [&](size_t k, float value) { return kernels::node_quantized(value, ranges[k]); };
  return scales[static_cast<size_t>(kernels::least_squared_error(x, std::ssize(scales), rounded))];
}

}  // namespace

NodeQuantizer::NodeQuantizer(const NodeBitsOptions& options)
    : nodes_(options.nodes), known_scale_(std::make_shared<detail::KnownValue>()) {
  ADJ_CHECK(nodes_ > 0 && options.mean >= 1.0 && options.mean <= 8.0,
            "NodeQuantizer: {} nodes of {} bits, expected some, of 1 to 8", nodes_, options.mean);
  add_parameter("log_scale", log_scale_, constant({nodes_}, 0.0));
  add_parameter("bits", bits_, constant({nodes_}, options.mean));
  add_buffer("scale", scale_, constant({nodes_}, 0.0));
  add_buffer("signed", signed_, constant({1}, 0.0));
}

Var NodeQuantizer::operator()(const Var& x) const {
  ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == nodes_,
            "NodeQuantizer: bits by node of {} nodes, input {}; expected the graph that it was trained on",
            nodes_, x.shape().str());
  if (!training()) {
    ADJ_CHECK(ready(), "NodeQuantizer: there is no scale yet, expected a pass in training mode before");
    return node_quantize(x, Var(scale_), Var(bits_.value()), signed_, true);
  }
  if (!ready()) begin(x.value());
  const Var scale = exp(log_scale_);
  scale_.copy_(scale.value());
  known_scale_->set(scale_, 1.0);
  return node_quantize(x, scale, bits_, signed_, true);
}

bool NodeQuantizer::ready() const { return known_scale_->of(scale_) > 0.0; }

void NodeQuantizer::begin(const Tensor& x) const {
  const OutsideCapture once;
  const Tensor host = x.to(Device::cpu());
  const float* numbers = host.data<float>();
  const int64_t width = x.size(1);
  const bool has_signs =
      std::any_of(numbers, numbers + host.numel(), [](float value) { return value < 0.0f; });
  const std::vector<float> bits = bits_.value().to_vector<float>();
  std::vector<float> logs(static_cast<size_t>(nodes_));
  parallel_for(nodes_, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      logs[at] = std::log(
          best_scale({numbers + i * width, static_cast<size_t>(width)}, bits[at], has_signs ? 1.0f : 0.0f));
    }
  });
  Tensor log_scale = log_scale_.value();  // in place: the optimizer refers to it
  log_scale.copy_(Tensor::from(logs, x.device()));
  signed_.fill_(has_signs ? 1.0 : 0.0);
}

Var NodeQuantizer::mean_bits() const {
  const Var least = Var(signed_) + 1.0;  // held = least + relu(b - least) - relu(b - 8)
  return reshape(mean(relu(bits_ - least) - relu(bits_ - 8.0)), {1}) + least;
}

std::vector<int> NodeQuantizer::held_bits() const {
  const float least = 1.0f + signed_.to_vector<float>()[0];
  std::vector<int> held;
  for (const float bits : bits_.value().to_vector<float>())
    held.push_back(static_cast<int>(std::clamp(std::rint(bits), least, 8.0f)));
  return held;
}

std::string NodeQuantizer::describe() const { return fmt::format("NodeQuantizer({} nodes)", nodes_); }

}  // namespace adj::nn
