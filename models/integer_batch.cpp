#include <adjoint/core/detail/carrier.h>
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/models/integer_batch.h>

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

}  // namespace adj
