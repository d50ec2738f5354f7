#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/feature_summary.h>
#include <adjoint/graph/ranks/rank_edges.h>
#include <adjoint/models/node_features.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/loader.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace adj::training {

void replace_features(Dataset& data, const std::string& file, models::NodeFeatures kind,
                      const std::function<Features()>& features) {
  if (kind == models::NodeFeatures::file) return;
  const int64_t before = data.num_features();
  data.feature_names.clear();  // of columns that these replace
  data.encoder = {};
  data.x_in_file = {};
  data.x = at_place(file, "edges", features);
  log_info("node features: {}, {} column{}{}", name_of(kind), data.num_features(),
           data.num_features() == 1 ? "" : "s",
           before > 0 ? fmt::format("; they replace the {} of {}", before, printable(file)) : "");
}

void set_node_features(Dataset& data, const std::string& file, const models::ModelOptions& o) {
  const bool walks = o.node_features == models::NodeFeatures::random_walk;
  replace_features(data, file, o.node_features, [&] {
    return models::node_features(o.node_features, data.graph, walks ? o.walk_steps : 0);
  });
}

void append_positional(Dataset& data, const std::string& file, const models::ModelOptions& o) {
  const int64_t columns = models::positional_columns(o);
  if (columns == 0) return;
  std::string note;
  const Tensor encoding =
      at_place(file, "edges", [&] { return models::positional_encoding(data.graph, o, &note); });
  data.x = at_place(file, "nodes/x", [&] { return models::with_encoding(data.x, encoding); });
  log_info("positional encoding: {}, {} column{} beside the features{}", name_of(o.positional), columns,
           columns == 1 ? "" : "s", note);
}

void require_features(const Dataset& data, const std::string& file, const std::string& program) {
  if (data.num_features() == 0)
    data_fail("{}: nodes/x: {}, {} needs node features{}", file,
              data.x || data.x_in_file ? "no columns" : "missing", program,
              program.starts_with("train_")
                  ? "; --node-features constant, degree, one-hot-degree, random-walk or learned makes some"
                  : "");
}

Tensor training_rows(const Dataset& data, const Examples& examples) {
  if (examples.things == "nodes") return examples.train;
  if (examples.things != "graphs") return {};
  const int64_t* offsets = data.graph_offsets.data<int64_t>();
  std::vector<int32_t> rows;
  for (const int32_t g : examples.train.to_vector<int32_t>())
    for (int64_t node = offsets[g]; node < offsets[g + 1]; ++node) rows.push_back(static_cast<int32_t>(node));
  return Tensor::from(rows);
}

namespace {

using Scaling = FeatureScaling::Kind;

/// "age, income, score and 4 more"; numbers where columns have no names.
std::string listed_columns(const Dataset& data, const std::vector<int32_t>& columns) {
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (const int32_t k : columns)
    names.push_back(data.feature_names.empty() ? fmt::to_string(k)
                                               : data.feature_names[static_cast<size_t>(k)]);
  return detail::listed(names, kShown);
}

void log_unscaled(const FeatureSummary& x) {
  log_info("features: unscaled ({})", x.real_columns.empty() ? "all are 0"
                                      : x.sparse ? "sparse; --features-scaling real makes them dense"
                                                 : "words and categories of a table");
  if (x.scales_differ())
    log_warning(
        "features: columns of very different scale, the largest value is {:.3g} in one and {:.3g} in "
        "another; --features-scaling real equalises them",
        x.least_scale, x.largest_scale);
}

}  // namespace

FeatureScaling choose_scaling(const Dataset& data, const std::string& file, std::optional<Scaling> how,
                              const Tensor& train) {
  std::vector<int32_t> columns;
  Scaling kind = how.value_or(Scaling::none);
  if (!how || *how == Scaling::real) {
    const FeatureSummary x = data.x ? summary_of(data.x) : summary_of(data.x_in_file);
    columns = real_columns(x, data.encoder);
    if (!how) kind = FeatureScaling::automatic(x, data.encoder);
    if (!how && kind == Scaling::none) log_unscaled(x);
  }
  if (!how && kind == Scaling::rows)
    log_info("features: rows divided by their sums (bag of words); --features-scaling none leaves them");
  if (kind == Scaling::real)
    log_info("features: {} of {} columns standardised{}; --features-scaling none leaves them", columns.size(),
             data.num_features(), columns.empty() ? "" : fmt::format(" ({})", listed_columns(data, columns)));
  const bool standardizes = kind == Scaling::standard || kind == Scaling::real;
  if (standardizes && data.x && data.x.is_sparse())
    log_warning(
        "features: standard scaling makes sparse ones dense, {:.0f} MB",
        static_cast<double>(data.x.rows()) * static_cast<double>(data.x.cols()) * sizeof(float) / 0x1p20);
  return at_place(file, "nodes/x", [&] {
    const Scaling fitted = standardizes ? Scaling::standard : kind;
    const FeatureScaling all = data.x ? FeatureScaling::fit(fitted, data.x, train)
                                      : FeatureScaling::fit(fitted, data.x_in_file, train);
    return kind == Scaling::real ? all.restricted(columns) : all;
  });
}

