#pragma once

#include <adjoint/data/dataset.h>

#include <string>
#include <vector>

namespace adj {

/// Imports a dataset from an .npz file, whose layout is detected by array names. N nodes, M edges in file
/// order, F features.
///
/// - heterophilous-graphs (Platonov et al. 2023), detected by `node_features` and `edges`: `edges` [M, 2],
///   made undirected as in PyG's HeterophilousGraphDataset: duplicates merged, self-loops kept;
///   `node_features` [N, F], `node_labels` [N], `train_masks`, `val_masks` and `test_masks` [S, N]: S splits.
/// - gnn-benchmark (Shchur et al. 2018), detected by `adj_indptr`: `adj_data`, `adj_indices`, `adj_indptr`,
///   `adj_shape` (a CSR matrix), made undirected as in PyG's `read_npz`: without self-loops, duplicates
///   merged; `attr_*` in the same form, sparse features whose positive numbers become 1, or dense
///   `attr_matrix` unchanged; `labels` [N]; no splits.
/// - Reddit (Hamilton et al. 2017, as published by DGL), detected by `feature` and `node_types`:
///   `reddit_data.npz` with `feature` [N, F], `label` [N], `node_types` [N]: 1 train, 2 val, 3 test; and in
///   the same folder `reddit_graph.npz` or `reddit_self_loop_graph.npz`, a COO or CSR matrix of
///   `scipy.sparse.save_npz`: entry (i, j), whatever its value, is an edge from i to j, duplicates merged.
/// - plain, with PyG's names, detected by `edge_index`: `edge_index` [2, M], sources and targets, edges
///   unchanged; optional `num_nodes`, `x` [N, F], `y`, `edge_weight` [M], `edge_attr` [M, E], and
///   `train_mask`, `val_mask`, `test_mask`, [N] or for several splits [N, S].
///
/// A plain `y` has classes (integers [N] or [N, 1]), several labels per node (integers or bools [N, T], 0 or
/// 1) or regression targets (floats [N] or [N, T]); without it the task is none. A class of -1, or a NaN,
/// means unlabelled, and then no mask may include the node. Other arrays of the published layouts are
/// ignored, pickled ones included; in a plain file they are errors.
///
/// Throws DataError naming file and array: an unknown layout, an array that is missing or of another shape or
/// type, an index out of range, a non-finite number, masks that overlap or select nothing, and all errors of
/// NpzReader. `notes`: classes that no node has, as of labels 10, 20 and 30.
Dataset import_npz(const std::string& path, std::vector<std::string>* notes = nullptr);

}  // namespace adj
