#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/column_transform.h>

#include <optional>
#include <string>

namespace adj {

/// How a GraphLand folder is read; the defaults are those of its authors and of PyG's GraphLandDataset.
struct GraphLandOptions {
  /// RL: 10/10/80 % at random, RH: 50/25/25 % at random, TH: by time; THI: TH on graphs that grow.
  enum class Split : uint8_t { RL, RH, TH, THI };
  Split split = Split::RL;
  ColumnTransform numerical = ColumnTransform::quantile_normal;
  /// Of columns that are shares, 0 to 1. Not set: quantile_normal for folders named artnet-views and
  /// avazu-ctr, none for others.
  std::optional<ColumnTransform> fraction = {};
  /// Each categorical column as one of 0 and 1 for each of its values, ascending; one alone, of the greater,
  /// where there are two. Otherwise the numbers as they are.
  bool one_hot = true;
  ColumnTransform target = ColumnTransform::standard;  ///< of regression, fitted to the training nodes
  Imputation numerical_imputation = Imputation::most_frequent;
  Imputation fraction_imputation = Imputation::most_frequent;
  bool undirected = true;  ///< both directions of every edge, equal ones merged
};
std::string_view name_of(GraphLandOptions::Split split);

/// A GraphLand folder (Bazhenov et al. 2025): `info.yaml`, which names the columns, `features.csv`,
/// `targets.csv`, `split_masks_RL.csv` (RH, TH) and `edgelist.csv`, as PyG's GraphLandDataset reads it,
/// numbers to 1e-5. Features are the numerical columns in info.yaml's order, then fractions, then categorical
/// ones. Transforms are fitted to all nodes (THI: to those for training), missing numbers then imputed and
/// transformed. A node without a target is in no split. The first column of each file is the node's number,
/// ascending from 0.
///
/// THI makes one dataset of three graphs (Dataset::graph_offsets): that of the training nodes, that of
/// training and validation nodes, and that of all nodes in any part, each with the edges among them; training
/// nodes are those of the first, validation nodes of the second, test nodes of the third, and
/// Dataset::node_ids are the folder's numbers. A step over the whole is a step over each alone, so that
/// nothing of the later graphs is seen in training. It takes up to three times the room.
///
/// Throws DataError, "FILE:LINE: what was found, what was expected": files or columns that are missing, other
/// numbers of rows, fields that are no numbers, nodes out of order or out of range, a class that is no whole
/// number from 0, a category that is no whole number or a column of more than 10,000 of them, a column
/// without any number, a node in two parts, a part without nodes.
Dataset import_graphland(const std::string& folder, const GraphLandOptions& options = {});

}  // namespace adj
