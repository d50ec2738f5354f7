#include <adjoint/core/parallel.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/hdf5_process.h>
#include <adjoint/data/detail/hdf5_wire.h>
#include <adjoint/data/detail/shape_text.h>
#include <adjoint/data/hdf5_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adj {

namespace {

using detail::shape_text;
using hdf5::Descriptor;

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr int64_t kBlock = int64_t{256} << 10;       // bytes per read; still cached when checked
constexpr int64_t kDecompressed = int64_t{8} << 20;  // bytes per request

/// The signature is at offset 0, or at 512, 1024, 2048, … after a user block.
bool has_signature(int descriptor, off_t bytes) {
  char head[8];
  for (off_t offset = 0; offset + 8 <= bytes; offset = offset == 0 ? 512 : 2 * offset)
    if (pread(descriptor, head, 8, offset) == 8 && std::string_view(head, 8) == kSignature) return true;
  return false;
}

Descriptor open_file(const std::string& path, struct stat& status) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) data_fail("{}: {}", excerpt(path), std::strerror(errno));
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) data_fail("{}: not a file", excerpt(path));
  if (!has_signature(file.get(), status.st_size))
    data_fail("{}: not an HDF5 file{}", excerpt(path), status.st_size == 0 ? ", it is empty" : "");
  return file;
}

std::string dtypes_text(std::initializer_list<DType> dtypes) {
  std::vector<std::string_view> names;
  for (DType dtype : dtypes) names.push_back(name_of(dtype));
  return fmt::format("{}", fmt::join(names, " or "));
}

/// Detects modifications of the file.
struct LastWrite {
  off_t bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const LastWrite&) const = default;
};

LastWrite last_write(const Descriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) data_fail("cannot be read: {}", std::strerror(errno));
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

struct H5Reader::Object : hdf5::Stored {
  size_t index = 0;  // position in the directory

  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  size_t row_bytes() const {
    size_t bytes = size_of(dtype);
    for (size_t d = 1; d < shape.size(); ++d) bytes *= static_cast<size_t>(shape[d]);
    return bytes;
  }
};

struct H5Reader::Impl {
  std::string name;
  Descriptor file;
  size_t file_bytes;
  LastWrite opened = last_write(file);
  Wanted wanted;
  std::string directory;
  std::map<std::string, Object, std::less<>> objects;
  mutable std::mutex mutex;  // guards the process
  mutable std::optional<hdf5::Process> process;
  mutable int restarts = 0;

  Impl(std::string path, Descriptor descriptor, size_t bytes, const Wanted& names)
      : name(std::move(path)), file(std::move(descriptor)), file_bytes(bytes), wanted(names) {
    process.emplace(file, file_bytes);
    directory = process->list(wanted);
    hdf5::Decoder in(directory);
    for (size_t index = 0; !in.done(); ++index) {
      Object& object = objects[in.get<std::string>()];
      object = {in.get<hdf5::Stored>(), index};
      object.band = std::max<int64_t>(1, object.band);
    }
    const bool needed = std::any_of(objects.begin(), objects.end(), [](const auto& named) {
      const Object& object = named.second;
      return object.readable && object.problem.empty() && object.offset == hdf5::kNowhere;
    });
    if (!needed) process.reset();
  }

  void read(const Object& object, int64_t first, int64_t count, void* buffer) const {
    const size_t row = object.row_bytes(), bytes = row * static_cast<size_t>(count);
    if (bytes == 0) return;
    if (object.offset == hdf5::kNowhere) {
      const std::lock_guard lock(mutex);
      if (process->has_ended()) restart();
      process->read(object.index, static_cast<size_t>(first), static_cast<size_t>(count), buffer, bytes);
    } else {
      read_plain(object.offset + row * static_cast<size_t>(first), bytes, static_cast<char*>(buffer));
    }
    require_unchanged();
  }

  /// After a read: values changed by another process in the meantime must not be used.
  void require_unchanged() const {
    if (last_write(file) != opened) throw DataError("the file has changed since it was opened");
  }

  /// Restarts the child after a crash, so that other datasets stay readable. The number of restarts is
  /// limited, since each may take long.
  void restart() const {
    constexpr int kMost = 8;
    if (++restarts > kMost) throw DataError("not read: the HDF5 library crashed on too many others");
    process.emplace(file, file_bytes);
    if (process->list(wanted) != directory) throw DataError("the file has changed");
  }

  void read_plain(size_t offset, size_t left, char* buffer) const {
    const int64_t got = detail::read_all(file.get(), static_cast<int64_t>(offset), buffer, left);
    if (got < 0) data_fail("cannot be read: {}", std::strerror(errno));
    if (got < static_cast<int64_t>(left)) throw DataError("the file has become shorter");
  }
};

