#pragma once

#include <adjoint/data/dataset.h>

namespace adj::detail {

/// Texts as the schema stores them: text i is bytes[offsets[i]] to bytes[offsets[i + 1]].
struct PackedNames {
  Tensor bytes;    ///< uint8, of all of them one after another
  Tensor offsets;  ///< int64 [texts + 1]
};
PackedNames packed(const std::vector<std::string>& names);
/// On the CPU. Offsets ascend from 0 to the number of bytes.
std::vector<std::string> unpacked(const PackedNames& names);

/// How many class names a dataset can have; kAny where its labels do not say.
int64_t expected_class_names(const Dataset& data);
/// "class 3: …, expected …", of names that are no UTF-8 or not distinct; empty where there is nothing wrong.
std::string problem_of_names(const std::vector<std::string>& names);
/// Where names of classes stand: beside the labels.
std::string class_names_path(Task task);

}  // namespace adj::detail
