#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/hdf5_handle.h>
#include <adjoint/data/hdf5_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <new>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace adj::hdf5 {

namespace {

/// A file written by HDF5 that replaces another when complete. HDF5 can neither write nor close a file on a
/// full disk, so failures are hidden from it: the first is kept, later writes are dropped, and check() throws
/// it. Use under mutex().
class Output {
 public:
  /// Throws DataError if the path is not writable.
  explicit Output(const std::string& path) : file_(path) {}

  /// The new file; close it before commit(). Negative on an HDF5 error.
  Handle create();
  /// The same with the contents of another file.
  Handle open_copy(const std::string& source);
  /// Throws the first DataError of writing, if any.
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Moves the closed file into place.
  void commit() {
    check();
    file_.commit();
  }

  /// Runs f(file) for a request of HDF5, unless something failed before.
  template <class F>
  void attempt(F&& f) {
    if (failure_) return;
    try {
      f(file_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

 private:
  Handle open(int64_t size);

  FileReplacement file_;
  std::exception_ptr failure_;
};

// A driver for HDF5's virtual file layer that writes to an Output. HDF5 does not support C++ exceptions, so
// no function here throws.

/// State of an open file; the first member belongs to HDF5.
struct Opened {
  H5FD_t base;
  Output* output;
  haddr_t allocated;  // end of the space allocated by HDF5
  haddr_t end;        // end of the written space
};

Opened& opened(H5FD_t* file) { return *reinterpret_cast<Opened*>(file); }
const Opened& opened(const H5FD_t* file) { return *reinterpret_cast<const Opened*>(file); }

constexpr haddr_t kMostAddress = haddr_t{1} << 62;

/// The Output being created, one at a time under mutex(), and the size of the file that it begins with; set
/// by Output::open().
Output* being_created = nullptr;
haddr_t size_to_open = 0;

H5FD_t* open(const char*, unsigned, hid_t, haddr_t) {
  auto* file = new (std::nothrow) Opened{};
  if (file == nullptr) return nullptr;
  file->output = being_created;
  file->end = size_to_open;
  return &file->base;
}

herr_t close(H5FD_t* file) {
  delete &opened(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  return std::less<>()(opened(a).output, opened(b).output) ? -1 : opened(a).output != opened(b).output;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) { return opened(file).allocated; }

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  opened(file).allocated = end;
  return 0;
}

haddr_t written_end(const H5FD_t* file, H5FD_mem_t) { return opened(file).end; }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  std::memset(buffer, 0, size);
  opened(file).output->attempt([&](const FileReplacement& out) {
    (void)out.read(static_cast<int64_t>(address), static_cast<char*>(buffer), size);
  });
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* buffer) {
  opened(file).output->attempt([&](FileReplacement& out) {
    out.write(static_cast<int64_t>(address), {static_cast<const char*>(buffer), size});
  });
  opened(file).end = std::max(opened(file).end, address + size);
  return 0;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  Opened& self = opened(file);
  if (self.end == self.allocated) return 0;
  self.output->attempt([&](FileReplacement& out) { out.resize(static_cast<int64_t>(self.allocated)); });
  self.end = self.allocated;
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(513);  // from the range for use within a program
#endif
  driver.name = "adjoint_output";
  driver.maxaddr = kMostAddress;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.open = open;
  driver.close = close;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = written_end;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  const H5FD_mem_t single[] = H5FD_FLMAP_SINGLE;
  std::memcpy(driver.fl_map, single, sizeof driver.fl_map);
  return driver;
}

Handle Output::create() { return open(0); }

Handle Output::open_copy(const std::string& source) {
  std::ifstream stream(source, std::ios::binary);
  if (!stream) data_fail("{}: {}", source, std::strerror(errno));
  std::string block(size_t{1} << 20, '\0');
  int64_t size = 0;
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    const int64_t count = stream.gcount();
    file_.write(size, std::string_view(block).substr(0, static_cast<size_t>(count)));
    size += count;
  }
  if (stream.bad()) data_fail("{}: {}", source, std::strerror(errno));
  return open(size);
}

/// Opens the first `size` bytes that are written already, or creates a file if there are none.
Handle Output::open(int64_t size) {
  static const H5FD_class_t driver = driver_class();
  static const hid_t registered = H5FDregister(&driver);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (registered < 0 || H5Pset_driver(access.get(), registered, nullptr) < 0) return {};
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, size > 0 ? H5F_LIBVER_LATEST : H5F_LIBVER_V18);
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  being_created = this;
  size_to_open = static_cast<haddr_t>(size);
  if (size > 0) return Handle(H5Fopen(unique_name().c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
  return Handle(H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
}

}  // namespace

}  // namespace adj::hdf5

namespace adj {

namespace {

using hdf5::Handle;

constexpr size_t kCompressFrom = 1024;           // in bytes
constexpr size_t kWriteChunk = size_t{1} << 20;  // in bytes

}  // namespace

struct H5Writer::Impl {
  std::string path;
  int gzip = 0;
  hdf5::Output output;
  Handle file;  // closed first

  Impl(std::string where, int level) : path(std::move(where)), gzip(level), output(path) {}

  [[noreturn]] void fail(const std::string& place) const {
    output.check();  // errors hidden from HDF5
    data_fail("{}: {}: cannot be written: {}", path, place, excerpt(hdf5::last_error()));
  }

