#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>

#include <memory>

namespace adj {

namespace {

using detail::gather_edges;

/// What a tensor of types was when something was derived from it: the cache holds it, so that its storage is
/// not another's.
struct TypesSeen {
  Tensor types;
  uint64_t version;
  int64_t num_types;

  TypesSeen(const Tensor& tensor, int64_t count)
      : types(tensor), version(tensor.version()), num_types(count) {}
  void check(const Tensor& tensor, int64_t count) const {
    ADJ_CHECK(
        tensor.raw_data() == types.raw_data() && tensor.version() == version && count == num_types,
        "edge types: {} of {} types were modified, or are other rows of one tensor, since pairs were derived "
        "from them: expected a new tensor",
        tensor.str(), count);
  }
};
struct SeenPairs : TypesSeen {
  using TypesSeen::TypesSeen;
  TypedPairs pairs;
};
struct SeenWeights : TypesSeen {
  using TypesSeen::TypesSeen;
  Tensor weight;
};

/// A cache's parameter for this tensor, and one of a few `variants`.
int64_t parameter_of(const Tensor& types, int64_t num_types, int64_t variant) {
  return static_cast<int64_t>(types.storage_id()) * 2 + variant + (num_types << 40);
}

void check_types(const Relation& relation, const Tensor& types, int64_t num_types) {
  ADJ_CHECK(types && types.shape() == Shape{relation.num_edges()} && types.dtype() == DType::i32 &&
                types.device() == relation.device(),
            "edge types are {}, expected [{}] int32 on {}", types.str(), relation.num_edges(),
            relation.device().str());
  ADJ_CHECK(num_types >= 1 && num_types < (int64_t{1} << 20), "{} edge types, expected 1 to 2^20 - 1",
            num_types);
}

TypedPairs make_pairs(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end) {
  const Device device = relation.device();
  const int64_t edges = relation.num_edges();
  const bool of_source = end == EdgeEnd::source;
  Tensor first = Tensor::empty({}, DType::i64, device);
  kernels::first_outside({.index = types, .limit = num_types, .position = first});
  if (const int64_t bad = first.to_vector<int64_t>()[0]; bad < edges)
    fail("edge types: edge {} has type {}, expected [0, {})", bad,
         types.rows(bad, bad + 1).to_vector<int32_t>()[0], num_types);

  const auto [src, dst] = relation.edge_index();
  const int64_t nodes = of_source ? relation.num_src() : relation.num_dst();
  Csr by_type{num_types, nodes, Tensor::empty({num_types + 1}, DType::i64, device),
              Tensor::empty({edges}, DType::i32, device)};
  Tensor sorted = Tensor::empty({edges}, DType::i32, device), type = Tensor::empty_like(sorted);
  kernels::coo_to_csr({.row = types,
                       .col = of_source ? src : dst,
                       .cols = nodes,
                       .offsets = by_type.offsets,
                       .indices = by_type.indices,
                       .order = sorted});
  kernels::expand_rows({.a = by_type, .row = type});
  const Tensor starts = detail::places(kernels::PairTest::begins_run, type, by_type.indices);
  const int64_t pairs = starts.numel();
  const Tensor all = Tensor::from<int32_t>({static_cast<int32_t>(edges)}, device),
               last = Tensor::from<int32_t>({static_cast<int32_t>(pairs)}, device);
  // The pair of each sorted edge, and behind them, where types without edges begin, the number of pairs.
  Tensor pair = Tensor::empty({edges}, DType::i32, device);
  kernels::expand_rows(
      {.a = {pairs, edges, detail::concatenated(starts, all).to(DType::i64), by_type.indices}, .row = pair});
  const Tensor of_edge = gather_edges(pair, kernels::inverse_of(sorted, edges));

  TypedPairs result;
  result.offsets =
      gather_edges(detail::concatenated(pair, last), by_type.offsets.to(DType::i32)).to(DType::i64);
  result.picks = Relation::from_csr(
      {pairs, nodes, detail::iota(pairs + 1, device).to(DType::i64), gather_edges(by_type.indices, starts)});
  auto [csr, order] = of_source ? detail::sorted_edges(pairs, relation.num_dst(), {of_edge, dst})
                                : detail::sorted_edges(relation.num_src(), pairs, {src, of_edge});
  result.order = order ? order : detail::iota(edges, device);
  result.edges = Relation::from_csr(std::move(csr));
  return result;
}

}  // namespace

TypedPairs typed_pairs(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end) {
  check_types(relation, types, num_types);
  const auto found =
      relation.cache().get<SeenPairs>(parameter_of(types, num_types, static_cast<int64_t>(end)), [&] {
        auto seen = std::make_unique<SeenPairs>(types, num_types);
        seen->pairs = make_pairs(relation, types, num_types, end);
        return seen.release();
      });
  found->check(types, num_types);
  return found->pairs;
}

Tensor typed_mean_weights(const Relation& relation, const Tensor& types, int64_t num_types, DType dtype) {
  check_types(relation, types, num_types);
  const auto found =
      relation.cache().get<SeenWeights>(parameter_of(types, num_types, dtype == DType::f64 ? 1 : 0), [&] {
        const TypedPairs sources = typed_pairs(relation, types, num_types, EdgeEnd::source),
                         targets = typed_pairs(relation, types, num_types, EdgeEnd::target);
        Tensor mean = Tensor::empty({relation.num_edges()}, dtype, relation.device());
        kernels::edge_mean({.a = {targets.edges.csr(), {}, {}}, .y = mean});
        auto seen = std::make_unique<SeenWeights>(types, num_types);
        const Tensor place = kernels::inverse_of(targets.order, relation.num_edges());
        seen->weight = gather_edges(mean, gather_edges(place, sources.order));
        return seen.release();
      });
  found->check(types, num_types);
  return found->weight;
}

}  // namespace adj
