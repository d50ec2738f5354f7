#pragma once

#include <adjoint/core/group.h>
#include <adjoint/optim/gradient_buckets.h>

#include <optional>
#include <vector>

namespace adj::optim {

/// While it is alive, every backward() of its thread leaves in these parameters' gradients the sum over the
/// ranks of the group, in their order, so that an optimizer's step() is the same on all; over several passes
/// the sums accumulate as usual. Each rank has one for the same parameters in the same order.
class GradientSums {
 public:
  GradientSums(std::vector<Var> parameters, adj::Group group);

 private:
  static constexpr size_t kBucketBytes = size_t{25} << 20;

  void keep_on_first_rank();
  void finish();

  std::vector<Var> parameters_;
  adj::Group group_;
  std::optional<GradientBuckets> buckets_;
  BackwardCalls calls_;
};

}  // namespace adj::optim
