// Each rank knows the edges that end at its nodes. It sends those that begin at another's to that rank, which
// numbers the pairs of its own sources and says their numbers: so both know the columns of their entries.
#include <adjoint/core/error.h>
#include <adjoint/graph/detail/pair_lists.h>
#include <adjoint/graph/detail/rank_pairs.h>
#include <adjoint/graph/ranks/rank_scope.h>

#include <algorithm>
#include <numeric>

namespace adj::detail {

namespace {

/// The edges of a rank on the host.
class Builder {
 public:
  Builder(const RankRows& rank, const Relation& relation, const Tensor& types, int64_t num_types, DType dtype)
      : rank_(rank),
        types_(num_types),
        nodes_(relation.num_dst()),
        dtype_(dtype),
        device_(relation.device()) {
    read(relation, types);
    const Pairs targets(in_.node, nodes_, in_.type, types_);
    in_.pair = targets.of_edge;
    for (const int32_t pair : targets.of_edge) in_.degree.push_back(targets.degrees[index(pair)]);
    send();
    const Pairs sources(out_.node, nodes_, out_.type, types_);
    out_.pair = sources.of_edge;
    reply(sources);
    build(sources, targets);
  }
  std::shared_ptr<const RankTypedEdges> result() { return result_; }

 private:
  /// By edge: the node here, its type, the rank and the number there of the node at the other end, the pair
  /// of the node here, and of that one, and how many edges its target has of its type.
  struct Edges {
    Ints node, type, rank, other, pair, other_pair, degree;
  };

  void read(const Relation& relation, const Tensor& types) {
    // Which nodes the local sources are: float64 holds their numbers, and any device moves it.
    Tensor numbers = Tensor::empty({nodes_, 1}, DType::f64);
    for (int64_t i = 0; i < nodes_; ++i)
      numbers.mutable_data<double>()[i] = static_cast<double>(rank_.begin() + i);
    const std::vector<double> names = relation.source_rows(numbers.to(device_)).to_vector<double>();
    const Csr& csr = relation.local_edges().csr();
    const std::vector<int64_t> offsets = csr.offsets.to_vector<int64_t>();
    const Ints columns = csr.indices.to_vector<int32_t>();
    in_.type = types.to_vector<int32_t>();
    const std::vector<int64_t> begins = begins_of_ranks();
    for (int64_t i = 0; i < nodes_; ++i)
      for (int64_t e = offsets[index(i)]; e < offsets[index(i) + 1]; ++e) {
        const int32_t type = in_.type[index(e)];
        ADJ_CHECK(type >= 0 && type < types_, "edge types: edge {} has type {}, expected [0, {})", e, type,
                  types_);
        const auto source = static_cast<int64_t>(names[index(columns[index(e)])]);
        const auto owner = std::ranges::upper_bound(begins, source) - begins.begin() - 1;
        in_.node.push_back(static_cast<int32_t>(i));
        in_.rank.push_back(static_cast<int32_t>(owner));
        in_.other.push_back(static_cast<int32_t>(source - begins[index(owner)]));
      }
  }

  std::vector<int64_t> begins_of_ranks() const {
    std::vector<int64_t> begins;
    for (int64_t rank = 0; rank < rank_.group.size(); ++rank)
      begins.push_back(rank_.cut.rows_of(rank, rank_.group.size()).first);
    return begins;
  }

  /// `values` by edge, as lists for each rank.
  std::vector<Ints> lists_of(const Ints& values) const {
    std::vector<Ints> lists(index(rank_.group.size()));
    for (size_t e = 0; e < values.size(); ++e) lists[index(in_.rank[e])].push_back(values[e]);
    return lists;
  }

