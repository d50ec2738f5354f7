#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/part_means.h>
#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/training/objective.h>

#include <cmath>

namespace adj::training {

namespace {

/// Of the training rows, also those of other ranks.
Var mean_weight(const Var& weight) {
  if (RankScope::current() == nullptr) return adj::mean(weight);
  const int64_t rows = weight.size(0);
  const Tensor total = Tensor::full({}, static_cast<double>(rows), weight.dtype(), weight.device());
  return detail::mean_over_ranks("class weights", rows > 0 ? adj::mean(weight) : Var(total), total);
}

/// Of the weights of the training rows' classes, also those of other ranks.
Var mean_class_weight(const Tensor& weight, const Tensor& y, const Tensor& index) {
  const auto of_rows = [&](const Tensor& rows) {
    return adj::detail::gather_edges(weight, rows ? adj::detail::gather_edges(y, rows) : y);
  };
  const RankRows* rank = RankScope::by_parts();
  if (rank == nullptr) return mean_weight(Var(of_rows(index)));
  return Var(detail::mean_by_parts("class weights", *rank, index, weight.dtype(),
                                   [&](const Tensor& rows, Tensor& total, Tensor& mean) {
                                     total.fill_(static_cast<double>(rows.numel()));
                                     mean.copy_(adj::mean(Var(of_rows(rows))).value());
                                   })
                 .mean);
}

/// Of weighted sums, each of which estimates the whole mean: theirs, over the ranks.
Var mean_estimate(const Var& loss) {
  return detail::mean_over_ranks("loss", loss, Tensor::full({}, 1.0, loss.dtype(), loss.device()));
}

}  // namespace

Objective::Objective(const Examples& examples, const ClassWeights& weights, std::optional<int64_t> rows)
    : labels_(examples.labels),
      examples_(examples.size()),
      y_(examples.y),
      class_weight_(weights.fit(examples)) {
  if (labels_ == Labels::numbers) standardize(examples);
  if (rows && *rows != examples_) y_ = adj::detail::with_unlabelled(y_, *rows);
}

void Objective::standardize(const Examples& examples) {
  const std::vector<float> values = examples.y.to_vector<float>();
  const std::vector<int32_t> train = examples.train.to_vector<int32_t>();
  const auto columns = static_cast<size_t>(examples.y.size(1));
  std::vector<float> mean(columns), deviation(columns);
  for (size_t t = 0; t < columns; ++t) {
    const auto target = [&](int32_t i) {
      return static_cast<double>(values[static_cast<size_t>(i) * columns + t]);
    };
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (int32_t i : train) {
      if (std::isnan(target(i))) continue;
      sum += target(i);
      ++count;
    }
    const double center = sum / std::max(count, 1.0);
    for (int32_t i : train)
      if (!std::isnan(target(i))) squares += (target(i) - center) * (target(i) - center);
    mean[t] = static_cast<float>(center);
    deviation[t] = static_cast<float>(std::sqrt(squares / std::max(count, 1.0)));
    if (!(deviation[t] > 0.0f)) deviation[t] = 1.0f;  // constant targets
  }
  mean_ = Tensor::from(mean, examples.y.device());
  deviation_ = Tensor::from(deviation, examples.y.device());
  const NoGrad no_grad;
  y_ = ((Var(examples.y) - Var(mean_)) / Var(deviation_)).value();
}

Var Objective::loss(const Var& out, const Tensor& all, const Tensor& index) const {
  const Tensor y = out.size(0) < all.size(0) ? all.rows(0, out.size(0)) : all;
  if (labels_ == Labels::several) return bce_with_logits(out, y, index, class_weight_);
  if (labels_ == Labels::numbers) return mse_loss(out, y, index);
  return cross_entropy(out, y, index, {.weight = class_weight_});
}

Var Objective::loss(const Var& out, const Tensor& index) const { return loss(out, y_, index); }
Var Objective::loss_of_batch(const Var& out, const Tensor& y, const Tensor& index,
                             const Tensor& weight) const {
  if (class_weight_ && labels_ == Labels::classes) {
    if (!weight) return loss(out, y, index) * mean_class_weight(class_weight_, y, index);
    const Var row_weight(detail::gather_edges(class_weight_, index ? detail::gather_edges(y, index) : y));
    return mean_estimate(cross_entropy_sum(out, y, index, (row_weight * Var(weight)).value()));
  }
  if (!weight) return loss(out, y, index);
  return mean_estimate(labels_ == Labels::several ? bce_with_logits_sum(out, y, index, weight, class_weight_)
                       : labels_ == Labels::numbers ? mse_sum(out, y, index, weight)
                                                    : cross_entropy_sum(out, y, index, weight));
}

Objective Objective::rows(int64_t begin, int64_t end, Device device) const {
  const auto placed = [device](const Tensor& x) { return x ? x.to(device) : x; };
  Objective part = *this;
  part.y_ = placed(y_.rows(begin, end)).clone();
  part.examples_ = end - begin;
  part.mean_ = placed(mean_);
  part.deviation_ = placed(deviation_);
  part.class_weight_ = placed(class_weight_);
  return part;
}

Tensor Objective::output(const Tensor& out) const {
  const Tensor result = (out.size(0) > examples_ ? out.rows(0, examples_) : out).to(DType::f32);
  if (!mean_) return result;
  const NoGrad no_grad;
  return (Var(result) * Var(deviation_) + Var(mean_)).value();
}

double Objective::loss_of_output(const Tensor& output, const Tensor& index) const {
  const NoGrad no_grad;
  const RankScope alone{Group()};  // each rank has all outputs
  const Var out(output);
  return loss(mean_ ? (out - Var(mean_)) / Var(deviation_) : out, index).value().item();
}

}  // namespace adj::training
