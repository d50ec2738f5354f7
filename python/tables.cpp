#include "tables.h"

#include <adjoint/core/text.h>
#include <adjoint/data/import/edge_columns.h>

#include <set>

namespace adj::python {

namespace {

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }
nb::object numpy(const char* function) { return nb::module_::import_("numpy").attr(function); }

/// Whether it is a list or a tuple.
bool is_list(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
}

/// [[a, b], [c, d]] is two edges or two rows; the same only if b is c.
void check_two_by_two(const char* name, nb::handle list) {
  const nb::object first = list[0], second = list[1];
  if (!is_list(first) || !is_list(second) || nb::len(first) != 2 || nb::len(second) != 2) return;
  const nb::object a = first[1], b = second[0];
  if (!a.equal(b))
    fail(
        "{}: [[a, b], [c, d]] may be two edges or a row of sources and one of targets, expected "
        "numpy.array([[a, b], [c, d]]) for rows, and its .T for edges",
        name);
}

EdgeEnds ends_in_table(const char* name, nb::handle object, bool weighted) {
  using Rule = EdgeColumns::Rule;
  const Table table(name, object);
  if (table.size() < 2)
    fail("{}: a table of {} column{}, expected sources and targets", name, table.size(),
         table.size() == 1 ? "" : "s");
  EdgeColumnNames chosen;
  if (weighted) chosen.weight = "none";
  EdgeColumns columns = edge_columns(table.names(), chosen, name);
  expect_one_weight(columns, table.names(), name, "edge_weight");
  if (columns.rule == Rule::none) columns.source = 0, columns.target = 1;
  const auto called = [&](int64_t k) { return excerpt(table.names()[static_cast<size_t>(k)]); };
  if (columns.two_kinds)
    fail(
        "{}: columns '{}' and '{}' may be ids of two kinds of nodes, expected ids of one kind, in 'source' "
        "and 'target'",
        name, called(columns.source), called(columns.target));
  const bool certain = columns.rule == Rule::known || columns.rule == Rule::alike;
  const int64_t used = columns.weight >= 0 ? 3 : 2;
  if (!certain || table.size() > used) {
    const std::string found = columns.str(table.names(), table.size());
    warn(fmt::format("{}: {}{}", name,
                     found.empty()
                         ? fmt::format("edges from {} to {}", called(columns.source), called(columns.target))
                         : found,
                     certain ? "" : "; no names as source and target say so"));
  }
  EdgeEnds ends{table.column(columns.source), table.column(columns.target)};
  if (columns.weight >= 0) ends.weight = table.column(columns.weight);
  if (has_index(object)) ends.index = object.attr("index");
  ends.of_table = true;
  return ends;
}

}  // namespace

bool Table::is_table(nb::handle object) {
  return nb::hasattr(object, "shape") && (nb::hasattr(object, "column_names") ||
                                          (nb::hasattr(object, "columns") && nb::hasattr(object, "dtypes")));
}

Table::Table(const char* name, nb::handle object) : name_(name), object_(nb::borrow(object)) {
  std::set<std::string> seen;
  const nb::object keys = object.attr(nb::hasattr(object, "column_names") ? "column_names" : "columns");
  for (nb::handle key : keys) {
    names_.push_back(text_of(key));
    if (!seen.insert(names_.back()).second)
      fail("{}: two columns '{}', expected distinct names", name, excerpt(names_.back()));
    named_ = named_ || !nb::isinstance<nb::int_>(key) || names_.back() != std::to_string(keys_.size());
    keys_.push_back(nb::borrow(key));
  }
}

nb::object Table::column(int64_t k) const { return object_[keys_[static_cast<size_t>(k)]]; }

