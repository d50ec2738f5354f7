#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/models/detail/integer_parts.h>
#include <adjoint/models/quantized.h>
#include <adjoint/models/stack.h>

#include <cmath>

namespace adj::detail {

namespace {

/// A model's state; errors name the missing or wrong entry.
class State {
 public:
  explicit State(const nn::Module& model) {
    for (const auto& [name, tensor] : model.state()) tensors_[name] = tensor;
  }
  /// float32.
  Tensor get(const std::string& name) const {
    const auto found = tensors_.find(name);
    ADJ_CHECK(found != tensors_.end(), "integer model: no {} in the model", name);
    return found->second.to(DType::f32);
  }
  /// GIN's own terms are entries of the sums, without a factor (1 + eps).
  void expect_no_eps() const {
    for (const auto& [name, tensor] : tensors_)
      if (name.ends_with(".eps"))
        for (const float eps : numbers(name))
          ADJ_CHECK(eps == 0.0f, "integer model: {} is {}, expected 0", name, eps);
  }
  std::vector<float> numbers(const std::string& name) const { return get(name).to_vector<float>(); }

  /// Range of weights or of activations.
  IntegerRange range(const std::string& name, int bits, bool of_weights) const {
    IntegerRange range{bits, get(name + "scale"), get(name + "zero")};
    expect_none(name + "scale", problem_of_scales(range.scale));
    expect_none(name + "zero", problem_of_zeros(range.zero, bits, of_weights));
    return range;
  }

 private:
  static void expect_none(const std::string& name, const std::string& problem) {
    ADJ_CHECK(problem.empty(), "integer model: {} is {}", name, problem);
  }

  std::map<std::string, Tensor> tensors_;
};

/// Batch norm and bias folded into y = scale x + shift.
struct Folded {
  Tensor scale, shift;
};
Folded fold(const State& state, const std::string& norm, const Tensor& bias) {
  if (norm.empty()) return {{}, bias};
  constexpr double kEpsilon = nn::BatchNormOptions().eps;
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

/// As the products of its numbers, 32 bits (kernels/bits/bit_gemm.h).
void expect_narrow(const LinearPlace& place) {
  const int64_t product = int64_t{(1 << place.input_bits) - 1} * ((1 << place.weight_bits) - 1),
                most = ((int64_t{1} << 31) - 1) / product;
  ADJ_CHECK(place.in <= most, "integer model: {} has {} inputs of {} bits by {}, expected at most {}",
            place.name.substr(0, place.name.size() - 1), place.in, place.input_bits, place.weight_bits, most);
}

std::string numbered(const char* name, size_t layer, const char* rest = "") {
  return fmt::format("{}.{}.{}", name, layer, rest);
}

}  // namespace

IntegerPlan integer_plan(const ModelDescription& model) {
  const models::ModelOptions& o = model.options;
  const bool of_graphs = model.program == "train_graph_qgin";
  ADJ_CHECK(of_graphs || model.program == "train_qgnn",
            "integer model: {} was not trained by train_qgnn or train_graph_qgin", model.name);
  const models::Quantization bits(o);
  const auto layers = static_cast<size_t>(o.layers);
  for (size_t l = 0; l < layers; ++l)
    for (const int of_layer : {bits.weight_bits[l], bits.activation_bits[l]})
      ADJ_CHECK(of_layer <= BitTensor::kMostBits,
                "integer model: layer {} is not quantised, expected 1 to 8 bits", l);
  const bool gin = o.model == "gin", norm = of_graphs || o.norm != models::Norm::none;
  const std::vector<int64_t> widths = models::widths_of(model.num_features, model.num_outputs, o);
  IntegerPlan plan;
  for (size_t l = 0; l < layers; ++l) {
    const bool ends = !of_graphs && l + 1 == layers;  // ends in logits
    const int64_t out = ends ? model.num_outputs : o.hidden;
    const std::string behind = norm && !ends ? numbered("norms", l) : "";
    const auto linear = [&](const std::string& name, const std::string& its_norm, bool relu, int64_t in,
                            int64_t width) -> LinearPlace {
      return {name, "", its_norm, relu, in, width, bits.weight_bits[l], bits.activation_bits[l]};
    };
    plan.inputs.push_back({numbered("inputs", l), bits.activation_bits[l]});
    if (of_graphs) {
      plan.sums.push_back(linear(numbered("convs", l, "nn.first."), numbered("convs", l, "nn.norm."), true,
                                 widths[l], o.hidden));
      plan.hidden.push_back(linear(numbered("convs", l, "nn.second."), behind, true, o.hidden, out));
    } else if (gin) {
      plan.sums.push_back(
          linear(numbered("sums", l), norm ? numbered("hidden_norms", l) : "", true, widths[l], o.hidden));
      plan.hidden.push_back(linear(numbered("hidden", l), behind, !ends, o.hidden, out));
    } else {
      plan.sums.push_back(linear(numbered("sums", l), behind, !ends, widths[l], out));
    }
    if (!of_graphs && o.norm == models::Norm::sums) plan.sums.back().input_norm = numbered("sum_norms", l);
  }
  if (of_graphs) plan.inputs.push_back({numbered("inputs", layers), bits.activation_bits.back()});
  for (size_t l = 0; of_graphs && l <= layers; ++l)
    plan.readouts.push_back({numbered("readouts", l), "", "", false, l == 0 ? model.num_features : o.hidden,
                             model.num_outputs, models::kReadoutBits, models::kReadoutBits});
  for (const auto* places : {&plan.sums, &plan.hidden, &plan.readouts})
    for (const LinearPlace& place : *places) expect_narrow(place);
  return plan;
}

std::string problem_of_scales(const Tensor& scales) {
  for (const float scale : scales.to_vector<float>())
    if (!(scale > 0.0f && std::isfinite(scale)))
      return fmt::format("{}, expected a finite number above 0", scale);
  return "";
}

std::string problem_of_zeros(const Tensor& zeros, int bits, bool of_weights) {
  const auto largest = static_cast<float>((1 << bits) - 1);
  for (const float zero : zeros.to_vector<float>())
    if (!(of_weights ? zero == largest / 2 : zero >= 0.0f && zero <= largest && zero == std::rint(zero)))
      return fmt::format(
          "{}, expected {}", zero,
          of_weights ? fmt::format("{}", largest / 2) : fmt::format("an integer from 0 to {}", largest));
  return "";
}

IntegerParts parts_of_state(const IntegerPlan& plan, const nn::Module& model) {
  const State state(model);
  state.expect_no_eps();
  return plan.parts(
      [&](const RangePlace& place) { return state.range(place.name, place.bits, false); },
      [&](const LinearPlace& place) {
        const IntegerRange weights = state.range(place.name + "weights.", place.weight_bits, true);
        const Folded folded = fold(state, place.norm, state.get(place.name + "bias"));
        Folded input;
        if (!place.input_norm.empty())
          input = fold(state, place.input_norm, Tensor::zeros_like(state.get(place.input_norm + "bias")));
        const BitTensor weight = to_bits(state.get(place.name + "weight"), weights.bits, weights.scale,
                                         weights.zero, PackedAlong::columns);
        return IntegerLinear{.input_scale = input.scale,
                             .input_shift = input.shift,
                             .input = state.range(place.name + "input.", place.input_bits, false),
                             .weight = weight,
                             .bytes = as_bytes(weight),
                             .scale = folded.scale,
                             .shift = folded.shift,
                             .activation = place.relu ? Activation::relu : Activation::none};
      });
}

}  // namespace adj::detail