H5Reader H5Reader::open(const std::string& path, const Wanted& wanted) {
  // A file that is being replaced (a checkpoint of a running training) may no longer have this name when HDF5
  // opens it.
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    struct stat opened {
    }, now{};
    Descriptor file = open_file(path, opened);
    try {
      const auto bytes = static_cast<size_t>(opened.st_size);
      return H5Reader(std::make_shared<const Impl>(path, std::move(file), bytes, wanted));
    } catch (const DataError& error) {
      const bool replaced = stat(path.c_str(), &now) == 0 && now.st_ino != opened.st_ino;
      if (!replaced || attempt == kAttempts) data_fail("{}: {}", excerpt(path), excerpt(error.what()));
    }
  }
}

H5Reader H5Reader::from_image(std::span<const std::byte> image, const std::string& name,
                              const Wanted& wanted) {
  if (image.size() < 8 || std::memcmp(image.data(), kSignature.data(), 8) != 0)
    data_fail("{}: not an HDF5 file", excerpt(name));
  try {
    return H5Reader(std::make_shared<const Impl>(
        name, hdf5::file_in_memory("adjoint-image", image.data(), image.size()), image.size(), wanted));
  } catch (const DataError& error) {
    data_fail("{}: {}", excerpt(name), excerpt(error.what()));
  }
}

const std::string& H5Reader::file() const { return impl_->name; }
int64_t H5Reader::file_bytes() const { return static_cast<int64_t>(impl_->file_bytes); }

void H5Reader::fail_with(std::string_view place, const std::string& message) const {
  data_fail("{}: {}: {}", excerpt(file()), excerpt(place_ ? place_(place) : std::string(place)),
            excerpt(message));
}

H5Reader H5Reader::renamed(Rename path, Rename place) const {
  H5Reader reader(impl_);
  reader.path_ = std::move(path);
  reader.place_ = std::move(place);
  return reader;
}

const H5Reader::Object* H5Reader::find(std::string_view path) const {
  const auto found = impl_->objects.find(path_in_file(path));
  return found == impl_->objects.end() ? nullptr : &found->second;
}

bool H5Reader::has(std::string_view path) const { return find(path) != nullptr; }

bool H5Reader::is_group(std::string_view path) const {
  const Object* object = find(path);
  return object != nullptr && object->group;
}

std::vector<std::string> H5Reader::children(std::string_view group) const {
  std::vector<std::string> names;
  const std::string parent = path_in_file(group);
  const std::string prefix = parent.empty() ? "" : parent + "/";
  for (const auto& [path, object] : impl_->objects)
    if (path.size() > prefix.size() && path.starts_with(prefix) &&
        path.find('/', prefix.size()) == std::string::npos)
      names.push_back(path.substr(prefix.size()));
  return names;
}

const H5Reader::Object& H5Reader::dataset(std::string_view path) const {
  const Object* object = find(path);
  if (object == nullptr) fail(path, "missing");
  if (!object->problem.empty()) fail(path, "{}", object->problem);
  if (object->group) fail(path, "a group, expected a dataset");
  return *object;
}

const std::vector<int64_t>& H5Reader::shape(std::string_view path) const { return dataset(path).shape; }

DType H5Reader::dtype(std::string_view path) const {
  const Object& object = dataset(path);
  if (!object.readable) fail(path, "{} {}, expected numbers", object.type, shape_text(object.shape));
  return object.dtype;
}

const H5Reader::Object& H5Reader::dataset(std::string_view path, std::initializer_list<int64_t> shape,
                                          const std::string& expected) const {
  const Object& object = dataset(path);
  if (!detail::has_shape(object.shape, shape))
    fail(path, "shape {}, expected {} {}", shape_text(object.shape), shape_text(shape), expected);
  return object;
}

void H5Reader::expect_integers(std::string_view path, std::initializer_list<int64_t> shape) const {
  const Object& object = dataset(path, shape, "integers");
  if (!object.readable || is_floating(object.dtype) || object.type == "bool")
    fail(path, "{} {}, expected integers", object.type, shape_text(object.shape));
}

void H5Reader::expect_floats(std::string_view path, std::initializer_list<int64_t> shape) const {
  const Object& object = dataset(path, shape, "floating numbers");
  if (!object.readable || !is_floating(object.dtype))
    fail(path, "{} {}, expected floating numbers", object.type, shape_text(object.shape));
}

bool H5Reader::is_bool(std::string_view path) const { return dataset(path).type == "bool"; }

void H5Reader::rows(std::string_view path, int64_t first, int64_t count, void* buffer) const {
  (void)dtype(path);
  const Object& object = dataset(path);
  ADJ_CHECK(first >= 0 && count >= 0 && first <= object.rows() && count <= object.rows() - first,
            "{}: {}: rows {} to {} of {}", file(), path, first, first + count, object.rows());
  try {
    impl_->read(object, first, count, buffer);
  } catch (const DataError& error) {
    fail(path, "{}", error.what());
  }
}

bool H5Reader::has_plain_rows(std::string_view path) const {
  return dataset(path).readable && dataset(path).offset != hdf5::kNowhere;
}

