#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/detail/pairs.h>
#include <adjoint/data/interactions.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

namespace adj {

namespace {

using detail::Pair;
using detail::tensor_of_pairs;

EdgeType chosen_type(const TypedDataset& data, const std::string& path, const std::string& wanted) {
  if (!wanted.empty()) {
    const EdgeType type = data.edge_type(wanted);
    if (type.src == type.dst)
      data_fail("{}: edges {} join nodes of one type, expected users and items", path, text_of(type));
    return type;
  }
  std::vector<std::string> found, others;
  EdgeType chosen;
  for (const EdgeType& type : data.graph.edge_types()) {
    (type.src == type.dst ? others : found).push_back(text_of(type));
    if (type.src != type.dst) chosen = type;
  }
  if (found.size() > 1)
    data_fail("{}: {} types of edges between two types of nodes, {}; expected --edges to say which", path,
              found.size(), detail::listed(found, 5));
  if (found.empty())
    data_fail(
        "{}: {}, expected edges from users to items, two types of nodes (convert tables --edges "
        "user:rated:item=FILE)",
        path,
        others.empty() ? "no edges"
                       : fmt::format("edges {} of one type of nodes", detail::listed(others, 5)));
  return chosen;
}

std::vector<std::string> distinct_names(const TypedDataset& data, const std::string& type,
                                        const std::string& path) {
  const auto items = data.nodes.find(type);
  std::vector<std::string> names =
      detail::names_of(items == data.nodes.end() ? ItemTable() : items->second, data.num_nodes(type));
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      data_fail("{}: two nodes '{}' are called '{}', expected different names", path, excerpt(type),
                excerpt(name));
  return names;
}

/// An edge, in the order in which of equal pairs the first counts.
struct Entry {
  Pair pair;
  int part;  ///< 0 trains, 1 validates, 2 tests
  int64_t time;
  int32_t number;
  bool operator<(const Entry& other) const {
    return std::tie(pair, part, time, number) < std::tie(other.pair, other.part, other.time, other.number);
  }
};

}  // namespace

Interactions interactions_of(const TypedDataset& data, const std::string& path, const std::string& wanted) {
  Interactions found;
  found.name = data.name;
  found.type = chosen_type(data, path, wanted);
  found.users = distinct_names(data, found.type.src, path);
  found.items = distinct_names(data, found.type.dst, path);
  found.weighted = data.graph.edge_attributes(found.type).contains("weight");
  const EdgeIndex edges = data.graph.relation(found.type).edge_index();
  const std::vector<int32_t> src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  const auto table = data.edges.find(found.type);
  const ItemTable none, &items = table == data.edges.end() ? none : table->second;
  std::vector<int> part(src.size(), items.splits.empty() ? 0 : -1);
  if (!items.splits.empty()) {
    const Split& split = items.splits[0];
    for (const auto& [which, rows] : {std::pair(0, &split.train), {1, &split.val}, {2, &split.test}})
      for (const int32_t e : *rows ? rows->to_vector<int32_t>() : std::vector<int32_t>())
        part[static_cast<size_t>(e)] = which;
  }
  const std::vector<int64_t> times =
      items.times ? items.times.to_vector<int64_t>() : std::vector<int64_t>(src.size());
  std::vector<Entry> entries;
  for (size_t e = 0; e < src.size(); ++e)
    if (part[e] >= 0) entries.push_back({{src[e], dst[e]}, part[e], times[e], static_cast<int32_t>(e)});
  found.passed_over = std::ssize(src) - std::ssize(entries);
  std::sort(entries.begin(), entries.end());
  std::array<std::vector<Pair>, 3> parts;
  std::vector<int64_t> kept_times;
  for (size_t k = 0; k < entries.size(); ++k) {
    const Entry& entry = entries[k];
    if (k > 0 && entries[k - 1].pair == entry.pair) {
      ++(entries[k - 1].part == entry.part ? found.repeated : found.trained);
      continue;
    }
    parts[static_cast<size_t>(entry.part)].push_back(entry.pair);
    kept_times.push_back(entry.time);
  }
  if (parts[0].empty()) data_fail("{}: no edges {} to train on", path, text_of(found.type));
  found.train = tensor_of_pairs(parts[0]);
  found.val = tensor_of_pairs(parts[1]);
  found.test = tensor_of_pairs(parts[2]);
  if (items.times && items.splits.empty()) found.times = Tensor::from(kept_times);
  return found;
}

}  // namespace adj
