#include <adjoint/autograd/index.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/models/options.h>
#include <adjoint/models/typed_input.h>
#include <adjoint/nn/detail/rank_rows.h>

namespace adj::models {

GraphSchema schema_of(int64_t in, const ModelOptions& options) {
  if (options.types.schema) return *options.types.schema;
  return {.nodes = {{"node", 1, in}}, .relations = {{"node", "edge", "node"}}};
}

TypedInput::TypedInput(const GraphSchema& schema, int64_t width) : types_(schema.nodes) {
  for (size_t t = 0; t < types_.size(); ++t)
    if (types_[t].features > 0)
      maps_.add(types_[t].features, width);
    else
      embeddings_.add(types_[t].count, width);
}

std::vector<const nn::Embedding*> TypedInput::tables() const {
  std::vector<const nn::Embedding*> tables;
  for (size_t k = 0; k < embeddings_.size(); ++k) tables.push_back(&embeddings_[k]);
  return tables;
}

Var TypedInput::operator()(const TypedFeatures& x) const {
  ADJ_CHECK(x.counts.size() == types_.size(), "features of {} types of nodes, expected {}", x.counts.size(),
            types_.size());
  // Of ranks, each has rows of all types, also none: their gradients are sums over all ranks.
  const bool of_rank = RankScope::by_parts() != nullptr && !x.whole();
  std::vector<Var> parts;
  size_t map = 0, embedding = 0;
  for (size_t t = 0; t < types_.size(); ++t) {
    const GraphSchema::Nodes& type = types_[t];
    const int64_t columns = x.x[t] ? x.x[t].size(1) : 0;
    ADJ_CHECK(columns == type.features, "nodes of type \"{}\" have {} features, expected {}", type.name,
              columns, type.features);
    if (columns > 0) {
      const nn::Linear& linear = maps_[map++];
      const Var rows(x.x[t].to(linear.weight.dtype()));  // those of files are float32
      if (of_rank)
        parts.push_back(
            nn::detail::rank_linear(rows, linear.weight, linear.bias, x.first_row(t), type.count));
      else if (x.counts[t] > 0)
        parts.push_back(linear(rows));
      continue;
    }
    const nn::Embedding& table = embeddings_[embedding++];
    ADJ_CHECK(!x.whole() || x.counts[t] == type.count,
              "{} nodes of type \"{}\", expected the {} that have an embedding", x.counts[t], type.name,
              type.count);
    if (x.whole())
      parts.push_back(table.weight);
    else if (of_rank || x.counts[t] > 0)
      parts.push_back(table(x.numbers.rows(x.first_row(t), x.first_row(t + 1)), x.distinct));
  }
  ADJ_CHECK(!parts.empty(), "features of no node");
  if (!x.whole()) return interleave_rows(parts, x.order);
  return parts.size() == 1 ? parts.front() : cat(parts, 0);
}

}  // namespace adj::models
