#include "edges.h"
#include <adjoint/data/joint_dataset.h>
#include <adjoint/graph/joint_graph.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <map>
#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;

const EdgeType kWrites{"author", "writes", "paper"}, kCites{"paper", "cites", "paper"},
    kNear{"author", "near", "author"}, kWrittenBy{"paper", "rev_writes", "author"};

Relation edges(int64_t num_src, int64_t num_dst, const I& src, const I& dst) {
  return Relation::from_coo(num_src, num_dst, ints(src), ints(dst));
}

HeteroGraph papers() {
  return HeteroGraph(
      {{"author", 3}, {"paper", 4}, {"venue", 2}},
      {{kWrites, {edges(3, 4, {2, 0, 2}, {3, 1, 0}), {{"year", ints({1990, 1980, 1970})}}}},
       {kCites,
        {edges(4, 4, {3, 0, 0}, {1, 2, 2}), {{"weight", Tensor::from(std::vector{2.0f, 3.0f, 4.0f})}}}},
       {kNear, {edges(3, 3, {0, 1}, {1, 0})}}});
}

GraphSchema schema_of_papers(bool reverse = true) {
  return {.nodes = {{"paper", 4, 2}, {"author", 3}, {"venue", 2}},
          .relations = relations_of(papers(), reverse)};
}

/// (source, target, relation, weight) of each edge in the order of the joint list.
using Row = std::tuple<int32_t, int32_t, int32_t, float>;
std::vector<Row> rows_of(const Graph& graph) {
  const EdgeIndex index = graph.edge_index();
  const auto src = index.src.to_vector<int32_t>(), dst = index.dst.to_vector<int32_t>(),
             type = graph.edge_attr("type").to_vector<int32_t>(),
             place = graph.input_order().to_vector<int32_t>();
  const auto weight = graph.edge_weight().to_vector<float>();
  std::vector<Row> rows(src.size());
  for (size_t e = 0; e < src.size(); ++e) rows[uz(place[e])] = {src[e], dst[e], type[e], weight[e]};
  return rows;
}

}  // namespace

TEST_CASE("relations have their reverse unless it is there, or is the same edges") {
  CHECK(relations_of(papers(), true) ==
        std::vector{kNear, kWrites, kWrittenBy, kCites, {"paper", "rev_cites", "paper"}});
  CHECK(relations_of(papers(), false) == std::vector{kNear, kWrites, kCites});
  const auto with = [](const std::string& name) {
    return HeteroGraph({{"a", 2}, {"b", 2}}, {{{"a", "knows", "b"}, {edges(2, 2, {0}, {1})}},
                                              {{"b", name, "a"}, {edges(2, 2, {1}, {1})}}});
  };
  CHECK(relations_of(with("rev_knows"), true).size() == 2);
  CHECK(relations_of(with("knows^-1"), true).size() == 2);
  CHECK(relations_of(with("knows"), true).size() == 4);
}

TEST_CASE("a joint graph has the edges of every type in order, of both ways") {
  const Graph joint = join(papers(), schema_of_papers());
  CHECK(joint.num_nodes() == 9);
  CHECK(rows_of(joint) == std::vector<Row>{{4, 5, 0, 1},
                                           {5, 4, 0, 1},  // authors are nodes 4 to 6
                                           {6, 3, 1, 1},
                                           {4, 1, 1, 1},
                                           {6, 0, 1, 1},
                                           {3, 6, 2, 1},
                                           {1, 4, 2, 1},
                                           {0, 6, 2, 1},
                                           {3, 1, 3, 2},
                                           {0, 2, 3, 3},
                                           {0, 2, 3, 4},
                                           {1, 3, 4, 2},
                                           {2, 0, 4, 3},
                                           {2, 0, 4, 4}});
  CHECK(left_out(papers(), schema_of_papers()) ==
        std::vector<std::string>{"\"year\" of (author, writes, paper)"});
  GraphSchema fewer{.nodes = {{"paper", 4}}, .relations = {kCites}};
  CHECK(left_out(papers(), fewer).size() == 4);  // two types of nodes, two relations
  // Nodes by other numbers, of a type that has more of them.
  GraphSchema schema{.nodes = {{"paper", 4}, {"author", 5}}, .relations = {kWrites, kCites}};
  const Graph renamed = join(papers(), schema, {{"author", ints({4, 0, 2})}});
  CHECK(std::get<0>(rows_of(renamed)[0]) == 6);
  CHECK(std::get<0>(rows_of(renamed)[1]) == 8);
}

