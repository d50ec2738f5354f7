#pragma once

#include <adjoint/core/tensor.h>

#include <memory>

namespace adj {

/// Matrix in host memory that kernels read in place over the bus (zero-copy): for features larger than device
/// memory, if few rows are needed at a time. Page-locked for a GPU, so the system cannot swap it out;
/// plain memory for the CPU. A cheap handle onto shared memory. Write only while no kernel reads it.
class PinnedRows {
 public:
  PinnedRows() = default;
  /// Uninitialised, [rows, cols]. Throws OutOfMemory if the host has not enough memory or may not lock that
  /// much.
  PinnedRows(int64_t rows, int64_t cols, DType dtype, Device reader);
  /// A copy of `matrix` [N, F] on the CPU.
  PinnedRows(const Tensor& matrix, Device reader);

  explicit operator bool() const { return memory_ != nullptr; }  ///< false if default-constructed
  int64_t rows() const { return shape_[0]; }
  int64_t cols() const { return shape_[1]; }     ///< 0 if default-constructed, as rows()
  const Shape& shape() const { return shape_; }  ///< [rows, cols]
  DType dtype() const { return dtype_; }         ///< of the elements
  /// The device whose kernels read it.
  Device reader() const { return reader_; }
  /// First element; the same address for the host and for the reader's kernels.
  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }

 private:
  std::shared_ptr<void> memory_;
  Shape shape_{0, 0};
  DType dtype_ = DType::f32;
  Device reader_;
};

}  // namespace adj
