#include <adjoint/data/detail/names.h>
#include <adjoint/data/detail/table_file.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/predictions.h>
#include <adjoint/data/reordered.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/order/orders.h>

#include <algorithm>
#include <cmath>

namespace adj {

namespace {

using detail::Column;

/// Softmax of each row, in-place; returns the argmax of each row.
std::vector<int32_t> softmax_rows(std::vector<float>& values, size_t columns) {
  std::vector<int32_t> best(values.size() / columns);
  for (size_t i = 0; i < best.size(); ++i) {
    float* row = values.data() + i * columns;
    const float* largest = std::max_element(row, row + columns);
    best[i] = static_cast<int32_t>(largest - row);
    const float top = *largest;
    double total = 0.0;
    for (size_t c = 0; c < columns; ++c) total += std::exp(static_cast<double>(row[c] - top));
    for (size_t c = 0; c < columns; ++c)
      row[c] = static_cast<float>(std::exp(static_cast<double>(row[c] - top)) / total);
  }
  return best;
}

/// Node names in original order.
struct NodeNames {
  Tensor ids;
  detail::PackedNames names;

  explicit NodeNames(const Dataset& data)
      : ids(data.node_ids.to(Device::cpu())),
        names{data.node_names.to(Device::cpu()), data.node_name_offsets.to(Device::cpu())} {
    if (!data.order) return;
    const Tensor back = inverse_order(data.order.to(Device::cpu()));
    if (ids) ids = detail::gather_edges(ids, back);
    if (names.bytes) names = detail::gathered(names, back);
  }
  /// A column of node names; node(row) is a node number.
  template <class F>
  Column column(std::string title, F node) const {
    if (ids)
      return Column::of_numbers(std::move(title), [numbers = ids.data<int64_t>(), node](int64_t row) {
        return numbers[node(row)];
      });
    if (names.bytes)
      return Column::of_texts(std::move(title), [this, node](int64_t row) { return names.text(node(row)); });
    return Column::of_numbers(std::move(title), node);
  }
  void write(H5Writer& file) const {
    if (ids) file.write("nodes/id", ids);
    if (!names.bytes) return;
    file.write("nodes/name", names.bytes);
    file.write("nodes/name_offsets", names.offsets);
  }
};

bool is_hdf5(const std::string& path) { return path.ends_with(".h5"); }

void describe(H5Writer& file, const std::string& program, const Dataset& data, std::string_view task) {
  file.attribute("", "format", std::string("adjoint.prediction"));
  file.attribute("", "version", int64_t{1});
  file.attribute("", "program", program);
  file.attribute("", "dataset", data.name);
  file.attribute("", "task", std::string(task));
}

/// "probability_Theory", or "probability_3".
std::string titled(const std::string& what, const Predictions& p, size_t column) {
  return what + "_" + (p.class_names.empty() ? std::to_string(column) : p.class_names[column]);
}

template <class T>
void add_columns(std::vector<Column>& columns, const std::string& what, const Predictions& p,
                 const Tensor& values) {
  const int64_t width = values.size(1);
  const bool alone = what == "prediction" && width == 1 && p.class_names.empty();
  for (int64_t k = 0; k < width; ++k)
    columns.push_back(Column::of_numbers(
        alone ? what : titled(what, p, static_cast<size_t>(k)),
        [column = values.data<T>() + k, width](int64_t row) { return column[row * width]; }));
}

/// Columns of predictions, in row order.
std::vector<Column> columns_of(const Predictions& p) {
  std::vector<Column> columns;
  if (p.task == Task::node_regression || p.task == Task::graph_regression) {
    add_columns<float>(columns, "prediction", p, p.prediction);
    return columns;
  }
  if (p.task == Task::node_multilabel) {
    add_columns<uint8_t>(columns, "label", p, p.prediction);
  } else {
    const int32_t* found = p.prediction.data<int32_t>();
    columns.push_back(p.class_names.empty()
                          ? Column::of_numbers("class", [=](int64_t row) { return found[row]; })
                          : Column::of_texts("class", [&p, found](int64_t row) {
                              return std::string_view(p.class_names[static_cast<size_t>(found[row])]);
                            }));
  }
  add_columns<float>(columns, "probability", p, p.probability);
  add_columns<float>(columns, "score", p, p.score);
  return columns;
}

}  // namespace

Predictions predictions_of(Task task, const Tensor& output, std::vector<std::string> class_names) {
  ADJ_CHECK(output && output.dims() == 2, "predictions: outputs {}, expected [E, T]", output.str());
  ADJ_CHECK(class_names.empty() || std::ssize(class_names) == output.size(1),
            "predictions: {} names for outputs {}, expected one for each column", class_names.size(),
            output.str());
  Predictions p{
      .task = task, .prediction = {}, .probability = {}, .score = {}, .class_names = std::move(class_names)};
  std::vector<float> values = output.to(DType::f32).to_vector<float>();
  if (task == Task::node_regression || task == Task::graph_regression) {
    p.prediction = Tensor::from(values, output.shape());
    return p;
  }
  p.score = Tensor::from(values, output.shape());
  if (task == Task::node_multilabel) {
    std::vector<uint8_t> predicted(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      predicted[i] = values[i] > 0.0f ? 1 : 0;
      values[i] = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(values[i]))));
    }
    p.prediction = Tensor::from(predicted, output.shape());
  } else {
    p.prediction = Tensor::from(softmax_rows(values, static_cast<size_t>(output.size(1))));
  }
  p.probability = Tensor::from(values, output.shape());
  return p;
}

