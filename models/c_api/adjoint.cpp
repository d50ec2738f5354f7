#include "adjoint.h"

#include <adjoint/autograd/unary.h>
#include <adjoint/core/error.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/order/orders.h>
#include <adjoint/models/trained_model.h>

#include <cstring>
#include <exception>
#include <limits>

using namespace adj;

struct adjoint_model {
  TrainedModel trained;
};

struct adjoint_embeddings {
  Graph graph;          // for missing links
  Tensor values, host;  // float32 [rows, width], on the model's device and the CPU
};

namespace {

thread_local std::string last_error;

/// Returns `failed` if `body` throws.
template <class Result, class Body>
Result guarded(Result failed, Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return failed;
}

const TrainedModel& model_of(const adjoint_model* model) {
  ADJ_CHECK(model != nullptr, "adjoint: model is NULL");
  return model->trained;
}

/// int32 [count], each in [0, nodes).
Tensor nodes_of(const char* name, const int64_t* values, int64_t count, int64_t nodes) {
  ADJ_CHECK(count == 0 || values != nullptr, "adjoint: {} is NULL", name);
  Tensor index = Tensor::empty({count}, DType::i32);
  auto* out = index.mutable_data<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    ADJ_CHECK(values[i] >= 0 && values[i] < nodes, "adjoint: {}[{}] is {}, expected 0 to {}", name, i,
              values[i], nodes - 1);
    out[i] = static_cast<int32_t>(values[i]);
  }
  return index;
}

template <class T>
Tensor copy_of(const T* values, Shape shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype);
  if (tensor.numel() > 0)
    std::memcpy(tensor.mutable_data<T>(), values, static_cast<size_t>(tensor.numel()) * sizeof(T));
  return tensor;
}

struct Input {
  Graph graph;
  Features x;
};

Input input_of(const TrainedModel& model, const adjoint_graph* input_graph) {
  ADJ_CHECK(input_graph != nullptr, "adjoint: graph is NULL");
  const adjoint_graph& g = *input_graph;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  ADJ_CHECK(g.num_nodes >= 0 && g.num_nodes < kMost && g.num_edges >= 0 && g.num_edges < kMost,
            "adjoint: {} nodes and {} edges, expected 0 to {}", g.num_nodes, g.num_edges, kMost - 1);
  const Tensor weight = g.weight == nullptr ? Tensor() : copy_of(g.weight, {g.num_edges}, DType::f32);
  Input input{Graph::from_coo(g.num_nodes, nodes_of("src", g.src, g.num_edges, g.num_nodes),
                              nodes_of("dst", g.dst, g.num_edges, g.num_nodes), weight),
              {}};
  if (g.x != nullptr) input.x = Features(copy_of(g.x, {g.num_nodes, model.num_features()}, DType::f32));
  return input;
}

void write(const Tensor& values, float* result) {
  ADJ_CHECK(result != nullptr || values.numel() == 0, "adjoint: result is NULL");
  const std::vector<float> host = values.to_vector<float>();
  std::copy(host.begin(), host.end(), result);
}

/// Writes probabilities, or predictions for regression.
void write(const Predictions& predictions, float* result) {
  write(predictions.probability ? predictions.probability : predictions.prediction, result);
}

/// int64 [num_graphs + 1].
Tensor offsets_of(int64_t num_graphs, const int64_t* offsets) {
  ADJ_CHECK(num_graphs >= 0 && offsets != nullptr, "adjoint: {} graphs, offsets {}", num_graphs,
            offsets == nullptr ? "NULL" : "given");
  return copy_of(offsets, {num_graphs + 1}, DType::i64);
}

struct GraphsInput : Input {
  Tensor offsets;
};
GraphsInput input_of(const TrainedModel& model, const adjoint_graph* input_graph, int64_t num_graphs,
                     const int64_t* offsets) {
  return {input_of(model, input_graph), offsets_of(num_graphs, offsets)};
}

/// The model, if it has outputs of nodes.
const TrainedModel& node_model_of(const adjoint_model* model) {
  const TrainedModel& trained = model_of(model);
  ADJ_CHECK(!trained.of_edges(), "{}: a model of edges, not of nodes", trained.origin());
  return trained;
}

/// float32 [M, outputs] in the order of the user's edges, from rows by edge number.
Tensor in_order(const Graph& graph, const Tensor& rows) {
  const Tensor& listed = graph.input_order();
  const Tensor host = rows.to(Device::cpu());
  return listed ? detail::gather_edges(host, inverse_order(listed)) : host;
}

