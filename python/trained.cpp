#include "arrays.h"
#include <adjoint/autograd/unary.h>
#include <adjoint/core/convert.h>
#include <adjoint/data/feature_names.h>
#include <adjoint/models/onnx.h>

namespace adj::python {

namespace {

/// The dataset with its columns, also of edge attributes, in the model's order, by their names.
Dataset matched(const TrainedModel& model, Dataset data) {
  const ModelDescription& trained = model.description();
  match_features(data, data.name, trained.feature_names, trained.encoder, trained.origin);
  if (trained.edges.attributes > 0)
    match_attributes(data, data.name, trained.attr_names, trained.attr_encoder, trained.origin);
  return data;
}

}  // namespace

void bind_trained(nb::module_& m) {
  nb::class_<Predictions>(m, "Predictions")
      .def_prop_ro("task", [](const Predictions& p) { return std::string(name_of(p.task)); })
      .def_prop_ro("prediction", array_of(&Predictions::prediction),
                   "Classes, int32 [E]; several labels, uint8 [E, T]; targets, float32 [E, T].")
      .def_prop_ro("probability", array_of(&Predictions::probability),
                   "float32, for each class or label; None for regression.")
      .def_prop_ro("score", array_of(&Predictions::score),
                   "float32, the logits of each class or label; None for regression.")
      .def_ro("class_names", &Predictions::class_names);

  nb::class_<TrainedModel> trained(m, "TrainedModel",
                                   "A model that was trained before. Threads may share it.");
  trained.def("__repr__", [](const TrainedModel& t) { return "<adjoint.TrainedModel " + t.describe() + ">"; })
      .def_prop_ro("task", [](const TrainedModel& t) { return std::string(name_of(t.task())); })
      .def_prop_ro("device", [](const TrainedModel& t) { return t.device().str(); })
      .def_prop_ro("num_features", &TrainedModel::num_features)
      .def_prop_ro("num_outputs", &TrainedModel::num_outputs)
      .def_prop_ro("class_names", &TrainedModel::class_names)
      .def_prop_ro("feature_names", &TrainedModel::feature_names)
      .def(
          "predict",
          [](const TrainedModel& t, const Dataset& named) {
            const Dataset data = matched(t, named);
            return t.of_graphs() ? t.predict(data.graph, data.graph_offsets, data.x)
                                 : t.predict(data.graph, data.x);
          },
          nb::arg("data"), nb::call_guard<GilRelease>(),
          "Predictions of every node, or of every graph, or of every edge, in the order of data.edge_index. "
          "Features are as in the user's data; columns are found by name if the dataset and the model have "
          "names.")
      .def(
          "outputs",
          [](const TrainedModel& t, const Dataset& named) {
            return to_array(without_gil([&] {
              const Dataset data = matched(t, named);
              return t.of_graphs() ? t.outputs(data.graph, data.graph_offsets, data.x)
                                   : t.outputs(data.graph, data.x);
            }));
          },
          nb::arg("data"), "Logits, or for regression the predictions: float32, on the model's device.")
      .def(
          "predict_links",
          [](const TrainedModel& t, const Dataset& data, nb::handle pairs) {
            EdgeIndex wanted = to_edges("pairs", pairs);
            for (Tensor* end : {&wanted.src, &wanted.dst})
              *end = to_int32("predict_links", "pairs", *end, data.num_nodes());
            return to_array(without_gil([&] {
              const NoGrad no_grad;
              return sigmoid(Var(t.predict_links(data.graph, matched(t, data).x, wanted))).value();
            }));
          },
          nb::arg("data"), nb::arg("pairs"),
          "float32 [P]: the probability that an edge joins each of [2, P] or (src, dst).");
  trained
      .def(
          "embeddings",
          [](const TrainedModel& t, const Dataset& named) {
            return to_array(without_gil([&] {
              const Dataset data = matched(t, named);
              return t.of_graphs() ? t.embeddings(data.graph, data.graph_offsets, data.x)
                                   : t.embeddings(data.graph, data.x);
            }));
          },
          nb::arg("data"),
          "float32 [N, width], a row for each node (or graph): the last layer's input; of a model of links "
          "what score_links() and missing_links() take.")
      .def(
          "score_links",
          [](const TrainedModel& t, nb::handle embeddings, nb::handle pairs) {
            const Tensor z = to_floats("embeddings", embeddings);
            EdgeIndex wanted = to_edges("pairs", pairs);
            for (Tensor* end : {&wanted.src, &wanted.dst})
              *end = to_int32("score_links", "pairs", *end, z.size(0));
            return to_array(without_gil([&] { return t.score_links(z, wanted); }));
          },
          nb::arg("embeddings"), nb::arg("pairs"),
          "float32 [P]: a logit for an edge between each of [2, P] or (src, dst), from embeddings(data).")
      .def(
          "missing_links",
          [](const TrainedModel& t, const Dataset& data, int64_t most, nb::handle sources,
             nb::handle embeddings) {
            std::optional<std::vector<int32_t>> chosen;
            if (!sources.is_none())
              chosen = to_indices("sources", sources, data.num_nodes()).to_vector<int32_t>();
            const Tensor known = embeddings.is_none() ? Tensor() : to_floats("embeddings", embeddings);
            const LinkPredictions links = without_gil([&] {
              return t.missing_links(known ? known : t.embeddings(data.graph, matched(t, data).x), data.graph,
                                     most, chosen, data.graph_offsets);
            });
            return nb::make_tuple(to_array(Tensor::from(links.src)), to_array(Tensor::from(links.dst)),
                                  to_array(Tensor::from(links.score)));
          },
          nb::arg("data"), nb::arg("most"), nb::arg("sources") = nb::none(),
          nb::arg("embeddings") = nb::none(),
          "(src, dst, score): the most likely pairs of nodes that no edge of data joins, best first, of many "
          "graphs pairs within one; with sources, numbers of nodes or a mask, as many for each of them. "
          "embeddings(data) is computed if it is not given.")
      .def(
          "attention",
          [](const TrainedModel& t, const Dataset& data) {
            const AttentionWeights weights =
                without_gil([&] { return t.attention(data.graph, matched(t, data).x); });
            nb::list layers;
            for (const Tensor& layer : weights.layers) layers.append(to_array(layer));
            return nb::make_tuple(to_pair(weights.edges), layers);
          },
          nb::arg("data"),
          "((src, dst), [float32 [M, heads] of each layer]): how much each node attends to each neighbour, "
          "by GAT, GATv2, Transformer and AGNN, with the self-loops that layers add.")
      .def(
          "save_onnx",
          [](const TrainedModel& t, nb::handle path) {
            const std::string file = to_path(path);
            without_gil([&] { save_onnx(t, file); });
          },
          nb::arg("path"),
          "Writes the model for onnxruntime and other runtimes, as the program export_onnx.");
  m.def(
      "load_trained",
      [](nb::handle checkpoint, const std::string& device) {
        const std::string file = to_path(checkpoint);
        return without_gil([&] { return load_trained(file, Device::parse(device)); });
      },
      nb::arg("checkpoint"), nb::arg("device") = "cpu",
      "Loads a file that a program wrote with --checkpoint.");
}

}  // namespace adj::python