void expect_predictions_path(const std::string& option, const std::string& path) {
  if (!is_hdf5(path) && !detail::is_table(path))
    usage_fail("--{}: expected FILE.csv, FILE.jsonl or FILE.h5, got '{}'", option, path);
}

void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const Predictions& predictions, bool escape_formulas) {
  expect_predictions_path("predict", path);
  const bool of_graphs = is_of_graphs(predictions.task);
  Predictions p = predictions;
  if (!of_graphs)
    for (Tensor* rows : {&p.prediction, &p.probability, &p.score})
      if (*rows) *rows = original_rows(*rows, data.order);
  const NodeNames names(data);
  if (is_hdf5(path)) {
    H5Writer file(path);
    describe(file, program, data, name_of(p.task));
    const std::string group = of_graphs ? "graphs" : "nodes";
    file.write(group + "/prediction", p.prediction);
    for (const auto& [name, rows] : {std::pair("/probability", &p.probability), {"/score", &p.score}})
      if (*rows) file.write(group + name, *rows);
    if (!p.class_names.empty()) detail::write_names(file, detail::class_names_path(p.task), p.class_names);
    if (!of_graphs) names.write(file);
    return file.commit();
  }
  const auto itself = [](int64_t row) { return row; };
  std::vector<Column> columns = columns_of(p);
  columns.insert(columns.begin(),
                 of_graphs ? Column::of_numbers("graph", itself) : names.column("node", itself));
  detail::write_table(path, columns, p.prediction.size(0), escape_formulas);
}

void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const LinkPredictions& links, bool escape_formulas) {
  expect_predictions_path("predict", path);
  LinkPredictions l = links;
  if (data.order) {
    const std::vector<int32_t> first = data.order.to_vector<int32_t>();
    for (std::vector<int32_t>* ends : {&l.src, &l.dst})
      for (int32_t& node : *ends) node = first[static_cast<size_t>(node)];
  }
  const NodeNames names(data);
  if (is_hdf5(path)) {
    H5Writer file(path);
    describe(file, program, data, "link");
    file.write("pairs/src", Tensor::from(l.src));
    file.write("pairs/dst", Tensor::from(l.dst));
    file.write("pairs/score", Tensor::from(l.score));
    file.write("pairs/label", Tensor::from(l.label));
    names.write(file);
    return file.commit();
  }
  const auto reader = [](const auto& values) {
    return [numbers = values.data()](int64_t row) { return numbers[row]; };
  };
  detail::write_table(
      path,
      {names.column("source", reader(l.src)), names.column("target", reader(l.dst)),
       Column::of_numbers("score", reader(l.score)), Column::of_numbers("label", reader(l.label))},
      std::ssize(l.src), escape_formulas);
}

}  // namespace adj
