#include "op.h"

#include <cmath>

namespace adj::ops {

Tensor Call::normal(const Shape& extents, DType type) const {
  return random_normal(extents, 0.0, 1.0, random, type == DType::bf16 ? DType::f32 : type)
      .to(type)
      .to(device);
}

Tensor Call::ints(int64_t n, int64_t low, int64_t high) const {
  const auto lowest = static_cast<double>(low), end = static_cast<double>(high);
  std::vector<int32_t> ints;
  for (double u : values(random_uniform({n}, lowest, end, random, DType::f64)))
    ints.push_back(static_cast<int32_t>(std::min(std::floor(u), end - 1)));
  return Tensor::from(ints, device);
}

Operand* Call::find(std::string_view name) {
  for (Operand& o : operands)
    if (o.name == name) return &o;
  return nullptr;
}

Tensor& Call::operator[](std::string_view name) {
  Operand* known = find(name);
  ADJ_CHECK(known, "the op has no operand {}", name);
  return known->tensor;
}

Operand& Call::out(const std::string& name, const Shape& extents, DType type) {
  if (Operand* known = find(name)) return *known;
  return operands.emplace_back(name, Tensor::full(extents, 77, type, device), false, backward,
                               ops::tolerance(type));
}

Numbers& Plain::operator[](const std::string& name) {
  const auto [entry, added] = numbers_.try_emplace(name);
  if (added) {
    const Operand* o = found_.find(name);
    ADJ_CHECK(o, "the op has no operand {}", name);
    entry->second = o->input ? values(o->tensor) : Numbers(uz(o->tensor.numel()));
  }
  return entry->second;
}

Links Links::turned() const {
  if (listed()) return {.list = list.transposed()};
  return {transposed, csr, transposed_order, order};
}

Links Links::to(Device device) const {
  const auto moved = [&](const Tensor& x) { return x ? x.to(device) : x; };
  if (listed()) return {.list = {list.rows, list.cols, moved(list.row), moved(list.col), list.loops}};
  return {csr.to(device), transposed.to(device), moved(order), moved(transposed_order)};
}

void each_edge(const Links& links, const std::function<void(size_t, size_t, size_t)>& f) {
  const auto ints = [](const Tensor& x) { return x ? x.to_vector<int32_t>() : std::vector<int32_t>(); };
  if (links.listed()) {
    const std::vector<int32_t> row = ints(links.list.row), col = ints(links.list.col);
    for (size_t k = 0; k < row.size(); ++k) f(uz(row[k]), uz(col[k]), k);
    return;
  }
  const std::vector<int64_t> offsets = links.csr.offsets.to_vector<int64_t>();
  const std::vector<int32_t> indices = ints(links.csr.indices), order = ints(links.order);
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    for (size_t k = uz(offsets[i]); k < uz(offsets[i + 1]); ++k)
      f(i, uz(indices[k]), links.order ? uz(order[k]) : k);
}

}  // namespace adj::ops
