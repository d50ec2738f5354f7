#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/optim/gradient_sums.h>

#include <utility>

namespace adj::optim {

GradientSums::GradientSums(std::vector<Var> parameters, adj::Group group)
    : parameters_(std::move(parameters)),
      group_(std::move(group)),
      calls_([this] { keep_on_first_rank(); }, [this] { finish(); }) {
  if (!parameters_.empty())
    buckets_.emplace(parameters_, kBucketBytes,
                     [this](size_t, Tensor& flat) { detail::sum_over_ranks(group_, flat); });
}

void GradientSums::finish() {
  if (buckets_) buckets_->finish();
}

// What earlier passes left is a sum over the ranks already: it must count once in the next one.
void GradientSums::keep_on_first_rank() {
  if (group_.rank() == 0) return;
  for (const Var& parameter : parameters_)
    if (Tensor sum = parameter.grad()) sum.zero_();
}

}  // namespace adj::optim
