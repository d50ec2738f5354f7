#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/joint_graph.h>

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/ranges.h>

namespace adj {

namespace {

constexpr std::string_view kReverse = "rev_", kInverse = "^-1";  // as here, and as convert rdf --inverse

EdgeType reverse_of(const EdgeType& type) { return {type.dst, std::string(kReverse) + type.name, type.src}; }

/// The type of which this one is the reverse by name; absent for other names.
std::optional<EdgeType> original_of(const EdgeType& type) {
  if (type.name.starts_with(kReverse)) return EdgeType{type.dst, type.name.substr(kReverse.size()), type.src};
  if (!type.name.ends_with(kInverse)) return {};
  return EdgeType{type.dst, type.name.substr(0, type.name.size() - kInverse.size()), type.src};
}

bool has(const std::vector<EdgeType>& types, const EdgeType& type) {
  return std::ranges::find(types, type) != types.end();
}

/// The edges of a relation of the schema: by the graph's own type, and whether they are reversed.
struct Source {
  EdgeType type;
  bool reversed;
};

Source source_of(const std::vector<EdgeType>& types, const EdgeType& wanted) {
  if (has(types, wanted)) return {wanted, false};
  if (const auto original = original_of(wanted); original && has(types, *original)) return {*original, true};
  std::vector<std::string> all;
  for (const EdgeType& type : types) all.push_back(type.str());
  fail("joint graph: no relation {}, expected one of: {}", wanted.str(), fmt::join(all, ", "));
}

}  // namespace

std::vector<int64_t> GraphSchema::offsets() const {
  std::vector<int64_t> offsets{0};
  for (const Nodes& type : nodes) offsets.push_back(offsets.back() + type.count);
  return offsets;
}

int64_t GraphSchema::num_features() const {
  int64_t sum = 0;
  for (const Nodes& type : nodes) sum += type.features;
  return sum;
}

std::vector<EdgeType> relations_of(const HeteroGraph& graph, bool reverse) {
  const std::vector<EdgeType> types = graph.edge_types();
  std::vector<EdgeType> relations;
  for (const EdgeType& type : types) {
    relations.push_back(type);
    const auto original = original_of(type);
    const EdgeType inverse{type.dst, type.name + std::string(kInverse), type.src};
    const bool known = !reverse || has(types, reverse_of(type)) || has(types, inverse) ||
                       (original && has(types, *original)) ||
                       (type.src == type.dst && graph.relation(type).symmetric());
    if (!known) relations.push_back(reverse_of(type));
  }
  return relations;
}

EdgeIndex edges_of(const HeteroGraph& graph, const EdgeType& type) {
  const auto [source, reversed] = source_of(graph.edge_types(), type);
  const EdgeIndex edges = graph.relation(source).to(Device::cpu()).edge_index();
  return reversed ? EdgeIndex{edges.dst, edges.src} : edges;
}

Graph join(const HeteroGraph& graph, const GraphSchema& schema, const NodeNumbers& numbers) {
  const std::vector<int64_t> offsets = schema.offsets();
  const std::vector<EdgeType> types = graph.edge_types();
  std::vector<Source> sources;
  int64_t edges = 0;
  bool weighted = false;
  for (const EdgeType& relation : schema.relations) {
    sources.push_back(source_of(types, relation));
    edges += graph.relation(sources.back().type).num_edges();
    weighted = weighted || graph.edge_attributes(sources.back().type).contains("weight");
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  ADJ_CHECK(edges <= kMost && offsets.back() <= kMost,
            "joint graph: {} nodes and {} edges, expected at most {} of each", offsets.back(), edges, kMost);
  Tensor src = Tensor::empty({edges}, DType::i32), dst = Tensor::empty_like(src),
         type = Tensor::empty_like(src);
  Tensor weight = weighted ? Tensor::full({edges}, 1.0, DType::f32) : Tensor();
  /// Writes the joint numbers of nodes of a type.
  const auto place = [&](const std::string& name, const Tensor& nodes, Tensor rows) {
    const auto found = std::ranges::find(schema.nodes, name, &GraphSchema::Nodes::name);
    ADJ_CHECK(found != schema.nodes.end(), "joint graph: no nodes of type \"{}\" in its schema", name);
    const auto renumbered = numbers.find(name);
    ADJ_CHECK(renumbered != numbers.end() || graph.num_nodes(name) <= found->count,
              "joint graph: {} nodes of type \"{}\", expected at most {}", graph.num_nodes(name), name,
              found->count);
    const auto first = static_cast<int32_t>(offsets[static_cast<size_t>(found - schema.nodes.begin())]);
    const int32_t* number = renumbered == numbers.end() ? nullptr : renumbered->second.data<int32_t>();
    const int32_t* node = nodes.data<int32_t>();
    int32_t* row = rows.mutable_data<int32_t>();
    parallel_for(nodes.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) row[k] = first + (number == nullptr ? node[k] : number[node[k]]);
    });
  };
  int64_t begin = 0;
  for (size_t r = 0; r < sources.size(); ++r) {
    const EdgeType &relation = schema.relations[r], &source = sources[r].type;
    const EdgeIndex index = edges_of(graph, relation);
    const int64_t end = begin + index.src.numel();
    place(relation.src, index.src, src.rows(begin, end));
    place(relation.dst, index.dst, dst.rows(begin, end));
    type.rows(begin, end).fill_(static_cast<double>(r));
    if (const auto weights = graph.edge_attributes(source).find("weight");
        weights != graph.edge_attributes(source).end())
      weight.rows(begin, end).copy_(weights->second.to(Device::cpu()));
    begin = end;
  }
  return Graph::from_coo(offsets.back(), src, dst, weight, {{"type", type}});
}

