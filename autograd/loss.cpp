#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/loss.h>
#include <adjoint/autograd/detail/part_means.h>
#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/softmax.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/convert.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/loss/loss.h>

#include <tuple>
#include <utility>

namespace adj {

namespace {

// Mean and weight of the rows of all ranks; that of this rank's x is its part of the gradient.
std::pair<Tensor, Tensor> loss_by_parts(const char* name, const RankRows& rank, const Var& x,
                                        const Tensor& index, const detail::MeanOfRows& mean_of) {
  ADJ_CHECK(x.size(0) == rank.end() - rank.begin(), "{}: x is {}, expected the {} rows of the rank", name,
            x.shape().str(), rank.end() - rank.begin());
  const auto [mean, total] = detail::mean_by_parts(name, rank, index, accumulator_dtype(x.dtype()), mean_of);
  return {mean, total};
}

// A loss with targets, by its two kernels; NaN targets do not count; x and target [N,T] or [N].
Var target_loss(const char* name, void (*forward)(const kernels::TargetLossArgs&),
                void (*backward)(const kernels::TargetLossBackwardArgs&), const Var& x, const Tensor& target,
                const Tensor& selected, const Tensor& positive = {}) {
  if (x.shape().dims() == 1 && target.dims() == 1)
    return target_loss(name, forward, backward, reshape(x, {x.size(0), 1}),
                       target.reshape({target.numel(), 1}), selected, positive);
  const Tensor goal = detail::convert_for(x, target), weight = detail::convert_for(x, positive);
  const OpScope scope(name, x, goal, selected);
  const Tensor index = detail::rows_of(name, x, selected);
  const DType accumulator = accumulator_dtype(x.dtype());
  Tensor loss = Tensor::empty({}, accumulator, x.device()),
         total = Tensor::empty({}, accumulator, x.device());
  const bool some = detail::selects_rows(x, index);
  const auto compute = [&](const Tensor& rows, Tensor& weights, Tensor& mean) {
    forward(
        {.x = x.value(), .target = goal, .index = rows, .positive = weight, .total = weights, .loss = mean});
  };
  const RankRows* parts = RankScope::by_parts();
  if (parts != nullptr)
    std::tie(loss, total) = loss_by_parts(name, *parts, x, index, compute);
  else if (some)
    compute(index, total, loss);
  if (parts == nullptr)
    detail::require_terms(some, total, loss, [&] {
      return fmt::format("{}: every selected target of {} is NaN, none", name, goal.str());
    });
  const Var mean = record(name, loss, {x},
                          [backward, some, x = Saved(x.value()), goal = Saved(goal), index = Saved(index),
                           weight = Saved(weight), total](Tensor dloss, Gradients& out) {
                            if (!some) return out.add(Tensor::zeros_like(x.get()));
                            Tensor dx = reuse(x.get());
                            backward({.x = x.get(),
                                      .target = goal.get(),
                                      .index = index.get(),
                                      .positive = weight.get(),
                                      .total = total,
                                      .dloss = dloss,
                                      .dx = dx});
                            out.add(dx);
                          });
  return parts != nullptr ? mean : detail::mean_over_ranks(name, mean, total);
}

// The selected rows, in the accumulator dtype.
Var selected_rows(const char* op, const Var& x, const Tensor& index, const Tensor& weight) {
  ADJ_CHECK(x.shape().dims() == 2 && x.size(1) >= 1, "{}: x is {}, expected [N, C]", op, x.shape().str());
  ADJ_CHECK(index && index.dims() == 1 && index.dtype() == DType::i32 && index.numel() > 0,
            "{}: index is {}, expected int32 [K] of at least one row", op, index.str());
  const DType accumulator = accumulator_dtype(x.dtype());
  ADJ_CHECK(weight && weight.dims() == 1 && weight.numel() == index.numel() &&
                (weight.dtype() == DType::f32 || weight.dtype() == accumulator) &&
                weight.device() == x.device(),
            "{}: weight is {}, expected float32 [{}]{} on {}", op, weight.str(), index.numel(),
            accumulator == DType::f64 ? " or float64" : "", x.device().str());
  return cast(index_select(x, index), accumulator);
}

// The selected rows, their targets, and each target's weight: 0 if NaN.
struct WeightedTargets {
  Var rows, goal, share;
};
WeightedTargets weighted_targets(const char* op, const Var& x, const Tensor& target, const Tensor& selected,
                                 const Tensor& weight) {
  const Tensor index = detail::rows_of(op, x, selected);
  const Var rows = selected_rows(op, x, index, weight);
  ADJ_CHECK(target && target.shape() == x.shape() && target.device() == x.device(),
            "{}: targets are {}, expected {} on {}", op, target.str(), x.shape().str(), x.device().str());
  const DType accumulator = accumulator_dtype(x.dtype());
  Tensor goal = Tensor::empty({index.numel(), x.size(1)}, accumulator, x.device()),
         share = Tensor::empty_like(goal);
  kernels::weighted_targets({.target = target.to(accumulator),
                             .index = index,
                             .weight = weight.to(accumulator),
                             .goal = goal,
                             .share = share});
  return {rows, Var(goal), Var(share)};
}

}  // namespace

Var cross_entropy(const Var& x, const Tensor& target, const Tensor& selected,
                  const CrossEntropyOptions& options) {
  const OpScope scope("cross_entropy", x, target, selected);
  const Tensor label = detail::classes_of("cross_entropy", x, target),
               index = detail::rows_of("cross_entropy", x, selected);
  const int64_t ignored = options.ignore_index ? *options.ignore_index : kernels::kNothingIgnored;
  const DType accumulator = accumulator_dtype(x.dtype());
  Tensor loss = Tensor::empty({}, accumulator, x.device()),
         total = Tensor::empty({}, accumulator, x.device());
  const Tensor by_class = detail::convert_for(x, options.weight);
  const bool some = detail::selects_rows(x, index);
  const auto compute = [&](const Tensor& rows, Tensor& weights, Tensor& mean) {
    kernels::softmax_cross_entropy({.x = x.value(),
                                    .label = label,
                                    .index = rows,
                                    .weight = by_class,
                                    .ignored = ignored,
                                    .total = weights,
                                    .loss = mean});
  };
  const RankRows* parts = RankScope::by_parts();
  if (parts != nullptr)
    std::tie(loss, total) = loss_by_parts("cross_entropy", *parts, x, index, compute);
  else if (some)
    compute(index, total, loss);
  if (parts == nullptr)
    detail::require_terms(some, total, loss, [&] {
      return fmt::format("cross_entropy: every selected row of {} is ignored or has weight 0",
                         x.value().str());
    });
  const Var mean = record("cross_entropy", loss, {x},
                          [some, x = Saved(x.value()), label = Saved(label), index = Saved(index),
                           weight = Saved(by_class), ignored, total](Tensor dloss, Gradients& out) {
                            if (!some) return out.add(Tensor::zeros_like(x.get()));
                            Tensor dx = reuse(x.get());  // logits may be large, and nobody reads them again
                            kernels::softmax_cross_entropy_backward({.x = x.get(),
                                                                     .label = label.get(),
                                                                     .index = index.get(),
                                                                     .weight = weight.get(),
                                                                     .ignored = ignored,
                                                                     .total = total,
                                                                     .dloss = dloss,
                                                                     .dx = dx});
                            out.add(dx);
                          });
  return parts != nullptr ? mean : detail::mean_over_ranks("cross_entropy", mean, total);
}

Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index) {
  return cross_entropy(x, label, index, CrossEntropyOptions{});
}

Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index, const Tensor& positive) {
  return target_loss("bce_with_logits", kernels::bce_with_logits, kernels::bce_with_logits_backward, x,
                     target, index, positive);
}