/// Outputs or predictions of edges.
template <class Compute>
int write_edges(const adjoint_model* model, const adjoint_graph* graph, float* result, Compute&& compute) {
  return guarded(-1, [&] {
    const TrainedModel& trained = model_of(model);
    ADJ_CHECK(trained.of_edges(), "{}: a model of {}, not of edges", trained.origin(),
              trained.description().things());
    const Input input = input_of(trained, graph);
    write(in_order(input.graph, compute(trained, input)), result);
    return 0;
  });
}

/// Logits of pairs.
Tensor scores_of(const TrainedModel& model, const adjoint_graph* graph, int64_t num_pairs, const int64_t* src,
                 const int64_t* dst) {
  const Input input = input_of(model, graph);
  ADJ_CHECK(num_pairs >= 0, "adjoint: {} pairs", num_pairs);
  const int64_t nodes = graph->num_nodes;
  const EdgeIndex pairs{nodes_of("src", src, num_pairs, nodes), nodes_of("dst", dst, num_pairs, nodes)};
  return model.predict_links(input.graph, input.x, pairs);
}

const adjoint_embeddings& embeddings_of(const adjoint_embeddings* embeddings) {
  ADJ_CHECK(embeddings != nullptr, "adjoint: embeddings is NULL");
  return *embeddings;
}

}  // namespace

adjoint_model* adjoint_load(const char* checkpoint, const char* device) {
  return guarded<adjoint_model*>(nullptr, [&] {
    ADJ_CHECK(checkpoint != nullptr, "adjoint: checkpoint is NULL");
    return new adjoint_model{load_trained(checkpoint, Device::parse(device == nullptr ? "cpu" : device))};
  });
}

void adjoint_free(adjoint_model* model) { delete model; }

const char* adjoint_last_error(void) { return last_error.c_str(); }

int64_t adjoint_num_features(const adjoint_model* model) {
  return guarded<int64_t>(-1, [&] { return model_of(model).num_features(); });
}

int64_t adjoint_num_outputs(const adjoint_model* model) {
  return guarded<int64_t>(-1, [&] { return model_of(model).num_outputs(); });
}

const char* adjoint_class_name(const adjoint_model* model, int64_t output) {
  return guarded<const char*>(nullptr, [&]() -> const char* {
    const auto& names = model_of(model).class_names();
    return output < 0 || output >= std::ssize(names) ? nullptr : names[static_cast<size_t>(output)].c_str();
  });
}

const char* adjoint_feature_name(const adjoint_model* model, int64_t column) {
  return guarded<const char*>(nullptr, [&]() -> const char* {
    const auto& names = model_of(model).feature_names();
    return column < 0 || column >= std::ssize(names) ? nullptr : names[static_cast<size_t>(column)].c_str();
  });
}

int adjoint_predict_nodes(const adjoint_model* model, const adjoint_graph* graph, float* result) {
  return guarded(-1, [&] {
    const TrainedModel& trained = node_model_of(model);
    const Input input = input_of(trained, graph);
    write(trained.predict(input.graph, input.x), result);
    return 0;
  });
}

int adjoint_score_nodes(const adjoint_model* model, const adjoint_graph* graph, float* result) {
  return guarded(-1, [&] {
    const TrainedModel& trained = node_model_of(model);
    const Input input = input_of(trained, graph);
    write(trained.outputs(input.graph, input.x), result);
    return 0;
  });
}

int adjoint_predict_edges(const adjoint_model* model, const adjoint_graph* graph, float* result) {
  return write_edges(model, graph, result, [](const TrainedModel& trained, const Input& input) {
    const Predictions predictions = trained.predict(input.graph, input.x);
    return predictions.probability ? predictions.probability : predictions.prediction;
  });
}

int adjoint_score_edges(const adjoint_model* model, const adjoint_graph* graph, float* result) {
  return write_edges(model, graph, result, [](const TrainedModel& trained, const Input& input) {
    return trained.outputs(input.graph, input.x);
  });
}

int adjoint_predict_graphs(const adjoint_model* model, const adjoint_graph* graph, int64_t num_graphs,
                           const int64_t* offsets, float* result) {
  return guarded(-1, [&] {
    const GraphsInput input = input_of(model_of(model), graph, num_graphs, offsets);
    write(model_of(model).predict(input.graph, input.offsets, input.x), result);
    return 0;
  });
}

