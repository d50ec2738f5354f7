#include <adjoint/core/text.h>
#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/detail/dataset_values.h>
#include <adjoint/data/detail/names.h>

#include <algorithm>
#include <unordered_map>

namespace adj::detail {

PackedNames packed(const std::vector<std::string>& names) {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> offsets{0};
  for (const std::string& name : names) {
    bytes.insert(bytes.end(), name.begin(), name.end());
    offsets.push_back(std::ssize(bytes));
  }
  return {Tensor::from(bytes), Tensor::from(offsets)};
}

std::vector<std::string> unpacked(const PackedNames& names) {
  std::vector<std::string> result;
  for (int64_t i = 0; i + 1 < names.offsets.numel(); ++i) result.emplace_back(names.text(i));
  return result;
}

std::vector<std::string> names_of(const ItemTable& items, int64_t count) {
  if (items.node_names) return unpacked({items.node_names, items.node_name_offsets});
  const std::vector<int64_t> ids =
      items.node_ids ? items.node_ids.to_vector<int64_t>() : std::vector<int64_t>();
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i)
    names.push_back(std::to_string(ids.empty() ? i : ids[static_cast<size_t>(i)]));
  return names;
}

Dataset named_rows(const std::string& dataset, const std::vector<std::string>& names) {
  Dataset rows;
  rows.name = dataset;
  const Tensor none = Tensor::empty({0}, DType::i32);
  rows.graph = Graph::from_coo(std::ssize(names), none, none);
  const PackedNames packed_names = packed(names);
  rows.node_names = packed_names.bytes;
  rows.node_name_offsets = packed_names.offsets;
  return rows;
}

PackedNames gathered(const PackedNames& names, const Tensor& order) {
  const Device device = names.bytes.device();
  const PackedNames host{names.bytes.to(Device::cpu()), names.offsets.to(Device::cpu())};
  std::vector<uint8_t> bytes;
  std::vector<int64_t> offsets{0};
  bytes.reserve(static_cast<size_t>(host.bytes.numel()));
  for (const int32_t i : order.to_vector<int32_t>()) {
    const std::string_view text = host.text(i);
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(std::ssize(bytes));
  }
  return {Tensor::from(bytes, device), Tensor::from(offsets, device)};
}

void write_names(H5Writer& file, const std::string& path, const std::vector<std::string>& names) {
  const auto [bytes, offsets] = packed(names);
  file.write(path, bytes);
  file.write(path + "_offsets", offsets);
}

int64_t expected_class_names(const Dataset& data) {
  if (data.classes > 0) return data.classes;
  const Tensor& y = data.labels();
  return y && y.dims() == 2 ? y.size(1) : kAny;
}

std::string listed(const std::vector<std::string>& names, size_t shown) {
  std::string text;
  for (size_t k = 0; k < std::min(names.size(), shown); ++k) text += (k == 0 ? "" : ", ") + excerpt(names[k]);
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

std::string problem_of_encoder(const FeatureEncoder& encoder, int64_t features,
                               const std::vector<std::string>& names) {
  if (encoder.width() != features) return fmt::format("{} features, expected {}", encoder.width(), features);
  const std::vector<std::string> encoded = encoder.feature_names();
  for (size_t k = 0; k < names.size(); ++k)
    if (encoded[k] != names[k])
      return fmt::format("feature {}: \"{}\", expected \"{}\" by its name", k, excerpt(encoded[k]),
                         excerpt(names[k]));
  return "";
}

std::string problem_of_names(const std::vector<std::string>& names, std::string_view thing) {
  std::unordered_map<std::string_view, size_t> first;
  for (size_t c = 0; c < names.size(); ++c) {
    if (!is_utf8(names[c])) return fmt::format("{} {}: \"{}\", expected UTF-8", thing, c, excerpt(names[c]));
    if (const auto [other, fresh] = first.emplace(names[c], c); !fresh)
      return fmt::format("{} {}: \"{}\", as {} {}, expected distinct names", thing, c, excerpt(names[c]),
                         thing, other->second);
  }
  return "";
}

std::string utf8_name(std::string name) { return is_utf8(name) ? std::move(name) : printable(name); }

std::string labels_path(Task task) { return fmt::format("{}/y", word_for_split_items(task)); }

std::string class_names_path(Task task) { return fmt::format("{}/class_names", word_for_split_items(task)); }

}  // namespace adj::detail
