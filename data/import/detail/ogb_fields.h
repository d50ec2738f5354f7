#pragma once

#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/data/import/ogb.h>

#include <filesystem>

namespace adj::ogb {

/// Sets task, labels (of `rows` nodes or graphs, by `table`), classes and unlabelled.
void set_labels(Dataset& data, Raw& raw, std::string_view table, int64_t rows, const OgbOptions& options);
/// Sets the split of nodes or graphs out of `folder` (split/), of nothing where there is no such folder; the
/// labels are there already.
void set_split(Dataset& data, const std::filesystem::path& folder, const OgbOptions& options);

}  // namespace adj::ogb
