#pragma once

#include <adjoint/core/dtype.h>
#include <adjoint/data/detail/hdf5_handle.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace adj::hdf5 {

/// "unreadable: the HDF5 library says …".
std::string unreadable();
/// Throws DataError "PLACE: message"; without a place only the message.
[[noreturn]] void fail(const std::string& place, const std::string& message);

/// Value of an attribute by kind; unsupported kinds are listed but not read.
struct AttributeValue {
  enum Kind : uint8_t { other, integer, number, text } kind = other;
  int64_t whole = 0;
  double real = 0.0;
  std::string words;
};

/// A requested object of the file, or a group on the path to one.
struct Found {
  bool group = false;
  std::string problem;  ///< why its values cannot be read, else ""
  std::map<std::string, AttributeValue> attributes;
  // For datasets:
  std::string type = "unknown";  ///< as named in messages
  bool readable = false;         ///< as numbers of `dtype`
  bool raw = false;              ///< read as raw bytes (h5py's bool)
  DType dtype = DType::u8;
  std::vector<hsize_t> extents;
  uint64_t offset = 0;   ///< of its values in the file if the layout is that of memory, else kNowhere
  uint64_t band = 1;     ///< rows stored, and decompressed, together
  uint64_t address = 0;  ///< identifies the object, whatever its name
  size_t bytes = 0;      ///< size of its values in memory
};

/// Looks up the wanted objects of an open file: paths ("edges/src"), in which a part `*` matches any name
/// ("splits/*/train"), attributes of objects ("nodes@x_cols"; "@format" of the root), or "**" for everything.
/// Other objects are not opened. A link out of the file is listed with that problem. Throws DataError "PLACE:
/// message" if the whole file is unreadable.
class Directory {
 public:
  Directory(hid_t file, size_t file_bytes, const std::vector<std::string>& wanted);
  const std::map<std::string, Found>& found() const { return found_; }
  std::string encoded() const;

 private:
  void want(hid_t group, const std::string& path, std::string_view rest);
  void want_child(hid_t group, const std::string& path, const std::string& name, std::string_view rest);
  void want_all(hid_t group, const std::string& path, int depth);
  std::vector<std::string> names_in(hid_t group, const std::string& path) const;
  Handle open(hid_t group, const std::string& name, const std::string& path);
  Found& note(hid_t object, const std::string& path);
  void describe_dataset(hid_t dataset, Found& to) const;
  void read_attribute(hid_t object, Found& to, const char* name) const;
  void read_attributes(hid_t object, Found& to, const std::string& path) const;
  void check_sizes() const;

  size_t file_bytes_;
  std::map<std::string, Found> found_;
};

}  // namespace adj::hdf5
