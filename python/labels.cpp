#include "tables.h"
#include <adjoint/core/convert.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/label_classes.h>
#include <adjoint/training/examples.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

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

/// Whether there is none: None, NaN or pandas.NA.
bool is_absent(nb::handle value) {
  return value.is_none() || (nb::isinstance<nb::float_>(value) && std::isnan(nb::cast<double>(value))) ||
         nb::cast<std::string>(value.type().attr("__name__")) == "NAType";
}

/// int32 classes of texts and categories, in the order of label_classes() unless data.class_names has one.
Tensor text_classes(Dataset& data, nb::handle column) {
  nb::object values = nb::borrow(column);
  if (nb::hasattr(values, "cat") && has_index(values))  // pandas makes floats of integer categories with gaps
    values = values.attr("cat")
                 .attr("rename_categories")(nb::module_::import_("builtins").attr("str"))
                 .attr("astype")("object");
  const nb::list labels(to_numpy("y", values).attr("ravel")().attr("tolist")());
  std::map<std::string, int32_t> found;
  std::map<std::string, int64_t> none;
  std::vector<const std::string*> texts;
  std::vector<int32_t> y;
  for (nb::handle label : labels) {
    if (!is_absent(label) && !nb::isinstance<nb::str>(label))
      fail("y: {} at position {} of {}, expected text in every place, or numbers (astype)",
           nb::cast<std::string>(nb::repr(label)), y.size(), dtype_text(column));
    const std::string text = is_absent(label) ? "" : nb::cast<std::string>(label);
    if (data.class_names.empty() && is_missing_label(text)) {
      if (!text.empty()) ++none[text];
      y.push_back(-1);
      continue;
    }
    if (is_absent(label)) {
      y.push_back(-1);
      continue;
    }
    const auto [entry, fresh] = found.emplace(text, static_cast<int32_t>(found.size()));
    if (fresh) texts.push_back(&entry->first);
    y.push_back(entry->second);
  }
  for (const auto& [text, count] : none)
    warn(
        fmt::format("y: '{}' is taken for no label, {} time{}", excerpt(text), count, count == 1 ? "" : "s"));
  std::vector<int32_t> class_of;
  if (data.class_names.empty()) {
    LabelClasses classes = label_classes(texts);
    class_of = std::move(classes.class_of);
    data.classes = std::ssize(classes.names);
    if (classes.named) data.class_names = std::move(classes.names);
  } else {
    for (const std::string* text : texts) {
      const auto place = std::find(data.class_names.begin(), data.class_names.end(), *text);
      if (place == data.class_names.end()) fail("y: '{}', expected one of class_names", excerpt(*text));
      class_of.push_back(static_cast<int32_t>(place - data.class_names.begin()));
    }
  }
  for (int32_t& label : y)
    if (label >= 0) label = class_of[static_cast<size_t>(label)];
  return Tensor::from(y);
}

/// Integers of a column with gaps, which are floats, as classes: -1 for none. Absent if they are none.
Tensor with_gaps(nb::handle column) {
  const nb::object values = to_numpy("y", column);
  if (kind_of(values) != 'f' || nb::cast<int>(values.attr("ndim")) != 1) return {};
  const Tensor numbers = to_tensor("y", values.attr("astype")("float64"));
  std::vector<int64_t> classes;
  for (const double number : numbers.to_vector<double>()) {
    if (!std::isnan(number) && (number != std::floor(number) || std::abs(number) > 1e9)) return {};
    classes.push_back(std::isnan(number) ? -1 : static_cast<int64_t>(number));
  }
  return Tensor::from(classes);
}

/// Whether a column's own type is of integers, whatever NumPy makes of it.
bool has_integers(nb::handle column) {
  const std::string type = dtype_text(column);
  return type.find("int") != std::string::npos || type.find("Int") != std::string::npos;
}

/// The labels as numbers, those of texts and categories as classes.
Tensor numbered_labels(Dataset& data, nb::handle object, const std::optional<std::string>& task) {
  nb::object values = nb::borrow(object);
  if (Table::is_table(values)) {
    const Table table("y", values);
    values = table.size() == 1 ? table.column(0) : table.numbers(false);
    if (table.size() > 1 && table.named() && data.class_names.empty()) {
      data.class_names = table.names();
      data.classes = table.size();
    }
  }
  const bool classes =
      !task || training::labels_of(training::task_named("task", *task)) == training::Labels::classes;
  if (is_text(values)) {
    if (!classes) fail("y: {}, expected numbers for task {}", dtype_text(values), *task);
    return text_classes(data, values);
  }
  if (classes && (nb::hasattr(values, "__array__") || nb::isinstance<nb::list>(values)))
    if (const Tensor whole = with_gaps(values)) {
      if (task || has_integers(values)) return whole;
      const std::vector<int64_t> all = whole.to_vector<int64_t>();
      if (has_index(values) && std::find(all.begin(), all.end(), -1) != all.end())
        warn(
            "y: whole numbers with gaps are taken as targets of regression; task=\"node_class\" makes them "
            "classes");
    }
  return to_tensor("y", values);
}

}  // namespace

void set_labels(Dataset& data, nb::handle object, const std::optional<std::string>& task, int64_t things) {
  const Tensor labels = numbered_labels(data, object, task);
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

}  // namespace adj::python
