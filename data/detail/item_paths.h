#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/hdf5_file.h>

#include <string>
#include <string_view>

namespace adj::detail {

/// Where a file of the schema has the items of one type. Version 1 has one type of nodes, with the paths by
/// which code calls them: "nodes/x", "splits/train", "@num_nodes". In version 2 the group of a type has all
/// of these: "nodes/person/x", "nodes/person/splits/train"; features of edges are its "attr".
class ItemPaths {
 public:
  ItemPaths() = default;
  static ItemPaths nodes(std::string group) { return {std::move(group), false}; }
  static ItemPaths edges(std::string group) { return {std::move(group), true}; }

  bool of_edges() const { return edges_; }  ///< of a type of version 2
  /// The path in the file. Objects of other kinds, as "graphs/y", have none in a group: a path that no file
  /// has.
  std::string path(std::string_view path) const;
  /// The place of a message: a path, "attribute num_nodes" or "attribute nodes@x_cols".
  std::string place(std::string_view place) const;

 private:
  ItemPaths(std::string group, bool edges) : group_(std::move(group)), edges_(edges) {}

  std::string group_;  // empty: version 1
  bool edges_ = false;
};

/// Throws DataError "FILE: PLACE: …" if load_dataset() would refuse the file of this dataset.
void expect_loadable(const Dataset& data, const std::string& path);

/// The same for the items of one type, which has `rows` of them, of a file with so many edges.
void expect_loadable(const ItemTable& items, int64_t rows, int64_t edges, const ItemPaths& paths,
                     const std::string& path);
/// Writes the items of one type. Does not check them.
void write_items(H5Writer& file, const ItemTable& items, const ItemPaths& paths = {});

}  // namespace adj::detail