int adjoint_score_graphs(const adjoint_model* model, const adjoint_graph* graph, int64_t num_graphs,
                         const int64_t* offsets, float* result) {
  return guarded(-1, [&] {
    const GraphsInput input = input_of(model_of(model), graph, num_graphs, offsets);
    write(model_of(model).outputs(input.graph, input.offsets, input.x), result);
    return 0;
  });
}

int adjoint_predict_links(const adjoint_model* model, const adjoint_graph* graph, int64_t num_pairs,
                          const int64_t* src, const int64_t* dst, float* result) {
  return guarded(-1, [&] {
    const NoGrad no_grad;
    write(sigmoid(Var(scores_of(model_of(model), graph, num_pairs, src, dst))).value(), result);
    return 0;
  });
}

int adjoint_score_links(const adjoint_model* model, const adjoint_graph* graph, int64_t num_pairs,
                        const int64_t* src, const int64_t* dst, float* result) {
  return guarded(-1, [&] {
    write(scores_of(model_of(model), graph, num_pairs, src, dst), result);
    return 0;
  });
}

adjoint_embeddings* adjoint_embed_nodes(const adjoint_model* model, const adjoint_graph* graph) {
  return guarded<adjoint_embeddings*>(nullptr, [&] {
    const Input input = input_of(model_of(model), graph);
    const Tensor values = model_of(model).embeddings(input.graph, input.x);
    return new adjoint_embeddings{input.graph, values, values.to(Device::cpu())};
  });
}

adjoint_embeddings* adjoint_embed_graphs(const adjoint_model* model, const adjoint_graph* graph,
                                         int64_t num_graphs, const int64_t* offsets) {
  return guarded<adjoint_embeddings*>(nullptr, [&] {
    const GraphsInput input = input_of(model_of(model), graph, num_graphs, offsets);
    const Tensor values = model_of(model).embeddings(input.graph, input.offsets, input.x);
    return new adjoint_embeddings{input.graph, values, values.to(Device::cpu())};
  });
}

void adjoint_free_embeddings(adjoint_embeddings* embeddings) { delete embeddings; }

int64_t adjoint_embedding_rows(const adjoint_embeddings* embeddings) {
  return guarded<int64_t>(-1, [&] { return embeddings_of(embeddings).host.size(0); });
}

int64_t adjoint_embedding_width(const adjoint_embeddings* embeddings) {
  return guarded<int64_t>(-1, [&] { return embeddings_of(embeddings).host.size(1); });
}

const float* adjoint_embedding_values(const adjoint_embeddings* embeddings) {
  return guarded<const float*>(nullptr, [&] { return embeddings_of(embeddings).host.data<float>(); });
}

int adjoint_score_pairs(const adjoint_model* model, const adjoint_embeddings* embeddings, int64_t num_pairs,
                        const int64_t* src, const int64_t* dst, float* result) {
  return guarded(-1, [&] {
    const Tensor& values = embeddings_of(embeddings).values;
    ADJ_CHECK(num_pairs >= 0, "adjoint: {} pairs", num_pairs);
    const int64_t nodes = values.size(0);
    write(model_of(model).score_links(
              values, {nodes_of("src", src, num_pairs, nodes), nodes_of("dst", dst, num_pairs, nodes)}),
          result);
    return 0;
  });
}

int64_t adjoint_missing_links(const adjoint_model* model, const adjoint_embeddings* embeddings,
                              int64_t num_graphs, const int64_t* offsets, int64_t most, int64_t num_sources,
                              const int64_t* sources, int64_t* src, int64_t* dst, float* score) {
  return guarded<int64_t>(-1, [&] {
    const adjoint_embeddings& z = embeddings_of(embeddings);
    ADJ_CHECK(src != nullptr && dst != nullptr && score != nullptr, "adjoint: src, dst or score is NULL");
    ADJ_CHECK(num_sources >= 0, "adjoint: {} sources", num_sources);
    std::optional<std::vector<int32_t>> chosen;
    if (num_sources > 0)
      chosen = nodes_of("sources", sources, num_sources, z.graph.num_nodes()).to_vector<int32_t>();
    const LinkPredictions links = model_of(model).missing_links(
        z.values, z.graph, most, chosen, num_graphs > 0 ? offsets_of(num_graphs, offsets) : Tensor());
    std::copy(links.src.begin(), links.src.end(), src);
    std::copy(links.dst.begin(), links.dst.end(), dst);
    std::copy(links.score.begin(), links.score.end(), score);
    return std::ssize(links.src);
  });
}
