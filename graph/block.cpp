#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/block.h>

#include <algorithm>

namespace adj {

namespace {

void check_ids(const char* name, const Tensor& ids, int64_t count, Device device) {
  ADJ_CHECK(ids && ids.dims() == 1 && ids.numel() == count &&
                (ids.dtype() == DType::i32 || ids.dtype() == DType::i64) && ids.device() == device,
            "block: {} are {}, expected [{}] int32 or int64 on {}", name, ids.str(), count, device.str());
}

}  // namespace

Block::Block(Relation relation, Tensor src_nodes, Tensor edge_ids)
    : relation_(std::move(relation)), src_nodes_(std::move(src_nodes)), edge_ids_(std::move(edge_ids)) {
  ADJ_CHECK(relation_, "block: no relation");
  ADJ_CHECK(num_dst() <= num_src(),
            "block: {} targets but {} sources, expected the targets among the sources", num_dst(), num_src());
  check_ids("source nodes", src_nodes_, num_src(), device());
  if (edge_ids_) check_ids("edge ids", edge_ids_, num_edges(), device());
}

Block::Block(Relation relation, const Tensor& dst_nodes, Tensor src_nodes, Tensor edge_ids)
    : Block(std::move(relation), std::move(src_nodes), std::move(edge_ids)) {
  check_ids("target nodes", dst_nodes, num_dst(), device());
  const std::vector<int64_t> target_ids = dst_nodes.to(DType::i64).to_vector<int64_t>(),
                             first = this->dst_nodes().to(DType::i64).to_vector<int64_t>();
  const auto [target, source] = std::mismatch(target_ids.begin(), target_ids.end(), first.begin());
  ADJ_CHECK(target == target_ids.end(),
            "block: target {} is node {} but source {} is node {}, expected the same",
            target - target_ids.begin(), *target, target - target_ids.begin(), *source);
}

Block Block::with_edge_data(Tensor weight, EdgeAttributes attributes) const {
  ADJ_CHECK(!weight || (weight.shape() == Shape{num_edges()} && weight.dtype() == DType::f32 &&
                        weight.device() == device()),
            "block: weights are {}, expected [{}] float32 on {}", weight.str(), num_edges(), device().str());
  detail::check_attributes("block", attributes, num_edges(), device());
  Block block = *this;
  block.edge_weight_ = std::move(weight);
  block.edge_attributes_ = std::move(attributes);
  return block;
}

Block Block::to(Device device) const { return detail::carried(*this, device); }

Block Block::carried_to(detail::Carrier& carrier) const {
  if (!relation_ || carrier.device() == device()) return *this;
  Block moved(carrier.carry(relation_), carrier.carry(src_nodes_), carrier.carry(edge_ids_));
  moved.edge_weight_ = carrier.carry(edge_weight_);
  for (const auto& [name, attribute] : edge_attributes_)
    moved.edge_attributes_.emplace(name, carrier.carry(attribute));
  return moved;
}

}  // namespace adj
