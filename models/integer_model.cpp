#include "integer_model.h"

#include "quantized.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/bits/bit_gemm.h>

#include <cmath>

namespace adj {

namespace {

/// A model's state, of which what is missing or wrong is an error that names it.
class State {
 public:
  explicit State(const models::Model& model) {
    for (const auto& [name, tensor] : model.state()) tensors_[name] = tensor;
  }
  /// float32.
  Tensor get(const std::string& name) const {
    const auto found = tensors_.find(name);
    ADJ_CHECK(found != tensors_.end(), "integer model: no {} in the model", name);
    return found->second.to(DType::f32);
  }
  std::vector<float> numbers(const std::string& name) const { return get(name).to_vector<float>(); }

 private:
  std::map<std::string, Tensor> tensors_;
};

void check_scales(const State& state, const std::string& prefix, int bits, bool symmetric) {
  const float largest = static_cast<float>((1 << bits) - 1);
  for (const float scale : state.numbers(prefix + "scale"))
    ADJ_CHECK(scale > 0.0f && std::isfinite(scale), "integer model: {}scale is {}, expected more than 0",
              prefix, scale);
  for (const float zero : state.numbers(prefix + "zero"))
    ADJ_CHECK(symmetric ? zero == largest / 2 : zero >= 0.0f && zero <= largest && zero == std::rint(zero),
              "integer model: {}zero is {}, expected {}", prefix, zero,
              symmetric ? fmt::format("{}", largest / 2) : fmt::format("an integer from 0 to {}", largest));
}

/// What a batch norm behind a bias comes to: y = scale x + shift.
struct Folded {
  Tensor scale, shift;
};
Folded fold(const State& state, const std::string& norm, const Tensor& bias) {
  if (norm.empty()) return {{}, bias};
  constexpr double kEpsilon = 1e-5;  // nn::BatchNorm's
  const auto weight = state.numbers(norm + "weight"), shift = state.numbers(norm + "bias"),
             mean = state.numbers(norm + "running_mean"), var = state.numbers(norm + "running_var"),
             b = bias.to_vector<float>();
  std::vector<float> scales, shifts;
  for (size_t c = 0; c < b.size(); ++c) {
    const double scale = double{weight[c]} / std::sqrt(double{var[c]} + kEpsilon);
    scales.push_back(static_cast<float>(scale));
    shifts.push_back(static_cast<float>(double{shift[c]} + (double{b[c]} - double{mean[c]}) * scale));
  }
  return {Tensor::from(scales, bias.device()), Tensor::from(shifts, bias.device())};
}

Tensor inverse_lengths(const Csr& structure) {
  const auto offsets = structure.offsets.to_vector<int64_t>();
  std::vector<float> scale;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    scale.push_back(1.0f / static_cast<float>(std::max<int64_t>(1, offsets[i + 1] - offsets[i])));
  return Tensor::from(scale, structure.device());
}

}  // namespace

int64_t IntegerBatch::bytes() const {
  int64_t sum = 0;
  for (const Tensor& tensor :
       {structure.offsets, structure.indices, row_scale, x_bits.planes, x_bits.sums, x.bytes})
    if (tensor) sum += tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype()));
  return sum;
}

IntegerModel::IntegerModel(const TrainedModel& trained, const IntegerModelOptions& options)
    : trained_(trained), options_(options), mean_(trained.options().model != "gin") {
  const models::ModelOptions& o = trained.options();
  const std::string& kind = o.model;
  ADJ_CHECK((kind.empty() || kind == "gcn" || kind == "gin") && trained.describe().starts_with("quantised"),
            "integer model: {} is none of train_qgnn", trained.describe());
  const models::Quantization bits(o);
  const State state(trained.model());
  const bool norm = o.norm != "none";
  const auto quantizer = [&](const std::string& prefix, int of_bits) {
    check_scales(state, prefix, of_bits, false);
    return Quantizer{of_bits, state.get(prefix + "scale"), state.get(prefix + "zero")};
  };
  for (size_t l = 0; l < static_cast<size_t>(o.layers); ++l) {
    const bool last = l + 1 == static_cast<size_t>(o.layers);
    for (const int of_layer : {bits.weight_bits[l], bits.activation_bits[l]})
      ADJ_CHECK(of_layer <= BitTensor::kMostBits,
                "integer model: layer {} is not quantised, expected 1 to 8 bits", l);
    const auto linear = [&](const std::string& prefix, const std::string& behind, bool relu) {
      const int of_weights = bits.weight_bits[l];
      check_scales(state, prefix + "weights.", of_weights, true);
      const Folded folded = fold(state, behind, state.get(prefix + "bias"));
      const BitTensor weight =
          to_bits(state.get(prefix + "weight"), of_weights, state.get(prefix + "weights.scale"),
                  state.get(prefix + "weights.zero"), PackedAlong::columns);
      return Linear{.input = quantizer(prefix + "input.", bits.activation_bits[l]),
                    .weight = weight,
                    .bytes = as_bytes(weight),
                    .scale = folded.scale,
                    .shift = folded.shift,
                    .activation = relu ? Activation::relu : Activation::none};
    };
    const std::string number = fmt::format(".{}.", l), behind = norm && !last ? "norms" + number : "";
    Folded of_sums;
    if (o.norm == "sums") {
      const std::string of = "sum_norms" + number;
      of_sums = fold(state, of, Tensor::zeros_like(state.get(of + "bias")));
    }
    Layer layer{.input = quantizer("inputs" + number, bits.activation_bits[l]),
                .scale = of_sums.scale,
                .shift = of_sums.shift,
                .sums = mean_ ? linear("sums" + number, behind, !last)
                              : linear("sums" + number, norm ? "hidden_norms" + number : "", true),
                .hidden = {}};
    if (!mean_) layer.hidden = linear("hidden" + number, behind, !last);
    layers_.push_back(std::move(layer));
  }
}

