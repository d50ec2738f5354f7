#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/rank_pairs.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/nn/conv/one_hot_rgcn_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/detail/rank_rows.h>
#include <adjoint/nn/init.h>

#include <limits>

namespace adj::nn {

/// The edges from rows r N + j of the weights to targets, and 1 / c of each.
struct OneHotRGCNConv::Rows {
  Relation edges;
  Tensor weight;
};

OneHotRGCNConv::OneHotRGCNConv(int64_t nodes, int64_t out, int64_t relations,
                               const OneHotRGCNConvOptions& options)
    : nodes_(nodes), out_(out), relations_(relations) {
  ADJ_CHECK(
      nodes > 0 && out > 0 && relations > 0 && nodes <= std::numeric_limits<int32_t>::max() / relations,
      "OneHotRGCNConv: {} nodes, {} relations and {} features, expected positive numbers, and fewer than "
      "2^31 rows of weights",
      nodes, relations, out);
  const int64_t bases = options.bases;
  const Tensor matrices = glorot_matrices(Shape{bases > 0 ? bases : relations, nodes, out});
  add_parameter(
      "weight", weight,
      bases > 0 ? matrices.reshape({bases, nodes * out}) : matrices.reshape({relations * nodes, out}));
  if (bases > 0) add_parameter("comp", comp, glorot_uniform(relations + 1, bases));
  if (bases == 0) add_parameter("root", root, glorot_uniform(nodes, out));
  if (options.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

const OneHotRGCNConv::Rows& OneHotRGCNConv::rows_of(const Structure& structure, const Tensor& numbers) const {
  const Relation& relation = structure.relation();
  const auto found = structure.edge_attributes().find("type");
  ADJ_CHECK(found != structure.edge_attributes().end(),
            "OneHotRGCNConv: the edges have no attribute \"type\", the relation of each");
  const Tensor& types = found->second;
  const auto make = [&] {
    const EdgeIndex edges = relation.edge_index();
    const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>(),
               type = types.to_vector<int32_t>();
    const std::vector<int32_t> number = numbers ? numbers.to_vector<int32_t>() : std::vector<int32_t>();
    ADJ_CHECK(numbers || relation.num_src() == nodes_, "OneHotRGCNConv: {} nodes, expected {}",
              relation.num_src(), nodes_);
    std::vector<int32_t> count(static_cast<size_t>(relation.num_dst() * relations_)), row(src.size());
    const auto pair = [&](size_t e) {
      return static_cast<size_t>(dst[e]) * static_cast<size_t>(relations_) + static_cast<size_t>(type[e]);
    };
    for (size_t e = 0; e < src.size(); ++e) {
      ADJ_CHECK(type[e] >= 0 && type[e] < relations_,
                "OneHotRGCNConv: edge {} is of relation {}, expected 0 to {}", e, type[e], relations_ - 1);
      const int32_t node = numbers ? number[static_cast<size_t>(src[e])] : src[e];
      row[e] = static_cast<int32_t>(type[e] * nodes_ + node);
      ++count[pair(e)];
    }
    std::vector<float> factor(src.size());
    for (size_t e = 0; e < src.size(); ++e) factor[e] = 1.0f / static_cast<float>(count[pair(e)]);
    const Device device = relation.device();
    return std::make_unique<Rows>(Rows{
        Relation::from_coo(relations_ * nodes_, relation.num_dst(), Tensor::from(row, device), edges.dst),
        Tensor::from(factor, device)});
  };
  return *relation.cache().get<Rows>(static_cast<int64_t>(types.storage_id()), make);
}

Tensor OneHotRGCNConv::rank_rows(const Relation& part, const Tensor& types, const Tensor& numbers) const {
  struct RankRowsOfTable {
    Tensor types, rows;
  };
  ADJ_CHECK(numbers && numbers.numel() == part.num_src(),
            "OneHotRGCNConv: {} nodes of a rank, expected their numbers", part.num_src());
  return part.cache()
      .get<RankRowsOfTable>(
          static_cast<int64_t>(types.storage_id()),
          [&] {
            const auto& pairs =
                adj::detail::rank_typed_edges(part, types, relations_, accumulator_dtype(weight.dtype()))
                    ->sources;
            const auto offsets = pairs.offsets.to_vector<int64_t>();
            const auto node = pairs.picks.csr().indices.to_vector<int32_t>(),
                       number = numbers.to_vector<int32_t>();
            std::vector<int32_t> rows;
            for (size_t r = 0; r + 1 < offsets.size(); ++r)
              for (auto k = static_cast<size_t>(offsets[r]); k < static_cast<size_t>(offsets[r + 1]); ++k)
                rows.push_back(static_cast<int32_t>(static_cast<int64_t>(r) * nodes_ +
                                                    number[static_cast<size_t>(node[k])]));
            return new RankRowsOfTable{types, Tensor::from(rows, part.device())};
          })
      ->rows;
}

Var OneHotRGCNConv::operator()(const Structure& structure, const Tensor& numbers) const {
  const Relation& relation = structure.relation();
  const int64_t all = relations_ * nodes_, targets = relation.num_dst();
  const bool of_rank = relation.is_rank_part();
  Var table = weight, root_rows = root;
  if (comp) {
    Var combined = reshape(matmul(comp, weight), {all + nodes_, out_});
    if (const RankRows* rank = of_rank ? RankScope::by_parts() : nullptr)
      combined = adj::detail::summed_on_first(rank->group, combined);
    table = narrow(combined, 0, 0, all);
    root_rows = narrow(combined, 0, all, nodes_);
  }
  const DType accumulator = accumulator_dtype(table.dtype());
  const auto sums = [&] {
    if (of_rank) {  // each row by the rank of its node, which alone has its gradient
      const Tensor& types = detail::edge_types("OneHotRGCNConv", structure, {});
      const auto edges = adj::detail::rank_typed_edges(relation, types, relations_, accumulator);
      return aggregate(edges->sources.matrix(true), index_select(table, rank_rows(relation, types, numbers)));
    }
    const Rows& rows = rows_of(structure, numbers);
    return aggregate(rows.edges, table, {.weight = Var(rows.weight.to(accumulator))});
  };
  const Var y = detail::rank_bias(sums(), bias);
  return y + (numbers ? index_select(root_rows, numbers.rows(0, targets)) : narrow(root_rows, 0, 0, targets));
}

void OneHotRGCNConv::prepare(const Structure& structure, const Tensor& numbers) const {
  if (structure.relation().is_rank_part()) return;  // its first pass, with the numbers of its nodes
  const Rows& rows = rows_of(structure, numbers);
  (void)rows.edges.transposed();
  (void)rows.edges.transposed_order();
}

std::string OneHotRGCNConv::describe() const {
  return fmt::format("OneHotRGCNConv({} nodes, {} relations -> {})", nodes_, relations_, out_);
}

}  // namespace adj::nn
