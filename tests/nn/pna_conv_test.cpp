#include "../reference/module_gradients.h"
#include <adjoint/autograd/shape.h>
#include <adjoint/nn/conv/pna_conv.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 19;

/// The layer's definition, with a message for every edge.
Dense pna(const Graph& graph, nn::PNAConv& layer, const nn::PNAConvOptions& options, const Tensor& x) {
  const auto [src, dst] = graph.edge_index();
  const std::vector<double> degree = values(graph.in_degrees());
  double mean = 0.0, mean_of_log = 0.0;
  for (double d : degree) {
    mean += d / static_cast<double>(degree.size());
    mean_of_log += std::log(d + 1.0) / static_cast<double>(degree.size());
  }
  const auto factor = [&](nn::Scaler scaler, double d) {
    const double factors[] = {1.0, std::log(d + 1.0) / mean_of_log,
                              mean_of_log / std::log(std::max(d, 1.0) + 1.0), d / mean,
                              mean / std::max(d, 1.0)};
    return factors[static_cast<size_t>(scaler)];
  };
  const int64_t width = x.size(1) / options.towers;
  std::vector<Dense> outputs;
  for (int64_t t = 0; t < options.towers; ++t) {
    auto& pre = layer.pre_nns[uz(t)];
    auto& post = layer.post_nns[uz(t)];
    const Dense input(options.divide_input ? narrow(Var(x), 1, t * width, width).value() : x);
    const Dense h = linear_of(joined({gathered(input, dst), gathered(input, src)}), pre[0].weight.value(),
                              pre[0].bias.value());
    std::vector<Dense> parts{input};
    for (nn::Scaler scaler : options.scalers)
      for (Reduce aggr : options.aggregators) {
        parts.push_back(reduced(graph, h, aggr));
        for (int64_t i = 0; i < input.rows; ++i)
          for (int64_t f = 0; f < input.cols; ++f) parts.back()(i, f) *= factor(scaler, degree[uz(i)]);
      }
    Dense y = joined(parts);
    for (size_t l = 0; l < post.size(); ++l)
      y = linear_of(l > 0 ? mapped(y, relu_of) : y, post[l].weight.value(), post[l].bias.value());
    outputs.push_back(y);
  }
  return linear_of(joined(outputs), layer.lin.weight.value(), layer.lin.bias.value());
}

/// Kinds of layers: the defaults, every aggregator and scaler, one of each, towers with and without a share
/// of the input each.
std::vector<nn::PNAConvOptions> kinds() {
  using enum Reduce;
  using nn::Scaler;
  std::vector<nn::PNAConvOptions> all(5);
  all[1].aggregators = {sum, mean, max, min, var, std};
  all[1].scalers = {Scaler::linear, Scaler::inverse_linear, Scaler::identity, Scaler::attenuation,
                    Scaler::amplification};
  all[2].aggregators = {max};
  all[2].scalers = {Scaler::linear};
  all[2].train_norm = true;
  all[3].towers = 2;
  all[3].post_layers = 2;
  all[4].towers = 3;
  all[4].divide_input = true;
  all[4].aggregators = {std, sum};
  all[4].train_norm = true;
  return all;
}

}  // namespace

TEST_CASE("PNAConv equals its definition with a message for every edge") {
  for (Device device : devices())
    for (const nn::PNAConvOptions& options : kinds()) {
      CAPTURES(options.aggregators.size(), options.towers);
      Draw draw(220, device, DType::f32);
      const Graph graph = draw.graph(kNodes, 50);
      nn::Model<nn::PNAConv> layer(6, 12, nn::PNAConv::degree_histogram(graph), options);
      layer.to(device);
      const Tensor x = draw.normal({kNodes, 6});
      CHECK(close(layer(graph, x).value(), pna(graph, layer, options, x).data, 2e-5));
    }
}

TEST_CASE("gradients of PNAConv by its input and its parameters") {
  for (Device device : devices())
    for (const nn::PNAConvOptions& options : kinds()) {
      CAPTURES(options.aggregators.size(), options.towers);
      Draw draw(221, device);
      const Graph graph = draw.graph(8, 22);
      nn::Model<nn::PNAConv> layer(3, 6, nn::PNAConv::degree_histogram(graph), options);
      check_layer(layer, graph, draw.normal({8, 3}));
    }
}

TEST_CASE("PNAConv rejects mismatched options, degrees and features") {
  const auto refuses = [](std::vector<int64_t> degrees, const nn::PNAConvOptions& options,
                          const char* message) {
    CHECK_ERROR(nn::Model<nn::PNAConv>(4, 4, degrees, options), message);
  };
  const std::vector<int64_t> degrees{1, 2};
  refuses(degrees, {.pre_layers = 2},
          "PNAConv: 2 layers before the aggregation would have to run on every edge, expected 1");
  refuses(degrees, {.towers = 3}, "PNAConv: 4 -> 4 features do not divide into 3 towers");
  refuses(degrees, {.aggregators = {Reduce::max, Reduce::max}}, "PNAConv: max is requested twice");
  refuses(degrees, {.scalers = {}}, "PNAConv: no scalers");
  CHECK_ERROR_HAS(nn::Model<nn::PNAConv>(4, 4, std::vector<int64_t>{5}), "none of 5 nodes has an in-edge");
  nn::Model<nn::PNAConv> layer(4, 4, degrees);
  const Graph graph =
      Graph::from_coo(2, Tensor::from(std::vector<int32_t>{0}), Tensor::from(std::vector<int32_t>{1}));
  CHECK_ERROR_HAS(layer(graph, Tensor::zeros({2, 3})), "[2, 3], expected 4 columns");
}
