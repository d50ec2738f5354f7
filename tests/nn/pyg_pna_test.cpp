// PNAConv and PyG's aggregations against what torch_geometric computed from the same numbers
// (tests/reference/make_pyg_pna.py), in float32.
#include "../reference/pyg_case.h"
#include <adjoint/nn/conv/pna_conv.h>

using namespace adj;
using namespace adj::test;
using nn::Scaler;

TEST_CASE("PNAConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, int64_t in, int64_t out, auto change) {
    nn::PNAConvOptions options;
    change(options);
    on_devices(
        "pna/" + name,
        [&](PygCase& ref) {
          std::vector<int64_t> degrees;
          for (int32_t count : ref("degrees").to_vector<int32_t>()) degrees.push_back(count);
          const Graph graph = ref.graph();
          CHECK(degrees == nn::PNAConv::degree_histogram(graph));
          nn::Model<nn::PNAConv> layer(in, out, degrees, options);
          ref.load(layer);
          ref.compare(layer, layer(graph, ref.in("x")));
        },
        "pyg_pna.h5");
  };
  using enum Reduce;
  run("plain", 4, 6, [](auto&) {});
  run("every", 3, 4, [](auto& o) {
    o.aggregators = {sum, mean, min, max, var, std};
    o.scalers = {Scaler::identity, Scaler::amplification, Scaler::attenuation, Scaler::linear,
                 Scaler::inverse_linear};
  });
  run("towers", 4, 6, [](auto& o) {
    o.towers = 2;
    o.post_layers = 2;
  });
  run("divided", 4, 6, [](auto& o) {
    o.towers = 2;
    o.divide_input = true;
    o.scalers = {Scaler::linear, Scaler::identity};
  });
  run("trained", 4, 6, [](auto& o) {
    o.aggregators = {sum, std};
    o.scalers = {Scaler::attenuation, Scaler::inverse_linear};
    o.train_norm = true;
  });
}

TEST_CASE("reductions over neighbours and their gradients equal PyG's aggregations") {
  const auto run = [](const std::string& name, const std::vector<Reduce>& reduce) {
    on_devices(
        "aggr/" + name,
        [&](PygCase& ref) {
          const Var y = aggregate_all(ref.graph(), ref.in("x"), reduce);
          CHECK(close(y.value(), ref("y"), 1e-5));
          y.backward(ref("dy"));
          CHECK(close(ref.in("x").grad(), ref("d/x"), 1e-5));
        },
        "pyg_pna.h5");
  };
  using enum Reduce;
  for (Reduce reduce : {sum, mean, max, min, var, std}) run(std::string(name_of(reduce)), {reduce});
  run("several", {std, max, sum, var, min, mean});
}
