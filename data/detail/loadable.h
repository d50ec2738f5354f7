#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/detail/item_paths.h>
#include <adjoint/data/hdf5_file.h>

namespace adj::detail {

/// Throws DataError "FILE: PLACE: …" if load_dataset() would refuse the file of this dataset.
void expect_loadable(const Dataset& data, const std::string& path);

/// The same for the items of one type, which has `rows` of them, of a file with so many edges.
void expect_loadable(const ItemTable& items, int64_t rows, int64_t edges, const ItemPaths& paths,
                     const std::string& path);
/// Writes the items of one type. Does not check them.
void write_items(H5Writer& file, const ItemTable& items, const ItemPaths& paths = {});

}  // namespace adj::detail
