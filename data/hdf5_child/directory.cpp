#include <adjoint/core/error.h>
#include <adjoint/data/hdf5_child/directory.h>

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

namespace adj::hdf5 {

std::string unreadable() { return fmt::format("unreadable: the HDF5 library reports \"{}\"", last_error()); }

void fail(const std::string& place, const std::string& message) {
  throw DataError(place.empty() ? message : fmt::format("{}: {}", place, message));
}

namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxObjects = 100'000;  // also of attributes, and of names in a searched group
constexpr size_t kMaxText = size_t{1} << 20;
constexpr int kMaxDims = 4;
constexpr hsize_t kLongest = hsize_t{1} << 40;

// deflate expands at most 1032-fold; larger claims are false.
constexpr size_t kMaxExpansion = 1100;
constexpr size_t kSmall = size_t{1} << 20;  // sizes that are not checked
/// Maximum total sizes of values that the file does not hold (fill values of datasets never written), and,
/// relative to the file size, of values listed under a second name.
constexpr size_t kMaxUnwritten = 16 * kSmall;
constexpr size_t kMaxRepeated = 4;

std::string join(const std::string& group, const std::string& name) {
  return group.empty() ? name : fmt::format("{}/{}", group, name);
}

/// Name of a type for messages, and how to read it.
void describe_type(hid_t type, Found& found) {
  const auto bits = 8 * H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  found.type = kind == H5T_STRING     ? "string"
               : kind == H5T_ENUM     ? "enumeration"
               : kind == H5T_COMPOUND ? "compound"
               : kind == H5T_VLEN     ? "variable-length array"
                                      : "of another kind";
  if (kind == H5T_INTEGER) {
    const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
    found.type = fmt::format("{}int{}", is_signed ? "" : "u", bits);
    found.dtype = bits <= (is_signed ? 32u : 16u) ? DType::i32 : DType::i64;
    if (!is_signed && bits <= 8) found.dtype = DType::u8;
  } else if (kind == H5T_FLOAT) {
    found.type = fmt::format("float{}", bits);
    found.dtype = bits <= 32 ? DType::f32 : DType::f64;
  } else if (kind == H5T_ENUM && bits == 8 && H5Tget_nmembers(type) == 2) {
    found.type = "bool";
    found.raw = true;
  }
  found.readable = found.raw || ((kind == H5T_INTEGER || kind == H5T_FLOAT) && bits <= 64);
}

/// True if values of this type have the same layout in memory and in the file.
bool is_plain(hid_t type, DType dtype) {
  const auto [file, memory] = number_type(dtype);
  return H5Tequal(type, file) > 0 && H5Tequal(type, memory) > 0;
}

/// Rejects datasets that read from other files, and filters that this HDF5 lacks.
std::string storage_problem(hid_t plist) {
  if (H5Pget_layout(plist) == H5D_VIRTUAL || H5Pget_external_count(plist) != 0)
    return "its values are in other files, expected in this one";
  const int filters = H5Pget_nfilters(plist);
  for (int k = 0; k < filters; ++k) {
    char name[64] = "";
    unsigned flags = 0, config = 0;
    size_t parameters = 0;
    const H5Z_filter_t filter = H5Pget_filter2(plist, static_cast<unsigned>(k), &flags, &parameters, nullptr,
                                               sizeof name, name, &config);
    if (filter < 0) return unreadable();
    if (H5Zfilter_avail(filter) <= 0)
      return fmt::format(
          "compressed by filter {} \"{}\", which HDF5 does not have here, expected gzip or none", filter,
          name);
  }
  return "";
}

std::string read_text(hid_t attribute, hid_t type, hid_t space) {
  if (H5Tis_variable_str(type) > 0) {
    char* value = nullptr;
    if (H5Aread(attribute, type, &value) < 0) fail("", unreadable());
    const std::string copy(value == nullptr ? "" : value);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, &value);
    return copy;
  }
  std::string value(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, value.data()) < 0) fail("", unreadable());
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) value.erase(value.find_last_not_of(' ') + 1);
  return value.substr(0, value.find('\0'));
}

