#include "../support.h"
#include <adjoint/models/node_features.h>

using namespace adj;
using namespace adj::test;
using models::NodeFeatures;

TEST_CASE("nodes without features are all alike, or have their in-degree's column") {
  for (Device device : devices()) {
    // In-degrees 0, 2, 1, 0.
    const Graph graph =
        Graph::from_coo(4, Tensor::from<int32_t>({0, 3, 1}), Tensor::from<int32_t>({1, 1, 2})).to(device);
    const Features constant = models::node_features(NodeFeatures::constant, graph);
    CHECK(constant.device() == device);
    CHECK(same_bits(constant.to_dense().to(Device::cpu()), Tensor::full({4, 1}, 1.0)));
    const Features degrees = models::node_features(NodeFeatures::degree, graph),
                   wide = models::node_features(NodeFeatures::degree, graph, 5);
    CHECK(degrees.device() == device);
    CHECK(degrees.is_sparse());
    CHECK(same_bits(degrees.to_dense().to(Device::cpu()),
                    Tensor::from<float>({1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}, {4, 3})));
    CHECK(wide.cols() == 5);
    CHECK(
        same_bits(wide.to_dense().to(Device::cpu()),
                  Tensor::from<float>({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, {4, 5})));
    CHECK_ERROR_HAS(models::node_features(NodeFeatures::degree, graph, 2),
                    "a node with 2 in-edges, expected 1 at most");
    CHECK_ERROR_HAS(models::node_features(NodeFeatures::file, graph),
                    "expected constant or degree, got 'file'");
  }
  CHECK(models::node_features(NodeFeatures::degree,
                              Graph::from_coo(0, Tensor::from<int32_t>({}), Tensor::from<int32_t>({})))
            .rows() == 0);
}
