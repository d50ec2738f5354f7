#include <adjoint/data/import/detail/triple_list.h>
#include <adjoint/graph/detail/index.h>

#include <algorithm>

namespace adj::detail {

void TripleList::add(int32_t head, int32_t relation, int32_t tail) {
  const std::array<int32_t, 3> triple{head, relation, tail};
  numbers_.append(triple);
  ++count_;
}

std::vector<RelationEdges> TripleList::take(int64_t relations) {
  for (size_t part = part_ + 1; part < part_begins_.size(); ++part) part_begins_[part] = count_;
  std::vector<RelationEdges> all(static_cast<size_t>(relations), RelationEdges{{}, {}});
  int64_t position = 0;
  size_t column = 0, part = 0;
  numbers_.for_each([&](int32_t number) {
    if (column == 1) {
      while (position >= part_begins_[part + 1]) ++part;
      ++all[static_cast<size_t>(number)].part_counts[part];
      ++position;
    }
    column = (column + 1) % 3;
  });
  struct Ends {
    int32_t *src, *dst;
  };
  std::vector<Ends> next;
  for (RelationEdges& edges : all) {
    const int64_t count = std::accumulate(edges.part_counts.begin(), edges.part_counts.end(), int64_t{0});
    edges.index = {Tensor::empty({count}, DType::i32), Tensor::empty({count}, DType::i32)};
    next.push_back({edges.index.src.mutable_data<int32_t>(), edges.index.dst.mutable_data<int32_t>()});
  }
  std::array<int32_t, 3> triple{};
  column = 0;
  numbers_.drain([&](std::span<const int32_t> numbers) {
    for (const int32_t number : numbers) {
      triple[column] = number;
      column = (column + 1) % 3;
      if (column != 0) continue;
      auto& [src, dst] = next[static_cast<size_t>(triple[1])];
      *src++ = triple[0];
      *dst++ = triple[2];
    }
  });
  for (RelationEdges& edges : all) drop_repeats(edges);
  count_ = 0;
  return all;
}

void TripleList::drop_repeats(RelationEdges& edges) {
  const int64_t count = edges.index.src.numel();
  const int32_t *src = edges.index.src.data<int32_t>(), *dst = edges.index.dst.data<int32_t>();
  struct Place {
    int32_t src, dst, position;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places(static_cast<size_t>(count));
  for (int32_t k = 0; k < count; ++k) places[static_cast<size_t>(k)] = {src[k], dst[k], k};
  std::sort(places.begin(), places.end());
  const std::array<int64_t, 2> ends{edges.part_counts[0], edges.part_counts[0] + edges.part_counts[1]};
  const auto part_in = [&](int32_t position) {
    return static_cast<size_t>(position >= ends[0]) + static_cast<size_t>(position >= ends[1]);
  };
  std::vector<bool> repeats(static_cast<size_t>(count));
  int64_t dropped = 0;
  bool counted = false;  // this triple, as one of several parts
  for (size_t k = 1; k < places.size(); ++k) {
    const Place &one = places[k], &before = places[k - 1];
    if (one.src != before.src || one.dst != before.dst) {
      counted = false;
    } else if (const size_t part = part_in(one.position); part == part_in(before.position)) {
      repeats[static_cast<size_t>(one.position)] = true;
      --edges.part_counts[part];
      ++dropped;
    } else {
      shared_ += !counted;
      counted = true;
    }
  }
  repeated_ += dropped;
  if (dropped == 0) return;
  EdgeIndex kept{Tensor::empty({count - dropped}, DType::i32), Tensor::empty({count - dropped}, DType::i32)};
  int32_t *to_src = kept.src.mutable_data<int32_t>(), *to_dst = kept.dst.mutable_data<int32_t>();
  for (int64_t k = 0; k < count; ++k) {
    if (repeats[static_cast<size_t>(k)]) continue;
    *to_src++ = src[k];
    *to_dst++ = dst[k];
  }
  edges.index = kept;
}

TypedDataset dataset_of_triples(NodeIds& nodes, const NodeIds& relations,
                                const std::vector<RelationEdges>& edges, bool inverse, bool split) {
  const std::string node(kTripleNodes);
  const int64_t count = nodes.size();
  TypedDataset data;
  std::map<EdgeType, HeteroGraph::Edges> all;
  const auto add = [&](std::string name, const Tensor& src, const Tensor& dst, ItemTable items) {
    const EdgeType type{node, std::move(name), node};
    all.emplace(type, HeteroGraph::Edges{Relation::from_coo(count, count, src, dst)});
    data.edges.emplace(type, std::move(items));
  };
  for (size_t k = 0; k < edges.size(); ++k) {
    const std::string name = relations.text(static_cast<int32_t>(k));
    const auto& [index, parts] = edges[k];
    ItemTable items;
    if (split) {
      const int64_t with_train = parts[0], with_val = with_train + parts[1];
      items.splits.push_back(
          {range(0, with_train), range(with_train, with_val), range(with_val, with_val + parts[2])});
      items.use(items.splits[0]);
    }
    add(name, index.src, index.dst, std::move(items));
    if (inverse) add(name + std::string(kInverseSuffix), index.dst, index.src, {});
  }
  data.graph = HeteroGraph({{node, count}}, std::move(all));
  nodes.move_to(data.nodes[node]);
  return data;
}

}  // namespace adj::detail
