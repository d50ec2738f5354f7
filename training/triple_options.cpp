#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/data/predictions.h>
#include <adjoint/training/triples.h>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

/// The usual values of a model: after Lacroix et al. (2018) and Zhang et al. (2020) for products, Sun et al.
/// (2019) for distances.
struct TripleRecipe {
  TripleTraining training;
  TripleLoss loss;
  TriplePenalty penalty;
  TripleOptimizer optimizer;
  ScheduleKind schedule;
  int64_t width, negatives, batch_size, epochs;
  double lr, margin, temperature, penalty_weight, deviation;
};
TripleRecipe recipe_of(TripleModel model, std::optional<TripleTraining> training) {
  const bool product =
      model == TripleModel::distmult || model == TripleModel::complex || model == TripleModel::rescal;
  const TripleTraining usual = product ? TripleTraining::one_vs_all : TripleTraining::negatives;
  if (training.value_or(usual) == TripleTraining::negatives)
    return {TripleTraining::negatives,
            product ? TripleLoss::softmax : TripleLoss::bce,
            TriplePenalty::none,
            TripleOptimizer::adam,
            ScheduleKind::linear,
            model == TripleModel::rescal ? 128 : 1000,
            512,
            1000,
            TripleOptions::kUnset,
            product ? 1e-3 : 5e-4,
            9.0,
            1.0,
            0.0,
            product ? 0.1 : 0.01};
  return {TripleTraining::one_vs_all,
          TripleLoss::softmax,
          product ? TriplePenalty::dura : TriplePenalty::none,
          TripleOptimizer::adagrad,
          ScheduleKind::none,
          model == TripleModel::rescal ? 256 : 1000,
          0,
          1000,
          100,
          0.1,
          0.0,
          0.0,
          product ? 0.05 : 0.0,
          product ? 1e-3 : 0.01};
}

}  // namespace

