#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/npz.h>

#include <array>

// Shared by the .npz layouts: arrays with a meaning, and their checks. All throw DataError with the place of
// the error.

namespace adj::npz {

/// Maximum number of nodes, edges and columns (int32).
constexpr int64_t kMost = (int64_t{1} << 31) - 2;

/// int32 of this shape (-1: any extent), values from `least` to `most`.
Tensor indices(const NpzReader& z, std::string_view name, const std::vector<int64_t>& shape, int64_t least,
               int64_t most);
/// float32 of this shape, all finite.
Tensor finite(const NpzReader& z, std::string_view name, const std::vector<int64_t>& shape);
/// Extents of a matrix, integers [2], each 0 to kMost.
std::array<int64_t, 2> matrix_shape(const NpzReader& z, const std::string& name);
/// Structure of a CSR matrix from the arrays PREFIXindptr and PREFIXindices.
Csr csr(const NpzReader& z, const std::string& prefix, int64_t rows, int64_t cols);
/// Row of each entry, int32.
Tensor rows_of(const Csr& csr);
/// Throws unless the array has this shape (-1: any extent).
void expect_shape(const NpzReader& z, std::string_view name, const std::vector<int64_t>& shape);
/// Throws unless `nodes` is 1 to kMost and plausible for an archive of this size; `name` is the source of the
/// number.
void check_nodes(const NpzReader& z, std::string_view name, int64_t nodes);
/// Number of nodes N of a feature array [N, F], at least one; checked as above.
int64_t nodes_with_features(const NpzReader& z, std::string_view name);
/// Throws for more edges than a graph may have; `name` as above.
void check_edges(const NpzReader& z, std::string_view name, int64_t edges);

/// Sets y, task, classes and unlabelled from integers [N] (or [N, 1]), -1 meaning unlabelled. Throws if they
/// are not consecutive class numbers.
void set_classes(Dataset& data, const NpzReader& z, std::string_view name);
/// Splits from masks. `part_of[s][i]` is 0, or the part of node i; valid for parts that mark() has completed.
class Splits {
 public:
  Splits(const NpzReader& z, const Dataset& data, int64_t count)
      : z_(z),
        data_(data),
        part_of_(static_cast<size_t>(count), std::vector<uint8_t>(static_cast<size_t>(data.num_nodes()))) {}
  /// Puts node i of split s into `part` (1 train, 2 val, 3 test) on behalf of the array `name`.
  void mark(std::string_view name, size_t s, int64_t i, int part);
  /// Stores them in the dataset and selects the first split. `names` are those of the parts.
  void put_into(Dataset& data, std::array<std::string_view, 3> names) const;

 private:
  const NpzReader& z_;
  const Dataset& data_;
  std::vector<std::vector<uint8_t>> part_of_;
};
/// From three 0/1 masks: [N], or several splits as [N, S], or [S, N] with `split_first`.
void set_masks(Dataset& data, const NpzReader& z, std::array<std::string_view, 3> names, bool split_first);

/// The file name without folder and extension.
std::string stem(const NpzReader& z);

/// The layout with PyG's names of import_npz().
Dataset read_plain(const NpzReader& z);

}  // namespace adj::npz
