#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/models/family.h>

#include <algorithm>

namespace adj::models {

bool ModelFamily::takes(const std::string& name) const {
  return std::any_of(options.begin(), options.end(), [&](const auto& option) { return option.name == name; });
}

bool ModelFamily::is_typed(const ModelOptions& o) const {
  return std::ranges::find(typed, o.model.empty() ? models.front() : o.model) != typed.end();
}

std::vector<ModelOption> ModelFamily::all_options() const {
  std::vector<ModelOption> all;
  if (models.size() > 1) all.push_back(model_option("model"));
  all.insert(all.end(), options.begin(), options.end());
  for (const char* name : {"hidden", "layers", "dropout", "node-features", "walk-steps"})
    all.push_back(model_option(name));
  // The edges of a training of links or edges would be those that it predicts.
  if (typed.empty() && !takes("bits") && !takes("embedding"))
    for (const char* name : {"positional", "positional-size"}) all.push_back(model_option(name));
  return all;
}

void ModelFamily::check(const ModelOptions& o) const {
  if (!o.model.empty()) expect_one_of("model", o.model, models);
  ModelOptions checked = o;
  for (const ModelOption& option : all_options()) {
    if (const auto* integer = std::get_if<ModelOption::Field<int64_t>>(&option.field))
      expect_in(option.range, option.name, (*integer)(checked));
    if (const auto* number = std::get_if<ModelOption::Field<double>>(&option.field))
      expect_in(option.range, option.name, (*number)(checked));
  }
  if (o.node_features == NodeFeatures::learned && (takes("pool") || takes("bits")))
    usage_fail("--node-features learned: {}, expected file, constant, degree, one-hot-degree or random-walk",
               takes("bits") ? "an embedding of each node is not quantised"
                             : "graphs to predict have nodes without an embedding");
  for (const ModelOption& option : options)
    if (auto* const* choice = std::get_if<Choice (*)(ModelOptions&)>(&option.field))
      (*choice)(checked).set(option.name, (*choice)(checked).text());
  if (check_own != nullptr) check_own(o);
}

std::unique_ptr<Model> ModelFamily::make(int64_t in, int64_t out, const ModelOptions& o) const {
  check(o);
  return make_checked(in, out, o);
}

namespace {

/// What does not depend on the widths is asked of it.
std::unique_ptr<Model> narrow_model(const ModelFamily& family, ModelOptions options) {
  options.hidden = options.edge_dim = options.heads = 1;
  return family.make(1, 1, options);
}

}  // namespace

bool ModelFamily::exact_by_layers(const ModelOptions& o) const {
  return narrow_model(*this, o)->exact_by_layers();
}

EdgeSupport ModelFamily::edge_support(const ModelOptions& o) const {
  return narrow_model(*this, o)->edge_support();
}

}  // namespace adj::models
