#include <adjoint/core/detail/carrier.h>
#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>

#include <algorithm>
#include <cstring>

namespace adj::detail {

namespace {

// Each region is twice as large as the previous one: little waste for small batches, few regions for large
// ones. Above kPacked bytes the transfer takes longer than the launch of a copy.
constexpr size_t kFirstRegion = size_t{512} << 10, kLargestRegion = size_t{2} << 20;
constexpr size_t kPacked = size_t{256} << 10;
constexpr size_t kRegionAlignment = 256;  // same as allocations

}  // namespace

Tensor Carrier::carry(const Tensor& tensor) {
  if (!tensor || tensor.device() == device_) return tensor;
  if (tensor.bytes() == 0) return Tensor::empty(tensor.shape(), tensor.dtype(), device_);
  const Key key{tensor.raw_data(), tensor.bytes(), tensor.dtype()};
  const auto found = copied_.find(key);
  if (found != copied_.end())
    return tensor.dtype() == DType::bits ? tensor.to(device_) : found->second.copy.reshape(tensor.shape());
  const bool packs = tensor.bytes() <= kPacked && !tensor.is_cuda();
  const Tensor copy = packs ? packed(tensor) : tensor.to(device_);
  copied_.emplace(key, Copied{tensor, copy});
  return copy;
}

Tensor Carrier::packed(const Tensor& tensor) {
  size_t offset = (to_region_.size() + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
  if (!region_ || offset + tensor.bytes() > region_.bytes()) {
    finish();
    region_bytes_ = region_bytes_ == 0 ? kFirstRegion : std::min(2 * region_bytes_, kLargestRegion);
    region_ = Tensor::empty({static_cast<int64_t>(region_bytes_)}, DType::u8, device_);
    offset = 0;
  }
  to_region_.resize(offset + tensor.bytes());
  std::memcpy(to_region_.data() + offset, tensor.raw_data(), tensor.bytes());
  return region_.carve(static_cast<int64_t>(offset), tensor.shape(), tensor.dtype());
}

void Carrier::finish() {
  if (to_region_.empty()) return;
  runtime(device_).copy_from_host(region_.raw_mutable_data(), to_region_.data(), to_region_.size());
  to_region_.clear();
  region_ = {};
}

}  // namespace adj::detail
