#include <adjoint/autograd/arithmetic.h>
#include <adjoint/core/error.h>
#include <adjoint/models/explain/explainer.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace adj::models {

std::optional<double> Fidelity::characterization() const {
  if (!plus || !minus) return {};
  if (*plus == 0.0 || *minus == 1.0) return 0.0;
  return 2.0 / (1.0 / *plus + 1.0 / (1.0 - *minus));
}

std::vector<int32_t> edges_by_importance(const Explanation& explanation) {
  std::vector<int32_t> order(explanation.edges.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](int32_t k) {
    return std::abs(explanation.edge_importance[static_cast<size_t>(k)]);
  });
  return order;
}

Fidelity Explainer::fidelity(const Explanation& explanation, int64_t top) const {
  const NoGrad no_grad;
  const auto count = explanation.edges.size(),
             kept = std::min(count, static_cast<size_t>(std::max<int64_t>(0, top)));
  ADJ_CHECK(count == neighborhood_.reaching.size(), "fidelity: an explanation of {} edges, expected {}",
            count, neighborhood_.reaching.size());
  std::vector<float> mask(count, 0.0f), rest(count, 1.0f);
  const std::vector<int32_t> order = edges_by_importance(explanation);
  for (size_t k = 0; k < kept; ++k) {
    mask[static_cast<size_t>(order[k])] = 1.0f;
    rest[static_cast<size_t>(order[k])] = 0.0f;
  }
  const auto row = [&](const Var& y) { return cast(y, DType::f32).value().to_vector<float>(); };
  const auto masked_outputs = [&](const std::vector<float>& of_edges) {
    return outputs(spread(Var(Tensor::from(of_edges, trained_.device()))));
  };
  const auto column = static_cast<size_t>(explanation.output);
  const auto probability = [&](const Var& y) -> double {
    if (has_targets(trained_.task())) return value_of(y, explanation.output).item();
    const std::vector<float> logits = row(y);
    if (!has_classes(trained_.task())) return 1.0 / (1.0 + std::exp(-static_cast<double>(logits[column])));
    double total = 0.0;
    for (const float logit : logits)
      total += std::exp(static_cast<double>(logit) - static_cast<double>(logits[column]));
    return 1.0 / total;
  };
  // The predicted class, or whether the label or link is predicted.
  const auto predicted = [&](const Var& y) {
    const std::vector<float> logits = row(y);
    return has_classes(trained_.task()) ? std::ranges::max_element(logits) - logits.begin()
                                        : std::ptrdiff_t{logits[column] > 0.0f};
  };
  const Var whole = outputs(), top_outputs = masked_outputs(mask), rest_outputs = masked_outputs(rest);
  Fidelity result{.share = count > 0 ? static_cast<double>(kept) / static_cast<double>(count) : 0.0,
                  .whole = probability(whole),
                  .kept = probability(top_outputs),
                  .removed = probability(rest_outputs)};
  if (has_targets(trained_.task())) return result;
  result.plus = predicted(rest_outputs) == predicted(whole) ? 0.0 : 1.0;
  result.minus = predicted(top_outputs) == predicted(whole) ? 0.0 : 1.0;
  return result;
}

}  // namespace adj::models
