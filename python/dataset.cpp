#include "items.h"
#include "tables.h"
#include <adjoint/core/convert.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/graph/order/partition.h>

namespace adj::python {

namespace {

/// What the nodes are called: by `node_names`, by the index of x, or by that of y.
NodeIndex node_index(nb::handle node_names, nb::handle x, nb::handle y, bool of_graphs) {
  if (!node_names.is_none()) return {"node_names", to_numpy("node_names", node_names)};
  if (has_index(x)) return {"the index of x", x.attr("index")};
  if (of_graphs || !has_index(y)) return {};
  NodeIndex index("the index of y", y.attr("index"));
  if (index.named() && !x.is_none()) warn("y has an index and x none: row i of y is taken for that of x");
  return index;
}

/// The rows of an object in the order of the nodes, by its index. One that only numbers the rows says nothing
/// beside node_names.
nb::object by_node(const char* name, nb::handle object, const NodeIndex& nodes) {
  const bool numbered =
      nodes.origin() == "node_names" && has_index(object) && is_default(nb::object(object.attr("index")));
  return numbered ? nb::borrow(object) : align(name, object, nodes.labels(), nodes.origin());
}

/// Indices or a mask; or, of nodes with names, their names.
Tensor to_part(const char* name, nb::handle part, const NodeIndex& nodes, bool of_graphs, int64_t things) {
  if (part.is_none() || of_graphs || nb::isinstance<DeviceArray>(part)) return to_indices(name, part, things);
  const bool names = is_text(part);
  if (!names && (!nodes.named() || to_numpy(name, part).attr("dtype").attr("kind").equal(nb::str("b"))))
    return to_indices(name, by_node(name, part, nodes), things);
  if (!names && !nb::hasattr(part, "get_indexer"))
    warn(fmt::format("{}: its integers are looked up in {}, which is not 0, 1, …", name, nodes.origin()));
  return nodes.find(name, part);
}

/// Names the features by their columns. Warns of one that seems to be an id.
void name_features(Dataset& data, const Table& table) {
  if (!table.named()) return;
  for (const std::string& column : table.names())
    if (const std::vector<std::string> words = words_in(column);
        words == std::vector<std::string>{"id"} || words == std::vector<std::string>{"node", "id"})
      warn(
          fmt::format("x: column '{}' is taken as a feature; if it names the nodes, make it the index "
                      "(x.set_index) or node_names=",
                      column));
  if (data.feature_names.empty())
    data.feature_names = table.names();
  else if (data.feature_names != table.names())
    fail("feature_names: other names than the columns of x, expected one of both");
}

void make_dataset(Dataset* self, nb::handle edge_index, nb::handle x, nb::handle y,
                  std::optional<int64_t> num_nodes, nb::handle edge_weight, nb::handle edge_attr,
                  nb::handle train, nb::handle val, nb::handle test, nb::handle graph_offsets,
                  nb::handle part, nb::handle node_names, const std::optional<std::string>& task,
                  std::vector<std::string> class_names, std::vector<std::string> feature_names,
                  bool undirected, const std::string& name) {
  const bool of_graphs = !graph_offsets.is_none();
  EdgeEnds ends = edge_ends("edge_index", edge_index, !edge_weight.is_none());
  NodeIndex nodes = node_index(node_names, x, y, of_graphs);
  const nb::object rows = by_node("x", x, nodes);
  if (nodes.size() == 0 && x.is_none() && y.is_none() && !num_nodes && is_text(ends.src))
    nodes = NodeIndex("edge_index", ends.src, ends.dst);
  const EdgeIndex edges{nodes.find("edge_index", ends.src), nodes.find("edge_index", ends.dst)};
  if (nodes.named() && !ends.of_table && !is_text(ends.src))
    warn(fmt::format("edge_index: its integers are looked up in {}, which is not 0, 1, …", nodes.origin()));
  const auto of_edges = [&](const char* argument, nb::handle object) {
    const nb::object aligned = align(argument, object, ends.index, "the index of edge_index");
    return to_floats(argument, Table::is_table(aligned) ? Table(argument, aligned).numbers(true) : aligned);
  };
  const Tensor weight = of_edges("edge_weight", edge_weight.is_none() ? ends.weight : edge_weight);
  EdgeAttributes attributes;
  if (const Tensor attr = of_edges("edge_attr", edge_attr))
    attributes["attr"] = attr.dims() == 1 ? attr.reshape({attr.numel(), 1}) : attr;
  Dataset data;
  data.name = name;
  if (Table::is_table(edge_attr) && Table("edge_attr", edge_attr).named())
    data.attr_names = Table("edge_attr", edge_attr).names();
  data.undirected = undirected;
  data.class_names = std::move(class_names);
  data.classes = std::ssize(data.class_names);
  data.x = to_features(rows);
  data.feature_names = std::move(feature_names);
  if (Table::is_table(rows)) name_features(data, Table("x", rows));
  if (const Tensor offsets = to_integers("graph_offsets", graph_offsets))
    data.graph_offsets = offsets.to(DType::i64);
  if (!num_nodes && data.x) num_nodes = data.x.rows();
  if (!num_nodes && nodes.size() > 0) num_nodes = nodes.size();
  const nb::object labels = of_graphs ? nb::borrow(y) : by_node("y", y, nodes);
  if (!num_nodes && !y.is_none() && !of_graphs)
    num_nodes = nb::hasattr(labels, "__len__") ? nb::len(labels) : to_tensor("y", labels).size(0);
  ADJ_CHECK(num_nodes, "dataset: give num_nodes, x or y");
  ADJ_CHECK(nodes.size() == 0 || nodes.size() == *num_nodes, "{}: {} names, expected {}, one per node",
            nodes.origin(), nodes.size(), *num_nodes);
  const int64_t things = of_graphs ? data.graph_offsets.numel() - 1 : *num_nodes;
  if (!y.is_none()) set_labels(data, labels, task, things);
  if (const Tensor parts = to_integers("part", by_node("part", part, nodes)))
    data.part = to_int32("dataset", "part", parts, *num_nodes);
  if (!train.is_none() || !val.is_none() || !test.is_none())
    data.splits = {{to_part("train", train, nodes, of_graphs, things),
                    to_part("val", val, nodes, of_graphs, things),
                    to_part("test", test, nodes, of_graphs, things)}};
  nodes.move_to(data);
  new (self) Dataset(without_gil([&] {
    check_num_nodes(data, *num_nodes, edges.src.numel());
    data.graph = Graph::from_coo(*num_nodes, edges.src, edges.dst, weight, attributes);
    return complete_dataset(std::move(data));
  }));
}

}  // namespace

nb::object names_of(const ItemTable& items) {
  if (!items.node_names) return nb::none();
  const std::vector<uint8_t> bytes = items.node_names.to_vector<uint8_t>();
  const std::vector<int64_t> ends = items.node_name_offsets.to_vector<int64_t>();
  nb::list names;
  for (size_t k = 1; k < ends.size(); ++k)
    names.append(nb::str(reinterpret_cast<const char*>(bytes.data()) + ends[k - 1],
                         static_cast<size_t>(ends[k] - ends[k - 1])));
  return names;
}

void bind_dataset(nb::module_& m) {
  nb::class_<Dataset> bound(m, "Dataset", R"(A graph, features, labels and splits (data/README.md).

edge_index: [2, M], (src, dst), a list of pairs or a table with columns source and target; integers or names of nodes;
an undirected edge is stored twice. x: [N, F], a DataFrame, or a sparse matrix of SciPy. y: classes, integers [N], -1
for none, or texts; several labels, bool or uint8 [N, T]; targets, float [N] or [N, T]; one row per graph if
graph_offsets (integers [G + 1]) are given. node_names: of the rows, else the index of x. feature_names: of the columns
of x, else its own, by which a trained model finds them, as it does those of edge_attr. task: set it when y's type is ambiguous. train, val, test:
indices, names or masks. part: a partition, for ClusterLoader. Series and DataFrames are matched by their index.

Arrays come from NumPy, PyTorch or any framework with DLPack. Only x is not copied, if it is float32 and row-major, on
the CPU or a GPU: writes to the array change the dataset. The arrays of a dataset are read-only.)");
  bind_items(bound);
  bound
      .def("__init__", &make_dataset, nb::arg("edge_index"), nb::arg("x") = nb::none(),
           nb::arg("y") = nb::none(), nb::kw_only(), nb::arg("num_nodes") = nb::none(),
           nb::arg("edge_weight") = nb::none(), nb::arg("edge_attr") = nb::none(),
           nb::arg("train") = nb::none(), nb::arg("val") = nb::none(), nb::arg("test") = nb::none(),
           nb::arg("graph_offsets") = nb::none(), nb::arg("part") = nb::none(),
           nb::arg("node_names") = nb::none(), nb::arg("task") = nb::none(),
           nb::arg("class_names") = std::vector<std::string>(),
           nb::arg("feature_names") = std::vector<std::string>(), nb::arg("undirected") = false,
           nb::arg("name") = "dataset")
      .def_ro("name", &Dataset::name)
      .def_prop_ro("task", [](const Dataset& d) { return std::string(name_of(d.task)); })
      .def_ro("undirected", &Dataset::undirected)
      .def_ro("attr_names", &Dataset::attr_names, "Of the columns of edge_attr, those of a DataFrame.")
      .def_prop_ro("device", [](const Dataset& d) { return d.device().str(); })
      .def_prop_ro("num_nodes", &Dataset::num_nodes)
      .def_prop_ro("num_edges", [](const Dataset& d) { return d.graph.num_edges(); })
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
      .def_prop_ro("y",
                   [](const Dataset& d) {
                     return to_array(is_of_edges(d.task) ? d.edge_y : d.graph_y ? d.graph_y : d.y, true);
                   })
      .def_ro("graph_names", &Dataset::graph_names)
      .def_prop_ro("graph_offsets", array_of<Dataset>(&Dataset::graph_offsets, true))
      .def_prop_ro("part", array_of<Dataset>(&Dataset::part, true))
      .def_prop_ro("num_splits", [](const Dataset& d) { return d.splits.size(); })
      .def_prop_ro("train", array_of<Dataset>(&Dataset::train, true))
      .def_prop_ro("val", array_of<Dataset>(&Dataset::val, true))
      .def_prop_ro("test", array_of<Dataset>(&Dataset::test, true))
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
  m.def(
      "load_demo_dataset", [] { return load_demo_dataset(); }, nb::call_guard<GilRelease>(),
      "The built-in demo dataset.");
}

}  // namespace adj::python
