#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <vector>

namespace adj::optim {

/// Stores gradients as views of a few flat tensors and reports each as soon as it is complete, while the
/// backward pass continues: for overlapping all-reduce (Li et al., PyTorch Distributed, VLDB 2020). Buckets
/// are filled from the last parameter to the first, about the order in which gradients become ready; each
/// holds one dtype on one device.
///
///   GradientBuckets buckets(model.parameters(), 25 << 20, [&](size_t, Tensor& flat) { all_reduce(flat); });
///   loss.backward();  // all_reduce begins with the last layers
///   buckets.finish();
///   adam.step();
///
/// As without buckets, gradients accumulate over several backward() calls until zero_grad() or step(). Each
/// call invokes `ready`: with several per step, act in the last one. Between steps a bucket holds stale
/// numbers. Moving the parameters to another device or dtype throws during this object's lifetime.
class GradientBuckets {
 public:
  /// Gets a bucket's number and gradients, which it may change, on the thread of the backward pass.
  using Ready = std::function<void(size_t bucket, Tensor& flat)>;

  /// A bucket holds parameters of up to `bytes` together; a larger one has its own bucket. Throws for a
  /// parameter that is repeated or already in other buckets.
  explicit GradientBuckets(const std::vector<Var>& parameters, size_t bytes = size_t{25} << 20,
                           Ready ready = {});
  /// Gradients become separate tensors again and keep their values.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  size_t size() const { return buckets_.size(); }  ///< number of buckets
  /// One dimension; there may be zero padding between gradients.
  const Tensor& operator[](size_t bucket) const { return buckets_.at(bucket).flat; }
  /// Call after a backward() that may have skipped parameters: their gradients become zero, so that processes
  /// which skipped different ones stay in step, and incomplete buckets are reported. Otherwise the next pass
  /// over such a bucket throws.
  void finish();

 private:
  struct Member {
    Var parameter;         ///< a leaf
    Tensor place;          ///< of its gradient: a view of the bucket's tensor, with the parameter's shape
    GradientHook hook;     ///< on its gradient
    bool arrived = false;  ///< in this pass
  };
  struct Bucket {
    Tensor flat;                  ///< all gradients, one dimension, with zero padding
    std::vector<Member> members;  ///< last parameter first
    size_t arrived = 0;           ///< members whose gradients have arrived in this pass
    bool told = false;            ///< reported in this pass
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