Var mse_loss(const Var& x, const Tensor& target, const Tensor& index) {
  return target_loss("mse_loss", kernels::mse_loss, kernels::mse_loss_backward, x, target, index);
}

Var cross_entropy_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight) {
  constexpr const char* kOp = "cross_entropy_sum";
  const OpScope scope(kOp, x, target, selected);
  const Tensor label = detail::classes_of(kOp, x, target), index = detail::rows_of(kOp, x, selected);
  const Var rows = selected_rows(kOp, x, index, weight);
  ADJ_CHECK(label && label.dims() == 1 && label.dtype() == DType::i32 && label.numel() == x.size(0) &&
                label.device() == x.device(),
            "{}: labels are {}, expected int32 [{}] on {}", kOp, label.str(), x.size(0), x.device().str());
  const int64_t count = index.numel(), classes = x.size(1);
  const Tensor chosen = detail::gather_edges(label, index);
  if (chosen.device().is_cpu())
    for (int64_t k = 0; k < count; ++k)
      ADJ_CHECK(chosen.data<int32_t>()[k] >= 0 && chosen.data<int32_t>()[k] < classes,
                "{}: label {} of row {}, expected 0 to {}", kOp, chosen.data<int32_t>()[k],
                index.data<int32_t>()[k], classes - 1);
  Tensor offsets = Tensor::empty({count + 1}, DType::i32, x.device());
  kernels::iota({.y = offsets});
  // The weight of row k in the column of its label; a matrix would round a float64 weight to float32.
  const SparseMatrix at_label(Relation::from_csr({count, classes, offsets.to(DType::i64), chosen}));
  const Var share =
      Var(at_label.to_dense().to(rows.dtype())) * Var(weight.to(rows.dtype()).reshape({count, 1}));
  return sum(log_softmax(rows) * share) * -1.0;
}

Var bce_with_logits_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight,
                        const Tensor& positive) {
  constexpr const char* kOp = "bce_with_logits_sum";
  const OpScope scope(kOp, x, target, selected);
  const auto [rows, goal, share] = weighted_targets(kOp, x, target, selected, weight);
  const int64_t count = rows.value().numel();
  Var yes = goal * share;
  if (positive) {
    ADJ_CHECK(positive.shape() == Shape{rows.size(1)} && positive.device() == rows.device(),
              "{}: weights of positive labels are {}, expected [{}] on {}", kOp, positive.str(), rows.size(1),
              rows.device().str());
    yes = yes * Var(positive.to(rows.dtype()));
  }
  // log σ(x) and log σ(-x) are the log-softmax of (x, 0).
  const Var logits = reshape(rows, {count, 1});
  const Var both = log_softmax(cat({logits, Var(Tensor::zeros_like(logits.value()))}, 1));
  const Var no = (1.0 - goal) * share;
  return sum(both * cat({reshape(yes, {count, 1}), reshape(no, {count, 1})}, 1)) * -1.0;
}

Var mse_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight) {
  constexpr const char* kOp = "mse_sum";
  const OpScope scope(kOp, x, target, selected);
  const auto [rows, goal, share] = weighted_targets(kOp, x, target, selected, weight);
  const Var off = rows - goal;
  return sum(off * off * share);
}

}  // namespace adj
