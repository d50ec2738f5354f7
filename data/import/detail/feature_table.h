#pragma once

#include <adjoint/data/import/detail/node_rows.h>

#include <string>
#include <vector>

namespace adj {

/// Features of a table of nodes: columns of numbers and booleans one number each, vectors as many as they
/// have, categories one 0 or 1 for each text.
struct FeatureTable {
  Tensor x;  ///< float32 [N, F]; NaN: missing
  std::vector<std::string>
      names;  ///< of its columns: "age", "color=red", "v[0]"; "column 2" without a header
  std::string note;
};

/// Reads the columns `rows.slots()`, finds their types and turns them into numbers. Nodes without a row are
/// an error unless `files.impute` is set. Throws DataError naming file, line and column.
FeatureTable read_features(NodeRows& rows, int64_t nodes, const NodeFiles& files);

/// Replaces NaN column by column by what is found over the nodes `train` (absent: all); returns a note: "5
/// missing numbers imputed (mean) in 2 columns: …".
std::string impute(FeatureTable& table, Imputation imputation, const Tensor& train, const TextSource& source);

/// Columns with the same number in every row: "; constant: a, b"; or empty.
std::string constant_columns(const FeatureTable& table);

}  // namespace adj
