#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/detail/npy_records.h>
#include <adjoint/data/detail/table_file.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/predictions.h>
#include <adjoint/data/reordered.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/order/orders.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace adj {

namespace {

using detail::Column;

float sigmoid(float score) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(score)))); }

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

/// Row k is row order[k] (int32 on the CPU; absent: k), on the CPU.
Tensor in_order(const Tensor& rows, const Tensor& order) {
  const Tensor host = rows.to(Device::cpu());
  return host && order ? detail::gather_edges(host, order) : host;
}

/// The rows of a file: nodes in their original order or those chosen, or graphs; and their names.
struct Rows {
  Tensor index;                 ///< int32: row k is row index[k] of the dataset; absent: k
  std::vector<int32_t> number;  ///< of the node or graph in row k; empty: k
  std::string group, word;      // in HDF5 files, and as the title of a column
  Tensor ids;
  detail::PackedNames names;

  explicit Rows(const Dataset& data, const Tensor& chosen = {}, bool of_graphs = false)
      : group(of_graphs ? "graphs" : "nodes"), word(of_graphs ? "graph" : "node") {
    const Tensor order = of_graphs ? Tensor() : data.order.to(Device::cpu());
    index = chosen ? chosen.to(Device::cpu()) : order ? inverse_order(order) : Tensor();
    if (chosen) number = (order ? detail::gather_edges(order, index) : index).to_vector<int32_t>();
    if (!of_graphs) {
      ids = in_order(data.node_ids, index);
      names = {data.node_names.to(Device::cpu()), data.node_name_offsets.to(Device::cpu())};
    } else if (!data.graph_names.empty()) {
      names = detail::packed(data.graph_names);
    }
    if (names.bytes && index) names = detail::gathered(names, index);
  }
  int32_t operator()(int64_t row) const {
    return number.empty() ? static_cast<int32_t>(row) : number[static_cast<size_t>(row)];
  }
  /// The column "node" or "graph".
  Column column() const {
    if (ids || names.bytes) return column(word, [](int64_t row) { return row; });
    return Column::of_numbers(word, [this](int64_t row) { return (*this)(row); });
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
  /// Ids and names for an HDF5 file.
  void append_to(std::vector<std::pair<std::string, Tensor>>& datasets) const {
    if (ids) datasets.emplace_back(group + "/id", ids);
    if (!names.bytes) return;
    datasets.emplace_back(group + "/name", names.bytes);
    datasets.emplace_back(group + "/name_offsets", names.offsets);
  }
};

/// Numbers of nodes before any reordering.
std::vector<int32_t> original_numbers(const Dataset& data, std::vector<int32_t> nodes) {
  if (!data.order) return nodes;
  const std::vector<int32_t> first = data.order.to_vector<int32_t>();
  for (int32_t& node : nodes) node = first[static_cast<size_t>(node)];
  return nodes;
}

/// For Column::of_numbers.
template <class T>
auto reader(const T* values) {
  return [values](int64_t row) { return values[row]; };
}

bool is_npy(const std::string& path) { return path.ends_with(".npy"); }
bool is_hdf5(const std::string& path) { return path.ends_with(".h5"); }

/// "probability_Theory", or "probability_3".
std::string titled(const std::string& what, const Predictions& p, int64_t column) {
  return what + "_" +
         (p.class_names.empty() ? std::to_string(column) : p.class_names[static_cast<size_t>(column)]);
}

/// A file of predictions: the datasets of HDF5, or the columns of a table.
struct Sheet {
  int64_t rows = 0;
  std::vector<std::pair<std::string, Tensor>> datasets = {};
  std::vector<Column> columns = {};

