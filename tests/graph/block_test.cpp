#include "edges.h"
#include <adjoint/graph/block.h>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;

Relation two_targets(Device device = {}) {
  return Relation::from_coo(4, 2, ints({3, 0, 2}, device), ints({1, 0, 0}, device));
}

}  // namespace

TEST_CASE("a block has the whole graph's numbers of its nodes and edges") {
  for (Device device : devices()) {
    const Block block(two_targets(), ints({70, 10, 30, 90}), ints({5, 6, 2}));
    const Block moved = block.to(device);
    CHECK(moved.device() == device);
    CHECK(moved.num_dst() == 2);
    CHECK(moved.num_src() == 4);
    CHECK(moved.num_edges() == 3);
    CHECK(moved.dst_nodes().to_vector<int32_t>() == I{70, 10});
    CHECK(moved.src_nodes().to_vector<int32_t>() == I{70, 10, 30, 90});
    CHECK(moved.edge_ids().to_vector<int32_t>() == I{5, 6, 2});
    CHECK(moved.relation().edge_index().src.to_vector<int32_t>() == I{3, 0, 2});
  }
}

TEST_CASE("the targets of a block are the first of its sources") {
  for (Device device : devices()) {
    const Tensor sources = longs({7, 1, 3, 9}, device);
    CHECK(Block(two_targets(device), ints({7, 1}, device), sources, {}).num_dst() == 2);
    CHECK_ERROR(Block(two_targets(device), ints({7, 3}, device), sources, {}),
                "block: target 1 is node 3 but source 1 is node 1, expected the same");
    CHECK_ERROR_HAS(Block(two_targets(device), ints({7}, device), sources, {}), "target nodes are [1] int32");
  }
  CHECK_ERROR_HAS(Block(two_targets().reversed(), ints({1, 2})), "4 targets but 2 sources");
  CHECK_ERROR_HAS(Block(two_targets(), ints({1, 2})), "expected [4] int32");
  CHECK_ERROR_HAS(Block(two_targets(), ints({1, 2, 3, 4}), ints({1})), "edge ids are [1] int32");
}

TEST_CASE("a block has the weights and attributes of its edges, on every device") {
  const Block bare(two_targets(), ints({70, 10, 30, 90}));
  CHECK_FALSE(bare.edge_weight());
  CHECK(bare.edge_attributes().empty());
  const Tensor weight = Tensor::from(std::vector<float>{0.5f, 2, 3});
  const Block block =
      bare.with_edge_data(weight, {{"attr", Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2})}});
  for (Device device : devices()) {
    const Block moved = block.to(device);
    CHECK(moved.edge_weight().device() == device);
    CHECK(moved.edge_weight().to_vector<float>() == std::vector<float>{0.5f, 2, 3});
    CHECK(moved.edge_attributes().at("attr").to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
  }
  CHECK_FALSE(bare.edge_weight());
  CHECK_ERROR_HAS(bare.with_edge_data(Tensor::from(std::vector<float>{1, 2}), {}), "expected [3] float32");
  CHECK_ERROR_HAS(bare.with_edge_data({}, {{"attr", ints({1, 2})}}), "edge attribute \"attr\" is [2] int32");
}
