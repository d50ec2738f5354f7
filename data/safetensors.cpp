#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/detail/half.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/data/safetensors.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace adj {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostHeader = 100'000'000;  // in bytes, the limit of the reference implementation
constexpr const char* kMetadata = "__metadata__";

struct Type {
  std::string_view name;
  uint64_t bytes;
  std::optional<DType> dtype;  // dtype in which it is read
};

/// Types of full bytes. Writable ones are in the reference's tensor order.
constexpr std::array<Type, 17> kTypes{{{"I64", 8, DType::i64},
                                       {"F64", 8, DType::f64},
                                       {"F32", 4, DType::f32},
                                       {"I32", 4, DType::i32},
                                       {"BF16", 2, DType::bf16},
                                       {"U8", 1, DType::u8},
                                       {"F16", 2, DType::f32},
                                       {"BOOL", 1, DType::u8},
                                       {"U64", 8, {}},
                                       {"U32", 4, {}},
                                       {"U16", 2, {}},
                                       {"I16", 2, {}},
                                       {"I8", 1, {}},
                                       {"C64", 8, {}},
                                       {"F8_E5M2", 1, {}},
                                       {"F8_E4M3", 1, {}},
                                       {"F8_E8M0", 1, {}}}};
struct Entry {
  const Type* type;
  std::vector<int64_t> shape;
  uint64_t begin, end;  // offsets after the header
};

}  // namespace

struct SafetensorsReader::Impl {
  std::string file;
  detail::Descriptor descriptor;
  uint64_t data_at = 0;  // position in the file
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string> metadata;

  template <class... Args>
  [[noreturn]] void fail(std::string_view place, fmt::format_string<Args...> format, Args&&... args) const {
    data_fail("{}: {}: {}", printable(file), excerpt(place),
              fmt::format(format, std::forward<Args>(args)...));
  }

  void read(std::string_view place, uint64_t offset, void* buffer, uint64_t count) const {
    const int64_t got =
        detail::read_all(descriptor.get(), static_cast<int64_t>(offset), static_cast<char*>(buffer), count);
    if (got < 0) fail(place, "cannot be read: {}", std::strerror(errno));
    if (const uint64_t done = static_cast<uint64_t>(got); done < count)
      fail(place, "the file ends, expected {} bytes more", count - done);
  }

  class Header;
  void parse(const std::string& header);  // into entries and metadata

  void read_header() {
    struct stat status {};
    if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0)
      data_fail("{}: cannot be opened: {}", printable(file), std::strerror(errno));
    if (!S_ISREG(status.st_mode)) data_fail("{}: not a regular file", printable(file));
    const auto size = static_cast<uint64_t>(status.st_size);
    uint64_t header = 0;
    if (size < sizeof(header)) fail("header", "the file has {} bytes, expected more", size);
    read("header", 0, &header, sizeof(header));
    if (header > kMostHeader) fail("header", "{} bytes, expected {} at most", header, kMostHeader);
    if (header > size - sizeof(header)) fail("header", "{} bytes, the file has {}", header, size);
    std::string text(header, '\0');
    read("header", sizeof(header), text.data(), header);
    if (!text.starts_with('{')) fail("header", "no object, expected {{ as its first byte");
    data_at = sizeof(header) + header;

    parse(text);
    std::vector<std::pair<const std::string, Entry>*> order;
    for (auto& item : entries) order.push_back(&item);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return std::tie(a->second.begin, a->second.end) < std::tie(b->second.begin, b->second.end);
    });
    uint64_t offset = 0;
    for (const auto* item : order) {
      const auto& [name, entry] = *item;
      if (entry.begin != offset)
        fail(name, "begins at {}, which {}, expected {}", entry.begin,
             entry.begin < offset ? "overlaps the previous tensor" : "leaves a gap", offset);
      offset = entry.end;
      if (offset > size - data_at)
        fail(name, "ends at {}, the file has {} bytes of tensors", offset, size - data_at);
    }
    if (offset != size - data_at)
      data_fail("{}: {} bytes left over after the last tensor", printable(file), size - data_at - offset);
  }
};

/// Takes the header as it is parsed: no tree in memory, and time in proportion to the header.
class SafetensorsReader::Impl::Header : public nlohmann::json_sax<Json> {
 public:
  Header(Impl& file, size_t bytes) : file_(file), bytes_(bytes) {}

