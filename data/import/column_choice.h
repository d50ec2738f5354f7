#pragma once

#include <adjoint/data/import/node_files.h>

#include <string>

namespace adj {

/// "zip=hash:64": the type of a column, with a number of columns for hash, text and set. Throws DataError
/// beginning with `place` for anything else.
ColumnChoice column_choice(const std::string& text, const std::string& place);

}  // namespace adj
