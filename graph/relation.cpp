#include <adjoint/core/detail/carrier.h>
#include <adjoint/core/explain.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/ranks/rank_edges.h>
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/aggregate/spmm_plan.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/plan/aggregation_cost.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>

namespace adj {

namespace {

// Ids are int32, and kernels read up to 2^16 entries or rows ahead before they check the end.
constexpr int64_t kLimit = (int64_t{1} << 31) - (int64_t{1} << 16);

/// The transposed form. The order is needed even if the structure itself is shared.
struct Turned : detail::SortedEdges {
  bool symmetric = false;
  bool numbered = true;
};

bool equal(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0) return b.numel() == 0;
  Tensor count = Tensor::empty({}, DType::i64, a.device());
  kernels::count_equal({.a = a, .b = b, .y = count});
  return count.to_vector<int64_t>()[0] == a.numel();
}

Csr empty_csr(int64_t rows, int64_t cols, int64_t entries, Device device) {
  return {rows, cols, Tensor::empty({rows + 1}, DType::i64, device),
          Tensor::empty({entries}, DType::i32, device)};
}

Tensor counts(const Tensor& index, int64_t nodes) {
  Tensor counts = Tensor::empty({nodes}, DType::f32, index.device());
  kernels::coo_degrees({.row = index, .y = counts});
  return counts;
}

/// True if the structure equals its transpose. One host pass over entries (i, j) by row: i must be the next
/// entry of row j. 8 bytes per row; stops at the first mismatch; no transpose is made.
bool equals_transpose(const Csr& csr) {
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int32_t* columns = csr.indices.data<int32_t>();
  std::vector<int64_t> next(offsets, offsets + csr.rows);
  for (int64_t i = 0; i < csr.rows; ++i)
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      const int32_t j = columns[e];
      int64_t& position = next[static_cast<size_t>(j)];
      if (position == offsets[j + 1] || columns[position] != i) return false;
      ++position;
    }
  return true;
}

Tensor degrees(const Csr& csr) {
  Tensor counts = Tensor::empty({csr.rows}, DType::f32, csr.device());
  kernels::row_sums({.a = {csr, {}, {}}, .y = counts});
  return counts;
}

void check_edge_counts(std::string_view what, int64_t num_src, int64_t num_dst, int64_t edges) {
  ADJ_CHECK(num_src >= 0 && num_src < kLimit && num_dst >= 0 && num_dst < kLimit,
            "{}: {} sources and {} targets, expected 0 to {} of each", what, num_src, num_dst, kLimit - 1);
  ADJ_CHECK(edges < kLimit, "{}: {} edges, expected fewer than {}", what, edges, kLimit);
}

void check_csr(const Csr& csr) {
  check_edge_counts("relation", csr.cols, csr.rows, csr.indices.numel());
  ADJ_CHECK(
      csr.offsets.dims() == 1 && csr.offsets.dtype() == DType::i64 && csr.offsets.numel() == csr.rows + 1,
      "relation of {} rows: offsets are {}, expected [{}] int64", csr.rows, csr.offsets.str(), csr.rows + 1);
  ADJ_CHECK(csr.indices.dims() == 1 && csr.indices.dtype() == DType::i32 &&
                csr.indices.device() == csr.offsets.device(),
            "relation: indices are {}, expected [M] int32 on {}", csr.indices.str(),
            csr.offsets.device().str());
}

}  // namespace

// State of one side; a reversed handle reads it from the other side.
struct Relation::Impl {
  Impl(int64_t sources, int64_t targets, EdgeIndex edges, const kernels::ListUse& what_for,
       int64_t appended = 0)
      : num_src(sources),
        num_dst(targets),
        num_edges(edges.src.numel()),
        device(edges.src.device()),
        from_list(true),
        use(what_for),
        loops(appended),
        list(std::move(edges)) {}
  Impl(Csr csr, std::optional<bool> symmetric)
      : num_src(csr.cols),
        num_dst(csr.rows),
        num_edges(csr.entries()),
        device(csr.device()),
        told_symmetric(symmetric),
        by_target(detail::SortedEdges{std::move(csr), {}}) {}
  explicit Impl(RankEdges edges) : Impl(edges.sources.structure(), false) {
    num_src = edges.sources.local_rows();
    if (edges.targets) by_source.put({{edges.targets->structure(), {}}, false});
    ranks = std::make_shared<const RankEdges>(std::move(edges));
  }

