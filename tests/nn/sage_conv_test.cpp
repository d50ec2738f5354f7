#include "../reference/module_gradients.h"
#include <adjoint/graph/block.h>
#include <adjoint/nn/conv/sage_conv.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 23;

/// The layer's formula over dense matrices.
Dense sage(const Relation& relation, const nn::SAGEConv& layer, const nn::SAGEConvOptions& options,
           const Tensor& x_src, const Tensor& x_dst) {
  Dense neighbor(x_src);
  if (options.project)
    neighbor = mapped(linear_of(neighbor, layer.lin->weight.value(), layer.lin->bias.value()), relu_of);
  Dense y = linear_of(reduced(relation, gathered(neighbor, relation.edge_index().src), options.aggr),
                      layer.lin_l.weight.value(), options.bias ? layer.lin_l.bias.value() : Tensor());
  if (options.root_weight && x_dst) {
    const Dense root = Dense(x_dst) * Dense(layer.lin_r->weight.value());
    for (size_t k = 0; k < y.data.size(); ++k) y.data[k] += root.data[k];
  }
  if (options.normalize)
    for (int64_t i = 0; i < y.rows; ++i) {
      double square = 0.0;
      for (int64_t f = 0; f < y.cols; ++f) square += y(i, f) * y(i, f);
      for (int64_t f = 0; f < y.cols; ++f) y(i, f) /= std::max(std::sqrt(square), 1e-12);
    }
  return y;
}

/// f(options) for all combinations of options.
template <class F>
void for_options(F f) {
  for (Reduce aggr : {Reduce::mean, Reduce::sum, Reduce::max, Reduce::min})
    for (int bits = 0; bits < 16; ++bits) {
      const nn::SAGEConvOptions options{.aggr = aggr,
                                        .normalize = (bits & 1) != 0,
                                        .root_weight = (bits & 2) != 0,
                                        .project = (bits & 4) != 0,
                                        .bias = (bits & 8) != 0};
      CAPTURES(name_of(aggr), bits);
      f(options);
    }
}

}  // namespace

TEST_CASE("SAGEConv equals its formula on graphs, in either order of product and aggregation") {
  for (Device device : devices())
    for_options([&](const nn::SAGEConvOptions& options) {
      for (const auto& [in, out] : {std::pair<int64_t, int64_t>{3, 8}, {8, 3}})
        for (bool weighted : {false, true}) {
          Draw draw(210, device, DType::f32);
          const Graph graph = draw.graph(kNodes, 60, weighted);
          nn::Model<nn::SAGEConv> layer(in, out, options);
          layer.to(device);
          const SparseMatrix sparse = draw.sparse(kNodes, in, 3 * kNodes);
          const Tensor x = draw.normal({kNodes, in}), dense = sparse.to_dense();
          const Dense expected = sage(graph, layer, options, x, x);
          CHECK(close(layer(graph, Var::parameter(x)).value(), expected.data, 1e-5));
          for (int k = 0; k < 3; ++k) CHECK(close(layer(graph, x).value(), expected.data, 1e-5));
          CHECK(close(layer(graph, Features(sparse)).value(), sage(graph, layer, options, dense, dense).data,
                      1e-5));
        }
    });
}

TEST_CASE("SAGEConv on a relation between different nodes, with and without features of the targets") {
  for (Device device : devices())
    for_options([&](const nn::SAGEConvOptions& options) {
      Draw draw(212, device, DType::f32);
      const Relation relation = Relation::from_coo(13, 7, draw.ints(30, 0, 13), draw.ints(30, 0, 6));
      nn::Model<nn::SAGEConv> layer(nn::Widths{5, 3}, 4, options);
      layer.to(device);
      const Tensor x = draw.normal({13, 5}), root = draw.normal({7, 3});
      CHECK(close(layer(relation, {x, root}).value(), sage(relation, layer, options, x, root).data, 1e-5));
      CHECK(close(layer(relation, {x, {}}).value(), sage(relation, layer, options, x, {}).data, 1e-5));
    });
  // A block's targets are the first of its sources.
  Draw draw(213, Device::cpu(), DType::f32);
  const Relation relation = Relation::from_coo(13, 7, draw.ints(30, 0, 13), draw.ints(30, 0, 7));
  const Block block(relation, draw.distinct(13, 100));
  nn::Model<nn::SAGEConv> layer(5, 4);
  const Tensor x = draw.normal({13, 5});
  CHECK(close(layer(block, x).value(), sage(relation, layer, {}, x, x.rows(0, 7)).data, 1e-5));
}

TEST_CASE("gradients of SAGEConv by its input and its parameters") {
  for (Device device : devices())
    for_options([&](const nn::SAGEConvOptions& options) {
      Draw draw(214, device);
      const Graph graph = draw.graph(9, 24);
      check_layer(nn::Model<nn::SAGEConv>(4, 3, options), graph, draw.normal({9, 4}));
    });
}

TEST_CASE("SAGEConv rejects mismatched features") {
  Draw draw(215, Device::cpu(), DType::f32);
  const Graph graph = draw.graph(kNodes, 60);
  nn::Model<nn::SAGEConv> layer(4, 3, nn::SAGEConvOptions{.aggr = Reduce::max});
  const Tensor x = Tensor::zeros({kNodes, 4}), two = Tensor::zeros({2, 4});
  CHECK_ERROR_HAS(layer(graph, two), "[2, 4]");
  CHECK_ERROR_HAS(layer(graph.relation(), {x, two}), "[2, 4]");
  CHECK_ERROR_HAS(nn::Model<nn::SAGEConv>(0, 3), "0 -> 3");
}
