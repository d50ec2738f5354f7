#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/models/preprocessing.h>

namespace adj::models {

namespace {

const Tensor& tensor_of(const Checkpoint& checkpoint, const std::string& name, DType dtype) {
  const Tensor& found = checkpoint.tensor(name);
  if (found.dims() != 1 || found.dtype() != dtype)
    data_fail("{}: tensors/{}: {}, expected {} [*]", checkpoint.path, name, found.str(), name_of(dtype));
  return found;
}

std::vector<std::string> class_names_of(const Checkpoint& checkpoint) {
  if (!checkpoint.tensors.contains("classes.names")) return {};
  const detail::PackedNames names{tensor_of(checkpoint, "classes.names", DType::u8),
                                  tensor_of(checkpoint, "classes.offsets", DType::i64)};
  const std::vector<int64_t> ends = names.offsets.to_vector<int64_t>();
  bool ascending = !ends.empty() && ends.front() == 0 && ends.back() == names.bytes.numel();
  for (size_t k = 1; k < ends.size(); ++k) ascending = ascending && ends[k] >= ends[k - 1];
  if (!ascending)
    data_fail("{}: tensors/classes.offsets: expected ascending numbers from 0 to {}", checkpoint.path,
              names.bytes.numel());
  std::vector<std::string> texts = detail::unpacked(names);
  if (std::ssize(texts) != checkpoint.integer("outputs"))
    data_fail("{}: tensors/classes.offsets: {} names, expected {}", checkpoint.path, texts.size(),
              checkpoint.integer("outputs"));
  if (const std::string problem = detail::problem_of_names(texts); !problem.empty())
    data_fail("{}: tensors/classes.names: {}", checkpoint.path, problem);
  return texts;
}

FeatureQuantization quantization_of(const Checkpoint& checkpoint) {
  const int bits = Preprocessing::feature_bits(checkpoint);
  if (bits == FeatureQuantization::kNone) return {};
  const Tensor &scale = tensor_of(checkpoint, "features.scale", DType::f32),
               &zero = tensor_of(checkpoint, "features.zero", DType::f32);
  const int64_t columns = checkpoint.integer("features");
  if (scale.numel() != 1 && scale.numel() != columns)
    data_fail("{}: tensors/features.scale: {}, expected [1] or [{}]", checkpoint.path, scale.str(), columns);
  try {
    return {bits, scale, zero};
  } catch (const Error& error) {
    data_fail("{}: tensors/features.scale: {}", checkpoint.path, error.what());
  }
}

}  // namespace

FeatureScaling::Kind Preprocessing::scaling_kind(const Checkpoint& checkpoint) {
  if (const auto fact = checkpoint.facts.find("features.scaling"); fact != checkpoint.facts.end()) {
    if (const auto kind = value_named<FeatureScaling::Kind>(fact->second)) return *kind;
    data_fail("{}: facts@features.scaling: '{}', expected none, rows or standard", checkpoint.path,
              excerpt(fact->second));
  }
  const auto raw = checkpoint.facts.find("option.raw-features");
  if (raw == checkpoint.facts.end()) data_fail("{}: facts@features.scaling: missing", checkpoint.path);
  if (raw->second != "true" && raw->second != "false")
    data_fail("{}: facts@option.raw-features: '{}', expected true or false", checkpoint.path,
              excerpt(raw->second));
  return raw->second == "true" ? FeatureScaling::Kind::none : FeatureScaling::Kind::rows;
}

int Preprocessing::feature_bits(const Checkpoint& checkpoint) {
  if (!checkpoint.facts.contains("features.bits")) return FeatureQuantization::kNone;
  const int64_t bits = checkpoint.integer("features.bits", 1, FeatureQuantization::kNone);
  if (bits > PackedRows::kMostBits && bits != FeatureQuantization::kNone)
    data_fail("{}: facts@features.bits: {}, expected 1 to 8 or {}", checkpoint.path, bits,
              FeatureQuantization::kNone);
  return static_cast<int>(bits);
}

Preprocessing Preprocessing::load(const Checkpoint& checkpoint) {
  Preprocessing loaded;
  loaded.class_names = class_names_of(checkpoint);
  loaded.quantization = quantization_of(checkpoint);
  const FeatureScaling::Kind kind = scaling_kind(checkpoint);
  if (kind == FeatureScaling::Kind::rows) loaded.scaling = FeatureScaling::rows();
  if (kind != FeatureScaling::Kind::standard) return loaded;
  const Tensor &mean = tensor_of(checkpoint, "features.mean", DType::f32),
               &deviation = tensor_of(checkpoint, "features.deviation", DType::f32);
  if (mean.numel() != checkpoint.integer("features"))
    data_fail("{}: tensors/features.mean: {}, expected [{}]", checkpoint.path, mean.str(),
              checkpoint.integer("features"));
  try {
    loaded.scaling = FeatureScaling::standard(mean, deviation);
  } catch (const Error& error) {
    data_fail("{}: tensors/features.deviation: {}", checkpoint.path, error.what());
  }
  return loaded;
}

void Preprocessing::save(Checkpoint& checkpoint) const {
  if (scaling.kind() == FeatureScaling::Kind::standard) {
    checkpoint.tensors["features.mean"] = scaling.mean();
    checkpoint.tensors["features.deviation"] = scaling.deviation();
  }
  if (quantization.quantizes()) {
    checkpoint.tensors["features.scale"] = quantization.scale();
    checkpoint.tensors["features.zero"] = quantization.zero();
  }
  if (class_names.empty()) return;
  const auto [bytes, offsets] = detail::packed(class_names);
  checkpoint.tensors["classes.names"] = bytes;
  checkpoint.tensors["classes.offsets"] = offsets;
}

}  // namespace adj::models
