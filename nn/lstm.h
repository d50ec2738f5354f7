#pragma once

#include <adjoint/nn/module.h>

#include <vector>

namespace adj::nn {

/// One LSTM layer, bidirectional unless told otherwise (Hochreiter & Schmidhuber 1997, with the forget gate
/// of Gers et al. 2000): torch.nn.LSTM(in, hidden, bidirectional=…), with its names, gate order (input,
/// forget, cell, output) and initialisation, all uniform in ±1 / sqrt(hidden). In each direction, from h = c
/// = 0,
///   i, f, o = σ(x W_ih + b_ih + h W_hh + b_hh),  g = tanh(likewise),  c = f c + i g,  h = o tanh(c).
/// The four gates use separate products. One wide product would have its columns split, and concatenated
/// again in the backward pass, at every step.
class LSTM : public Module {
 public:
  LSTM(int64_t in, int64_t hidden, bool bidirectional = true);
  /// xs[t] [N,in], at least one -> y[t] [N, 2 hidden] (or [N, hidden]): the forward state at t, then the
  /// reverse state. With one step weight_hh gets no gradient, as there is no previous state.
  std::vector<Var> operator()(const std::vector<Var>& xs) const;

  /// State between the steps of one direction, [N, hidden] each; absent: zeros.
  struct State {
    /// h and c, [N, hidden].
    Var hidden, cell;
  };
  /// One step of the forward direction.
  State step(const Var& x, const State& before) const;
  std::string describe() const override;

  /// Parameters of one direction, the gates side by side.
  struct Direction {
    Var weight_ih;         ///< [in, 4 hidden]
    Var weight_hh;         ///< [hidden, 4 hidden]
    Var bias_ih, bias_hh;  ///< [4 hidden]
  };
  Direction forward;  ///< "weight_ih_l0" and so on
  Direction reverse;  ///< "weight_ih_l0_reverse" and so on, if bidirectional

 private:
  int64_t in_, hidden_;
  bool bidirectional_;
};

}  // namespace adj::nn
