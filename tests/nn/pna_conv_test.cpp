#include "../reference/plain.h"
#include <adjoint/core/allocator.h>
#include <adjoint/nn/conv/pna_conv.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 19;

/// The layer as it is defined, with a message for every edge.
Dense pna(const Graph& graph, nn::PNAConv& layer, const nn::PNAConvOptions& options, const Tensor& x,
          int64_t out) {
  const Dense X(x);
  const int64_t towers = options.towers, width = options.divide_input ? X.cols / towers : X.cols;
  const auto [src, dst] = graph.edge_index();
  const auto from = src.to_vector<int32_t>(), to = dst.to_vector<int32_t>();
  std::vector<double> degree(static_cast<size_t>(X.rows));
  for (int32_t i : to) ++degree[static_cast<size_t>(i)];
  double mean = 0.0, mean_of_log = 0.0;
  for (double d : degree) {
    mean += d / static_cast<double>(X.rows);
    mean_of_log += std::log(d + 1.0) / static_cast<double>(X.rows);
  }
  Dense joined(X.rows, out);
  for (int64_t t = 0; t < towers; ++t) {
    auto& pre = layer.pre_nns[static_cast<size_t>(t)];
    auto& post = layer.post_nns[static_cast<size_t>(t)];
    const int64_t shift = options.divide_input ? t * width : 0;
    Dense pairs(static_cast<int64_t>(from.size()), 2 * width), own(X.rows, width);
    for (int64_t i = 0; i < X.rows; ++i)
      for (int64_t f = 0; f < width; ++f) own(i, f) = X(i, shift + f);
    for (int64_t e = 0; e < pairs.rows; ++e)
      for (int64_t f = 0; f < width; ++f) {
        pairs(e, f) = own(to[static_cast<size_t>(e)], f);
        pairs(e, width + f) = own(from[static_cast<size_t>(e)], f);
      }
    const Dense h = plus_row(pairs * Dense(pre[0].weight.value()), pre[0].bias.value());
    const auto kinds = static_cast<int64_t>(options.aggregators.size());
    const auto scalers = static_cast<int64_t>(options.scalers.size());
    Dense z(X.rows, width * (1 + kinds * scalers));
    for (int64_t i = 0; i < X.rows; ++i)
      for (int64_t f = 0; f < width; ++f) {
        z(i, f) = own(i, f);
        double sum = 0, square = 0, largest = -INFINITY, smallest = INFINITY;
        const double d = degree[static_cast<size_t>(i)];
        for (size_t e = 0; e < to.size(); ++e) {
          if (to[e] != i) continue;
          const double v = h(static_cast<int64_t>(e), f);
          sum += v;
          square += v * v;
          largest = std::max(largest, v);
          smallest = std::min(smallest, v);
        }
        const double variance = d > 0 ? std::max(0.0, square / d - sum / d * (sum / d)) : 0.0;
        for (int64_t k = 0; k < kinds; ++k) {
          double value = 0.0;
          if (d > 0) switch (options.aggregators[static_cast<size_t>(k)]) {
              case Reduce::sum:
                value = sum;
                break;
              case Reduce::mean:
                value = sum / d;
                break;
              case Reduce::max:
                value = largest;
                break;
              case Reduce::min:
                value = smallest;
                break;
              case Reduce::var:
                value = variance;
                break;
              case Reduce::std:
                value = variance > 1e-5 ? std::sqrt(variance) : 0.0;
                break;
            }
          for (int64_t s = 0; s < scalers; ++s) {
            const double factors[] = {1.0, std::log(d + 1.0) / mean_of_log,
                                      mean_of_log / std::log(std::max(d, 1.0) + 1.0), d / mean,
                                      mean / std::max(d, 1.0)};
            z(i, width * (1 + s * kinds + k) + f) =
                value * factors[static_cast<size_t>(options.scalers[static_cast<size_t>(s)])];
          }
        }
      }
    Dense y = z;
    for (size_t l = 0; l < post.size(); ++l) {
      if (l > 0) y = mapped(y, relu_of);
      y = plus_row(y * Dense(post[l].weight.value()), post[l].bias.value());
    }
    for (int64_t i = 0; i < X.rows; ++i)
      for (int64_t f = 0; f < y.cols; ++f) joined(i, t * y.cols + f) = y(i, f);
  }
  return plus_row(joined * Dense(layer.lin.weight.value()), layer.lin.bias.value());
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
      CAPTURE(device.str());
      CAPTURE(options.aggregators.size());
      CAPTURE(options.towers);
      Draw draw(220, device, DType::f32);
      const Graph graph = draw.graph(kNodes, 50);
      nn::Model<nn::PNAConv> layer(6, 12, nn::PNAConv::degree_histogram(graph), options);
      layer.to(device);
      const Tensor x = draw.normal({kNodes, 6});
      CHECK(close(layer(graph, x).value(), pna(graph, layer, options, x, 12).data, 2e-5));
    }
}

