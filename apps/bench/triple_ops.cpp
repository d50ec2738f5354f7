// Scores and losses of knowledge graphs: queries of a batch on both sides, beside drawn entities.

#include "operands.h"
#include <adjoint/autograd/triple.h>

namespace adj::apps {

namespace {

constexpr int64_t kDrawn = 512;

/// Scores of 2 x --batch-size queries and the drawn entities, of --width numbers, or with their gradients.
Job scores(const Subject& s, TripleScore score, bool gradients) {
  const int64_t queries = 2 * s.batch_size, width = s.width + s.width % 2;
  const Var q = Var::parameter(random(s, {queries, width})), t = Var::parameter(random(s, {kDrawn, width}));
  const Tensor dy = random(s, {queries, kDrawn});
  const auto run = [=] {
    if (!gradients) {
      const NoGrad no_grad;
      (void)entity_scores(score, q, t);
      return;
    }
    for (Var leaf : {q, t}) leaf.zero_grad();
    entity_scores(score, q, t).backward(dy);
  };
  const double passes = gradients ? 3.0 : 1.0,  // scores, then what each side gets
      each = score == TripleScore::dot ? 2.0 : 3.0;
  return {fmt::format("{} x {} x {}", queries, kDrawn, width), passes * bytes_of({q.value(), t.value(), dy}),
          passes * each * static_cast<double>(queries) * static_cast<double>(kDrawn * width), run};
}

/// The loss of such scores with its gradients.
Job loss(const Subject& s, TripleLoss kind) {
  const int64_t queries = 2 * s.batch_size;
  const Var y = Var::parameter(random(s, {queries})), drawn = Var::parameter(random(s, {queries, kDrawn}));
  return {fmt::format("{} x {}", queries, kDrawn), 3.0 * bytes_of({drawn.value()}), 0.0, [=] {
            for (Var leaf : {y, drawn}) leaf.zero_grad();
            drawn_loss({kind, 6.0, 0.5}, y, drawn).backward();
          }};
}

}  // namespace

std::vector<Op> triple_ops() {
  std::vector<Op> ops;
  for (const auto& [name, score] : {std::pair("dot", TripleScore::dot),
                                    {"l1", TripleScore::l1},
                                    {"l2", TripleScore::l2},
                                    {"modulus", TripleScore::modulus}})
    for (const bool gradients : {false, true})
      ops.push_back({fmt::format("triple_{}{}", name, gradients ? "_gradients" : ""),
                     gradients ? "the same with gradients of both sides"
                               : "scores of queries and drawn entities, of a knowledge graph",
                     [=, score = score](const Subject& s) { return scores(s, score, gradients); }});
  for (const TripleLoss kind : {TripleLoss::softmax, TripleLoss::bce})
    ops.push_back({fmt::format("drawn_loss_{}", name_of(kind)), "their loss and its gradients",
                   [kind](const Subject& s) { return loss(s, kind); }});
  return ops;
}

}  // namespace adj::apps