  bool null() override { return expect(Kind::other); }
  bool boolean(bool) override { return expect(Kind::other); }
  bool number_integer(number_integer_t) override { return expect(Kind::other); }
  bool number_float(number_float_t, const string_t&) override { return expect(Kind::other); }
  bool binary(binary_t&) override { return expect(Kind::other); }
  bool number_unsigned(number_unsigned_t value) override {
    expect(value < uint64_t{1} << 62 ? Kind::extent : Kind::other);
    if (Numbers* numbers = depth_ == 3 ? list() : nullptr) {
      if ((*numbers)->size() == 64)
        file_.fail("header", "an array of more than 64 numbers, expected a shape");
      (*numbers)->push_back(static_cast<int64_t>(value));
    }
    return true;
  }
  bool string(string_t& value) override {
    expect(Kind::text);
    if (depth_ == 2 && name_ == kMetadata) file_.metadata.emplace(member_, value);
    if (depth_ == 2 && member_ == kDtype) dtype_ = std::move(value);
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ > 0) expect(Kind::object);
    if (++depth_ == 2) {
      members_.clear();
      dtype_.reset(), shape_.reset(), offsets_.reset();
    }
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) {
      if (file_.entries.contains(value) || (value == kMetadata && std::exchange(has_metadata_, true)))
        file_.fail(value, "occurs twice in the header");
      name_ = std::move(value);
    } else if (depth_ == 2) {
      if (!members_.insert(value).second) file_.fail(value, "occurs twice in the header");
      member_ = std::move(value);
    }
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && name_ != kMetadata) file_.entries.emplace(name_, entry());
    return true;
  }
  bool start_array(size_t) override {
    expect(Kind::array);
    if (Numbers* numbers = ++depth_ == 3 ? list() : nullptr) numbers->emplace();
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const Json::parse_error*>(&error) == nullptr)
      file_.fail("header", "a number that is out of range");
    file_.fail("header", "no JSON at byte {} of {}", position, bytes_);
  }

 private:
  enum class Kind : uint8_t { object, array, text, extent, other };
  using Numbers = std::optional<std::vector<int64_t>>;

  Numbers* list() {
    if (name_ == kMetadata) return nullptr;
    return member_ == kShape ? &shape_ : member_ == kOffsets ? &offsets_ : nullptr;
  }

  /// Throws if the next value cannot be of this kind. Unknown members of tensors may be anything.
  bool expect(Kind kind) {
    if (depth_ == 1 && kind != Kind::object)
      file_.fail(name_, "no object, expected {}",
                 name_ == kMetadata ? "strings by name" : "dtype, shape and data_offsets");
    if ((kind == Kind::object || kind == Kind::array) && depth_ > 2)
      file_.fail("header", "nested too deep, expected dtype, shape and data_offsets");
    if (depth_ == 2 && name_ == kMetadata && kind != Kind::text)
      file_.fail(name_, "{} is not a string", excerpt(member_));
    if (depth_ == 2 && name_ != kMetadata && member_ == kDtype && kind != Kind::text)
      file_.fail(name_, "no dtype, expected a string");
    if (depth_ == 2 && list() && kind != Kind::array)
      file_.fail(name_, "no {}, expected an array of integers", member_);
    if (depth_ == 3 && list() && kind != Kind::extent)
      file_.fail(name_, "{} holds no integer from 0 to 2^62", member_);
    return true;
  }

  Entry entry() const {
    if (!dtype_) file_.fail(name_, "no dtype, expected a string");
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == *dtype_; });
    if (type == kTypes.end()) file_.fail(name_, "dtype '{}' is unknown", excerpt(*dtype_));
    for (const auto& [numbers, name] : {std::pair(&shape_, kShape), {&offsets_, kOffsets}})
      if (!*numbers) file_.fail(name_, "no {}, expected an array of integers", name);
    const std::vector<int64_t>& place = *offsets_;
    if (place.size() != 2 || place[0] > place[1])
      file_.fail(name_, "data_offsets: expected a begin and an end");
    const Entry entry{&*type, *shape_, static_cast<uint64_t>(place[0]), static_cast<uint64_t>(place[1])};
    uint64_t bytes = type->bytes;
    bool fits = true;
    for (const int64_t extent : entry.shape)
      fits = !__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) && fits;
    if (!fits || bytes != entry.end - entry.begin)
      file_.fail(name_, "{} of [{}] has {} bytes, not those of its shape", type->name,
                 fmt::join(entry.shape, ", "), entry.end - entry.begin);
    return entry;
  }

  static constexpr const char *kDtype = "dtype", *kShape = "shape", *kOffsets = "data_offsets";

  SafetensorsReader::Impl& file_;
  size_t bytes_;
  int depth_ = 0;  // of the objects and arrays that are open
  bool has_metadata_ = false;
  std::string name_, member_;      // a tensor or the metadata, and a member of it
  std::set<std::string> members_;  // so far
  std::optional<std::string> dtype_;
  Numbers shape_, offsets_;
};

