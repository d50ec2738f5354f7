#pragma once

#include <adjoint/core/error.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/training/batches.h>

#include <iterator>
#include <utility>

namespace adj::training {

/// A training step: forward, loss, backward and optimizer step. On a GPU it is captured as a CUDA graph
/// (optim::CapturedStep) if the batches are constant, or for those of them that are placed.
template <class Batch>
class Step {
 public:
  /// `step` returns the loss of a batch, a scalar.
  template <class F>
  Step(const Batches<Batch>& batches, F step)
      : places_(batches.places()),
        captured_([this, step = std::move(step)] { return Var(step(*batch_)); },
                  {.capture = batches.constant() || batches.places(), .derives = batches.places()}) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// The loss; a captured step returns the same tensor each time, with its new value.
  Tensor operator()(const Batch& batch) {
    batch_ = &batch;
    if constexpr (requires { batch.placed; })
      if (places_ && !batch.placed) return captured_.run();
    return captured_();
  }

 private:
  const Batch* batch_ = nullptr;
  const bool places_;
  optim::CapturedStep captured_;
};

/// Over the items to which source.next() points, until it is null.
template <class Source>
class PullIterator {
 public:
  explicit PullIterator(Source& source) : source_(&source), item_(source.next()) {}
  auto& operator*() const { return *item_; }  ///< the current item
  /// Pulls the next item.
  PullIterator& operator++() {
    item_ = source_->next();
    return *this;
  }
  bool operator==(std::default_sentinel_t) const { return item_ == nullptr; }

 private:
  Source* source_;
  decltype(std::declval<Source&>().next()) item_;
};

/// One epoch: its batches, and the mean of their losses.
///
///   for (const NodeBatch& batch : epoch) epoch.add(step(batch));
template <class Batch>
class Epoch {
 public:
  Epoch(Batches<Batch>& batches, int64_t done) : done_(done), pass_(batches.pass(done)) {}

  /// Epochs of the run before this one.
  int64_t done() const { return done_; }
  /// Adds the loss of the current batch, a scalar on the device.
  void add(const Tensor& loss) {
    if (!pass_->weight) {
      sum_ = loss;
      return;
    }
    if (!sum_) sum_ = Tensor::zeros({}, DType::f32, loss.device());
    kernels::linear_combination({.a = sum_, .beta = *pass_->weight, .b = loss, .y = sum_});
  }
  /// The mean loss over the training examples, after the last batch.
  Tensor mean() const {
    ADJ_CHECK(sum_, "epoch {}: no batch's loss was added", done_ + 1);
    if (pass_->total == 1.0) return sum_;
    Tensor mean = Tensor::empty_like(sum_);
    kernels::linear_combination({.alpha = 1.0 / pass_->total, .a = sum_, .y = mean});
    return mean;
  }

  PullIterator<Pass<Batch>> begin() { return PullIterator(*pass_); }  ///< call once
  std::default_sentinel_t end() const { return {}; }                  ///< after the last batch

 private:
  int64_t done_;
  std::unique_ptr<Pass<Batch>> pass_;
  Tensor sum_;  // of the weighted losses so far
};

}  // namespace adj::training