  /// Numbers of T [rows, *], whose column k is called title(k) in a table.
  template <class T, class Title>
  void add(const std::string& path, const Tensor& values, Title title) {
    datasets.emplace_back(path, values);
    for (int64_t k = 0; k < values.size(1); ++k)
      columns.push_back(Column::of_numbers(title(k), [column = values.data<T>() + k, width = values.size(1)](
                                                         int64_t row) { return column[row * width]; }));
  }
  /// A number for each row.
  template <class T>
  void add(const std::string& path, const std::string& title, const std::vector<T>& values) {
    const Tensor& numbers = datasets.emplace_back(path, Tensor::from(values)).second;
    columns.push_back(Column::of_numbers(title, reader(numbers.data<T>())));
  }
  /// Nodes at the ends of edges or pairs.
  void add_ends(const std::string& group, const std::vector<int32_t>& src, const std::vector<int32_t>& dst,
                const Rows& nodes, const Rows* targets = nullptr) {
    rows = std::ssize(src);
    for (const auto& [path, title, ends, names] :
         {std::tuple("/src", "source", &src, &nodes),
          {"/dst", "target", &dst, targets != nullptr ? targets : &nodes}}) {
      const Tensor& numbers = datasets.emplace_back(group + path, Tensor::from(*ends)).second;
      columns.push_back(names->column(title, reader(numbers.data<int32_t>())));
    }
  }
  /// Names, or numbers, of the rows.
  void add(const Rows& items) {
    if (!items.number.empty()) datasets.emplace_back(items.group + "/number", Tensor::from(items.number));
    columns.push_back(items.column());
  }
  void add(const Predictions& p) {
    const std::string group(word_for_split_items(p.task));
    const auto add_columns = [&]<class T>(const std::string& what, const std::string& title,
                                          const Tensor& values) {
      add<T>(group + "/" + what, values, [&](int64_t k) { return titled(title, p, k); });
    };
    if (has_targets(p.task)) {
      const bool alone = p.prediction.size(1) == 1 && p.class_names.empty();
      add<float>(group + "/prediction", p.prediction,
                 [&](int64_t k) { return alone ? "prediction" : titled("prediction", p, k); });
    } else if (p.task == Task::node_multilabel) {
      add_columns.template operator()<uint8_t>("prediction", "label", p.prediction);
    } else {
      datasets.emplace_back(group + "/prediction", p.prediction);
      const int32_t* found = p.prediction.data<int32_t>();
      columns.push_back(p.class_names.empty()
                            ? Column::of_numbers("class", [=](int64_t row) { return found[row]; })
                            : Column::of_texts("class", [&p, found](int64_t row) {
                                return std::string_view(p.class_names[static_cast<size_t>(found[row])]);
                              }));
    }
    for (const auto& [what, values] : {std::pair("probability", &p.probability), {"score", &p.score}})
      if (*values) add_columns.template operator()<float>(what, what, *values);
    if (p.class_names.empty()) return;
    const auto [bytes, offsets] = detail::packed(p.class_names);
    datasets.emplace_back(detail::class_names_path(p.task), bytes);
    datasets.emplace_back(detail::class_names_path(p.task) + "_offsets", offsets);
  }

  void write(const std::string& path, const std::string& program, const Dataset& data, std::string_view task,
             const Rows& names, bool escape_formulas) const {
    if (!is_hdf5(path)) return detail::write_table(path, columns, rows, escape_formulas);
    H5Writer file(path);
    file.attribute("", "format", std::string("adjoint.prediction"));
    file.attribute("", "version", int64_t{1});
    file.attribute("", "program", program);
    file.attribute("", "dataset", data.name);
    file.attribute("", "task", std::string(task));
    auto all = datasets;
    names.append_to(all);
    for (const auto& [place, values] : all) file.write(place, values);
    file.commit();
  }
};

}  // namespace

Predictions predictions_of(Task task, const Tensor& output, std::vector<std::string> class_names) {
  ADJ_CHECK(output && output.dims() == 2, "predictions: outputs {}, expected [E, T]", output.str());
  ADJ_CHECK(class_names.empty() || std::ssize(class_names) == output.size(1),
            "predictions: {} names for outputs {}, expected one for each column", class_names.size(),
            output.str());
  Predictions p{
      .task = task, .prediction = {}, .probability = {}, .score = {}, .class_names = std::move(class_names)};
  std::vector<float> values = output.to(DType::f32).to_vector<float>();
  if (has_targets(task)) {
    p.prediction = Tensor::from(values, output.shape());
    return p;
  }
  p.score = Tensor::from(values, output.shape());
  if (task == Task::node_multilabel) {
    std::vector<uint8_t> predicted(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      predicted[i] = values[i] > 0.0f ? 1 : 0;
      values[i] = sigmoid(values[i]);
    }
    p.prediction = Tensor::from(predicted, output.shape());
  } else {
    p.prediction = Tensor::from(softmax_rows(values, static_cast<size_t>(output.size(1))));
  }
  p.probability = Tensor::from(values, output.shape());
  return p;
}

