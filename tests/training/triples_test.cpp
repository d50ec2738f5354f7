#include "../support.h"
#include <adjoint/data/typed_dataset.h>
#include <adjoint/training/triples.h>

using namespace adj;
using namespace adj::test;
using namespace adj::training;

namespace {

Tensor rows_of(const std::vector<int32_t>& numbers) {
  return Tensor::from(numbers, Shape{std::ssize(numbers) / 3, 3});
}

/// Relations "add 1", "add 5" and "minus 1" over numbers mod `entities`, of which every seventh triple
/// validates and every eighth tests; with a `hub`, "to hub" from the first twenty to 0, which train.
TypedDataset circle(int32_t entities, bool hub = false) {
  TypedDataset data;
  data.name = "circle";
  std::map<EdgeType, HeteroGraph::Edges> edges;
  std::vector<std::pair<std::string, int32_t>> steps{{"add 1", 1}, {"add 5", 5}, {"minus 1", entities - 1}};
  if (hub) steps.emplace_back("to hub", 0);
  for (const auto& [name, step] : steps) {
    std::vector<int32_t> src, dst, train, val, test;
    for (int32_t i = 0; i < (step > 0 ? entities : 20); ++i) {
      src.push_back(i);
      dst.push_back(step > 0 ? (i + step) % entities : 0);
      (step == 0 ? train : (i + step) % 7 == 0 ? val : (i + step) % 8 == 0 ? test : train).push_back(i);
    }
    const EdgeType type{"number", name, "number"};
    edges[type].relation = Relation::from_coo(entities, entities, Tensor::from(src), Tensor::from(dst));
    ItemTable items;
    items.splits = {{Tensor::from(train), Tensor::from(val), Tensor::from(test)}};
    items.use(items.splits[0]);
    data.edges[type] = items;
  }
  data.graph = HeteroGraph({{"number", entities}}, edges);
  data.nodes["number"] = {};
  return data;
}

/// Trains as train_kge does; calls between(run) after it.
template <class F>
void train(TripleOptions options, F between) {
  options.quiet = true;
  options.complete();
  TripleRun run(options);
  optim::CapturedStep step([&] {
    const TripleBatch& batch = run.next_batch();
    Var loss = run.loss(batch);
    loss.backward();
    run.update(batch);
    run.add(loss.value());
    return loss;
  });
  while (run.next_epoch())
    for (int64_t k = 0; k < run.steps(); ++k) step();
  between(run);
}
TripleRanks trained(const TripleOptions& options) {
  TripleRanks ranks;
  train(options, [&](const TripleRun& run) { ranks = run.test(); });
  return ranks;
}

TripleOptions options_for(const std::string& path, TripleModel model) {
  TripleOptions options;
  options.data = path;
  options.model = model;
  options.width = model == TripleModel::rescal ? 12 : 32;
  options.batch_size = 40;
  options.eval_every = 20;
  options.epochs = 60;
  options.device = gpu() ? "cuda" : "cpu";
  return options;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "each model learns additions on a circle") {
  const std::string path = folder.file("circle.h5");
  save_typed_dataset(circle(120), path);
  for (TripleModel model : values_of<TripleModel>()) {
    CAPTURE(name_of(model));
    TripleOptions options = options_for(path, model);
    if (model == TripleModel::transe || model == TripleModel::rotate) {
      options.negatives = 32;
      options.lr = 0.02;
      options.margin = 3.0;
      options.epochs = 200;
      options.deviation = 0.3;
    } else {
      options.penalty_weight = 0.002;
      options.deviation = 0.1;
    }
    const TripleRanks ranks = trained(options);
    // Symmetric scores cannot tell + 1 from - 1, and translations go on for ever.
    CHECK(ranks.mrr > (model == TripleModel::distmult ? 0.25 : model == TripleModel::transe ? 0.4 : 0.6));
    CHECK(ranks.count == 2 * 3 * 13);
    CHECK(ranks.amri > 0.7);
  }
}

TEST_CASE_FIXTURE(InFolder,
                  "all losses, trainings and penalties learn, with the same bits on any number of threads") {
  const std::string path = folder.file("circle.h5");
  save_typed_dataset(circle(120), path);
  TripleOptions options = options_for(path, TripleModel::complex);
  options.epochs = 40;
  options.device = "cpu";
  options.deviation = 0.1;
  options.dropout = 0.1;
  for (TripleTraining training : values_of<TripleTraining>())
    for (TripleLoss loss : values_of<TripleLoss>()) {
      if (training == TripleTraining::one_vs_all && loss == TripleLoss::bce) continue;
      CAPTURES(name_of(training), name_of(loss));
      options.training = training;
      options.loss = loss;
      options.lr = training == TripleTraining::negatives ? 0.02 : 0.1;
      options.negatives = training == TripleTraining::negatives ? 40 : TripleOptions::kUnset;
      for (TriplePenalty penalty : values_of<TriplePenalty>()) {
        options.penalty = penalty;
        options.penalty_weight = penalty == TriplePenalty::none ? TripleOptions::kUnset : 0.001;
        CHECK(trained(options).mrr > 0.15);
      }
      options.reciprocal = training == TripleTraining::negatives;
      CHECK(trained(options).mrr > 0.15);
      CHECK(same_bits_on_any_threads(
          [&] {
            Tensor vectors;
            train(options, [&](const TripleRun& run) { vectors = run.model().entity().value().clone(); });
            return vectors;
          },
          {2, 3}));
    }
}

TEST_CASE_FIXTURE(
    InFolder,
    "the loss over drawn entities is that of a plain loop, also of reciprocal relations and weighted") {
  const std::string path = folder.file("circle.h5");
  save_typed_dataset(circle(60, true), path);
  for (const auto& [reciprocal, weights] : {std::pair(false, TripleWeights::uniform),
                                            {true, TripleWeights::uniform},
                                            {false, TripleWeights::frequency},
                                            {true, TripleWeights::frequency}}) {
    CAPTURES(reciprocal, name_of(weights));
    TripleOptions options = options_for(path, TripleModel::transe);
    options.loss = TripleLoss::softmax;
    options.reciprocal = reciprocal;
    options.weights = weights;
    options.negatives = 9;
    options.norm = 2;
    options.quiet = true;
    options.complete();
    TripleRun run(options);
    REQUIRE(run.next_epoch());
    const TripleBatch& batch = run.next_batch();
    const double loss = values(run.loss(batch).value())[0];
    const Numbers e = values(run.model().entity().value()), r = values(run.model().relation().value());
    const auto relation = batch.relation.to_vector<int32_t>(), entity = batch.entity.to_vector<int32_t>();
    const auto width = uz(options.width), count = relation.size();
    CHECK(*std::ranges::max_element(relation) == (reciprocal ? 7 : 3));
    // Answers of (head, relation) and of (relation, tail).
    std::map<std::pair<int32_t, int32_t>, double> tails, heads;
    const auto train = run.data().train.to_vector<int32_t>();
    for (size_t k = 0; k < train.size(); k += 3) {
      ++tails[{train[k], train[k + 1]}];
      ++heads[{train[k + 2], train[k + 1]}];
    }
    const auto weight_of = [&](int32_t head, int32_t number, int32_t tail) {
      if (weights == TripleWeights::uniform) return 1.0;
      if (number >= 4) return 1.0 / std::sqrt(6.0 + tails[{tail, number - 4}] + heads[{head, number - 4}]);
      return 1.0 / std::sqrt(6.0 + tails[{head, number}] + heads[{tail, number}]);
    };
    double mean = 0.0;  // of all triples; a reciprocal one has the weight of its original
    for (size_t k = 0; k < train.size(); k += 3)
      mean += 3.0 * weight_of(train[k], train[k + 1], train[k + 2]) / static_cast<double>(train.size());
    // sign -1 asks for the head of a tail.
    const auto score = [&](int32_t known, size_t k, int32_t other, double sign) {
      double sum = 0.0;
      for (size_t d = 0; d < width; ++d)
        sum += std::pow(
            e[uz(known) * width + d] + sign * r[uz(relation[k]) * width + d] - e[uz(other) * width + d], 2);
      return -std::sqrt(sum);
    };
    double expected = 0.0;
    size_t queries = 0;
    for (size_t k = 0; k < count; ++k)
      for (const double sign : {1.0, -1.0}) {
        if (reciprocal && sign < 0) continue;
        const int32_t known = entity[sign > 0 ? k : count + k], truth = entity[sign > 0 ? count + k : k];
        double sum = std::exp(score(known, k, truth, sign));
        for (size_t n = 2 * count; n < entity.size(); ++n) sum += std::exp(score(known, k, entity[n], sign));
        expected += weight_of(entity[k], relation[k], entity[count + k]) / mean *
                    (std::log(sum) - score(known, k, truth, sign));
        ++queries;
      }
    CHECK(loss == doctest::Approx(expected / static_cast<double>(queries)).epsilon(1e-5));
  }
}

TEST_CASE("ranks by a plain loop: ties, filters, entities without training") {
  manual_seed(3);
  for (Device device : devices())
    for (bool reciprocal : {true, false}) {
      nn::Model<models::TripleEmbedding> model(
          30, 3,
          models::TripleModelOptions{
              .model = TripleModel::distmult, .width = 4, .reciprocal = reciprocal, .deviation = 1.0});
      // Few different vectors, so that many scores are equal.
      for (const auto& [name, tensor] : model.state()) {
        Tensor whole = tensor;
        Numbers numbers = values(tensor);
        for (double& x : numbers) x = std::clamp(std::round(x), -1.0, 1.0);
        whole.copy_(Tensor::from(numbers, tensor.shape()).to(DType::f32));
      }
      model.to(device);
      std::vector<int32_t> train, test;
      for (int32_t k = 0; k < 150; ++k) train.insert(train.end(), {(k * 7) % 25, k % 3, (k * k + 3) % 25});
      for (int32_t k = 0; k < 20; ++k) test.insert(test.end(), {k, k % 3, 29 - k % 7});
      const Numbers e = values(model.entity().value()), r = values(model.relation().value());
      const auto score = [&](int32_t h, int32_t relation, int32_t t, bool heads) {
        const int32_t truth = heads && reciprocal ? relation + 3 : relation;
        double sum = 0.0;
        for (size_t d = 0; d < 4; ++d) sum += e[uz(h) * 4 + d] * r[uz(truth) * 4 + d] * e[uz(t) * 4 + d];
        return sum;
      };
      std::set<std::array<int32_t, 3>> known;
      for (const auto* part : {&train, &test})
        for (size_t k = 0; k < part->size(); k += 3)
          known.insert({(*part)[k], (*part)[k + 1], (*part)[k + 2]});
      double mrr = 0.0, hits = 0.0, sum = 0.0, expected = 0.0;
      for (size_t k = 0; k < test.size(); k += 3)
        for (bool heads : {false, true}) {
          const int32_t h = test[k], relation = test[k + 1], t = test[k + 2];
          double rank = 1.0, candidates = 1.0;
          for (int32_t other = 0; other < 30; ++other) {
            const std::array<int32_t, 3> triple =
                heads ? std::array{other, relation, t} : std::array{h, relation, other};
            if (known.contains(triple)) continue;
            const double truth = score(h, relation, t, heads),
                         theirs = score(triple[0], relation, triple[2], heads);
            rank += theirs > truth ? 1.0 : theirs == truth ? 0.5 : 0.0;
            ++candidates;
          }
          mrr += 1.0 / rank;
          hits += rank <= 3.0;
          sum += rank;
          expected += (candidates + 1.0) / 2.0;
        }
      const TripleRanks found =
          TripleRanking(rows_of(test), {rows_of(train), rows_of(test)}, device).rank(model);
      CHECK(found.count == 40);
      CHECK(found.mrr == doctest::Approx(mrr / 40));
      CHECK(found.hits_3 == doctest::Approx(hits / 40));
      CHECK(found.mean == doctest::Approx(sum / 40));
      CHECK(found.amri == doctest::Approx(1.0 - (sum - 40) / (expected - 40)));
    }
}

TEST_CASE("constant scores rank in the middle: an MRR of 2 / (entities + 1)") {
  for (Device device : devices()) {
    nn::Model<models::TripleEmbedding> model(
        1999, 1, models::TripleModelOptions{.model = TripleModel::complex, .width = 2, .deviation = 0.0});
    model.to(device);
    std::vector<int32_t> test;
    for (int32_t k = 0; k < 50; ++k) test.insert(test.end(), {k, 0, 1000 + k});
    const TripleRanks found = TripleRanking(rows_of(test), {rows_of(test)}, device).rank(model);
    CHECK(found.mrr == doctest::Approx(2.0 / 2000));
    CHECK(found.amri == doctest::Approx(0.0));
    CHECK(found.hits_10 == 0.0);
  }
}

TEST_CASE_FIXTURE(InFolder, "triples of typed data: names, parts, and a drawn split") {
  TypedDataset data = circle(16);
  ItemTable& items = data.edges.begin()->second;
  items.splits[0].test = items.splits[0].test.rows(0, 1);
  const Triples triples = triples_of(data, "circle.h5");
  CHECK(triples.relations == std::vector<std::string>{"add 1", "add 5", "minus 1"});
  CHECK(triples.entities.size() == 16);
  CHECK(triples.entities[3] == "3");
  CHECK(triples.passed_over > 0);
  CHECK(triples.train.size(0) + triples.val.size(0) + triples.test.size(0) + triples.passed_over == 48);

  data.edges.clear();
  Triples whole = triples_of(data, "circle.h5");
  CHECK(whole.train.size(0) == 48);
  split_triples(whole, 0.25, 0.125, 7);
  CHECK(whole.val.size(0) == 12);
  CHECK(whole.test.size(0) == 6);
  std::set<std::array<int32_t, 3>> all;
  for (const Tensor& part : {whole.train, whole.val, whole.test}) {
    const std::vector<int32_t> numbers = part.to_vector<int32_t>();
    for (size_t k = 0; k < numbers.size(); k += 3) all.insert({numbers[k], numbers[k + 1], numbers[k + 2]});
  }
  CHECK(all.size() == 48);
  CHECK_ERROR_HAS(split_triples(whole, 0.001, 0.1, 7), "expected one at least");
  const NameNumbers names(whole.relations, "relation");
  CHECK(names.number("add 5", "q.csv:2") == 1);
  CHECK_ERROR_HAS((void)names.number("add 6", "q.csv:2"), "q.csv:2: no relation 'add 6'; did you mean 'add ");
}

TEST_CASE("known_entities: by query, both sides, none for an unknown query") {
  const Tensor known = rows_of({0, 0, 1, 0, 0, 3, 0, 0, 1, 2, 1, 3, 4, 0, 3}),
               asked = rows_of({0, 0, 3, 2, 0, 3});
  const auto list = [](const KnownEntities& k, size_t i) {
    const std::vector<int64_t> offsets = k.offsets.to_vector<int64_t>();
    const std::vector<int32_t> ids = k.ids.to_vector<int32_t>();
    const auto row = uz(k.rows.to_vector<int32_t>()[i]);
    return std::vector<int32_t>(ids.begin() + offsets[row], ids.begin() + offsets[row + 1]);
  };
  using List = std::vector<int32_t>;
  const KnownEntities tails = known_entities(asked, {known}, false),
                      heads = known_entities(asked, {known}, true);
  CHECK(list(tails, 0) == List{1, 3});
  CHECK(list(tails, 1).empty());
  CHECK(list(heads, 0) == List{0, 4});
  CHECK(list(heads, 1) == List{0, 4});
}
