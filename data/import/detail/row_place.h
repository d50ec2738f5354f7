#pragma once

#include <adjoint/data/import/number_rows.h>

#include <string>

namespace adj {

/// Throws DataError "FILE:LINE: message" for row `row`, from 0, of read_rows() with this format. Finds the
/// line by reading the file again, for errors that show only after all rows are read.
[[noreturn]] void fail_row(const std::string& path, const RowFormat& format, int64_t row,
                           const std::string& message);

}  // namespace adj
