#pragma once

#include <adjoint/data/import/detail/node_rows.h>

#include <string>
#include <vector>

namespace adj {

/// Features of a table of nodes.
struct FeatureTable {
  Tensor x;                ///< float32 [N, F]; NaN: missing
  FeatureEncoder encoder;  ///< of its columns; "column 2" is the name of one without a header
  std::string note;
};

/// Reads the columns `rows.slots()`, finds their types and turns them into numbers; or as `files.like` says.
/// Nodes without a row are an error unless `files.impute` or the fillings of `files.like` say what they have.
/// Throws DataError naming file, line and column.
FeatureTable read_features(NodeRows& rows, int64_t nodes, const NodeFiles& files);

/// Fits the fillings of the encoder column by column over the nodes `train` (absent: all), and replaces NaN
/// by them; returns a note: "5 missing numbers imputed (mean) in 2 columns: …".
std::string impute(FeatureTable& table, Imputation imputation, const Tensor& train, const TextSource& source);

/// Columns with the same number in every row: "; constant: a, b"; or empty.
std::string constant_columns(const FeatureTable& table);

}  // namespace adj
