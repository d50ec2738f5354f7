#pragma once

#include <adjoint/data/dataset.h>

namespace adj::detail {

/// Throws DataError "FILE: PLACE: …" if load_dataset() would refuse the file of this dataset.
void expect_loadable(const Dataset& data, const std::string& path);

}  // namespace adj::detail
