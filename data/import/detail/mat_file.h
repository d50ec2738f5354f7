#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adj::detail {

/// A matrix of numbers of a MATLAB file.
struct MatArray {
  std::string name;
  int64_t rows = 0, cols = 0;
  bool sparse = false;
  std::vector<double> values;   ///< column by column; of a sparse one those that are stored
  std::vector<int64_t> ir, jc;  ///< of a sparse one: row of each value, and where columns begin [cols + 1]
};

constexpr std::string_view kMatMark = "MATLAB 5.0 MAT-file";

/// The matrices of numbers of a MAT-file, version 5 (MATLAB 5 to 7, scipy.io.savemat), other variables aside
/// ("MAT-File Format", MathWorks). Throws DataError "FILE: …" for one that is damaged, or of a machine of
/// other byte order.
std::vector<MatArray> read_mat_file(const std::string& path);

}  // namespace adj::detail