void scale_features(Dataset& data, const std::string& file, const FeatureScaling& scaling) {
  if (scaling.kind() == Scaling::none) return;
  const auto require_finite = [&](const Tensor& x) {
    if (!optim::first_not_finite({{"x", x}}).empty())
      data_fail("{}: nodes/x: {} is not finite; --features-scaling none leaves it", file,
                scaling.kind() == Scaling::rows ? "a row divided by its sum" : "a scaled column");
  };
  if (data.x_in_file) {
    data.x_in_file = scaling.apply(data.x_in_file);
    data.x_in_file.for_blocks([&](int64_t, const Tensor& x) { require_finite(x); });
    return;
  }
  data.x = at_place(file, "nodes/x", [&] { return scaling.apply(data.x); });
  require_finite(data.x.is_sparse() ? data.x.sparse().values() : data.x.dense());
}

FeatureQuantization choose_quantization(const Dataset& data, const std::string& file, int64_t bits) {
  return at_place(file, "nodes/x", [&] { return FeatureQuantization::fit(static_cast<int>(bits), data.x); });
}

void log_clamped(const Dataset& data, const FeatureQuantization& quantization) {
  if (!quantization.quantizes()) return;
  const std::vector<int64_t> counts =
      data.x_in_file ? quantization.clamped(data.x_in_file) : quantization.clamped(data.x);
  int64_t all = 0;
  std::vector<int32_t> columns;
  for (size_t c = 0; c < counts.size(); ++c) {
    all += counts[c];
    if (counts[c] > 0) columns.push_back(static_cast<int32_t>(c));
  }
  if (all > 0)
    log_warning("features: {} number{} outside of the training's range become its ends in {} bits: in {}",
                all, all == 1 ? "" : "s", quantization.bits(), listed_columns(data, columns));
}

void quantize_features(Dataset& data, const FeatureQuantization& quantization) {
  if (!quantization.quantizes()) return;
  if (data.x_in_file) {
    data.x_in_file = quantization.apply(data.x_in_file);
    return;
  }
  const auto megabytes = [](const Features& x) { return static_cast<double>(x.bytes()) / 0x1p20; };
  const Features quantized = quantization.apply(data.x);
  log_info("features: {} bits per number, one range per column: {:.2f} MB instead of {:.2f} MB as {} ones",
           quantization.bits(), megabytes(quantized), megabytes(data.x),
           data.x.is_sparse() ? "sparse" : "dense");
  if (quantized.bytes() > data.x.bytes())
    log_warning(
        "features: sparse ones take less memory than {} bits per number; --features-bits 32 leaves them",
        quantization.bits());
  data.x = quantized;
}

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

/// Rows with the scales of all edges' attributes: these, or of a rank's edges the largest of each rank.
Tensor attribute_scales(const Graph& graph) {
  const Tensor& attr = graph.edge_attr("attr");
  const RankRows* rank = graph.rank();
  if (rank == nullptr) return attr;
  const int64_t columns = models::edge_attribute_columns(graph);
  std::vector<float> largest(static_cast<size_t>(columns), 0.0f);
  const float* x = attr.data<float>();
  for (int64_t k = 0; k < attr.numel(); ++k)
    largest[static_cast<size_t>(k % columns)] =
        std::max(largest[static_cast<size_t>(k % columns)], std::abs(x[k]));
  return rank->group.gather(Tensor::from(largest, {1, columns}));
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
  if (const FeatureSummary summary = summary_of(Features(attribute_scales(data.graph)));
      summary.scales_differ())
    log_warning(
        "edges/attr: columns of very different scale, the largest value is {:.3g} in one and {:.3g} in "
        "another; they are not scaled",
        summary.least_scale, summary.largest_scale);
  return columns;
}