TEST_CASE("gradients of PNAConv by its input and its parameters") {
  for (Device device : devices())
    for (const nn::PNAConvOptions& options : kinds()) {
      CAPTURE(device.str());
      CAPTURE(options.aggregators.size());
      CAPTURE(options.towers);
      Draw draw(221, device);
      const Graph graph = draw.graph(8, 22);
      nn::Model<nn::PNAConv> layer(3, 6, nn::PNAConv::degree_histogram(graph), options);
      layer.to(device);
      layer.to(DType::f64);
      check([&](const auto& v) { return layer(graph, v[0]); }, {draw.normal({8, 3})});
      // Along one random direction of all parameters at once.
      const Tensor x = draw.normal({8, 3}), dy = draw.normal({8, 6});
      const auto loss = [&] {
        const std::vector<double> y = values(layer(graph, x).value()), seed = values(dy);
        return std::inner_product(y.begin(), y.end(), seed.begin(), 0.0);
      };
      layer.zero_grad();
      layer(graph, x).backward(dy);
      double along = 0.0, above = 0.0, below = 0.0;
      std::vector<Tensor> directions;
      for (const Var& parameter : layer.parameters()) {
        directions.push_back(draw.normal(parameter.shape()));
        if (!parameter.grad()) continue;  // a mean that no scaler asks for
        const std::vector<double> a = values(parameter.grad()), b = values(directions.back());
        along += std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
      }
      const auto step = [&](double by) {
        std::vector<Var> parameters = layer.parameters();
        for (size_t k = 0; k < parameters.size(); ++k) {
          std::vector<double> p = values(parameters[k].value());
          const std::vector<double> d = values(directions[k]);
          for (size_t i = 0; i < p.size(); ++i) p[i] += by * d[i];
          parameters[k].set_value(Tensor::from(p, parameters[k].shape(), device));
        }
      };
      constexpr double kStep = 1e-6;
      step(kStep);
      above = loss();
      step(-2 * kStep);
      below = loss();
      CHECK(along == doctest::Approx((above - below) / (2 * kStep)).epsilon(1e-5));
    }
}

TEST_CASE("PNAConv makes nothing of edges times features") {
  constexpr int64_t kMany = 200, kEdges = 60'000, kWidth = 64;
  constexpr size_t kForbidden = kEdges * kWidth * sizeof(float);
  for (Device device : devices()) {
    Draw draw(222, device, DType::f32);
    const Graph graph = draw.graph(kMany, kEdges);
    nn::Model<nn::PNAConv> layer(kWidth, kWidth, nn::PNAConv::degree_histogram(graph));
    layer.to(device);
    const Tensor x = draw.normal({kMany, kWidth}), dy = draw.normal({kMany, kWidth});
    const auto step = [&] { layer(graph, x).backward(dy); };
    step();
    step();
    const size_t before = memory_stats(device).current;
    reset_peak_memory(device);
    step();
    CHECK(memory_stats(device).peak - before < kForbidden / 3);
  }
}

TEST_CASE("PNAConv has PyG's names and shapes") {
  nn::PNAConvOptions options;
  options.towers = 2;
  options.post_layers = 2;
  nn::Model<nn::PNAConv> layer(6, 4, {0, 3, 2}, options);
  std::map<std::string, Shape> seen;
  for (const auto& [name, tensor] : layer.state()) seen.emplace(name, tensor.shape());
  const std::map<std::string, Shape> expected{
      {"aggr_module.avg_deg_lin", {1}}, {"aggr_module.avg_deg_log", {1}},
      {"pre_nns.0.0.weight", {12, 6}},  {"pre_nns.0.0.bias", {6}},
      {"pre_nns.1.0.weight", {12, 6}},  {"pre_nns.1.0.bias", {6}},
      {"post_nns.0.0.weight", {78, 2}}, {"post_nns.0.0.bias", {2}},
      {"post_nns.0.2.weight", {2, 2}},  {"post_nns.0.2.bias", {2}},
      {"post_nns.1.0.weight", {78, 2}}, {"post_nns.1.0.bias", {2}},
      {"post_nns.1.2.weight", {2, 2}},  {"post_nns.1.2.bias", {2}},
      {"lin.weight", {4, 4}},           {"lin.bias", {4}}};
  CHECK(seen == expected);
  CHECK(values(layer.state()[0].second)[0] == doctest::Approx(7.0 / 5.0));
  CHECK(nn::PNAConv::degree_histogram(Graph::from_coo(4, Tensor::from(std::vector<int32_t>{0, 1, 2}),
                                                      Tensor::from(std::vector<int32_t>{3, 3, 0}))) ==
        std::vector<int64_t>{2, 1, 1});
}

TEST_CASE("PNAConv says what it does not take") {
  const auto error = [](int64_t in, int64_t out, std::vector<int64_t> degrees, auto change) {
    nn::PNAConvOptions options;
    change(options);
    return error_of([&] { nn::Model<nn::PNAConv>(in, out, degrees, options); });
  };
  const std::vector<int64_t> degrees{1, 2};
  CHECK(error(4, 4, degrees, [](auto& o) { o.pre_layers = 2; }) ==
        "PNAConv: 2 layers before the aggregation would have to run on every edge, expected 1");
  CHECK(error(4, 4, degrees, [](auto& o) { o.towers = 3; }) ==
        "PNAConv: 4 -> 4 features do not divide into 3 towers");
  CHECK(error(4, 4, degrees, [](auto& o) {
          o.aggregators = {Reduce::max, Reduce::max};
        }) == "PNAConv: max is asked for twice");
  CHECK(error(4, 4, degrees, [](auto& o) { o.scalers.clear(); }) == "PNAConv: no scaler is asked for");
  CHECK(mentions(error(4, 4, {5}, [](auto&) {}), "none of 5 nodes has an in-edge"));
  nn::Model<nn::PNAConv> layer(4, 4, degrees);
  const Graph graph =
      Graph::from_coo(2, Tensor::from(std::vector<int32_t>{0}), Tensor::from(std::vector<int32_t>{1}));
  CHECK(mentions(error_of([&] { layer(graph, Tensor::zeros({2, 3})); }), "[2, 3], expected 4 columns"));
}
