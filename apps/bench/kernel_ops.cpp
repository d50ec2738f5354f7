#include "operands.h"
#include <adjoint/kernels/aggregate/neighbor_backward.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/loss/loss.h>
#include <adjoint/kernels/update/optimizer.h>

#include <algorithm>
#include <optional>

namespace adj::apps {

Job links_job(const Subject& s, const ops::Op& op, const ops::Links& links, int64_t heads,
              const std::set<std::string>& gathered_operands, bool backward) {
  const int64_t width = s.width / std::max<int64_t>(heads, 1);
  const bool edge_values = gathered_operands.contains("");
  auto call = std::make_shared<ops::Call>(
      ops::Call{.size = edge_values ? std::vector{heads} : std::vector{width, heads},
                .dtype = edge_values ? DType::f32 : s.dtype,
                .device = s.device(),
                .random = default_generator(),
                .links = links,
                .backward = backward});
  const auto run = [call, half = backward ? op.backward : op.run] { half(*call); };
  run();
  const CsrMatrix a = backward && !edge_values ? links.at() : links.a();
  double bytes = links.listed() ? bytes_of({links.list.row, links.list.col}) : bytes_of({a.csr.offsets});
  if (!links.listed() && !edge_values) bytes += bytes_of({a.csr.indices, a.order});
  const auto count = static_cast<double>(links.entries());
  for (const ops::Operand& o : call->operands)
    bytes += gathered_operands.contains(o.name)
                 ? count * bytes_of({o.tensor}) / static_cast<double>(o.tensor.size(0))
                 : bytes_of({o.tensor});
  const std::string entries = fmt::format("{} entries", links.entries());
  return {edge_values  ? fmt::format("{} x {}", links.entries(), heads)
          : heads == 0 ? fmt::format("{} x {}, {}", links.rows(), s.width, entries)
                       : fmt::format("{} x {} x {}, {}", links.rows(), heads, width, entries),
          bytes, 0.0, run};
}

namespace {

using kernels::Transpose;

/// The same over the graph's in-edges, or its out-edges if `turned`.
Job graph_job(const Subject& s, const ops::Op& op, int64_t heads, const std::string& operand,
              bool backward = false, bool turned = false) {
  const Relation relation = s.graph().relation();
  const ops::Links links{relation.csr(), relation.transposed(), {}, relation.transposed_order()};
  return links_job(s, op, turned ? links.turned() : links, heads, {operand}, backward);
}

/// Operands of reductions over the graph's in-edges.
struct Reduction {
  Csr csr, transposed;
  std::vector<Reduce> reduce;
  Tensor x, y, dx, max_winner, min_winner;

