#pragma once

#include <adjoint/core/tensor.h>

#include <memory>
#include <vector>

namespace adj {

namespace detail {
struct GradientSlot;
struct GradientJournal;
/// Called before a leaf's gradient gives way to another tensor or to none.
void remember_gradient(const std::shared_ptr<GradientSlot>& leaf);
}  // namespace detail

/// Undoes, when it goes, what this thread has done to the gradients of leaves while it lived, unless keep()
/// was called: for a step that is recorded and given up, whose gradients were never computed. What is added
/// to a gradient in place is not undone; recorded, it was not done either.
class GradientRollback {
 public:
  GradientRollback();
  ~GradientRollback();
  GradientRollback(const GradientRollback&) = delete;
  GradientRollback& operator=(const GradientRollback&) = delete;

  /// The gradients stay as they are now. Returns those that they replaced, which a recording goes on reading.
  std::vector<Tensor> keep();

 private:
  std::unique_ptr<detail::GradientJournal> journal_;
  detail::GradientJournal* outer_;
};

}  // namespace adj
