#include "inputs.h"

#include <adjoint/core/explain.h>
#include <adjoint/kernels/index/renumber.h>

#include <numeric>

namespace adj::apps {

void prepare_features(Dataset& data, const std::string& file, const std::string& program, bool normalize) {
  if (data.num_features() == 0)
    data_fail("{}: nodes/x: {}, {} needs node features", file,
              data.x || data.x_in_file ? "no columns" : "missing", program);
  if (!normalize) return;
  const auto require_finite = [&](const Tensor& x) {
    if (!optim::first_not_finite({{"x", x}}).empty())
      data_fail("{}: nodes/x: a row divided by its sum is not finite; --raw-features leaves it", file);
  };
  if (data.x_in_file) {
    data.x_in_file = data.x_in_file.row_normalized();
    data.x_in_file.for_blocks([&](int64_t, const Tensor& x) { require_finite(x); });
    return;
  }
  data.x = data.x.row_normalized();
  require_finite(data.x.is_sparse() ? data.x.sparse().values() : data.x.dense());
}

void set_precision(const Settings& settings) {
  if (settings.precision == "tf32") set_matmul_precision(MatmulPrecision::tf32);
}

DType feature_dtype(const Settings& settings) {
  return settings.precision == "bfloat16" ? DType::bf16 : DType::f32;
}

void print_explanations() {
  for (const std::string& line : explanations()) fmt::print("{}\n", line);
}

EdgeList::EdgeList(const Graph& graph, const ListUse& use, DType features)
    : nodes_(graph.num_nodes()),
      weight_(graph.edge_weight()),
      attributes_(graph.edge_attributes()),
      use_(use) {
  const EdgeIndex edges = graph.edge_index();
  src_ = edges.src;
  dst_ = edges.dst;
  if (graph.input_order()) {
    const Tensor place = kernels::inverse_of(graph.input_order(), src_.numel());
    for (Tensor* of_edges : {&src_, &dst_, &weight_})
      if (*of_edges) *of_edges = detail::gather_edges(*of_edges, place);
    attributes_ = detail::gather_attributes(attributes_, place);
  }
  scatters_ = use_.sums > 0 && relation().scatters(features);
}

Relation EdgeList::relation() const { return Relation::from_coo(nodes_, nodes_, src_, dst_, use_); }

Graph EdgeList::graph() const {
  if (scatters_) return Graph(relation(), weight_, attributes_);
  return Graph::from_coo(nodes_, src_, dst_, weight_, attributes_);
}

ListUse use_of_epoch(const NodeModel& model) {
  const std::vector<int64_t> widths = model.summed_widths();
  if (widths.empty()) return {};
  const auto layers = std::ssize(widths);
  // The features take no gradient, so that the first layer has hardly a backward sum; the evaluation has
  // none.
  return {.sums = 3 * layers - 1,
          .width = std::accumulate(widths.begin(), widths.end(), int64_t{0}) / layers,
          .backward = true};
}

void set_aggregation(const Settings& settings) {
  adj::set_aggregation(settings.aggregation == "reduce"    ? Aggregation::reduce
                       : settings.aggregation == "scatter" ? Aggregation::scatter
                                                           : Aggregation::automatic);
}

}  // namespace adj::apps
