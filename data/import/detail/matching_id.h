#pragma once

#include <adjoint/data/import/detail/table_rows.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace adj::detail {

/// For a table whose names do not say which column has the ids: the one of `columns`
/// (NodeColumns::possible_ids) that has all `count` ids, which `find` numbers from 0 (-1: none of them); if
/// none has all, the one that has at least half as many as any other; the first if none has any. Throws
/// DataError if several do, unless one of them has a name of `ends`. `whose`: "edges", for messages, as is
/// `remedy`.
int64_t matching_id(TableRows& rows, const std::vector<int64_t>& columns,
                    const std::function<int32_t(std::string_view)>& find, int64_t count,
                    std::string_view whose, const std::vector<std::string>& ends = {},
                    std::string_view remedy = "--id to say which has them");

}  // namespace adj::detail