std::vector<Options::Group> TripleOptions::groups() {
  const IntegerRange counts{1, 1'000'000'000};
  const NumberRange shares{0.0, 0.99};
  OptionList learning{
      {"training", Choice(&training), "NAME",
       "loss over all entities (1vsall, kvsall) or drawn ones (negatives)"},
      {"loss", Choice(&loss), "NAME", "softmax or bce"},
      {"negatives", &negatives, "N", "entities drawn for a batch, which its triples share", true,
       IntegerRange{0, 1'000'000'000}},
      {"reciprocal", &reciprocal, "",
       "with drawn ones, ask for heads as the tails of relations of their own, as 1vsall and kvsall do"},
      {"margin", &margin, "NUMBER", "of bce with drawn entities", true, NumberRange{0.0, 1e6}},
      {"temperature", &temperature, "NUMBER", "of self-adversarial weights of bce (0: all alike)", true,
       NumberRange{0.0, 1e3}},
      {"triple-weights", Choice(&weights), "NAME",
       "of the loss with drawn ones: uniform, or frequency, by which frequent queries weigh less"},
      {"penalty", Choice(&penalty), "NAME", "none, l2, n3 or dura, of a batch's vectors"},
      {"penalty-weight", &penalty_weight, "NUMBER", "its factor", true, NumberRange{0.0, 1e3}},
      {"dropout", &dropout, "P", "of the entities' vectors in queries", true, NumberRange{0.0, 0.99}},
      {"optimizer", Choice(&optimizer), "NAME", "adagrad or adam"},
      {"lr", &lr, "RATE", "learning rate", true, NumberRange{1e-9, 1e3}},
      {"schedule", Choice(&schedule), "NAME", "of the rate over the epochs: none, linear or cosine"},
      {"batch-size", &batch_size, "N", "triples of a step", true, counts},
      {"epochs", &epochs, "N", "passes over the triples", false, counts}};
  learning += validation_options("MRR", "initial numbers, order and draws");
  OptionList output = state_options("MRR");
  output +=
      {{"embeddings", &embeddings, "FILE", "vectors of entities: .csv, .jsonl, .npy or .h5", false},
       {"relation-embeddings", &relation_embeddings, "FILE", "vectors of relations, likewise", false},
       {"predict", &predict, "FILE", "queries, a table of head, relation and tail, one end empty", false},
       {"top", &top, "K", "best entities of each query that make no known triple", false, counts},
       {"out", &out, "FILE", "table of predictions, .csv", false}};
  output += run_options();
  return {
      {"Data",
       {{"data", &data, "FILE", "knowledge graph: types of edges are relations (convert triples)"},
        {"val", &val, "SHARE", "of the triples, to validate, if the file has no split", true, shares},
        {"test", &test, "SHARE", "of the triples, to test, likewise", true, shares}}},
      {"Model",
       {{"model", Choice(&model), "NAME", fmt::format("{}", fmt::join(names_of(TripleModel{}), ", "))},
        {"width", &width, "N", "numbers of an entity's vector (default by model, as below)", true, counts},
        {"norm", &norm, "N", "of transe: 1 or 2", true, IntegerRange{1, 2}},
        {"deviation", &deviation, "NUMBER", "of the initial normal numbers", true, NumberRange{0.0, 100.0}}}},
      {"Training", std::move(learning)},
      device_options(),
      {"Output", std::move(output)}};
}

void TripleOptions::complete() {
  if (data.empty()) usage_fail("expected train_kge DATA.h5");
  const TripleRecipe usual = recipe_of(model, training);
  const auto set = [](auto& value, auto number) {
    if (value == static_cast<std::remove_reference_t<decltype(value)>>(kUnset)) value = number;
  };
  if (!training) training = usual.training;
  const bool drawn = *training == TripleTraining::negatives;
  if (!drawn)
    for (const auto& [name, given] : {std::pair("negatives", negatives > 0),
                                      {"margin", margin > 0.0},
                                      {"temperature", temperature > 0.0}})
      if (given) usage_fail("--{}: requires --training negatives", name);
  if (!drawn && reciprocal)
    usage_fail("--reciprocal: requires --training negatives, others have them always");
  if (!loss) loss = usual.loss;
  if (drawn && *loss == TripleLoss::softmax)
    for (const auto& [name, value] : {std::pair("margin", margin), {"temperature", temperature}})
      if (value > 0.0) usage_fail("--{}: requires --loss bce", name);
  if (*training == TripleTraining::one_vs_all && *loss == TripleLoss::bce)
    usage_fail("--loss bce: conflicts with --training 1vsall, as a triple's other tails are no negatives");
  if (!penalty) penalty = usual.penalty;
  if (*penalty == TriplePenalty::none && penalty_weight > 0.0)
    usage_fail("--penalty-weight: requires a --penalty");
  if (!optimizer) optimizer = usual.optimizer;
  if (!schedule) schedule = usual.schedule;
  if (*schedule == ScheduleKind::step) usage_fail("--schedule step: expected none, linear or cosine");
  set(width, usual.width);
  set(negatives, usual.negatives);
  set(batch_size, usual.batch_size);
  set(epochs, usual.epochs);
  set(lr, *optimizer == usual.optimizer ? usual.lr : *optimizer == TripleOptimizer::adam ? 1e-3 : 0.1);
  if (!drawn && weights != TripleWeights::uniform)
    usage_fail("--triple-weights {}: requires --training negatives", name_of(weights));
  const bool bounded = *loss == TripleLoss::bce;
  set(margin, bounded ? usual.margin : 0.0);
  set(temperature, bounded ? usual.temperature : 0.0);
  set(penalty_weight, *penalty == TriplePenalty::none ? 0.0
                      : *penalty == usual.penalty     ? usual.penalty_weight
                                                      : 0.05);
  set(deviation, usual.deviation);
  if (drawn) expect_integer("negatives", negatives, 1, 1'000'000'000);
  if (is_complex(model) && width % 2 != 0)
    usage_fail("--width {}: expected an even number for {}", width, name_of(model));
  if (norm != 1 && model != TripleModel::transe) usage_fail("--norm: requires --model transe");
  if (val + test >= 1.0) usage_fail("--val {} and --test {}: nothing is left to train on", val, test);
  if (predict.empty() != out.empty())
    usage_fail("--{}: requires --{}", predict.empty() ? "out" : "predict",
               predict.empty() ? "predict" : "out");
  if (!out.empty() && !out.ends_with(".csv")) usage_fail("--out {}: expected a name that ends in .csv", out);
  for (const std::string* path : {&embeddings, &relation_embeddings})
    if (!path->empty()) expect_predictions_path("embeddings", *path);
  for (const Options::Group& group : groups())
    for (const Option& option : group.options)
      if (option.name != "epochs" || epochs != kUnset) option.check();
  name_files(data, {{"predict", predict}}, {{"relation-embeddings", relation_embeddings}});
}

}  // namespace adj::training
