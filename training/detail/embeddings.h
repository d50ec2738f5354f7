#pragma once

#include <adjoint/data/detail/names.h>

#include <string>
#include <vector>

// What train_kge and train_recommend have in common.

namespace adj::training {

/// Scores that are held at once: 512 MB on a GPU, 16 MB for a CPU's cache.
inline int64_t most_scores(Device device) { return int64_t{1} << (device.is_cuda() ? 27 : 22); }

/// A dataset without edges, of which names are written.
inline Dataset named_rows(const std::string& name, const std::vector<std::string>& names) {
  Dataset rows;
  rows.name = name;
  const Tensor none = Tensor::empty({0}, DType::i32);
  rows.graph = Graph::from_coo(std::ssize(names), none, none);
  const detail::PackedNames packed = detail::packed(names);
  rows.node_names = packed.bytes;
  rows.node_name_offsets = packed.offsets;
  return rows;
}

}  // namespace adj::training