std::string IntegerModel::describe() const { return trained_.describe() + " in integers"; }

bool IntegerModel::sums_by_bits(const Csr& structure) const {
  if (options_.sums != IntegerSums::automatic) return options_.sums == IntegerSums::bits;
  if (!structure.device().is_cuda()) return false;
  // Microseconds of a layer, by counts, from one H200: steps of 128 x 1024 entries on each of 132
  // multiprocessors, or gathers.
  constexpr double kLaunches = 1.0, kStep = 2.2, kMultiprocessors = 132.0, kGather = 2.5e-5;
  const auto rows = static_cast<double>(structure.rows);
  const double steps = std::ceil(rows / 128.0) * std::ceil(rows / 1024.0);
  return kLaunches + steps / kMultiprocessors * kStep < static_cast<double>(structure.entries()) * kGather;
}

IntegerBatch IntegerModel::pack(const Graph& graph, const Features& features) const {
  const SelfLoops loops = mean_ ? SelfLoops::completed : SelfLoops::added;
  const Device device = trained_.device();
  IntegerBatch batch;
  batch.structure = with_self_loops(graph.to(device).relation(), loops).relation.csr();
  if (mean_) batch.row_scale = inverse_lengths(batch.structure);
  if (sums_by_bits(batch.structure)) {
    batch.adjacency = adjacency_bits(batch.structure);
    if (batch.adjacency && options_.skip_steps) batch.steps = bit_steps(*batch.adjacency);
  }
  const Tensor x = trained_.prepare(features).to_dense().to(DType::f32);
  const Quantizer& input = layers_.front().input;
  if (batch.adjacency)
    batch.x_bits = to_bits(x, input.bits, input.scale, input.zero, PackedAlong::columns);
  else
    batch.x = to_bytes(x, input.bits, input.scale, input.zero);
  return batch;
}

Tensor IntegerModel::operator()(const IntegerBatch& batch) const {
  const bool by_bits = batch.adjacency.has_value();
  const int64_t nodes = batch.nodes();
  const BitSteps* const steps = batch.steps ? &*batch.steps : nullptr;
  BitTensor x_bits = batch.x_bits;  // [features, nodes]
  ByteTensor x = batch.x;           // [nodes, features]
  // Beside sums by bytes products are of bytes, too: their rows have few numbers, and planes would be
  // padding.
  const auto weight_of = [&](const Linear& linear) -> const BitTensor& {
    return by_bits ? linear.weight : linear.bytes;
  };
  // The rows of a layer's sums, or of what is hidden in it.
  const auto rows_for = [&](const Linear& linear) {
    return BitTensor::empty(nodes, linear.weight.inner, linear.input.bits, linear.input.scale,
                            linear.input.zero, trained_.device(), !by_bits);
  };
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    BitTensor rows = rows_for(layer.sums);
    if (by_bits)
      kernels::bit_gemm_to_bits({.a = *batch.adjacency,
                                 .b = x_bits,
                                 .row_scale = batch.row_scale,
                                 .column_scale = layer.scale,
                                 .column_shift = layer.shift,
                                 .steps = steps,
                                 .share_steps = options_.share_steps,
                                 .to = rows});
    else
      kernels::sum_bytes_to_bits({.a = batch.structure,
                                  .x = x,
                                  .row_scale = batch.row_scale,
                                  .column_scale = layer.scale,
                                  .column_shift = layer.shift,
                                  .to = rows});
    if (layer.hidden) {
      BitTensor hidden = rows_for(*layer.hidden);
      kernels::bit_gemm_to_bits({.a = rows,
                                 .b = weight_of(layer.sums),
                                 .column_scale = layer.sums.scale,
                                 .column_shift = layer.sums.shift,
                                 .activation = layer.sums.activation,
                                 .to = hidden});
      rows = hidden;
    }
    const Linear& linear = layer.last();
    const int64_t width = linear.weight.outer;
    if (l + 1 == layers_.size()) {
      Tensor y = Tensor::empty({nodes, width}, DType::f32, trained_.device());
      kernels::bit_gemm({.a = rows, .b = weight_of(linear), .y = y});
      const NoGrad no_grad;
      return (Var(y) + Var(linear.shift)).value();
    }
    const Quantizer& next = layers_[l + 1].input;
    if (by_bits) {
      // The next sum's right operand: outputs for rows.
      x_bits = BitTensor::empty(width, nodes, next.bits, next.scale, next.zero, trained_.device());
      kernels::bit_gemm_to_bits({.a = linear.weight,
                                 .b = rows,
                                 .row_scale = linear.scale,
                                 .row_shift = linear.shift,
                                 .activation = linear.activation,
                                 .to = x_bits});
    } else {
      x = {next.bits, Tensor::empty({nodes, width}, DType::u8, trained_.device()), next.scale, next.zero};
      kernels::bit_gemm_to_bytes({.a = rows,
                                  .b = weight_of(linear),
                                  .column_scale = linear.scale,
                                  .column_shift = linear.shift,
                                  .activation = linear.activation,
                                  .to = x});
    }
  }
  fail("integer model: no layers");
}

}  // namespace adj