  void send() {
    sends_ = lists_of(numbered(in_.node.size()));
    std::vector<Ints> lengths;
    for (const Ints& list : sends_) lengths.push_back({static_cast<int32_t>(list.size())});
    const Ints counts = exchanged(rank_.group, lengths, std::vector<int64_t>(lengths.size(), 1));
    counts_.assign(counts.begin(), counts.end());
    const auto told = [&](const Ints& values) { return exchanged(rank_.group, lists_of(values), counts_); };
    out_.node = told(in_.other);
    out_.other = told(in_.node);
    out_.type = told(in_.type);
    out_.degree = told(in_.degree);
    out_.other_pair = told(in_.pair);
    for (size_t p = 0; p < counts_.size(); ++p)
      out_.rank.insert(out_.rank.end(), index(counts_[p]), static_cast<int32_t>(p));
  }

  /// The numbers of the sources' pairs, to the ranks that sent the edges.
  void reply(const Pairs& sources) {
    std::vector<Ints> numbers(counts_.size());
    std::vector<int64_t> counts;
    for (size_t k = 0; k < out_.rank.size(); ++k) numbers[index(out_.rank[k])].push_back(sources.of_edge[k]);
    for (const Ints& list : sends_) counts.push_back(std::ssize(list));
    const Ints told = exchanged(rank_.group, numbers, counts);
    in_.other_pair.resize(in_.node.size());
    size_t next = 0;
    for (const Ints& list : sends_)
      for (const int32_t e : list) in_.other_pair[index(e)] = told[next++];
  }

  /// Numbers of all ranks' items: of `item` of the other end's rank.
  static Ints among_all(const Edges& edges, const Ints& item, const std::vector<int64_t>& begins) {
    Ints numbers(item.size());
    for (size_t e = 0; e < item.size(); ++e)
      numbers[e] = static_cast<int32_t>(begins[index(edges.rank[e])] + item[e]);
    return numbers;
  }

  Tensor means(const Edges& edges, const Ints& order) const {
    Tensor degrees = Tensor::empty({std::ssize(order)}, dtype_);
    const auto fill = [&](auto* values) {
      using T = std::remove_pointer_t<decltype(values)>;
      for (const int32_t e : order) *values++ = T{1} / static_cast<T>(edges.degree[index(e)]);
    };
    if (dtype_ == DType::f64)
      fill(degrees.mutable_data<double>());
    else
      fill(degrees.mutable_data<float>());
    return degrees.to(device_);
  }

  RankPairs pairs_of(const Pairs& pairs, const RowCut& all) const {
    RankPairs result;
    result.offsets = Tensor::from(pairs.offsets, device_);
    std::vector<int64_t> offsets(pairs.nodes.size() + 1);
    std::iota(offsets.begin(), offsets.end(), 0);
    result.picks = Relation::from_csr({std::ssize(pairs.nodes), nodes_, Tensor::from(offsets, device_),
                                       Tensor::from(pairs.nodes, device_)})
                       .as_part({rank_.cut.rows(), all.rows(), all.rows()});
    result.all_pairs = all.rows();
    result.parts = row_parts(rank_, pairs.offsets, pairs.nodes, all.rows());
    return result;
  }