TEST_CASE("a joint graph names what does not fit") {
  GraphSchema schema = schema_of_papers();
  schema.relations.push_back({"author", "reads", "paper"});
  CHECK_ERROR(join(papers(), schema),
              "joint graph: no relation (author, reads, paper), expected one of: (author, near, author), "
              "(author, writes, paper), (paper, cites, paper)");
  schema = schema_of_papers();
  schema.nodes[1].count = 2;
  CHECK_ERROR(join(papers(), schema), "joint graph: 3 nodes of type \"author\", expected at most 2");
  schema.nodes.erase(schema.nodes.begin() + 1);
  CHECK_ERROR_HAS(join(papers(), schema), "no nodes of type \"author\" in its schema");
}

TEST_CASE("the edges into the first nodes are those of the graph") {
  for (Device device : devices()) {
    const Graph graph = join(papers(), schema_of_papers()).to(device);
    const Block block = edges_into_first(graph, 4);
    CHECK(block.num_dst() == 4);
    CHECK(block.num_src() == 9);
    const EdgeIndex all = graph.edge_index(), some = block.relation().edge_index();
    CHECK(!block.edge_ids());  // the first of the graph's
    const auto dst = all.dst.to_vector<int32_t>();
    std::vector<int32_t> ids(uz(block.num_edges()));
    std::iota(ids.begin(), ids.end(), 0);
    CHECK(std::ssize(ids) == std::count_if(dst.begin(), dst.end(), [](int32_t i) { return i < 4; }));
    const auto src = all.src.to_vector<int32_t>(), type = graph.edge_attr("type").to_vector<int32_t>();
    for (size_t k = 0; k < ids.size(); ++k) {
      CHECK(some.src.to_vector<int32_t>()[k] == src[uz(ids[k])]);
      CHECK(some.dst.to_vector<int32_t>()[k] == dst[uz(ids[k])]);
      CHECK(block.edge_attributes().at("type").to_vector<int32_t>()[k] == type[uz(ids[k])]);
    }
  }
}

TEST_CASE("rows of several types are sorted by type, and ordered as asked") {
  for (Device device : devices()) {
    const Tensor x = Tensor::from(std::vector<float>{0, 1, 10, 11, 20, 21}, Shape{3, 2});
    const Features all = Features(TypedFeatures{.x = {x, Tensor()}, .counts = {3, 4}}).to(device);
    CHECK(all.rows() == 7);
    CHECK(all.cols() == 2);
    const Features some = all.rows(ints({5, 2, 3, 0, 2}, device));
    const TypedFeatures& rows = some.typed();
    CHECK(rows.counts == std::vector<int64_t>{3, 2});
    CHECK(rows.numbers.to_vector<int32_t>() == I{2, 0, 2, 2, 0});
    CHECK(rows.order.to_vector<int32_t>() == I{3, 0, 4, 1, 2});
    CHECK(rows.joint.to_vector<int32_t>() == I{5, 2, 3, 0, 2});
    CHECK(all.rows(ints({}, device)).typed().counts == std::vector<int64_t>{0, 0});
    CHECK(rows.x[0].to_vector<float>() == std::vector<float>{20, 21, 0, 1, 20, 21});
    CHECK_ERROR_HAS(all.rows(ints({7}, device)), "row 7 at position 0, expected 0 to 6");
    CHECK_ERROR_HAS(some.rows(ints({0}, device)), "expected those of all nodes");
    CHECK_ERROR_HAS(all.dense(), "but they are of several types of nodes");
  }
}