  const EdgeIndex& edge_index() const {
    ADJ_CHECK(!ranks, "relation: a rank's {} edges name nodes of other ranks, expected a whole relation",
              num_edges);
    return list.get([this] {
      const Csr& csr = by_target.if_made()->csr;
      EdgeIndex edges{csr.indices, Tensor::empty({num_edges}, DType::i32, device)};
      kernels::expand_rows({.a = csr, .row = edges.dst});
      return edges;
    });
  }

  const detail::SortedEdges& targets() const {
    return by_target.get([this] {
      detail::SortedEdges edges = detail::sorted_edges(num_src, num_dst, edge_index());
      if (whole) edges.csr.whole = CsrSizes{whole->num_dst, whole->num_edges};
      return edges;
    });
  }

  const Turned& turned() const {
    return by_source.get([this] {
      ADJ_CHECK(!ranks, "relation: the out-edges of a rank's {} edges are not known", num_edges);
      const auto& [csr, order] = targets();
      Turned t{
          {empty_csr(num_src, num_dst, num_edges, device), Tensor::empty({num_edges}, DType::i32, device)}};
      kernels::transpose({.a = csr, .offsets = t.csr.offsets, .indices = t.csr.indices, .order = t.order});
      const std::optional<bool> known = known_symmetric();
      t.symmetric = known ? *known
                          : csr.ascending && num_src == num_dst && equal(csr.indices, t.csr.indices) &&
                                equal(csr.offsets.to(DType::i32), t.csr.offsets.to(DType::i32));
      if (t.symmetric) t.csr = csr;
      if (whole) t.csr.whole = CsrSizes{whole->num_src, whole->num_edges};
      if (order) {
        Tensor edge = Tensor::empty_like(t.order);
        kernels::permute({.x = order, .order = t.order, .y = edge});
        t.order = std::move(edge);
      }
      return t;
    });
  }

  const Tensor& turned_order() const {
    const Turned& edges = turned();
    ADJ_CHECK(edges.numbered, "relation: the {} edges of the transpose are not numbered", num_edges);
    return edges.order;
  }

  const Csr& sources() const {
    const bool* found = found_symmetric.if_made();
    return told_symmetric == true || (found != nullptr && *found) ? targets().csr : turned().csr;
  }

  std::optional<bool> known_symmetric() const {
    if (told_symmetric) return told_symmetric;
    if (const Turned* transpose = by_source.if_made()) return transpose->symmetric;
    const bool* found = found_symmetric.if_made();
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }

  /// Makes the transpose only if the host cannot read the structure, and only if in- and out-degrees agree.
  bool is_symmetric() const {
    if (num_src != num_dst) return false;
    if (const std::optional<bool> known = known_symmetric()) return *known;
    return found_symmetric.get([this] {
      if (device.is_cpu()) return equals_transpose(targets().csr);
      return equal(in_counts().to(DType::i32), out_counts().to(DType::i32)) && turned().symmetric;
    });
  }

  // Counted over the list if that is the original form; bitwise equal to counts from sorted rows.
  const Tensor& in_counts() const {
    return in_degrees.get(
        [this] { return from_list ? counts(edge_index().dst, num_dst) : degrees(targets().csr); });
  }
  const Tensor& out_counts() const {
    return out_degrees.get([this] {
      return ranks ? degrees(turned().csr)
                   : counts(from_list ? edge_index().src : targets().csr.indices, num_src);
    });
  }

  std::shared_ptr<const Impl> carried_to(detail::Carrier& carrier) const {
    ADJ_CHECK(!ranks, "relation: a rank's part stays on {}, the device of its group", device.str());
    const auto carried = [&](const EdgeIndex& edges) {
      return EdgeIndex{carrier.carry(edges.src), carrier.carry(edges.dst)};
    };
    const EdgeIndex* edges = list.if_made();
    const detail::SortedEdges* rows = by_target.if_made();
    const auto copy =
        from_list ? std::make_shared<Impl>(num_src, num_dst, carried(*edges), use, loops)
                  : std::make_shared<Impl>(kernels::carried_with_plan(rows->csr, carrier), known_symmetric());
    if (from_list) {
      copy->told_symmetric = known_symmetric();
      if (rows != nullptr)
        copy->by_target.put({kernels::carried_with_plan(rows->csr, carrier), carrier.carry(rows->order)});
    } else if (edges != nullptr) {
      copy->list.put(carried(*edges));
    }
    if (const Turned* transpose = by_source.if_made())
      copy->by_source.put(
          {{kernels::carried_with_plan(transpose->csr, carrier), carrier.carry(transpose->order)},
           transpose->symmetric,
           transpose->numbered});
    if (const Tensor* degrees = in_degrees.if_made()) copy->in_degrees.put(carrier.carry(*degrees));
    if (const Tensor* degrees = out_degrees.if_made()) copy->out_degrees.put(carrier.carry(*degrees));
    for (size_t side = 0; side < 2; ++side) {
      if (const Relation* value = sorted[side].if_made()) copy->sorted[side].put(carrier.carry(*value));
      if (const Relation* value = looped[side].if_made()) copy->looped[side].put(carrier.carry(*value));
      cache[side].carry_to(carrier, copy->cache[side]);
    }
    return copy;
  }

