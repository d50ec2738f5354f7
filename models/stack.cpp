#include <adjoint/models/stack.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj::models {

Norms::Norms(nn::Module* model, const ModelOptions& options)
    : of_batches_{.momentum = options.norm_momentum} {
  if (options.norm == Norm::batch) batch_.emplace(model, "norms");
  if (options.norm == Norm::layer) layer_.emplace(model, "norms");
}

void Norms::add(int64_t width) {
  if (batch_) batch_->add(width, of_batches_);
  if (layer_) layer_->add(width);
}

Var Norms::operator()(size_t l, const Var& x, Activation activation, float p, bool training) const {
  if (batch_) return (*batch_)[l](x, {.activation = activation, .dropout = p});
  const Var normed = layer_ ? (*layer_)[l](x) : x;
  return activate_dropout(activation, normed, p, training);
}

Var edge_attributes_of(const std::string& model, const nn::Structure& structure, DType dtype) {
  const auto found = structure.edge_attributes().find("attr");
  ADJ_CHECK(found != structure.edge_attributes().end(),
            "{}: the edges have no attribute \"attr\", with which the model computes", model);
  return found->second.to(dtype);
}

std::string describe_edges(int64_t edge_dim) {
  return edge_dim == 0 ? "" : fmt::format(", {} edge attribute{}", edge_dim, edge_dim == 1 ? "" : "s");
}

std::optional<int64_t> edge_dim_of(const ModelOptions& o) {
  return o.edge_dim > 0 ? std::optional(o.edge_dim) : std::nullopt;
}

std::vector<ModelOption> stack_options(const std::vector<std::string>& names) {
  std::vector<ModelOption> options = model_options(names);
  options.push_back(norm_option<Norm::none, Norm::batch, Norm::layer>());
  options.push_back(model_option("residual"));
  return options;
}

std::vector<int64_t> widths_of(int64_t in, int64_t out, const ModelOptions& options) {
  std::vector<int64_t> widths(static_cast<size_t>(options.layers) + 1, options.hidden);
  widths.front() = in;
  widths.back() = out;
  return widths;
}

std::vector<int64_t> narrower(const std::vector<int64_t>& widths) {
  std::vector<int64_t> sums;
  for (size_t l = 0; l + 1 < widths.size(); ++l) sums.push_back(std::min(widths[l], widths[l + 1]));
  return sums;
}

std::string dashed(const std::vector<int64_t>& widths) { return fmt::format("{}", fmt::join(widths, "-")); }

std::string dashed_heads(int64_t in, int64_t out, const ModelOptions& s) {
  std::string text = fmt::format("{}", in);
  for (int64_t l = 1; l < s.layers; ++l) text += fmt::format("-{}x{}", s.heads, s.hidden);
  return text + fmt::format("-{}", out);
}

}  // namespace adj::models
