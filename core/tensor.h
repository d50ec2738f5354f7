#pragma once

#include <adjoint/core/device.h>
#include <adjoint/core/dtype.h>
#include <adjoint/core/shape.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace adj {

class Stream;

/// A dense, row-major, contiguous array on one device: a handle onto shared storage, cheap to copy. Row views
/// and reshapes share the storage; `clone()` copies it. A default-constructed Tensor is absent (`!tensor`);
/// kernels use that for optional arguments.
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised memory. Throws OutOfMemory.
  static Tensor empty(Shape shape, DType dtype = DType::f32, Device device = {});
  static Tensor zeros(Shape shape, DType dtype = DType::f32, Device device = {});  ///< all elements 0
  /// Every element is `value`, converted to the dtype.
  static Tensor full(Shape shape, double value, DType dtype = DType::f32, Device device = {});
  /// Uninitialised memory for the shape, dtype and device of `other`.
  static Tensor empty_like(const Tensor& other) {
    return empty(other.shape(), other.dtype(), other.device());
  }
  /// Zeros for the shape, dtype and device of `other`.
  static Tensor zeros_like(const Tensor& other) {
    return zeros(other.shape(), other.dtype(), other.device());
  }
  /// Copies `values`, row-major, to `device`. Throws if their number does not match `shape`.
  template <class T>
  static Tensor from(std::span<const T> values, Shape shape, Device device = {}) {
    return from_bytes(values.data(), values.size(), shape, dtype_of<T>(), device);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, Shape shape, Device device = {}) {
    return from(std::span<const T>(values), shape, device);
  }
  /// One-dimensional.
  template <class T>
  static Tensor from(const std::vector<T>& values, Device device = {}) {
    return from(std::span<const T>(values), {static_cast<int64_t>(values.size())}, device);
  }

  /// Row-major elements in external memory (an array of another framework, a mapped file), not copied:
  /// complete, aligned for their type, and not written to while tensors read them. `owner` is released with
  /// the last tensor over them; on a GPU its destructor must wait for the queued work.
  static Tensor borrow(void* data, Shape shape, DType dtype, Device device,
                       std::shared_ptr<const void> owner);

  explicit operator bool() const { return storage_ != nullptr; }  ///< false for an absent tensor
  const Shape& shape() const { return shape_; }                   ///< that of a scalar for an absent tensor
  int dims() const { return shape_.dims(); }                      ///< 0 for a scalar
  int64_t size(int dim) const { return shape_[dim]; }  ///< extent; a negative `dim` counts from the end
  int64_t numel() const { return numel_; }             ///< number of elements; 0 for an absent tensor
  /// 0 for an absent tensor.
  size_t bytes() const { return storage_ ? bytes_of(shape_, dtype_) : 0; }
  DType dtype() const { return dtype_; }  ///< float32 for an absent tensor
  Device device() const;
  bool is_cuda() const { return device().is_cuda(); }  ///< true on a GPU
  /// "[2708, 16] float32 on cpu", for messages.
  std::string str() const;

  /// First element, on the tensor's device. Throws if T does not match the dtype. Does not change the
  /// version.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(address(dtype_of<T>()));
  }
  /// Same, for writing: increments the version, by which the tape detects modified saved tensors.
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(mutable_address(dtype_of<T>()));
  }
  const void* raw_data() const;  ///< data() of any dtype; throws for an absent tensor
  void* raw_mutable_data();      ///< mutable_data() of any dtype; throws for an absent tensor

  /// Declares that `stream` uses the storage, for code that passes on an address obtained while another
  /// stream was current (core/stream.h).
  void use_on(const Stream& stream) const;

  /// Number of writes to the storage, through any tensor that shares it.
  uint64_t version() const;
  /// Unique id of the storage within the process; 0 for an absent tensor.
  uint64_t storage_id() const;
  /// True if no other Tensor shares the storage, and it is not borrowed.
  bool is_unique() const;
  /// True for views of one storage, and if both are absent; false for a part made by carve().
  bool shares_storage_with(const Tensor& other) const { return storage_ == other.storage_; }

  /// Rows [begin, end) of the first dimension, as a view. A one-dimensional bit tensor is cut at multiples of
  /// kBitAlignment only.
  Tensor rows(int64_t begin, int64_t end) const;
  /// The same elements under another shape, as a view. One extent may be -1. Bits keep their last extent.
  Tensor reshape(std::initializer_list<int64_t> extents) const;
  Tensor reshape(const Shape& shape) const;

  /// A tensor over part of this one's memory, from byte `offset` on, with its own version and storage id, for
  /// packing several tensors into one. The memory lives as long as any of them. Throws if it would exceed
  /// this tensor or `offset` is not a multiple of the element size.
  Tensor carve(int64_t offset, const Shape& shape, DType dtype) const;

  Tensor clone() const;
  /// A copy on `device`, or the tensor itself if it is already there.
  Tensor to(Device device) const;
  /// Converted element by element, or the tensor itself if it has that dtype. Floating to integer truncates.
  Tensor to(DType dtype) const;

  /// Overwrites all elements. Throws unless shape and dtype are equal; devices may differ.
  void copy_(const Tensor& source);
  void fill_(double value);     ///< overwrites all elements; bits only with 0
  void zero_() { fill_(0.0); }  ///< all bits 0, for any dtype

  /// The single element of a one-element tensor, as double; synchronizes.
  double item() const;
  /// All elements, row-major, on the host; synchronizes.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<size_t>(numel_));
    copy_to_host(values.data(), dtype_of<T>());
    return values;
  }

 private:
  struct Storage;

  Tensor(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype);
  static Tensor from_bytes(const void* values, size_t count, Shape shape, DType dtype, Device device);
  const void* address(DType expected) const;
  void* mutable_address(DType expected);
  void copy_to_host(void* buffer, DType expected) const;

  std::shared_ptr<Storage> storage_;
  size_t offset_ = 0;  // in bytes
  Shape shape_;
  int64_t numel_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace adj