  int64_t num_src, num_dst, num_edges;
  Device device;
  std::optional<bool> told_symmetric;
  bool from_list = false;
  kernels::ListUse use;
  int64_t loops = 0;                       // of each node in turn, at the end of the list
  std::shared_ptr<const RankEdges> ranks;  // null: all nodes are here
  std::optional<RelationSizes> whole;      // of which these edges are a part
  Lazy<EdgeIndex> list;
  Lazy<detail::SortedEdges> by_target;
  Lazy<Turned> by_source;
  Lazy<bool> found_symmetric;
  Lazy<Tensor> in_degrees, out_degrees;
  Lazy<Relation> sorted[2], looped[2];  // by side
  Lazy<Relation> local;
  mutable KeyedCache cache[2];
};

EdgeIndex detail::checked_edges(std::string_view what, int64_t num_src, int64_t num_dst, const Tensor& src,
                                const Tensor& dst) {
  for (const auto& [name, index] : {std::pair<const char*, const Tensor&>{"src", src}, {"dst", dst}})
    ADJ_CHECK(index && index.dims() == 1 && (index.dtype() == DType::i32 || index.dtype() == DType::i64),
              "{}: {} is {}, expected [M] int32 or int64", what, name, index.str());
  check_edge_counts(what, num_src, num_dst, std::max(src.numel(), dst.numel()));
  ADJ_CHECK(src.numel() == dst.numel(), "{}: {} sources but {} targets", what, src.numel(), dst.numel());
  ADJ_CHECK(src.device() == dst.device(), "{}: src on {} but dst on {}", what, src.device().str(),
            dst.device().str());
  Tensor positions = Tensor::empty({2}, DType::i64, src.device());
  Tensor src_position = positions.rows(0, 1), dst_position = positions.rows(1, 2);
  kernels::first_outside({.index = src, .limit = num_src, .position = src_position});
  kernels::first_outside({.index = dst, .limit = num_dst, .position = dst_position});
  const std::vector<int64_t> outside = positions.to_vector<int64_t>();
  const auto require = [&](const char* name, const Tensor& index, int64_t e, int64_t nodes) {
    if (e < index.numel())
      fail("{}: {}[{}] is {}, expected 0 to {}", what, name, e,
           index.rows(e, e + 1).to(Device::cpu()).to(DType::i64).to_vector<int64_t>()[0], nodes - 1);
  };
  require("src", src, outside[0], num_src);
  require("dst", dst, outside[1], num_dst);
  return {src.to(DType::i32), dst.to(DType::i32)};
}

detail::SortedEdges detail::sorted_edges(int64_t num_src, int64_t num_dst, const EdgeIndex& edges) {
  const int64_t count = edges.src.numel();
  const Device device = edges.src.device();
  SortedEdges sorted{empty_csr(num_dst, num_src, count, device), Tensor::empty({count}, DType::i32, device)};
  kernels::coo_to_csr({.row = edges.dst,
                       .col = edges.src,
                       .cols = num_src,
                       .offsets = sorted.csr.offsets,
                       .indices = sorted.csr.indices,
                       .order = sorted.order});
  return sorted;
}

Relation Relation::from_coo(int64_t num_src, int64_t num_dst, const Tensor& src, const Tensor& dst) {
  return detail::list_for({}, num_src, num_dst, src, dst);
}

Relation detail::list_for(const kernels::ListUse& use, int64_t num_src, int64_t num_dst, const Tensor& src,
                          const Tensor& dst) {
  const std::string what = fmt::format("relation of {} sources and {} targets", num_src, num_dst);
  ADJ_CHECK(use.sums >= 0 && use.width >= 0, "{}: for {} sums of width {}, expected 0 or more", what,
            use.sums, use.width);
  return {std::make_shared<const Relation::Impl>(num_src, num_dst,
                                                 checked_edges(what, num_src, num_dst, src, dst), use),
          false};
}

