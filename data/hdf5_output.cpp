#include <adjoint/data/detail/hdf5_output.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

// A driver for HDF5's virtual file layer that writes to an Output. HDF5 does not support C++ exceptions, so
// no function here throws.

namespace adj::hdf5 {

namespace {

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

/// The Output being created, one at a time under mutex(); set by create().
Output*& being_created() {
  static Output* output = nullptr;
  return output;
}
/// Size of the file that it begins with.
haddr_t& size_to_open() {
  static haddr_t size = 0;
  return size;
}

H5FD_t* open(const char*, unsigned, hid_t, haddr_t) {
  auto* file = new (std::nothrow) Opened{};
  if (file == nullptr) return nullptr;
  file->output = being_created();
  file->end = size_to_open();
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

}  // namespace

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
  being_created() = this;
  size_to_open() = static_cast<haddr_t>(size);
  if (size > 0) return Handle(H5Fopen(unique_name().c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
  return Handle(H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
}

}  // namespace adj::hdf5
