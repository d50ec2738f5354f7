#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/graph/order/orders.h>

#include <algorithm>

#include <fmt/format.h>

namespace adj::detail {

void DatasetReader::read_graphs() {
  if (!file_.has("graphs/offsets")) {
    if (of_graphs()) problems_.say("graphs/offsets", "missing, expected for task {}", name_of(data_.task));
    return;
  }
  data_.graph_offsets = values_.offsets("graphs/offsets", kAny, nodes_.value_or(kAny), "the number of nodes");
  if (data_.graph_offsets) graphs_ = data_.graph_offsets.numel() - 1;
  data_.graph_names = names_at("graphs/name", graphs_.value_or(kAny), "graph");
}

void DatasetReader::read_edges() {
  const int64_t limit = nodes_.value_or(kLargest);
  const Tensor src = values_.indices("edges/src", kAny, limit),
               dst = values_.indices("edges/dst", kAny, limit);
  const bool paired = src && dst && src.numel() == dst.numel();
  if (src && dst && !paired)
    problems_.say("edges/dst", "{} edges, but edges/src has {}", dst.numel(), src.numel());
  if (src && src.numel() >= kLargest)
    problems_.say("edges/src", "{} edges, expected fewer than {}", src.numel(), kLargest);
  if (paired && data_.graph_offsets && sound({"graphs/offsets"})) check_graphs_apart(src, dst);

  const int64_t edges = paired ? src.numel() : kAny;
  if (paired) num_edges_ = edges;
  Tensor weight;
  if (file_.has("edges/weight")) weight = values_.floats("edges/weight", {edges});
  EdgeAttributes attributes;
  if (file_.has("edges/attr")) attributes.emplace("attr", values_.floats("edges/attr", {edges, kAny}));
  if (file_.has("edges/time")) attributes.emplace("time", values_.integers("edges/time", edges));
  const auto attr = attributes.find("attr");
  const int64_t columns = attr != attributes.end() && attr->second ? attr->second.size(1) : kAny;
  data_.attr_names = names_at("edges/attr_names", columns, "column");
  data_.attr_encoder = encoder_at("edges/attr_encoder", columns, data_.attr_names);
  if (!nodes_ || !sound({"edges/src", "edges/dst"})) return;
  if (!sound({"edges/weight"})) weight = {};
  for (const std::string_view name : {"attr", "time"})
    if (!sound({fmt::format("edges/{}", name)})) attributes.erase(attributes.find(name));
  data_.graph = Graph::from_coo(*nodes_, src, dst, weight, attributes);
}

void number_edges(Dataset& data) {
  const Tensor listed = data.graph ? data.graph.input_order() : Tensor();  // of each edge number
  if (!listed) return;
  if (data.edge_y) data.edge_y = gather_edges(data.edge_y, listed);
  if (!is_of_edges(data.task)) return;
  const Tensor number = inverse_order(listed);
  for (Split& split : data.splits)
    for (Tensor* part : {&split.train, &split.val, &split.test}) *part = gather_edges(number, *part);
  data.use_first_split();
}

void DatasetReader::check_graphs_apart(const Tensor& src, const Tensor& dst) {
  const auto offsets = data_.graph_offsets.to_vector<int64_t>();
  const auto graph_of = [&](int32_t node) {
    return std::upper_bound(offsets.begin(), offsets.end(), int64_t{node}) - offsets.begin() - 1;
  };
  const int64_t nodes = offsets.back();
  const int32_t *source = src.data<int32_t>(), *target = dst.data<int32_t>();
  WrongValues wrong(problems_, "edges/dst");
  for (int64_t e = 0; e < src.numel(); ++e) {
    if (source[e] < 0 || source[e] >= nodes || target[e] < 0 || target[e] >= nodes)
      continue;  // already reported
    if (graph_of(source[e]) != graph_of(target[e]))
      wrong.found(e, [&] {
        return fmt::format(
            "an edge from node {} of graph {} to node {} of graph {} at position {}, expected edges within "
            "graphs",
            source[e], graph_of(source[e]), target[e], graph_of(target[e]), e);
      });
  }
  wrong.say();
}

}  // namespace adj::detail
