#pragma once

#include <adjoint/core/tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace adj::detail {

/// Writes a NumPy file of records, one for each row of `values`, float32 [N, F]: field `key`, of the texts
/// ("<U…") or else the numbers (int64), and field `name` of F numbers. numpy.load() reads it without pickle,
/// as file["embedding"]. Bytes that are not UTF-8 become U+FFFD. The file appears when complete. Throws
/// DataError.
void write_npy_records(const std::string& path, const std::string& key, const std::vector<int64_t>& numbers,
                       const std::vector<std::string_view>& texts, const std::string& name,
                       const Tensor& values);

}  // namespace adj::detail
