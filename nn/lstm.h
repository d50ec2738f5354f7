#pragma once

#include <adjoint/nn/module.h>

#include <vector>

namespace adj::nn {

/// One layer of long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al.
/// 2000) that reads a sequence from both ends: torch.nn.LSTM(in, hidden, bidirectional=True), with its names,
/// order of gates (input, forget, cell, output) and initialisation, all uniform in ±1 / sqrt(hidden). In each
/// direction, from h = c = 0,
///   i, f, o = σ(x W_ih + b_ih + h W_hh + b_hh),  g = tanh(likewise),  c = f c + i g,  h = o tanh(c).
/// Four maps of their own stand in the place of one whose columns would be taken apart, and put together
/// again in the backward pass, at every step.
class LSTM : public Module {
 public:
  LSTM(int64_t in, int64_t hidden);
  /// xs[t] [N,in], at least one -> y[t] [N, 2 hidden]: what has been read up to t, then what from t on. Over
  /// one step weight_hh takes no gradient, as nothing comes before it.
  std::vector<Var> operator()(const std::vector<Var>& xs) const;
  std::string describe() const override;

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
