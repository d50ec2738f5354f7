#pragma once

#include <adjoint/data/detail/hdf5_handle.h>
#include <adjoint/data/detail/hdf5_wire.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace adj::hdf5 {

/// "unreadable: the HDF5 library reports …".
std::string unreadable();
/// Throws DataError "PLACE: message"; without a place only the message.
[[noreturn]] void fail(const std::string& place, const std::string& message);

/// Data of an object that only this process needs.
struct Found : Stored {
  bool raw = false;      ///< read as raw bytes (h5py's bool)
  uint64_t address = 0;  ///< identifies the object, whatever its name
  size_t bytes = 0;      ///< size of its values in memory
  size_t stored = 0;     ///< and in the file
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
  /// The problem of the dataset, if any.
  std::string describe_dataset(hid_t dataset, Found& found) const;
  void read_attribute(hid_t object, Found& found, const char* name) const;
  void read_attributes(hid_t object, Found& found, const std::string& path) const;
  void check_sizes() const;

  size_t file_bytes_;
  std::map<std::string, Found> found_;
};

}  // namespace adj::hdf5
