#include <adjoint/core/option_check.h>
#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/models/typed_input.h>
#include <adjoint/nn/conv/one_hot_rgcn_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>

namespace adj::models {

namespace {

/// TypedModelOptions::inputs. Throws UsageError for one-hot nodes with features.
bool takes_one_hot(const GraphSchema& schema, const ModelOptions& o) {
  constexpr double kMost = 1 << 26;
  if (o.types.inputs == TypedInputs::embedding) return false;
  const double weights = static_cast<double>(schema.num_nodes()) *
                         static_cast<double>(std::max<int64_t>(1, std::ssize(schema.relations))) *
                         static_cast<double>(o.hidden);
  for (const GraphSchema::Nodes& type : schema.nodes) {
    if (type.features == 0 || !o.types.schema) continue;
    if (o.types.inputs == TypedInputs::one_hot)
      usage_fail("--inputs one-hot: nodes of type '{}' have features, expected embedding", type.name);
    return false;
  }
  return o.types.schema && (o.types.inputs == TypedInputs::one_hot || weights <= kMost);
}

/// R-GCN (Schlichtkrull et al. 2018): relational convolutions with relu and dropout between them, over nodes
/// of several types. The last one of a whole graph is computed for the target type's nodes only.
struct Rgcn : NodeModel {
  Rgcn(int64_t in, int64_t out, const ModelOptions& o)
      : schema(schema_of(in, o)),
        one_hot(takes_one_hot(schema, o)),
        bases(o.types.bases),
        p(static_cast<float>(o.dropout)),
        norms(this, o) {
    const int64_t relations = std::max<int64_t>(1, std::ssize(schema.relations));
    if (one_hot)
      first.emplace(this, "first", schema.num_nodes(), o.layers == 1 ? out : o.hidden, relations,
                    nn::OneHotRGCNConvOptions{.bases = bases});
    else
      input_map.emplace(this, "input", schema, o.hidden);
    for (int64_t l = one_hot ? 1 : 0; l < o.layers; ++l)
      convs.add(o.hidden, l + 1 == o.layers ? out : o.hidden, relations, nn::RGCNConvOptions{.bases = bases});
    for (int64_t l = 1; l < o.layers; ++l) norms.add(o.hidden);
    const std::string widths = dashed(widths_of(schema.num_features(), out, o));
    name = fmt::format("R-GCN {} {} relations{}{}", one_hot ? "one-hot" + widths.substr(1) : widths,
                       schema.relations.size(), bases > 0 ? fmt::format(", {} bases", bases) : "",
                       o.norm == Norm::none ? "" : fmt::format(" {}-norm", name_of(o.norm)));
  }

  Var operator()(const Graph& graph, const Features& x) const override {
    return through(num_layers(), graph, x);
  }
  Var embeddings(const Graph& graph, const Features& x) const override {
    if (num_layers() < 2) return NodeModel::embeddings(graph, x);
    return through(num_layers() - 1, graph, x);
  }
  size_t num_layers() const override { return convs.size() + (one_hot ? 1 : 0); }
  Var over(size_t l, const Block& block, const Var& x) const override {
    return layer(l, block, x, l == 0 ? block.src_nodes() : Tensor());
  }
  /// Of the types' nodes; other features are those of later layers.
  Var input(const Features& x) const override {
    if (!x.is_typed()) return NodeModel::input(x);
    return one_hot ? Var() : (*input_map)(x.typed());
  }
  void prepare(const Graph& graph) const override {
    NodeModel::prepare(graph);
    if (!convs.empty()) convs[0].prepare(graph);
  }
  void prepare_block(const Block& block) const override {
    if (!convs.empty()) convs[0].prepare(block);
  }
  std::vector<const nn::Embedding*> tables() const override {
    return one_hot ? std::vector<const nn::Embedding*>() : input_map->tables();
  }
  std::string describe() const override { return name; }

  /// The output of the first `layers` layers; of the last one, on a whole graph, for the target's nodes.
  Var through(size_t layers, const Graph& graph, const Features& x) const {
    const TypedFeatures& rows = x.typed();
    if (one_hot && graph.relation().is_rank_part())
      usage_fail(
          "--devices: conflicts with one-hot inputs, whose weights are of all nodes; expected "
          "--inputs embedding");
    Var h = input(x);
    for (size_t l = 0; l < layers; ++l) {
      const bool of_targets = l + 1 == num_layers() && rows.whole() && !graph.relation().is_rank_part();
      const Tensor numbers = l > 0 || !one_hot ? Tensor() : numbers_of(rows);
      h = of_targets ? layer(l, edges_into_first(graph, rows.counts.front()), h, numbers)
                     : layer(l, graph, h, numbers);
    }
    return h;
  }
  Var layer(size_t l, const nn::Structure& structure, const Var& x, const Tensor& numbers) const {
    const size_t conv = l - (one_hot ? 1 : 0);
    const Var y = l == 0 && one_hot ? (*first)(structure, numbers) : convs[conv](structure, x);
    return l + 1 == num_layers() ? y : norms(l, y, Activation::relu, p, training());
  }
  /// Numbers among all nodes of those of a batch; absent for all.
  Tensor numbers_of(const TypedFeatures& rows) const {
    if (rows.whole()) return {};
    const std::vector<int64_t> offsets = schema.offsets();
    const auto number = rows.numbers.to_vector<int32_t>(), order = rows.order.to_vector<int32_t>();
    std::vector<int32_t> numbers(order.size());
    for (size_t k = 0; k < order.size(); ++k) {
      size_t type = 0;
      while (rows.first_row(type + 1) <= order[k]) ++type;
      numbers[k] = static_cast<int32_t>(offsets[type]) + number[static_cast<size_t>(order[k])];
    }
    return Tensor::from(numbers, rows.device);
  }

  GraphSchema schema;
  bool one_hot;
  int64_t bases;
  float p;
  std::string name;
  std::optional<nn::Child<nn::OneHotRGCNConv>> first;
  std::optional<nn::Child<TypedInput>> input_map;
  nn::ModuleList<nn::RGCNConv> convs{this, "convs"};
  Norms norms;
};

}  // namespace

ModelFamily rgcn() {
  return {"train_rgcn",
          {"rgcn"},
          model_options({"bases", "inputs", "norm"}),
          nullptr,
          construct<Rgcn>,
          {.hidden = 16, .dropout = 0.0},
          false,
          true};
}

}  // namespace adj::models
