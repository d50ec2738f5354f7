#pragma once

#include <adjoint/core/dtype.h>

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

namespace adj::hdf5 {

/// Owning HDF5 identifier.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }

  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }
  void reset() {
    if (id_ >= 0) close_(id_);
    id_ = -1;
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Guards every use of HDF5 in this process: the library is not thread-safe.
std::mutex& mutex();
/// Name for an in-memory file. HDF5 distinguishes open in-memory files by name.
std::string unique_name();
/// Disables printing of HDF5's error stack in this thread.
void quiet();
/// HDF5 types of a dtype; negative for bfloat16 and bits, which files do not contain.
struct NumberType {
  hid_t file = -1, memory = -1;
};
NumberType number_type(DType dtype);
/// The most specific message on this thread's error stack.
std::string last_error();

}  // namespace adj::hdf5
