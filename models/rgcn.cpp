#include <adjoint/core/option_check.h>
#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/models/typed_input.h>
#include <adjoint/nn/conv/one_hot_rgcn_conv.h>
#include <adjoint/nn/conv/rgat_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>

namespace adj::models {

namespace {

/// TypedModelOptions::inputs; R-GCN alone has one-hot nodes. Throws UsageError for such nodes with features.
bool takes_one_hot(const GraphSchema& schema, const ModelOptions& o) {
  constexpr double kMost = 1 << 26;
  if (o.types.inputs == TypedInputs::embedding || o.model == "rgat") return false;
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

/// Relational convolutions with relu and dropout between them, over nodes of several types. The last one of a
/// whole graph is computed for the target types' nodes only.
template <class Conv>
struct Relational : NodeModel {
  Relational(int64_t in, const ModelOptions& o)
      : schema(schema_of(in, o)),
        one_hot(takes_one_hot(schema, o)),
        p(static_cast<float>(o.dropout)),
        norms(this, o) {}

  int64_t num_relations() const { return std::max<int64_t>(1, std::ssize(schema.relations)); }
  /// "12 relations, 30 bases batch-norm"
  std::string describe_relations(const ModelOptions& o) const {
    return fmt::format("{} relations{}{}", schema.relations.size(),
                       o.types.bases > 0 ? fmt::format(", {} bases", o.types.bases) : "",
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
  void prepare(const Graph& graph) const override { prepare_first(graph); }
  void prepare_block(const Block& block) const override { prepare_first(block); }
  bool sums_block_rows() const override { return false; }  // but over their types
  void prepare_first(const nn::Structure& structure) const {
    if constexpr (requires { convs[0].prepare(structure); })
      if (!convs.empty()) convs[0].prepare(structure);
  }
  std::vector<const nn::Embedding*> tables() const override {
    return one_hot ? std::vector<const nn::Embedding*>() : input_map->tables();
  }
  std::string describe() const override { return name; }

  /// The output of the first `layers` layers; of the last one, on a whole graph, for the targets.
  Var through(size_t layers, const Graph& graph, const Features& x) const {
    const TypedFeatures& rows = x.typed();
    Var h = input(x);
    for (size_t l = 0; l < layers; ++l) {
      const bool of_targets = l + 1 == num_layers() && rows.whole() && !graph.relation().is_rank_part();
      const Tensor numbers = l > 0 || !one_hot ? Tensor() : rows.joint;
      // Moved, so that a layer need not hold its input while it makes its output.
      if (!of_targets) {
        h = layer(l, graph, std::move(h), numbers);
        continue;
      }
      const Block& block = edges_into_first(graph, rows.first_row(schema.targets));
      if constexpr (requires { convs[0].share(graph, block); })
        if (convs.size() > 1) convs.back().share(graph, block);  // with the layer before
      h = layer(l, block, std::move(h), numbers);
    }
    return h;
  }
  Var layer(size_t l, const nn::Structure& structure, Var x, const Tensor& numbers) const {
    const size_t conv = l - (one_hot ? 1 : 0);
    const Var y =
        l == 0 && one_hot ? (*first)(structure, numbers) : convs[conv](structure, nn::Sides(std::move(x)));
    return l + 1 == num_layers() ? y : norms(l, y, Activation::relu, p, training());
  }

  GraphSchema schema;
  bool one_hot;
  float p;
  std::string name;
  std::optional<nn::Child<nn::OneHotRGCNConv>> first;
  std::optional<nn::Child<TypedInput>> input_map;
  nn::ModuleList<Conv> convs{this, "convs"};
  Norms norms;
};

/// R-GCN (Schlichtkrull et al. 2018).
struct Rgcn : Relational<nn::RGCNConv> {
  Rgcn(int64_t in, int64_t out, const ModelOptions& o) : Relational(in, o) {
    if (one_hot)
      first.emplace(this, "first", schema.num_nodes(), o.layers == 1 ? out : o.hidden, num_relations(),
                    nn::OneHotRGCNConvOptions{.bases = o.types.bases});
    else
      input_map.emplace(this, "input", schema, o.hidden);
    for (int64_t l = one_hot ? 1 : 0; l < o.layers; ++l)
      convs.add(o.hidden, l + 1 == o.layers ? out : o.hidden, num_relations(),
                nn::RGCNConvOptions{.bases = o.types.bases});
    for (int64_t l = 1; l < o.layers; ++l) norms.add(o.hidden);
    const std::string widths = dashed(widths_of(schema.num_features(), out, o));
    name = fmt::format("R-GCN {} {}", one_hot ? "one-hot" + widths.substr(1) : widths, describe_relations(o));
  }
};

/// R-GAT (Busbridge et al. 2019; PyG's example): concatenated heads in hidden layers, averaged in the last
/// one.
struct Rgat : Relational<nn::RGATConv> {
  Rgat(int64_t in, int64_t out, const ModelOptions& o) : Relational(in, o) {
    const int64_t width = o.heads * o.hidden;
    input_map.emplace(this, "input", schema, width);
    for (int64_t l = 1; l <= o.layers; ++l) {
      const bool last = l == o.layers;
      convs.add(width, last ? out : o.hidden, num_relations(),
                nn::RGATConvOptions{.bases = o.types.bases,
                                    .heads = o.heads,
                                    .concat = !last,
                                    .dropout = static_cast<float>(o.attention_dropout)});
      if (!last) norms.add(width);
    }
    name = fmt::format("R-GAT {} {}", dashed_heads(schema.num_features(), out, o), describe_relations(o));
  }
};

std::unique_ptr<Model> make_relational(int64_t in, int64_t out, const ModelOptions& o) {
  if (o.model == "rgat") return construct<Rgat>(in, out, o);
  return construct<Rgcn>(in, out, o);
}

void check_relational(const ModelOptions& o) {
  if (o.model != "rgat" && (o.heads != 1 || o.attention_dropout > 0.0))
    usage_fail("--{}: R-GCN has no attention, expected --model rgat",
               o.heads != 1 ? "heads" : "attention-dropout");
  if (o.model == "rgat" && o.types.inputs == TypedInputs::one_hot)
    usage_fail("--inputs one-hot: --model rgat has embeddings of nodes without features, expected embedding");
}

}  // namespace

ModelFamily rgcn() {
  return {"train_rgcn",
          {"rgcn", "rgat"},
          model_options({"bases", "inputs", "norm", "heads", "attention-dropout"}),
          check_relational,
          make_relational,
          {.hidden = 16, .dropout = 0.0},
          false,
          {"rgcn", "rgat"}};
}

}  // namespace adj::models
