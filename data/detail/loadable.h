#pragma once

#include <adjoint/data/dataset.h>

namespace adj::detail {

/// Throws DataError "FILE: PLACE: …" of the file that a dataset is to become, where load_dataset() would
/// refuse that: by what it holds all but single values of features and edges, which whoever made them has
/// seen.
void expect_loadable(const Dataset& data, const std::string& path);

}  // namespace adj::detail
