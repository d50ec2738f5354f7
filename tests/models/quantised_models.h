#pragma once

#include "../support.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/graph/generate/generators.h>
#include <adjoint/models/trained_model.h>
#include <adjoint/training/options.h>

#include <algorithm>
#include <cmath>

namespace adj::test {

inline constexpr int64_t kNodes = 400, kIn = 20, kOut = 6;

inline models::ModelOptions options_of(const std::string& model, const std::string& norm,
                                       const std::string& bits) {
  models::ModelOptions o;
  o.model = model;
  o.norm = value_named<models::Norm>(norm).value();
  o.hidden = 24;
  o.layers = 3;
  o.quantized.bits = bits;
  o.dropout = 0.0;
  return o;
}

inline Graph random_graph(Device device, int64_t edges = 6000) {
  const EdgeList list = erdos_renyi_graph(kNodes, edges, 7, true);
  return Graph::from_coo(kNodes, Tensor::from(list.src, device), Tensor::from(list.dst, device));
}

/// A model after passes of `pass(model)`, with scales set as by training batches, and settled batch norm
/// statistics.
template <class Pass>
TrainedModel trained_by(const models::ModelFamily& family, const models::ModelOptions& options, Task task,
                        Device device, Pass&& pass) {
  manual_seed(3);
  TrainedModel::Parts parts;
  parts.family = family;
  parts.options = options;
  parts.task = task;
  parts.num_features = kIn;
  parts.num_outputs = kOut;
  parts.origin = family.program;
  parts.model = family.make(kIn, kOut, options);
  parts.model->to(device);
  {
    const NoGrad no_grad;
    for (int i = 0; i < 40; ++i) pass(*parts.model);
  }
  // Initial scales are simple fractions of sums of others: many sums would lie on a rounding boundary.
  std::map<std::string, Tensor> state;
  float share = 0.0f;
  for (const auto& [name, tensor] : parts.model->state()) {
    share = std::fmod(share + 0.618034f, 1.0f);
    state[name] = name.ends_with("scale") ? (Var(tensor) * (1.0 + 0.02 * double{share})).value() : tensor;
  }
  parts.model->load_state(state);
  return TrainedModel(std::move(parts));
}

inline TrainedModel trained_on(const Graph& graph, const Tensor& x, const models::ModelOptions& options) {
  return trained_by(models::qgnn(), options, Task::node_class, graph.device(), [&](models::Model& model) {
    (void)dynamic_cast<models::NodeModel&>(model)(graph, Features(x));
  });
}

/// A batch of graphs, one without nodes and one without edges.
struct ManyGraphs {
  Graph graph;
  Tensor offsets;  // int64 [G + 1]
};
inline ManyGraphs many_graphs(Device device) {
  std::vector<int32_t> src, dst;
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < 50; ++g) {
    const int64_t nodes = g == 7 ? 0 : 1 + g % 13, edges = g == 9 ? 0 : nodes * (nodes - 1) / 2;
    const EdgeList list = erdos_renyi_graph(std::max<int64_t>(1, nodes), edges, static_cast<uint64_t>(g));
    for (size_t e = 0; e < list.src.size(); ++e) {
      src.push_back(list.src[e] + static_cast<int32_t>(offsets.back()));
      dst.push_back(list.dst[e] + static_cast<int32_t>(offsets.back()));
    }
    offsets.push_back(offsets.back() + nodes);
  }
  return {Graph::from_coo(offsets.back(), Tensor::from(src, device), Tensor::from(dst, device)),
          Tensor::from(offsets, device)};
}

inline TrainedModel trained_on(const ManyGraphs& many, const Tensor& x, const models::ModelOptions& options) {
  return trained_by(models::graph_qgin(), options, Task::graph_class, x.device(), [&](models::Model& model) {
    (void)dynamic_cast<models::GraphModel&>(model)(many.graph, many.offsets, Features(x));
  });
}

/// Checkpoint facts of such a model.
inline std::map<std::string, std::string> facts_of(models::ModelOptions o, bool of_graphs) {
  std::map<std::string, std::string> facts{{"task", of_graphs ? "graph_class" : "node_class"},
                                           {"features", fmt::format("{}", kIn)},
                                           {"outputs", fmt::format("{}", kOut)},
                                           {"features.scaling", "standard"},
                                           {"epoch", "3"},
                                           {"best_epoch", "2"},
                                           {"model", "not read"},
                                           {"generator.seed", "0"},
                                           {"option.precision", "float32"}};
  if (of_graphs) facts["option.batch-size"] = "16";
  for (const Option& option : training::bind(of_graphs ? models::graph_qgin() : models::qgnn(), o))
    facts["option." + option.name] = option.text();
  return facts;
}

/// A checkpoint as written by training such a model, with class names and feature scaling.
inline void write_checkpoint(const TrainedModel& trained, const std::string& path) {
  models::Checkpoint checkpoint;
  checkpoint.program = trained.description().program;
  checkpoint.facts = facts_of(trained.options(), trained.of_graphs());
  for (const auto& [name, tensor] : trained.model().state())
    checkpoint.tensors.emplace("best." + name, tensor.to(Device::cpu()));
  checkpoint.tensors["features.mean"] = random_tensor({kIn});
  checkpoint.tensors["features.deviation"] = Tensor::full({kIn}, 1.5);
  checkpoint.tensors["classes.names"] = Tensor::from(std::vector<uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'});
  checkpoint.tensors["classes.offsets"] = Tensor::from(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6});
  models::save_checkpoint(checkpoint, path);
}

}  // namespace adj::test