  Reduction(const Subject& s, std::vector<Reduce> wanted)
      : csr(s.graph().relation().csr()),
        reduce(std::move(wanted)),
        x(random(s, {csr.cols, s.width}, s.dtype)),
        y(random(s, {csr.rows, static_cast<int64_t>(reduce.size()) * s.width}, s.dtype)),
        dx(Tensor::empty_like(x)) {
    const auto winner = [&](Reduce reduction) {
      const bool asked = std::find(reduce.begin(), reduce.end(), reduction) != reduce.end();
      return asked ? Tensor::empty({csr.rows, s.width}, DType::i32, s.device()) : Tensor();
    };
    max_winner = winner(Reduce::max);
    min_winner = winner(Reduce::min);
  }
  void forward() {
    kernels::neighbor_reduce(
        {.a = csr, .x = x, .reduce = reduce, .y = y, .max_winner = max_winner, .min_winner = min_winner});
  }
};

Job neighbor_reduce(const Subject& s, const std::vector<Reduce>& reduce) {
  auto o = std::make_shared<Reduction>(s, reduce);
  return {
      sparse_shape(o->csr, o->x),
      gathered(o->csr, o->x) + bytes_of({o->csr.offsets, o->csr.indices, o->y, o->max_winner, o->min_winner}),
      0.0, [o] { o->forward(); }};
}

/// Max reduction of weighted terms over the in-edges, or the gradients of features and weights.
Job weighted_max(const Subject& s, bool gradients) {
  auto o = std::make_shared<Reduction>(s, std::vector<Reduce>{Reduce::max});
  const Relation relation = s.graph().relation();
  const Tensor weight = random(s, {o->csr.entries()}, accumulator_dtype(s.dtype)),
               order = relation.csr_order();
  const auto forward = [=] {
    kernels::neighbor_reduce({.a = o->csr,
                              .x = o->x,
                              .reduce = o->reduce,
                              .weight = weight,
                              .order = order,
                              .y = o->y,
                              .max_winner = o->max_winner});
  };
  const double rows = gathered(o->csr, o->x), structure = bytes_of({o->csr.offsets, o->csr.indices, weight});
  if (!gradients)
    return {sparse_shape(o->csr, o->x), rows + structure + bytes_of({o->y, o->max_winner}), 0.0, forward};
  forward();
  o->transposed = relation.transposed();
  Tensor dw = Tensor::empty_like(weight);
  // Per edge the winners twice and the gradients; per result its winner once more.
  const double bytes =
      2 * gathered(o->csr, o->max_winner) + rows + 2 * structure + bytes_of({o->y, o->y, o->dx});
  return {sparse_shape(o->csr, o->x), bytes, 0.0, [=]() mutable {
            kernels::neighbor_minmax_backward({.winner = o->max_winner,
                                               .dy = o->y,
                                               .transposed = &o->transposed,
                                               .weight = weight,
                                               .order = relation.transposed_order(),
                                               .dx = o->dx});
            kernels::minmax_weight_gradient(
                {.a = relation.coo(), .winner = o->max_winner, .dy = o->y, .x = o->x, .dw = dw});
          }};
}

/// `method`: true to gather, false to scatter; absent: as training would.
Job neighbor_max_backward(const Subject& s, std::optional<bool> method) {
  auto o = std::make_shared<Reduction>(s, std::vector<Reduce>{Reduce::max});
  o->forward();
  const bool gathers =
      method.value_or(kernels::minmax_backward_gathers(o->csr.rows, o->csr.entries(), s.dtype, s.device()));
  if (gathers) o->transposed = s.graph().relation().transposed();
  const double read = gathers ? gathered(o->transposed, o->max_winner) + gathered(o->transposed, o->y) +
                                    bytes_of({o->transposed.offsets, o->transposed.indices})
                              : bytes_of({o->max_winner, o->y});
  return {sparse_shape(o->csr, o->x), read + bytes_of({o->dx}), 0.0, [o, gathers] {
            kernels::neighbor_minmax_backward({.winner = o->max_winner,
                                               .dy = o->y,
                                               .transposed = gathers ? &o->transposed : nullptr,
                                               .dx = o->dx});
          }};
}

/// The linear map of a layer over all nodes, or its gradients.
Job gemm(const Subject& s, int64_t m, int64_t k, int64_t n, bool turned_a, bool turned_b) {
  const Tensor a = random(s, turned_a ? Shape{k, m} : Shape{m, k});
  const Tensor b = random(s, turned_b ? Shape{n, k} : Shape{k, n});
  Tensor c = Tensor::empty({m, n}, DType::f32, s.device());
  const auto form = [](bool turned) { return turned ? Transpose::yes : Transpose::no; };
  return {fmt::format("{} x {} x {}", m, k, n), bytes_of({a, b, c}),
          2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n), [=]() mutable {
            kernels::gemm({.a = a, .trans_a = form(turned_a), .b = b, .trans_b = form(turned_b), .c = c});
          }};
}

/// Rows of 20 groups, of which the first has half of them, times the group's matrix; or the matrices'
/// gradients.
Job grouped_gemm(const Subject& s, bool gradients) {
  const int64_t rows = s.graph().num_nodes();
  auto call = std::make_shared<ops::Call>(ops::Call{.size = {rows, s.width, s.out, 20, 1},
                                                    .dtype = s.dtype,
                                                    .device = s.device(),
                                                    .random = default_generator(),
                                                    .backward = gradients});
  const ops::Op op = ops::grouped_gemm(false, false, false);
  op.run(*call);
  if (gradients) op.backward(*call);
  double bytes = 0.0;
  for (const char* name : {"x", "b", gradients ? "dz" : "c"}) bytes += bytes_of({(*call)[name]});
  return {fmt::format("{} x {} x {}, 20 groups", rows, s.width, s.out), bytes,
          2.0 * static_cast<double>(rows) * static_cast<double>(s.width) * static_cast<double>(s.out),
          [call, half = gradients ? op.backward : op.run] { half(*call); }};
}

kernels::Epilogue relu_and_dropout(const Subject& s) {
  return {Activation::relu, s.dropout > 0.0, dropout_rule(static_cast<float>(s.dropout)), {1, 1, nullptr}};
}

/// Rows of the op table in turn, or the backward pass of one, over the same operands of [N, width], of which
/// `passes` are read or written.
Job table_job(const Subject& s, const ops::Ops& table, double passes, bool backward = false) {
  auto call = std::make_shared<ops::Call>(ops::Call{.size = {s.graph().num_nodes(), s.width},
                                                    .dtype = DType::f32,
                                                    .device = s.device(),
                                                    .random = default_generator(),
                                                    .backward = backward});
  const auto run = [=] {
    for (const ops::Op& op : table) (backward ? op.backward : op.run)(*call);
  };
  run();
  return {fmt::format("{} x {}", call->size[0], s.width), passes * bytes_of({(*call)["x"]}), 0.0, run};
}

Job cross_entropy(const Subject& s) {
  const int64_t nodes = s.graph().num_nodes(), classes = s.data.num_classes();
  const Tensor x = random(s, {nodes, classes}), label = s.data.y, index = s.data.train;
  Tensor loss = Tensor::empty({1}, DType::f32, s.device()), total = Tensor::empty_like(loss),
         dx = Tensor::empty_like(x);
  const double read = bytes_of({x}) * static_cast<double>(index.numel()) / static_cast<double>(nodes);
  return {fmt::format("{} of {} x {}", index.numel(), nodes, classes),
          2.0 * read + bytes_of({dx, label, index}), 0.0, [=]() mutable {
            kernels::softmax_cross_entropy(
                {.x = x, .label = label, .index = index, .total = total, .loss = loss});
            kernels::softmax_cross_entropy_backward(
                {.x = x, .label = label, .index = index, .total = total, .dloss = loss, .dx = dx});
          }};
}

Job adam(const Subject& s) {
  const Shape shape{s.width, s.out};
  auto slots = std::make_shared<std::vector<kernels::UpdateSlot>>();
  for (int k = 0; k < 6; ++k)
    slots->push_back({random(s, shape), random(s, shape), Tensor::zeros(shape, DType::f32, s.device()),
                      Tensor::zeros(shape, DType::f32, s.device())});
  const Tensor rate = Tensor::full({1}, 0.01, DType::f64, s.device());
  Tensor step = Tensor::zeros({1}, DType::i64, s.device());
  return {fmt::format("6 of {} x {}", s.width, s.out), 6.0 * 7.0 * bytes_of({slots->front().parameter}), 0.0,
          [=]() mutable {
            kernels::adam_update(
                {.slots = *slots, .rule = kernels::AdamRule{}, .learning_rate = rate, .step = step});
          }};
}

Job transpose(const Subject& s) {
  const Csr csr = s.graph().relation().csr();
  Tensor offsets = Tensor::empty({csr.cols + 1}, DType::i64, s.device()),
         indices = Tensor::empty_like(csr.indices), order = Tensor::empty_like(csr.indices);
  return {fmt::format("{} rows, {} entries", csr.rows, csr.entries()),
          bytes_of({csr.offsets, csr.indices, offsets, indices, order}), 0.0, [=]() mutable {
            kernels::transpose({.a = csr, .offsets = offsets, .indices = indices, .order = order});
          }};
}

Job gcn_normalize(const Subject& s) {
  const Csr csr = s.graph().relation().csr();
  Tensor degree = Tensor::empty({csr.rows}, DType::f32, s.device()),
         weights = Tensor::empty({csr.entries()}, DType::f32, s.device());
  return {fmt::format("{} rows, {} entries", csr.rows, csr.entries()),
          bytes_of({csr.offsets, csr.indices, degree, weights}), 0.0, [=]() mutable {
            kernels::gcn_normalize({.a = {csr, {}, {}}, .degree = degree, .weights = weights});
          }};
}

}  // namespace

