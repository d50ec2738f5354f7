#include "integer_batch.h"

namespace adj {

IntegerRows IntegerRows::carried_to(Carrier& carrier) const {
  IntegerRows carried = *this;
  if (structure.offsets) carried.structure = structure.carried_to(carrier);
  carried.order.rows = carrier.carry(order.rows);
  carried.row_scale = carrier.carry(row_scale);
  if (bits) carried.bits = bits->carried_to(carrier);
  if (steps) carried.steps = steps->carried_to(carrier);
  return carried;
}

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

IntegerBatch IntegerBatch::to(Device to) const {
  if (to == device()) return *this;
  Carrier carrier(to);
  IntegerBatch moved{.neighbors = neighbors.carried_to(carrier), .graphs = {}, .x_bits = {}, .x = {}};
  if (graphs) moved.graphs = graphs->carried_to(carrier);
  ByteTensor narrow;
  if (by_bits()) {
    moved.x_bits = x_bits.carried_to(carrier);
  } else {
    narrow = narrowed(x);
    for (Tensor* tensor : {&narrow.bytes, &narrow.scale, &narrow.zero}) *tensor = carrier.carry(*tensor);
    moved.x = ByteTensor::empty(x.rows(), x.width, x.bits, narrow.scale, narrow.zero, to);
  }
  carrier.finish();
  if (narrow.bytes) kernels::repack_bytes({.x = narrow, .to = moved.x});
  return moved;
}

}  // namespace adj
