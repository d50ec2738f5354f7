#include <adjoint/autograd/activation.h>
#include <adjoint/core/error.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/models/typed_input.h>
#include <adjoint/nn/conv/hgt_conv.h>
#include <adjoint/nn/detail/rank_rows.h>

namespace adj::models {

namespace {

/// Heterogeneous graph transformer (Hu et al. 2020; PyG's example): inputs of each type mapped to one width,
/// with gelu; attention over all relations, with dropout behind each layer; and a linear map of the target's
/// nodes.
struct Hgt : NodeModel {
  Hgt(int64_t in, int64_t out, const ModelOptions& o)
      : schema(schema_of(in, o)),
        p(static_cast<float>(o.dropout)),
        first(this, "input", schema, o.hidden),
        last(this, "output", o.hidden, out) {
    const auto types = std::ssize(schema.nodes),
               relations = std::max<int64_t>(1, std::ssize(schema.relations));
    for (int64_t l = 0; l < o.layers; ++l)
      convs.add(o.hidden, o.hidden, types, relations, nn::HGTConvOptions{.heads = o.heads});
    name = fmt::format("HGT {} {} heads {} relations", dashed(widths_of(schema.num_features(), out, o)),
                       o.heads, schema.relations.size());
  }

  Var operator()(const Graph& graph, const Features& x) const override {
    const nn::Linear& map = last;
    return nn::detail::rank_linear(embeddings(graph, x), map.weight, map.bias);
  }
  Var embeddings(const Graph& graph, const Features& x) const override {
    const TypedFeatures& rows = x.typed();
    Var h = input(x);
    for (size_t l = 0; l < convs.size(); ++l) {
      const bool of_targets = l + 1 == convs.size() && rows.whole() && !graph.relation().is_rank_part();
      h = of_targets ? layer(l, edges_into_first(graph, rows.first_row(schema.targets)), h, rows.types)
                     : layer(l, graph, h, rows.types);
    }
    return h;
  }
  bool has_embeddings() const override { return true; }
  size_t num_layers() const override { return convs.size(); }
  Var over(size_t l, const Block& block, const Var& x) const override {
    const Var h = layer(l, block, x, types_of(block));
    return l + 1 == convs.size() ? last(h) : h;
  }
  /// Blocks tell types by the numbers of the training's nodes; other graphs may have more of them.
  bool exact_by_layers() const override { return false; }
  Var input(const Features& x) const override {
    return x.is_typed() ? gelu(first(x.typed())) : NodeModel::input(x);
  }
  void prepare_block(const Block& block) const override { (void)types_of(block); }
  bool sums_block_rows() const override { return false; }  // but over their types
  std::vector<const nn::Embedding*> tables() const override { return first.tables(); }
  std::string describe() const override { return name; }

  Var layer(size_t l, const nn::Structure& structure, const Var& x, const Tensor& types) const {
    return dropout(convs[l](structure, x, types), p);
  }
  /// int32 [sources], made once per block.
  Tensor types_of(const Block& block) const {
    struct Types {
      Tensor of_sources;
    };
    const auto make = [&] {
      std::vector<int32_t> bounds;
      for (const int64_t offset : schema.offsets()) bounds.push_back(static_cast<int32_t>(offset));
      Tensor types = Tensor::empty_like(block.src_nodes()), place = Tensor::empty_like(types);
      kernels::find_ranges({.index = block.src_nodes(),
                            .bounds = Tensor::from(bounds, block.device()),
                            .range = types,
                            .place = place});
      return std::make_unique<Types>(Types{types});
    };
    return block.relation().cache().get<Types>(make)->of_sources;
  }

  GraphSchema schema;
  float p;
  std::string name;
  nn::Child<TypedInput> first;
  nn::ModuleList<nn::HGTConv> convs{this, "convs"};
  nn::Child<nn::Linear> last;
};

void check_hgt(const ModelOptions& o) {
  if (o.hidden % o.heads != 0)
    usage_fail("--heads: {} heads share --hidden {}, expected a divisor of it", o.heads, o.hidden);
}

}  // namespace

ModelFamily hgt() {
  return {"train_hgt",
          {"hgt"},
          {model_option("heads", "heads of each layer, which share the width --hidden")},
          check_hgt,
          construct<Hgt>,
          {.hidden = 64, .dropout = 0.2, .heads = 4},
          false,
          {"hgt"}};
}

}  // namespace adj::models
