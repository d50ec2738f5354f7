#include "../autograd/relation_cases.h"
#include "layers.h"
#include <adjoint/graph/typed_edges.h>

#include <map>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

TEST_CASE("RGCNConv equals loops over the edges, and its gradients differences, on either side of its maps") {
  for_relations(410, [](const Relation& relation, Draw& draw) {
    for (const int64_t relations : {1, 3, 128})
      for (const auto& [in, out] : {std::pair<int64_t, int64_t>{2, 6}, {6, 2}})
        for (const Reduce aggr : {Reduce::mean, Reduce::sum}) {
          const Tensor types = draw.ints(relation.num_edges(), 0, static_cast<int32_t>(relations));
          const std::vector<int32_t> type = types.to_vector<int32_t>();
          const Tensor x = draw.normal({relation.num_src(), in}),
                       x_dst = draw.normal({relation.num_dst(), 3});
          Model<RGCNConv> layer(Widths{in, 3}, out, relations, RGCNConvOptions{.aggr = aggr});
          layer.to(x.device());
          layer.to(DType::f64);
          std::map<std::pair<int32_t, int32_t>, double> count;
          each_edge(relation, [&](int32_t, int32_t dst, int64_t e) { ++count[{type[uz(e)], dst}]; });
          Dense expected = linear_of(Dense(x_dst), layer.root.value(), layer.bias.value());
          const Dense features(x), maps(layer.weight.value().reshape({relations * in, out}));
          each_edge(relation, [&](int32_t src, int32_t dst, int64_t e) {
            const int32_t r = type[uz(e)];
            for (int64_t i = 0; i < in; ++i)
              for (int64_t j = 0; j < out; ++j)
                expected(dst, j) +=
                    features(src, i) * maps(r * in + i, j) / (aggr == Reduce::mean ? count[{r, dst}] : 1.0);
          });
          CHECK(close(layer(relation, {x, x_dst}, types).value(), expected.data, 1e-12));
          if (relations == 128) continue;
          check({x, layer.weight.value(), x_dst, layer.root.value()}, [&](const std::vector<Var>& v) {
            layer.weight = v[1];
            layer.root = v[3];
            return layer(relation, {v[0], v[2]}, types);
          });
        }
  });
}

TEST_CASE("RGCNConv of one relation is a mean, with the same bits on any number of threads") {
  Draw draw(411, Device::cpu(), DType::f32);
  const Graph graph = draw.graph(3000, 40000);
  const Var x(draw.normal({3000, 32}));
  const Tensor one = Tensor::zeros({40000}, DType::i32), many = draw.ints(40000, 0, 9);
  for (const int64_t out : {8, 64}) {
    Model<RGCNConv> layer(32, out, 1);
    Model<SAGEConv> sage(32, out);
    const auto state = [&](const Var& v) { return v.value().reshape({32, out}); };
    sage.load_state({{"lin_l.weight", state(layer.weight)},
                     {"lin_l.bias", layer.bias.value()},
                     {"lin_r.weight", state(layer.root)}});
    CHECK(close(layer(graph, x, one).value(), sage(graph, x).value(), 2e-5));
    Model<RGCNConv> relational(32, out, 9, RGCNConvOptions{.bases = 4});
    CHECK(same_bits_on_any_threads([&] { return pass(relational, graph.with_edge_attr("type", many), x); }));
  }
}

