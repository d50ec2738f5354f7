#include <adjoint/core/log.h>
#include <adjoint/data/feature_summary.h>
#include <adjoint/training/at_place.h>
#include <adjoint/training/edge_inputs.h>
#include <adjoint/training/loader.h>

#include <algorithm>

namespace adj::training {

namespace {

using models::EdgeWeights;

/// "; --model gine uses them": another model of the program that does; empty if none does.
std::string other_model(const Settings& o, bool models::EdgeSupport::*what) {
  models::ModelOptions other = o.model;
  for (const std::string& name : o.family.models) {
    other.model = name;
    if (o.family.edge_support(other).*what) return fmt::format("; --model {} uses it", name);
  }
  return "";
}

/// Says that something in the file is not used, or throws with --edge-… error.
void leave(const std::string& text, EdgeUse use, const std::string& file, const char* option,
           const std::string& advice) {
  if (use == EdgeUse::error) data_fail("{}: {} (--{} error){}", file, text, option, advice);
  if (use == EdgeUse::use) log_warning("{}{}", text, advice);
}

EdgeWeights choose_weights(const Settings& o, const models::EdgeSupport& can, const Dataset& data,
                           const std::string& file) {
  const std::string& model = o.model.model;
  const std::shared_ptr<LoaderChoice> loader = o.batches.chosen();
  const EdgeUse use = o.data.edge_weights;
  if (use == EdgeUse::attribute && !can.attributes)
    usage_fail("--edge-weights attribute: {} takes no edge attributes{}", model,
               other_model(o, &models::EdgeSupport::attributes));
  if (use == EdgeUse::attribute && !data.graph.edge_weight())
    data_fail("{}: edges/weight: missing, --edge-weights attribute needs weights", file);
  if (!data.graph.edge_weight() || use == EdgeUse::ignore) return EdgeWeights::unused;
  if (use == EdgeUse::attribute) {
    log_info("edges/weight: the last of {}'s edge attributes, unscaled", model);
    return EdgeWeights::attribute;
  }
  if (can.weights) {
    check_weights(data.graph, file, loader != nullptr, "; --edge-weights ignore trains as if all were 1");
    log_info("edges/weight: used by {} as factors of its sums; --edge-weights ignore leaves them out", model);
    return EdgeWeights::used;
  }
  leave(fmt::format("edges/weight is not used by {}{}", model,
                    loader && loader->draws_by_weight() ? ", only for sampling" : ""),
        use, file, "edge-weights",
        can.attributes ? "; --edge-weights attribute makes it one of the edges' attributes"
                       : other_model(o, &models::EdgeSupport::weights));
  return EdgeWeights::unused;
}

int64_t choose_attributes(const Settings& o, const models::EdgeSupport& can, const Dataset& data,
                          const std::string& file) {
  const std::string& model = o.model.model;
  const EdgeUse use = o.data.edge_attributes;
  const int64_t columns = models::edge_attribute_columns(data.graph);
  if (columns == 0 || use == EdgeUse::ignore) return 0;
  if (!can.attributes) {
    leave(fmt::format("edges/attr is not used by {}", model), use, file, "edge-attributes",
          other_model(o, &models::EdgeSupport::attributes));
    return 0;
  }
  log_info("edges/attr: {} column{}, used by {} unscaled; --edge-attributes ignore leaves them out", columns,
           columns == 1 ? "" : "s", model);
  if (const FeatureSummary summary = summary_of(Features(data.graph.edge_attr("attr")));
      summary.scales_differ())
    log_warning(
        "edges/attr: columns of very different scale, the largest value is {:.3g} in one and {:.3g} in "
        "another; they are not scaled",
        summary.least_scale, summary.largest_scale);
  return columns;
}

}  // namespace

void check_weights(const Graph& graph, const std::string& file, bool parts, const std::string& hint) {
  const std::vector<float> weight = graph.edge_weight().to_vector<float>();
  if (weight.empty()) return;
  if (std::all_of(weight.begin(), weight.end(), [](float w) { return w == 0.0f; }))
    log_warning("edges/weight: all are 0, so that no node has neighbours{}", hint);
  const auto negative = std::count_if(weight.begin(), weight.end(), [](float w) { return w < 0.0f; });
  if (negative == 0) return;
  const std::string found = fmt::format("{} of {} are negative", negative, weight.size());
  constexpr const char* kWhy = "GCN divides by the roots of degrees, the sums of a node's in-edges' weights";
  if (parts)
    data_fail("{}: edges/weight: {}; {}, which batches may make negative; expected none below 0{}", file,
              found, kWhy, hint);
  const auto src = graph.edge_index().src.to_vector<int32_t>(),
             dst = graph.edge_index().dst.to_vector<int32_t>();
  std::vector<double> degree(static_cast<size_t>(graph.num_nodes()), 1.0);  // an added self-loop
  for (size_t e = 0; e < src.size(); ++e)
    if (src[e] == dst[e]) degree[static_cast<size_t>(dst[e])] = 0.0;
  for (size_t e = 0; e < src.size(); ++e) degree[static_cast<size_t>(dst[e])] += double{weight[e]};
  const auto least = std::min_element(degree.begin(), degree.end());
  if (*least <= 0.0)
    data_fail(
        "{}: edges/weight: {}; {}, and that of node {} is {:.3g} with its self-loop; expected positive "
        "degrees{}",
        file, found, kWhy, least - degree.begin(), *least, hint);
  log_warning("edges/weight: {}; {}, which are positive here{}", found, kWhy, hint);
}

models::EdgeInputs choose_edge_inputs(const Settings& o, const Dataset& data, const std::string& file) {
  const models::EdgeSupport can = o.family.edge_support(o.model);
  if (can.needs_attributes && o.data.edge_attributes == EdgeUse::ignore &&
      o.data.edge_weights != EdgeUse::attribute)
    usage_fail("--edge-attributes ignore: {} needs edge attributes", o.model.model);
  models::EdgeInputs chosen;
  chosen.weights = choose_weights(o, can, data, file);
  chosen.attributes = choose_attributes(o, can, data, file);
  if (can.needs_attributes && chosen.width() == 0)
    data_fail("{}: edges/attr: missing, --model {} needs edge attributes{}", file, o.model.model,
              data.graph.edge_weight() ? "; --edge-weights attribute makes one of edges/weight" : "");
  return chosen;
}

void take_edge_inputs(Dataset& data, const std::string& file, const models::EdgeInputs& edges,
                      const models::EdgeSupport& support, const std::string& model) {
  const bool has_weights = static_cast<bool>(data.graph.edge_weight());
  const bool weighs = edges.weights == EdgeWeights::used && support.weights;
  if (weighs && has_weights) check_weights(data.graph, file, false, "");
  if (weighs && !has_weights) log_info("edges/weight: {} has none, all weigh 1", file);
  if (has_weights && !weighs && edges.weights != EdgeWeights::attribute)
    log_warning("edges/weight is not used by {}", model);
  if (edges.attributes == 0 && models::edge_attribute_columns(data.graph) > 0)
    log_warning("edges/attr is not used by {}", model);
  data.graph = at_place(file, "edges", [&] { return edges.apply(data.graph); });
}

}  // namespace adj::training
