#pragma once

#include <adjoint/data/generators.h>

#include <cmath>
#include <limits>
#include <string>

namespace adj::test {

/// A dataset that trains in milliseconds.
inline Dataset small_dataset(uint64_t seed = 1, int64_t classes = 3) {
  Dataset data = make_citation_dataset({.nodes = 120,
                                        .classes = classes,
                                        .features = 40,
                                        .train_per_class = 8,
                                        .val = 30,
                                        .test = 40,
                                        .seed = seed});
  data.name = "small";
  return data;
}

inline void write_small_dataset(const std::string& path, uint64_t seed = 1, int64_t classes = 3) {
  save_dataset(small_dataset(seed, classes), path);
}

/// Two classes, both among the nodes to validate and to test, whose labels the model cannot know.
inline Dataset small_two_class_dataset() {
  Dataset data = small_dataset(1, 2);
  data.y = data.y.clone();
  for (const Tensor& part : {data.val, data.test})
    for (const int32_t i : part.to_vector<int32_t>()) data.y.mutable_data<int32_t>()[i] = i / 3 % 2;
  return data;
}

/// Without labels and splits.
inline Dataset unlabelled(Dataset data) {
  data.task = Task::none;
  data.classes = data.unlabelled = 0;
  data.y = data.graph_y = data.train = data.val = data.test = {};
  data.splits.clear();
  data.class_names.clear();
  return data;
}

/// The same nodes with other labels, [N, 3] from label(class, column). Nodes in no split are unlabelled.
template <class F>
Dataset small_dataset_of(Task task, F label) {
  Dataset data = small_dataset();
  const auto classes = data.y.to_vector<int32_t>();
  std::vector<bool> used(classes.size());
  for (const Tensor& part : {data.train, data.val, data.test})
    for (int32_t i : part.to_vector<int32_t>()) used[static_cast<size_t>(i)] = true;
  std::vector<float> y;
  bool left_out = false;
  for (size_t i = 0; i < classes.size(); ++i) {
    const bool none = !used[i] && !std::exchange(left_out, left_out || !used[i]);
    for (int t = 0; t < 3; ++t)
      y.push_back(none ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(label(classes[i], t)));
  }
  data.task = task;
  data.classes = 0;
  data.y = Tensor::from(y, {static_cast<int64_t>(classes.size()), 3});
  data.unlabelled = 1;
  return data;
}
/// Label t, for t = 0 to 2: whether the node is of class t.
inline Dataset small_multilabel_dataset() {
  return small_dataset_of(Task::node_multilabel, [](int c, int t) { return c == t ? 1.0 : 0.0; });
}
/// Targets far from 0, with different scales; the last is constant.
inline Dataset small_regression_dataset() {
  return small_dataset_of(Task::node_regression, [](int c, int t) {
    return t == 0 ? 1000.0 + 5.0 * c : t == 1 ? -0.01 * (c == 1) : 7.0;
  });
}

/// Extends to `count` splits: the dataset's own, and its parts rotated.
inline void add_splits(Dataset& data, size_t count) {
  while (data.splits.size() < count) {
    const Split last = data.splits.back();
    data.splits.push_back({last.val, last.test, last.train});
  }
}

}  // namespace adj::test
