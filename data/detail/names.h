#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/hdf5_file.h>

namespace adj::detail {

/// Packed strings of the schema: text i is bytes[offsets[i]] to bytes[offsets[i + 1]].
struct PackedNames {
  Tensor bytes;    ///< uint8, concatenated
  Tensor offsets;  ///< int64 [texts + 1]

  /// Text i; CPU only.
  std::string_view text(int64_t i) const {
    const int64_t* bounds = offsets.data<int64_t>();
    return {reinterpret_cast<const char*>(bytes.data<uint8_t>()) + bounds[i],
            static_cast<size_t>(bounds[i + 1] - bounds[i])};
  }
};
PackedNames packed(const std::vector<std::string>& names);
/// CPU only. Offsets ascend from 0 to the number of bytes.
std::vector<std::string> unpacked(const PackedNames& names);
/// Of `count` items their names, else their ids, else their numbers, as texts; CPU only.
std::vector<std::string> names_of(const ItemTable& items, int64_t count);
/// Text k is text order[k] (int32); on the names' device.
PackedNames gathered(const PackedNames& names, const Tensor& order);
/// A dataset without edges, whose nodes have these names.
Dataset named_rows(const std::string& dataset, const std::vector<std::string>& names);
/// Written as `path` and path + "_offsets".
void write_names(H5Writer& file, const std::string& path, const std::vector<std::string>& names);

/// Expected number of class names; kAny if the labels do not determine it.
int64_t expected_class_names(const Dataset& data);
/// "class 3: …, expected …", or another `thing`, for names that are not UTF-8 or not distinct; empty if all
/// are valid.
std::string problem_of_names(const std::vector<std::string>& names, std::string_view thing = "class");
/// What makes the encoder another one than that of `features` features with these names, unless they have
/// none; empty if nothing does.
std::string problem_of_encoder(const FeatureEncoder& encoder, int64_t features,
                               const std::vector<std::string>& names);
/// The name itself, or with its escapes if it is not UTF-8, which no file may hold.
std::string utf8_name(std::string name);
/// The first names and the number of the others: "a, b and 3 more".
std::string listed(const std::vector<std::string>& names, size_t shown);
/// Path of the task's labels, "nodes/y", and of the names of their classes next to them.
std::string labels_path(Task task);
std::string class_names_path(Task task);

}  // namespace adj::detail
