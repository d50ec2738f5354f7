#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/npz.h>

#include <array>

// What the layouts of .npz files have in common: arrays that mean something, checked as such. All throw
// DataError with the place of what is wrong.

namespace adj::npz {

/// Nodes, edges and columns are numbered by int32.
constexpr int64_t kMost = (int64_t{1} << 31) - 2;

/// int32 of this shape (-1: any extent), each `from` to `to`.
Tensor indices(const NpzReader& z, std::string_view name, std::initializer_list<int64_t> shape, int64_t from,
               int64_t to);
/// float32 of this shape, each finite.
Tensor finite(const NpzReader& z, std::string_view name, std::initializer_list<int64_t> shape);
/// The two extents of a matrix, integers [2], each 0 to kMost.
std::array<int64_t, 2> matrix_shape(const NpzReader& z, const std::string& name);
/// A CSR matrix's structure, of the arrays PREFIXindptr and PREFIXindices.
Csr csr(const NpzReader& z, const std::string& prefix, int64_t rows, int64_t cols);
/// The row of each entry, int32.
Tensor rows_of(const Csr& csr);
/// Throws unless the array has as many extents, of this size (-1: any).
void expect_shape(const NpzReader& z, std::string_view name, std::initializer_list<int64_t> shape);
/// 1 to kMost, and no more than an archive of this size can say something of; `name` is where the number
/// comes from.
void check_nodes(const NpzReader& z, std::string_view name, int64_t nodes);
/// The nodes of which an array [N, F] has the features, one at least: N, checked as above.
int64_t nodes_with_features(const NpzReader& z, std::string_view name);
/// Throws where more edges are there than a graph may have; `name` as above.
void check_edges(const NpzReader& z, std::string_view name, int64_t edges);

/// Sets y, task, classes and unlabelled from integers [N] (or [N, 1]), -1 being none. Throws where they do
/// not number classes.
void set_classes(Dataset& data, const NpzReader& z, std::string_view name);
/// The splits that the masks make, of which there are `count`. `part_of[s][i]` is 0, or the part that node i
/// is in; what was set by mark() and is complete.
class Splits {
 public:
  Splits(const NpzReader& z, const Dataset& data, int64_t count)
      : z_(z),
        data_(data),
        part_of_(static_cast<size_t>(count), std::vector<uint8_t>(static_cast<size_t>(data.num_nodes()))) {}
  /// Node i of split s into `part` (1 train, 2 val, 3 test), because `name` says so.
  void mark(std::string_view name, size_t s, int64_t i, int part);
  /// Into the dataset, whose first split is in use. `names` are those of the parts.
  void put_into(Dataset& data, std::array<std::string_view, 3> names) const;

 private:
  const NpzReader& z_;
  const Dataset& data_;
  std::vector<std::vector<uint8_t>> part_of_;
};
/// Of three masks, of 0 and 1: [N], or several splits as [N, S], or with `split_first` as [S, N].
void set_masks(Dataset& data, const NpzReader& z, std::array<std::string_view, 3> names, bool split_first);

/// Without splits: selections of nothing.
void set_no_split(Dataset& data);
/// The file's name without folder and suffix.
std::string stem(const NpzReader& z);

}  // namespace adj::npz
