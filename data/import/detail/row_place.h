#pragma once

#include <adjoint/data/import/number_rows.h>

#include <string>

namespace adj {

/// Throws DataError "FILE:LINE: message" of row `row`, from 0, that read_rows() gave with this format: what a
/// row means shows itself when all of them are there, and then its line is looked for again.
[[noreturn]] void fail_row(const std::string& path, const RowFormat& format, int64_t row,
                           const std::string& message);

}  // namespace adj
