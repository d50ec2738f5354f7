#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/triple/batches.h>
#include <adjoint/training/triples.h>

#include <algorithm>

namespace adj::training {

namespace {

/// The triples, and with `reciprocal` those that ask for their heads by relations behind the others.
std::vector<int32_t> with_reciprocals(const Triples& data, bool reciprocal) {
  std::vector<int32_t> all = data.train.to_vector<int32_t>();
  const size_t count = all.size();
  for (size_t k = 0; reciprocal && k < count; k += 3)
    all.insert(all.end(), {all[k + 2], all[k + 1] + static_cast<int32_t>(data.num_relations()), all[k]});
  return all;
}

std::unique_ptr<optim::Optimizer> optimizer_of(const models::TripleEmbedding& model, const TripleOptions& o) {
  if (*o.optimizer == TripleOptimizer::adam)
    return std::make_unique<optim::Adam>(std::vector<optim::Group<optim::AdamOptions>>{
        {{model.entity()}, {.lr = o.lr}}, {{model.relation()}, {.lr = o.lr}}});
  return std::make_unique<optim::Adagrad>(std::vector<optim::Group<optim::AdagradOptions>>{
      {{model.entity()}, {.lr = o.lr}}, {{model.relation()}, {.lr = o.lr}}});
}

}  // namespace

TripleRun::TripleRun(const TripleOptions& options)
    : EmbeddingRun("train_kge", options),
      o_(options),
      data_(load_triples(o_)),
      model_(
          data_.num_entities(), data_.num_relations(),
          models::TripleModelOptions{.model = o_.model,
                                     .width = o_.width,
                                     .norm = o_.norm,
                                     .reciprocal = o_.reciprocal || *o_.training != TripleTraining::negatives,
                                     .deviation = o_.deviation}),
      optimizer_((model_.to(device()), optimizer_of(model_, o_))),
      val_ranks_(data_.val, {data_.train, data_.val, data_.test}, device()),
      test_ranks_(data_.test, {data_.train, data_.val, data_.test}, device()) {
  const std::vector<int32_t> all = with_reciprocals(data_, model_.options().reciprocal);
  Tensor triples = Tensor::from(all, Shape{std::ssize(all) / 3, 3});
  if (*o_.training != TripleTraining::negatives) {
    // 1vsAll: of each triple its tail. KvsAll: of each query all tails, and one triple for the query.
    if (*o_.training == TripleTraining::k_vs_all) {
      const KnownEntities known = known_entities(triples, {triples}, false);
      const std::vector<int32_t> rows = known.rows.to_vector<int32_t>();
      std::vector<int32_t> first(3 * static_cast<size_t>(known.offsets.numel() - 2), -1);
      for (size_t k = 0; k < rows.size(); ++k)
        if (const size_t place = 3 * static_cast<size_t>(rows[k]); first[place] < 0)
          std::copy_n(all.begin() + static_cast<int64_t>(3 * k), 3,
                      first.begin() + static_cast<int64_t>(place));
      triples = Tensor::from(first, Shape{std::ssize(first) / 3, 3});
      targets_ = {known.offsets.to(device()), known.ids.to(device()), {}};
    } else {
      std::vector<int64_t> offsets(all.size() / 3 + 1);
      std::vector<int32_t> tails;
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<int64_t>(k);
      for (size_t k = 2; k < all.size(); k += 3) tails.push_back(all[k]);
      targets_ = {Tensor::from(offsets, device()), Tensor::from(tails, device()), {}};
    }
  }
  const int64_t count = triples.size(0), batch = std::min(o_.batch_size, count);
  const int64_t steps = ceil_div(count, batch);
  if (o_.epochs == TripleOptions::kUnset)
    o_.epochs = std::min(TripleOptions::kMostUsualEpochs, ceil_div(TripleOptions::kUsualSteps, steps));
  RunOptions rates;
  rates.epochs = o_.epochs;
  rates.schedule = *o_.schedule;
  schedule_ = rates.make_schedule();
  triples_ = triples.to(device());
  order_ = Tensor::empty({count}, DType::i32, device());
  position_ = Tensor::zeros({1}, DType::i64, device());
  const int64_t drawn = *o_.training == TripleTraining::negatives ? o_.negatives : 0;
  batch_ = {Tensor::empty({batch}, DType::i32, device()), Tensor::empty({batch}, DType::i32, device()),
            Tensor::empty({2 * batch + drawn}, DType::i32, device())};
  targets_.rows = batch_.number;
  if (drawn > 0) {
    entity_gradient_ = Tensor::empty({2 * batch + drawn, o_.width}, DType::f32, device());
    relation_gradient_ = Tensor::empty({batch, model_.relation().size(1)}, DType::f32, device());
    if (o_.weights == TripleWeights::frequency) {
      weights_ = frequency_weights(triples).reshape({count, 1}).to(device());
      batch_weight_ = Tensor::empty({batch, 1}, DType::f32, device());
    }
  }
  prepare(model_, *optimizer_, o_.epochs, steps, {"epoch", "train_loss", "val_mrr", "val_hits_10"});
  if (schedule_) state().require("option.epochs", fmt::format("{}", o_.epochs));
  state().add("sample", generator_for(Purpose::sample));
  log_info(
      "{}: {} entities, {} relations, {} triples train, {} validate, {} test; {}, {} with {}, {} steps an "
      "epoch",
      data_.name, data_.num_entities(), data_.num_relations(), data_.train.size(0), data_.val.size(0),
      data_.test.size(0), model_.describe(), name_of(*o_.training), name_of(*o_.loss), steps);
}

void TripleRun::begin_epoch() {
  if (schedule_) optimizer_->set_rate_factor(schedule_(epoch()));
  Generator order = Generator(static_cast<uint64_t>(o_.seed)).split(static_cast<uint64_t>(epoch()));
  order_.copy_(random_permutation(triples_.size(0), order));
  position_.zero_();
}

std::optional<double> TripleRun::validate() {
  if (val_ranks_.size() == 0) return {};
  val_ = val_ranks_.rank(model_);
  return val_.mrr;
}

void TripleRun::evaluate() {
  (void)validate();
  if (test_ranks_.size() > 0) test_ = test_ranks_.rank(model_);
}

const TripleBatch& TripleRun::next_batch() {
  kernels::triple_batch({.triples = triples_,
                         .order = order_,
                         .entities = data_.num_entities(),
                         .key = generator_for(Purpose::sample).next(),
                         .position = position_,
                         .number = batch_.number,
                         .relation = batch_.relation,
                         .entity = batch_.entity});
  return batch_;
}

Var TripleRun::loss(const TripleBatch& batch) {
  return *o_.training == TripleTraining::negatives ? loss_of_drawn(batch) : loss_of_all(batch);
}

Var TripleRun::penalty(const Var& entities, const Var& relations, const Var& queries) const {
  const double factor = o_.penalty_weight / static_cast<double>(relations.size(0));
  const bool complex = is_complex(o_.model);
  if (*o_.penalty == TriplePenalty::dura)
    return power_sum(entities, 2, false, factor) + power_sum(queries, 2, false, factor);
  const int power = *o_.penalty == TriplePenalty::n3 ? 3 : 2;
  const Var of_entities = power_sum(entities, power, complex, factor);
  if (o_.model == TripleModel::rotate) return of_entities;  // angles have no size
  return of_entities + power_sum(relations, power, complex, factor);
}

Var TripleRun::loss_of_all(const TripleBatch& batch) {
  const int64_t count = batch.relation.numel();
  const bool penalized = *o_.penalty != TriplePenalty::none, all = *o_.penalty == TriplePenalty::dura;
  const Var entities = index_select(model_.entity(), batch.entity.rows(0, penalized ? 2 * count : count)),
            relations = index_select(model_.relation(), batch.relation);
  const auto heads_of = [&](const Var& x) { return x.size(0) == count ? x : narrow(x, 0, 0, count); };
  // DURA takes the inverse queries of the tails, too.
  const Var x = dropout(all ? entities : heads_of(entities), static_cast<float>(o_.dropout)),
            queries = triple_queries(o_.model, x, relations, count),
            loss = entity_loss(*o_.loss, model_.score(), heads_of(queries), model_.entity(), targets_);
  return penalized ? loss + penalty(entities, relations, queries) : loss;
}

Var TripleRun::loss_of_drawn(const TripleBatch& batch) {
  const int64_t count = batch.relation.numel(), ends = 2 * count, all = batch.entity.numel();
  Tensor rows = Tensor::empty_like(entity_gradient_), factors = Tensor::empty_like(relation_gradient_);
  kernels::gather_rows({.x = model_.entity().value(), .index = batch.entity, .y = rows});
  kernels::gather_rows({.x = model_.relation().value(), .index = batch.relation, .y = factors});
  if (weights_) kernels::gather_rows({.x = weights_, .index = batch.number, .y = batch_weight_});
  // Leaves, whose gradients are those of single rows.
  Var entities = Var::parameter(rows.rows(0, ends)), drawn = Var::parameter(rows.rows(ends, all)),
      relations = Var::parameter(factors);
  entities.collect_grad_in(entity_gradient_.rows(0, ends));
  drawn.collect_grad_in(entity_gradient_.rows(ends, all));
  relations.collect_grad_in(relation_gradient_);
  // Of reciprocal relations only heads ask, for tails.
  const bool heads = o_.reciprocal;
  const Var x = dropout(heads ? narrow(entities, 0, 0, count) : entities, static_cast<float>(o_.dropout)),
            queries = triple_queries(o_.model, x, relations, count),
            truth = heads ? paired_scores(model_.score(), queries, narrow(entities, 0, count, count))
                          : paired_scores(model_.score(), queries, entities, count),
            others = entity_scores(model_.score(), queries, drawn),
            loss = drawn_loss({*o_.loss, o_.margin, o_.temperature}, truth, others,
                              weights_ ? batch_weight_.reshape({count}) : Tensor());
  return *o_.penalty == TriplePenalty::none ? loss : loss + penalty(entities, relations, queries);
}

void TripleRun::update(const TripleBatch& batch) {
  if (*o_.training != TripleTraining::negatives) return optimizer_->step();
  optimizer_->step_rows(0, batch.entity, entity_gradient_);
  optimizer_->step_rows(1, batch.relation, relation_gradient_);
}

}  // namespace adj::training