Relation Relation::from_csr(Csr csr, std::optional<bool> symmetric) {
  check_csr(csr);
  ADJ_CHECK(symmetric != true || csr.rows == csr.cols, "relation of [{}, {}]: only a square one is symmetric",
            csr.rows, csr.cols);
  return {std::make_shared<const Impl>(std::move(csr), symmetric), false};
}

Relation Relation::from_both(Csr in_edges, Csr out_edges, Tensor out_order) {
  check_csr(in_edges);
  check_csr(out_edges);
  ADJ_CHECK(in_edges.rows == out_edges.cols && in_edges.cols == out_edges.rows &&
                in_edges.entries() == out_edges.entries() && in_edges.device() == out_edges.device(),
            "relation of [{}, {}] with {} edges: its transpose is [{}, {}] with {}", in_edges.rows,
            in_edges.cols, in_edges.entries(), out_edges.rows, out_edges.cols, out_edges.entries());
  ADJ_CHECK(!out_order || (out_order.shape() == out_edges.indices.shape() &&
                           out_order.dtype() == DType::i32 && out_order.device() == out_edges.device()),
            "relation: the order of {} transposed edges is {}", out_edges.entries(), out_order.str());
  const auto impl = std::make_shared<Impl>(std::move(in_edges), false);
  const bool numbered = static_cast<bool>(out_order);
  impl->by_source.put({{std::move(out_edges), std::move(out_order)}, false, numbered});
  return {impl, false};
}

Relation Relation::from_transposed(Csr out_edges, std::optional<bool> symmetric) {
  return from_csr(std::move(out_edges), symmetric).reversed();
}

Relation Relation::rank_part(const RankRows& rank, const Csr& in_edges, const Csr& out_edges) {
  const auto halo = [&rank](const Csr& rows) {
    return Halo(rank.group, rank.cut, rows, rank.wire, rank.least_part);
  };
  RankEdges edges{halo(in_edges), halo(out_edges)};
  return {std::make_shared<const Impl>(std::move(edges)), false};
}

Relation Relation::rank_part(RankEdges edges) {
  return {std::make_shared<const Impl>(std::move(edges)), false};
}

Relation Relation::as_part(const RelationSizes& whole) const {
  ADJ_CHECK(!reversed_ && !is_rank_part(), "relation: as_part() of a view or of a rank's part");
  const auto part = [&]() -> std::shared_ptr<Impl> {
    if (impl().from_list) return std::make_shared<Impl>(num_src(), num_dst(), edge_index(), impl().use);
    Csr rows = csr();
    rows.whole = CsrSizes{whole.num_dst, whole.num_edges};
    return std::make_shared<Impl>(std::move(rows), false);
  }();
  part->whole = whole;
  return {part, false};
}

const Relation::Impl& Relation::impl() const {
  ADJ_CHECK(impl_ != nullptr, "relation: a default-constructed relation has no edges");
  return *impl_;
}

int64_t Relation::num_src() const { return reversed_ ? impl().num_dst : impl().num_src; }
int64_t Relation::num_dst() const { return reversed_ ? impl().num_src : impl().num_dst; }
int64_t Relation::num_edges() const { return impl().num_edges; }
Device Relation::device() const { return impl().device; }

bool Relation::is_rank_part() const { return impl().ranks != nullptr; }

bool Relation::knows_out_edges() const { return !is_rank_part() || impl().ranks->targets.has_value(); }

const Halo& Relation::halo() const {
  const RankEdges* ranks = impl().ranks.get();
  ADJ_CHECK(ranks != nullptr, "relation: {} edges that are no rank's part", num_edges());
  ADJ_CHECK(!reversed_ || ranks->targets, "relation: the out-edges of a rank's {} edges are not known",
            num_edges());
  return reversed_ ? *ranks->targets : ranks->sources;
}

Tensor Relation::source_rows(const Tensor& x) const { return is_rank_part() ? halo().gather(x) : x; }
void Relation::source_parts(const Tensor& x, const std::function<void(const GatheredPart&)>& visit) const {
  is_rank_part() ? halo().gather_parts(x, visit) : visit({x, 0, {}});
}
Tensor Relation::sum_source_rows(const Tensor& dy) const { return halo().sum_back(dy); }

const Relation& Relation::local_edges() const {
  ADJ_CHECK(!reversed_, "relation: a rank has the in-edges of its {} nodes, expected no reversed relation",
            num_dst());
  return impl().local.get([this] { return from_csr(halo().structure()); });
}

int64_t Relation::first_local_source() const { return halo().first_row(); }

Relation Relation::with_local_edges(Csr in_edges) const {
  return {std::make_shared<const Impl>(RankEdges{halo().with_structure(std::move(in_edges)), {}}), false};
}

