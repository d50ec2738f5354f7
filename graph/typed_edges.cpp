#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/detail/transposed.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/sparse/split_rows.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace adj {

namespace {

using detail::gather_edges;

/// What was derived from a tensor of types, and that tensor: the cache holds it, so that its storage is not
/// another's.
template <class T>
struct DerivedOfTypes {
  Tensor types;
  uint64_t version;
  T value;
};

/// The T derived from `types`, made by `make()` and cached with the relation; `variant` 0 or 1.
template <class T, class Make>
T derived(const Relation& relation, const Tensor& types, int64_t num_types, int64_t variant, Make&& make) {
  ADJ_CHECK(num_types >= 1 && num_types < (int64_t{1} << 20), "{} types, expected 1 to 2^20 - 1", num_types);
  using Derived = DerivedOfTypes<T>;
  const int64_t parameter = static_cast<int64_t>(types.storage_id()) * 2 + variant + (num_types << 40);
  const auto found = relation.cache().get<Derived>(parameter, [&] {
    return new Derived{types, types.version(), make()};
  });
  ADJ_CHECK(types.raw_data() == found->types.raw_data() && types.version() == found->version,
            "types {} were modified, or are other rows of a tensor, since something was derived from them: "
            "expected "
            "a new tensor",
            types.str());
  return found->value;
}

void check_types(const Relation& relation, const Tensor& types) {
  ADJ_CHECK(types && types.shape() == Shape{relation.num_edges()} && types.dtype() == DType::i32 &&
                types.device() == relation.device(),
            "edge types are {}, expected [{}] int32 on {}", types.str(), relation.num_edges(),
            relation.device().str());
}

/// Throws unless all are in range; synchronizes.
void check_range(const char* item, const Tensor& types, int64_t num_types) {
  Tensor first = Tensor::empty({}, DType::i64, types.device());
  kernels::first_outside({.index = types, .limit = num_types, .position = first});
  if (const int64_t bad = first.to_vector<int64_t>()[0]; bad < types.numel())
    fail("{} {} has type {}, expected [0, {})", item, bad, types.rows(bad, bad + 1).to_vector<int32_t>()[0],
         num_types);
}

/// By type, then node.
detail::SortedEdges sorted_by_type(const Tensor& types, int64_t num_types, const Tensor& nodes,
                                   int64_t count) {
  detail::SortedEdges sorted{{num_types, count, Tensor::empty({num_types + 1}, DType::i64, types.device()),
                              Tensor::empty_like(types)},
                             Tensor::empty_like(types)};
  kernels::coo_to_csr({.row = types,
                       .col = nodes,
                       .cols = count,
                       .offsets = sorted.csr.offsets,
                       .indices = sorted.csr.indices,
                       .order = sorted.order});
  return sorted;
}

TypedPairs make_pairs(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end) {
  const Device device = relation.device();
  const int64_t edges = relation.num_edges();
  const bool of_source = end == EdgeEnd::source;
  check_range("edge types: edge", types, num_types);

  const auto [src, dst] = relation.edge_index();
  const int64_t nodes = of_source ? relation.num_src() : relation.num_dst();
  const auto [by_type, sorted] = sorted_by_type(types, num_types, of_source ? src : dst, nodes);
  Tensor type = Tensor::empty({edges}, DType::i32, device), pair = Tensor::empty_like(type);
  kernels::expand_rows({.a = by_type, .row = type});
  const Tensor starts = detail::places(kernels::PairTest::begins_run, type, by_type.indices);
  const int64_t pairs = starts.numel();
  const auto number = [&](int64_t n) { return Tensor::from<int32_t>({static_cast<int32_t>(n)}, device); };
  const Csr runs{pairs, edges, detail::concatenated(starts, number(edges)).to(DType::i64), by_type.indices};
  kernels::expand_rows({.a = runs, .row = pair});  // of each sorted edge
  const Tensor of_edge = gather_edges(pair, kernels::inverse_of(sorted, edges));

  TypedPairs result;
  // Types at the end may have no edges: theirs begin behind the last pair.
  result.offsets =
      gather_edges(detail::concatenated(pair, number(pairs)), by_type.offsets.to(DType::i32)).to(DType::i64);
  result.picks = Relation::from_csr(
      {pairs, nodes, detail::iota(pairs + 1, device).to(DType::i64), gather_edges(by_type.indices, starts)});
  auto [csr, order] = of_source ? detail::sorted_edges(pairs, relation.num_dst(), {of_edge, dst})
                                : detail::sorted_edges(relation.num_src(), pairs, {src, of_edge});
  result.order = order ? order : detail::iota(edges, device);
  result.edges = Relation::from_csr(std::move(csr));
  return result;
}

constexpr size_t kMostProducts = 64;

/// First and last target of a type's edges; none if first > last.
struct TargetSpan {
  int64_t first, last = -1;
};

/// In the cache beside those of typed_slots().
struct AllSlots {
  std::shared_ptr<const TypedSlots> slots;
};

/// What slots are made of: by type the span of its targets, and the number of pairs.
struct TypeSpans {
  std::vector<TargetSpan> of_type;
  int64_t pairs = 0;

