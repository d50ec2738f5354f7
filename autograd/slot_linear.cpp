#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace adj {

namespace {

using kernels::Transpose;

/// The slots of a range as a matrix of a row a target.
Tensor matrix_of(const Tensor& slots, const SlotRange& range) {
  return slots.rows(range.first, range.first + range.slots())
      .reshape({range.targets(), std::ssize(range.types) * slots.size(1)});
}

/// Whether a range's types follow one another.
bool is_run(const SlotRange& range) {
  return range.types.back() - range.types.front() + 1 == std::ssize(range.types);
}

/// The matrices of a range's types under each other.
Tensor stacked(const Tensor& w, const SlotRange& range) {
  const int64_t in = w.size(1), out = w.size(2);
  const Tensor all = w.reshape({w.size(0) * in, out});
  if (is_run(range)) return all.rows(range.types.front() * in, (range.types.back() + 1) * in);
  Tensor stack = Tensor::empty({std::ssize(range.types) * in, out}, w.dtype(), w.device());
  for (int64_t k = 0; const int64_t type : range.types) {
    Tensor part = stack.rows(k * in, (k + 1) * in);
    part.copy_(all.rows(type * in, (type + 1) * in));
    ++k;
  }
  return stack;
}

/// Adds the gradients of a stack to those of its matrices, of which `seen` have some already.
void add_stack(const Tensor& stack, const SlotRange& range, Tensor& dw, const std::vector<bool>& seen) {
  const int64_t in = dw.size(1);
  const Tensor all = dw.reshape({dw.size(0) * in, dw.size(2)});
  for (int64_t k = 0; const int64_t type : range.types) {
    Tensor sum = all.rows(type * in, (type + 1) * in);
    const Tensor part = stack.rows(k * in, (k + 1) * in);
    if (seen[static_cast<size_t>(type)])
      kernels::linear_combination({.a = sum, .beta = 1.0, .b = part, .y = sum});
    else
      sum.copy_(part);
    ++k;
  }
}

void check_slots(const Var& x, const Var& w, const TypedSlots& slots, int64_t targets) {
  ADJ_CHECK(x.shape().dims() == 2 && w.shape().dims() == 3 && x.size(1) == w.size(1) &&
                x.size(0) == slots.edges.num_dst(),
            "slot_linear: x is {}, w is {}, expected [{}, in] and [R, in, out]", x.shape().str(),
            w.shape().str(), slots.edges.num_dst());
  for (const SlotRange& range : slots.ranges)
    ADJ_CHECK(range.end <= targets && range.types.back() < w.size(0),
              "slot_linear: targets up to {} and types up to {}, expected below {} and {}", range.end - 1,
              range.types.back(), targets, w.size(0));
}

}  // namespace

Var slot_linear(const Var& x, const Var& w, const TypedSlots& slots, int64_t targets, const Var& bias) {
  const OpScope scope("slot_linear", x, w, bias);
  check_same_device("slot_linear", {x, w, bias});
  check_slots(x, w, slots, targets);
  Tensor y = Tensor::empty({targets, w.size(2)}, x.dtype(), x.device());
  int64_t covered = 0;
  for (const SlotRange& range : slots.ranges) covered += range.targets();
  if (covered < targets) {
    y.zero_();
    if (bias) kernels::add_bias({.x = y, .bias = bias.value(), .y = y});
  }
  for (const SlotRange& range : slots.ranges) {
    Tensor rows = y.rows(range.begin, range.end);
    kernels::gemm({.a = matrix_of(x.value(), range),
                   .b = stacked(w.value(), range),
                   .bias = bias.value_or_absent(),
                   .c = rows});
  }
  enum : size_t { kX, kW, kBias };
  return record(
      "slot_linear", y, {x, w, bias},
      [ranges = slots.ranges, x = Saved(x.value()), w = Saved(w.value())](Tensor dy, Gradients& out) mutable {
        if (out.wanted(kBias)) {
          Tensor dbias = Tensor::empty({dy.size(1)}, dy.dtype(), dy.device());
          kernels::sum_rows({.x = dy, .y = dbias});
          out.add(kBias, dbias);
        }
        if (out.wanted(kW)) {
          Tensor dw = Tensor::empty(w.get().shape(), dy.dtype(), dy.device()), none;
          std::vector<bool> seen(static_cast<size_t>(dw.size(0)));
          for (const SlotRange& range : ranges) {
            const Tensor rows = matrix_of(x.get(), range);
            const bool first = is_run(range) && std::ranges::none_of(range.types, [&](int64_t type) {
                                 return seen[static_cast<size_t>(type)];
                               });
            Tensor stack = first ? stacked(dw, range)  // in place
                                 : Tensor::empty({rows.size(1), dy.size(1)}, dy.dtype(), dy.device());
            kernels::weight_gradients(
                {.x = rows, .dz = dy.rows(range.begin, range.end), .dw = stack, .dbias = none});
            if (!first) add_stack(stack, range, dw, seen);
            for (const int64_t type : range.types) seen[static_cast<size_t>(type)] = true;
          }
          for (int64_t type = 0; type < dw.size(0); ++type)
            if (!seen[static_cast<size_t>(type)]) dw.rows(type, type + 1).zero_();
          out.add(kW, dw);
        }
        const Shape x_shape = x.get().shape();
        x = {};  // before its gradient is made
        if (!out.wanted(kX)) return;
        Tensor dx = Tensor::empty(x_shape, dy.dtype(), dy.device());  // every slot is in one range
        for (const SlotRange& range : ranges) {
          Tensor rows = matrix_of(dx, range);
          kernels::gemm({.a = dy.rows(range.begin, range.end),
                         .b = stacked(w.get(), range),
                         .trans_b = Transpose::yes,
                         .c = rows});
        }
        out.add(kX, dx);
      });
}

}  // namespace adj
