#include <adjoint/core/text.h>
#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/graph/edge_attributes.h>

#include <algorithm>
#include <map>

namespace adj {

namespace {

/// The members of `candidates` in these places.
Tensor items_in(const std::vector<int32_t>& candidates, const Tensor& places) {
  std::vector<int32_t> items;
  for (int32_t k : places.to_vector<int32_t>()) items.push_back(candidates[static_cast<size_t>(k)]);
  return Tensor::from(items);
}

std::string part_sizes(const Split& split, std::string_view items) {
  return fmt::format("{} {} to train, {} to validate, {} to test", split.train.numel(), items,
                     split.val.numel(), split.test.numel());
}

}  // namespace

std::vector<Split> RandomSplits::draw(const Tensor& labels, int64_t items, const std::string& place,
                                      std::string_view word) const {
  if (stratified && (!labels || labels.dtype() != DType::i32))
    data_fail("{}: {}, expected classes for a stratified split", excerpt(place),
              labels ? "labels in columns" : "no labels");
  std::vector<int32_t> labelled;
  for (int32_t i = 0; i < items; ++i)
    if (!labels || detail::is_labelled(labels, i)) labelled.push_back(i);
  std::vector<Split> splits;
  for (int64_t k = 0; k < count; ++k) {
    Generator generator(seed + static_cast<uint64_t>(k));
    if (stratified) {
      const NodeSplit parts = stratified_node_split(labels, fractions, generator);
      splits.push_back({parts.train, parts.val, parts.test});
    } else {
      const NodeSplit parts = random_node_split(std::ssize(labelled), fractions, generator);
      splits.push_back(
          {items_in(labelled, parts.train), items_in(labelled, parts.val), items_in(labelled, parts.test)});
    }
    const Split& split = splits.back();
    if (split.train.numel() == 0 || split.val.numel() == 0 || split.test.numel() == 0)
      data_fail("{}: a split of {} {}{} into {}, expected some in each part", excerpt(place), labelled.size(),
                word, labels ? " with a label" : "", part_sizes(split, word));
  }
  return splits;
}

std::vector<Split> RandomSplits::draw(const Dataset& data, const std::string& place) const {
  if (is_of_edges(data.task) && data.graph.is_symmetric())
    return draw_pairs(data.graph.to(Device::cpu()).edge_index(), data.edge_y, place);
  return draw(data.labels(), num_split_items(data), place, word_for_split_items(data.task));
}

std::vector<Split> RandomSplits::draw_pairs(const EdgeIndex& edges, const Tensor& edge_labels,
                                            const std::string& place) const {
  const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> joined;  // labelled edges by their two nodes
  for (int32_t e = 0; e < std::ssize(src); ++e)
    if (const auto k = static_cast<size_t>(e); detail::is_labelled(edge_labels, e))
      joined[std::minmax(src[k], dst[k])].push_back(e);
  std::vector<std::vector<int32_t>> groups;
  std::vector<int32_t> first;
  for (auto& [ends, members] : joined) {
    first.push_back(members.front());
    groups.push_back(std::move(members));
  }
  const Tensor labels = detail::gather_edges(edge_labels, Tensor::from(first));
  std::vector<Split> splits = draw(labels, std::ssize(groups), place, "edges");
  for (Split& split : splits)
    for (Tensor* part : {&split.train, &split.val, &split.test}) {
      std::vector<int32_t> members;
      for (const int32_t group : part->to_vector<int32_t>())
        members.insert(members.end(), groups[static_cast<size_t>(group)].begin(),
                       groups[static_cast<size_t>(group)].end());
      *part = Tensor::from(members);
    }
  return splits;
}

std::string RandomSplits::note(const std::vector<Split>& splits, std::string_view items) const {
  const std::string counts = part_sizes(splits.at(0), items);
  const char* how = stratified ? ", stratified" : "";
  if (count == 1) return fmt::format("split by seed {}{}: {}", seed, how, counts);
  return fmt::format("{} splits by seeds {} to {}{}: {} each", count, seed,
                     seed + static_cast<uint64_t>(count) - 1, how, counts);
}

int64_t num_split_items(const Dataset& data) {
  if (is_of_edges(data.task)) return data.graph.num_edges();
  return is_of_graphs(data.task) ? data.graph_offsets.numel() - 1 : data.num_nodes();
}

std::string_view word_for_split_items(Task task) {
  return is_of_graphs(task) ? "graphs" : is_of_edges(task) ? "edges" : "nodes";
}

std::vector<Split> listed_splits(const Dataset& data, std::vector<Split> splits) {
  const Tensor listed = is_of_edges(data.task) ? data.graph.input_order() : Tensor();
  if (!listed) return splits;
  for (Split& split : splits)
    for (Tensor* part : {&split.train, &split.val, &split.test}) *part = detail::gather_edges(listed, *part);
  return splits;
}

}  // namespace adj