  TypeSpans(std::span<const int64_t> offsets, std::span<const int32_t> types, int64_t num_types, bool loops)
      : of_type(static_cast<size_t>(num_types), {std::ssize(offsets)}) {
    const int64_t targets = std::ssize(offsets) - 1;
    for (int64_t target = 0; target < targets; ++target)
      for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(target)]);
           e < static_cast<size_t>(offsets[static_cast<size_t>(target) + 1]); ++e) {
        TargetSpan& span = of_type[static_cast<size_t>(types[e])];
        span.first = std::min(span.first, target);
        if (std::exchange(span.last, target) != target) ++pairs;
      }
    if (!loops) return;
    of_type.push_back({0, targets - 1});
    pairs += targets;
  }

  std::vector<SlotRange> ranges() const {
    std::vector<int64_t> bounds;
    for (const auto& [first, last] : of_type)
      if (first <= last) bounds.insert(bounds.end(), {first, last + 1});
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    std::vector<SlotRange> ranges;
    int64_t slots = 0;
    for (size_t b = 0; b + 1 < bounds.size(); ++b) {
      SlotRange range{bounds[b], bounds[b + 1], slots, {}};
      for (size_t type = 0; type < of_type.size(); ++type)
        if (of_type[type].first <= range.begin && of_type[type].last >= range.end - 1)
          range.types.push_back(static_cast<int64_t>(type));
      slots += range.slots();
      if (!range.types.empty()) ranges.push_back(std::move(range));
    }
    return ranges;
  }
};

/// With its transpose, whose edges have no numbers: sums need none.
Relation with_transpose(Csr rows) {
  Csr columns = detail::transposed(rows);
  return Relation::from_both(std::move(rows), std::move(columns));
}

std::shared_ptr<const TypedSlots> make_slots(const Relation& relation, const Tensor& types, int64_t num_types,
                                             bool loops) {
  check_range("edge types: edge", types, num_types);
  const Csr& csr = relation.csr();
  const std::vector<int64_t> offsets = csr.offsets.to_vector<int64_t>();
  const std::vector<int32_t> type =
      (relation.csr_order() ? gather_edges(types, relation.csr_order()) : types).to_vector<int32_t>();
  const TypeSpans spans(offsets, type, num_types, loops);
  TypedSlots slots{spans.ranges(), {}};
  int64_t count = 0;
  size_t products = 0;
  for (const SlotRange& range : slots.ranges) {
    count += range.slots();
    products += range.types.size();
  }
  if (2 * count > 3 * spans.pairs || products > kMostProducts) return nullptr;
  std::vector<int32_t> slot(type.size());
  if (loops) slot.reserve(type.size() + static_cast<size_t>(relation.num_dst()));
  std::vector<int32_t> place(spans.of_type.size());
  for (const SlotRange& range : slots.ranges) {
    for (size_t k = 0; k < range.types.size(); ++k)
      place[static_cast<size_t>(range.types[k])] = static_cast<int32_t>(k);
    for (int64_t target = range.begin; target < range.end; ++target) {
      const int64_t first = range.first + (target - range.begin) * std::ssize(range.types);
      for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(target)]);
           e < static_cast<size_t>(offsets[static_cast<size_t>(target) + 1]); ++e)
        slot[e] = static_cast<int32_t>(first) + place[static_cast<size_t>(type[e])];
      if (loops) slot.push_back(static_cast<int32_t>(first + std::ssize(range.types)) - 1);
    }
  }
  const Device device = relation.device();
  const Tensor sources =
      loops ? detail::concatenated(csr.indices, detail::iota(relation.num_dst(), device)) : csr.indices;
  Csr rows = detail::sorted_edges(relation.num_src(), count, {sources, Tensor::from(slot, device)}).csr;
  slots.edges = with_transpose(std::move(rows));
  return std::make_shared<const TypedSlots>(std::move(slots));
}

