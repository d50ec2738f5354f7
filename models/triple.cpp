#include <adjoint/core/choice.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/triple/scores.h>
#include <adjoint/models/triple.h>
#include <adjoint/nn/init.h>

#include <numbers>

namespace adj::models {

namespace {

Tensor initial_relations(int64_t rows, const TripleModelOptions& options) {
  ADJ_CHECK(options.width >= 1 && (!is_complex(options.model) || options.width % 2 == 0),
            "{}: width {}, expected {}", name_of(options.model), options.width,
            is_complex(options.model) ? "an even number" : "1 or more");
  ADJ_CHECK(options.norm == 1 || options.norm == 2, "{}: norm {}, expected 1 or 2", name_of(options.model),
            options.norm);
  const Shape shape{rows, relation_width(options.model, options.width)};
  if (options.model == TripleModel::rotate)
    return random_uniform(shape, -std::numbers::pi, std::numbers::pi, default_generator());
  return random_normal(shape, 0.0, options.deviation, default_generator());
}

}  // namespace

TripleEmbedding::TripleEmbedding(int64_t entities, int64_t relations, const TripleModelOptions& options)
    : options_(options),
      relations_(relations),
      entity_(this, "entity",
              random_normal({entities, options.width}, 0.0, options.deviation, default_generator())),
      relation_(this, "relation",
                initial_relations(options.reciprocal ? 2 * relations : relations, options)) {}

TripleScore TripleEmbedding::score() const {
  if (options_.model == TripleModel::transe) return options_.norm == 1 ? TripleScore::l1 : TripleScore::l2;
  return options_.model == TripleModel::rotate ? TripleScore::modulus : TripleScore::dot;
}

Tensor TripleEmbedding::scores(const Tensor& known, const Tensor& relation, bool heads) const {
  const NoGrad no_grad;
  const Tensor &e = entity_.value(), &r = relation_.value();
  Tensor x = Tensor::empty({known.numel(), e.size(1)}, e.dtype(), e.device()),
         factor = Tensor::empty({known.numel(), r.size(1)}, e.dtype(), e.device());
  const bool other = heads && options_.reciprocal;  // the second vectors
  kernels::gather_rows({.x = e, .index = known, .y = x});
  kernels::gather_rows({.x = other ? r.rows(relations_, 2 * relations_) : r, .index = relation, .y = factor});
  const Var q = triple_queries(options_.model, Var(x), Var(factor), heads && !other ? 0 : known.numel());
  return entity_scores(score(), q, Var(e)).value();
}

std::string TripleEmbedding::describe() const {
  return fmt::format("{} {} entities, {} relations, width {}", name_of(options_.model), entity_.size(0),
                     relations_, options_.width);
}

}  // namespace adj::models
