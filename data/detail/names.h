#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/hdf5_file.h>

namespace adj::detail {

/// Texts as the schema stores them: text i is bytes[offsets[i]] to bytes[offsets[i + 1]].
struct PackedNames {
  Tensor bytes;    ///< uint8, of all of them one after another
  Tensor offsets;  ///< int64 [texts + 1]

  /// One of them, on the CPU.
  std::string_view text(int64_t i) const {
    const int64_t* at = offsets.data<int64_t>();
    return {reinterpret_cast<const char*>(bytes.data<uint8_t>()) + at[i],
            static_cast<size_t>(at[i + 1] - at[i])};
  }
};
PackedNames packed(const std::vector<std::string>& names);
/// On the CPU. Offsets ascend from 0 to the number of bytes.
std::vector<std::string> unpacked(const PackedNames& names);
/// Text k is text order[k], int32; on the names' device.
PackedNames gathered(const PackedNames& names, const Tensor& order);
/// As `path` and path + "_offsets".
void write_names(H5Writer& file, const std::string& path, const std::vector<std::string>& names);

/// How many class names a dataset can have; kAny where its labels do not say.
int64_t expected_class_names(const Dataset& data);
/// "class 3: …, expected …", of names that are no UTF-8 or not distinct; empty where there is nothing wrong.
std::string problem_of_names(const std::vector<std::string>& names);
/// Where names of classes stand: beside the labels.
std::string class_names_path(Task task);

}  // namespace adj::detail
