#include "../reference/plain.h"
#include "../support.h"
#include <adjoint/models/node_features.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;
using models::NodeFeatures;

TEST_CASE("degrees are numbers; a walk's chances of return are powers of the transition matrix") {
  constexpr int64_t kNodes = 9, kSteps = 6;
  // Directed, with a loop (0), parallel edges (1 to 2), a node without out-edges (7) and one without edges
  // (8).
  const std::vector<int32_t> src{0, 0, 1, 1, 1, 2, 3, 4, 5, 5, 6, 2}, dst{0, 1, 2, 2, 0, 0, 4, 5, 3, 4, 7, 1};
  for (Device device : devices()) {
    const Graph graph = Graph::from_coo(kNodes, Tensor::from(src), Tensor::from(dst)).to(device);
    Dense step(kNodes, kNodes), power(kNodes, kNodes);
    Numbers in_degree(kNodes, 0.0);
    for (size_t e = 0; e < src.size(); ++e) {
      step(src[e], dst[e]) += 1.0 / static_cast<double>(std::count(src.begin(), src.end(), src[e]));
      in_degree[static_cast<size_t>(dst[e])] += 1.0;
    }
    const Features degrees = models::node_features(NodeFeatures::degree, graph),
                   walks = models::node_features(NodeFeatures::random_walk, graph, kSteps),
                   learned = models::node_features(NodeFeatures::learned, graph, kNodes);
    CHECK(degrees.cols() == 1);
    CHECK(degrees.device() == device);
    CHECK(close(degrees.to_dense(), in_degree, 0.0));
    REQUIRE(walks.cols() == kSteps);
    const Numbers found = values(walks.to_dense());
    for (int64_t i = 0; i < kNodes; ++i) power(i, i) = 1.0;
    for (int64_t s = 0; s < kSteps; ++s) {
      Dense next(kNodes, kNodes);
      for (int64_t i = 0; i < kNodes; ++i)
        for (int64_t j = 0; j < kNodes; ++j)
          for (int64_t k = 0; k < kNodes; ++k) next(i, j) += power(i, k) * step(k, j);
      power = next;
      for (int64_t i = 0; i < kNodes; ++i)
        CHECK(found[static_cast<size_t>(i * kSteps + s)] == doctest::Approx(power(i, i)).epsilon(1e-6));
    }
    CHECK(learned.is_sparse());
    const Numbers identity = values(learned.to_dense());
    for (int64_t k = 0; k < kNodes * kNodes; ++k)
      CHECK(identity[static_cast<size_t>(k)] == (k % (kNodes + 1) == 0 ? 1.0 : 0.0));
    CHECK_ERROR_HAS(models::node_features(NodeFeatures::learned, graph, 8), "9 nodes, but features of 8");
    CHECK_ERROR_HAS(models::node_features(NodeFeatures::random_walk, graph), "0 steps, expected 1 or more");
    // As older checkpoints mean it.
    CHECK(same_bits(models::node_features(NodeFeatures::degree, graph, 5).to_dense(),
                    models::node_features(NodeFeatures::one_hot_degree, graph, 5).to_dense()));
  }
}

TEST_CASE("nodes without features are all alike, or have their in-degree's column") {
  for (Device device : devices()) {
    // In-degrees 0, 2, 1, 0.
    const Graph graph =
        Graph::from_coo(4, Tensor::from<int32_t>({0, 3, 1}), Tensor::from<int32_t>({1, 1, 2})).to(device);
    const Features constant = models::node_features(NodeFeatures::constant, graph);
    CHECK(constant.device() == device);
    CHECK(same_bits(constant.to_dense().to(Device::cpu()), Tensor::full({4, 1}, 1.0)));
    const Features degrees = models::node_features(NodeFeatures::one_hot_degree, graph),
                   wide = models::node_features(NodeFeatures::one_hot_degree, graph, 5);
    CHECK(degrees.device() == device);
    CHECK(degrees.is_sparse());
    CHECK(same_bits(degrees.to_dense().to(Device::cpu()),
                    Tensor::from<float>({1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}, {4, 3})));
    CHECK(wide.cols() == 5);
    CHECK(
        same_bits(wide.to_dense().to(Device::cpu()),
                  Tensor::from<float>({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, {4, 5})));
    CHECK_ERROR_HAS(models::node_features(NodeFeatures::one_hot_degree, graph, 2),
                    "a node with 2 in-edges, expected 1 at most");
    CHECK_ERROR_HAS(models::node_features(NodeFeatures::file, graph),
                    "expected those of a graph, got 'file'");
  }
  CHECK(models::node_features(NodeFeatures::one_hot_degree,
                              Graph::from_coo(0, Tensor::from<int32_t>({}), Tensor::from<int32_t>({})))
            .rows() == 0);
}
