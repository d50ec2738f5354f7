#include "edges.h"
#include <adjoint/graph/hetero_graph.h>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using S = std::vector<std::string>;

const EdgeType kWrites{"author", "writes", "paper"}, kCites{"paper", "cites", "paper"},
    kReviews{"author", "reviews", "paper"};

HeteroGraph library() {
  const auto relation = [](int64_t num_src, int64_t num_dst, const I& src, const I& dst) {
    return Relation::from_coo(num_src, num_dst, ints(src), ints(dst));
  };
  return HeteroGraph({{"author", 3}, {"paper", 5}, {"venue", 1}},
                     {{kWrites, {relation(3, 5, {2, 0}, {4, 1}), {{"year", ints({1990, 1980})}}}},
                      {kCites, {relation(5, 5, {0, 0, 1}, {1, 2, 2})}}});
}

}  // namespace

TEST_CASE("a heterogeneous graph finds relations by type, on any device") {
  for (Device device : devices()) {
    const HeteroGraph graph = library().to(device);
    CHECK(graph.device() == device);
    CHECK(graph.node_types() == S{"author", "paper", "venue"});
    CHECK(graph.num_nodes("paper") == 5);
    CHECK(graph.num_nodes() == 9);
    CHECK(graph.num_edges() == 5);
    CHECK(graph.edge_types() == std::vector<EdgeType>{kWrites, kCites});
    CHECK(graph.relation(kWrites).edge_index().src.to_vector<int32_t>() == I{2, 0});
    CHECK(graph.relation("cites") == graph.relation(kCites));
    CHECK(graph.edge_attr(kWrites, "year").to_vector<int32_t>() == I{1990, 1980});
    const HeteroGraph more = graph.with_edge_attr(kCites, "weight", random_tensor({3}, DType::f32, device));
    CHECK(more.edge_attr(kCites, "weight").numel() == 3);
    CHECK(more.relation(kCites) == graph.relation(kCites));
    CHECK(graph.edge_attributes(kCites).empty());
  }
}

TEST_CASE("an unknown type is refused, and the known ones are listed") {
  const HeteroGraph graph = library();
  CHECK_ERROR(graph.num_nodes("book"),
              "hetero graph: no nodes of type \"book\", expected one of: author, paper, venue");
  CHECK_ERROR(graph.relation(kReviews),
              "hetero graph: no relation (author, reviews, paper), expected one of: "
              "(author, writes, paper), (paper, cites, paper)");
  CHECK_ERROR_HAS(graph.relation("reviews"), "no relation \"reviews\"");
  CHECK_ERROR(graph.edge_attr(kWrites, "month"),
              "hetero graph: (author, writes, paper): no edge attribute \"month\", expected one of: year");
  CHECK_THROWS_AS(graph.with_edge_attr(kReviews, "year", Tensor::zeros({2})), Error);
  CHECK_ERROR_HAS(graph.with_edge_attr(kWrites, "year", Tensor::zeros({3})),
                  "edge attribute \"year\" is [3] float32 on cpu, expected [2] or [2, E]");
  const Relation three_by_five = graph.relation(kWrites);
  CHECK_ERROR_HAS(HeteroGraph({{"author", 3}, {"paper", 4}}, {{kWrites, {three_by_five}}}),
                  "has 3 sources and 5 targets, expected 3 and 4");
  CHECK_ERROR_HAS(HeteroGraph({{"paper", 5}}, {{kWrites, {three_by_five}}}), "no nodes of type \"author\"");
  const HeteroGraph twice({{"author", 3}, {"paper", 5}, {"book", 5}},
                          {{kWrites, {three_by_five}}, {{"author", "writes", "book"}, {three_by_five}}});
  CHECK_ERROR_HAS(twice.relation("writes"), "several relations \"writes\"");
}
