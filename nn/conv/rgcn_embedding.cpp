#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/init.h>

#include <cmath>

namespace adj::nn {

RGCNEmbedding::RGCNEmbedding(const Structure& structure, int64_t out, int64_t relations,
                             const RGCNEmbeddingOptions& options, const Tensor& types)
    : out_(out), relations_(relations), options_(options) {
  const Relation& relation = structure.relation();
  ADJ_CHECK(out > 0 && options.bases >= 0, "RGCNEmbedding: expected a positive width, got {} and {} bases",
            out, options.bases);
  ADJ_CHECK(options.aggr == Reduce::mean || options.aggr == Reduce::sum,
            "RGCNEmbedding: {}, expected mean or sum", adj::name_of(options.aggr));
  const int64_t nodes = relation.num_src(), bases = options.bases;
  const TypedPairs pairs = typed_pairs(relation, detail::edge_types("RGCNEmbedding", structure, types),
                                       relations, EdgeEnd::source);
  const double bound = std::sqrt(6.0 / static_cast<double>(nodes + out));
  add_parameter("weight", weight,
                uniform(bases > 0 ? Shape{nodes, bases, out} : Shape{pairs.picks.num_dst(), out}, bound));
  if (bases > 0) add_parameter("comp", comp, glorot_uniform(relations, bases));
  if (options.root_weight) add_parameter("root", root, uniform({relation.num_dst(), out}, bound));
  if (options.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

Var RGCNEmbedding::operator()(const Structure& structure, const Tensor& types) const {
  const Relation& relation = structure.relation();
  const Tensor& of_edges = detail::edge_types("RGCNEmbedding", structure, types);
  ADJ_CHECK(!relation.is_rank_part(),
            "RGCNEmbedding: a rank's part of a graph, expected all of it on one device");
  const TypedPairs pairs = typed_pairs(relation, of_edges, relations_, EdgeEnd::source);
  const int64_t rows = comp ? relation.num_src() : pairs.picks.num_dst();
  ADJ_CHECK(weight.size(0) == rows && (!root || root.size(0) == relation.num_dst()),
            "RGCNEmbedding: {} {} and {} targets, but the layer has rows {} for those of another graph", rows,
            comp ? "nodes" : "pairs of a relation and a source", relation.num_dst(), weight.shape().str());
  AggregateOptions sum;
  if (options_.aggr == Reduce::mean)
    sum.weight = typed_mean_weights(relation, of_edges, relations_, accumulator_dtype(weight.dtype()));
  Var values = weight;
  if (comp) {
    // The pairs of a node are a group, with its rows of all bases as matrix: a pair takes its type's row of
    // a.
    const Csr& by_node = pairs.picks.transposed();
    values = grouped_linear(
        comp, weight, {by_node.offsets, typed_pair_picks(relation, of_edges, relations_), by_node.indices});
  }
  Var y = aggregate(pairs.edges, values, sum);
  if (root) y = y + root;
  return bias ? y + bias : y;
}

std::string RGCNEmbedding::describe() const {
  return fmt::format("RGCNEmbedding({} rows -> {}, {} relations)", weight.size(0), out_, relations_);
}

}  // namespace adj::nn
