#pragma once

#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/data/import/ogb.h>

#include <filesystem>

namespace adj::ogb {

/// Sets task, labels (of `rows` nodes or graphs, from `table`), classes and unlabelled.
void set_labels(Dataset& data, Raw& raw, std::string_view table, int64_t rows, const OgbOptions& options);
/// Sets the split of nodes or graphs from `folder` (split/), or an empty one if the folder does not exist;
/// labels must be set before.
void set_split(Dataset& data, const std::filesystem::path& folder, const OgbOptions& options);

}  // namespace adj::ogb
