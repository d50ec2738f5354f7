#pragma once

#include <adjoint/core/isa.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/training/options.h>
#include <adjoint/training/run_folder.h>

#include <algorithm>
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

/// The upper one for an even number; 0 for none.
inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

/// A run without results yet.
inline RunSummary summary_of(const std::string& program, Device device, std::string data,
                             const std::vector<Options::Group>& groups) {
  RunSummary run{.program = program,
                 .version = std::string(version()),
                 .isa = std::string(cpu_isa()),
                 .device = device.str(),
                 .data = std::move(data)};
  for (const Options::Group& group : groups)
    for (const Option& option : group.options) run.options[option.name] = option.text();
  return run;
}

}  // namespace adj::training