/// Those of the first `targets`; null if a range has targets before and behind that.
std::shared_ptr<const TypedSlots> first_slots(const TypedSlots& whole, int64_t targets) {
  TypedSlots slots;
  for (const SlotRange& range : whole.ranges) {
    if (range.begin >= targets) break;
    if (range.end > targets) return nullptr;
    slots.ranges.push_back(range);
  }
  if (slots.ranges.empty()) return nullptr;
  const int64_t count = slots.ranges.back().first + slots.ranges.back().slots();
  const Csr& all = whole.edges.csr();
  const int64_t edges = all.offsets.rows(count, count + 1).to_vector<int64_t>()[0];
  Csr rows{count, all.cols, all.offsets.rows(0, count + 1), all.indices.rows(0, edges)};
  rows.ascending = all.ascending;
  slots.edges = with_transpose(std::move(rows));
  return std::make_shared<const TypedSlots>(std::move(slots));
}

std::shared_ptr<const TypedSlots> make_all_slots(const Relation& relation, const Tensor& types,
                                                 int64_t num_types, bool loops) {
  if (types.device().is_cpu()) check_range("edge types: edge", types, num_types);
  const Csr& csr = relation.csr();
  const int64_t width = num_types + (loops ? 1 : 0);
  const Device device = relation.device();
  Csr rows{csr.rows * width, csr.cols, Tensor::empty({csr.rows * width + 1}, DType::i64, device),
           Tensor::empty({csr.entries() + (loops ? csr.rows : 0)}, DType::i32, device)};
  kernels::split_rows({.a = csr,
                       .type = types,
                       .order = relation.csr_order(),
                       .types = num_types,
                       .loops = loops,
                       .offsets = rows.offsets,
                       .indices = rows.indices});
  rows.ascending = csr.ascending;
  TypedSlots slots{{{0, csr.rows, 0, {}}}, with_transpose(std::move(rows))};
  for (int64_t type = 0; type < width; ++type) slots.ranges.front().types.push_back(type);
  if (csr.rows == 0) slots.ranges.clear();
  return std::make_shared<const TypedSlots>(std::move(slots));
}

/// Pairs of both ends; edge k of the sources' is edge place[k] of the targets'.
struct Ends {
  TypedPairs sources, targets;
  Tensor place;

  Ends(const Relation& relation, const Tensor& types, int64_t num_types)
      : sources(typed_pairs(relation, types, num_types, EdgeEnd::source)),
        targets(typed_pairs(relation, types, num_types, EdgeEnd::target)),
        place(gather_edges(kernels::inverse_of(targets.order, relation.num_edges()), sources.order)) {}
};

}  // namespace

TypedPairs typed_pairs(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end) {
  check_types(relation, types);
  return derived<TypedPairs>(relation, types, num_types, static_cast<int64_t>(end),
                             [&] { return make_pairs(relation, types, num_types, end); });
}

std::shared_ptr<const TypedSlots> typed_slots(const Relation& relation, const Tensor& types,
                                              int64_t num_types, bool loops, int64_t least) {
  check_types(relation, types);
  ADJ_CHECK(!loops || relation.num_dst() <= relation.num_src(),
            "typed slots: {} targets but {} sources, expected the targets among the sources",
            relation.num_dst(), relation.num_src());
  if (relation.num_edges() < least) return nullptr;
  return derived<std::shared_ptr<const TypedSlots>>(relation, types, num_types, loops ? 1 : 0, [&] {
    return make_slots(relation, types, num_types, loops);
  });
}

