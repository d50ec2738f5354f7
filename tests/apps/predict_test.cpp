#include "../says.h"
#include "bench.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

namespace {

struct Bench : TrainingBench {
  std::string out = folder.file("out.h5");
  using TrainingBench::TrainingBench;

  /// The training's own predictions, of its best epoch.
  std::string train(const std::string& trainer, const Words& more) const {
    succeeds(TrainingBench::train(
        trainer, joined({"--epochs", "20", "--checkpoint", checkpoint, "--predict", predicted}, more)));
    return predicted;
  }
  Outcome predict(const std::string& dataset, const Words& more = {}) const {
    return run("predict", joined({"--checkpoint", checkpoint, "--data", dataset, "--out", out}, more));
  }
};

}  // namespace

TEST_CASE("predictions from a checkpoint equal those of its training, on every device, for every task") {
  for (const Dataset& data : {small_dataset(), small_multilabel_dataset(), small_regression_dataset()})
    for (Variant variant : variants()) {
      CAPTURE(variant.program);
      const bool narrow = variant.options.empty() && takes_bfloat16(variant);  // every model once
      if (narrow) variant.options = {"--precision", "bfloat16"};
      CAPTURE(std::string(name_of(data.task)));
      const Bench bench(data);
      const Tensor expected = predictions_in(bench.train(variant.program, variant.options));
      for (Device device : devices()) {
        const Outcome outcome =
            succeeds(bench.predict(bench.data, {"--device", device.str(), "--json", "--quiet"}));
        if (device.is_cpu()) CHECK(same_bits(predictions_in(bench.out), expected));
        CHECK(close(predictions_in(bench.out), expected, narrow ? 0.05 : 1e-4));
        auto json = json_of(outcome);
        CHECK(json["app"] == "predict");
        CHECK(json["task"] == name_of(data.task));
        CHECK(json.count("test_acc") == 1);
      }
    }
}

TEST_CASE("columns in another order are found by name, a column that is missing is named") {
  Dataset data = small_dataset();
  std::vector<int32_t> order;
  for (int64_t k = 0; k < data.num_features(); ++k) {
    data.feature_names.push_back(fmt::format("column {}", k));
    order.push_back(static_cast<int32_t>(data.num_features() - 1 - k));
  }
  const Bench bench(data);
  const Tensor expected = predictions_in(bench.train("train_sage", {}));
  Dataset turned = data;
  turned.x = select_columns(data.x, order);
  std::reverse(turned.feature_names.begin(), turned.feature_names.end());
  const std::string file = bench.folder.file("turned.h5");
  save_dataset(turned, file);
  const Outcome outcome = succeeds(bench.predict(file));
  CHECK(same_bits(predictions_in(bench.out), expected));
  CHECK(says(outcome.err, "…features: columns in the order of …, by name…"));
  turned.feature_names[0] = "another";
  save_dataset(turned, file);
  const Outcome refused = bench.predict(file);
  CHECK(refused.status == 1);
  CHECK(says(refused.err, fmt::format("…no column 'column {}', but 'another'…", order[0])));
  turned.feature_names.clear();
  save_dataset(turned, file);
  CHECK(says(succeeds(bench.predict(file)).err, "…matched by position…"));
}

namespace {

/// Mann-Whitney: the share of pairs of a positive and a negative that the scores order rightly; ties count
/// half.
double auc_by_pairs(const Numbers& score, const Numbers& label, const Tensor& index) {
  double right = 0.0, pairs = 0.0;
  const auto nodes = index.to_vector<int32_t>();
  for (const int32_t p : nodes)
    for (const int32_t n : nodes) {
      if (label[uz(p)] != 1.0 || label[uz(n)] != 0.0) continue;
      pairs += 1.0;
      right += score[uz(p)] > score[uz(n)] ? 1.0 : score[uz(p)] == score[uz(n)] ? 0.5 : 0.0;
    }
  return right / pairs;
}

}  // namespace

TEST_CASE(
    "the ROC-AUC of the scores in a file is the reported one, also where probabilities are all 0 or 1") {
  const Dataset two = small_two_class_dataset(), several = small_multilabel_dataset();
  const Words sure{"--lr",         "0.1", "--hidden",           "64",   "--weight-decay", "0",
                   "--dropout",    "0",   "--features-scaling", "none", "--epochs",       "2000",
                   "--eval-every", "2000"};
  {
    const Bench bench(two);
    const std::string file = bench.folder.file("p.csv");
    const double reported = std::stod(
        bench.result(joined(sure, {"--predict", file, "--checkpoint", bench.checkpoint})).at("test_auc"));
    CHECK(lines_of(contents_of(file))[0] == "node,class,probability_0,probability_1,score_0,score_1");
    const Numbers label = values(two.y), probability = column(file, 3), zero = column(file, 4);
    Numbers score = column(file, 5);
    for (size_t i = 0; i < score.size(); ++i) score[i] -= zero[i];
    CHECK(std::count(probability.begin(), probability.end(), 1.0) > 10);
    CHECK(auc_by_pairs(score, label, two.test) == doctest::Approx(reported).epsilon(1e-12));
    CHECK(auc_by_pairs(probability, label, two.test) != doctest::Approx(reported).epsilon(1e-4));
    CHECK(std::stod(json_of(succeeds(bench.predict(bench.data, {"--json"}))).at("test_acc")) == reported);
    CHECK(same_bits(H5Reader::open(bench.out).tensor("nodes/score", {DType::f32}),
                    load_trained(bench.checkpoint).outputs(two.graph, two.x)));
  }
  const Bench bench(several);
  const std::string file = bench.folder.file("p.csv");
  const double reported = std::stod(bench.result(joined(sure, {"--predict", file})).at("test_acc"));
  const Numbers labels = values(several.y);
  double mean = 0.0;
  for (size_t t = 0; t < 3; ++t) {
    Numbers label;
    for (size_t i = t; i < labels.size(); i += 3) label.push_back(labels[i]);
    mean += auc_by_pairs(column(file, 7 + t), label, several.test) / 3.0;
  }
  CHECK(mean == doctest::Approx(reported).epsilon(1e-12));
}

