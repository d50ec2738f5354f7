#pragma once

#include <adjoint/data/dataset.h>

#include <string>

namespace adj {

/// A dataset out of an .npz file, whose layout is known by the names of its arrays. N nodes, M edges as they
/// stand in the file, F features.
///
/// | layout | known by | read |
/// | --- | --- | --- |
/// | heterophilous-graphs (Platonov et al. 2023) | `node_features`, `edges` | `edges` [M, 2], made undirected
/// as in PyG's HeterophilousGraphDataset: equal edges merged, self-loops kept; `node_features` [N, F],
/// `node_labels` [N], `train_masks`, `val_masks` and `test_masks` [S, N]: S splits | | gnn-benchmark (Shchur
/// et al. 2018) | `adj_indptr` | `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape` (a CSR matrix), made
/// undirected as in PyG's `read_npz`: without self-loops, equal edges merged; `attr_*` likewise, sparse
/// features whose positive numbers become 1, or dense `attr_matrix` as it is; `labels` [N]; no splits | |
/// Reddit (Hamilton et al. 2017, as DGL publishes it) | `feature`, `node_types` | `reddit_data.npz`:
/// `feature` [N, F], `label` [N], `node_types` [N]: 1 train, 2 val, 3 test; and beside it `reddit_graph.npz`
/// or `reddit_self_loop_graph.npz`, as `scipy.sparse.save_npz` writes a COO or CSR matrix: entry (i, j),
/// whatever its value, is an edge from i to j, equal ones merged | | plain, with PyG's names | `edge_index` |
/// `edge_index` [2, M], sources and targets, edges as they stand; optional are `num_nodes`, `x` [N, F], `y`,
/// `edge_weight` [M], `edge_attr` [M, E], and `train_mask`, `val_mask`, `test_mask`, [N] or of several splits
/// [N, S] |
///
/// A plain `y` is of classes (integers [N] or [N, 1]), of several labels a node (integers or bools [N, T], 0
/// or 1) or of regression (floats [N] or [N, T]); without, the task is none. A class of -1, or a NaN, is no
/// label, and then no mask may have the node. Other arrays of the published layouts are not looked at,
/// pickled ones included; in a plain file they are errors.
///
/// Throws DataError naming file and array: of no known layout, an array missing, of another shape or type,
/// an index out of range, a number that is not finite, masks that overlap or select nothing, and whatever
/// NpzReader finds.
Dataset import_npz(const std::string& path);

}  // namespace adj