bool are_reverses(const EdgeType& a, const EdgeType& b) { return original_of(a) == b || original_of(b) == a; }

JointPairs pairs_of(const GraphSchema& schema, const EdgeType& type, const std::vector<EdgeType>& same) {
  ADJ_CHECK(has(schema.relations, type), "joint graph: no relation {} in its schema", type.str());
  const std::vector<int64_t> offsets = schema.offsets();
  const auto first = [&](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(schema.nodes, name, &GraphSchema::Nodes::name) -
                               schema.nodes.begin());
  };
  const size_t src = first(type.src), dst = first(type.dst);
  JointPairs pairs{.relations = {},
                   .num_relations = std::ssize(schema.relations),
                   .src_begin = offsets.at(src),
                   .src_end = offsets.at(src + 1),
                   .dst_begin = offsets.at(dst),
                   .dst_end = offsets.at(dst + 1)};
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const EdgeType& relation = schema.relations[r];
    const auto number = static_cast<int32_t>(r);
    if (relation == type)
      pairs.relations.insert(pairs.relations.begin(), number);
    else if (has(same, relation) || are_reverses(relation, type))
      pairs.relations.push_back(number);
  }
  return pairs;
}

std::vector<std::string> left_out(const HeteroGraph& graph, const GraphSchema& schema) {
  std::vector<std::string> texts;
  for (const std::string& name : graph.node_types())
    if (std::ranges::find(schema.nodes, name, &GraphSchema::Nodes::name) == schema.nodes.end())
      texts.push_back(fmt::format("nodes of type \"{}\"", name));
  for (const EdgeType& type : graph.edge_types()) {
    if (!has(schema.relations, type) && !has(schema.relations, reverse_of(type)))
      texts.push_back(fmt::format("relation {}", type.str()));
    else
      for (const auto& [name, attribute] : graph.edge_attributes(type))
        if (name != "weight") texts.push_back(fmt::format("\"{}\" of {}", name, type.str()));
  }
  return texts;
}

const Block& edges_into_first(const Graph& graph, int64_t count) {
  const auto make = [&] {
    const Csr& all = graph.in_edges();
    const int64_t edges = all.offsets.rows(count, count + 1).to_vector<int64_t>()[0];
    Csr in_edges{count, all.cols, all.offsets.rows(0, count + 1), all.indices.rows(0, edges)};
    in_edges.ascending = all.ascending;
    const Tensor& order = graph.relation().csr_order();
    const Block block(Relation::from_csr(std::move(in_edges)), detail::range(0, all.cols).to(graph.device()),
                      order ? order.rows(0, edges) : Tensor());
    const Tensor& weight = graph.edge_weight();
    EdgeAttributes attributes = graph.edge_attributes();
    if (order) {
      attributes = detail::gather_attributes(attributes, block.edge_ids());
    } else {
      for (auto& [name, values] : attributes) values = values.rows(0, edges);
    }
    const auto weights = [&] {
      return order ? detail::gather_edges(weight, block.edge_ids()) : weight.rows(0, edges);
    };
    return std::make_unique<Block>(
        block.with_edge_data(weight ? weights() : Tensor(), std::move(attributes)));
  };
  return *graph.relation().cache().get<Block>(count, make);
}

}  // namespace adj
