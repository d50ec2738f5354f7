#include "arrays.h"
#include <adjoint/core/convert.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/training/examples.h>

#include <algorithm>

namespace adj::python {

namespace {

/// Sets labels, task and classes: of integers [K] classes, of bools or uint8 [K, T] several labels, of floats
/// [K] or [K, T] targets of regression, unless `task` says otherwise.
void set_labels(Dataset& data, const Tensor& given, const std::optional<std::string>& task, int64_t things) {
  const bool of_graphs = static_cast<bool>(data.graph_offsets);
  const bool numbered = given.dims() == 1 && !is_floating(given.dtype());
  ADJ_CHECK((given.dims() == 1 || given.dims() == 2) && given.size(0) == things,
            "y: {}, expected [{}] or [{}, T]", given.str(), things, things);
  if (task) {
    data.task = training::task_named("task", *task);
  } else if (numbered) {
    data.task = of_graphs ? Task::graph_class : Task::node_class;
  } else {
    data.task = of_graphs                    ? Task::graph_regression
                : is_floating(given.dtype()) ? Task::node_regression
                                             : Task::node_multilabel;
  }
  ADJ_CHECK(of_graphs == is_of_graphs(data.task), "y: task {} of a dataset {} graph_offsets",
            name_of(data.task), of_graphs ? "with" : "without");
  Tensor y;
  if (training::labels_of(data.task) == training::Labels::classes) {
    ADJ_CHECK(numbered, "y: {}, expected integers [{}] for task {}", given.str(), things, name_of(data.task));
    y = to_int32("dataset", "y", given.to(given.dtype() == DType::u8 ? DType::i32 : given.dtype()),
                 data.classes);
    for (const int32_t label : y.to_vector<int32_t>()) {
      ADJ_CHECK(label >= -1, "y: {}, expected -1 (none) or a class", label);
      data.classes = std::max<int64_t>(data.classes, int64_t{label} + 1);
    }
  } else {
    y = given.reshape({things, given.dims() == 2 ? given.size(1) : 1}).to(DType::f32);
    if (data.task == Task::node_multilabel) data.classes = y.size(1);
  }
  (of_graphs ? data.graph_y : data.y) = y;
}

void make_dataset(Dataset* self, nb::handle edge_index, nb::handle x, nb::handle y,
                  std::optional<int64_t> num_nodes, nb::handle edge_weight, nb::handle edge_attr,
                  nb::handle train, nb::handle val, nb::handle test, nb::handle graph_offsets,
                  nb::handle part, const std::optional<std::string>& task,
                  std::vector<std::string> class_names, bool undirected, const std::string& name) {
  const EdgeIndex edges = to_edges("edge_index", edge_index);
  EdgeAttributes attributes;
  if (!edge_attr.is_none()) attributes["attr"] = to_tensor("edge_attr", edge_attr).to(DType::f32);
  Dataset data;
  data.name = name;
  data.undirected = undirected;
  data.class_names = std::move(class_names);
  data.classes = std::ssize(data.class_names);
  data.x = to_features(x);
  const Tensor labels = to_tensor("y", y), weight = to_tensor("edge_weight", edge_weight);
  data.graph_offsets = to_tensor("graph_offsets", graph_offsets);
  if (data.graph_offsets) data.graph_offsets = data.graph_offsets.to(DType::i64);
  if (!num_nodes && data.x) num_nodes = data.x.rows();
  if (!num_nodes && labels && !data.graph_offsets) num_nodes = labels.size(0);
  ADJ_CHECK(num_nodes, "dataset: num_nodes, x or y is to say how many nodes there are");
  data.graph = without_gil([&] {
    return Graph::from_coo(*num_nodes, edges.src, edges.dst, weight ? weight.to(DType::f32) : weight,
                           attributes);
  });
  const int64_t things = data.graph_offsets ? data.graph_offsets.numel() - 1 : *num_nodes;
  if (labels) set_labels(data, labels, task, things);
  if (!train.is_none() || !val.is_none() || !test.is_none())
    data.splits = {{to_indices("train", train, things), to_indices("val", val, things),
                    to_indices("test", test, things)}};
  data.part = to_indices("part", part, 0);
  new (self) Dataset(without_gil([&] { return complete_dataset(std::move(data)); }));
}

}  // namespace

void bind_dataset(nb::module_& m) {
  nb::class_<Dataset>(m, "Dataset", R"(A graph, features, labels and splits (data/README.md).

edge_index: [2, M] or (src, dst), integers; an undirected edge is stored twice. x: [N, F], or a
scipy.sparse.csr_matrix. y: classes, integers [N], -1 for none; several labels, bool or uint8 [N, T]; targets, float
[N] or [N, T]; of graphs where graph_offsets (int64 [G + 1]) are given. task: what y says, where its type does not.
train, val, test: indices or masks. part: a partition, for ClusterLoader.

Arrays are NumPy's, PyTorch's or any of DLPack. float32 features on the CPU or a GPU are not copied: who writes to the
array changes the dataset.)")
      .def("__init__", &make_dataset, nb::arg("edge_index"), nb::arg("x") = nb::none(),
           nb::arg("y") = nb::none(), nb::kw_only(), nb::arg("num_nodes") = nb::none(),
           nb::arg("edge_weight") = nb::none(), nb::arg("edge_attr") = nb::none(),
           nb::arg("train") = nb::none(), nb::arg("val") = nb::none(), nb::arg("test") = nb::none(),
           nb::arg("graph_offsets") = nb::none(), nb::arg("part") = nb::none(), nb::arg("task") = nb::none(),
           nb::arg("class_names") = std::vector<std::string>(), nb::arg("undirected") = false,
           nb::arg("name") = "dataset")
      .def_ro("name", &Dataset::name)
      .def_prop_ro("task", [](const Dataset& d) { return std::string(name_of(d.task)); })
      .def_ro("undirected", &Dataset::undirected)
      .def_ro("class_names", &Dataset::class_names)
      .def_prop_ro("device", [](const Dataset& d) { return d.device().str(); })
      .def_prop_ro("num_nodes", &Dataset::num_nodes)
      .def_prop_ro("num_edges", [](const Dataset& d) { return d.graph.num_edges(); })
      .def_prop_ro("num_features", &Dataset::num_features)
      .def_prop_ro("num_classes", &Dataset::num_classes)
      .def_prop_ro(
          "edge_index",
          [](const Dataset& d) { return to_pair(without_gil([&] { return d.graph.edge_index(); }), true); },
          "(src, dst), int32 [M] each, by target, then source: the order of the edges of everything here.")
      .def_prop_ro("edge_weight", [](const Dataset& d) { return to_array(d.graph.edge_weight()); })
      .def_prop_ro("edge_attr",
                   [](const Dataset& d) {
                     const EdgeAttributes& all = d.graph.edge_attributes();
                     const auto found = all.find("attr");
                     return to_array(found == all.end() ? Tensor() : found->second);
                   })
      .def_prop_ro(
          "x", [](const Dataset& d) { return to_matrix(d.x); }, "[N, F]; sparse features are made dense.")
      .def_prop_ro(
          "x_csr", [](const Dataset& d) { return to_csr(d.x); },
          "(data, indices, indptr) of sparse features, as scipy.sparse.csr_matrix takes them; else None.")
      .def_prop_ro("y", [](const Dataset& d) { return to_array(d.graph_y ? d.graph_y : d.y); })
      .def_prop_ro("graph_offsets", array_of(&Dataset::graph_offsets, true))
      .def_prop_ro("part", array_of(&Dataset::part, true))
      .def_prop_ro("num_splits", [](const Dataset& d) { return d.splits.size(); })
      .def_prop_ro("train", array_of(&Dataset::train, true))
      .def_prop_ro("val", array_of(&Dataset::val, true))
      .def_prop_ro("test", array_of(&Dataset::test, true))
      .def("use_split", &Dataset::use_split, nb::arg("k"))
      .def(
          "partition",
          [](Dataset& d, int64_t parts) {
            d.part = without_gil([&] { return metis_partition(d.graph, parts); });
          },
          nb::arg("parts"), "Sets part: the partition by METIS into that many parts.")
      .def(
          "to", [](const Dataset& d, const std::string& device) { return d.to(Device::parse(device)); },
          nb::arg("device"), nb::call_guard<nb::gil_scoped_release>(), "\"cpu\", \"cuda\" or \"cuda:1\".")
      .def(
          "save", [](const Dataset& d, const std::string& path, int gzip) { save_dataset(d, path, gzip); },
          nb::arg("path"), nb::arg("gzip") = 0, nb::call_guard<nb::gil_scoped_release>(),
          "Writes the HDF5 file that load_dataset() and all programs read.")
      .def("__repr__", [](const Dataset& d) {
        return fmt::format("<adjoint.Dataset {}: {} nodes, {} edges, {} features, task {}>", d.name,
                           d.num_nodes(), d.graph.num_edges(), d.num_features(), name_of(d.task));
      });
  m.def(
      "load_dataset",
      [](const std::string& path, bool features_in_file) {
        return load_dataset(path, {.features_in_file = features_in_file});
      },
      nb::arg("path"), nb::arg("features_in_file") = false, nb::call_guard<nb::gil_scoped_release>(),
      "Reads and checks a file of the schema; with features_in_file, loaders read the features of their "
      "batches there.");
  m.def("load_demo_dataset", &load_demo_dataset, nb::call_guard<nb::gil_scoped_release>(),
        "The small dataset that comes along.");
}

}  // namespace adj::python