void expect_predictions_path(const std::string& option, const std::string& path) {
  const bool records = option.ends_with("embeddings");
  if (!is_hdf5(path) && !detail::is_table(path) && !(records && is_npy(path)))
    usage_fail("--{}: expected FILE.csv, FILE.jsonl{} FILE.h5{}, got '{}'", option, records ? "," : " or",
               records ? " or FILE.npy" : "", path);
}

void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const Predictions& predictions, bool escape_formulas, const Tensor& chosen) {
  expect_predictions_path("predict", path);
  const bool of_graphs = is_of_graphs(predictions.task), of_edges = is_of_edges(predictions.task);
  ADJ_CHECK(!of_edges || !chosen, "predictions for edges: rows {}, expected none", chosen.str());
  const Rows rows(data, chosen, of_graphs);
  // Edges in the order of the list that the graph was made from.
  const Tensor listed = of_edges ? data.graph.input_order().to(Device::cpu()) : Tensor();
  const Tensor order = !of_edges ? rows.index : listed ? inverse_order(listed) : Tensor();
  Predictions p = predictions;
  for (Tensor* values : {&p.prediction, &p.probability, &p.score}) *values = in_order(*values, order);
  Sheet sheet{p.prediction.size(0)};
  if (of_edges) {
    const EdgeIndex ends = data.graph.edge_index();
    sheet.add_ends("edges", original_numbers(data, in_order(ends.src, order).to_vector<int32_t>()),
                   original_numbers(data, in_order(ends.dst, order).to_vector<int32_t>()), rows);
  } else {
    sheet.add(rows);
  }
  sheet.add(p);
  sheet.write(path, program, data, name_of(p.task), rows, escape_formulas);
}

void write_embeddings(const std::string& path, const std::string& program, const Dataset& data,
                      const Tensor& embeddings, bool of_graphs, bool escape_formulas, const Tensor& chosen) {
  expect_predictions_path("embeddings", path);
  const Rows rows(data, chosen, of_graphs);
  const Tensor values = in_order(embeddings, rows.index);
  if (is_npy(path)) {
    std::vector<int64_t> numbers;
    std::vector<std::string_view> texts;
    for (int64_t row = 0; row < values.size(0); ++row) {
      if (rows.names.bytes)
        texts.push_back(rows.names.text(row));
      else
        numbers.push_back(rows.ids ? rows.ids.data<int64_t>()[row] : rows(row));
    }
    return detail::write_npy_records(path, rows.word, numbers, texts, "embedding", values);
  }
  Sheet sheet{values.size(0)};
  sheet.add(rows);
  sheet.add<float>(rows.group + "/embedding", values,
                   [](int64_t k) { return fmt::format("embedding_{}", k); });
  sheet.write(path, program, data, "embedding", rows, escape_formulas);
}

void write_attention(const std::string& path, const std::string& program, const Dataset& data,
                     const AttentionWeights& attention, bool escape_formulas) {
  expect_predictions_path("attention", path);
  const Rows nodes(data);
  Sheet sheet;
  sheet.add_ends("edges", original_numbers(data, attention.edges.src.to_vector<int32_t>()),
                 original_numbers(data, attention.edges.dst.to_vector<int32_t>()), nodes);
  for (size_t l = 0; l < attention.layers.size(); ++l)
    sheet.add<float>(fmt::format("edges/layer_{}", l + 1), attention.layers[l],
                     [&](int64_t head) { return fmt::format("layer_{}_head_{}", l + 1, head + 1); });
  sheet.write(path, program, data, "attention", nodes, escape_formulas);
}

void write_predictions(const std::string& path, const std::string& program, const Dataset& data,
                       const LinkPredictions& links, bool escape_formulas, const Dataset* targets) {
  expect_predictions_path("predict", path);
  const Rows nodes(data);
  std::optional<Rows> others;
  Sheet sheet;
  if (targets != nullptr) {
    others.emplace(*targets);
    others->group = "targets";
    others->append_to(sheet.datasets);
  }
  sheet.add_ends("pairs", original_numbers(data, links.src),
                 original_numbers(targets != nullptr ? *targets : data, links.dst), nodes,
                 others ? &*others : nullptr);
  std::vector<float> probability;
  for (const float score : links.score) probability.push_back(sigmoid(score));
  if (links.label.empty()) sheet.add("pairs/probability", "probability", probability);
  sheet.add("pairs/score", "score", links.score);
  if (!links.label.empty()) sheet.add("pairs/label", "label", links.label);
  sheet.write(path, program, data, "link", nodes, escape_formulas);
}

}  // namespace adj
