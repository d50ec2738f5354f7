#pragma once

#include "npz_file.h"

// A small valid file of each supported layout.

namespace adj::test {

/// Four nodes; an edge in both directions, a duplicate, a self-loop; two splits.
inline NpzFile heterophilous() {
  NpzFile f;
  f.add("node_features", npy<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), 8);
  f.add("node_labels", npy<int64_t>({4}, {0, 2, 1, 0}));
  f.add("edges", npy<int64_t>({5, 2}, {0, 1, 1, 0, 2, 3, 2, 3, 1, 1}), 8);
  f.add("train_masks", npy_bools({2, 4}, {1, 0, 0, 1, 0, 1, 0, 0}));
  f.add("val_masks", npy_bools({2, 4}, {0, 1, 0, 0, 1, 0, 0, 0}));
  f.add("test_masks", npy_bools({2, 4}, {0, 0, 1, 0, 0, 0, 0, 1}));
  return f;
}

/// Three nodes, five entries including a self-loop; features with a duplicate entry, and a pickled array.
inline NpzFile gnn_benchmark() {
  NpzFile f;
  f.add("adj_data", npy<float>({5}, {1, 1, 2, 0, 1})).add("adj_indices", npy<int32_t>({5}, {1, 2, 1, 0, 0}));
  f.add("adj_indptr", npy<int32_t>({4}, {0, 2, 4, 5})).add("adj_shape", npy<int64_t>({2}, {3, 3}));
  f.add("attr_data", npy<float>({4}, {2, 0.5, -1, 3})).add("attr_indices", npy<int32_t>({4}, {3, 0, 1, 0}));
  f.add("attr_indptr", npy<int32_t>({4}, {0, 2, 2, 4})).add("attr_shape", npy<int64_t>({2}, {3, 5}));
  f.add("labels", npy<int8_t>({3}, {1, 0, 1})).add("node_names", npy("|O", {3}, "\x80\x04."));
  return f;
}

inline NpzFile reddit_data() {
  NpzFile f;
  f.add("feature", npy<double>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 0.1}));
  f.add("label", npy<int64_t>({4}, {1, 0, 4, 1})).add("node_types", npy<int32_t>({4}, {1, 3, 2, 1}));
  f.add("node_ids", npy("|O", {4}, "pickled"));
  return f;
}
inline NpzFile reddit_graph() {
  NpzFile f;
  f.add("row", npy<int32_t>({4}, {0, 1, 3, 0})).add("col", npy<int32_t>({4}, {1, 0, 2, 1}));
  f.add("data", npy<int64_t>({4}, {1, 1, 0, 1})).add("shape", npy<int64_t>({2}, {4, 4}));
  f.add("format", npy("|S3", {}, "coo"));
  return f;
}

inline NpzFile plain() {
  NpzFile f;
  f.add("edge_index", npy<int64_t>({2, 3}, {0, 1, 1, 1, 2, 2})).add("x", npy<float>({3, 1}, {1, 2, 3}));
  f.add("y", npy<int64_t>({3}, {2, 0, 1}));
  f.add("train_mask", npy_bools({3}, {0, 1, 0})).add("val_mask", npy_bools({3}, {1, 0, 0}));
  f.add("test_mask", npy_bools({3}, {0, 0, 1}));
  return f;
}

}  // namespace adj::test
