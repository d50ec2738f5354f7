#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/detail/listed_edges.h>
#include <adjoint/graph/detail/rank_share.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace adj {

namespace {

void check_weight(const Tensor& weight, int64_t edges, Device device) {
  ADJ_CHECK(!weight || (weight.dims() == 1 && weight.numel() == edges && weight.dtype() == DType::f32 &&
                        weight.device() == device),
            "graph: weights are {}, expected [{}] float32 on {}", weight.str(), edges, device.str());
}

/// The edges of which a rank has the rows.
struct RankPart {
  Graph edges;
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
  bool as_given;                                   // normalised by the caller: every matrix is A
  std::shared_ptr<const RankPart> part;            // null: all nodes are here
  std::shared_ptr<const detail::RankShare> share;  // null: all edges are here, or those of a part
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
    if (part) return part->edges.is_symmetric();
    if (share) return weight ? share->symmetric : share->symmetric_structure;
    return symmetric.get([this] {
      return relation.symmetric() &&
             (!weight || detail::weights_symmetric(
                             csr(), sorted_weight(),
                             detail::gather_edges(sorted_weight(), relation.sorted().transposed_order())));
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

  /// The rank's rows of a matrix, from its rows `in` and those `out` of the transpose, over all nodes.
  SparseMatrix rank_matrix(const SparseMatrix& in, const SparseMatrix& out, bool self_adjoint) const {
    const RankRows& rank = part->rank;
    const Csr &rows = in.relation().csr(), &columns = out.relation().csr();
    const bool same = in.relation() == part->edges.relation();
    const Tensor values = rank.values(rows, in.values());
    return {same ? relation : Relation::rank_part(rank, rank.rows(rows), rank.rows(columns)), values,
            self_adjoint ? values : rank.values(columns, out.values())};
  }

  /// The edges of the rank's nodes, in each direction.
  const Impl& in_edges() const { return part->edges.impl(); }
  const Impl& out_edges() const { return in_edges().share->out.impl(); }

  SparseMatrix as_matrix() const { return SparseMatrix(relation.sorted(), sorted_weight()); }

  static Tensor row_sums(const SparseMatrix& a) {
    Tensor sums = Tensor::empty({a.rows()}, DType::f32, a.device());
    kernels::row_sums({.a = a.matrix(), .y = sums});
    return sums;
  }

  /// The row sums of all ranks' rows, of a matrix that has this rank's.
  Tensor all_row_sums(const SparseMatrix& a) const {
    const RankRows& rank = part->rank;
    return rank.gather(row_sums(a).rows(rank.begin(), rank.end()));
  }

  /// A with a loop of weight `fill` for each node without one; of several loops (`repeated`) only the last.
  SparseMatrix with_loops(float fill, bool repeated) const {
    if (repeated) return with_single_loops(fill).as_matrix();
    const int64_t entries = entries_with_diagonal();
    if (entries == csr().entries()) return as_matrix();
    Csr with_loops{csr().rows, csr().rows, diagonal_offsets(),
                   Tensor::empty({entries}, DType::i32, csr().device())};
    Tensor values = Tensor::empty({entries}, DType::f32, csr().device());
    kernels::insert_diagonal({.a = {csr(), sorted_weight(), {}},
                              .fill = fill,
                              .offsets = with_loops.offsets,
                              .indices = with_loops.indices,
                              .values = values});
    return SparseMatrix(Relation::from_csr(std::move(with_loops), relation.symmetric()), std::move(values));
  }

  static SparseMatrix gcn_normalized(const SparseMatrix& a, Tensor& degree, bool known) {
    Tensor weights = Tensor::empty({a.entries()}, DType::f32, a.device());
    kernels::gcn_normalize({.a = a.matrix(), .degree = degree, .weights = weights, .known = known});
    return SparseMatrix(a.relation(), std::move(weights));
  }

  SparseMatrix make_rank_gcn(float loop_weight) const {
    const detail::RankShare& all = *in_edges().share;
    const bool repeated = all.loops > all.looped_nodes, complete = all.loops == all.rank.cut.rows();
    const bool adds = loop_weight != 0.0f && (repeated || !complete);
    const auto completed = [&](const Impl& edges) {
      return adds ? edges.with_loops(loop_weight, repeated) : edges.as_matrix();
    };
    const SparseMatrix in = completed(in_edges());
    Tensor degree = all_row_sums(in);
    return rank_matrix(gcn_normalized(in, degree, true), gcn_normalized(completed(out_edges()), degree, true),
                       is_symmetric());
  }

  SparseMatrix make_rank_mean() const {
    const SparseMatrix in = in_edges().as_matrix(), out = out_edges().as_matrix();
    const Tensor sums = all_row_sums(in);
    Tensor shares = Tensor::empty({out.entries()}, DType::f32, out.device());
    kernels::row_normalize_entries({.a = out.matrix(), .weights = shares, .column_sums = sums});
    return rank_matrix(in.row_normalized(), out.with_values(shares), false);
  }

  SparseMatrix make_gcn(float loop_weight) const {
    if (part) return make_rank_gcn(loop_weight);
    if (relation.scatters(DType::f32)) return make_gcn_of_list(loop_weight);
    const bool completes = loop_weight != 0.0f, adds = completes && entries_with_diagonal() > csr().entries();
    const SparseMatrix a = completes ? with_loops(loop_weight, repeats_loops()) : as_matrix();
    Tensor degree = Tensor::empty({csr().rows}, DType::f32, csr().device());
    SparseMatrix normalized = gcn_normalized(a, degree, false);
    normalized.keep_adjoint(is_symmetric());
    if (!weight && !(adds && loop_weight != 1.0f)) {
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
CsrSizes Graph::whole_sizes() const {
  if (!impl_) return {};
  const RankRows* part = rank();
  return part ? CsrSizes{part->cut.rows(),
                         whole_offsets().rows(part->cut.rows(), part->cut.rows() + 1).to_vector<int64_t>()[0]}
              : CsrSizes{num_nodes(), num_edges()};
}
const Tensor& Graph::whole_offsets() const {
  const Impl& edges = impl().part ? impl().part->edges.impl() : impl();
  return edges.share ? edges.share->offsets : edges.csr().offsets;
}
const RankRows* Graph::rank() const {
  return impl().part ? &impl().part->rank : impl().share ? &impl().share->rank : nullptr;
}
bool Graph::has_self_loops() const {
  if (impl().part) return impl().part->edges.has_self_loops();
  if (impl().share) return impl().share->loops > 0;
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
  ADJ_CHECK(!impl().part && (!impl().share || !weight),
            "graph: weights for a rank's part, expected them before the graph is cut");
  check_weight(weight, num_edges(), device());
  const auto changed = std::make_shared<Impl>(relation(), std::move(weight), input_order());
  if (impl().share) {
    auto share = std::make_shared<detail::RankShare>(*impl().share);
    share->out = share->out.with_edge_weight({});
    changed->share = std::move(share);
  }
  Graph graph = *this;
  graph.impl_ = changed;
  return graph;
}

Graph Graph::as_normalized() const {
  ADJ_CHECK(impl().weight, "graph: {} edges without weights, which as_normalized() would use unchanged",
            num_edges());
  Graph graph = *this;
  graph.impl_ = std::make_shared<const Impl>(relation(), edge_weight(), input_order(), true);
  return graph;
}

Graph Graph::from_rank_edges(const RankRows& rank, const Tensor& offsets, const Graph& in, const Graph& out) {
  const auto impl = std::make_shared<Impl>(in.relation(), in.edge_weight());
  impl->share = std::make_shared<const detail::RankShare>(rank, offsets, in, out);
  Graph graph = in;
  graph.impl_ = impl;
  return graph;
}

Graph Graph::rank_edges(const RankRows& rank) const {
  const Relation& all = relation();
  const Graph in = detail::rank_slice(rank, all.csr(), all.csr_order(), edge_weight(), edge_attributes()),
              out = detail::rank_slice(rank, all.transposed(), all.transposed_order(), edge_weight(), {});
  rank.group.barrier();  // before a rank waits for others on a device from which these still copy
  return from_rank_edges(rank, all.csr().offsets.to(Device::cpu()), in, out);
}

Graph Graph::rank_rows(const RankRows& rank) const {
  ADJ_CHECK(!impl().part, "graph: a rank's part is cut again, expected the whole graph");
  const Graph edges = impl().share ? *this : rank_edges(rank);
  const Csr &in = edges.in_edges(), &out = edges.impl().share->out.in_edges();
  const RankRows& reader = edges.impl().share->rank;
  ADJ_CHECK(rank.begin() == reader.begin() && rank.end() == reader.end(),
            "graph: the edges of nodes {} to {}, expected those of the cut, {} to {}", reader.begin(),
            reader.end(), rank.begin(), rank.end());
  const auto impl = std::make_shared<Impl>(Relation::rank_part(rank, rank.rows(in), rank.rows(out)),
                                           rank.values(in, edges.edge_weight()), Tensor(), is_normalized());
  impl->part = std::make_shared<const RankPart>(RankPart{edges, rank});
  Graph graph;
  graph.impl_ = impl;
  if (edges.edge_attributes().empty()) return graph;
  EdgeAttributes attributes;
  for (const auto& [name, values] : edges.edge_attributes())
    attributes.emplace(name, rank.values(in, values));
  graph.attributes_ = std::make_shared<const EdgeAttributes>(std::move(attributes));
  return graph;
}

void Graph::require_matrices() const {
  ADJ_CHECK(!impl().share, "graph: a matrix of the edges of one rank's nodes, expected rank_rows() of them");
}

bool Graph::is_normalized() const { return impl().as_given; }

const SparseMatrix& Graph::adjacency() const {
  require_matrices();
  return impl().adjacency.get([this] {
    if (impl().part)
      return impl().rank_matrix(impl().in_edges().as_matrix(), impl().out_edges().as_matrix(),
                                is_symmetric());
    if (relation().scatters(DType::f32)) return SparseMatrix(relation(), edge_weight());
    SparseMatrix matrix(relation().sorted(), impl().sorted_weight());
    if (edge_weight()) matrix.keep_adjoint(is_symmetric());
    return matrix;
  });
}

const SparseMatrix& Graph::gcn_adjacency(float loop_weight) const {
  if (impl().as_given) return adjacency();
  require_matrices();
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
  require_matrices();
  return impl().mean.get([this] {
    if (impl().part) return impl().make_rank_mean();
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
  ADJ_CHECK(!impl().share,
            "graph: the edges of a rank's nodes stay on the CPU, expected rank_rows() of them");
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
