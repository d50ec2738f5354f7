#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/graph/detail/row_parts.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/nn/detail/rank_rows.h>

#include <numeric>
#include <optional>
#include <vector>

namespace adj::nn::detail {

namespace {

int64_t local_rows(const RankRows& rank) { return rank.end() - rank.begin(); }

/// The scope's rank if its sums go by parts and x has its rows.
const RankRows* rank_of(const Var& x) {
  const RankRows* rank = RankScope::by_parts();
  return rank != nullptr && x.size(0) == local_rows(*rank) ? rank : nullptr;
}

/// Rows [first, first + count) as one group, made once in the scope.
RowGroups one_group(const RankRows& rank, int64_t first, int64_t count, int64_t all) {
  struct Range {
    RowGroups groups;
  };
  return RankScope::cache()
      .get<Range>((first << 32) + count,
                  [&] {
                    const std::vector<int64_t> offsets{0, count};
                    return new Range{{.offsets = Tensor::from(offsets, rank.group.device()),
                                      .parts = adj::detail::row_parts(rank, first, first + count, all)}};
                  })
      ->groups;
}

Var product(const Var& x, const Var& weight, const Var& bias, const RowGroups& groups) {
  return grouped_linear(x, reshape(weight, {1, weight.size(0), weight.size(1)}), groups,
                        bias ? reshape(bias, {1, bias.size(0)}) : Var());
}

}  // namespace

Var rank_linear(const Var& x, const Var& weight, const Var& bias) {
  const RankRows* rank = rank_of(x);
  if (rank == nullptr) return linear(x, weight, bias);
  return product(x, weight, bias, one_group(*rank, 0, x.size(0), rank->cut.rows()));
}

Var rank_linear(const Var& x, const Var& weight, const Var& bias, int64_t first, int64_t all) {
  const RankRows* rank = RankScope::by_parts();
  if (rank == nullptr) return linear(x, weight, bias);
  return product(x, weight, bias, one_group(*rank, first, x.size(0), all));
}

Var rank_bias(const Var& y, const Var& bias) {
  if (!bias) return y;
  if (rank_of(y) == nullptr) return y + bias;
  const Var ones(Tensor::full({y.size(0), 1}, 1.0, y.dtype(), y.device()));
  return y + rank_linear(ones, reshape(bias, {1, bias.size(0)}));
}

RowGroups rank_groups(const TypedRows& rows, const Tensor& types) {
  RowGroups groups{rows.offsets, {}, rows.rows};
  const RankRows* rank = RankScope::by_parts();
  if (rank == nullptr || types.size(0) != local_rows(*rank)) return groups;
  struct ByType {
    Tensor types;  // held: no other has its storage
    std::shared_ptr<const adj::detail::RowParts> parts;
  };
  groups.parts =
      RankScope::cache()
          .get<ByType>(
              static_cast<int64_t>(types.storage_id()),
              [&] {
                const auto offsets = rows.offsets.to_vector<int64_t>();
                std::vector<int32_t> nodes(static_cast<size_t>(types.numel()));
                std::iota(nodes.begin(), nodes.end(), 0);
                if (rows.rows) nodes = rows.rows.to_vector<int32_t>();
                return new ByType{types, adj::detail::row_parts(*rank, offsets, nodes, rank->cut.rows())};
              })
          ->parts;
  return groups;
}

}  // namespace adj::nn::detail
