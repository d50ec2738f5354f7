#include "../reference/plain.h"
#include "layers.h"
#include <adjoint/models/checkpoint.h>
#include <adjoint/nn/conv/han_conv.h>
#include <adjoint/nn/conv/hetero_conv.h>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

namespace {

const EdgeType kFollows{"a/b.c", "folgt auf ~", "a/b.c"}, kBuys{"a/b.c", "buys", "x_y"},
    kOdd{"a", "b.c~buys", "x_y"};

HeteroGraph graph_of(Draw& draw, int64_t users, int64_t items) {
  const auto edges = [&](int64_t src, int64_t dst) {
    const int64_t count = src > 0 && dst > 0 ? 20 : 0;
    return HeteroGraph::Edges{Relation::from_coo(src, dst, draw.ints(count, 0, static_cast<int32_t>(src)),
                                                 draw.ints(count, 0, static_cast<int32_t>(dst)))};
  };
  return HeteroGraph({{"a/b.c", users}, {"x_y", items}},
                     {{kFollows, edges(users, users)}, {kBuys, edges(users, items)}});
}

}  // namespace

TEST_CASE(
    "names of types, whatever their characters, make names of parameters that differ and survive "
    "checkpoints") {
  CHECK(nn::detail::module_name(kFollows) == "a%2Fb%2Ec~folgt%20auf%20%7E~a%2Fb%2Ec");
  CHECK(nn::detail::module_name(EdgeType{"a~b", "", "c"}) !=
        nn::detail::module_name(EdgeType{"a", "b", "~c"}));
  const auto build = [] {
    auto layer = std::make_unique<Model<HeteroConv>>(TypedWidths{{"a/b.c", 4}, {"x_y", 3}});
    layer->add<SAGEConv>(kFollows, 5);
    layer->add<GATConv>(kBuys, 5, GATConvOptions{.add_self_loops = false});
    return layer;
  };
  const auto layer = build(), other = build();
  const TemporaryDirectory folder;
  models::save_model(*layer, folder.file("layer.h5"));
  models::load_model(*other, folder.file("layer.h5"));
  const auto expected = layer->state(), found = other->state();
  REQUIRE(found.size() == expected.size());
  for (size_t k = 0; k < found.size(); ++k) CHECK(same_bits(found[k].second, expected[k].second));
}

TEST_CASE("HeteroConv takes widths from the schema, any layer, values of edges, and types without nodes") {
  Draw draw(430, Device::cpu(), DType::f32);
  Model<HeteroConv> layer(TypedWidths{{"a/b.c", 4}, {"x_y", 4}});
  layer.add<GCNConv>(kFollows, 4);
  GraphConv& buys = layer.add<GraphConv>(kBuys, 4);
  const HeteroGraph graph = graph_of(draw, 9, 6), empty = graph_of(draw, 0, 6);
  const Var users(draw.normal({9, 4})), items(draw.normal({6, 4})), weight(draw.uniform({20}, 0.5, 2.0));
  const TypedVars y = layer(graph, {{"a/b.c", users}, {"x_y", items}}, {{kBuys, weight}});
  REQUIRE(y.size() == 2);
  CHECK(same_bits(y.at("x_y").value(), buys(graph.relation(kBuys), {users, items}, weight).value()));
  const TypedVars of_empty = layer(empty, {{"x_y", items}});
  CHECK(of_empty.at("a/b.c").shape() == Shape{0, 4});
  CHECK(
      close(of_empty.at("x_y").value(), buys(empty.relation(kBuys), {Tensor::zeros({0, 4}), items}).value()));

  Model<HeteroConv> all(TypedWidths{{"a/b.c", 4}, {"x_y", 4}});
  all.add_to_all<GraphConv>(graph.edge_types(), 3);
  CHECK(all.num_parameters() == 2 * (2 * 4 * 3 + 3));
  CHECK(all(graph, {{"a/b.c", users}, {"x_y", items}}).at("a/b.c").shape() == Shape{9, 3});
  CHECK_ERROR_HAS(all.add_to_all<GraphConv>(graph.edge_types(), 3), "has a layer already");

  CHECK_ERROR_HAS(layer(graph, {{"x_y", items}}), "HeteroConv: features of the 9 nodes 'a/b.c' are absent");
  CHECK_ERROR_HAS(layer(graph, {{"a/b.c", items}, {"x_y", items}}),
                  "features of nodes 'a/b.c' are [6, 4], expected [9, 4]");
  CHECK_ERROR_HAS(layer(graph, {{"a/b.c", users}, {"x_y", items}}, {{kOdd, weight}}), "which have no layer");
  CHECK_ERROR_HAS(layer.add<SAGEConv>(kOdd, 4), "no width of nodes 'a', expected one of a/b.c, x_y");
  CHECK_ERROR_HAS(layer.add<SAGEConv>(kBuys, 4), "has a layer already");
  Model<HeteroConv> uneven(TypedWidths{{"a/b.c", 4}, {"x_y", 3}});
  CHECK_ERROR_HAS(uneven.add<GCNConv>(kBuys, 4), "takes one width, got 4 and 3");
  uneven.add<APPNP>(kFollows, 2, 0.1);
  uneven.add<SAGEConv>(kBuys, 4);
  CHECK_ERROR_HAS(uneven(graph, {{"a/b.c", users}, {"x_y", Var(draw.normal({6, 3}))}}, {{kBuys, weight}}),
                  "takes no values of edges");
}

TEST_CASE("HANConv's gradients equal differences; a type without nodes gives none") {
  on_devices(431, DType::f64, [&](Draw& draw, Device device) {
    const HeteroGraph graph = graph_of(draw, 5, 4).to(device), empty = graph_of(draw, 0, 4).to(device);
    const EdgeType back{"x_y", "back", "x_y"};
    Model<HANConv> layer(TypedWidths{{"a/b.c", 4}, {"x_y", 3}}, 6, std::vector{kFollows, kBuys},
                         HANConvOptions{2});
    layer.to(device);
    layer.to(DType::f64);
    const Tensor users = draw.normal({5, 4}), items = draw.normal({4, 3});
    check({users, items}, [&](const std::vector<Var>& v) {
      return layer(graph, {{"a/b.c", v[0]}, {"x_y", v[1]}}).at("x_y");
    });
    CHECK(layer(empty, {{"x_y", items}}).at("a/b.c").shape() == Shape{0, 6});
    CHECK_ERROR_HAS(Model<HANConv>(TypedWidths{{"x_y", 3}}, 6, std::vector{kBuys}),
                    "no width of nodes 'a/b.c'");
    CHECK_ERROR_HAS(Model<HANConv>(TypedWidths{{"x_y", 3}}, 6, std::vector{back}, HANConvOptions{4}),
                    "heads that divide 6");
  });
}
