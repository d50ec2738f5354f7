#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>
#include <adjoint/models/options.h>

#include <string>

namespace adj::models {

/// Columns of ModelOptions::positional: 0 for none, 1 for degree.
int64_t positional_columns(const ModelOptions& options);

/// float32 [N, positional_columns()] on the graph's device, for graph transformers (Rampášek et al. 2022,
/// table 1); of many graphs each by itself:
///  - `laplacian`: laplacian_eigenvectors(), times the root of the nodes of their component, so that entries
///    are about 1 for graphs of any size;
///  - `random_walk`: NodeFeatures::random_walk;
///  - `degree`: log(1 + in-degree).
/// `note`, if any, receives what finding them took. Throws as those functions do, and for none.
Tensor positional_encoding(const Graph& graph, const ModelOptions& options, std::string* note = nullptr);

/// `x` with the encoding's columns behind its own: dense, or sparse as `x` is; the encoding alone for absent
/// features. Throws for quantised features and those of several types.
Features with_encoding(const Features& x, const Tensor& encoding);

}  // namespace adj::models