/// Values of unsupported kinds are not read.
H5Value value_of(hid_t attribute) {
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  if (!type || !space) fail("", unreadable());
  const H5T_class_t kind = H5Tget_class(type.get());
  const size_t size = H5Tget_size(type.get());
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return {};
  if ((kind == H5T_INTEGER || kind == H5T_ENUM) && size <= 8) {
    // HDF5 cannot convert from an enumeration (h5py's bool), but from its base integers.
    const Handle base(kind == H5T_ENUM ? H5Tget_super(type.get()) : H5Tcopy(type.get()), H5Tclose);
    alignas(8) char raw[64] = {};
    if (H5Aread(attribute, type.get(), raw) < 0 ||
        H5Tconvert(base.get(), H5T_NATIVE_INT64, 1, raw, nullptr, H5P_DEFAULT) < 0)
      fail("", unreadable());
    int64_t whole = 0;
    std::copy_n(raw, sizeof whole, reinterpret_cast<char*>(&whole));
    return whole;
  }
  if (kind == H5T_FLOAT) {
    double real = 0.0;
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) < 0) fail("", unreadable());
    return real;
  }
  if (kind == H5T_STRING && size <= kMaxText) return read_text(attribute, type.get(), space.get());
  return {};
}

}  // namespace

Directory::Directory(hid_t file, size_t file_bytes, const std::vector<std::string>& wanted)
    : file_bytes_(file_bytes) {
  const Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
  if (!root) fail("", unreadable());
  note(root.get(), "");
  for (const std::string& name : wanted)
    name == "**" ? want_all(root.get(), "", 0) : want(root.get(), "", name);
  check_sizes();
}

Found& Directory::note(hid_t object, const std::string& path) {
  if (const auto known = found_.find(path); known != found_.end()) return known->second;
  if (found_.size() >= kMaxObjects) fail(path, fmt::format("more than {} objects in one file", kMaxObjects));
  Found& found = found_[path];
  const H5I_type_t kind = object < 0 ? H5I_BADID : H5Iget_type(object);
  found.group = kind == H5I_GROUP;
  if (kind == H5I_DATASET) found.problem = describe_dataset(object, found);
  return found;
}

Handle Directory::open(hid_t group, const std::string& name, const std::string& path) {
  H5L_info_t link;
  if (H5Lexists(group, name.c_str(), H5P_DEFAULT) <= 0 ||
      H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) < 0)
    return {};
  const bool inside = link.type == H5L_TYPE_HARD || link.type == H5L_TYPE_SOFT;
  Handle object;
  if (inside) object = Handle(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object)
    note(-1, path).problem = inside ? fmt::format("a link that leads nowhere in this file ({})", last_error())
                                    : "a link to another file, expected values in this one";
  return object;
}

void Directory::want(hid_t group, const std::string& path, std::string_view rest) {
  if (rest.starts_with('@')) {
    const std::string attribute(rest.substr(1));
    Found& found = note(group, path);
    read_attribute(group, found, attribute.c_str());
    return;
  }
  const size_t end = std::min(rest.find_first_of("/@"), rest.size());
  const std::string name(rest.substr(0, end));
  rest.remove_prefix(end < rest.size() && rest[end] == '/' ? end + 1 : end);
  if (name != "*") return want_child(group, path, name, rest);
  for (const std::string& child : names_in(group, path)) want_child(group, path, child, rest);
}

void Directory::want_child(hid_t group, const std::string& path, const std::string& name,
                           std::string_view rest) {
  const std::string child = join(path, name);
  const Handle object = open(group, name, child);
  if (!object) return;
  note(object.get(), child);
  if (!rest.empty() && (rest.starts_with('@') || H5Iget_type(object.get()) == H5I_GROUP))
    want(object.get(), child, rest);
}

void Directory::want_all(hid_t group, const std::string& path, int depth) {
  if (depth > kMaxDepth) fail(path, fmt::format("groups nested deeper than {}", kMaxDepth));
  read_attributes(group, note(group, path), path);
  for (const std::string& name : names_in(group, path)) {
    const std::string child = join(path, name);
    const Handle object = open(group, name, child);
    if (!object) continue;
    if (H5Iget_type(object.get()) == H5I_GROUP) {
      want_all(object.get(), child, depth + 1);
    } else {
      read_attributes(object.get(), note(object.get(), child), child);
    }
  }
}

/// Callback of H5Literate and H5Aiterate2: adds a name; stops at too many.
template <class Info>
herr_t collect(hid_t, const char* name, const Info*, void* context) {
  auto& names = *static_cast<std::vector<std::string>*>(context);
  names.emplace_back(name);
  return herr_t{names.size() > kMaxObjects};
}

std::vector<std::string> Directory::names_in(hid_t group, const std::string& path) const {
  std::vector<std::string> names;
  hsize_t position = 0;
  const herr_t walked =
      H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect<H5L_info_t>, &names);
  if (walked < 0) fail(path, unreadable());
  if (walked > 0) fail(path, fmt::format("more than {} names in one group", kMaxObjects));
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name == "." || name.find('/') != std::string::npos;
  });
  std::sort(names.begin(), names.end());
  return names;
}

