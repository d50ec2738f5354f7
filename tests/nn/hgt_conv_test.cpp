#include "../reference/plain.h"
#include "layers.h"

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 12, kEdges = 40, kTargets = 5;

struct TypedCase {
  Tensor src, dst, types, node_types, x;
  explicit TypedCase(Draw& draw)
      : src(draw.ints(kEdges, 0, kNodes)),
        dst(draw.ints(kEdges, 0, kTargets - 1)),
        types(draw.ints(kEdges, 0, 4)),
        node_types(draw.ints(kNodes, 0, 3)),
        x(draw.normal({kNodes, 6})) {}
  Relation relation(int64_t targets) const { return Relation::from_coo(kNodes, targets, src, dst); }
};

template <class Layer>
void to_double(Layer& layer, Device device) {
  layer.to(device);
  layer.to(DType::f64);
}

}  // namespace

TEST_CASE("HeteroLinear maps the rows of each type, in any order") {
  on_devices(420, DType::f64, [&](Draw& draw, Device device) {
    Model<HeteroLinear> layer(6, 4, 3);
    to_double(layer, device);
    CHECK(layer.weight.shape() == Shape{3, 6, 4});
    const Tensor x = draw.normal({kNodes, 6});
    for (const Tensor& types :
         {draw.ints(kNodes, 0, 3), Tensor::from<int32_t>({0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2}, device)}) {
      const TypedRows rows = typed_rows(types, 3);
      CHECK(static_cast<bool>(rows.rows) ==
            (types.to_vector<int32_t>()[11] != 2 || types.to_vector<int32_t>()[0] != 0));
      const Dense y(layer(x, groups_of(rows)).value());
      const std::vector<int32_t> type = types.to_vector<int32_t>();
      for (int64_t i = 0; i < kNodes; ++i) {
        const int32_t t = type[uz(i)];
        const Dense row =
            linear_of(Dense(x.rows(i, i + 1)), layer.weight.value().rows(t, t + 1).reshape({6, 4}),
                      layer.bias.value().rows(t, t + 1).reshape({4}));
        for (int64_t j = 0; j < 4; ++j) CHECK(y(i, j) == doctest::Approx(row(0, j)));
      }
      check_each([&](const std::vector<Var>& v) { return grouped_linear(v[0], v[1], groups_of(rows), v[2]); },
                 {x, layer.weight.value(), layer.bias.value()});
    }
  });
}

TEST_CASE("HGTConv's gradients equal differences, over graphs and blocks") {
  on_devices(421, DType::f64, [&](Draw& draw, Device device) {
    const TypedCase c(draw);
    Model<HGTConv> layer(6, 6, 3, 4, HGTConvOptions{2});
    to_double(layer, device);
    const Block block(c.relation(kTargets), draw.distinct(kNodes, 100));
    const Graph graph(c.relation(kNodes), {}, {{"type", c.types}});
    const Var of_graph = layer(graph, c.x, c.node_types), of_block = layer(block, c.x, c.node_types, c.types);
    CHECK(close(of_graph.value().rows(0, kTargets), of_block.value(), 1e-12));
    const auto random = [&](const Var& v) { return draw.normal(v.shape()); };
    check({c.x, random(layer.k_rel), random(layer.v_rel), random(layer.p_rel), random(layer.skip)},
          [&](const std::vector<Var>& v) {
            layer.k_rel = v[1], layer.v_rel = v[2], layer.p_rel = v[3], layer.skip = v[4];
            return layer(block, v[0], c.node_types, c.types);
          });
  });
}

TEST_CASE("HGTConv has the same bits on any number of threads, and names what does not fit") {
  Draw draw(422, Device::cpu(), DType::f32);
  const Graph graph = draw.graph(2000, 20000);
  const Tensor types = draw.ints(20000, 0, 128), node_types = draw.ints(2000, 0, 16);
  const Graph typed = graph.with_edge_attr("type", types);
  const Var x(draw.normal({2000, 32}));
  Model<HGTConv> layer(32, 32, 16, 128, HGTConvOptions{4});
  CHECK(same_bits_on_any_threads([&] {
    layer.zero_grad();
    const Var y = layer(typed, x, node_types);
    y.backward(Tensor::full(y.shape(), 1.0));
    return std::vector<Tensor>{y.value(), layer.k_rel.grad().clone(), layer.k_lin.weight.grad().clone(),
                               layer.skip.grad().clone()};
  }));
  CHECK_ERROR_HAS(layer(graph, x, node_types), "HGTConv: no types of edges");
  CHECK_ERROR_HAS(layer(typed, x, types),
                  "node types are [20000] int32 on cpu, expected [2000] int32 on cpu");
  CHECK_ERROR_HAS(layer(typed, x, Tensor::full({2000}, 16, DType::i32)),
                  "node 0 has type 16, expected [0, 16)");
  CHECK_ERROR_HAS(layer(graph.relation(), {x, x}, node_types, types), "expected one x");
  CHECK_ERROR_HAS(Model<HGTConv>(32, 32, 3, 4, HGTConvOptions{5}), "expected heads that divide 32 features");
}
