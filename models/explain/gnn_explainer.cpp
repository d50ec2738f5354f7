#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/models/explain/explainer.h>
#include <adjoint/optim/optimizer.h>

#include <algorithm>
#include <cmath>

namespace adj::models {

namespace {

/// One kind of masks: their logits, and which of them the first gradient found to have an effect.
struct Masks {
  Var logits;        // [K]; absent: no such masks
  Tensor effective;  // int32 [K'], absent before the first step
  double size, entropy;

  Masks(const Tensor& start, double size_factor, double entropy_factor)
      : logits(start ? Var::parameter(start) : Var()), size(size_factor), entropy(entropy_factor) {}

  void find_effective() {
    if (!logits) return;
    std::vector<int32_t> numbers;
    const auto gradient = logits.grad() ? logits.grad().to_vector<float>() : std::vector<float>();
    for (size_t k = 0; k < gradient.size(); ++k)
      if (gradient[k] != 0.0f) numbers.push_back(static_cast<int32_t>(k));
    effective = Tensor::from(numbers, logits.device());
  }
  bool regular() const { return effective && effective.numel() > 0; }
  /// Σ m or its mean, and the mean entropy of the effective masks, weighted.
  Var penalty(bool mean_size) const {
    constexpr double kLeast = 1e-15;
    const Var m = sigmoid(index_select(logits, effective)), rest = 1.0 - m;
    const Var bits = -(m * log(m + kLeast)) - rest * log(rest + kLeast);
    return (mean_size ? mean(m) : sum(m)) * size + mean(bits) * entropy;
  }
  /// The masks, 0 where there is no effect.
  std::vector<float> values() const {
    if (!logits) return {};
    std::vector<float> result(static_cast<size_t>(logits.size(0)));
    const auto all = sigmoid(logits).value().to_vector<float>();
    for (const int32_t k : effective.to_vector<int32_t>())
      result[static_cast<size_t>(k)] = all[static_cast<size_t>(k)];
    return result;
  }
};

Tensor start_of(const Tensor& wanted, const char* name, int64_t count, double deviation, Generator& generator,
                Device device) {
  const Tensor drawn = random_normal({count}, 0.0, deviation, generator);
  ADJ_CHECK(!wanted || wanted.shape() == Shape{count}, "explain: {} is {}, expected [{}]", name, wanted.str(),
            count);
  return (wanted ? wanted.to(DType::f32).clone() : drawn).to(device);
}

}  // namespace

Var Explainer::explained_loss(const Var& y, int64_t column, const Tensor& unmasked) const {
  if (has_classes(trained_.task()))
    return cross_entropy(y, Tensor::from(std::vector{static_cast<int32_t>(column)}, y.device()));
  const Var value = narrow(y, 1, column, 1);
  const double previous = unmasked.to(DType::f32).to_vector<float>().at(static_cast<size_t>(column));
  const auto like = [&](double number) { return Tensor::full({1, 1}, number, DType::f32, y.device()); };
  if (has_targets(trained_.task())) return mse_loss(cast(value, DType::f32), like(previous));
  return bce_with_logits(cast(value, DType::f32), like(previous > 0.0 ? 1.0 : 0.0));  // labels and links
}

void Explainer::learn_masks(const ExplainOptions& o, Explanation& result) const {
  const auto count = std::ssize(neighborhood_.reaching);
  const Device device = trained_.device();
  Generator generator(o.seed);
  // PyG's start: gain(relu) sqrt(2 / (2 N)).
  const double deviation = std::sqrt(2.0) * std::sqrt(1.0 / static_cast<double>(graph_.num_nodes()));
  Masks edges(start_of(o.edge_start, "edge_start", count, deviation, generator, device), o.edge_size,
              o.edge_entropy);
  Masks features(
      dense_ ? start_of(o.feature_start, "feature_start", dense_.size(1), 0.1, generator, device) : Tensor(),
      o.feature_size, o.feature_entropy);
  std::vector<Var> leaves{edges.logits};
  if (features.logits) leaves.push_back(features.logits);
  const GradientsOnlyOf masks(leaves);
  optim::Adam adam(leaves, {.lr = o.lr});
  Tensor unmasked;
  {
    const NoGrad no_grad;
    unmasked = outputs().value();
  }
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    const Var x = features.logits ? Var(dense_) * cast(reshape(sigmoid(features.logits), {1, dense_.size(1)}),
                                                       dense_.dtype())
                                  : Var();
    Var loss = explained_loss(outputs(spread(sigmoid(edges.logits)), x), result.output, unmasked);
    if (edges.regular()) loss = loss + edges.penalty(false);
    if (features.regular()) loss = loss + features.penalty(true);
    if (!loss.requires_grad()) break;  // no edge and no feature
    loss.backward();
    if (epoch == 0) {
      edges.find_effective();
      features.find_effective();
    }
    adam.step();
  }
  const NoGrad no_grad;
  result.edge_importance = edges.values();
  result.feature_importance = features.values();
}

}  // namespace adj::models
