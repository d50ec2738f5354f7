#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/graph/detail/rank_pairs.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/detail/rank_rows.h>
#include <adjoint/nn/init.h>

#include <algorithm>

namespace adj::nn {

const Tensor& detail::edge_types(const char* layer, const Structure& structure, const Tensor& types) {
  if (types) return types;
  const EdgeAttributes& attributes = structure.edge_attributes();
  const auto found = attributes.find("type");
  ADJ_CHECK(found != attributes.end(),
            "{}: no types of edges, expected them as an argument or as the edge attribute \"type\"", layer);
  return found->second;
}

Shape detail::relation_maps(const char* layer, int64_t relations, int64_t in, int64_t out, int64_t bases,
                            int64_t blocks) {
  ADJ_CHECK(in > 0 && out > 0 && relations > 0 && bases >= 0 && blocks >= 0,
            "{}: expected positive widths and relations, got {} -> {}, {} relations, {} bases, {} blocks",
            layer, in, out, relations, bases, blocks);
  ADJ_CHECK(bases == 0 || blocks == 0, "{}: {} bases and {} blocks, expected one of them", layer, bases,
            blocks);
  if (blocks == 0) return {bases > 0 ? bases : relations, in, out};
  ADJ_CHECK(in % blocks == 0 && out % blocks == 0, "{}: {} -> {} features are not divisible by {} blocks",
            layer, in, out, blocks);
  return {relations, blocks, in / blocks, out / blocks};
}

Var detail::relation_matrices(const Var& weight, const Var& comp) {
  const int64_t in = weight.size(-2), out = weight.size(-1);
  if (!comp) return reshape(weight, {-1, in, out});
  return reshape(matmul(comp, reshape(weight, {weight.size(0), in * out})), {comp.size(0), in, out});
}

RGCNConv::RGCNConv(Widths in, int64_t out, int64_t relations, const RGCNConvOptions& options)
    : in_(in), out_(out), relations_(relations), options_(options) {
  ADJ_CHECK(in.dst > 0, "RGCNConv: expected positive widths, got {} of targets", in.dst);
  ADJ_CHECK(options.aggr == Reduce::mean || options.aggr == Reduce::sum, "RGCNConv: {}, expected mean or sum",
            adj::name_of(options.aggr));
  add_parameter("weight", weight,
                glorot_matrices(detail::relation_maps("RGCNConv", relations, in.src, out, options.bases,
                                                      options.blocks)));
  if (options.bases > 0) add_parameter("comp", comp, glorot_uniform(relations, options.bases));
  if (options.root_weight) add_parameter("root", root, glorot_uniform(in.dst, out));
  if (options.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

// Whether the means of pairs of targets are multiplied, not the sources: counts numbers that are read and
// written, and 16 multiplications as one.
bool RGCNConv::sums_first(int64_t sources, int64_t targets, int64_t edges, int64_t nodes) const {
  const auto in = static_cast<double>(in_.src), out = static_cast<double>(out_);
  const double row = in + out + in * out / static_cast<double>(16 * std::max<int64_t>(options_.blocks, 1));
  const auto times = [](int64_t count, double numbers) { return static_cast<double>(count) * numbers; };
  return times(targets, row + in + out) + times(edges, in) < times(sources, row) + times(edges + nodes, out);
}

// The same by bounds, for which no pairs are listed: a target has at most all types, and every further source
// of a sampled block has an edge. Enough for most blocks, of which each would take several sorts.
bool RGCNConv::surely_sums_first(const Relation& relation) const {
  const int64_t edges = relation.num_edges(), nodes = relation.num_dst();
  return sums_first(relation.num_src() - nodes, std::min(edges, relations_ * nodes), edges, nodes);
}

Var RGCNConv::neighbors(const Relation& relation, const Tensor& types, const Var& x) const {
  const Var matrices = detail::relation_matrices(weight, comp);
  const auto pairs = [&](EdgeEnd end) { return typed_pairs(relation, types, relations_, end); };
  const TypedPairs targets = pairs(EdgeEnd::target);
  if (surely_sums_first(relation) ||
      sums_first(pairs(EdgeEnd::source).picks.num_dst(), targets.picks.num_dst(), relation.num_edges(),
                 relation.num_dst())) {
    const Var sums = aggregate(targets.edges, x, {.reduce = options_.aggr});
    return aggregate(targets.picks.reversed(), grouped_linear(sums, matrices, {targets.offsets}));
  }
  AggregateOptions sum;
  if (options_.aggr == Reduce::mean)
    sum.weight = typed_mean_weights(relation, types, relations_, accumulator_dtype(x.dtype()));
  const TypedPairs sources = pairs(EdgeEnd::source);
  return aggregate(sources.edges, grouped_linear(x, matrices, {sources.offsets, sources.picks}), sum);
}

std::shared_ptr<const TypedSlots> RGCNConv::slots_of(const Relation& relation, const Tensor& types,
                                                     bool with_root) const {
  if (options_.blocks > 0 || relation.is_rank_part()) return nullptr;
  if (auto slots = typed_slots(relation, types, relations_, with_root)) return slots;
  // Fewer launches, and wider sums; few products of wide sources would be less work.
  const bool few = relation.num_edges() < kManyTypedEdges && in_.src <= 4 * out_;
  return few ? all_slots(relation, types, relations_, with_root) : nullptr;
}

// The targets' own features are those of a further type of edge, so that each is multiplied once.
Var RGCNConv::sum_slots(const TypedSlots& slots, const Relation& relation, Sides x, bool with_root) const {
  const Var matrices = detail::relation_matrices(weight, comp);
  const Var all = with_root ? cat({matrices, reshape(root, {1, in_.src, out_})}) : matrices;
  const Var sums = aggregate(slots.edges, x.src, {.reduce = options_.aggr});
  x = Sides(Var(), Var());
  return slot_linear(sums, all, slots, relation.num_dst(), bias);
}

Var RGCNConv::rank_neighbors(const Relation& part, const Tensor& types, const Var& x) const {
  const Var matrices = detail::relation_matrices(weight, comp);
  const auto edges = adj::detail::rank_typed_edges(part, types, relations_, accumulator_dtype(x.dtype()));
  const auto &sources = edges->sources, &targets = edges->targets;
  const bool means = options_.aggr == Reduce::mean;
  if (sums_first(sources.all_pairs, targets.all_pairs, edges->all_edges,
                 RankScope::innermost()->cut.rows())) {
    const Var sums = aggregate(targets.matrix(means), x);
    return aggregate(targets.picks.reversed(),
                     grouped_linear(sums, matrices, {.offsets = targets.offsets, .parts = targets.parts}));
  }
  return aggregate(
      sources.matrix(means),
      grouped_linear(x, matrices,
                     {.offsets = sources.offsets, .picks = sources.picks, .parts = sources.parts}));
}

Var RGCNConv::operator()(const Structure& structure, Sides x, const Tensor& types) const {
  const Tensor& of_edges = detail::edge_types("RGCNConv", structure, types);
  x = x.dense(*this).match("RGCNConv", structure);
  const Relation& relation = structure.relation();
  const bool with_root = root && x.dst;
  if (!with_root || x.targets_first())
    if (const auto slots = slots_of(relation, of_edges, with_root))
      return sum_slots(*slots, relation, std::move(x), with_root);
  const Var y = relation.is_rank_part() ? rank_neighbors(relation, of_edges, x.src)
                                        : neighbors(relation, of_edges, x.src);
  if (root && x.dst) return detail::rank_linear(x.dst, root, bias) + y;
  return detail::rank_bias(y, bias);
}

void RGCNConv::prepare(const Structure& structure, const Tensor& types) const {
  const Tensor& of_edges = detail::edge_types("RGCNConv", structure, types);
  const Relation& edges = structure.relation();
  if (edges.is_rank_part()) {
    (void)adj::detail::rank_typed_edges(edges, of_edges, relations_, accumulator_dtype(weight.dtype()));
    return;
  }
  if (const auto slots = slots_of(edges, of_edges, static_cast<bool>(root))) {
    if (options_.aggr == Reduce::mean) (void)adj::detail::mean_factors(slots->edges, weight.dtype());
    kernels::plan_rows({.a = slots->edges.csr()});
    kernels::plan_rows({.a = slots->edges.transposed()});
    return;
  }
  const bool targets_alone = surely_sums_first(edges);
  for (const EdgeEnd end : {EdgeEnd::target, EdgeEnd::source}) {
    if (targets_alone && end == EdgeEnd::source) return;
    const TypedPairs pairs = typed_pairs(edges, of_edges, relations_, end);
    (void)pairs.edges.transposed();
    (void)pairs.picks.transposed();
  }
  if (options_.aggr == Reduce::mean)
    (void)typed_mean_weights(edges, of_edges, relations_, accumulator_dtype(weight.dtype()));
}

void RGCNConv::share(const Structure& whole, const Structure& first) const {
  if (options_.blocks > 0 || whole.relation().is_rank_part()) return;
  share_slots(whole.relation(), detail::edge_types("RGCNConv", whole, {}), first.relation(),
              detail::edge_types("RGCNConv", first, {}), relations_, static_cast<bool>(root));
}

std::string RGCNConv::describe() const {
  return fmt::format("RGCNConv({} -> {}, {} relations)", in_.src, out_, relations_);
}

}  // namespace adj::nn
