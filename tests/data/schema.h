#pragma once

#include <adjoint/data/hdf5_file.h>

#include <functional>
#include <map>
#include <string>
#include <variant>

namespace adj::test {

/// Contents of a schema file, or another HDF5 file, to be modified and written.
struct SchemaFile {
  using Value = std::variant<int64_t, double, std::string>;
  std::map<std::string, Tensor> datasets;
  std::map<std::string, Value> attributes;  ///< of the root, or "nodes@x_cols"

  void write(const std::string& path, int gzip = 0) const {
    H5Writer file(path, gzip);
    for (const auto& [name, tensor] : datasets) file.write(name, tensor);
    for (const auto& [name, value] : attributes) {
      const size_t separator = name.find('@');
      const std::string object = separator == std::string::npos ? "" : name.substr(0, separator);
      std::visit(
          [&](const auto& v) {
            file.attribute(object, name.substr(separator == std::string::npos ? 0 : separator + 1), v);
          },
          value);
    }
    file.commit();
  }
};

/// Six nodes, eight edges, three classes, three feature columns (dense unless `sparse`), two splits, weights.
inline SchemaFile small_file(bool sparse = false) {
  using Ints = std::vector<int32_t>;
  SchemaFile f;
  f.attributes["format"] = "adjoint.graph";
  f.attributes["version"] = 1;
  f.attributes["name"] = "small";
  f.attributes["num_nodes"] = 6;
  f.attributes["num_classes"] = 3;
  f.attributes["task"] = "node_class";
  f.attributes["undirected"] = 0;
  f.datasets["edges/src"] = Tensor::from(Ints{5, 4, 3, 2, 1, 0, 0, 1});
  f.datasets["edges/dst"] = Tensor::from(Ints{0, 1, 2, 3, 4, 5, 0, 0});
  f.datasets["edges/weight"] = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  f.datasets["edges/attr"] =
      Tensor::from(std::vector<float>{1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8, -8}, {8, 2});
  if (sparse) {
    f.attributes["nodes@x_cols"] = 3;
    f.datasets["nodes/x_indptr"] = Tensor::from(std::vector<int64_t>{0, 2, 2, 3, 4, 5, 6});
    f.datasets["nodes/x_indices"] = Tensor::from(Ints{2, 0, 1, 1, 2, 0});
    f.datasets["nodes/x_data"] = Tensor::from(std::vector<float>{20, 1, 2, 3, 4, 5});
  } else {
    f.datasets["nodes/x"] = Tensor::from(
        std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, {6, 3});
  }
  f.datasets["nodes/y"] = Tensor::from(Ints{0, 1, 2, 0, 1, 2});
  f.datasets["splits/train"] = Tensor::from(Ints{0, 1});
  f.datasets["splits/val"] = Tensor::from(Ints{2, 3});
  f.datasets["splits/test"] = Tensor::from(Ints{4, 5});
  f.datasets["splits/1/train"] = Tensor::from(Ints{5});
  f.datasets["splits/1/val"] = Tensor::from(Ints{4});
  f.datasets["splits/1/test"] = Tensor::from(Ints{3, 2});
  return f;
}

/// Changes to a file, for tables of faults.
using SchemaChange = std::function<void(SchemaFile&)>;

inline SchemaChange put(const std::string& path, const Tensor& tensor) {
  return [=](SchemaFile& f) { f.datasets[path] = tensor; };
}
/// With `value` as element `index`.
template <class T>
SchemaChange poke(const std::string& path, T value, int64_t index) {
  return [=](SchemaFile& f) {
    f.datasets[path] = f.datasets[path].clone();
    f.datasets[path].template mutable_data<T>()[index] = value;
  };
}
inline SchemaChange attribute(const std::string& name, const SchemaFile::Value& value) {
  return [=](SchemaFile& f) { f.attributes[name] = value; };
}
/// Without these datasets and attributes.
inline SchemaChange gone(const std::vector<std::string>& names) {
  return [=](SchemaFile& f) {
    for (const std::string& name : names) f.datasets.erase(name), f.attributes.erase(name);
  };
}
inline SchemaChange each(const std::vector<SchemaChange>& changes) {
  return [=](SchemaFile& f) {
    for (const SchemaChange& change : changes) change(f);
  };
}

/// The only split.
inline void set_split(SchemaFile& f, const std::vector<int32_t>& train, const std::vector<int32_t>& val,
                      const std::vector<int32_t>& test) {
  std::erase_if(f.datasets, [](const auto& dataset) { return dataset.first.starts_with("splits/"); });
  f.datasets["splits/train"] = Tensor::from(train);
  f.datasets["splits/val"] = Tensor::from(val);
  f.datasets["splits/test"] = Tensor::from(test);
}

}  // namespace adj::test
