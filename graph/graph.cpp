#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/detail/listed_edges.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/ranks/rank_edges.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>
#include <bit>

namespace adj {

namespace {

void check_weight(const Tensor& weight, int64_t edges, Device device) {
  ADJ_CHECK(!weight || (weight.dims() == 1 && weight.numel() == edges && weight.dtype() == DType::f32 &&
                        weight.device() == device),
            "graph: weights are {}, expected [{}] float32 on {}", weight.str(), edges, device.str());
}

/// True if two runs of parallel edges have the same weights, in any order.
bool same_weights(std::vector<float> a, std::vector<float> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

/// `weight` is in CSR order.
bool weights_symmetric(const Relation& relation, const Tensor& weight) {
  const Tensor turned = detail::gather_edges(weight, relation.transposed_order());
  const std::vector<float> a = weight.to_vector<float>(), b = turned.to_vector<float>();
  if (a == b) return true;
  const std::vector<int64_t> offsets = relation.csr().offsets.to_vector<int64_t>();
  const std::vector<int32_t> indices = relation.csr().indices.to_vector<int32_t>();
  for (size_t row = 0; row + 1 < offsets.size(); ++row) {
    const auto end = static_cast<size_t>(offsets[row + 1]);
    for (auto first = static_cast<size_t>(offsets[row]), last = first; first < end; first = last) {
      while (last < end && indices[last] == indices[first]) ++last;
      const auto lower = static_cast<std::ptrdiff_t>(first), upper = static_cast<std::ptrdiff_t>(last);
      if (!same_weights({a.begin() + lower, a.begin() + upper}, {b.begin() + lower, b.begin() + upper}))
        return false;
    }
  }
  return true;
}

/// The graph of which a rank has the rows.
struct RankPart {
  Graph whole;
  RankRows rank;
};

}  // namespace

struct Graph::Impl {
  Impl(Relation edges, Tensor weights, Tensor order = {}, bool normalized = false)
      : relation(std::move(edges)),
        weight(std::move(weights)),
        input_order(std::move(order)),
        as_given(normalized) {}

  Relation relation;
  Tensor weight;
  Tensor input_order;
  bool as_given;                         // normalised by the caller: every matrix is A
  std::shared_ptr<const RankPart> part;  // null: all nodes are here
  Lazy<Tensor> looped_offsets, csr_weight;
  Lazy<bool> symmetric;
  Lazy<SparseMatrix> adjacency, mean;
  mutable KeyedCache gcn;  // by the bit pattern of the loop weight

  std::shared_ptr<const Impl> carried_to(detail::Carrier& carrier) const {
    auto copy = std::make_shared<Impl>(carrier.carry(relation), carrier.carry(weight),
                                       carrier.carry(input_order), as_given);
    if (const Tensor* value = looped_offsets.if_made()) copy->looped_offsets.put(carrier.carry(*value));
    if (const Tensor* value = csr_weight.if_made()) copy->csr_weight.put(carrier.carry(*value));
    if (const bool* found = symmetric.if_made()) copy->symmetric.put(*found);
    if (const SparseMatrix* value = adjacency.if_made()) copy->adjacency.put(carrier.carry(*value));
    if (const SparseMatrix* value = mean.if_made()) copy->mean.put(carrier.carry(*value));
    gcn.carry_to(carrier, copy->gcn);
    return copy;
  }

  const Csr& csr() const { return relation.csr(); }

  /// Weights in CSR order.
  const Tensor& sorted_weight() const {
    if (!weight || !relation.csr_order()) return weight;
    return csr_weight.get([this] { return detail::gather_edges(weight, relation.csr_order()); });
  }

  /// Row offsets of A + I, int64 [N + 1].
  const Tensor& diagonal_offsets() const {
    return looped_offsets.get([this] {
      Tensor offsets = Tensor::empty({csr().rows + 1}, DType::i64, csr().device());
      kernels::diagonal_offsets({.a = csr(), .offsets = offsets});
      return offsets;
    });
  }

  int64_t entries_with_diagonal() const {
    return diagonal_offsets().rows(csr().rows, csr().rows + 1).to_vector<int64_t>()[0];
  }

