#pragma once

#include <adjoint/nn/module.h>

namespace adj::nn {

/// Drops with probability p in training mode; identity in evaluation mode.
class Dropout : public Module {
 public:
  explicit Dropout(float p) : p_(p) { (void)dropout_rule(p); }
  Var operator()(const Var& x) const { return dropout(x, p_); }  ///< scales the rest by 1 / (1 - p)
  Features operator()(const Features& x) const { return dropout(x, p_); }
  std::string describe() const override { return fmt::format("Dropout({})", p_); }

 private:
  float p_;
};

}  // namespace adj::nn
