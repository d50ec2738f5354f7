#pragma once

#include <adjoint/nn/module.h>

#include <vector>

namespace adj::nn {

/// One bidirectional LSTM layer (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000):
/// torch.nn.LSTM(in, hidden, bidirectional=True), with its names, gate order (input, forget, cell, output)
/// and initialisation, all uniform in ±1 / sqrt(hidden). In each direction, from h = c = 0,
///   i, f, o = σ(x W_ih + b_ih + h W_hh + b_hh),  g = tanh(likewise),  c = f c + i g,  h = o tanh(c).
/// The four gates use separate products. One wide product would have its columns split, and concatenated
/// again in the backward pass, at every step.
class LSTM : public Module {
 public:
  LSTM(int64_t in, int64_t hidden);
  /// xs[t] [N,in], at least one -> y[t] [N, 2 hidden]: the forward state at t, then the reverse state. With
  /// one step weight_hh gets no gradient, as there is no previous state.
  std::vector<Var> operator()(const std::vector<Var>& xs) const;
  std::string describe() const override;

  /// Parameters of one direction, the gates side by side.
  struct Direction {
    Var weight_ih;         ///< [in, 4 hidden]
    Var weight_hh;         ///< [hidden, 4 hidden]
    Var bias_ih, bias_hh;  ///< [4 hidden]
  };
  Direction forward;  ///< "weight_ih_l0" and so on
  Direction reverse;  ///< "weight_ih_l0_reverse" and so on

 private:
  int64_t in_, hidden_;
};

}  // namespace adj::nn
