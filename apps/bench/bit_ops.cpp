// Products of matrices with few bits.

#include "operands.h"
#include <adjoint/adjoint.h>
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/kernels/bits/byte_sums.h>

#include <numeric>

namespace adj::apps {

namespace {

BitTensor random_bits(const Subject& s, int64_t rows, int64_t cols, int64_t bits, PackedAlong along) {
  const Tensor scale = Tensor::full({1}, 6.0 / (1 << bits), DType::f32, s.device()),
               zero = Tensor::full({1}, (1 << bits) / 2.0, DType::f32, s.device());
  return to_bits(random(s, {rows, cols}), bits, scale, zero, along);
}

/// [N,N] x [N, out], N = --size: run(a, b) writes `result`.
template <class Run>
Job product(const Subject& s, const Tensor& result, Run run) {
  const auto n = static_cast<double>(s.size);
  const BitTensor a = random_bits(s, s.size, s.size, s.bits_a, PackedAlong::rows),
                  b = random_bits(s, s.size, s.out, s.bits_b, PackedAlong::columns);
  return {fmt::format("{} x {} x {}, {} x {} bits", s.size, s.size, s.out, s.bits_a, s.bits_b),
          bytes_of({a.planes, b.planes, result}), 2.0 * n * n * static_cast<double>(s.out),
          [=]() mutable { run(a, b); }};
}

Job bit_gemm(const Subject& s, DType dtype) {
  Tensor y = Tensor::empty({s.size, s.out}, dtype, s.device());
  return product(s, y, [y](const BitTensor& a, const BitTensor& b) mutable {
    kernels::bit_gemm({.a = a, .b = b, .y = y});
  });
}

Job bit_gemm_to_bits(const Subject& s) {
  BitTensor output = random_bits(s, s.size, s.out, s.bits_a, PackedAlong::rows);
  return product(s, output.planes, [output](const BitTensor& a, const BitTensor& b) mutable {
    kernels::bit_gemm_to_bits({.a = a, .b = b, .activation = Activation::relu, .output = output});
  });
}

Job pack_bits(const Subject& s) {
  const Tensor x = random(s, {s.size, s.size});
  BitTensor output = random_bits(s, s.size, s.size, s.bits_a, PackedAlong::rows);
  return {fmt::format("{} x {}, {} bits", s.size, s.size, s.bits_a), bytes_of({x, output.planes}), 0.0,
          [=]() mutable { kernels::pack_bits({.x = x, .output = output}); }};
}

/// The subgraph of its first --size nodes, as a batch.
Csr batch_of(const Subject& s) {
  const Graph graph = s.graph().to(Device::cpu());
  std::vector<int32_t> nodes(static_cast<size_t>(std::min(graph.num_nodes(), s.size)));
  std::iota(nodes.begin(), nodes.end(), 0);
  return subgraph_of(graph, Tensor::from(nodes)).graph.relation().csr().to(s.device());
}
BitTensor sums_of(const Subject& s, const Csr& csr, bool bytes) {
  return BitTensor::empty(csr.rows, s.width, s.bits_a, Tensor::full({1}, 1.0, DType::f32, s.device()),
                          Tensor::zeros({1}, DType::f32, s.device()), s.device(), bytes);
}

Job sum_bits(const Subject& s) {
  const Csr csr = batch_of(s);
  const auto adjacency = adjacency_bits(csr);
  if (!adjacency) usage_fail("sum_bits: the graph has parallel edges, which bits cannot represent");
  const BitSteps steps = bit_steps(*adjacency);
  const auto counts = steps.counts.to_vector<int32_t>();
  const BitTensor x = random_bits(s, csr.cols, s.width, s.bits_b, PackedAlong::columns);
  BitTensor output = sums_of(s, csr, false);
  return {fmt::format("{} x {}, {} entries, {} bits, {} of {} steps", csr.rows, s.width, csr.entries(),
                      s.bits_b, std::accumulate(counts.begin(), counts.end(), 0), steps.list.numel()),
          bytes_of({adjacency->planes, x.planes, output.planes}), 0.0, [=]() mutable {
            kernels::bit_gemm_to_bits({.a = *adjacency, .b = x, .steps = &steps, .output = output});
          }};
}

Job sum_bytes(const Subject& s) {
  const Csr csr = batch_of(s);
  const ByteTensor x = to_bytes(random(s, {csr.cols, s.width}), s.bits_b,
                                Tensor::full({1}, 6.0 / (1 << s.bits_b), DType::f32, s.device()),
                                Tensor::full({1}, (1 << s.bits_b) / 2.0, DType::f32, s.device()));
  const RowOrder order(csr);
  BitTensor output = sums_of(s, csr, true);
  return {
      fmt::format("{} x {}, {} entries, {} bits", csr.rows, s.width, csr.entries(), s.bits_b),
      static_cast<double>(csr.entries() * s.width) + bytes_of({csr.offsets, csr.indices, output.planes}), 0.0,
      [=]() mutable { kernels::sum_bytes_to_bits({.a = csr, .order = order, .x = x, .output = output}); }};
}

}  // namespace

std::vector<Op> bit_ops() {
  return {{"pack_bits", "quantises numbers and packs them into bit planes", pack_bits},
          {"bit_gemm", "product of bit tensors, to int32",
           [](const Subject& s) { return bit_gemm(s, DType::i32); }},
          {"bit_gemm_float", "the same, to float32 with scales",
           [](const Subject& s) { return bit_gemm(s, DType::f32); }},
          {"bit_gemm_to_bits", "the same, with relu, to the left operand's bits", bit_gemm_to_bits},
          {"sum_bits", "sums over neighbours among the first --size nodes, by a bit adjacency", sum_bits},
          {"sum_bytes", "the same, by gathers of byte rows", sum_bytes}};
}

}  // namespace adj::apps
