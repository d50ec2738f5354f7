#include "../support.h"
#include <adjoint/data/random_dataset.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;

TEST_CASE("a random dataset has every node in one part of its split, and the same bits for the same seed") {
  const EdgeList edges = power_law_graph(1003, 5000, {}, 3);
  const Dataset a = make_random_dataset(edges, 7, 4, 3), b = make_random_dataset(edges, 7, 4, 3);
  CHECK(a.num_nodes() == 1003);
  CHECK(a.graph.num_edges() == 5000);
  CHECK(a.num_features() == 7);
  CHECK(a.num_classes() == 4);
  std::vector<int32_t> all;
  for (const Tensor& part : {a.train, a.val, a.test})
    for (int32_t i : part.to_vector<int32_t>()) all.push_back(i);
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 1003);
  for (size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == static_cast<int32_t>(i));
  CHECK(a.val.numel() == 200);
  std::vector<int> count(4, 0);
  for (int32_t c : a.y.to_vector<int32_t>()) ++count.at(static_cast<size_t>(c));
  CHECK(*std::min_element(count.begin(), count.end()) > 180);
  CHECK(same_bits(a.x.dense(), b.x.dense()));
  CHECK(same_bits(a.train, b.train));
  CHECK(!same_bits(a.train, make_random_dataset(edges, 7, 4, 4).train));
  CHECK_THROWS_AS((void)make_random_dataset({4, {}, {}}, 7, 4, 1), Error);
  CHECK_THROWS_AS((void)make_random_dataset(edges, 0, 4, 1), Error);
}