void H5Reader::gather(std::string_view path, std::span<const int32_t> index, void* buffer) const {
  ADJ_CHECK(has_plain_rows(path), "{}: {}: rows cannot be read one by one", file(), path);
  constexpr int64_t kGrain = 256;  // rows per chunk, one system call each
  const Object& object = dataset(path);
  const int64_t rows = object.rows();
  const size_t row = object.row_bytes();
  for (size_t k = 0; k < index.size(); ++k)
    ADJ_CHECK(index[k] >= 0 && index[k] < rows, "{}: {}: row {} at position {}, expected 0 to {}", file(),
              path, index[k], k, rows - 1);
  if (row == 0) return;
  try {
    parallel_for(std::ssize(index), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end;) {
        int64_t next = k + 1;  // consecutive rows are read together
        while (next < end && index[static_cast<size_t>(next)] == index[static_cast<size_t>(next - 1)] + 1)
          ++next;
        impl_->read_plain(object.offset + row * static_cast<size_t>(index[static_cast<size_t>(k)]),
                          row * static_cast<size_t>(next - k),
                          static_cast<char*>(buffer) + row * static_cast<size_t>(k));
        k = next;
      }
    });
    impl_->require_unchanged();
  } catch (const DataError& error) {
    fail(path, "{}", error.what());
  }
}

void H5Reader::for_blocks(std::string_view path, const std::function<void(int64_t, int64_t)>& f) const {
  for_blocks(path, 0, dataset(path).rows(), f);
}

void H5Reader::for_blocks(std::string_view path, int64_t begin, int64_t rows,
                          const std::function<void(int64_t, int64_t)>& f) const {
  (void)dtype(path);
  const Object& object = dataset(path);
  const int64_t row = std::max<int64_t>(1, static_cast<int64_t>(object.row_bytes()));
  if (object.offset != hdf5::kNowhere)
    return parallel_for(rows - begin, std::max<int64_t>(1, kBlock / row),
                        [&](int64_t first, int64_t last) { f(begin + first, last - first); });
  // Sequential, in full chunks of the file, so that nothing is decompressed twice.
  int64_t step = std::max<int64_t>(1, kDecompressed / row);
  if (step > object.band) step = step / object.band * object.band;
  for (int64_t first = begin; first < rows;) {
    const int64_t band_end = (first / object.band + 1) * object.band;
    const int64_t end = std::min({rows, first + step, step < object.band ? band_end : rows});
    f(first, end - first);
    first = end;
  }
}

Tensor H5Reader::tensor(std::string_view path, std::initializer_list<DType> dtypes) const {
  const Object& object = dataset(path);
  if (!object.readable || std::find(dtypes.begin(), dtypes.end(), object.dtype) == dtypes.end())
    fail(path, "{} {}, expected {}", object.type, shape_text(object.shape), dtypes_text(dtypes));
  Tensor tensor = Tensor::empty(Shape(std::span<const int64_t>(object.shape)), object.dtype);
  if (tensor.bytes() == 0) return tensor;
  auto* target = static_cast<std::byte*>(tensor.raw_mutable_data());
  const size_t row = object.row_bytes();
  for_blocks(path, [&](int64_t first, int64_t count) {
    rows(path, first, count, target + static_cast<size_t>(first) * row);
  });
  return tensor;
}

Tensor H5Reader::tensor(std::string_view path, std::initializer_list<DType> dtypes,
                        std::initializer_list<int64_t> shape) const {
  (void)dataset(path, shape, dtypes_text(dtypes));
  return tensor(path, dtypes);
}

bool H5Reader::has_attribute(std::string_view object, std::string_view name) const {
  const Object* found = find(object);
  return found != nullptr && found->attributes.find(name) != found->attributes.end();
}

std::vector<std::string> H5Reader::attributes(std::string_view object) const {
  std::vector<std::string> names;
  if (const Object* found = find(object))
    for (const auto& [name, value] : found->attributes) names.push_back(name);
  return names;
}

namespace {

std::string attribute_place(std::string_view object, std::string_view name) {
  return fmt::format("attribute {}{}{}", object, object.empty() ? "" : "@", name);
}

}  // namespace

template <class T>
const T& H5Reader::attribute(std::string_view object, std::string_view name,
                             std::string_view expected) const {
  if (!has_attribute(object, name)) fail(attribute_place(object, name), "missing, expected {}", expected);
  if (const T* value = std::get_if<T>(&find(object)->attributes.find(name)->second)) return *value;
  fail(attribute_place(object, name), "not {}", expected);
}

int64_t H5Reader::integer(std::string_view object, std::string_view name) const {
  return attribute<int64_t>(object, name, "an integer");
}

double H5Reader::number(std::string_view object, std::string_view name) const {
  const Object* found = find(object);
  if (found != nullptr)
    if (const auto entry = found->attributes.find(name); entry != found->attributes.end())
      if (const auto* whole = std::get_if<int64_t>(&entry->second)) return static_cast<double>(*whole);
  return attribute<double>(object, name, "a number");
}

std::string H5Reader::text(std::string_view object, std::string_view name) const {
  return attribute<std::string>(object, name, "a string");
}

}  // namespace adj