  bool is_symmetric() const {
    if (part) return part->whole.is_symmetric();
    return symmetric.get([this] {
      return relation.symmetric() && (!weight || weights_symmetric(relation.sorted(), sorted_weight()));
    });
  }

  /// True if a node has more than one loop.
  bool repeats_loops() const {
    const int64_t with_loops = csr().rows - (entries_with_diagonal() - csr().entries());
    if (with_loops == 0) return false;
    const EdgeIndex edges = relation.edge_index();
    Tensor loops = Tensor::empty({}, DType::i64, csr().device());
    kernels::count_equal({.a = edges.src, .b = edges.dst, .y = loops});
    return loops.to_vector<int64_t>()[0] > with_loops;
  }

  /// The same edges with one loop per node: its last, or a new one of weight `fill`. The structure stays
  /// cached with the relation.
  Impl with_single_loops(float fill) const {
    const LoopedRelation looped = with_self_loops(relation, SelfLoops::completed);
    const bool adds = entries_with_diagonal() > csr().entries();
    if (!weight && !(adds && fill != 1.0f)) return {looped.relation, {}};
    const Tensor edge_weight = weight
                                   ? weight
                                   : Tensor::full({relation.num_edges()}, 1.0, DType::f32, relation.device()),
                 added = Tensor::full({looped.loops}, double{fill}, DType::f32, relation.device());
    return {looped.relation, detail::gather_edges(detail::concatenated(edge_weight, added), looped.origin)};
  }

  /// Same over the unsorted list, with loops at its end.
  SparseMatrix make_gcn_of_list(float loop_weight) const {
    const Relation list = loop_weight != 0.0f ? relation.loops_appended() : relation;
    Tensor degree = Tensor::empty({list.num_dst()}, DType::f32, list.device());
    Tensor weights = Tensor::empty({list.num_edges()}, DType::f32, list.device());
    kernels::coo_gcn_normalize(
        {.a = list.coo(), .values = weight, .fill = loop_weight, .degree = degree, .weights = weights});
    return SparseMatrix(list, std::move(weights));
  }

  /// 1 / √d, or 0 for d = 0.
  static Tensor inverse_root(const Tensor& degree) {
    Tensor root = Tensor::empty_like(degree);
    kernels::unary({.function = Unary::inverse_sqrt, .x = degree, .y = root});
    return root;
  }

  /// The rank's rows of a matrix of the whole graph; over its own edges they are those of `relation`.
  SparseMatrix rank_rows(const SparseMatrix& whole) const {
    const bool same = whole.relation() == part->whole.relation();
    return whole.rank_rows(part->rank, same ? relation : Relation());
  }

