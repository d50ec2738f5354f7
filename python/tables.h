#pragma once

#include "arrays.h"
#include <adjoint/data/import/node_ids.h>

#include <optional>
#include <string>
#include <vector>

namespace adj::python {

/// A DataFrame of pandas or polars, or a table of Arrow: columns with distinct names.
class Table {
 public:
  static bool is_table(nb::handle object);
  /// `name`: of the argument. Throws for a name that occurs twice.
  Table(const char* name, nb::handle object);

  int64_t size() const { return std::ssize(names_); }
  const std::vector<std::string>& names() const { return names_; }
  /// False if the columns only have their numbers for names.
  bool named() const { return named_; }
  nb::object column(int64_t k) const;
  /// All columns, [N, columns]. Throws naming a column that has no numbers or, if `complete`, one of which
  /// some are missing.
  nb::object numbers(bool complete) const;

 private:
  const char* name_;
  nb::object object_;
  std::vector<nb::object> keys_;
  std::vector<std::string> names_;
  bool named_ = false;
};

/// "str" or "int64" of a column, Series or array.
std::string dtype_text(nb::handle column);
/// Whether it has a type of categories, of pandas, polars or Arrow.
bool is_category(nb::handle column);
/// Whether it has texts, categories or other objects for elements.
bool is_text(nb::handle column);
/// Warns by Python's `warnings`.
void warn(const std::string& text);

/// Whether an object has an index of pandas.
inline bool has_index(nb::handle object) { return nb::hasattr(object, "iloc"); }
/// Whether an index numbers the rows 0, 1, ….
bool is_default(nb::handle index);
/// The rows of what has an index of pandas, in the order of `wanted`, which `origin` describes; anything
/// else, and without `wanted`, as it is. Throws naming what one of the two lacks.
nb::object align(const char* name, nb::handle object, nb::handle wanted, const std::string& origin);

/// What nodes are called: texts or integers.
class NodeIndex {
 public:
  /// Nodes have numbers only.
  NodeIndex() = default;
  /// One label per node. `origin`: "the index of x". Throws for labels that are neither texts nor integers,
  /// or not distinct.
  NodeIndex(std::string origin, nb::object labels);
  /// The texts of edges, by first appearance.
  NodeIndex(const char* name, nb::handle src, nb::handle dst);

  const std::string& origin() const { return origin_; }
  const nb::object& labels() const { return labels_; }
  int64_t size() const { return ids_ ? ids_->size() : 0; }
  /// Whether nodes have other names than their numbers.
  bool named() const { return named_; }
  /// Nodes [K] by their labels; integers as they are unless named(). Throws naming labels of no node.
  Tensor find(const char* name, nb::handle labels) const;
  /// Sets a dataset's node_ids or node_names.
  void move_to(Dataset& data) {
    if (named_) ids_->move_to(data);
  }

 private:
  std::string origin_;
  nb::object labels_ = nb::none();
  std::optional<NodeIds> ids_;
  bool named_ = false;
};

/// The ends of edges and, of a table, their weights, before nodes are found by their names.
struct EdgeEnds {
  nb::object src, dst;
  nb::object weight = nb::none();
  nb::object index = nb::none();  ///< of pandas
  bool of_table = false;
};
/// From a table by the names of its columns (data/import/edge_columns.h); (src, dst); [2, M]; a list of
/// pairs. Warns of what it guessed or passed over. `weighted`: weights are given elsewhere.
EdgeEnds edge_ends(const char* name, nb::handle object, bool weighted);

/// Sets labels, task and classes: of texts and categories, or integers [K], classes; of bools or uint8 [K, T]
/// several labels; of floats [K] or [K, T] targets of regression, unless `task` says otherwise.
void set_labels(Dataset& data, nb::handle object, const std::optional<std::string>& task, int64_t things);

}  // namespace adj::python
