#pragma once

#include "../support.h"

namespace adj::test {

/// Writes an HDF5 file of these tensors.
inline void write_h5(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                     int gzip = 0) {
  H5Writer file(path, gzip);
  for (const auto& [name, tensor] : tensors) file.write(name, tensor);
  file.commit();
}

/// Checks that read() throws the DataError "FILE: message".
template <class F>
void check_read_error(const std::string& file, const std::string& message, F&& read) {
  CHECK(error_of<DataError>(read) == file + ": " + message);
}

}  // namespace adj::test