TEST_CASE("fan-outs per relation bound each relation of a node, and draw its edges alike") {
  Draw draw(77, Device::cpu());
  const int64_t kNodes = 60, kEdges = 3000, kFanout = 4;
  const Graph untyped = draw.graph(kNodes, kEdges);
  const Graph host = untyped.with_edge_attr("type", draw.ints(kEdges, 0, 5));
  const auto type = host.edge_attr("type").to_vector<int32_t>();
  const auto dst = host.edge_index().dst.to_vector<int32_t>(),
             src = host.edge_index().src.to_vector<int32_t>();
  std::map<std::pair<int32_t, int32_t>, int64_t> have;
  for (size_t e = 0; e < type.size(); ++e) ++have[{dst[e], type[e]}];
  std::vector<int32_t> first;
  for (Device device : devices()) {
    const Graph graph = host.to(device);
    const NeighborSampler sampler(graph, {.fanouts = {kFanout, kFanout}, .per_relation = true});
    std::vector<int64_t> drawn(type.size());
    for (uint64_t seed = 0; seed < 400; ++seed) {
      const std::vector<Block> blocks = sampler.sample(ints({7, 3, 50}, device), seed);
      const Block& last = blocks[1];
      const auto ids = last.edge_ids().to_vector<int32_t>(), nodes = last.src_nodes().to_vector<int32_t>();
      if (seed == 0 && first.empty()) first = blocks[0].edge_ids().to_vector<int32_t>();
      if (seed == 0) CHECK(blocks[0].edge_ids().to_vector<int32_t>() == first);  // on any device
      const EdgeIndex local = last.relation().edge_index();
      const auto rows = local.dst.to_vector<int32_t>(), cols = local.src.to_vector<int32_t>();
      std::map<std::pair<int32_t, int32_t>, int64_t> taken;
      for (size_t k = 0; k < ids.size(); ++k) {
        const size_t e = uz(ids[k]);
        ++drawn[e];
        ++taken[{dst[e], type[e]}];
        CHECK(nodes[uz(rows[k])] == dst[e]);
        CHECK(nodes[uz(cols[k])] == src[e]);
        CHECK(last.edge_attributes().at("type").to_vector<int32_t>()[k] == type[e]);
      }
      for (const int32_t seed_node : {7, 3, 50})
        for (int32_t r = 0; r < 5; ++r)
          CHECK(taken[{seed_node, r}] == std::min(kFanout, have[{seed_node, r}]));
      CHECK(set_of(ids).size() == ids.size());
    }
    for (size_t e = 0; e < type.size(); ++e) {  // 400 draws with probability k / d: 6 deviations
      if (dst[e] != 7 && dst[e] != 3 && dst[e] != 50) continue;
      const double p =
          std::min(1.0, static_cast<double>(kFanout) / static_cast<double>(have[{dst[e], type[e]}]));
      CHECK(std::abs(static_cast<double>(drawn[e]) - 400 * p) <= 6 * std::sqrt(400 * p * (1 - p)) + 1e-9);
    }
  }
  CHECK_ERROR_HAS(NeighborSampler(untyped, {.fanouts = {2}, .per_relation = true}),
                  "need the edge attribute \"type\"");
}

TEST_CASE("a dataset's target is the type with labels, whose nodes come first") {
  TypedDataset data{"tiny", papers(), {}, {}};
  for (const char* type : {"author", "paper", "venue"}) data.nodes[type];
  CHECK_ERROR_HAS(target_type(data, "", "t.h5"), "t.h5: no type of nodes has labels");
  const auto label = [&](const std::string& type, const I& y) {
    data.nodes[type].task = Task::node_class;
    data.nodes[type].classes = 2;
    data.nodes[type].y = ints(y);
  };
  label("paper", {0, 1, 1, -1});
  data.nodes["paper"].x = Features(Tensor::zeros({4, 2}));
  CHECK(target_type(data, "", "t.h5") == "paper");
  const GraphSchema schema = schema_of(data, {"paper"}, true);
  CHECK(schema == schema_of_papers());
  const Dataset joint = joint_dataset(data, schema);
  CHECK(joint.y.to_vector<int32_t>() == I{0, 1, 1, -1, -1, -1, -1, -1, -1});
  CHECK(joint.x.typed().counts == std::vector<int64_t>{4, 3, 2});
  CHECK(nodes_alone(data, "author").num_nodes() == 3);
  label("venue", {0, 1});
  CHECK_ERROR(target_type(data, "", "t.h5"),
              "t.h5: several types of nodes have labels, expected --target with one of: paper, venue");
  CHECK(target_type(data, "venue", "t.h5") == "venue");
  CHECK_ERROR_HAS(target_type(data, "author", "t.h5"),
                  "expected a type of nodes with labels, one of: paper, venue");
}
