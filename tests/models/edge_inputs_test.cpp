#include "../support.h"
#include <adjoint/models/preprocessing.h>

using namespace adj;
using namespace adj::test;
using models::EdgeInputs;
using models::EdgeWeights;

TEST_CASE("a model's graph has exactly the weights and attributes that it takes") {
  const Graph graph = Graph::from_coo(
      3, Tensor::from<int32_t>({0, 1}), Tensor::from<int32_t>({1, 2}), Tensor::from<float>({0.5f, 2.0f}),
      {{"attr", Tensor::from<float>({1, 2, 3, 4}, {2, 2})}, {"time", Tensor::from<int64_t>({7, 8})}});
  const Graph none = EdgeInputs{.weights = EdgeWeights::unused}.apply(graph);
  CHECK(none.edge_attributes().empty());
  CHECK(!none.edge_weight());
  const Graph weighted = EdgeInputs{.weights = EdgeWeights::used}.apply(graph);
  CHECK(weighted.edge_attributes().empty());
  CHECK(values(weighted.edge_weight()) == Numbers{0.5, 2});
  const Graph both = EdgeInputs{.weights = EdgeWeights::attribute, .attributes = 2}.apply(graph);
  CHECK(values(both.edge_attr("attr")) == Numbers{1, 2, 0.5, 3, 4, 2});
  CHECK(both.edge_attributes().size() == 1);
  CHECK(!both.edge_weight());
  CHECK_ERROR_HAS((EdgeInputs{.attributes = 3}.apply(graph)), "2 edge attribute columns, trained on 3");
}
