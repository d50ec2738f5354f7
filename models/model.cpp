#include <adjoint/autograd/edge_mask.h>
#include <adjoint/core/error.h>
#include <adjoint/models/model.h>

namespace adj::models {

Var NodeModel::embeddings(const Graph&, const Features&) const {
  usage_fail("{}: has no hidden layer, whose output embeddings are", describe());
}

Var NodeModel::over(size_t, const Block&, const Var&) const {
  usage_fail("{}: needs the whole graph, got sampled blocks", describe());
}

void NodeModel::prepare(const Graph& graph) const {
  (void)graph.out_edges();
  (void)graph.relation().transposed_order();
}

Var NodeModel::input(const Features& x) const { return variable_of(x, parameters().front().dtype()); }

Var NodeModel::operator()(std::span<const Block> blocks, const Features& x) const {
  if (num_layers() == 0 || blocks.size() != num_layers())
    usage_fail("{}: {} blocks, expected {}", describe(), blocks.size(),
               num_layers() == 0 ? "a whole graph" : fmt::format("one for each of {} layers", num_layers()));
  Var y = input(x);
  for (size_t l = 0; l < blocks.size(); ++l) y = over(l, blocks[l], y);
  return y;
}

}  // namespace adj::models
