#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/lstm.h>

namespace adj::nn {

namespace {

struct Gate {
  Var weight_ih, weight_hh, bias;
};

/// The gates of one direction.
struct Gates {
  Gates(const LSTM::Direction& d, int64_t hidden) {
    const Var both = d.bias_ih + d.bias_hh;
    const auto gate = [&](int64_t k) {
      return Gate{narrow(d.weight_ih, 1, k * hidden, hidden), narrow(d.weight_hh, 1, k * hidden, hidden),
                  narrow(both, 0, k * hidden, hidden)};
    };
    input = gate(0), forget = gate(1), cell = gate(2), output = gate(3);
  }
  LSTM::State step(const Var& x, const LSTM::State& before) const {
    const auto preactivation = [&](const Gate& g) {
      return before.hidden ? linear_sum(
                                 x, g.weight_ih, g.bias, [&] { return before.hidden; }, g.weight_hh)
                           : linear(x, g.weight_ih, g.bias);
    };
    const Var added = sigmoid(preactivation(input)) * tanh(preactivation(cell));
    LSTM::State now;
    now.cell = before.cell ? sigmoid(preactivation(forget)) * before.cell + added : added;
    now.hidden = sigmoid(preactivation(output)) * tanh(now.cell);
    return now;
  }
  Gate input, forget, cell, output;
};

/// Hidden states of one direction, in reading order.
std::vector<Var> read(const LSTM::Direction& d, const std::vector<Var>& xs, int64_t hidden) {
  const Gates gates(d, hidden);
  LSTM::State state;
  std::vector<Var> read;
  for (const Var& x : xs) read.push_back((state = gates.step(x, state)).hidden);
  return read;
}

}  // namespace

LSTM::LSTM(int64_t in, int64_t hidden, bool bidirectional)
    : in_(in), hidden_(hidden), bidirectional_(bidirectional) {
  ADJ_CHECK(in > 0 && hidden > 0, "LSTM: expected positive widths, got {} -> {}", in, hidden);
  const auto uniform = [&](Shape shape) { return fan_in_bias(hidden, shape.numel()).reshape(shape); };
  const auto add = [&](Direction& d, const std::string& suffix) {
    add_parameter("weight_ih_l0" + suffix, d.weight_ih, uniform({in, 4 * hidden}), {.transposed = true});
    add_parameter("weight_hh_l0" + suffix, d.weight_hh, uniform({hidden, 4 * hidden}), {.transposed = true});
    add_parameter("bias_ih_l0" + suffix, d.bias_ih, uniform({4 * hidden}));
    add_parameter("bias_hh_l0" + suffix, d.bias_hh, uniform({4 * hidden}));
  };
  add(forward, "");
  if (bidirectional) add(reverse, "_reverse");
}

LSTM::State LSTM::step(const Var& x, const State& before) const {
  return Gates(forward, hidden_).step(x, before);
}

std::vector<Var> LSTM::operator()(const std::vector<Var>& xs) const {
  ADJ_CHECK(!xs.empty(), "LSTM: a sequence without steps");
  for (const Var& x : xs)
    ADJ_CHECK(x && x.shape() == Shape({xs[0].size(0), in_}), "LSTM: steps {} and {}, expected [N, {}]",
              xs[0] ? xs[0].shape().str() : "absent", x ? x.shape().str() : "absent", in_);
  std::vector<Var> before = read(forward, xs, hidden_);
  if (!bidirectional_) return before;
  const std::vector<Var> after = read(reverse, std::vector<Var>(xs.rbegin(), xs.rend()), hidden_);
  std::vector<Var> y;
  for (size_t t = 0; t < xs.size(); ++t) y.push_back(cat({before[t], after[xs.size() - 1 - t]}, 1));
  return y;
}

std::string LSTM::describe() const {
  return fmt::format("LSTM({} -> {}{})", in_, bidirectional_ ? "2 x " : "", hidden_);
}

}  // namespace adj::nn
