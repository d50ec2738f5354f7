#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/detail/table_rows.h>

#include <functional>
#include <string>
#include <vector>

namespace adj {

/// int64 [items], as ItemTable::times: integers, or dates (time_in()) as microseconds since 1970-01-01 UTC.
/// `item(id, row)` is the number of a row's item, -1: none; `ids`: the column that it gets, -1: none. Appends
/// a note. Throws DataError for a time of another kind than the first, and numbers that are no 64-bit
/// integers.
Tensor read_times(TableRows& rows, int64_t column, int64_t ids, int64_t items,
                  const std::function<int32_t(std::string_view id, int64_t row)>& item,
                  std::vector<std::string>& notes);

}  // namespace adj
