#include "../reference/plain.h"
#include <adjoint/core/allocator.h>
#include <adjoint/graph/block.h>
#include <adjoint/nn/conv/sage_conv.h>

#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 23;

/// The sum, mean, largest or smallest of the sources' rows for every target.
Dense reduced(const Relation& relation, const Dense& x, Reduce reduce) {
  const auto [src, dst] = relation.edge_index();
  const auto from = src.to_vector<int32_t>(), to = dst.to_vector<int32_t>();
  Dense y(relation.num_dst(), x.cols);
  std::vector<double> count(static_cast<size_t>(y.rows));
  for (size_t e = 0; e < from.size(); ++e) {
    const bool first = count[static_cast<size_t>(to[e])]++ == 0;
    for (int64_t f = 0; f < x.cols; ++f) {
      const double term = x(from[e], f);
      double& result = y(to[e], f);
      if (reduce == Reduce::max || reduce == Reduce::min) {
        if (first || (reduce == Reduce::max ? term > result : term < result)) result = term;
      } else {
        result += term;
      }
    }
  }
  if (reduce == Reduce::mean)
    for (int64_t i = 0; i < y.rows; ++i)
      for (int64_t f = 0; f < y.cols; ++f) y(i, f) /= std::max(1.0, count[static_cast<size_t>(i)]);
  return y;
}

/// The layer's formula over dense matrices.
Dense sage(const Relation& relation, const nn::SAGEConv& layer, const nn::SAGEConvOptions& options,
           const Tensor& x_src, const Tensor& x_dst) {
  Dense neighbor(x_src);
  if (options.project)
    neighbor =
        mapped(plus_row(neighbor * Dense(layer.lin->weight.value()), layer.lin->bias.value()), relu_of);
  Dense y = reduced(relation, neighbor, options.aggr) * Dense(layer.lin_l.weight.value());
  if (options.bias) y = plus_row(y, layer.lin_l.bias.value());
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

/// Calls f(options) for what the layer may be asked for.
template <class F>
void for_options(F f) {
  for (Reduce aggr : {Reduce::mean, Reduce::sum, Reduce::max, Reduce::min})
    for (int bits = 0; bits < 16; ++bits) {
      const nn::SAGEConvOptions options{.aggr = aggr,
                                        .normalize = (bits & 1) != 0,
                                        .root_weight = (bits & 2) != 0,
                                        .project = (bits & 4) != 0,
                                        .bias = (bits & 8) != 0};
      CAPTURE(name_of(aggr));
      CAPTURE(bits);
      f(options);
    }
}

}  // namespace

TEST_CASE("SAGEConv equals its formula on graphs, in either order of product and aggregation") {
  for (Device device : devices())
    for_options([&](const nn::SAGEConvOptions& options) {
      CAPTURE(device.str());
      for (const auto& [in, out] : {std::pair<int64_t, int64_t>{3, 8}, {8, 3}})
        for (bool weighted : {false, true}) {
          Draw draw(210, device, DType::f32);
          const Graph graph = draw.graph(kNodes, 60, weighted);
          nn::Model<nn::SAGEConv> layer(in, out, options);
          layer.to(device);
          const Tensor x = draw.normal({kNodes, in});
          const Dense expected = sage(graph, layer, options, x, x);
          CHECK(close(layer(graph, Var::parameter(x)).value(), expected.data, 1e-5));
          for (int k = 0; k < 3; ++k) CHECK(close(layer(graph, x).value(), expected.data, 1e-5));
        }
    });
}

TEST_CASE("SAGEConv takes sparse features where a linear map may come first") {
  for (Device device : devices())
    for_options([&](const nn::SAGEConvOptions& options) {
      Draw draw(211, device, DType::f32);
      const Graph graph = draw.graph(kNodes, 60);
      nn::Model<nn::SAGEConv> layer(6, 4, options);
      layer.to(device);
      const SparseMatrix sparse = draw.sparse(kNodes, 6, 3 * kNodes);
      const bool first = options.aggr == Reduce::mean || options.aggr == Reduce::sum;
      if (!first && !options.project) {
        CHECK(mentions(error_of([&] { layer(graph, Features(sparse)); }), "expected dense ones, or project"));
        return;
      }
      const Tensor dense = sparse.to_dense();
      CHECK(close(layer(graph, Features(sparse)).value(), sage(graph, layer, options, dense, dense).data,
                  1e-5));
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
      CAPTURE(device.str());
      Draw draw(214, device);
      const Graph graph = draw.graph(9, 24);
      nn::Model<nn::SAGEConv> layer(4, 3, options);
      layer.to(device);
      layer.to(DType::f64);
      std::vector<Tensor> inputs{draw.normal({9, 4})};
      for (const Var& parameter : layer.parameters()) inputs.push_back(draw.off_zero(parameter.shape()));
      check(
          [&](const std::vector<Var>& v) {
            size_t k = 1;
            const auto set = [&](nn::Linear& map) {
              map.weight = v[k++];
              if (map.bias) map.bias = v[k++];
            };
            if (layer.lin) set(*layer.lin);
            set(layer.lin_l);
            if (layer.lin_r) set(*layer.lin_r);
            return layer(graph, v[0]);
          },
          inputs);
    });
}

TEST_CASE("SAGEConv has PyG's parameters, drawn as there") {
  nn::Model<nn::SAGEConv> layer(nn::Widths{50, 30}, 20,
                                nn::SAGEConvOptions{.aggr = Reduce::max, .project = true});
  std::vector<std::pair<std::string, Shape>> named;
  for (const auto& [name, parameter] : layer.named_parameters()) named.emplace_back(name, parameter.shape());
  const std::vector<std::pair<std::string, Shape>> expected{{"lin.weight", {50, 50}},
                                                            {"lin.bias", {50}},
                                                            {"lin_l.weight", {50, 20}},
                                                            {"lin_l.bias", {20}},
                                                            {"lin_r.weight", {30, 20}}};
  REQUIRE(named.size() == expected.size());
  for (const auto& one : expected) CHECK(std::find(named.begin(), named.end(), one) != named.end());
  for (const auto& [name, parameter] : layer.named_parameters()) {
    CAPTURE(name);
    const double bound = 1.0 / std::sqrt(name == "lin_r.weight" ? 30.0 : 50.0);
    double largest = 0.0;
    for (double v : values(parameter.value())) largest = std::max(largest, std::abs(v));
    CHECK(largest <= bound);
    CHECK(largest > 0.8 * bound);
  }
  CHECK(layer.describe() == "SAGEConv(50 -> 20, max of projected neighbours)");
}

TEST_CASE("SAGEConv refuses features that do not fit") {
  Draw draw(215, Device::cpu(), DType::f32);
  const Graph graph = draw.graph(kNodes, 60);
  nn::Model<nn::SAGEConv> layer(4, 3, nn::SAGEConvOptions{.aggr = Reduce::max});
  CHECK(mentions(error_of([&] { layer(graph, Tensor::zeros({5, 4})); }), "[5, 4]"));
  CHECK(mentions(error_of([&] {
                   layer(graph.relation(), {Tensor::zeros({kNodes, 4}), Tensor::zeros({2, 4})});
                 }),
                 "[2, 4]"));
  CHECK(mentions(error_of([&] { nn::Model<nn::SAGEConv>(0, 3); }), "0 -> 3"));
}
