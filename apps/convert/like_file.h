#pragma once

#include <adjoint/data/import/node_files.h>

#include <optional>

namespace adj::apps {

/// The encoder of a dataset, a checkpoint or an integer model. Throws DataError if it has none and no names
/// of columns.
LikeFile read_like_file(const std::string& path);
/// That of the attributes of its edges, of one type; absent: they have none, or no names.
std::optional<LikeFile> read_like_attributes(const std::string& path);

}  // namespace adj::apps
