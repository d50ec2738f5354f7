#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/models/detail/integer_parts.h>
#include <adjoint/models/integer_batch.h>
#include <adjoint/models/integer_model.h>

#include <cmath>

namespace adj {

namespace {

BitTensor carried(BitTensor bits, detail::Carrier& carrier) {
  for (Tensor* tensor : {&bits.planes, &bits.scale, &bits.zero, &bits.sums}) *tensor = carrier.carry(*tensor);
  return bits;
}

IntegerRows carried(IntegerRows rows, detail::Carrier& carrier) {
  if (rows.structure.offsets) rows.structure = carrier.carry(rows.structure);
  rows.order.rows = carrier.carry(rows.order.rows);
  rows.row_scale = carrier.carry(rows.row_scale);
  if (rows.bits) rows.bits = carried(*rows.bits, carrier);
  if (rows.steps) {
    rows.steps->counts = carrier.carry(rows.steps->counts);
    rows.steps->list = carrier.carry(rows.steps->list);
  }
  return rows;
}

}  // namespace

int64_t IntegerBatch::bytes() const {
  int64_t sum = 0;
  const auto add = [&](std::initializer_list<Tensor> tensors) {
    for (const Tensor& tensor : tensors) sum += tensor ? static_cast<int64_t>(tensor.bytes()) : 0;
  };
  const auto add_rows = [&](const IntegerRows& rows) {
    add({rows.structure.offsets, rows.structure.indices, rows.order.rows, rows.row_scale});
    if (rows.bits) add({rows.bits->planes, rows.bits->sums});
    if (rows.steps) add({rows.steps->counts, rows.steps->list});
  };
  add_rows(neighbors);
  if (graphs) add_rows(*graphs);
  add({x_bits.planes, x_bits.sums, x.bytes});
  return sum;
}

IntegerBatch IntegerBatch::to(Device target) const {
  if (target == device()) return *this;
  detail::Carrier carrier(target);
  IntegerBatch moved{.neighbors = carried(neighbors, carrier), .graphs = {}, .x_bits = {}, .x = {}};
  if (graphs) moved.graphs = carried(*graphs, carrier);
  ByteTensor narrow;
  if (by_bits()) {
    moved.x_bits = carried(x_bits, carrier);
  } else {
    narrow = narrowed(x);
    for (Tensor* tensor : {&narrow.bytes, &narrow.scale, &narrow.zero}) *tensor = carrier.carry(*tensor);
    moved.x = ByteTensor::empty(x.rows(), x.width, x.bits, narrow.scale, narrow.zero, target);
  }
  carrier.finish();
  if (narrow.bytes) kernels::repack_bytes({.x = narrow, .output = moved.x});
  return moved;
}

namespace {

/// float32 [rows]: factors that turn a row's sum into its mean.
Tensor inverse_lengths(const Relation& rows) {
  const NoGrad no_grad;
  const Var entries(rows.in_degrees());
  return (1.0 / (relu(entries - 1.0) + 1.0)).value();  // 1 for empty rows
}

/// With bits, these rows need no structure; without, they need its order.
IntegerRows prepared(IntegerRows rows, bool skip_steps) {
  if (!rows.bits) {
    rows.order = RowOrder(rows.structure);
    return rows;
  }
  if (skip_steps) rows.steps = bit_steps(*rows.bits);
  rows.structure.offsets = rows.structure.indices = {};
  return rows;
}

}  // namespace

bool IntegerModel::sums_by_bits(const Csr& structure) const {
  if (options_.sums != IntegerSums::automatic) return options_.sums == IntegerSums::bits;
  if (!device_.is_cuda()) return false;
  // Estimated microseconds per layer, measured on an H200: steps of 128 x 1024 entries on each of 132 SMs, or
  // gathers.
  constexpr double kLaunches = 1.0, kStep = 2.2, kMultiprocessors = 132.0, kGather = 2.5e-5;
  const auto rows = static_cast<double>(structure.rows);
  const double steps = std::ceil(rows / 128.0) * std::ceil(rows / 1024.0);
  return kLaunches + steps / kMultiprocessors * kStep < static_cast<double>(structure.entries()) * kGather;
}

IntegerRows IntegerModel::neighbors_of(const Graph& graph) const {
  const bool mean = parts_->hidden.empty();  // GCN: one self-loop per node; GIN: one more
  const Relation looped =
      with_self_loops(graph.relation(), mean ? SelfLoops::completed : SelfLoops::added).relation;
  IntegerRows rows{.structure = looped.csr(), .order = {}, .row_scale = {}, .bits = {}, .steps = {}};
  if (mean) rows.row_scale = inverse_lengths(looped);
  if (sums_by_bits(rows.structure)) rows.bits = adjacency_bits(rows.structure);
  return prepared(std::move(rows), options_.skip_steps);
}

IntegerRows IntegerModel::nodes_of(const Tensor& offsets, int64_t nodes, bool by_bits) const {
  const Csr structure{offsets.numel() - 1, nodes, offsets, detail::row_numbers(nodes, offsets.device())};
  IntegerRows rows{.structure = structure, .order = {}, .row_scale = {}, .bits = {}, .steps = {}};
  const nn::GraphPool pool = description_.options.graphs.pool;
  if (pool == nn::GraphPool::mean) rows.row_scale = inverse_lengths(Relation::from_csr(structure));
  if (pool == nn::GraphPool::max) return rows;
  if (by_bits) rows.bits = adjacency_bits(structure);  // without repeated entries
  return prepared(std::move(rows), options_.skip_steps);
}

IntegerBatch IntegerModel::pack(const Graph& graph, const Features& features) const {
  ADJ_CHECK(!description_.of_graphs(), "{}: a model of graphs, expected their offsets", describe());
  return pack(graph, Tensor(), features);
}

IntegerBatch IntegerModel::pack(const Graph& graph, const Tensor& offsets, const Features& input) const {
  const Device device = graph.device();
  IntegerBatch batch{.neighbors = neighbors_of(graph), .graphs = {}, .x_bits = {}, .x = {}};
  // A part of a graph comes with its nodes' features in the whole.
  const Features features = input && !description_.of_graphs() ? input : description_.features(graph, input);
  if (description_.of_graphs()) {
    detail::check_segments("integer model", offsets, graph.num_nodes(), device);
    batch.graphs = nodes_of(offsets, graph.num_nodes(), batch.by_bits());
  }
  const Tensor x = description_.prepare(features ? features.to(device) : features).to_dense().to(DType::f32);
  const detail::IntegerRange& range = parts_->packed_by;
  const Tensor scale = range.scale.to(device), zero = range.zero.to(device);
  if (batch.by_bits())
    batch.x_bits = to_bits(x, range.bits, scale, zero, PackedAlong::columns);
  else
    batch.x = to_bytes(x, range.bits, scale, zero);
  return batch;
}

}  // namespace adj
