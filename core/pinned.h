#pragma once

#include <adjoint/core/tensor.h>

#include <memory>

namespace adj {

/// A matrix in memory of the host that kernels of a device read in place, over its bus: rows of which few are
/// needed at a time, of more than the device has memory for. Page-locked on a GPU's behalf, which the system
/// cannot swap out; plain memory for the CPU. A cheap handle onto shared memory. Whoever writes to it knows
/// that no kernel reads it meanwhile.
class PinnedRows {
 public:
  PinnedRows() = default;
  /// Uninitialised, [rows, cols]. Throws OutOfMemory where the host has no room, or may not lock so much.
  PinnedRows(int64_t rows, int64_t cols, DType dtype, Device reader);
  /// A copy of `matrix` [N, F] on the CPU.
  PinnedRows(const Tensor& matrix, Device reader);

  explicit operator bool() const { return memory_ != nullptr; }
  int64_t rows() const { return shape_[0]; }
  int64_t cols() const { return shape_[1]; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  /// The device whose kernels read it.
  Device reader() const { return reader_; }
  /// The first element, for the host and for the reader's kernels alike.
  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }

 private:
  std::shared_ptr<void> memory_;
  Shape shape_{0, 0};
  DType dtype_ = DType::f32;
  Device reader_;
};

}  // namespace adj
