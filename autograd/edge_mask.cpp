#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/edge_mask.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/neighbor_reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/core/error.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace adj {

namespace {

thread_local EdgeMask* current_mask = nullptr;
thread_local FeatureVariable* current_features = nullptr;

/// Ends of the edges of a relation on the host, and the edges by target, then source, then number.
struct SortedEnds {
  std::vector<int32_t> src, dst, order;

  explicit SortedEnds(const Relation& relation) {
    const EdgeIndex ends = relation.edge_index();
    src = ends.src.to_vector<int32_t>();
    dst = ends.dst.to_vector<int32_t>();
    order.resize(src.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int32_t e) { return ends_of(e); });
  }
  std::pair<int32_t, int32_t> ends_of(int32_t e) const {
    return {dst[static_cast<size_t>(e)], src[static_cast<size_t>(e)]};
  }
  bool is_loop(int32_t e) const { return src[static_cast<size_t>(e)] == dst[static_cast<size_t>(e)]; }
};

/// EdgeMask::places_in(); with `added_loops` the loops of neither side are matched. Empty if the edges
/// differ.
std::optional<std::vector<int32_t>> matched(const SortedEnds& mask, const SortedEnds& other,
                                            bool added_loops) {
  std::vector<int32_t> places(other.order.size());
  auto next = mask.order.begin();
  const auto skip_loops = [&] {
    while (added_loops && next != mask.order.end() && mask.is_loop(*next)) ++next;
  };
  for (const int32_t e : other.order) {
    int32_t& place = places[static_cast<size_t>(e)];
    if (added_loops && other.is_loop(e)) {
      place = static_cast<int32_t>(mask.order.size());
      continue;
    }
    skip_loops();
    if (next == mask.order.end() || mask.ends_of(*next) != other.ends_of(e)) return {};
    place = *next++;
  }
  skip_loops();
  if (next != mask.order.end()) return {};
  return places;
}

}  // namespace

EdgeMask::EdgeMask(Relation edges) : edges_(std::move(edges)), outer_(std::exchange(current_mask, this)) {}
EdgeMask::~EdgeMask() { current_mask = outer_; }

void EdgeMask::set(const Var& mask) {
  ADJ_CHECK(!mask || (mask.shape() == Shape{edges_.num_edges()} && mask.device() == edges_.device()),
            "EdgeMask: mask is {}, expected [{}] on {}", mask.value().str(), edges_.num_edges(),
            edges_.device().str());
  mask_ = mask;
}

Tensor EdgeMask::places_in(const char* op, const Relation& relation) {
  if (relation == edges_) return {};
  for (const auto& [seen, places] : places_)
    if (seen == relation) return places;
  const SortedEnds mine(edges_), other(relation);
  std::optional<std::vector<int32_t>> places;
  if (mine.order.size() == other.order.size()) places = matched(mine, other, false);
  if (!places) places = matched(mine, other, true);
  ADJ_CHECK(places, "{}: {} edges that are not the {} of the edge mask, which cannot be matched to them", op,
            relation.num_edges(), edges_.num_edges());
  places_.emplace_back(relation, Tensor::from(*places, relation.device()));
  return places_.back().second;
}

NoEdgeMask::NoEdgeMask() : outer_(std::exchange(current_mask, nullptr)) {}
NoEdgeMask::~NoEdgeMask() { current_mask = outer_; }
bool NoEdgeMask::in_force() { return current_mask == nullptr || !current_mask->mask(); }

FeatureVariable::FeatureVariable(Var x) : x_(std::move(x)), outer_(std::exchange(current_features, this)) {}
FeatureVariable::~FeatureVariable() { current_features = outer_; }

Var variable_of(const Features& x) { return variable_of(x, x.is_dense() ? x.dense().dtype() : DType::f32); }

Var variable_of(const Features& x, DType dtype) {
  if (current_features != nullptr && x.is_dense() &&
      x.dense().storage_id() == current_features->x_.value().storage_id()) {
    current_features->used_ = true;
    return cast(current_features->x_, dtype);
  }
  return Var(x.is_dense() ? x.dense().to(dtype) : x.to_dense().to(dtype));
}

namespace detail {

Var edge_mask(const char* op, const Relation& relation) {
  if (NoEdgeMask::in_force()) return {};
  const Var mask = current_mask->mask();
  const Tensor places = current_mask->places_in(op, relation);
  if (!places) return mask;
  return index_select(cat({mask, Tensor::full({1}, 1.0, mask.dtype(), mask.device())}), places);
}

namespace {

/// From edges to their targets: source e is edge e.
struct IntoTargets {
  Relation relation;
};
const Relation& into_targets(const Relation& relation) {
  const auto make = [&] {
    std::vector<int32_t> numbers(static_cast<size_t>(relation.num_edges()));
    std::iota(numbers.begin(), numbers.end(), 0);
    return new IntoTargets{Relation::from_coo(relation.num_edges(), relation.num_dst(),
                                              Tensor::from(numbers, relation.device()),
                                              relation.edge_index().dst)};
  };
  return relation.cache().get<IntoTargets>(make)->relation;
}

}  // namespace

Var reduce_masked(const Relation& relation, const Var& messages, const Var& mask,
                  const std::vector<Reduce>& reductions) {
  const NoEdgeMask of_messages;
  Shape column{mask.size(0), 1};
  if (messages.shape().dims() == 3) column = Shape{mask.size(0), 1, 1};
  const Var masked = messages * cast(reshape(mask, column), messages.dtype());
  const Relation& edges = into_targets(relation);
  return reductions.size() == 1 ? aggregate(edges, masked, {.reduce = reductions.front()})
                                : aggregate_all(edges, masked, reductions);
}

Var attend_masked(const Relation& relation, const Var& logits, const Var& values, const Var& mask) {
  const NoEdgeMask of_messages;
  const Var alpha = edge_softmax(relation, logits);
  return reduce_masked(relation,
                       values * cast(reshape(alpha, {alpha.size(0), alpha.size(1), 1}), values.dtype()), mask,
                       {Reduce::sum});
}

}  // namespace detail

}  // namespace adj