TEST_CASE("the metric is the training's, over the test nodes of the named split") {
  Dataset data = small_dataset();
  add_splits(data, 2);
  const Bench bench(data);
  const Outcome trained =
      run("train_gcn", {"--data", bench.data, "--json", "--quiet", "--metric", "f1", "--split", "1",
                        "--epochs", "15", "--checkpoint", bench.checkpoint});
  auto expected = json_of(trained), json = json_of(bench.predict(bench.data, {"--json", "--split", "1"}));
  CHECK(json["metric"] == "f1");
  CHECK(json["test_acc"] == expected["test_acc"]);
  CHECK(mentions(bench.predict(bench.data, {"--split", "1"}).out,
                 {fmt::format("test macro-F1 {:.4f}", std::stod(expected["test_acc"]))}));
  CHECK(fails_with(bench.predict(bench.data, {"--split", "2"}), 2, {"--split", "0 to 1", "2"}));
  const Outcome usual = bench.predict(bench.data, {"--json"});  // the split of the training
  CHECK(json_of(usual)["test_acc"] == expected["test_acc"]);
  CHECK(says(usual.err, "…split 1 of 0 to 1, as in the training…"));
  const std::string single = bench.folder.file("single.h5");
  save_dataset(small_dataset(), single);
  CHECK(says(bench.predict(single).err, "…split 0: …single.h5 has no split 1, on which train_gcn…"));
}

TEST_CASE("a directed graph is told from the undirected one of the training, where the checkpoint knows") {
  const Bench bench;
  bench.train("train_gcn", {});
  Dataset directed = small_dataset();
  const EdgeIndex edges = directed.graph.edge_index();
  const int64_t half = directed.graph.num_edges() / 2;
  directed.graph = Graph::from_coo(directed.num_nodes(), edges.src.rows(0, half), edges.dst.rows(0, half));
  directed.undirected = false;
  const std::string file = bench.folder.file("directed.h5");
  save_dataset(directed, file);
  const std::string warned = "a directed graph, train_gcn";
  CHECK(mentions(succeeds(bench.predict(file)).err, {warned, "--undirected"}));
  CHECK(succeeds(bench.predict(bench.data)).err.find("directed") == std::string::npos);
  models::Checkpoint older = models::load_checkpoint(bench.checkpoint);
  older.facts.erase("undirected");
  models::save_checkpoint(older, bench.checkpoint);
  CHECK(succeeds(bench.predict(file)).err.find("directed graph") == std::string::npos);
}

TEST_CASE("a model runs on unseen graphs without labels and splits") {
  const Bench bench;
  bench.train("train_gcn", {});
  Dataset other = small_dataset(2);
  other.name = "other";
  const std::string path = bench.folder.file("other.h5");
  save_dataset(other, path);
  auto json = json_of(bench.predict(path, {"--json"}));
  CHECK(json["dataset"] == "other");
  CHECK(json.count("test_acc") == 1);
  const Tensor labelled = predictions_in(bench.out);
  save_dataset(unlabelled(other), path);
  const Outcome outcome = succeeds(bench.predict(path, {"--json", "--quiet"}));
  CHECK(json_of(outcome).count("test_acc") == 0);
  CHECK(same_bits(predictions_in(bench.out), labelled));

  // Half of the graph, without edges.
  Dataset lonely;
  lonely.name = "lonely";
  lonely.graph = Graph::from_coo(60, Tensor::empty({0}, DType::i32), Tensor::empty({0}, DType::i32));
  lonely.x = Features(other.x.to_dense().rows(0, 60).clone());
  save_dataset(lonely, path);
  succeeds(bench.predict(path));
  CHECK(predictions_in(bench.out).shape() == Shape{60, 3});

  // Labels of another task give no metric.
  save_dataset(small_dataset(3, 4), path);
  const Outcome apart = succeeds(bench.predict(path));
  CHECK(mentions(apart.err, {"no metric", "[4]", "[3]"}));
}

