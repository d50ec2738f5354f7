#include <adjoint/data/dataset.h>
#include <adjoint/data/detail/content_hash.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/graph/ranks/rank_edges.h>

namespace adj {

namespace {

class Hash : public detail::ContentHash {
 public:
  using ContentHash::add;
  using ContentHash::ContentHash;
  /// Same as for the matrix in memory. All blocks but the last are of full words.
  void add(const FileRows& rows) {
    add(uint64_t{1});
    add_form(DType::f32, {rows.rows(), rows.cols()});
    uint64_t rest = 0;
    rows.for_blocks([&](int64_t, const Tensor& block) { rest = add_words(block); });
    add(rest);
  }
  /// Same as for the tensor of so many rows, of which each rank has its own, one after the other. All ranks
  /// call it together.
  void add(const Group& group, int64_t all_rows, const Tensor& rows) {
    add(uint64_t{rows ? 1u : 0u});
    if (!rows) return;
    add_form(rows.dtype(), rows.shape().with(0, all_rows));
    Tensor passed = Tensor::from(std::vector<int64_t>{std::bit_cast<int64_t>(state()), 0, 0});
    auto* words = passed.mutable_data<int64_t>();
    Rest rest;
    for (int64_t rank = 0; rank < group.size(); ++rank) {
      if (rank == group.rank()) {
        add_words(rows, rest);
        words[0] = std::bit_cast<int64_t>(state());
        words[1] = std::bit_cast<int64_t>(rest.word);
        words[2] = static_cast<int64_t>(rest.bytes);
      }
      group.broadcast(passed, rank);
      static_cast<ContentHash&>(*this) = ContentHash(std::bit_cast<uint64_t>(words[0]));
      rest = {std::bit_cast<uint64_t>(words[1]), static_cast<size_t>(words[2])};
    }
    add(rest.word);
  }
  void add(const Relation& relation) {
    add(relation.csr().offsets);
    add(relation.csr().indices);
  }
  /// Adds the edges with their values, independent of their numbering.
  void add(const Relation& relation, const Tensor& of_edges) {
    const bool numbered = of_edges && relation.csr_order();
    add(numbered ? detail::gather_edges(of_edges, relation.csr_order()) : of_edges);
  }
};

}  // namespace

uint64_t detail::hash_rank_edges(const Dataset& data) {
  const Graph& graph = data.graph;
  const Group& group = graph.rank()->group;
  const int64_t edges = graph.whole_sizes().entries;
  Hash hash;
  hash.add(name_of(data.task));
  hash.add(graph.whole_offsets());
  hash.add(group, edges, graph.in_edges().indices);
  hash.add(group, edges, graph.edge_weight());
  for (const auto& [name, attribute] : graph.edge_attributes()) {
    hash.add(name);
    hash.add(group, edges, attribute);
  }
  return hash.state();
}

std::string fingerprint(const Dataset& data) {
  Hash hash(data.edges_hash.value_or(0));
  const Relation& edges = data.graph.relation();
  if (!data.edges_hash) {
    hash.add(name_of(data.task));
    hash.add(edges);
    hash.add(edges, data.graph.edge_weight());
    for (const auto& [name, attribute] : data.graph.edge_attributes()) {
      hash.add(name);
      hash.add(edges, attribute);
    }
  }
  if (data.x && data.x.is_sparse()) {
    const Relation& entries = data.x.sparse().relation();
    hash.add(entries);
    hash.add(entries, data.x.sparse().values());
  } else if (data.x && data.x.is_quantized()) {
    const PackedRows& x = data.x.quantized();
    hash.add(static_cast<uint64_t>(x.bits));
    hash.add(static_cast<uint64_t>(x.cols));
    for (const Tensor& tensor : {x.bytes, x.scale, x.zero}) hash.add(tensor);
  } else if (data.x && data.x.is_typed()) {
    for (size_t t = 0; t < data.x.typed().x.size(); ++t)
      if (t < data.x_in_files.size() && data.x_in_files[t])
        hash.add(data.x_in_files[t]);
      else
        hash.add(data.x.typed().x[t]);
  } else if (data.x_in_file) {
    hash.add(data.x_in_file);
  } else {
    hash.add(data.x ? data.x.dense() : Tensor());
  }
  for (const Tensor& tensor : {data.y, data.train, data.val, data.test, data.graph_offsets, data.graph_y})
    hash.add(tensor);
  if (data.edge_y) {
    hash.add(std::string_view("edge_y"));
    hash.add(edges, data.edge_y);
  }
  // Added later: datasets without these keep their fingerprints in old checkpoints.
  for (const auto& [name, tensor] : {std::pair("part", data.part), std::pair("order", data.order)}) {
    if (!tensor) continue;
    hash.add(std::string_view(name));
    hash.add(tensor);
  }
  return fmt::format("{}, {} nodes, {} edges, {} features, {} classes, contents {:016x}", data.name,
                     data.num_nodes(), data.graph.whole_sizes().entries, data.num_features(),
                     data.num_classes(), hash.result());
}

}  // namespace adj
