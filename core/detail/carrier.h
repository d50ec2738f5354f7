#pragma once

#include <adjoint/core/tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace adj::detail {

/// Brings what the host made to a device in few copies: a batch is a dozen small tensors, and a copy of each
/// would cost more than the bytes do. Small ones are packed into regions, of which each is one copy; a large
/// one is copied by itself:
///
///   Carrier carrier(device);
///   const Graph graph = part.carried_to(carrier);
///   const Tensor nodes = carrier.carry(part_nodes);
///   carrier.finish();  // from here on they hold their values, for what is queued on the current stream
///
/// What shares a tensor, or a structure, shares its copy. Sources stay unchanged and alive until finish(),
/// before which the copies hold nothing that may be read. On the CPU, and for what is on the device already,
/// the copy is the thing itself. For one thread, on one stream.
class Carrier {
 public:
  explicit Carrier(Device to) : device_(to) {}
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  Device device() const { return device_; }
  /// Absent where the tensor is.
  Tensor carry(const Tensor& tensor);
  /// What `make()` gave for this object of the source: the first time it is asked for alone.
  template <class T, class Make>
  std::shared_ptr<T> once(const void* object, Make&& make) {
    if (const auto found = made_.find(object); found != made_.end())
      return std::static_pointer_cast<T>(found->second);
    std::shared_ptr<T> made = std::forward<Make>(make)();
    made_.emplace(object, std::const_pointer_cast<std::remove_const_t<T>>(made));
    return made;
  }
  /// Throws OutOfMemory, as carry() does.
  void finish();

 private:
  using Key = std::tuple<const void*, size_t, DType>;
  struct Copied {
    Tensor source, copy;
  };

  Tensor packed(const Tensor& tensor);

  Device device_;
  std::map<Key, Copied> copied_;
  std::map<const void*, std::shared_ptr<void>> made_;
  Tensor region_;                     // uint8 on the device
  std::vector<std::byte> to_region_;  // what is to be copied there
  size_t region_bytes_ = 0;           // of the last one, full or not
};

/// What goes to a device with what was made of it, by one carrier of its own.
template <class T>
T carried(const T& made, Device to) {
  Carrier carrier(to);
  T copy = made.carried_to(carrier);
  carrier.finish();
  return copy;
}

}  // namespace adj::detail
