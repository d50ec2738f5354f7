#include "../nn/module_state.h"
#include "quantised_models.h"
#include <adjoint/models/detail/integer_parts.h>
#include <adjoint/models/integer_model.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

/// The number of wrong results, at most 5 %. If a float32 sum rounds to another integer, dependent results
/// differ.
size_t differing(const std::vector<float>& got, const Tensor& wanted) {
  const std::vector<double> expected = values(wanted);
  REQUIRE(got.size() == expected.size());
  double size = 0.0;
  for (double y : expected) size = std::max(size, std::abs(y));
  CHECK(size > 0.0);
  size_t differ = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    differ += !(std::abs(double{got[i]} - expected[i]) <= 1e-4 * size);
  CHECK(differ <= got.size() / 20);
  return differ;
}

/// The model's results for the batch of `pack(model)`, the same bits for all kinds of sums and on one thread.
template <class Pack>
std::vector<float> in_all_ways(const TrainedModel& trained, Pack&& pack) {
  std::vector<float> first;
  for (const IntegerModelOptions& how :
       {IntegerModelOptions{.sums = IntegerSums::bytes}, IntegerModelOptions{.sums = IntegerSums::bits},
        IntegerModelOptions{.sums = IntegerSums::bits, .skip_steps = false, .share_steps = false},
        IntegerModelOptions{}}) {
    const IntegerModel model(trained, how);
    const IntegerBatch batch = pack(model);
    if (how.sums != IntegerSums::automatic) CHECK(batch.by_bits() == (how.sums == IntegerSums::bits));
    const auto got = model(batch).template to_vector<float>();
    if (first.empty()) first = got;
    CHECK(got == first);
    const Threads one(1);
    CHECK(model(pack(model)).template to_vector<float>() == first);
  }
  return first;
}

}  // namespace

TEST_CASE("a model whose sums may exceed 31 bits is refused, before a file of it is written") {
  const auto message_of = [](const std::string& program, int64_t features, int64_t hidden,
                             const std::string& bits) {
    ModelDescription d;
    d.program = program;
    d.name = "wide";
    d.options = options_of("gcn", "none", bits);
    d.options.hidden = hidden;
    d.num_features = features;
    d.num_outputs = 3;
    return error_of([&] { (void)detail::integer_plan(d); });
  };
  // 255 * 255 * 33025 < 2^31 <= 255 * 255 * 33026
  CHECK(message_of("train_qgnn", 33025, 16, "8") == "");
  CHECK(message_of("train_qgnn", 33026, 16, "8") ==
        "integer model: sums.0 has 33026 inputs of 8 bits by 8, expected at most 33025");
  CHECK(mentions(message_of("train_qgnn", 9, 33026, "1,8,8"), "sums.1 has 33026 inputs"));
  CHECK(message_of("train_qgnn", 33026, 16, "7") == "");
  CHECK(
      mentions(message_of("train_graph_qgin", 33026, 16, "4"), "readouts.0 has 33026 inputs of 8 bits by 8"));
}

TEST_CASE("an integer model equals its evaluation with fake quantisation") {
  const Tensor host_x = random_tensor({kNodes, kIn});
  size_t all_differ = 0, all = 0;
  for (const char* kind : {"gcn", "gin"})
    for (const char* norm : {"none", "batch", "sums"})
      for (const char* bits : {"8", "4", "2", "1", "8,3,5"}) {
        for (Device device : devices()) {
          CAPTURES(kind, norm, bits);
          const Graph graph = random_graph(device);
          const Tensor x = host_x.to(device);
          const TrainedModel trained = trained_on(graph, x, options_of(kind, norm, bits));
          const Tensor wanted = trained.outputs(graph, Features(x));
          const std::vector<float> got =
              in_all_ways(trained, [&](const IntegerModel& model) { return model.pack(graph, Features(x)); });
          all_differ += differing(got, wanted);
          all += got.size();
        }
      }
  CHECK(all_differ <= all / 200);
}