TEST_CASE("bad input of predict gives a one-line error, and the output is kept") {
  const Bench bench;
  const std::string c = bench.checkpoint, spoiled = bench.folder.file("spoiled.h5");
  bench.train("train_gcn", {"--norm", "batch"});
  std::ofstream(bench.out) << "kept";
  const auto with = [&](const std::string& checkpoint, const std::string& data, Words more = {}) {
    return run("predict",
               joined({"--quiet", "--checkpoint", checkpoint, "--data", data, "--out", bench.out}, more));
  };
  const std::string none = bench.folder.file("none.h5");
  CHECK(fails_with(with(none, bench.data), 1, {none, "No such file"}));
  CHECK(fails_with(with(c, none), 1, {none, "No such file"}));
  CHECK(fails_with(with(bench.data, bench.data), 1, {bench.data, "adjoint.graph", "adjoint.checkpoint"}));
  CHECK(fails_with(with(c, c), 1, {c, "adjoint.checkpoint", "adjoint.graph"}));
  CHECK(fails_with(with(c, bench.data, {"--device", "cuda:99"}), 1, {"cuda:99"}));
  for (const std::string& input : {c, bench.data})
    CHECK(fails_with(run("predict", {"--checkpoint", c, "--data", bench.data, "--out", input}), 2,
                     {"--out", "the file of"}));
  CHECK(fails_with(run("predict", {"--data", bench.data, "--out", bench.out}), 2, {"--checkpoint"}));
  CHECK(fails_with(run("predict", {"--checkpoint", c, "--out", bench.out}), 2, {"--data"}));
  CHECK(fails_with(run("predict", {"--checkpoint", c, "--data", bench.data}), 2, {"--out"}));
  CHECK(fails_with(with(c, bench.data, {"--split", "all"}), 2, {"--split", "number"}));
  CHECK(fails_with(with(c, bench.data, {"--threads=-1"}), 2, {"--threads"}));
  CHECK(fails_with(with(c, bench.data, {"more"}), 2, {"more"}));

  const std::string wide = bench.folder.file("wide.h5");
  Dataset other = small_dataset();
  other.x = Features(Tensor::full({120, 41}, 1.0));
  save_dataset(other, wide);
  CHECK(fails_with(with(c, wide), 1, {wide, "nodes/x", "41", c, "40"}));
  other.x = Features();
  save_dataset(other, wide);
  CHECK(fails_with(with(c, wide), 1, {wide, "nodes/x", "missing"}));

  const auto refuses = [&](const Bench& source, auto&& change, const Words& parts) {
    models::Checkpoint checkpoint = models::load_checkpoint(source.checkpoint);
    change(checkpoint);
    models::save_checkpoint(checkpoint, spoiled);
    return fails_with(with(spoiled, source.data), 1, joined(parts, {spoiled}));
  };
  const auto changed = [&](auto&& change, const Words& parts) { return refuses(bench, change, parts); };
  const Refusal facts[] = {{{"option.hidden", "many"}, {"hidden", "many"}},
                           {{"option.hidden", "0"}, {"hidden", "1 or more"}},
                           {{"option.hidden", "17"}, {"best.", "convs.0.weight", "[40, 16]"}},
                           {{"option.norm", "none"}, {"norms.0"}},
                           {{"option.norm", "some"}, {"norm", "some"}},
                           {{"option.metric", "r2"}, {"option.metric", "r2"}},
                           {{"option.precision", "int8"}, {"precision", "int8"}},
                           {{"features.scaling", "maybe"}, {"features.scaling", "maybe"}},
                           {{"task", "graph_class"}, {"facts@task", "graph_class"}},
                           {{"task", "node_regression"}, {"targets.mean", "missing"}},
                           {{"features", "0"}, {"facts@features", "0"}},
                           {{"outputs", "-3"}, {"facts@outputs", "-3"}},
                           {{"outputs", "4"}, {"convs.1.weight"}}};
  for (const auto& [fact, parts] : facts) CHECK(changed([&](auto& x) { x.facts[fact[0]] = fact[1]; }, parts));
  for (const char* fact : {"option.hidden", "task", "best_epoch"})
    CHECK(changed([&](auto& x) { x.facts.erase(fact); }, {std::string("facts@") + fact, "missing"}));
  CHECK(changed([](auto& x) { x.program = "first_gcn"; }, {"program", "first_gcn", "train_gcn"}));
  CHECK(changed([](auto& x) { x.tensors.erase("best.convs.0.bias"); }, {"convs.0.bias", "missing"}));
  CHECK(
      changed([](auto& x) { x.tensors.at("best.convs.0.bias").fill_(NAN); }, {"convs.0.bias", "not finite"}));
  CHECK(contents_of(bench.out) == "kept");

  const Bench targets(small_regression_dataset());
  targets.train("train_gcn", {});
  const auto without = [&](auto&& change, const Words& parts) { return refuses(targets, change, parts); };
  CHECK(without([](auto& x) { x.tensors.erase("targets.mean"); }, {"targets.mean", "missing"}));
  CHECK(without([](auto& x) { x.tensors["targets.mean"] = Tensor::zeros({2}); }, {"targets.mean", "[3]"}));
  CHECK(without([](auto& x) { x.tensors.at("targets.deviation").fill_(NAN); },
                {"targets.deviation", "finite"}));
}
