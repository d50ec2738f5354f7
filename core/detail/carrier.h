#pragma once

#include <adjoint/core/keyed_cache.h>
#include <adjoint/core/tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace adj::detail {

/// Batched host-to-device copies. A mini-batch has about a dozen small tensors, and one copy each would cost
/// more than the bytes do. Small tensors are packed into regions with one copy per region; a large tensor is
/// copied separately:
///
///   Carrier carrier(device);
///   const Graph graph = carrier.carry(part);
///   const Tensor nodes = carrier.carry(part_nodes);
///   carrier.finish();  // now the copies have their values, for later work on the current stream
///
/// A shared tensor or structure is copied once. Sources must stay alive and unchanged until finish(); before
/// it the copies must not be read. On the CPU, and for data already on the device, the copy is the source
/// itself. Single thread, single stream.
class Carrier {
 public:
  explicit Carrier(Device destination) : device_(destination) {}
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  Device device() const { return device_; }
  /// Absent for an absent tensor.
  Tensor carry(const Tensor& tensor);
  /// A structure with everything derived from it.
  template <Carriable T>
  T carry(const T& structure) {
    return CarrierAccess::carried(structure, *this);
  }
  /// The result of `make()` for this source object; called once per object.
  template <class T, class Make>
  std::shared_ptr<T> once(const void* object, Make&& make) {
    if (const auto found = results_.find(object); found != results_.end())
      return std::static_pointer_cast<T>(found->second);
    std::shared_ptr<T> result = std::forward<Make>(make)();
    results_.emplace(object, std::const_pointer_cast<std::remove_const_t<T>>(result));
    return result;
  }
  /// Throws OutOfMemory, as does carry().
  void finish();

 private:
  using Key = std::tuple<const void*, size_t, DType>;
  struct Copied {
    Tensor source, copy;
  };

  Tensor packed(const Tensor& tensor);

  Device device_;
  std::map<Key, Copied> copied_;
  std::map<const void*, std::shared_ptr<void>> results_;
  Tensor region_;                     // uint8 on the device
  std::vector<std::byte> to_region_;  // host bytes to copy there
  size_t region_bytes_ = 0;           // capacity of the last region
};

/// A copy on a device, with derived structures, by a single Carrier.
template <class T>
T carried(const T& structure, Device device) {
  Carrier carrier(device);
  T copy = carrier.carry(structure);
  carrier.finish();
  return copy;
}

}  // namespace adj::detail
