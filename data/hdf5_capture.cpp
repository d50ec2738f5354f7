#include <adjoint/core/dtype.h>
#include <adjoint/core/error.h>
#include <adjoint/data/detail/hdf5_capture.h>
#include <adjoint/data/detail/hdf5_handle.h>

#include <algorithm>
#include <vector>

#include <unistd.h>

namespace adj::hdf5 {

namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxObjects = 100'000;
constexpr size_t kMaxAttributes = 1'000;
constexpr size_t kMaxText = size_t{1} << 20;
constexpr int kMaxDims = 4;

// deflate makes at most 1032 bytes of one. What claims more than this is not in the file.
constexpr size_t kMaxExpansion = 1100;

std::string join(const std::string& group, const std::string& name) {
  return group.empty() ? name : fmt::format("{}/{}", group, name);
}

/// Name of a type as messages call it, and how it is read.
struct TypeInfo {
  std::string name;
  bool readable = false;
  DType dtype = DType::u8;
};

TypeInfo describe(hid_t type) {
  const auto bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
      const std::string name = fmt::format("{}int{}", is_signed ? "" : "u", bits);
      if (!is_signed && bits <= 8) return {name, true, DType::u8};
      return {name, bits <= 64, bits <= (is_signed ? 32u : 16u) ? DType::i32 : DType::i64};
    }
    case H5T_FLOAT:
      return {fmt::format("float{}", bits), bits <= 64, bits <= 32 ? DType::f32 : DType::f64};
    case H5T_STRING:
      return {"string"};
    case H5T_ENUM:
      return {"bool or enumeration"};
    case H5T_COMPOUND:
      return {"compound"};
    case H5T_VLEN:
      return {"variable-length array"};
    default:
      return {"of another kind"};
  }
}

class Capture {
 public:
  Capture(const Source& source, const std::function<bool(std::string_view)>& accept, SharedMemory& memory)
      : source_(source), accept_(accept), memory_(memory) {}

  std::string run() {
    const Handle file = open();
    visit_group(file.get(), "", 0);
    return out_.take();
  }

 private:
  [[noreturn]] void fail(const std::string& place, const std::string& message) const {
    throw_data_error(place.empty() ? message : fmt::format("{}: {}", place, message));
  }
  [[noreturn]] void unreadable(const std::string& place) const {
    fail(place, fmt::format("unreadable: the HDF5 library says \"{}\"", last_error()));
  }

  Handle open() const {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (source_.path.empty()) {
      H5Pset_fapl_core(access.get(), 1 << 16, false);
      H5Pset_file_image(access.get(), const_cast<std::byte*>(source_.image.data()), source_.image.size());
    } else {
      H5Pset_file_locking(access.get(), false, true);
    }
    const std::string name = source_.path.empty() ? unique_name() : source_.path;
    Handle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (file) return file;
    const std::string reason = last_error();
    unsigned long long have = 0, base = 0, want = 0;
    if (std::sscanf(reason.c_str(), "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu",
                    &have, &base, &want) == 3)
      fail("", fmt::format("truncated: {} bytes, expected {}", have, want));
    fail("", fmt::format("unreadable: the HDF5 library says \"{}\"", reason));
  }

