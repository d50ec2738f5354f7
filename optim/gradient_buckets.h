#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <vector>

namespace adj::optim {

/// The gradients of parameters as views of few flat tensors, each told of as soon as it is complete, while
/// the backward pass goes on below: what an all-reduce that overlaps with it needs (Li et al., PyTorch
/// Distributed, VLDB 2020). Buckets are filled from the last parameter to the first, for that is about the
/// order in which gradients become ready; each holds one dtype on one device.
///
///   GradientBuckets buckets(model.parameters(), 25 << 20, [&](size_t, Tensor& flat) { all_reduce(flat); });
///   loss.backward();  // all_reduce begins with the last layers
///   buckets.finish();
///   adam.step();
///
/// Gradients add up over several backward() calls until zero_grad() or step(), as they do without buckets,
/// and `ready` is called in each of them: where one step is made of several, let it act in the last. Between
/// steps a bucket holds old numbers. Moving the parameters to another device or dtype throws while this
/// object lives.
class GradientBuckets {
 public:
  using Ready = std::function<void(size_t bucket, Tensor& flat)>;

  /// A bucket takes parameters while they are `bytes` together, and one that is larger alone. Throws for a
  /// parameter that stands twice or collects in other buckets.
  explicit GradientBuckets(const std::vector<Var>& parameters, size_t bytes = size_t{25} << 20,
                           Ready ready = {});
  /// From here on gradients stand apart again; those there are keep their values.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  size_t size() const { return buckets_.size(); }
  /// One dimension; between two gradients there may be zeros.
  const Tensor& operator[](size_t bucket) const { return buckets_.at(bucket).flat; }
  /// After a backward() that may have left out parameters: gives those without a gradient a zero one, so that
  /// processes that left out different ones stay in step, and tells of the buckets that were not complete.
  /// Without it the next pass over such a bucket throws.
  void finish();

 private:
  struct Member {
    Var parameter;
    Tensor place;
    GradientHook hook;
    bool arrived = false;
  };
  struct Bucket {
    Tensor flat;
    std::vector<Member> members;
    size_t arrived = 0;
    bool told = false;
  };

  void lay_out(Bucket& bucket);
  void release();
  void arrive(size_t bucket, size_t member);
  void tell(size_t bucket);
  static void begin_pass(Bucket& bucket);

  std::vector<Bucket> buckets_;
  Ready ready_;
};

}  // namespace adj::optim
