#include "arrays.h"
#include <adjoint/core/convert.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/training/examples.h>

#include <algorithm>
#include <limits>

namespace adj::python {

namespace {

/// int32 classes, -1 for none.
Tensor to_classes(const Tensor& values) {
  const Tensor wide = values.to(DType::i64).to(Device::cpu());
  const int64_t* labels = wide.data<int64_t>();
  for (int64_t i = 0; i < wide.numel(); ++i)
    ADJ_CHECK(labels[i] >= -1 && labels[i] < std::numeric_limits<int32_t>::max(),
              "y: {} at position {}, expected -1 (none) or a class from 0 to {}", labels[i], i,
              std::numeric_limits<int32_t>::max() - 1);
  return values.to(DType::i32);
}

/// Sets labels, task and classes: of integers [K] classes, of bools or uint8 [K, T] several labels, of floats
/// [K] or [K, T] targets of regression, unless `task` says otherwise.
void set_labels(Dataset& data, nb::handle object, const std::optional<std::string>& task, int64_t things) {
  const Tensor labels = to_tensor("y", object);
  const bool of_graphs = static_cast<bool>(data.graph_offsets);
  const bool numbered = labels.dims() == 1 && !is_floating(labels.dtype());
  ADJ_CHECK((labels.dims() == 1 || labels.dims() == 2) && labels.size(0) == things,
            "y: {}, expected [{}] or [{}, T]", labels.str(), things, things);
  if (task) {
    data.task = training::task_named("task", *task);
  } else if (numbered) {
    data.task = of_graphs ? Task::graph_class : Task::node_class;
  } else {
    data.task = of_graphs                     ? Task::graph_regression
                : is_floating(labels.dtype()) ? Task::node_regression
                                              : Task::node_multilabel;
  }
  ADJ_CHECK(of_graphs == is_of_graphs(data.task), "y: task {} of a dataset {} graph_offsets",
            name_of(data.task), of_graphs ? "with" : "without");
  Tensor y;
  if (training::labels_of(data.task) == training::Labels::classes) {
    ADJ_CHECK(numbered, "y: {}, expected integers [{}] for task {}", labels.str(), things,
              name_of(data.task));
    y = to_classes(labels);
    for (const int32_t label : y.to_vector<int32_t>())
      data.classes = std::max<int64_t>(data.classes, int64_t{label} + 1);
  } else {
    y = to_floats("y", object).reshape({things, labels.dims() == 2 ? labels.size(1) : 1});
    if (data.task == Task::node_multilabel) data.classes = y.size(1);
  }
  (of_graphs ? data.graph_y : data.y) = copy_if_shared(y);
}

void make_dataset(Dataset* self, nb::handle edge_index, nb::handle x, nb::handle y,
                  std::optional<int64_t> num_nodes, nb::handle edge_weight, nb::handle edge_attr,
                  nb::handle train, nb::handle val, nb::handle test, nb::handle graph_offsets,
                  nb::handle part, const std::optional<std::string>& task,
                  std::vector<std::string> class_names, std::vector<std::string> feature_names,
                  bool undirected, const std::string& name) {
  const EdgeIndex edges = to_edges("edge_index", edge_index);
  const Tensor weight = to_floats("edge_weight", edge_weight);
  EdgeAttributes attributes;
  if (const Tensor attr = to_floats("edge_attr", edge_attr))
    attributes["attr"] = attr.dims() == 1 ? attr.reshape({attr.numel(), 1}) : attr;
  Dataset data;
  data.name = name;
  data.undirected = undirected;
  data.class_names = std::move(class_names);
  data.classes = std::ssize(data.class_names);
  data.x = to_features(x);
  data.feature_names = std::move(feature_names);
  if (const Tensor offsets = to_integers("graph_offsets", graph_offsets))
    data.graph_offsets = offsets.to(DType::i64);
  if (!num_nodes && data.x) num_nodes = data.x.rows();
  if (const Tensor labels = to_tensor("y", y);
      !num_nodes && labels && labels.dims() > 0 && !data.graph_offsets)
    num_nodes = labels.size(0);
  ADJ_CHECK(num_nodes, "dataset: give num_nodes, x or y");
  const int64_t things = data.graph_offsets ? data.graph_offsets.numel() - 1 : *num_nodes;
  if (!y.is_none()) set_labels(data, y, task, things);
  if (const Tensor parts = to_integers("part", part))
    data.part = to_int32("dataset", "part", parts, *num_nodes);
  if (!train.is_none() || !val.is_none() || !test.is_none())
    data.splits = {{to_indices("train", train, things), to_indices("val", val, things),
                    to_indices("test", test, things)}};
  new (self) Dataset(without_gil([&] {
    check_num_nodes(data, *num_nodes, edges.src.numel());
    data.graph = Graph::from_coo(*num_nodes, edges.src, edges.dst, weight, attributes);
    return complete_dataset(std::move(data));
  }));
}

}  // namespace

void bind_dataset(nb::module_& m) {
  nb::class_<Dataset>(m, "Dataset", R"(A graph, features, labels and splits (data/README.md).

edge_index: [2, M] or (src, dst), integers; an undirected edge is stored twice. x: [N, F], or a sparse matrix of SciPy.
y: classes, integers [N], -1 for none; several labels, bool or uint8 [N, T]; targets, float [N] or [N, T]; one row per
graph if graph_offsets (integers [G + 1]) are given. feature_names: of the columns of x, which a trained model then
finds by name. task: set it when y's type is ambiguous. train, val, test: indices or
masks. part: a partition, for ClusterLoader.

Arrays come from NumPy, PyTorch or any framework with DLPack. Only x is not copied, if it is float32 and row-major, on
the CPU or a GPU: writes to the array change the dataset. The arrays of a dataset are read-only.)")
      .def("__init__", &make_dataset, nb::arg("edge_index"), nb::arg("x") = nb::none(),
           nb::arg("y") = nb::none(), nb::kw_only(), nb::arg("num_nodes") = nb::none(),
           nb::arg("edge_weight") = nb::none(), nb::arg("edge_attr") = nb::none(),
           nb::arg("train") = nb::none(), nb::arg("val") = nb::none(), nb::arg("test") = nb::none(),
           nb::arg("graph_offsets") = nb::none(), nb::arg("part") = nb::none(), nb::arg("task") = nb::none(),
           nb::arg("class_names") = std::vector<std::string>(),
           nb::arg("feature_names") = std::vector<std::string>(), nb::arg("undirected") = false,
           nb::arg("name") = "dataset")
      .def_ro("name", &Dataset::name)
      .def_prop_ro("task", [](const Dataset& d) { return std::string(name_of(d.task)); })
      .def_ro("undirected", &Dataset::undirected)
      .def_ro("class_names", &Dataset::class_names)
      .def_ro("feature_names", &Dataset::feature_names)
      .def_prop_ro("device", [](const Dataset& d) { return d.device().str(); })
      .def_prop_ro("num_nodes", &Dataset::num_nodes)
      .def_prop_ro("num_edges", [](const Dataset& d) { return d.graph.num_edges(); })
      .def_prop_ro("num_features", &Dataset::num_features)
      .def_prop_ro("num_classes", &Dataset::num_classes)
      .def_prop_ro(
          "edge_index",
          [](const Dataset& d) { return to_pair(without_gil([&] { return d.graph.edge_index(); }), true); },
          "(src, dst), int32 [M] each, by target, then source; every edge array has this order.")
      .def_prop_ro("edge_weight", [](const Dataset& d) { return to_array(d.graph.edge_weight(), true); })
      .def_prop_ro("edge_attr",
                   [](const Dataset& d) {
                     const EdgeAttributes& all = d.graph.edge_attributes();
                     const auto found = all.find("attr");
                     return to_array(found == all.end() ? Tensor() : found->second, true);
                   })
      .def_prop_ro(
          "x", [](const Dataset& d) { return to_matrix(d.x, true); },
          "[N, F]; sparse features are made dense.")
      .def_prop_ro(
          "x_csr", [](const Dataset& d) { return to_csr(d.x); },
          "(data, indices, indptr) of sparse features, as scipy.sparse.csr_matrix takes them; else None.")
      .def_prop_ro("y", [](const Dataset& d) { return to_array(d.graph_y ? d.graph_y : d.y, true); })
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
            d.part = interruptible([graph = d.graph, parts] { return metis_partition(graph, parts); });
          },
          nb::arg("parts"), "Sets part, a METIS partition into that many parts.")
      .def(
          "to", [](const Dataset& d, const std::string& device) { return d.to(Device::parse(device)); },
          nb::arg("device"), nb::call_guard<GilRelease>(), "\"cpu\", \"cuda\" or \"cuda:1\".")
      .def(
          "save",
          [](const Dataset& d, nb::handle path, int gzip) {
            const std::string file = to_path(path);
            without_gil([&] { save_dataset(d, file, gzip); });
          },
          nb::arg("path"), nb::arg("gzip") = 0,
          "Writes the HDF5 file that load_dataset() and all programs read.")
      .def("__repr__", [](const Dataset& d) {
        return fmt::format("<adjoint.Dataset {}: {} nodes, {} edges, {} features, task {}>", d.name,
                           d.num_nodes(), d.graph.num_edges(), d.num_features(), name_of(d.task));
      });
  m.def(
      "load_dataset",
      [](nb::handle path, bool features_in_file) {
        const std::string file = to_path(path);
        return without_gil([&] { return load_dataset(file, {.features_in_file = features_in_file}); });
      },
      nb::arg("path"), nb::arg("features_in_file") = false,
      "Reads and checks a file of the schema; with features_in_file, loaders read the features of their "
      "batches from the file.");
  m.def("load_demo_dataset", &load_demo_dataset, nb::call_guard<GilRelease>(), "The built-in demo dataset.");
}

}  // namespace adj::python
