#include <adjoint/core/allocator.h>
#include <adjoint/core/convert.h>
#include <adjoint/core/detail/dispatch.h>
#include <adjoint/core/profile.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>
#include <adjoint/core/tensor.h>

#include <algorithm>
#include <atomic>

namespace adj {

struct Tensor::Storage {
  Storage(Device where, size_t bytes, const Shape& shape, DType dtype)
      : device(where), chunk(detail::allocate(where, bytes, shape, dtype)), data(detail::address_of(chunk)) {}
  /// A part of another storage's memory.
  Storage(const std::shared_ptr<Storage>& parent, size_t offset)
      : device(parent->device),
        whole(parent->whole ? parent->whole : parent),
        chunk(parent->chunk),
        data(static_cast<char*>(parent->data) + offset) {}
  /// Somebody else's memory.
  Storage(Device where, void* memory, std::shared_ptr<const void> keeper)
      : device(where), owner(std::move(keeper)), chunk(nullptr), data(memory) {}
  ~Storage() {
    if (chunk != nullptr && !whole) detail::release(chunk, used_on.load(std::memory_order_relaxed));
  }

  Device device;
  std::shared_ptr<Storage> whole;     // owner of the chunk, if it is not this storage
  std::shared_ptr<const void> owner;  // of borrowed memory, which has no chunk
  detail::Chunk* chunk;
  void* data;
  void note_use(int user_stream) {
    if (user_stream != stream) [[unlikely]]
      (whole ? whole.get() : this)->used_on.fetch_or(uint64_t{1} << user_stream, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> version{0};
  int stream = chunk == nullptr ? 0 : detail::stream_of(chunk);
  std::atomic<uint64_t> used_on{0};  // streams other than its own
  uint64_t id = next_id.fetch_add(1, std::memory_order_relaxed) + 1;
  static inline std::atomic<uint64_t> next_id{0};
};

namespace {

/// Bytes between the host and `device`.
detail::KernelSpan copy_span(Device device, size_t bytes) {
  return detail::KernelSpan("copy", device, detail::SpanKind::copy, bytes);
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype)
    : storage_(std::move(storage)), shape_(shape), numel_(shape.numel()), dtype_(dtype) {}

Tensor Tensor::empty(Shape shape, DType dtype, Device device) {
  return {std::make_shared<Storage>(device, bytes_of(shape, dtype), shape, dtype), shape, dtype};
}

Tensor Tensor::zeros(Shape shape, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  runtime(device).fill_bytes(tensor.raw_mutable_data(), 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::full(Shape shape, double value, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  tensor.fill_(value);
  return tensor;
}

Tensor Tensor::from_bytes(const void* values, size_t count, Shape shape, DType dtype, Device device) {
  ADJ_CHECK(static_cast<int64_t>(count) == shape.numel(), "tensor of shape {}: expected {} values, got {}",
            shape.str(), shape.numel(), count);
  Tensor tensor = empty(shape, dtype, device);
  const auto span = copy_span(device, tensor.bytes());
  runtime(device).copy_from_host(tensor.raw_mutable_data(), values, tensor.bytes());
  return tensor;
}

Tensor Tensor::borrow(void* data, Shape shape, DType dtype, Device device,
                      std::shared_ptr<const void> owner) {
  ADJ_CHECK(owner != nullptr, "borrow: {} {} without an owner", shape.str(), name_of(dtype));
  ADJ_CHECK(
      reinterpret_cast<uintptr_t>(data) % (dtype == DType::bits ? kBitAlignment / 8 : size_of(dtype)) == 0,
      "borrow: {} {} at an address that is not aligned for it", shape.str(), name_of(dtype));
  return {std::make_shared<Storage>(device, data, std::move(owner)), shape, dtype};
}

Device Tensor::device() const { return storage_ ? storage_->device : Device::cpu(); }

std::string Tensor::str() const {
  return storage_ ? fmt::format("{} {} on {}", shape_.str(), name_of(dtype_), device().str()) : "(no tensor)";
}

const void* Tensor::raw_data() const {
  ADJ_CHECK(storage_ != nullptr, "tensor: a default-constructed tensor has no data");
  if (storage_->device.is_cuda()) storage_->note_use(detail::current_stream(storage_->device));
  return static_cast<const char*>(storage_->data) + offset_;
}

void* Tensor::raw_mutable_data() {
  void* pointer = const_cast<void*>(raw_data());
  storage_->version.fetch_add(1, std::memory_order_relaxed);
  return pointer;
}

void Tensor::use_on(const Stream& stream) const {
  ADJ_CHECK(stream.device() == device(), "use_on: a stream of {} for a tensor {}", stream.device().str(),
            str());
  if (storage_) storage_->note_use(stream.id());
}

bool Tensor::is_unique() const {
  return storage_.use_count() == 1 && (storage_ == nullptr || !storage_->owner);
}

uint64_t Tensor::storage_id() const { return storage_ ? storage_->id : 0; }

const void* Tensor::address(DType expected) const {
  ADJ_CHECK(dtype_ == expected, "tensor {}: its elements were requested as {}", str(), name_of(expected));
  return raw_data();
}

void* Tensor::mutable_address(DType expected) {
  ADJ_CHECK(dtype_ == expected, "tensor {}: its elements were requested as {}", str(), name_of(expected));
  return raw_mutable_data();
}

uint64_t Tensor::version() const { return storage_ ? storage_->version.load(std::memory_order_relaxed) : 0; }

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  ADJ_CHECK(dims() >= 1 && begin >= 0 && begin <= end && end <= shape_[0], "tensor {}: no rows [{}, {})",
            str(), begin, end);
  const bool cuts_bits = dtype_ == DType::bits && dims() == 1;
  ADJ_CHECK(!cuts_bits || (begin % kBitAlignment == 0 && (end % kBitAlignment == 0 || end == shape_[0])),
            "tensor {}: bits [{}, {}) do not begin and end at multiples of {}", str(), begin, end,
            kBitAlignment);
  Tensor view = *this;
  view.offset_ += bytes_of(shape_.with(0, begin), dtype_);
  view.shape_ = shape_.with(0, end - begin);
  view.numel_ = view.shape_.numel();
  return view;
}

Tensor Tensor::reshape(std::initializer_list<int64_t> extents) const {
  std::array<int64_t, Shape::kMaxDims> e{};
  ADJ_CHECK(extents.size() <= e.size(), "reshape: at most {} dimensions, got {}", e.size(), extents.size());
  std::copy(extents.begin(), extents.end(), e.begin());
  int64_t known = 1;
  int64_t* unknown = nullptr;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (e[d] == -1 && unknown == nullptr) {
      unknown = &e[d];
    } else {
      known *= e[d];
    }
  }
  if (unknown != nullptr) {
    ADJ_CHECK(known > 0 && numel_ % known == 0, "reshape: {} elements do not divide by {}", numel_, known);
    *unknown = numel_ / known;
  }
  return reshape(Shape(std::span<const int64_t>(e.data(), extents.size())));
}

Tensor Tensor::reshape(const Shape& shape) const {
  ADJ_CHECK(shape.numel() == numel_, "reshape: {} has {} elements, {} has {}", shape_.str(), numel_,
            shape.str(), shape.numel());
  const auto width = [](const Shape& s) { return s.dims() == 0 ? 1 : s[-1]; };
  ADJ_CHECK(dtype_ != DType::bits || width(shape) == width(shape_),
            "reshape: rows of bits keep their width, not {} to {}", shape_.str(), shape.str());
  Tensor view = *this;
  view.shape_ = shape;
  return view;
}

Tensor Tensor::carve(int64_t offset, const Shape& shape, DType dtype) const {
  const auto total = static_cast<int64_t>(bytes()), part = static_cast<int64_t>(bytes_of(shape, dtype));
  ADJ_CHECK(storage_ && offset >= 0 && part <= total && offset <= total - part,
            "carve: {} {} from byte {} of {}, which is {} bytes long", shape.str(), name_of(dtype), offset,
            str(), total);
  const int64_t unit = dtype == DType::bits ? kBitAlignment / 8 : static_cast<int64_t>(size_of(dtype));
  ADJ_CHECK((static_cast<int64_t>(offset_) + offset) % unit == 0,
            "carve: {} from byte {}, expected a multiple of {}", name_of(dtype), offset, unit);
  return {std::make_shared<Storage>(storage_, offset_ + static_cast<size_t>(offset)), shape, dtype};
}

Tensor Tensor::clone() const {
  Tensor copy = empty(shape_, dtype_, device());
  runtime(device()).copy_within(copy.raw_mutable_data(), raw_data(), bytes());
  return copy;
}

Tensor Tensor::to(Device where) const {
  if (!storage_ || where == device()) return *this;
  Tensor copy = empty(shape_, dtype_, where);
  copy.copy_(*this);
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor converted = empty(shape_, dtype, device());
  convert(*this, converted);
  return converted;
}

void Tensor::copy_(const Tensor& source) {
  ADJ_CHECK(shape_ == source.shape_ && dtype_ == source.dtype_, "copy: from {} to {}", source.str(), str());
  const Device target_device = device(), source_device = source.device();
  if (target_device == source_device) {
    runtime(target_device).copy_within(raw_mutable_data(), source.raw_data(), bytes());
  } else if (source_device.is_cpu()) {
    const auto span = copy_span(target_device, bytes());
    runtime(target_device).copy_from_host(raw_mutable_data(), source.raw_data(), bytes());
  } else if (target_device.is_cpu()) {
    const auto span = copy_span(source_device, bytes());
    runtime(source_device).copy_to_host(raw_mutable_data(), source.raw_data(), bytes());
  } else {
    const auto span = copy_span(target_device, bytes());
    runtime(target_device).copy_from_peer(raw_mutable_data(), source_device, source.raw_data(), bytes());
  }
}

void Tensor::fill_(double value) {
  if (value == 0.0) {
    runtime(device()).fill_bytes(raw_mutable_data(), 0, bytes());
  } else {
    fill(*this, value);
  }
}

double Tensor::item() const {
  ADJ_CHECK(numel_ == 1, "item: expected one element, tensor is {}", str());
  const Tensor on_host = to(Device::cpu()).to(DType::f64);
  return *on_host.data<double>();
}

void Tensor::copy_to_host(void* buffer, DType expected) const {
  const void* source = address(expected);
  const auto span = copy_span(device(), bytes());
  runtime(device()).copy_to_host(buffer, source, bytes());
}

Tensor to_int32(std::string_view op, std::string_view name, const Tensor& index, int64_t limit) {
  if (!index || index.dtype() != DType::i64) return index;
  if (index.device().is_cpu()) {
    const int64_t* values = index.data<int64_t>();
    for (int64_t k = 0; k < index.numel(); ++k)
      ADJ_CHECK(values[k] == static_cast<int32_t>(values[k]), "{}: {}[{}] is {}, expected [0, {})", op, name,
                k, values[k], limit);
  }
  return index.to(DType::i32);
}

void convert(const Tensor& source, Tensor& target) {
  ADJ_CHECK(source.numel() == target.numel() && source.device() == target.device(), "convert: from {} to {}",
            source.str(), target.str());
  ADJ_DISPATCH(source.device(), convert, source, target);
}

void fill(Tensor& tensor, double value) { ADJ_DISPATCH(tensor.device(), fill, tensor, value); }

}  // namespace adj
