#include "op_table.h"

#include "kernels/cases.h"
#include "structures.h"

namespace adj::test {

using ops::Call, ops::Op, ops::Operand;

namespace {

/// Many blocks of a GPU, at widths that are not multiples of a vector.
const ops::Sizes kLarge{{200003, 1}, {70001, 7},  {50000, 16},  {30011, 40}, {20003, 64},
                        {9001, 130}, {8192, 256}, {1501, 1433}, {523, 4096}, {3, 70001}};

const auto kThreadCounts = kSanitized ? std::vector<int>{3} : std::vector<int>{1, 2, 3, 7, 16};

Call& run(const Op& op, Call& call) {
  for (const bool backward : {false, true}) {
    call.backward = backward;
    const auto& half = backward ? op.backward : op.run;
    if (half) half(call);
  }
  return call;
}

/// The same call with outputs of its own that are filled with `garbage`.
Call again(Call call, double garbage) {
  for (Operand& o : call.operands)
    if (!o.input) {
      const DType dtype = o.tensor.dtype();
      o.tensor = Tensor::full(o.tensor.shape(), dtype < DType::i32 ? garbage : 55, dtype, o.tensor.device());
    }
  return call;
}

void check_values(const Operand& o, const Numbers& expected, const Numbers& bounds, double slack) {
  CAPTURE(o.name);
  const Numbers found = values(o.tensor);
  REQUIRE(found.size() == expected.size());
  double largest = o.floor;
  for (double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < found.size(); ++i) {
    const double bound = slack * (bounds.empty() ? o.tolerance * largest : bounds[i]);
    if (found[i] == expected[i] || std::abs(found[i] - expected[i]) <= bound) continue;
    CAPTURES(i, found[i], expected[i]);
    REQUIRE((std::isnan(found[i]) && std::isnan(expected[i])));
  }
}

void check(const Op& op, Call first, double slack = 1.0) {
  run(op, first);
  ops::Plain plain(first);
  op.plain(plain);
  const auto check_outputs = [&](const Call& call) {
    for (const Operand& o : call.operands)
      if (!o.input) check_values(o, plain[o.name], plain.bounds[o.name], slack);
  };
  check_outputs(first);
  Call odd = again(first, NAN);
  for (Operand& o : odd.operands) o.tensor = at_offset(1, o.tensor);
  check_outputs(run(op, odd));

  for (int count : kThreadCounts) {
    if (count > 1 && first.device.is_cuda()) break;
    CAPTURE(count);
    const Threads threads(count);
    Call other = again(first, NAN);
    run(op, other);
    for (size_t k = 0; k < first.operands.size(); ++k) {
      const Operand& expected = first.operands[k];
      CAPTURE(expected.name);
      CHECK(same_bits(other.operands[k].tensor, expected.input ? expected.copy : expected.tensor));
    }
  }
  for (const Operand& o : first.operands) {
    if (o.in_place.empty()) continue;
    CAPTURE(o.name);
    Call both = first;
    both[o.name] = both[o.in_place] = both[o.in_place].clone();
    (o.of_backward ? op.backward : op.run)(both);
    CHECK(same_bits(both[o.name], o.tensor));
  }
}

}  // namespace

void hold(const ops::Ops& table, const std::vector<ops::Links>& graphs) {
  for (Device device : devices())
    for (size_t g = 0; g < graphs.size(); ++g) {
      const ops::Links links = graphs[g].to(device);
      for (const Op& op : table)
        for (DType dtype : op.dtypes)
          for (const std::vector<int64_t>& size : op.sizes) {
            if (dtype == DType::f64 && device.is_cuda() && !op.f64_on_gpu) continue;
            // Of large structures all sizes only with the edges in another order, on a GPU.
            const int64_t terms = links.entries() * Shape(std::span(size)).numel();
            const int64_t most = device.is_cuda() ? 8'000'000 : kSanitized ? 200'000 : 1'000'000;
            if (terms > (links.order || links.listed() ? most : std::min<int64_t>(most / 2, 1'000'000)))
              continue;
            CAPTURES(op.name, name_of(dtype), Shape(std::span(size)).str(), g);
            Generator random(20170414);
            check(op, {.size = size,
                       .dtype = dtype,
                       .device = device,
                       .random = random,
                       .links = links,
                       .keeps_inputs = true});
          }
    }
}

void hold(const ops::Ops& table) {
  for (Device device : devices())
    for (const Op& op : table) {
      const auto check_size = [&](const std::vector<int64_t>& size, DType dtype, double slack) {
        CAPTURES(op.name, name_of(dtype), Shape(std::span(size)).str());
        Generator random(20170414);
        check(op, {.size = size, .dtype = dtype, .device = device, .random = random, .keeps_inputs = true},
              slack);
      };
      for (DType dtype : op.dtypes)
        for (const std::vector<int64_t>& size : op.sizes) check_size(size, dtype, 1.0);
      const size_t dims = op.sizes[0].size();
      if (device.is_cuda() && (dims == 1 || dims == 2))
        for (const auto& size : kLarge)
          check_size(dims == 2 ? size : std::vector{size[0] * size[1]}, op.dtypes[0], 10.0);
    }
}

std::vector<ops::Links> graphs_of_rows() {
  std::vector<ops::Links> graphs;
  for (const auto& [lengths, cols] : {std::pair(std::vector<int64_t>{3, 0, 1, 17, 0, 5, 2}, 9),
                                      {skewed_lengths(13001), 211},
                                      {lengths_at_boundaries(), 97},
                                      {{0, 0, 0}, 4},
                                      {{}, 3}})
    for (bool ordered : {false, true}) {
      graphs.push_back(Edges(random_structure(lengths, cols), ordered));
      if (ordered) graphs.push_back(graphs.back().turned());
    }
  return graphs;
}

}  // namespace adj::test