  void visit_group(hid_t group, const std::string& path, int depth) {
    begin_object(path);
    out_.put<uint8_t>(1);
    put_attributes(group, path);
    std::vector<std::string> names;
    hsize_t position = 0;
    const herr_t walked = H5Literate(
        group, H5_INDEX_NAME, H5_ITER_NATIVE, &position,
        [](hid_t, const char* name, const H5L_info_t* info, void* to) {
          auto& list = *static_cast<std::vector<std::string>*>(to);
          if (info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT) list.emplace_back(name);
          return herr_t{list.size() > kMaxObjects};
        },
        &names);
    if (walked < 0) unreadable(path);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string child = join(path, name);
      if (name.empty() || name.find('/') != std::string::npos || (accept_ && !accept_(child))) continue;
      visit(group, name, child, depth + 1);
    }
  }

  void visit(hid_t group, const std::string& name, const std::string& path, int depth) {
    if (depth > kMaxDepth) fail(path, fmt::format("groups nested deeper than {}", kMaxDepth));
    const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object) unreadable(path);
    switch (H5Iget_type(object.get())) {
      case H5I_GROUP:
        visit_group(object.get(), path, depth);
        break;
      case H5I_DATASET:
        visit_dataset(object.get(), path);
        break;
      default:
        break;
    }
  }

  void visit_dataset(hid_t dataset, const std::string& path) {
    const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
    if (!type || !space) unreadable(path);
    TypeInfo info = describe(type.get());
    const int dims = H5Sget_simple_extent_ndims(space.get());
    if (dims < 0 || dims > H5S_MAX_RANK) unreadable(path);
    std::vector<hsize_t> extents(static_cast<size_t>(dims));
    if (dims > 0 && H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) != dims) unreadable(path);
    const bool no_elements = H5Sget_simple_extent_type(space.get()) == H5S_NULL;
    info.readable = info.readable && dims <= kMaxDims && !no_elements;

    const size_t bytes = info.readable ? checked_bytes(extents, size_of(info.dtype), path) : 0;
    if (info.readable) check_storage(dataset, path);
    const size_t offset = memory_.append(bytes, [&](void* to) {
      raise_limits(bytes);
      if (H5Dread(dataset, memory_type(info.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0) unreadable(path);
    });

    begin_object(path);
    out_.put<uint8_t>(0);
    put_attributes(dataset, path);
    out_.put_text(info.name);
    out_.put<uint8_t>(info.readable);
    out_.put<uint8_t>(static_cast<uint8_t>(info.dtype));
    out_.put<uint64_t>(extents.size());
    for (hsize_t extent : extents) out_.put<uint64_t>(extent);
    out_.put<uint64_t>(offset);
    out_.put<uint64_t>(bytes);
  }

  size_t checked_bytes(const std::vector<hsize_t>& extents, size_t element, const std::string& path) {
    constexpr hsize_t kLongest = hsize_t{1} << 40;
    for (hsize_t extent : extents)
      if (extent > kLongest)
        fail(path, fmt::format("an extent of {}, expected at most {}", extent, kLongest));
    if (std::find(extents.begin(), extents.end(), hsize_t{0}) != extents.end()) return 0;
    const size_t most = kMaxExpansion * source_.bytes + (size_t{1} << 20);
    const auto memory =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t bytes = element;
    for (hsize_t extent : extents) {
      if (extent > most / bytes)
        fail(path, fmt::format("claims {} elements, more than a file of {} bytes can hold",
                               fmt::join(extents, " x "), source_.bytes));
      bytes *= extent;
    }
    if (bytes > memory - std::min(memory, taken_))
      fail(path,
           fmt::format("takes {} bytes after {} before it, this machine has {}", bytes, taken_, memory));
    taken_ += bytes;
    return bytes;
  }

  /// A dataset may name other files to read from, where Adjoint reads the one that it was given, and filters
  /// that this machine's HDF5 does not have.
  void check_storage(hid_t dataset, const std::string& path) const {
    const Handle plist(H5Dget_create_plist(dataset), H5Pclose);
    if (!plist) unreadable(path);
    if (H5Pget_layout(plist.get()) == H5D_VIRTUAL || H5Pget_external_count(plist.get()) != 0)
      fail(path, "its values are in other files, expected in this one");
    const int filters = H5Pget_nfilters(plist.get());
    for (int k = 0; k < filters; ++k) {
      char name[64] = "";
      unsigned flags = 0, config = 0;
      size_t parameters = 0;
      const H5Z_filter_t filter = H5Pget_filter2(plist.get(), static_cast<unsigned>(k), &flags, &parameters,
                                                 nullptr, sizeof name, name, &config);
      if (filter < 0) unreadable(path);
      if (H5Zfilter_avail(filter) <= 0)
        fail(path, fmt::format(
                       "compressed by filter {} \"{}\", which HDF5 does not have here, expected gzip or none",
                       filter, name));
    }
  }

  void begin_object(const std::string& path) {
    if (++objects_ > kMaxObjects) fail(path, fmt::format("more than {} objects in one file", kMaxObjects));
    out_.put_text(path);
  }

  void put_attributes(hid_t object, const std::string& path) {
    H5O_info_t info;
    if (H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) < 0) unreadable(path);
    const size_t count = std::min<size_t>(info.num_attrs, kMaxAttributes);
    out_.put<uint64_t>(count);
    for (size_t k = 0; k < count; ++k) {
      const Handle attribute(
          H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_NATIVE, k, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
      if (!attribute) unreadable(path);
      put_attribute(attribute.get(), path);
    }
  }

  void put_attribute(hid_t attribute, const std::string& path) {
    char name[256] = "";
    if (H5Aget_name(attribute, sizeof name, name) < 0) unreadable(path);
    out_.put_text(name);
    const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
    if (!type || !space) unreadable(path);
    const H5T_class_t kind = H5Tget_class(type.get());
    const size_t size = H5Tget_size(type.get());
    const bool single = H5Sget_simple_extent_npoints(space.get()) == 1;
    if (single && (kind == H5T_INTEGER || kind == H5T_ENUM) && size <= 8) {
      // There is no conversion from an enumeration (h5py's bool); from the integers that it is made of there
      // is.
      const Handle base(kind == H5T_ENUM ? H5Tget_super(type.get()) : H5Tcopy(type.get()), H5Tclose);
      alignas(8) char raw[64] = {};
      int64_t value = 0;
      if (H5Aread(attribute, type.get(), raw) < 0 ||
          H5Tconvert(base.get(), H5T_NATIVE_INT64, 1, raw, nullptr, H5P_DEFAULT) < 0)
        unreadable(path);
      std::copy_n(raw, sizeof value, reinterpret_cast<char*>(&value));
      out_.put<uint8_t>(1);
      out_.put<int64_t>(value);
    } else if (single && kind == H5T_FLOAT) {
      double value = 0.0;
      if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0) unreadable(path);
      out_.put<uint8_t>(2);
      out_.put<double>(value);
    } else if (single && kind == H5T_STRING && size <= kMaxText) {
      out_.put<uint8_t>(3);
      out_.put_text(read_text(attribute, type.get(), space.get(), path));
    } else {
      out_.put<uint8_t>(0);
    }
  }

  std::string read_text(hid_t attribute, hid_t type, hid_t space, const std::string& path) const {
    if (H5Tis_variable_str(type) > 0) {
      char* value = nullptr;
      if (H5Aread(attribute, type, &value) < 0) unreadable(path);
      const std::string copy(value == nullptr ? "" : value);
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, &value);
      return copy;
    }
    std::string value(H5Tget_size(type), '\0');
    if (H5Aread(attribute, type, value.data()) < 0) unreadable(path);
    if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) value.erase(value.find_last_not_of(' ') + 1);
    return value.substr(0, value.find('\0'));
  }

  const Source& source_;
  const std::function<bool(std::string_view)>& accept_;
  SharedMemory& memory_;
  Encoder out_;
  size_t objects_ = 0;
  size_t taken_ = 0;  // bytes
};

}  // namespace

std::string capture(const Source& source, const std::function<bool(std::string_view)>& accept,
                    SharedMemory& memory) {
  quiet();
  return Capture(source, accept, memory).run();
}

}  // namespace adj::hdf5
