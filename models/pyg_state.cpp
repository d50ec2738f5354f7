#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/safetensors.h>
#include <adjoint/models/pyg_state.h>

#include <set>

namespace adj::nn {

namespace {

constexpr const char* kBatchCount = "num_batches_tracked";

/// `name` with its longest prefix among `names` (whole parts) replaced.
std::string renamed(const std::string& name, const std::map<std::string, std::string>& names) {
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& rule : names) {
    const std::string& part = rule.first;
    const bool begins = part.empty() || name == part || name.starts_with(part + ".");
    if (begins && (best == nullptr || part.size() > best->first.size())) best = &rule;
  }
  if (best == nullptr) return name;
  const auto& [part, replacement] = *best;
  const std::string rest = name.substr(std::min(name.size(), part.empty() ? 0 : part.size() + 1));
  return replacement.empty() || rest.empty() ? replacement + rest : replacement + "." + rest;
}

/// "norm.module.weight" for "norm.weight", "module.weight" for "weight".
std::string wrapped(const std::string& name) {
  const size_t last = name.rfind('.') + 1;  // 0 without a dot
  return name.substr(0, last) + "module." + name.substr(last);
}

/// Transpose of [a, b]. On the host: weights are small, and this is done once.
Tensor transposed(const Tensor& x) {
  const int64_t rows = x.size(0), cols = x.size(1);
  const auto source = x.to(DType::f64).to_vector<double>();
  std::vector<double> target(source.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      target[static_cast<size_t>(j * rows + i)] = source[static_cast<size_t>(i * cols + j)];
  return Tensor::from(target, {cols, rows});
}

/// Equal up to leading extents of 1: PyG's attention vectors are [1, heads, channels].
bool same_but_for_ones(const Shape& file, const Shape& shape) {
  int lead = 0;
  while (file.dims() - lead > shape.dims() && file[lead] == 1) ++lead;
  if (file.dims() - lead != shape.dims()) return false;
  for (int d = 0; d < shape.dims(); ++d)
    if (file[lead + d] != shape[d]) return false;
  return true;
}

std::vector<std::string> names_in(const H5Reader& file) { return file.children(""); }
std::vector<std::string> names_in(const SafetensorsReader& file) { return file.names(); }

Tensor floats(const H5Reader& file, const std::string& name) {
  return file.tensor(name, {DType::f32, DType::f64});
}
Tensor floats(const SafetensorsReader& file, const std::string& name) {
  Tensor found = file.tensor(name);
  if (!is_floating(found.dtype())) file.fail(name, "{}, expected floating numbers", name_of(found.dtype()));
  return found;
}

template <class File>
void load_from(const File& file, Module& module, const std::map<std::string, std::string>& names) {
  const auto state = module.state();
  const std::vector<PygLayout> layouts = module.pyg_layout();
  std::map<std::string, Tensor> loaded;
  std::set<std::string> used;
  for (size_t i = 0; i < state.size(); ++i) {
    const auto& [name, tensor] = state[i];
    std::string place = renamed(layouts[i].name, names);
    const Shape expected =
        layouts[i].transposed ? Shape{tensor.size(1), tensor.size(0)} : Shape(tensor.shape());
    if (!file.has(place) && file.has(wrapped(place))) place = wrapped(place);
    if (!file.has(place)) file.fail(place, "missing, expected {} for {} of the model", expected.str(), name);
    Tensor found = floats(file, place);
    if (!same_but_for_ones(found.shape(), expected))
      file.fail(place, "{}, expected {} for {} of the model", found.shape().str(), expected.str(), name);
    found = found.reshape(expected);
    if (layouts[i].transposed) found = transposed(found);
    loaded.emplace(name, found.to(tensor.dtype()));
    used.insert(place);
  }
  for (const std::string& name : names_in(file))
    if (!used.contains(name) && !name.ends_with(kBatchCount))
      file.fail(name, "left over, the model has no such part");
  module.load_state(loaded);
}

}  // namespace

std::vector<std::string> pyg_state_names(const std::string& path) {
  return path.ends_with(".safetensors") ? names_in(SafetensorsReader::open(path))
                                        : names_in(H5Reader::open(path));
}

void load_pyg_state(Module& module, const std::string& path,
                    const std::map<std::string, std::string>& names) {
  if (path.ends_with(".safetensors"))
    load_from(SafetensorsReader::open(path), module, names);
  else
    load_from(H5Reader::open(path), module, names);
}

}  // namespace adj::nn
