#pragma once

#include "arrays.h"

namespace adj::python {

/// The names of items as a list of str; None if they have none.
nb::object names_of(const ItemTable& items);

/// Adds what nodes or edges of one type have.
template <class T>
void bind_items(nb::class_<T>& bound) {
  bound.def_ro("class_names", &T::class_names)
      .def_ro("feature_names", &T::feature_names)
      .def_prop_ro("num_features", [](const T& items) { return items.num_features(); })
      .def_prop_ro(
          "x", [](const T& items) { return to_matrix(items.x, true); },
          "[N, F]; sparse features are made dense.")
      .def_prop_ro(
          "x_csr", [](const T& items) { return to_csr(items.x); },
          "(data, indices, indptr) of sparse features, as scipy.sparse.csr_matrix takes them; else None.")
      .def_prop_ro(
          "node_ids", [](const T& items) { return to_array(items.node_ids, true); },
          "int64 [N], if nodes have other integers for names than their numbers; else None.")
      .def_prop_ro(
          "node_names", [](const T& items) { return names_of(items); },
          "A list of str, if nodes have such names; else None.")
      .def_prop_ro(
          "times", [](const T& items) { return to_array(items.times, true); },
          "int64 [N], -2**63: none; dates are microseconds since 1970-01-01 UTC. None without times.");
}

}  // namespace adj::python