/// Of the weights of a graph, or of all ranks' edges.
struct WeightCounts {
  int64_t all = 0, not_zero = 0, negative = 0;
  /// Sum of the weights of a node's in-edges and, if it has none, of a self-loop; and the first such node.
  double least_degree = std::numeric_limits<double>::infinity();
  int64_t least_node = 0;

  void add(const WeightCounts& other) {
    all += other.all, not_zero += other.not_zero, negative += other.negative;
    if (other.least_degree < least_degree) least_degree = other.least_degree, least_node = other.least_node;
  }
};

WeightCounts count_weights(const Graph& graph) {
  const Csr& edges = graph.in_edges();
  const Tensor& order = graph.relation().csr_order();
  const auto offsets = edges.offsets.to_vector<int64_t>();
  const auto sources = edges.indices.to_vector<int32_t>();
  const Tensor sorted = order ? detail::gather_edges(graph.edge_weight(), order) : graph.edge_weight();
  const auto weight = sorted.to_vector<float>();
  const RankRows* rank = graph.rank();
  WeightCounts counts{.all = std::ssize(weight)};
  for (const float w : weight) counts.not_zero += w != 0.0f, counts.negative += w < 0.0f;
  const int64_t begin = rank != nullptr ? rank->begin() : 0;
  const int64_t end = rank != nullptr ? rank->end() : graph.num_nodes();
  for (int64_t i = begin; i < end; ++i) {
    const auto first = offsets[static_cast<size_t>(i)], last = offsets[static_cast<size_t>(i) + 1];
    const bool loop =
        std::binary_search(sources.begin() + first, sources.begin() + last, static_cast<int32_t>(i));
    counts.add(
        {.least_degree = std::accumulate(weight.begin() + first, weight.begin() + last, loop ? 0.0 : 1.0),
         .least_node = i});
  }
  if (rank == nullptr) return counts;
  const auto number = [](int64_t n) { return static_cast<double>(n); };  // exact
  const auto all = rank->group
                       .gather(Tensor::from(std::vector{number(counts.all), number(counts.not_zero),
                                                        number(counts.negative), counts.least_degree,
                                                        number(counts.least_node)})
                                   .reshape({1, 5}))
                       .to_vector<double>();
  WeightCounts sums;
  const auto count = [&](size_t k) { return static_cast<int64_t>(all[k]); };
  for (size_t k = 0; k < all.size(); k += 5)
    sums.add({count(k), count(k + 1), count(k + 2), all[k + 3], count(k + 4)});
  return sums;
}

}  // namespace

void check_weights(const Graph& graph, const std::string& file, bool parts, const std::string& hint) {
  const WeightCounts w = count_weights(graph);
  if (w.all == 0) return;
  if (w.not_zero == 0) log_warning("edges/weight: all are 0, so that no node has neighbours{}", hint);
  if (w.negative == 0) return;
  const std::string found = fmt::format("{} of {} are negative", w.negative, w.all);
  constexpr const char* kWhy = "GCN divides by the roots of degrees, the sums of a node's in-edges' weights";
  if (parts)
    data_fail("{}: edges/weight: {}; {}, which batches may make negative; expected none below 0{}", file,
              found, kWhy, hint);
  if (w.least_degree <= 0.0)
    data_fail(
        "{}: edges/weight: {}; {}, and that of node {} is {:.3g} with its self-loop; expected positive "
        "degrees{}",
        file, found, kWhy, w.least_node, w.least_degree, hint);
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

void take_edge_inputs(Dataset& data, const std::string& file, const ModelDescription& model,
                      const models::EdgeSupport& support) {
  const models::EdgeInputs& edges = model.edges;
  const auto log_unused = [&](std::string_view what, const char* option) {
    const auto use = model.facts.find(option);
    if (use == model.facts.end() || use->second != name_of(EdgeUse::ignore))
      log_warning("edges/{} is not used by {}", what, model.options.model);
  };
  const bool has_weights = static_cast<bool>(data.graph.edge_weight());
  const bool weighs = edges.weights == EdgeWeights::used && support.weights;
  if (weighs && has_weights) check_weights(data.graph, file, false, "");
  if (weighs && !has_weights) log_info("edges/weight: {} has none, all weigh 1", file);
  if (has_weights && !weighs && edges.weights != EdgeWeights::attribute)
    log_unused("weight", "option.edge-weights");
  if (edges.attributes == 0 && models::edge_attribute_columns(data.graph) > 0)
    log_unused("attr", "option.edge-attributes");
  data.graph = at_place(file, "edges", [&] { return edges.apply(data.graph); });
}

}  // namespace adj::training