TEST_CASE("layers over types of edges in bfloat16 are near those in float32") {
  on_devices(414, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(200, 2000).with_edge_attr("type", draw.ints(2000, 0, 5));
    const Tensor x = draw.normal({200, 16}), node_types = draw.ints(200, 0, 3);
    const auto check = [&](auto&& layer, const auto&... types) {
      CAPTURE(layer.describe());
      layer.to(device);
      const Tensor y = layer(graph, Var(x), types...).value();
      layer.to(DType::bf16);
      const Var rounded = Var::parameter(x.to(DType::bf16));
      const Var near = layer(graph, rounded, types...);
      CHECK(close_to_scale(near.value().to(DType::f32), y, 0.03));
      near.backward(Tensor::full(y.shape(), 1.0, DType::bf16, device));
      CHECK(rounded.grad().dtype() == DType::bf16);
    };
    for (const int64_t out : {4, 32}) check(Model<RGCNConv>(16, out, 5, RGCNConvOptions{.bases = 3}));
    check(Model<RGATConv>(16, 4, 5, RGATConvOptions{.heads = 2}));
    check(Model<HGTConv>(16, 16, 3, 5, HGTConvOptions{4}), node_types);
  });
}

TEST_CASE("RGCNConv names what does not fit") {
  Draw draw(412, Device::cpu(), DType::f32);
  const Graph graph = draw.graph(9, 30);
  const Model<RGCNConv> layer(4, 3, 2);
  const Var x(draw.normal({9, 4}));
  CHECK_ERROR_HAS(
      layer(graph, x),
      "RGCNConv: no types of edges, expected them as an argument or as the edge attribute \"type\"");
  CHECK_ERROR_HAS(layer(graph, x, Tensor::full({30}, 2, DType::i32)), "edge 0 has type 2, expected [0, 2)");
  CHECK_ERROR_HAS(Model<RGCNConv>(5, 4, 2, RGCNConvOptions{.blocks = 2}), "not divisible by 2 blocks");
  CHECK_ERROR_HAS(Model<RGCNConv>(4, 4, 2, RGCNConvOptions{.bases = 1, .blocks = 2}), "expected one of them");
  CHECK_ERROR_HAS(Model<RGCNConv>(4, 4, 2, RGCNConvOptions{.aggr = Reduce::max}), "expected mean or sum");
  CHECK_ERROR_HAS(Model<RGCNConv>(4, 4, 0), "0 relations");
}

TEST_CASE("RGCNConv over many edges to targets in the order of their types equals loops over the edges") {
  constexpr int64_t kEdges = (1 << 20) + 77, kNodes = 3000, kIn = 2, kOut = 3;
  for (const int64_t bases : {0, 2}) {
    Draw draw(413, Device::cpu(), DType::f32);
    // The first thousand nodes have in-edges of types 0 and 2, the others of 1.
    const std::vector<int32_t> dst = draw.ints(kEdges, 0, kNodes).to_vector<int32_t>();
    const std::vector<int32_t> bit = draw.ints(kEdges, 0, 2).to_vector<int32_t>();
    std::vector<int32_t> type(dst.size());
    for (size_t e = 0; e < dst.size(); ++e) type[e] = dst[e] >= 1000 ? 1 : 2 * bit[e];
    const Relation relation =
        Relation::from_coo(kNodes, kNodes, draw.ints(kEdges, 0, kNodes), Tensor::from(dst));
    const Tensor types = Tensor::from(type), x = draw.normal({kNodes, kIn});
    REQUIRE(typed_slots(relation, types, 3, true) != nullptr);
    Model<RGCNConv> layer(kIn, kOut, 3, RGCNConvOptions{.bases = bases});
    Dense expected = linear_of(Dense(x), layer.root.value(), layer.bias.value());
    const Dense features(x),
        maps(nn::detail::relation_matrices(layer.weight, layer.comp).value().reshape({3 * kIn, kOut}));
    std::map<std::pair<int32_t, int32_t>, double> count;
    each_edge(relation, [&](int32_t, int32_t t, int64_t e) { ++count[{type[uz(e)], t}]; });
    each_edge(relation, [&](int32_t src, int32_t t, int64_t e) {
      for (int64_t i = 0; i < kIn; ++i)
        for (int64_t j = 0; j < kOut; ++j)
          expected(t, j) += features(src, i) * maps(type[uz(e)] * kIn + i, j) / count[{type[uz(e)], t}];
    });
    CHECK(close(layer(relation, x, types).value(), expected.data, 1e-5));
  }
}
