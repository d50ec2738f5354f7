#include "stack.h"

namespace adj::apps {

Norms::Norms(nn::Module* model, const std::string& kind) {
  if (kind == "batch") batch_.emplace(model, "norms");
  if (kind == "layer") layer_.emplace(model, "norms");
}

void Norms::add(int64_t width) {
  if (batch_) batch_->add(width);
  if (layer_) layer_->add(width);
}

Var Norms::operator()(size_t l, const Var& x, Activation activation, float p, bool training) {
  if (batch_) return (*batch_)[l](x, {.activation = activation, .dropout = p});
  const Var normed = layer_ ? (*layer_)[l](x) : x;
  return activate_dropout(activation, normed, p, training);
}

void add_stack_options(boost::program_options::options_description_easy_init& add, Settings& s) {
  add("norm", with_default(s.norm, "NAME"), "between the layers: none, batch or layer")(
      "residual", boost::program_options::bool_switch(&s.residual),
      "add what enters a hidden layer to what leaves it");
}

void check_stack_options(const Settings& s) { expect_one_of("norm", s.norm, {"none", "batch", "layer"}); }

void add_head_options(boost::program_options::options_description_easy_init& add, Settings& s) {
  add("heads", with_default(s.heads), "of a hidden layer, each as wide as --hidden says")(
      "attention-dropout", with_default(s.attention_dropout, "P"),
      "probability of dropping an attention coefficient");
}

void check_head_options(const Settings& s) {
  expect_integer("heads", s.heads, 1, 1 << 12);
  expect_probability("attention-dropout", s.attention_dropout);
}

std::string dashed_heads(int64_t in, int64_t out, const Settings& s) {
  std::string text = fmt::format("{}", in);
  for (int64_t l = 1; l < s.layers; ++l) text += fmt::format("-{}x{}", s.heads, s.hidden);
  return text + fmt::format("-{}", out);
}

}  // namespace adj::apps
