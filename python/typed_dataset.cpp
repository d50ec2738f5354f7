#include "items.h"
#include <adjoint/data/typed_dataset.h>

#include <nanobind/stl/tuple.h>

namespace adj::python {

namespace {

nb::tuple tuple_of(const EdgeType& type) { return nb::make_tuple(type.src, type.name, type.dst); }

/// By name, or as (source type, name, target type).
EdgeType edge_type(const TypedDataset& data, nb::handle type) {
  if (nb::isinstance<nb::str>(type)) return data.edge_type(nb::cast<std::string>(type));
  const auto [source, name, target] = nb::cast<std::tuple<std::string, std::string, std::string>>(type);
  return data.edge_type(text_of({source, name, target}));
}

nb::object attribute_of(const TypedDataset& data, nb::handle type, const char* name) {
  const EdgeAttributes& all = data.graph.edge_attributes(edge_type(data, type));
  const auto found = all.find(name);
  return to_array(found == all.end() ? Tensor() : found->second, true);
}

}  // namespace

void bind_typed_dataset(nb::module_& m) {
  nb::class_<ItemTable> items(m, "ItemTable",
                              "Features, labels, splits and names of one type of nodes or edges.");
  bind_items(items);
  items
      .def_prop_ro(
          "task", [](const ItemTable& t) { return std::string(name_of(t.task)); },
          "node_class means classes of edges, too.")
      .def_ro("num_classes", &ItemTable::classes)
      .def_prop_ro("y", array_of<ItemTable>(&ItemTable::y, true))
      .def_prop_ro(
          "splits",
          [](const ItemTable& t) {
            nb::list splits;
            for (const Split& split : t.splits)
              splits.append(nb::make_tuple(to_array(split.train, true), to_array(split.val, true),
                                           to_array(split.test, true)));
            return splits;
          },
          "[(train, val, test), …], indices.");

  nb::class_<TypedDataset>(m, "TypedDataset",
                           "Several types of nodes and edges (data/README.md, version 2), by their names; a "
                           "type of edges by its name or as (source type, name, target type).")
      .def_ro("name", &TypedDataset::name)
      .def_prop_ro("node_types", [](const TypedDataset& d) { return d.graph.node_types(); })
      .def_prop_ro("edge_types",
                   [](const TypedDataset& d) {
                     nb::list types;
                     for (const EdgeType& type : d.graph.edge_types()) types.append(tuple_of(type));
                     return types;
                   })
      .def(
          "num_nodes", [](const TypedDataset& d, const std::string& type) { return d.num_nodes(type); },
          nb::arg("type"))
      .def_prop_ro(
          "nodes",
          [](const TypedDataset& d) {
            nb::dict found;
            for (const auto& [type, table] : d.nodes) found[nb::str(type.c_str())] = nb::cast(table);
            return found;
          },
          "{type: ItemTable}")
      .def_prop_ro(
          "edges",
          [](const TypedDataset& d) {
            nb::dict found;
            for (const auto& [type, table] : d.edges) found[tuple_of(type)] = nb::cast(table);
            return found;
          },
          "{(source type, name, target type): ItemTable}; x are the attributes.")
      .def(
          "edge_index",
          [](const TypedDataset& d, nb::handle type) {
            return to_pair(d.graph.relation(edge_type(d, type)).edge_index(), true);
          },
          nb::arg("type"), "(src, dst), int32 [M] each; every array of these edges has this order.")
      .def(
          "edge_weight",
          [](const TypedDataset& d, nb::handle type) { return attribute_of(d, type, "weight"); },
          nb::arg("type"), "float32 [M], or None.")
      .def(
          "graph", [](const TypedDataset& d, nb::handle type) { return d.homogeneous(edge_type(d, type)); },
          nb::arg("type"), "The Dataset of one type of edges between nodes of one type.")
      .def(
          "save",
          [](const TypedDataset& d, nb::handle path, int gzip) {
            const std::string file = to_path(path);
            without_gil([&] { save_typed_dataset(d, file, gzip); });
          },
          nb::arg("path"), nb::arg("gzip") = 0)
      .def("__repr__", [](const TypedDataset& d) {
        return fmt::format("<adjoint.TypedDataset {}: {} types of nodes, {} of edges>", d.name,
                           d.graph.node_types().size(), d.graph.edge_types().size());
      });
  m.def(
      "load_typed_dataset",
      [](nb::handle path) {
        const std::string file = to_path(path);
        return without_gil([&] { return load_typed_dataset(file); });
      },
      nb::arg("path"),
      "Reads and checks a file of several types, or of one as the types \"node\" and \"edge\".");
}

}  // namespace adj::python