bool Relation::rows_ascend() const {
  const detail::SortedEdges* edges = impl().by_target.if_made();
  return reversed_ || edges == nullptr || edges->csr.ascending;
}

EdgeIndex Relation::edge_index() const {
  const EdgeIndex& edges = impl().edge_index();
  return reversed_ ? EdgeIndex{edges.dst, edges.src} : edges;
}

const Csr& Relation::csr() const { return reversed_ ? impl().sources() : impl().targets().csr; }
const Csr& Relation::transposed() const { return reversed_ ? impl().targets().csr : impl().sources(); }
const Tensor& Relation::csr_order() const {
  return reversed_ ? impl().turned_order() : impl().targets().order;
}
const Tensor& Relation::transposed_order() const {
  return reversed_ ? impl().targets().order : impl().turned_order();
}

bool Relation::scatters(DType features) const {
  if (!impl().from_list) return false;
  const Aggregation chosen = compute_context().aggregation;
  const int64_t nodes = std::max(impl().num_src, impl().num_dst);
  // With its loops a list is summed as without.
  const int64_t edges = impl().num_edges - impl().loops;
  const kernels::AggregationCost cost = kernels::aggregation_cost(nodes, edges, impl().use, device());
  const bool has_fixed_point = features != DType::f64 || device().is_cpu();
  const bool scatters = has_fixed_point && (chosen == Aggregation::scatter ||
                                            (chosen == Aggregation::automatic && cost.scatters()));
  if (explaining())
    explain(fmt::format("sums over a list of {} edges between {} and {} nodes, {}, {}", edges, num_src(),
                        num_dst(), name_of(features), device().str()),
            "{}: {}", scatters ? "scattered over the unsorted list" : "reduced over sorted rows",
            !has_fixed_point                   ? std::string("fixed-point sums do not support float64")
            : chosen != Aggregation::automatic ? std::string("as requested")
            : impl().use.sums == 0             ? std::string("the number of uses of the list is unknown")
                                   : fmt::format("for {} sums of width {} scattering costs {:.3g} ms more, "
                                                 "sorting {:.3g} ms",
                                                 impl().use.sums, impl().use.width, cost.scattering * 1e-6,
                                                 cost.sorting * 1e-6));
  return scatters;
}

Coo Relation::coo() const {
  const EdgeIndex edges = edge_index();
  return {num_dst(), num_src(), edges.dst, edges.src, impl().loops};
}

const Relation& Relation::loops_appended() const {
  const int64_t nodes = impl().num_src;
  ADJ_CHECK(nodes == impl().num_dst,
            "relation of {} sources and {} targets: self-loops require one set of nodes", num_src(),
            num_dst());
  return impl().looped[reversed_ ? 1 : 0].get([this, nodes] {
    check_edge_counts("relation with loops", nodes, nodes, impl().num_edges + nodes);
    const auto [src, dst] = edge_index();
    const Tensor node = detail::iota(nodes, device());
    const EdgeIndex all{detail::concatenated(src, node), detail::concatenated(dst, node)};
    return Relation(std::make_shared<const Impl>(nodes, nodes, all, impl().use, nodes), false);
  });
}

CsrMatrix Relation::matrix(const Tensor& values) const {
  return {csr(), values, values ? csr_order() : Tensor()};
}

CsrMatrix Relation::adjoint(const Tensor& values) const {
  ADJ_CHECK(!values || !is_rank_part(), "relation: values of a rank's edges are not those of its transpose");
  return {transposed(), values, values ? transposed_order() : Tensor()};
}

bool Relation::symmetric() const { return impl().is_symmetric(); }

const Tensor& Relation::in_degrees() const { return reversed_ ? impl().out_counts() : impl().in_counts(); }
const Tensor& Relation::out_degrees() const { return reversed_ ? impl().in_counts() : impl().out_counts(); }

Relation Relation::reversed() const {
  (void)impl();
  return {impl_, !reversed_};
}

const Relation& Relation::sorted() const {
  if (!csr_order()) return *this;
  return impl().sorted[reversed_ ? 1 : 0].get([this] { return from_csr(csr(), impl().known_symmetric()); });
}

Relation Relation::to(Device device) const { return detail::carried(*this, device); }

Relation Relation::carried_to(detail::Carrier& carrier) const {
  if (!impl_ || carrier.device() == device()) return *this;
  return {carrier.once<const Impl>(impl_.get(), [&] { return impl().carried_to(carrier); }), reversed_};
}

KeyedCache& Relation::cache() const { return impl().cache[reversed_ ? 1 : 0]; }

}  // namespace adj
