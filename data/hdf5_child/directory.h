#pragma once

#include <adjoint/core/dtype.h>
#include <adjoint/data/detail/hdf5_handle.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace adj::hdf5 {

/// What an attribute holds, by kind; other kinds are named but not read.
struct AttributeValue {
  enum Kind : uint8_t { other, integer, number, text } kind = other;
  int64_t whole = 0;
  double real = 0.0;
  std::string words;
};

/// An object of the file that was asked for, or stands on the way to one.
struct Found {
  bool group = false;
  std::string problem;  ///< what hinders reading its values, else ""
  std::map<std::string, AttributeValue> attributes;
  // Of datasets:
  std::string type = "unknown";  ///< as messages call it
  bool readable = false;         ///< as numbers of `dtype`
  bool raw = false;              ///< read as the bytes that they are (h5py's bool)
  DType dtype = DType::u8;
  std::vector<hsize_t> extents;
  uint64_t offset = 0;   ///< of its values in the file, if they lie there as in memory, else kNowhere
  uint64_t band = 1;     ///< rows that are stored, and decompressed, together
  uint64_t address = 0;  ///< tells the object from others, whatever its name
  size_t bytes = 0;      ///< of its values in memory
};

/// Looks up what is wanted in an open file: paths ("edges/src"), where a part `*` stands for any name
/// ("splits/*/train"), attributes of objects ("nodes@x_cols"; "@format" of the root), or "**" for
/// everything. Other objects are not opened. A link that leaves the file is found, with that problem.
/// Throws DataError "PLACE: message" where the file as a whole cannot be read.
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
