#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/softmax.h>
#include <adjoint/nn/jumping_knowledge.h>

namespace adj::nn {

Var jumping_knowledge(Jump mode, const std::vector<Var>& xs) {
  ADJ_CHECK(mode != Jump::lstm, "jumping_knowledge: an LSTM has parameters: expected nn::JumpingKnowledge");
  ADJ_CHECK(!xs.empty(), "jumping_knowledge: no layers");
  const Shape first = xs[0].shape();
  for (const Var& x : xs)
    ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == first[0] && (mode == Jump::cat || x.shape() == first),
              "jumping_knowledge: layers {} and {}, expected [N, F]{}", first.str(), x.shape().str(),
              mode == Jump::max ? " of equal shape" : " with equally many rows");
  const Var concatenation = cat(xs, 1);
  if (mode == Jump::cat) return concatenation;
  return max(reshape(concatenation, {first[0], static_cast<int64_t>(xs.size()), first[1]}), 1).values;
}

JumpingKnowledge::JumpingKnowledge(Jump mode, const JumpingKnowledgeOptions& options)
    : mode_(mode), options_(options) {
  const auto [channels, num_layers] = options;
  if (mode != Jump::lstm) return;
  ADJ_CHECK(channels > 0 && num_layers > 0 && channels * num_layers > 1,
            "JumpingKnowledge: an LSTM over {} layers of {} channels, expected two numbers or more",
            num_layers, channels);
  const int64_t hidden = num_layers * channels / 2;
  lstm.emplace(this, "lstm", channels, hidden);
  att.emplace(this, "att", 2 * hidden, 1, LinearOptions{.initial = Initial::fan_in});
}

Var JumpingKnowledge::operator()(const std::vector<Var>& xs) const {
  if (mode_ != Jump::lstm) return jumping_knowledge(mode_, xs);
  std::vector<Var> scores;
  for (const Var& h : (*lstm)(xs)) scores.push_back((*att)(h));
  const Var alpha = softmax(cat(scores, 1));
  Var y;
  for (size_t l = 0; l < xs.size(); ++l) {
    const Var term = narrow(alpha, 1, static_cast<int64_t>(l), 1) * xs[l];
    y = y ? y + term : term;
  }
  return y;
}

std::string JumpingKnowledge::describe() const {
  if (mode_ == Jump::lstm)
    return fmt::format("JumpingKnowledge(lstm, {} channels, {} layers)", options_.channels,
                       options_.num_layers);
  return fmt::format("JumpingKnowledge({})", mode_ == Jump::cat ? "cat" : "max");
}

}  // namespace adj::nn
