#pragma once

#include <adjoint/nn/linear.h>

#include <vector>

namespace adj::nn {

/// Linear layers with relu and dropout between them: MLP({1433, 64, 7}, 0.5f). x [N, widths.front()], dense
/// or sparse -> [N, widths.back()]; dropout comes before each layer.
class MLP : public Module {
 public:
  explicit MLP(const std::vector<int64_t>& widths, float dropout = 0.0f);
  Var operator()(const Var& x) const { return from(1, layers_[0](dropout(x, dropout_))); }
  Var operator()(const Features& x) const { return from(1, layers_[0](dropout(x, dropout_))); }
  std::string describe() const override { return "MLP"; }

 private:
  Var from(size_t layer, Var y) const;

  ModuleList<Linear> layers_{this, "lins"};
  float dropout_;
};

}  // namespace adj::nn