std::vector<Op> kernel_ops() {
  const auto nodes = [](const Subject& s) { return s.graph().num_nodes(); };
  std::vector<Op> ops = {
      {"spmm", "Y = A X with edge weights",
       [](const Subject& s) { return graph_job(s, ops::spmm(true), 0, "x"); }},
      {"spmm_ones", "the same, all weights 1",
       [](const Subject& s) { return graph_job(s, ops::spmm(false), 0, "x"); }},
      {"spmm_transposed", "dX = At dY, weights permuted",
       [](const Subject& s) { return graph_job(s, ops::spmm(true), 0, "x", false, true); }},
      {"sddmm", "gradient of the edge weights",
       [](const Subject& s) { return graph_job(s, ops::sddmm(), 0, "x"); }},
      {"spmm_backward", "both gradients in one pass",
       [](const Subject& s) { return graph_job(s, ops::spmm(true), 0, "dy", true); }},
      {"spmm_heads", "Y = A X with edge weights per head",
       [](const Subject& s) { return graph_job(s, ops::spmm(true), s.shared_heads(), "x"); }},
      {"spmm_heads_backward", "both gradients in one pass",
       [](const Subject& s) { return graph_job(s, ops::spmm(true), s.shared_heads(), "dy", true); }},
      {"edge_dot", "dot product per edge and head",
       [](const Subject& s) { return graph_job(s, ops::sddmm(), s.shared_heads(), "x"); }},
      {"edge_softmax", "over the in-edges of each node, per head",
       [](const Subject& s) { return graph_job(s, ops::edge_softmax(), s.shared_heads(), ""); }},
      {"edge_softmax_grad", "its backward pass",
       [](const Subject& s) { return graph_job(s, ops::edge_softmax(), s.shared_heads(), "", true); }},
      {"neighbor_max", "max over the in-edges of each node, with argmax",
       [](const Subject& s) { return neighbor_reduce(s, {Reduce::max}); }},
      {"neighbor_max_grad", "its gradient, to the rows that argmax names",
       [](const Subject& s) { return neighbor_max_backward(s, std::nullopt); }},
      {"neighbor_max_gather", "the same, over the transposed structure",
       [](const Subject& s) { return neighbor_max_backward(s, true); }},
      {"neighbor_max_scatter", "the same, by scatter (atomics on a GPU)",
       [](const Subject& s) { return neighbor_max_backward(s, false); }},
      {"weighted_max", "max over weighted in-edges, with argmax",
       [](const Subject& s) { return weighted_max(s, false); }},
      {"weighted_max_grad", "its gradients for features and weights",
       [](const Subject& s) { return weighted_max(s, true); }},
      {"neighbor_pna", "mean, min, max and std over in-edges in one pass",
       [](const Subject& s) {
         return neighbor_reduce(s, {Reduce::mean, Reduce::min, Reduce::max, Reduce::std});
       }},
      {"gemm", "N x width x out",
       [=](const Subject& s) { return gemm(s, nodes(s), s.width, s.out, false, false); }},
      {"gemm_weight", "gradient of the weight, width x N x out",
       [=](const Subject& s) { return gemm(s, s.width, nodes(s), s.out, true, false); }},
      {"gemm_input", "gradient of the input, N x out x width",
       [=](const Subject& s) { return gemm(s, nodes(s), s.out, s.width, false, true); }},
      {"grouped_gemm", "N x width x out, a matrix per group of rows",
       [](const Subject& s) { return grouped_gemm(s, false); }},
      {"grouped_gemm_weight", "gradient of the matrices",
       [](const Subject& s) { return grouped_gemm(s, true); }},
      {"relu", "N x width",
       [](const Subject& s) { return table_job(s, {ops::activate(Activation::relu)}, 2); }},
      {"dropout", "N x width",
       [](const Subject& s) {
         return table_job(s, {ops::dropout(Activation::none, static_cast<float>(s.dropout))}, 2);
       }},
      {"batch_norm", "statistics, then norm, relu and dropout in one pass",
       [](const Subject& s) {
         return table_job(s, {ops::batch_norm_statistics(false), ops::batch_norm(relu_and_dropout(s))}, 3);
       }},
      {"batch_norm_backward", "its backward pass",
       [](const Subject& s) { return table_job(s, {ops::batch_norm(relu_and_dropout(s))}, 5, true); }},
      {"cross_entropy", "forward and backward over the training nodes", cross_entropy},
      {"adam", "six parameters of width x out", adam},
      {"transpose", "transposed CSR and permutation", transpose},
      {"gcn_normalize", "symmetric normalisation", gcn_normalize},
  };
  for (Op& op : list_ops()) ops.push_back(std::move(op));
  for (Op& op : attention_ops()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace adj::apps