nb::object Table::numbers(bool complete) const {
  nb::list columns;
  for (int64_t k = 0; k < size(); ++k) {
    const nb::object single = column(k);
    const std::string called = excerpt(names_[static_cast<size_t>(k)]);
    if (is_category(single))
      fail(
          "{}: column '{}' of categories ({}), expected numbers: pandas.get_dummies makes a column of 0 and "
          "1 for each category",
          name_, called, dtype_text(single));
    const nb::object values = to_numpy(name_, single);
    if (std::string("biuf").find(kind_of(values)) == std::string::npos)
      fail("{}: column '{}' of {}, expected numbers: drop it, or make numbers of it (pandas.get_dummies)",
           name_, called, dtype_text(single));
    if (complete && kind_of(values) == 'f')
      if (const nb::object missing = numpy("flatnonzero")(numpy("isnan")(values)); nb::len(missing) > 0)
        fail(
            "{}: column '{}' has no number in {} of {} rows, first row {}; expected all (fillna, or drop "
            "them)",
            name_, called, nb::len(missing), nb::len(values), text_of(nb::object(missing[0])));
    columns.append(values);
  }
  if (size() == 0) fail("{}: a table without columns, expected some", name_);
  return numpy("stack")(columns, nb::arg("axis") = 1);
}

std::string dtype_text(nb::handle column) {
  for (const char* member : {"dtype", "type"})
    if (nb::hasattr(column, member)) return text_of(nb::object(column.attr(member)));
  return text_of(to_numpy("", column).attr("dtype"));
}

bool is_category(nb::handle column) {
  for (const char* member : {"dtype", "type"})
    if (nb::hasattr(column, member)) {
      const std::string type = text_of(nb::object(column.attr(member)));
      for (const char* begin : {"category", "Categorical", "Enum", "dictionary"})
        if (type.starts_with(begin)) return true;
    }
  return false;
}

bool is_text(nb::handle column) {
  if (nb::hasattr(column, "__dlpack__") && !nb::hasattr(column, "__array__")) return false;
  if (!nb::hasattr(column, "__array_interface__") && is_category(column)) return true;
  if (!is_list(column) && !nb::hasattr(column, "__array__")) return false;
  try {
    const nb::object values = to_numpy("", column);
    return nb::cast<int64_t>(values.attr("size")) > 0 &&
           std::string("OUT").find(kind_of(values)) != std::string::npos;
  } catch (const nb::python_error&) {  // a GPU's
    return false;
  } catch (const nb::builtin_exception&) {
    return false;
  }
}

void warn(const std::string& text) {
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

EdgeEnds edge_ends(const char* name, nb::handle object, bool weighted) {
  if (Table::is_table(object)) return ends_in_table(name, object, weighted);
  nb::object array = nb::borrow(object);
  if (is_list(object)) {
    if (nb::len(object) == 2) {
      check_two_by_two(name, object);
      return {nb::object(object[0]), nb::object(object[1])};
    }
    array = to_numpy(name, object);
    const nb::object shape = array.attr("shape");
    if (nb::len(object) == 0) return {array.attr("astype")("int64"), array.attr("astype")("int64")};
    if (nb::len(shape) != 2 || nb::cast<int64_t>(shape[1]) != 2)
      fail("{}: a list of shape {}, expected pairs (source, target), or two lists: sources and targets", name,
           text_of(shape));
    array = array.attr("T");
  }
  if (is_text(array) && nb::cast<int>(array.attr("ndim")) == 2 && nb::len(array) == 2)
    return {nb::object(array[0]), nb::object(array[1])};
  const Tensor both = to_tensor(name, array);  // its rows become integers
  ADJ_CHECK(both && both.dims() == 2 && both.size(0) == 2, "{}: {}, expected [2, M], sources and targets{}",
            name, both.str(), both && both.dims() == 2 && both.size(1) == 2 ? " (.T of these pairs)" : "");
  const auto row = [&](int64_t k) { return to_array(both.rows(k, k + 1).reshape({both.size(1)})); };
  return {row(0), row(1)};
}

EdgeIndex to_edges(const char* name, nb::handle object) {
  const EdgeEnds ends = edge_ends(name, object, false);
  return {to_integers(name, ends.src), to_integers(name, ends.dst)};
}

}  // namespace adj::python
