#pragma once

#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/import/column_transform.h>

#include <optional>
#include <string>

namespace adj {

/// Options for a GraphLand folder; defaults of its authors and of PyG's GraphLandDataset.
struct GraphLandOptions {
  /// RL: 10/10/80 % at random, RH: 50/25/25 % at random, TH: by time; THI: TH on growing graphs (inductive).
  enum class Split : uint8_t { RL, RH, TH, THI };
  Split split = Split::RL;                  ///< which of the folder's
  std::optional<RandomSplits> random = {};  ///< instead; transforms are fitted by the first
  ColumnTransform numerical = ColumnTransform::quantile_normal;  ///< for numerical columns
  /// For fraction columns, 0 to 1. Default: quantile_normal for folders named artnet-views and avazu-ctr,
  /// else none.
  std::optional<ColumnTransform> fraction = {};
  /// One-hot encodes each categorical column, values ascending; a column with two values becomes one column,
  /// 1 for the greater. Otherwise the numbers are unchanged.
  bool one_hot = true;
  ColumnTransform target = ColumnTransform::standard;  ///< for regression, fitted to the training nodes
  Imputation numerical_imputation = Imputation::most_frequent;  ///< in numerical columns
  Imputation fraction_imputation = Imputation::most_frequent;   ///< in fraction columns
  bool undirected = true;  ///< both directions of every edge, duplicates merged
};
constexpr auto names_of(GraphLandOptions::Split) {
  return std::array{"RL", "RH", "TH", "THI"};
}  ///< in the enum's order

/// Imports a GraphLand folder (Bazhenov et al. 2025): `info.yaml`, which names the columns, `features.csv`,
/// `targets.csv`, `split_masks_RL.csv` (RH, TH) and `edgelist.csv`, as PyG's GraphLandDataset does, numbers
/// to 1e-5. Features are the numerical columns in info.yaml's order, then fractions, then categorical ones.
/// Transforms are fitted to all nodes (THI: to the training nodes); missing numbers are then imputed and
/// transformed. A node without a target is in no split. The first column of each file is the node number,
/// ascending from 0.
///
/// THI makes one dataset of three graphs (Dataset::graph_offsets): of the training nodes, of the training and
/// validation nodes, and of all nodes in any part, each with the edges among them. Training nodes are in the
/// first, validation nodes in the second, test nodes in the third, and Dataset::node_ids are the folder's
/// numbers. A step over the whole is a step over each alone, so training sees nothing of the later graphs.
/// Takes up to three times the memory.
///
/// Throws DataError, "FILE:LINE: what was found, what was expected": missing files or columns, mismatched
/// numbers of rows, fields that are not numbers, nodes out of order or out of range, a class that is not an
/// integer from 0, a category that is not an integer, or more than 10,000 of them in a column, a column
/// without any number, a node in two parts, an empty part.
Dataset import_graphland(const std::string& folder, const GraphLandOptions& options = {});

}  // namespace adj