void Directory::read_attribute(hid_t object, Found& found, const char* name) const {
  if (H5Aexists(object, name) <= 0) return;
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) fail(fmt::format("attribute {}", name), unreadable());
  found.attributes.insert_or_assign(name, value_of(attribute.get()));
}

void Directory::read_attributes(hid_t object, Found& found, const std::string& path) const {
  std::vector<std::string> names;
  hsize_t position = 0;
  const herr_t walked =
      H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect<H5A_info_t>, &names);
  if (walked < 0) fail(path, unreadable());
  if (walked > 0) fail(path, fmt::format("more than {} attributes of one object", kMaxObjects));
  for (const std::string& name : names) read_attribute(object, found, name.c_str());
}

std::string Directory::describe_dataset(hid_t dataset, Found& found) const {
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose),
      plist(H5Dget_create_plist(dataset), H5Pclose);
  if (!type || !space || !plist) return unreadable();
  describe_type(type.get(), found);
  const int dims = H5Sget_simple_extent_ndims(space.get());
  if (dims < 0 || dims > H5S_MAX_RANK) return unreadable();
  std::vector<hsize_t> extents(static_cast<size_t>(dims));
  if (dims > 0 && H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) != dims)
    return unreadable();
  found.shape.assign(extents.begin(), extents.end());
  const bool no_elements = H5Sget_simple_extent_type(space.get()) == H5S_NULL;
  found.readable = found.readable && dims <= kMaxDims && !no_elements;
  H5O_info_t info;
  if (H5Oget_info2(dataset, &info, H5O_INFO_BASIC) >= 0) found.address = info.addr;
  if (std::string problem = storage_problem(plist.get()); !found.readable || !problem.empty()) return problem;

  size_t bytes = size_of(found.dtype);
  for (hsize_t extent : extents) {
    if (extent > kLongest) return fmt::format("an extent of {}, expected at most {}", extent, kLongest);
    bytes = extent == 0 || bytes == 0 ? 0 : bytes > SIZE_MAX / extent ? SIZE_MAX : bytes * extent;
  }
  if (std::find(extents.begin(), extents.end(), hsize_t{0}) != extents.end()) bytes = 0;
  const hsize_t stored = H5Dget_storage_size(dataset);
  found.stored = std::min<size_t>(stored, file_bytes_);
  if (bytes > kMaxExpansion * found.stored + kSmall)
    return fmt::format("claims {} elements{}", fmt::join(extents, " x "),
                       stored == 0 ? " that were never written"
                                   : fmt::format(", more than a file of {} bytes can hold", file_bytes_));
  found.bytes = bytes;
  if (bytes == 0) return "";

  if (H5Pget_layout(plist.get()) == H5D_CONTIGUOUS) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF || stored != bytes || !is_plain(type.get(), found.dtype)) return "";
    if (offset > file_bytes_ || bytes > file_bytes_ - offset)
      return fmt::format("its values reach beyond the file's {} bytes", file_bytes_);
    found.offset = offset;
  } else if (H5Pget_layout(plist.get()) == H5D_CHUNKED && dims > 0) {
    std::vector<hsize_t> chunk(static_cast<size_t>(dims), 1);
    if (H5Pget_chunk(plist.get(), dims, chunk.data()) == dims)
      found.band = static_cast<int64_t>(std::max<hsize_t>(chunk[0], 1));
  }
  return "";
}

/// Many datasets that were never written, over the same bytes, or under many names would multiply the memory.
void Directory::check_sizes() const {
  std::set<uint64_t> seen;
  size_t stored = 0, unwritten = 0, repeated = 0;
  for (const auto& [path, found] : found_) {
    if (found.bytes == 0) continue;
    if (!seen.insert(found.address).second) {
      repeated += std::min(found.bytes, SIZE_MAX / 2 - repeated);
      if (repeated > kMaxRepeated * (file_bytes_ + kSmall))
        fail(path, fmt::format("the same values under many names: {} bytes of them in a file of {}", repeated,
                               file_bytes_));
      continue;
    }
    stored += found.stored;
    if (stored > file_bytes_ + kSmall)
      fail(path, fmt::format("the same bytes are values of many datasets, which hold more than the file's {}",
                             file_bytes_));
    unwritten += found.bytes - std::min(found.bytes, kMaxExpansion * found.stored);
    if (unwritten > kMaxUnwritten)
      fail(path,
           fmt::format("values that were never written, with those of other datasets more than {} bytes",
                       kMaxUnwritten));
  }
}

std::string Directory::encoded() const {
  Encoder out;
  for (const auto& [path, found] : found_) out.put(path, static_cast<const Stored&>(found));
  return out.take();
}

}  // namespace adj::hdf5
