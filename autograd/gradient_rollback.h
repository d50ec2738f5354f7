#pragma once

#include <adjoint/core/tensor.h>

#include <memory>
#include <vector>

namespace adj {

namespace detail {
struct GradientSlot;
struct GradientJournal;
/// Called before a leaf's gradient is replaced or cleared.
void remember_gradient(const std::shared_ptr<GradientSlot>& leaf);
}  // namespace detail

/// Restores on destruction the leaf gradients that this thread replaced in this scope, unless keep() was
/// called: for a captured step that is aborted, whose gradients were never computed. In-place additions to a
/// gradient are not undone; in a capture they did not run either.
class GradientRollback {
 public:
  GradientRollback();
  ~GradientRollback();

  /// Commits the current gradients. Returns the replaced ones, which a captured graph still reads.
  std::vector<Tensor> keep();

 private:
  std::unique_ptr<detail::GradientJournal> journal_;
  detail::GradientJournal* outer_;
};

}  // namespace adj