void SafetensorsReader::Impl::parse(const std::string& header) {
  Header handler(*this, header.size());
  Json::sax_parse(header, &handler);
}

SafetensorsReader SafetensorsReader::open(const std::string& path) {
  auto impl = std::make_shared<Impl>();
  impl->file = path;
  impl->descriptor = detail::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  impl->read_header();
  return SafetensorsReader(std::move(impl));
}

const std::string& SafetensorsReader::file() const { return impl_->file; }

std::vector<std::string> SafetensorsReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : impl_->entries) names.push_back(name);
  return names;
}

bool SafetensorsReader::has(std::string_view name) const { return impl_->entries.contains(name); }

const std::map<std::string, std::string>& SafetensorsReader::metadata() const { return impl_->metadata; }

Tensor SafetensorsReader::tensor(std::string_view name) const {
  const auto found = impl_->entries.find(name);
  if (found == impl_->entries.end()) fail(name, "missing");
  const Entry& entry = found->second;
  if (!entry.type->dtype)
    fail(name, "{} is not read, expected floats of 16 to 64 bits, I64, I32, U8 or BOOL", entry.type->name);
  if (entry.shape.size() > Shape::kMaxDims)
    fail(name, "{} dimensions, expected {} at most", entry.shape.size(), Shape::kMaxDims);
  Tensor tensor = Tensor::empty(Shape(entry.shape), *entry.type->dtype);
  const uint64_t bytes = entry.end - entry.begin, offset = impl_->data_at + entry.begin;
  if (bytes == tensor.bytes()) {
    if (bytes > 0) impl_->read(name, offset, tensor.raw_mutable_data(), bytes);
    return tensor;
  }
  std::vector<uint16_t> halves(static_cast<size_t>(tensor.numel()));
  impl_->read(name, offset, halves.data(), bytes);
  std::transform(halves.begin(), halves.end(), tensor.mutable_data<float>(), detail::from_half);
  return tensor;
}

void SafetensorsReader::fail_with(std::string_view tensor, const std::string& message) const {
  impl_->fail(tensor, "{}", message);
}

std::map<std::string, Tensor> load_safetensors(const std::string& path) {
  const SafetensorsReader file = SafetensorsReader::open(path);
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : file.names()) tensors.emplace(name, file.tensor(name));
  return tensors;
}

void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  // By type, widest first, so that each tensor is aligned, then by name.
  std::map<std::pair<size_t, std::string>, const Tensor*> order;
  std::set<std::string> taken{kMetadata};
  for (const auto& [name, tensor] : tensors) {
    ADJ_CHECK(tensor && tensor.dtype() != DType::bits, "save_safetensors: {} is {}, expected numbers",
              excerpt(name), tensor.str());
    ADJ_CHECK(is_utf8(name), "save_safetensors: the name {} is not UTF-8", excerpt(name));
    ADJ_CHECK(taken.insert(name).second, "save_safetensors: the name {} occurs twice", excerpt(name));
    size_t type = 0;
    while (kTypes[type].dtype != tensor.dtype()) ++type;
    order.emplace(std::pair(type, name), &tensor);
  }
  // As text: an ordered JSON object takes time quadratic in its members.
  std::string text = "{";
  const auto add = [&](const std::string& name, const nlohmann::ordered_json& value) {
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", Json(name).dump(), value.dump());
  };
  for (const auto& [key, value] : metadata)
    ADJ_CHECK(is_utf8(key) && is_utf8(value), "save_safetensors: metadata {} is not UTF-8", excerpt(key));
  if (!metadata.empty()) add(kMetadata, metadata);
  size_t offset = 0;
  for (const auto& [place, tensor] : order) {
    const auto& [type, name] = place;
    std::vector<int64_t> shape;
    for (int d = 0; d < tensor->dims(); ++d) shape.push_back(tensor->size(d));
    add(name, {{"dtype", kTypes[type].name},
               {"shape", shape},
               {"data_offsets", {offset, offset + tensor->bytes()}}});
    offset += tensor->bytes();
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  ADJ_CHECK(text.size() <= kMostHeader, "save_safetensors: a header of {} bytes, expected {} at most",
            text.size(), kMostHeader);
  const uint64_t length = text.size();
  FileReplacement file(path);
  file.write(0, {reinterpret_cast<const char*>(&length), sizeof(length)});
  file.write(sizeof(length), text);
  auto next = static_cast<int64_t>(sizeof(length) + text.size());
  for (const auto& [place, tensor] : order) {
    const Tensor host = tensor->to(Device::cpu());
    if (host.bytes() > 0) file.write(next, {static_cast<const char*>(host.raw_data()), host.bytes()});
    next += static_cast<int64_t>(host.bytes());
  }
  file.commit();
}

}  // namespace adj
