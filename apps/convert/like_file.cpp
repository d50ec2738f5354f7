#include "like_file.h"

#include <adjoint/adjoint.h>

namespace adj::apps {

namespace {

ModelDescription description_in(const std::string& path) {
  return is_integer_model(path) ? IntegerModel::load(path).description()
                                : detail::description_of(models::load_checkpoint(path));
}

bool is_dataset(const std::string& path) {
  const H5Reader file = H5Reader::open(path, {"@format"});
  return file.has_attribute("", "format") && file.text("", "format") == "adjoint.graph";
}

}  // namespace

LikeFile read_like_file(const std::string& path) {
  if (is_dataset(path)) return {path, load_feature_encoder(path)};
  const ModelDescription model = description_in(path);
  if (!model.encoder.empty()) return {path, model.encoder};
  if (model.feature_names.empty())
    data_fail("{}: a model without names of columns, expected one that was trained on named ones",
              excerpt(path));
  return {path, FeatureEncoder::numbers(model.feature_names)};
}

std::optional<LikeFile> read_like_attributes(const std::string& path) {
  const auto found = [&](FeatureEncoder encoder, const std::vector<std::string>& names) {
    if (encoder.empty()) encoder = FeatureEncoder::numbers(names);
    return encoder.empty() ? std::nullopt : std::optional(LikeFile{path, std::move(encoder)});
  };
  if (is_dataset(path)) {
    const Dataset data = load_dataset(path);
    return found(data.attr_encoder, data.attr_names);
  }
  const ModelDescription model = description_in(path);
  return found(model.attr_encoder, model.attr_names);
}

}  // namespace adj::apps