  SparseMatrix make_gcn(float loop_weight) const {
    if (part) return rank_rows(part->whole.gcn_adjacency(loop_weight));
    if (relation.scatters(DType::f32)) return make_gcn_of_list(loop_weight);
    const bool completes = loop_weight != 0.0f;
    if (completes && repeats_loops()) return with_single_loops(loop_weight).make_gcn(loop_weight);
    const Tensor& edge_weight = sorted_weight();
    const int64_t entries = completes ? entries_with_diagonal() : csr().entries();
    const bool complete = entries == csr().entries();
    Csr with_loops;
    Tensor values;
    if (!complete) {
      with_loops = {csr().rows, csr().rows, diagonal_offsets(),
                    Tensor::empty({entries}, DType::i32, csr().device())};
      values = Tensor::empty({entries}, DType::f32, csr().device());
      kernels::insert_diagonal({.a = {csr(), edge_weight, {}},
                                .fill = loop_weight,
                                .offsets = with_loops.offsets,
                                .indices = with_loops.indices,
                                .values = values});
    }
    const Relation structure =
        complete ? relation.sorted() : Relation::from_csr(std::move(with_loops), relation.symmetric());
    Tensor degree = Tensor::empty({csr().rows}, DType::f32, csr().device());
    Tensor weights = Tensor::empty({entries}, DType::f32, csr().device());
    kernels::gcn_normalize(
        {.a = {structure.csr(), complete ? edge_weight : values, {}}, .degree = degree, .weights = weights});
    SparseMatrix normalized(structure, std::move(weights));
    normalized.keep_adjoint(is_symmetric());
    if (!edge_weight && (complete || loop_weight == 1.0f)) {
      const Tensor root = inverse_root(degree);
      normalized.set_factors(root, root);
    }
    return normalized;
  }
};

Graph::Graph(Relation relation, Tensor weight, EdgeAttributes attributes) {
  ADJ_CHECK(relation && relation.num_src() == relation.num_dst(),
            "graph: a relation of {} sources and {} targets, expected one set of nodes",
            relation ? relation.num_src() : 0, relation ? relation.num_dst() : 0);
  ADJ_CHECK(relation.rows_ascend(),
            "graph: the sources of a target do not ascend, as in a sampled block, expected ascending ones");
  check_weight(weight, relation.num_edges(), relation.device());
  detail::check_attributes("graph", attributes, relation.num_edges(), relation.device());
  impl_ = std::make_shared<const Impl>(std::move(relation), std::move(weight));
  if (!attributes.empty()) attributes_ = std::make_shared<const EdgeAttributes>(std::move(attributes));
}

Graph Graph::from_coo(int64_t num_nodes, const Tensor& src, const Tensor& dst, const Tensor& weight,
                      const EdgeAttributes& attributes) {
  const EdgeIndex edges =
      detail::checked_edges(fmt::format("graph of {} nodes", num_nodes), num_nodes, num_nodes, src, dst);
  const Device device = src.device();
  check_weight(weight, src.numel(), device);
  detail::check_attributes("graph", attributes, src.numel(), device);
  auto [csr, order] = detail::sorted_edges(num_nodes, num_nodes, edges);
  Graph graph;
  graph.impl_ = std::make_shared<const Impl>(Relation::from_csr(std::move(csr)),
                                             weight ? detail::gather_edges(weight, order) : Tensor(), order);
  if (!attributes.empty())
    graph.attributes_ = std::make_shared<const EdgeAttributes>(detail::gather_attributes(attributes, order));
  return graph;
}

detail::ListedEdges detail::listed_edges(const Graph& graph) {
  ListedEdges listed{{}, graph.edge_index(), graph.edge_weight(), graph.edge_attributes()};
  if (!graph.input_order()) return listed;
  listed.number = kernels::inverse_of(graph.input_order(), graph.num_edges());
  for (Tensor* values : {&listed.ends.src, &listed.ends.dst, &listed.weight})
    if (*values) *values = gather_edges(*values, listed.number);
  listed.attributes = gather_attributes(listed.attributes, listed.number);
  return listed;
}

int64_t Graph::num_nodes() const { return impl_ ? impl_->relation.num_dst() : 0; }
int64_t Graph::num_edges() const { return impl_ ? impl_->relation.num_edges() : 0; }
Device Graph::device() const { return impl_ ? impl_->relation.device() : Device::cpu(); }
const Graph::Impl& Graph::impl() const {
  ADJ_CHECK(impl_ != nullptr, "graph: a default-constructed graph has no edges");
  return *impl_;
}
const Relation& Graph::relation() const { return impl().relation; }
const Tensor& Graph::edge_weight() const { return impl().weight; }
const Tensor& Graph::input_order() const { return impl().input_order; }
bool Graph::is_symmetric() const { return impl().is_symmetric(); }
bool Graph::has_self_loops() const {
  if (impl().part) return impl().part->whole.has_self_loops();
  return impl().entries_with_diagonal() < num_edges() + num_nodes();
}

const EdgeAttributes& Graph::edge_attributes() const {
  static const EdgeAttributes none;
  return attributes_ ? *attributes_ : none;
}

const Tensor& Graph::edge_attr(std::string_view name) const {
  return detail::find_attribute("graph", edge_attributes(), name);
}

Graph Graph::with_edge_attr(std::string name, Tensor attribute) const {
  (void)impl();
  EdgeAttributes all = edge_attributes();
  if (attribute)
    all.insert_or_assign(std::move(name), std::move(attribute));
  else
    all.erase(name);
  detail::check_attributes("graph", all, num_edges(), device());
  Graph graph = *this;
  graph.attributes_ = std::make_shared<const EdgeAttributes>(std::move(all));
  return graph;
}

Graph Graph::with_edge_weight(Tensor weight) const {
  ADJ_CHECK(!impl().part, "graph: weights for a rank's part, expected them before the graph is cut");
  check_weight(weight, num_edges(), device());
  Graph graph = *this;
  graph.impl_ = std::make_shared<const Impl>(relation(), std::move(weight), input_order());
  return graph;
}

Graph Graph::as_normalized() const {
  ADJ_CHECK(impl().weight, "graph: {} edges without weights, which as_normalized() would use unchanged",
            num_edges());
  Graph graph = *this;
  graph.impl_ = std::make_shared<const Impl>(relation(), edge_weight(), input_order(), true);
  return graph;
}

Graph Graph::rank_rows(const RankRows& rank) const {
  ADJ_CHECK(!impl().part, "graph: a rank's part is cut again, expected the whole graph");
  const Tensor& order = relation().csr_order();
  const auto rows = [&](const Tensor& values) {
    return values ? rank.values(relation().csr(), order ? detail::gather_edges(values, order) : values)
                  : Tensor();
  };
  const auto impl =
      std::make_shared<Impl>(relation().rank_rows(rank), rows(edge_weight()), Tensor(), is_normalized());
  impl->part = std::make_shared<const RankPart>(RankPart{*this, rank});
  Graph graph;
  graph.impl_ = impl;
  if (edge_attributes().empty()) return graph;
  EdgeAttributes attributes;
  for (const auto& [name, values] : edge_attributes()) attributes.emplace(name, rows(values));
  graph.attributes_ = std::make_shared<const EdgeAttributes>(std::move(attributes));
  return graph;
}

bool Graph::is_normalized() const { return impl().as_given; }

const SparseMatrix& Graph::adjacency() const {
  return impl().adjacency.get([this] {
    if (impl().part) return impl().rank_rows(impl().part->whole.adjacency());
    if (relation().scatters(DType::f32)) return SparseMatrix(relation(), edge_weight());
    SparseMatrix matrix(relation().sorted(), impl().sorted_weight());
    if (edge_weight()) matrix.keep_adjoint(is_symmetric());
    return matrix;
  });
}

const SparseMatrix& Graph::gcn_adjacency(float loop_weight) const {
  if (impl().as_given) return adjacency();
  const auto key = static_cast<int64_t>(std::bit_cast<uint32_t>(loop_weight));
  // Cached as long as the graph lives.
  return *impl().gcn.get<SparseMatrix>(
      key, [&] { return std::make_shared<SparseMatrix>(impl().make_gcn(loop_weight)); });
}

const SparseMatrix& Graph::matrix(PropagationMatrix kind) const {
  return kind == PropagationMatrix::gcn    ? gcn_adjacency()
         : kind == PropagationMatrix::mean ? mean_adjacency()
                                           : adjacency();
}

const SparseMatrix& Graph::mean_adjacency() const {
  if (impl().as_given) return adjacency();
  return impl().mean.get([this] {
    if (impl().part) return impl().rank_rows(impl().part->whole.mean_adjacency());
    if (!edge_weight() && relation().scatters(DType::f32)) {
      Tensor shares = Tensor::empty({num_edges()}, DType::f32, device());
      kernels::coo_mean({.row = relation().coo().row, .degree = in_degrees(), .y = shares});
      return SparseMatrix(relation(), std::move(shares));
    }
    SparseMatrix matrix = adjacency().row_normalized();
    matrix.keep_adjoint();
    if (!edge_weight()) {
      const Tensor root = Impl::inverse_root(in_degrees().to(DType::f32));
      Tensor share = Tensor::empty_like(root);
      kernels::binary({.op = Binary::multiply, .a = root, .b = root, .y = share});
      matrix.set_factors(share, {});
    }
    return matrix;
  });
}

Graph Graph::to(Device device) const { return detail::carried(*this, device); }

Graph Graph::carried_to(detail::Carrier& carrier) const {
  if (!impl_ || carrier.device() == device()) return *this;
  Graph moved;
  moved.impl_ =
      carrier.once<const Impl>(impl_.get(), [this, &carrier] { return impl().carried_to(carrier); });
  if (attributes_) {
    auto carried = std::make_shared<EdgeAttributes>();
    for (const auto& [name, attribute] : *attributes_) carried->emplace(name, carrier.carry(attribute));
    moved.attributes_ = std::move(carried);
  }
  return moved;
}

}  // namespace adj
