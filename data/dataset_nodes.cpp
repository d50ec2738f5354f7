#include <adjoint/data/detail/dataset_reader.h>

namespace adj::detail {

/// Reads node names, partition and original order.
void DatasetReader::read_nodes() {
  if (file_.has("nodes/id")) data_.node_ids = values_.integers("nodes/id", extent("nodes/id", nodes_));
  read_names();
  read_times();
  if (file_.has("nodes/part"))
    data_.part = values_.indices("nodes/part", extent("nodes/part", nodes_), nodes_.value_or(kLargest));
  if (file_.has("nodes/order")) {
    data_.order = values_.indices("nodes/order", extent("nodes/order", nodes_), nodes_.value_or(kLargest));
    if (data_.order && nodes_ && sound({"nodes/order"})) check_order(data_.order);
  }
}

void DatasetReader::read_times() {
  if (file_.has("nodes/time")) data_.times = values_.integers("nodes/time", extent("nodes/time", nodes_));
}

void DatasetReader::read_names() {
  if (!file_.has("nodes/name")) return;
  problems_.attempt("nodes/name",
                    [&] { data_.node_names = file_.tensor("nodes/name", {DType::u8}, {kAny}); });
  data_.node_name_offsets =
      values_.offsets("nodes/name_offsets", extent("nodes/name_offsets", nodes_, 1),
                      data_.node_names ? data_.node_names.numel() : kAny, "the length of nodes/name");
}

/// Throws unless it is a permutation within each graph.
void DatasetReader::check_order(const Tensor& order) {
  const int32_t* first = order.data<int32_t>();
  std::vector<bool> seen(static_cast<size_t>(*nodes_), false);
  WrongValues repeated(problems_, "nodes/order"), elsewhere(problems_, "nodes/order");
  for (int64_t i = 0; i < *nodes_; ++i) {
    if (seen[static_cast<size_t>(first[i])])
      repeated.found(i, [&] {
        return fmt::format("node {} at position {} occurs twice, expected each node once", first[i], i);
      });
    seen[static_cast<size_t>(first[i])] = true;
  }
  repeated.say();
  if (!data_.graph_offsets || !sound({"graphs/offsets"})) return;
  const std::vector<int64_t> offsets = data_.graph_offsets.to_vector<int64_t>();
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    for (int64_t i = offsets[g]; i < offsets[g + 1]; ++i)
      if (first[i] < offsets[g] || first[i] >= offsets[g + 1])
        elsewhere.found(i, [&] {
          return fmt::format("node {} at position {}, expected {} to {}, the nodes of graph {}", first[i], i,
                             offsets[g], offsets[g + 1] - 1, g);
        });
  elsewhere.say();
}

}  // namespace adj::detail
