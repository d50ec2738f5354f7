#include <adjoint/graph/hetero_graph.h>

namespace adj {

struct HeteroGraph::Impl {
  NodeCounts nodes;
  std::map<EdgeType, Edges> edges;
};

namespace {

/// "a, b, c", or "(none)".
template <class Items, class Name>
std::string list_of(const Items& items, Name&& name) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + name(item);
  return text.empty() ? "(none)" : text;
}

int64_t count_of(const HeteroGraph::NodeCounts& nodes, std::string_view type) {
  const auto found = nodes.find(type);
  if (found != nodes.end()) return found->second;
  fail("hetero graph: no nodes of type \"{}\", expected one of: {}", type,
       list_of(nodes, [](const auto& entry) { return entry.first; }));
}

template <class Edges>
std::string types_of(const Edges& edges) {
  return list_of(edges, [](const auto& entry) { return entry.first.str(); });
}

}  // namespace

std::string EdgeType::str() const { return fmt::format("({}, {}, {})", src, name, dst); }

HeteroGraph::HeteroGraph(NodeCounts nodes, std::map<EdgeType, Edges> edges) {
  for (const auto& [type, count] : nodes)
    ADJ_CHECK(count >= 0, "hetero graph: {} nodes of type \"{}\"", count, type);
  for (const auto& [type, of_type] : edges) {
    const Relation& relation = of_type.relation;
    ADJ_CHECK(relation, "hetero graph: no relation given for {}", type.str());
    const int64_t sources = count_of(nodes, type.src), targets = count_of(nodes, type.dst);
    ADJ_CHECK(relation.num_src() == sources && relation.num_dst() == targets,
              "hetero graph: {} has {} sources and {} targets, expected {} and {}", type.str(),
              relation.num_src(), relation.num_dst(), sources, targets);
    const Device device = edges.begin()->second.relation.device();
    ADJ_CHECK(relation.device() == device, "hetero graph: {} is on {}, expected {}", type.str(),
              relation.device().str(), device.str());
    detail::check_attributes(fmt::format("hetero graph: {}", type.str()), of_type.attributes,
                             relation.num_edges(), device);
  }
  impl_ = std::make_shared<const Impl>(Impl{std::move(nodes), std::move(edges)});
}

const HeteroGraph::Impl& HeteroGraph::impl() const {
  ADJ_CHECK(impl_ != nullptr, "hetero graph: a default-constructed one has no edges");
  return *impl_;
}

std::vector<std::string> HeteroGraph::node_types() const {
  std::vector<std::string> types;
  for (const auto& [type, count] : impl().nodes) types.push_back(type);
  return types;
}

std::vector<EdgeType> HeteroGraph::edge_types() const {
  std::vector<EdgeType> types;
  for (const auto& [type, edges] : impl().edges) types.push_back(type);
  return types;
}

Device HeteroGraph::device() const {
  return impl_ && !impl_->edges.empty() ? impl_->edges.begin()->second.relation.device() : Device::cpu();
}

int64_t HeteroGraph::num_nodes(std::string_view type) const { return count_of(impl().nodes, type); }

int64_t HeteroGraph::num_nodes() const {
  int64_t sum = 0;
  for (const auto& [type, count] : impl().nodes) sum += count;
  return sum;
}

int64_t HeteroGraph::num_edges() const {
  int64_t sum = 0;
  for (const auto& [type, edges] : impl().edges) sum += edges.relation.num_edges();
  return sum;
}

const HeteroGraph::Edges& HeteroGraph::edges_of(const EdgeType& type) const {
  const auto found = impl().edges.find(type);
  if (found != impl().edges.end()) return found->second;
  fail("hetero graph: no relation {}, expected one of: {}", type.str(), types_of(impl().edges));
}

const Relation& HeteroGraph::relation(const EdgeType& type) const { return edges_of(type).relation; }

const Relation& HeteroGraph::relation(std::string_view name) const {
  const Relation* found = nullptr;
  for (const auto& [type, edges] : impl().edges) {
    if (type.name != name) continue;
    ADJ_CHECK(found == nullptr, "hetero graph: several relations \"{}\", expected one among: {}", name,
              types_of(impl().edges));
    found = &edges.relation;
  }
  ADJ_CHECK(found != nullptr, "hetero graph: no relation \"{}\", expected one of: {}", name,
            types_of(impl().edges));
  return *found;
}

const EdgeAttributes& HeteroGraph::edge_attributes(const EdgeType& type) const {
  return edges_of(type).attributes;
}

const Tensor& HeteroGraph::edge_attr(const EdgeType& type, std::string_view name) const {
  return detail::find_attribute(fmt::format("hetero graph: {}", type.str()), edge_attributes(type), name);
}

HeteroGraph HeteroGraph::with_edge_attr(const EdgeType& type, std::string name, Tensor attribute) const {
  (void)edges_of(type);
  std::map<EdgeType, Edges> edges = impl().edges;
  edges.at(type).attributes.insert_or_assign(std::move(name), std::move(attribute));
  return HeteroGraph(impl().nodes, std::move(edges));
}

HeteroGraph HeteroGraph::to(Device device) const {
  if (!impl_ || device == this->device()) return *this;
  std::map<EdgeType, Edges> edges;
  for (const auto& [type, of_type] : impl().edges)
    edges.emplace(type, Edges{of_type.relation.to(device), detail::to_device(of_type.attributes, device)});
  return HeteroGraph(impl().nodes, std::move(edges));
}

}  // namespace adj