  /// Opens the object, or creates a group.
  Handle open(const std::string& object) const {
    if (object.empty()) return Handle(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose);
    for (size_t end = object.find('/');; end = object.find('/', end + 1)) {
      const std::string part = object.substr(0, end);
      if (H5Lexists(file.get(), part.c_str(), H5P_DEFAULT) <= 0) {
        const Handle plist(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
        H5Pset_obj_track_times(plist.get(), false);
        const Handle group(H5Gcreate2(file.get(), part.c_str(), H5P_DEFAULT, plist.get(), H5P_DEFAULT),
                           H5Gclose);
        if (!group) fail(part);
      }
      if (end == std::string::npos) break;
    }
    return Handle(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT), H5Oclose);
  }

  void put_attribute(const std::string& object, const std::string& name, hid_t stored, hid_t memory_type,
                     const void* value) {
    const Handle owner = open(object);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    if (owner && H5Aexists(owner.get(), name.c_str()) > 0) H5Adelete(owner.get(), name.c_str());
    const Handle attribute(
        owner ? H5Acreate2(owner.get(), name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT) : -1,
        H5Aclose);
    if (!attribute || H5Awrite(attribute.get(), memory_type, value) < 0)
      fail(fmt::format("attribute {}@{}", object, name));
  }
};

H5Writer::H5Writer(std::string path, int gzip) {
  ADJ_CHECK(gzip >= 0 && gzip <= 9, "hdf5: gzip level {}, expected 0 to 9", gzip);
  const std::lock_guard lock(hdf5::mutex());
  hdf5::quiet();
  impl_ = std::make_unique<Impl>(std::move(path), gzip);
  impl_->file = impl_->output.create();
  if (!impl_->file) impl_->fail("file");
}

H5Writer::H5Writer(std::string path, const std::string& source) {
  const std::lock_guard lock(hdf5::mutex());
  hdf5::quiet();
  impl_ = std::make_unique<Impl>(std::move(path), 0);
  impl_->file = impl_->output.open_copy(source);
  if (!impl_->file) impl_->fail("file");
}

H5Writer::~H5Writer() {
  const std::lock_guard lock(hdf5::mutex());
  impl_.reset();
}

void H5Writer::write(const std::string& path, const Tensor& tensor) {
  const Tensor host = tensor.to(Device::cpu());
  const hdf5::NumberType type = host ? hdf5::number_type(host.dtype()) : hdf5::NumberType{};
  ADJ_CHECK(type.file >= 0, "hdf5: {} is {}, expected any dtype but bfloat16 and bits", path, host.str());
  const std::lock_guard lock(hdf5::mutex());
  const auto slash = path.rfind('/');
  if (slash != std::string::npos && !impl_->open(path.substr(0, slash))) impl_->fail(path);

  std::vector<hsize_t> extents;
  for (int d = 0; d < host.dims(); ++d) extents.push_back(static_cast<hsize_t>(host.size(d)));
  const Handle space(
      extents.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(host.dims(), extents.data(), nullptr),
      H5Sclose);
  const Handle plist(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(plist.get(), false);
  if (impl_->gzip > 0 && host.dims() > 0 && host.bytes() >= kCompressFrom) {
    const size_t row = host.bytes() / extents[0];
    extents[0] = std::clamp<hsize_t>(kWriteChunk / row, 1, extents[0]);
    H5Pset_chunk(plist.get(), host.dims(), extents.data());
    H5Pset_shuffle(plist.get());
    H5Pset_deflate(plist.get(), static_cast<unsigned>(impl_->gzip));
  }
  const Handle dataset(H5Dcreate2(impl_->file.get(), path.c_str(), type.file, space.get(), H5P_DEFAULT,
                                  plist.get(), H5P_DEFAULT),
                       H5Dclose);
  if (!dataset) impl_->fail(path);
  if (host.bytes() > 0 &&
      H5Dwrite(dataset.get(), type.memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, host.raw_data()) < 0)
    impl_->fail(path);
  impl_->output.check();
}

void H5Writer::remove(const std::string& path) {
  const std::lock_guard lock(hdf5::mutex());
  for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
    if (H5Lexists(impl_->file.get(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return;
    if (end == std::string::npos) break;
  }
  if (H5Ldelete(impl_->file.get(), path.c_str(), H5P_DEFAULT) < 0) impl_->fail(path);
}

void H5Writer::attribute(const std::string& object, const std::string& name, int64_t value) {
  const std::lock_guard lock(hdf5::mutex());
  impl_->put_attribute(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void H5Writer::attribute(const std::string& object, const std::string& name, double value) {
  const std::lock_guard lock(hdf5::mutex());
  impl_->put_attribute(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

void H5Writer::attribute(const std::string& object, const std::string& name, const std::string& value) {
  const std::lock_guard lock(hdf5::mutex());
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const char* text = value.c_str();
  impl_->put_attribute(object, name, type.get(), type.get(), &text);
}

void H5Writer::commit() {
  const std::lock_guard lock(hdf5::mutex());
  ADJ_CHECK(impl_->file, "hdf5: {} was committed before", impl_->path);
  if (H5Fflush(impl_->file.get(), H5F_SCOPE_GLOBAL) < 0) impl_->fail("file");
  impl_->file.reset();
  impl_->output.commit();
}

}  // namespace adj
