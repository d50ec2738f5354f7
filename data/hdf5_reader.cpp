#include <adjoint/data/detail/hdf5_capture.h>
#include <adjoint/data/hdf5_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adj {

namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);

/// The signature stands at the beginning, or at 512, 1024, 2048, … behind a user block.
bool has_signature(int descriptor, off_t bytes) {
  char head[8];
  for (off_t at = 0; at + 8 <= bytes; at = at == 0 ? 512 : 2 * at)
    if (pread(descriptor, head, 8, at) == 8 && std::string_view(head, 8) == kSignature) return true;
  return false;
}

size_t checked_file_size(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) data_fail("{}: {}", hdf5::printable(path), std::strerror(errno));
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  const bool signature = regular && has_signature(descriptor, status.st_size);
  close(descriptor);
  if (!regular) data_fail("{}: not a file", hdf5::printable(path));
  if (!signature)
    data_fail("{}: not an HDF5 file{}", hdf5::printable(path), status.st_size == 0 ? ", it is empty" : "");
  return static_cast<size_t>(status.st_size);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (int64_t extent : shape) extents.push_back(extent < 0 ? "*" : std::to_string(extent));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string dtypes_text(std::initializer_list<DType> dtypes) {
  std::vector<std::string_view> names;
  for (DType dtype : dtypes) names.push_back(name_of(dtype));
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace

H5Reader H5Reader::open(const std::string& path, const Accept& accept) {
  return H5Reader(path, {}, false, accept);
}

H5Reader H5Reader::from_image(std::span<const std::byte> image, const std::string& name,
                              const Accept& accept) {
  return H5Reader(name, image, true, accept);
}

H5Reader::H5Reader(std::string file, std::span<const std::byte> image, bool from_memory, const Accept& accept)
    : file_(std::move(file)) {
  hdf5::Source source;
  if (from_memory) {
    source.image = image;
    source.bytes = image.size();
    if (image.size() < 8 || std::memcmp(image.data(), kSignature.data(), 8) != 0)
      data_fail("{}: not an HDF5 file", file_);
  } else {
    source.path = file_;
    source.bytes = checked_file_size(file_);
  }
  const auto memory = std::make_shared<hdf5::SharedMemory>();
  try {
    const std::string directory = hdf5::capture_isolated(source, accept, *memory);
    hdf5::Decoder in(directory);
    const std::span<const std::byte> data = memory->map();
    while (!in.done()) {
      Object& object = objects_[in.get_text()];
      object.group = in.get<uint8_t>() != 0;
      for (auto left = in.get<uint64_t>(); left > 0; --left) {
        H5Value& value = object.attributes[in.get_text()];
        const auto tag = in.get<uint8_t>();
        if (tag == 1) value = in.get<int64_t>();
        if (tag == 2) value = in.get<double>();
        if (tag == 3) value = in.get_text();
      }
      if (object.group) continue;
      object.type = in.get_text();
      object.readable = in.get<uint8_t>() != 0;
      object.dtype = static_cast<DType>(in.get<uint8_t>());
      for (auto left = in.get<uint64_t>(); left > 0; --left) object.shape.push_back(in.get<int64_t>());
      const auto offset = in.get<uint64_t>(), bytes = in.get<uint64_t>();
      if (bytes == 0) continue;
      if (offset > data.size() || bytes > data.size() - offset)
        data_fail("damaged: the HDF5 library crashed on it");
      object.data = data.data() + offset;
    }
  } catch (const DataError& error) {
    data_fail("{}: {}", hdf5::printable(file_), hdf5::printable(error.what()));
  }
  memory_ = memory;
}

void H5Reader::fail_with(std::string_view place, const std::string& message) const {
  throw_data_error(
      fmt::format("{}: {}: {}", hdf5::printable(file_), hdf5::printable(place), hdf5::printable(message)));
}

bool H5Reader::is_group(std::string_view path) const {
  const auto found = objects_.find(path);
  return found != objects_.end() && found->second.group;
}

std::vector<std::string> H5Reader::children(std::string_view group) const {
  std::vector<std::string> names;
  const std::string prefix = group.empty() ? "" : std::string(group) + "/";
  for (const auto& [path, object] : objects_)
    if (path.size() > prefix.size() && path.starts_with(prefix) &&
        path.find('/', prefix.size()) == std::string::npos)
      names.push_back(path.substr(prefix.size()));
  return names;
}

const H5Reader::Object& H5Reader::dataset(std::string_view path) const {
  const auto found = objects_.find(path);
  if (found == objects_.end()) fail(path, "missing");
  if (found->second.group) fail(path, "a group, expected a dataset");
  return found->second;
}

const std::vector<int64_t>& H5Reader::shape(std::string_view path) const { return dataset(path).shape; }

Tensor H5Reader::tensor(std::string_view path, std::initializer_list<DType> dtypes) const {
  const Object& object = dataset(path);
  if (!object.readable || std::find(dtypes.begin(), dtypes.end(), object.dtype) == dtypes.end())
    fail(path, "{} {}, expected {}", object.type, shape_text(object.shape), dtypes_text(dtypes));
  const std::vector<int64_t>& n = object.shape;
  Shape extents;
  if (n.size() == 1) extents = {n[0]};
  if (n.size() == 2) extents = {n[0], n[1]};
  if (n.size() == 3) extents = {n[0], n[1], n[2]};
  if (n.size() == 4) extents = {n[0], n[1], n[2], n[3]};
  Tensor tensor = Tensor::empty(extents, object.dtype);
  if (tensor.bytes() > 0) std::memcpy(tensor.raw_mutable_data(), object.data, tensor.bytes());
  return tensor;
}

Tensor H5Reader::tensor(std::string_view path, std::initializer_list<DType> dtypes,
                        std::initializer_list<int64_t> shape) const {
  const Object& object = dataset(path);
  const bool fits =
      object.shape.size() == shape.size() &&
      std::equal(shape.begin(), shape.end(), object.shape.begin(),
                 [](int64_t expected, int64_t found) { return expected == -1 || expected == found; });
  if (!fits)
    fail(path, "shape {}, expected {} {}", shape_text(object.shape), shape_text(shape), dtypes_text(dtypes));
  return tensor(path, dtypes);
}

bool H5Reader::has_attribute(std::string_view object, std::string_view name) const {
  const auto found = objects_.find(object);
  return found != objects_.end() && found->second.attributes.find(name) != found->second.attributes.end();
}

std::vector<std::string> H5Reader::attributes(std::string_view object) const {
  std::vector<std::string> names;
  if (const auto found = objects_.find(object); found != objects_.end())
    for (const auto& [name, value] : found->second.attributes) names.push_back(name);
  return names;
}

namespace {

std::string attribute_place(std::string_view object, std::string_view name) {
  return fmt::format("attribute {}{}{}", object, object.empty() ? "" : "@", name);
}

}  // namespace

const H5Value& H5Reader::attribute(std::string_view object, std::string_view name,
                                   std::string_view expected) const {
  if (!has_attribute(object, name)) fail(attribute_place(object, name), "missing, expected {}", expected);
  return objects_.find(object)->second.attributes.find(name)->second;
}

int64_t H5Reader::integer(std::string_view object, std::string_view name) const {
  const H5Value& value = attribute(object, name, "an integer");
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  fail(attribute_place(object, name), "not an integer");
}

double H5Reader::number(std::string_view object, std::string_view name) const {
  const H5Value& value = attribute(object, name, "a number");
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  fail(attribute_place(object, name), "not a number");
}

std::string H5Reader::text(std::string_view object, std::string_view name) const {
  const H5Value& value = attribute(object, name, "a string");
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  fail(attribute_place(object, name), "not a string");
}

namespace hdf5 {

std::string printable(std::string_view text) {
  constexpr size_t kMost = 400;
  std::string clean(text.substr(0, kMost));
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text.size() > kMost ? clean + "..." : clean;
}

}  // namespace hdf5

}  // namespace adj