TEST_CASE("an integer model of graphs equals its evaluation, for each pooling") {
  size_t all_differ = 0, all = 0;
  for (const nn::GraphPool pool : {nn::GraphPool::sum, nn::GraphPool::mean, nn::GraphPool::max})
    for (const char* bits : {"8", "4", "2", "8,3,5"})
      for (Device device : devices()) {
        CAPTURES(name_of(pool), bits);
        const ManyGraphs many = many_graphs(device);
        const Tensor x = random_tensor({many.graph.num_nodes(), kIn}).to(device);
        models::ModelOptions o = options_of("graph-qgin", "none", bits);
        o.graphs.pool = pool;
        const TrainedModel trained = trained_on(many, x, o);
        const std::vector<float> got = in_all_ways(trained, [&](const IntegerModel& model) {
          return model.pack(many.graph, many.offsets, Features(x));
        });
        all_differ += differing(got, trained.outputs(many.graph, many.offsets, Features(x)));
        all += got.size();
      }
  CHECK(all_differ <= all / 200);
}

TEST_CASE("batches packed on the host equal those packed on the device; other devices' are refused") {
  const Tensor x = random_tensor({kNodes, kIn});
  const Graph graph = random_graph({});
  for (Device device : devices())
    for (const char* kind : {"gcn", "gin"})
      for (const IntegerSums sums : {IntegerSums::bytes, IntegerSums::bits}) {
        const TrainedModel trained =
            trained_on(graph.to(device), x.to(device), options_of(kind, "none", "3"));
        const IntegerModel model(trained, {.sums = sums});
        const IntegerBatch local = model.pack(graph, Features(x)), remote = local.to(device),
                           packed_there = model.pack(graph.to(device), Features(x.to(device)));
        CHECK(remote.bytes() == packed_there.bytes());
        CHECK(remote.device() == device);
        CHECK(same_bits(model(remote), model(packed_there)));
        if (!device.is_cpu()) CHECK_ERROR_HAS(model(local), "a batch on cpu");
      }
}

TEST_CASE("an integer model sums parallel edges by bytes") {
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
    CHECK_FALSE(batch.by_bits());
    (void)differing(model(batch).to_vector<float>(), trained.outputs(graph, Features(x)));
  }
}

TEST_CASE("an integer model rejects mismatched states and batches") {
  const Graph graph = random_graph({});
  const Tensor x = random_tensor({kNodes, kIn});
  CHECK_ERROR(IntegerModel(trained_on(graph, x, options_of("gcn", "none", "8,32,8"))),
              "integer model: layer 1 is not quantised, expected 1 to 8 bits");
  const TrainedModel trained = trained_on(graph, x, options_of("gin", "batch", "4"));
  const auto spoil_one = [&](const TrainedModel& target, const std::string& name, double value,
                             const std::string& message) {
    const std::map<std::string, Tensor> state = copied(target.model());
    std::map<std::string, Tensor> spoilt = state;
    spoilt.at(name) = Tensor::full(state.at(name).shape(), value, DType::f32);
    target.model().load_state(spoilt);
    CHECK_ERROR((IntegerModel(target)), message.c_str());
    target.model().load_state(state);
  };
  const auto spoil = [&](const std::string& name, double value, const std::string& message) {
    spoil_one(trained, name, value, message);
  };
  CHECK_ERROR(IntegerModel(trained).pack(graph, Features(random_tensor({kNodes, kIn + 1}))),
              "train_qgnn: 21 features per node, expected 20");
  spoil("inputs.1.scale", 0.0, "integer model: inputs.1.scale is 0, expected a finite number above 0");
  spoil("sums.0.weights.scale", -1.0,
        "integer model: sums.0.weights.scale is -1, expected a finite number above 0");
  spoil("hidden.2.input.zero", 2.5,
        "integer model: hidden.2.input.zero is 2.5, expected an integer from 0 to 15");
  spoil("sums.1.weights.zero", 8.0, "integer model: sums.1.weights.zero is 8, expected 7.5");
  (void)IntegerModel(trained);

  const ManyGraphs many = many_graphs({});
  const Tensor x_of_all = random_tensor({many.graph.num_nodes(), kIn});
  const Features of_all(x_of_all);
  const TrainedModel of_graphs = trained_on(many, x_of_all, options_of("graph-qgin", "none", "4"));
  spoil_one(of_graphs, "convs.1.eps", 0.5, "integer model: convs.1.eps is 0.5, expected 0");
  const IntegerModel model(of_graphs);
  CHECK_ERROR_HAS(model.pack(many.graph, of_all), "expected their offsets");
  CHECK_ERROR_HAS(model.pack(many.graph, many.offsets.rows(0, 20), of_all), "integer model: offsets end at");
  CHECK_ERROR_HAS(model(IntegerModel(trained).pack(graph, Features(x))),
                  "a batch of nodes, expected one of graphs");
}
