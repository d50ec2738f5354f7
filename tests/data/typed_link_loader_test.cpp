#include "loader_batches.h"
#include <adjoint/data/joint_dataset.h>

using namespace adj;
using namespace adj::test;

namespace {

using Triple = std::tuple<int32_t, int32_t, int32_t>;  // source, relation, target of the joint graph

/// Users and items, in two relations with some pairs in both, of random features.
struct Shop {
  static constexpr int64_t kUsers = 60, kItems = 45;
  TypedDataset types;
  GraphSchema schema;
  Dataset joint;
  JointPairs pairs;
  EdgeIndex took;  // joint numbers

  explicit Shop(Device device) {
    const Tensor src = random_ints(400, 0, kUsers), dst = random_ints(400, 0, kItems);
    const Relation whole = Relation::from_coo(kUsers, kItems, src, dst),
                   part = Relation::from_coo(kUsers, kItems, src.rows(0, 150), dst.rows(0, 150));
    types.name = "shop";
    types.graph = HeteroGraph({{"item", kItems}, {"user", kUsers}},
                              {{{"user", "took", "item"}, {whole}}, {{"user", "saw", "item"}, {part}}});
    types.nodes["user"].x = Features(random_tensor({kUsers, 4}));
    types.nodes["item"] = {};
    schema = schema_of(types, {"user", "item"}, true);
    joint = joint_dataset(types, schema).to(device);
    pairs = pairs_of(schema, {"user", "took", "item"});
    std::vector<int32_t> targets = dst.to_vector<int32_t>();
    for (int32_t& target : targets) target += kUsers;
    took = {src, Tensor::from(targets)};
  }
  bool hides(int32_t relation) const {
    return schema.relations.at(static_cast<size_t>(relation)).name.ends_with("took");
  }
};

std::multiset<Triple> triples_of(const Block& block) {
  const EdgeIndex edges = block.relation().edge_index();
  const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>(),
             type = block.edge_attributes().at("type").to_vector<int32_t>(),
             node = block.src_nodes().to_vector<int32_t>();
  std::multiset<Triple> all;
  for (size_t e = 0; e < src.size(); ++e)
    all.emplace(node[static_cast<size_t>(src[e])], type[e], node[static_cast<size_t>(dst[e])]);
  return all;
}

}  // namespace

TEST_CASE("pairs of one relation: negatives between its types, and only its edges are hidden") {
  for (Device device : devices()) {
    const Shop shop(device);
    const auto sources = shop.took.src.to_vector<int32_t>(), targets = shop.took.dst.to_vector<int32_t>();
    std::set<std::pair<int32_t, int32_t>> took;
    for (size_t k = 0; k < sources.size(); ++k) took.emplace(sources[k], targets[k]);
    for (const int64_t fanout : {int64_t{-1}, int64_t{4}}) {
      LinkLoaderOptions options{.sampling = {.fanouts = {fanout, fanout}},
                                .negatives = 3,
                                .relation = shop.pairs,
                                .loading = {.batch_size = 32, .shuffle = true, .seed = 3}};
      const std::vector<LinkBatch> without =
          batches(LinkLoader(shop.joint.graph, shop.joint.x, shop.took, options), 0);
      options.exclude = false;
      const std::vector<LinkBatch> with =
          batches(LinkLoader(shop.joint.graph, shop.joint.x, shop.took, options), 0);
      REQUIRE(with.size() == without.size());
      int64_t positives = 0, hidden_edges = 0, shared = 0;
      for (size_t b = 0; b < with.size(); ++b) {
        const LinkBatch& batch = without[b];
        const auto nodes = batch.nodes.to_vector<int32_t>(), src = batch.pairs.src.to_vector<int32_t>(),
                   dst = batch.pairs.dst.to_vector<int32_t>();
        std::set<std::pair<int32_t, int32_t>> hidden;
        for (size_t k = 0; k < src.size(); ++k) {
          const std::pair pair(nodes[static_cast<size_t>(src[k])], nodes[static_cast<size_t>(dst[k])]);
          REQUIRE(pair.first < Shop::kUsers);
          REQUIRE(pair.second >= Shop::kUsers);
          const bool positive = static_cast<int64_t>(k) < batch.positives;
          REQUIRE(took.count(pair) == (positive ? 1 : 0));
          if (positive) hidden.insert(pair);
        }
        positives += batch.positives;
        for (size_t l = 0; l < 2; ++l) {
          std::multiset<Triple> expected;
          for (const auto& [from, relation, to] : triples_of(with[b].blocks[l])) {
            const bool joined = hidden.count({from, to}) > 0 || hidden.count({to, from}) > 0;
            if (joined && shop.hides(relation))
              ++hidden_edges;
            else
              expected.emplace(from, relation, to);
            if (joined && !shop.hides(relation)) ++shared;
          }
          REQUIRE(triples_of(batch.blocks[l]) == expected);
        }
      }
      CHECK(positives == shop.took.src.numel());
      CHECK(hidden_edges > 0);
      CHECK(shared > 0);  // of the other relation, which stays
    }
  }
}