  void build(const Pairs& sources, const Pairs& targets) {
    result_ = std::make_shared<RankTypedEdges>();
    const Group& group = rank_.group;
    const RowCut source_cut = cut_of_counts(group, std::ssize(sources.nodes)),
                 target_cut = cut_of_counts(group, std::ssize(targets.nodes)),
                 edge_cut = cut_of_counts(group, std::ssize(in_.node));
    result_->all_edges = edge_cut.rows();
    const auto halo = [&](const RowCut& rows, const RowCut& columns, const Csr& csr) {
      return Halo(group, rows, columns, csr, rank_.wire, rank_.least_part);
    };
    const Ints in_edges = numbered(in_.node.size()), out_edges = numbered(out_.node.size());
    const auto pair_count = [](const Pairs& pairs) { return std::ssize(pairs.nodes); };
    {
      // A target's entries by type, then source; a pair's by target.
      const Ints order = stably_sorted(stably_sorted(in_edges, in_.type, types_), in_.node, nodes_),
                 turned = stably_sorted(out_edges, out_.pair, pair_count(sources));
      RankPairs& pairs = result_->sources;
      pairs = pairs_of(sources, source_cut);
      const Csr rows = rows_of(nodes_, source_cut.rows(), order, in_.node,
                               among_all(in_, in_.other_pair, source_cut.begins()), device_),
                columns = rows_of(pair_count(sources), rank_.cut.rows(), turned, out_.pair,
                                  among_all(out_, out_.other, begins_of_ranks()), device_);
      pairs.edges =
          Relation::rank_part({halo(rank_.cut, source_cut, rows), halo(source_cut, rank_.cut, columns)});
      pairs.mean = means(in_, order);
      pairs.adjoint_mean = means(out_, turned);
      const Relation& local = pairs.edges.local_edges();
      Ints pair, place(order.size());
      for (const int32_t e : order) pair.push_back(in_.pair[index(e)]);
      result_->links = Relation::from_coo(local.num_src(), pair_count(targets), local.csr().indices,
                                          Tensor::from(pair, device_))
                           .as_part({source_cut.rows(), target_cut.rows(), edge_cut.rows()});
      for (size_t k = 0; k < order.size(); ++k) place[index(order[k])] = static_cast<int32_t>(k);
      std::vector<Ints> sends = sends_;
      for (Ints& list : sends)
        for (int32_t& e : list) e = place[index(e)];
      result_->to_sources = EdgeExchange(group, sends, counts_, turned, device_);
    }
    // A pair's entries by source; a source's by type, then target.
    const Ints order = stably_sorted(in_edges, in_.pair, pair_count(targets)),
               turned = stably_sorted(stably_sorted(out_edges, out_.type, types_), out_.node, nodes_);
    RankPairs& pairs = result_->targets;
    pairs = pairs_of(targets, target_cut);
    const Csr rows = rows_of(pair_count(targets), rank_.cut.rows(), order, in_.pair,
                             among_all(in_, in_.other, begins_of_ranks()), device_),
              columns = rows_of(nodes_, target_cut.rows(), turned, out_.node,
                                among_all(out_, out_.other_pair, target_cut.begins()), device_);
    pairs.edges =
        Relation::rank_part({halo(target_cut, rank_.cut, rows), halo(rank_.cut, target_cut, columns)});
    pairs.mean = means(in_, order);
    pairs.adjoint_mean = means(out_, turned);
  }

  const RankRows& rank_;
  int64_t types_, nodes_;
  DType dtype_;
  Device device_;
  Edges in_, out_;  // of the nodes here: edges that end, and that begin there
  std::vector<Ints> sends_;
  std::vector<int64_t> counts_;
  std::shared_ptr<RankTypedEdges> result_;
};

}  // namespace

SparseMatrix RankPairs::matrix(bool means) const {
  return means ? SparseMatrix(edges, mean, adjoint_mean) : SparseMatrix(edges);
}

namespace {
/// What was derived from a tensor of types, which it holds so that no other has its storage.
struct OfTypes {
  Tensor types;
  std::shared_ptr<const RankTypedEdges> edges;
};
}  // namespace

std::shared_ptr<const RankTypedEdges> rank_typed_edges(const Relation& relation, const Tensor& types,
                                                       int64_t num_types, DType dtype) {
  const RankRows* rank = RankScope::innermost();
  ADJ_CHECK(rank != nullptr && relation.is_rank_part(), "edge types of a rank: expected its RankScope");
  ADJ_CHECK(types && types.shape() == Shape{relation.num_edges()} && types.dtype() == DType::i32,
            "edge types are {}, expected [{}] int32", types.str(), relation.num_edges());
  const int64_t key =
      static_cast<int64_t>(types.storage_id()) * 2 + (dtype == DType::f64 ? 1 : 0) + (num_types << 40);
  const auto derived = relation.cache().get<OfTypes>(key, [&] {
    return new OfTypes{types, Builder(*rank, relation, types, num_types, dtype).result()};
  });
  return derived->edges;
}

}  // namespace adj::detail
