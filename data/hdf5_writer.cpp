#include <adjoint/core/text.h>
#include <adjoint/data/detail/hdf5_output.h>
#include <adjoint/data/hdf5_file.h>

#include <algorithm>

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
