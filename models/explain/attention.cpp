#include <adjoint/autograd/attention_weights.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/core/error.h>
#include <adjoint/models/explain/explainer.h>

#include <algorithm>

namespace adj::models {

void Explainer::take_attention(Explanation& result) const {
  const NoGrad no_grad;
  const AttentionRecord record;
  EdgeMask edges(graph_.relation());
  (void)row_of(x_);
  if (record.layers().empty())
    usage_fail("{}: {} has no attention, expected a GAT, GATv2, Transformer or AGNN", trained_.origin(),
               trained_.describe());
  std::vector<float> largest(neighborhood_.edges.size() + 1);
  for (const AttentionRecord::Layer& layer : record.layers()) {
    Tensor places;
    try {
      places = edges.places_in("attention", layer.relation);
    } catch (const Error&) {
      usage_fail("{}: {} attends to all nodes, not along edges; expected a GAT, GATv2, Transformer or AGNN",
                 trained_.origin(), trained_.describe());
    }
    const auto weight = layer.weight.to_vector<float>();
    const auto place = places ? places.to_vector<int32_t>() : std::vector<int32_t>();
    const auto heads = static_cast<size_t>(layer.weight.size(1));
    for (size_t k = 0; k < weight.size(); ++k) {
      const size_t edge = k / heads;
      float& most = largest[place.empty() ? edge : static_cast<size_t>(place[edge])];
      most = std::max(most, weight[k]);
    }
  }
  for (const int32_t e : neighborhood_.reaching)
    result.edge_importance.push_back(largest[static_cast<size_t>(e)]);
}

}  // namespace adj::models