void share_slots(const Relation& whole, const Tensor& types, const Relation& first, const Tensor& first_types,
                 int64_t num_types, bool loops, int64_t least) {
  check_types(first, first_types);
  if (first.num_edges() < least) return;  // which has none
  const auto slots = typed_slots(whole, types, num_types, loops, least);
  if (slots == nullptr) return;
  (void)derived<std::shared_ptr<const TypedSlots>>(first, first_types, num_types, loops ? 1 : 0, [&] {
    auto shared = first_slots(*slots, first.num_dst());
    return shared != nullptr ? shared : make_slots(first, first_types, num_types, loops);
  });
}

std::shared_ptr<const TypedSlots> all_slots(const Relation& relation, const Tensor& types, int64_t num_types,
                                            bool loops) {
  check_types(relation, types);
  const int64_t targets = relation.num_dst(), width = num_types + (loops ? 1 : 0);
  ADJ_CHECK(!loops || targets <= relation.num_src(),
            "typed slots: {} targets but {} sources, expected the targets among the sources", targets,
            relation.num_src());
  const int64_t filled = relation.num_edges() + (loops ? targets : 0);
  if (width > kernels::kMostSplitTypes || width * targets > 2 * filled) return nullptr;
  return derived<AllSlots>(relation, types, num_types, loops ? 1 : 0,
                           [&] { return AllSlots{make_all_slots(relation, types, num_types, loops)}; })
      .slots;
}

Tensor typed_mean_weights(const Relation& relation, const Tensor& types, int64_t num_types, DType dtype) {
  check_types(relation, types);
  return derived<Tensor>(relation, types, num_types, dtype == DType::f64 ? 1 : 0, [&] {
    const Ends ends(relation, types, num_types);
    Tensor mean = Tensor::empty({relation.num_edges()}, dtype, relation.device());
    kernels::edge_mean({.a = {ends.targets.edges.csr(), {}, {}}, .y = mean});
    return gather_edges(mean, ends.place);
  });
}

Relation typed_pair_edges(const Relation& relation, const Tensor& types, int64_t num_types) {
  check_types(relation, types);
  return derived<Relation>(relation, types, num_types, 0, [&] {
    const Ends ends(relation, types, num_types);
    const Relation &sources = ends.sources.edges, &targets = ends.targets.edges;
    return Relation::from_coo(sources.num_src(), targets.num_dst(), sources.edge_index().src,
                              gather_edges(targets.edge_index().dst, ends.place));
  });
}

TypedRows typed_rows(const Tensor& types, int64_t num_types) {
  ADJ_CHECK(types && types.dims() == 1 && types.dtype() == DType::i32 && num_types >= 1,
            "typed_rows: types are {}, expected [N] int32 of 1 type or more, got {}", types.str(), num_types);
  check_range("node types: node", types, num_types);
  const Tensor in_order = detail::iota(types.numel(), types.device());
  const Csr sorted = sorted_by_type(types, num_types, in_order, types.numel()).csr;
  const bool moves = detail::places(kernels::PairTest::differ, sorted.indices, in_order).numel() > 0;
  return {sorted.offsets, moves ? sorted.indices : Tensor()};
}

TypedRows typed_rows(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end) {
  const int64_t sources = relation.num_src(), targets = relation.num_dst();
  ADJ_CHECK(types && types.shape() == Shape{sources} && types.dtype() == DType::i32 &&
                types.device() == relation.device() && targets <= sources,
            "node types are {}, expected [{}] int32 on {}, of which the first {} are of targets", types.str(),
            sources, relation.device().str(), targets);
  return derived<TypedRows>(relation, types, num_types, static_cast<int64_t>(end), [&] {
    return typed_rows(end == EdgeEnd::source ? types : types.rows(0, targets), num_types);
  });
}

}  // namespace adj
