#include "../support.h"
#include <adjoint/graph/generators.h>
#include <adjoint/models/family.h>
#include <adjoint/models/integer_model.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 400, kIn = 20, kOut = 6;

models::ModelOptions options_of(const std::string& model, const std::string& norm, const std::string& bits) {
  models::ModelOptions o;
  o.model = model;
  o.norm = norm;
  o.hidden = 24;
  o.layers = 3;
  o.bits = bits;
  o.dropout = 0.0;
  return o;
}

Graph random_graph(Device device, int64_t edges = 6000) {
  const EdgeList list = erdos_renyi_graph(kNodes, edges, 7, true);
  return Graph::from_coo(kNodes, Tensor::from(list.src, device), Tensor::from(list.dst, device));
}

/// A model with scales as a training batch sets them, and settled statistics of batch norms.
TrainedModel trained_on(const Graph& graph, const Tensor& x, const models::ModelOptions& options) {
  manual_seed(3);
  TrainedModel::Parts parts;
  parts.family = models::qgnn();
  parts.options = options;
  parts.task = Task::node_class;
  parts.num_features = kIn;
  parts.num_outputs = kOut;
  parts.origin = "train_qgnn";
  auto model = models::make_node_model(parts.family, kIn, kOut, options);
  model->to(graph.device());
  {
    const NoGrad no_grad;
    for (int i = 0; i < 40; ++i) (void)(*model)(graph, Features(x));
  }
  model->eval();
  parts.model = std::move(model);
  return TrainedModel(std::move(parts));
}

}  // namespace

TEST_CASE("a model in integers gives what its evaluation by fake quantisation gives") {
  const Tensor host_x = random_tensor({kNodes, kIn});
  size_t all_differ = 0, all = 0;
  for (const char* kind : {"gcn", "gin"})
    for (const char* norm : {"none", "batch", "sums"})
      for (const char* bits : {"8", "4", "2", "1", "8,3,5"}) {
        CAPTURE(std::string(kind));
        CAPTURE(std::string(norm));
        CAPTURE(std::string(bits));
        for (Device device : devices()) {
          CAPTURE(device.str());
          const Graph graph = random_graph(device);
          const Tensor x = host_x.to(device);
          const TrainedModel trained = trained_on(graph, x, options_of(kind, norm, bits));
          const Tensor wanted = trained.outputs(graph, Features(x));
          std::vector<float> first;
          for (const IntegerModelOptions& how :
               {IntegerModelOptions{.sums = IntegerSums::bytes},
                IntegerModelOptions{.sums = IntegerSums::bits},
                IntegerModelOptions{.sums = IntegerSums::bits, .skip_steps = false, .share_steps = false},
                IntegerModelOptions{}}) {
            const IntegerModel model(trained, how);
            const IntegerBatch batch = model.pack(graph, Features(x));
            if (how.sums != IntegerSums::automatic)
              CHECK(batch.adjacency.has_value() == (how.sums == IntegerSums::bits));
            const auto got = model(batch).to_vector<float>();
            // All ways the same, to the bit.
            if (first.empty()) first = got;
            CHECK(got == first);
          }
          // Where a float32 sum is rounded across the border of two integers, what depends on it differs.
          const std::vector<double> expected = values(wanted);
          double size = 0.0;
          for (double y : expected) size = std::max(size, std::abs(y));
          size_t differ = 0;
          for (size_t i = 0; i < expected.size(); ++i)
            differ += !(std::abs(double{first[i]} - expected[i]) <= 1e-4 * size);
          CHECK(size > 0.0);
          // Scales that are multiples of each other make many sums lie on a border.
          CHECK(differ <= expected.size() / 4);
          all_differ += differ;
          all += expected.size();
        }
      }
  CHECK(all_differ <= all / 50);
}

TEST_CASE("a model in integers sums parallel edges, which are no bits, by bytes") {
  for (Device device : devices()) {
    const EdgeList list = erdos_renyi_graph(kNodes, 900, 7);
    auto src = list.src, dst = list.dst;
    src.insert(src.end(), list.src.begin(), list.src.begin() + 50);
    dst.insert(dst.end(), list.dst.begin(), list.dst.begin() + 50);
    const Graph graph = Graph::from_coo(kNodes, Tensor::from(src, device), Tensor::from(dst, device));
    const Tensor x = random_tensor({kNodes, kIn}, DType::f32, device);
    const TrainedModel trained = trained_on(graph, x, options_of("gcn", "none", "4"));
    const IntegerModel model(trained, {.sums = IntegerSums::bits});
    const IntegerBatch batch = model.pack(graph, Features(x));
    CHECK_FALSE(batch.adjacency.has_value());
    const std::vector<double> got = values(model(batch)),
                              expected = values(trained.outputs(graph, Features(x)));
    size_t differ = 0;
    for (size_t i = 0; i < got.size(); ++i) differ += !(std::abs(got[i] - expected[i]) <= 1e-4);
    CHECK(differ <= got.size() / 20);
  }
}

TEST_CASE("a model in integers refuses what is none") {
  const Graph graph = random_graph({});
  const Tensor x = random_tensor({kNodes, kIn});
  CHECK_THROWS_WITH_AS(IntegerModel(trained_on(graph, x, options_of("gcn", "none", "8,32,8"))),
                       "integer model: layer 1 is not quantised, expected 1 to 8 bits", Error);
  const TrainedModel trained = trained_on(graph, x, options_of("gin", "batch", "4"));
  const auto spoil = [&](const std::string& name, double value, const std::string& message) {
    std::map<std::string, Tensor> state, spoilt;
    for (const auto& [key, tensor] : trained.model().state()) state[key] = tensor.clone();
    spoilt = state;
    spoilt.at(name) = Tensor::full(state.at(name).shape(), value, DType::f32);
    trained.model().load_state(spoilt);
    CHECK_THROWS_WITH_AS((IntegerModel(trained)), message.c_str(), Error);
    trained.model().load_state(state);
  };
  spoil("inputs.1.scale", 0.0, "integer model: inputs.1.scale is 0, expected more than 0");
  spoil("sums.0.weights.scale", -1.0, "integer model: sums.0.weights.scale is -1, expected more than 0");
  spoil("hidden.2.input.zero", 2.5,
        "integer model: hidden.2.input.zero is 2.5, expected an integer from 0 to 15");
  spoil("sums.1.weights.zero", 8.0, "integer model: sums.1.weights.zero is 8, expected 7.5");
  (void)IntegerModel(trained);
}
