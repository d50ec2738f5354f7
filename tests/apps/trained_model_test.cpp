#include "../data/limited_memory.h"
#include "bench.h"
#include "small_graphs.h"
#include "variants.h"
#include <adjoint/models/c_api/adjoint.h>

#include <cstdlib>

using namespace adj;
using namespace adj::test;

namespace {

struct Bench : TrainingBench {
  using TrainingBench::TrainingBench;
  void train(const std::string& trainer, const Words& more) const {
    succeeds(TrainingBench::train(
        trainer, joined({"--epochs", "8", "--checkpoint", checkpoint, "--predict", predicted}, more)));
  }
};

}  // namespace

TEST_CASE("trained models predict from arrays, on every device") {
  for (const Dataset& data : {small_dataset(), small_multilabel_dataset(), small_regression_dataset()})
    for (const Variant& variant : variants()) {
      CAPTURE(variant.program);
      CAPTURE(std::string(name_of(data.task)));
      const Bench bench(data);
      bench.train(variant.program, variant.options);
      for (const Device device : devices()) {
        const TrainedModel model = load_trained(bench.checkpoint, device);
        CHECK(model.task() == data.task);
        CHECK(model.num_features() == 40);
        const Predictions predictions = model.predict(data.graph, data.x);
        CHECK(model.outputs(data.graph, data.x).device() == device);
        const Tensor written = predictions_in(bench.predicted);
        const bool numbers = data.task == Task::node_regression;
        CHECK(bool{predictions.probability} != numbers);
        CHECK(close(numbers ? predictions.prediction : predictions.probability, written, 1e-4));
        if (!device.is_cpu() || numbers) continue;
        CHECK(same_bits(predictions.probability, written));
        CHECK(same_bits(
            predictions.prediction,
            H5Reader::open(bench.predicted).tensor("nodes/prediction", {predictions.prediction.dtype()})));
      }
    }
}

TEST_CASE("many threads predict with one model, with the bits of a single call") {
  for (const std::string program : {"train_gcn", "train_gat", "train_sage", "train_gin", "train_qgnn"}) {
    CAPTURE(program);
    const Bench bench(small_dataset());
    bench.train(program, {});
    const TrainedModel model = load_trained(bench.checkpoint);
    std::vector<Dataset> graphs;
    std::vector<std::vector<float>> expected, results(8);
    for (uint64_t k = 0; k < 8; ++k) {
      graphs.push_back(small_dataset(k % 4 + 1));
      expected.push_back(model.outputs(graphs.back().graph, graphs.back().x).to_vector<float>());
    }
    std::vector<std::thread> threads;
    for (size_t k = 0; k < 8; ++k)
      threads.emplace_back([&, k] {
        for (int round = 0; round < 20; ++round)
          results[k] = model.outputs(graphs[k].graph, graphs[k].x).to_vector<float>();
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t k = 0; k < 8; ++k) CHECK(results[k] == expected[k]);
  }
}

TEST_CASE("models of graphs and of links are loaded like those of nodes") {
  for (const Words& options : {Words{"--node-features", "degree"}, Words{"--node-features", "one-hot-degree"},
                               Words{"--node-features", "constant"}}) {
    Dataset data = small_graphs();
    data.x = {};
    const Bench bench(data);
    bench.train("train_graph_gin", joined(options, {"--split", "0", "--folds", "4", "--iterations", "2"}));
    const TrainedModel model = load_trained(bench.checkpoint);
    CHECK(model.of_graphs());
    const Predictions predictions = model.predict(data.graph, data.graph_offsets, {});
    CHECK(same_bits(predictions.probability, predictions_in(bench.predicted)));
    CHECK(mentions(error_of([&] { (void)model.predict(data.graph, Features()); }), "graphs"));
  }
  for (const Words& options : {Words{"--model", "gcn"}, Words{"--model", "sage", "--decoder", "mlp"}}) {
    const Dataset data = small_dataset();
    const Bench bench(data);
    bench.train("train_link", joined(options, {"--hidden", "16", "--embedding", "8"}));
    const TrainedModel model = load_trained(bench.checkpoint);
    CHECK(model.of_links());
    const EdgeIndex pairs{Tensor::from(std::vector<int32_t>{0, 1, 2}),
                          Tensor::from(std::vector<int32_t>{3, 0, 2})};
    const Tensor scores = model.predict_links(data.graph, data.x, pairs);
    CHECK(scores.shape() == Shape{3});
    const EdgeIndex turned{pairs.dst, pairs.src};
    CHECK(model.predict_links(data.graph, data.x, turned).to_vector<float>() == scores.to_vector<float>());
  }
}

TEST_CASE("loading a model does not change the program's random numbers") {
  const Bench bench(small_dataset());
  bench.train("train_gcn", {});
  manual_seed(7);
  (void)default_generator().next();
  const uint64_t before = default_generator().position();
  (void)load_trained(bench.checkpoint);
  CHECK(default_generator().position() == before);
  CHECK(default_generator().seed() == 7);

  // Nor for a moment: a training beside it takes each stream once.
  std::atomic<bool> loaded{false};
  std::thread loads([&] {
    for (int round = 0; round < 20; ++round) (void)load_trained(bench.checkpoint);
    loaded = true;
  });
  uint64_t wrong = 0, next = before;
  while (!loaded) wrong += default_generator().next().stream != next++ ? 1 : 0;
  loads.join();
  CHECK(wrong == 0);
}

TEST_CASE("facts of a checkpoint that ask for large models are refused in little memory") {
  const auto refused = [](const Bench& bench, const std::map<std::string, std::string>& facts) {
    models::Checkpoint changed = models::load_checkpoint(bench.checkpoint);
    for (const auto& [fact, value] : facts) changed.facts[fact] = value;
    const std::string path = bench.folder.file("changed.h5");
    save_checkpoint(changed, path);
    return error_within(300, [&] { (void)load_trained(path); });
  };
  const Bench gcn(small_dataset());
  gcn.train("train_gcn", {});
  CHECK(mentions(
      refused(gcn, {{"features", "20000000"}}),
      {"tensors/best.*: ", " numbers, which do not match 20000000 features, 3 outputs and the options"}));
  CHECK(mentions(refused(gcn, {{"option.hidden", "1000000"}, {"option.layers", "1000"}}),
                 {"tensors/best.*: ", "[40, 1000000]"}));
  CHECK(mentions(refused(gcn, {{"option.hidden", "17"}}), "load_state: convs.0.weight is [40, 16]"));
  const Bench gat(small_dataset());
  gat.train("train_gat", {});
  CHECK(mentions(refused(gat, {{"option.hidden", "1048576"}, {"option.heads", "4096"}}), "[40, 4294967296]"));
}

TEST_CASE("mismatched inputs of a trained model give a one-line error") {
  const Bench bench(small_dataset());
  bench.train("train_gcn", {});
  const TrainedModel model = load_trained(bench.checkpoint);
  const Dataset data = small_dataset();
  const Features narrow(Tensor::zeros({120, 39})), few(Tensor::zeros({119, 40}));
  CHECK(mentions(error_of([&] { (void)model.predict(data.graph, narrow); }), "39"));
  CHECK(mentions(error_of([&] { (void)model.predict(data.graph, few); }), "120 nodes"));
  CHECK(mentions(error_of([&] { (void)model.predict(data.graph, {}); }), "expected 40"));
  CHECK(mentions(error_of([&] { (void)load_trained(bench.data); }), "adjoint.checkpoint"));
}

TEST_CASE("a C program loads, predicts, frees and reads the last error") {
  const Dataset data = small_dataset();
  const Bench bench(data);
  bench.train("train_gcn", {});
  CHECK(adjoint_load((bench.checkpoint + "x").c_str(), "cpu") == nullptr);
  CHECK(mentions(std::string(adjoint_last_error()), "c.h5x"));
  CHECK(adjoint_load(bench.checkpoint.c_str(), "gpu") == nullptr);
  adjoint_model* model = adjoint_load(bench.checkpoint.c_str(), nullptr);
  REQUIRE(model != nullptr);
  CHECK(adjoint_num_features(model) == 40);
  CHECK(adjoint_num_outputs(model) == 3);
  CHECK(adjoint_class_name(model, 3) == nullptr);
  const EdgeIndex edges = data.graph.edge_index();
  const auto src = edges.src.to(DType::i64).to_vector<int64_t>();
  const auto dst = edges.dst.to(DType::i64).to_vector<int64_t>();
  const std::vector<float> x = data.x.to_dense().to_vector<float>();
  adjoint_graph graph{120, data.graph.num_edges(), src.data(), dst.data(), nullptr, x.data()};
  std::vector<float> result(120 * 3);
  CHECK(adjoint_predict_nodes(model, &graph, result.data()) == 0);
  CHECK(close(Tensor::from(result, {120, 3}), predictions_in(bench.predicted)));
  CHECK(adjoint_score_nodes(model, &graph, result.data()) == 0);
  // The program had sparse features, whose product rounds otherwise than that of dense ones.
  const Tensor scores = Tensor::from(result, {120, 3});
  CHECK(close(scores, H5Reader::open(bench.predicted).tensor("nodes/score", {DType::f32})));
  CHECK(same_bits(scores, load_trained(bench.checkpoint).outputs(data.graph, Features(data.x.to_dense()))));
  CHECK(adjoint_predict_graphs(model, &graph, 1, src.data(), result.data()) == -1);
  CHECK(adjoint_score_graphs(model, &graph, 1, src.data(), result.data()) == -1);
  CHECK(adjoint_predict_nodes(model, nullptr, result.data()) == -1);
  CHECK(adjoint_predict_nodes(nullptr, &graph, result.data()) == -1);
  std::vector<int64_t> wrong = src;
  wrong[5] = 120;
  graph.src = wrong.data();
  CHECK(adjoint_predict_nodes(model, &graph, result.data()) == -1);
  CHECK(std::string(adjoint_last_error()) == "adjoint: src[5] is 120, expected 0 to 119");
  adjoint_free(model);
  adjoint_free(nullptr);

  bench.train("train_link", {"--hidden", "16"});
  model = adjoint_load(bench.checkpoint.c_str(), "cpu");
  REQUIRE(model != nullptr);
  graph.src = src.data();
  std::vector<float> score(2);
  const int64_t sources[] = {0, 1}, targets[] = {1, 2};
  CHECK(adjoint_predict_links(model, &graph, 2, sources, targets, score.data()) == 0);
  std::vector<float> logit(2);
  CHECK(adjoint_score_links(model, &graph, 2, sources, targets, logit.data()) == 0);
  for (size_t i = 0; i < 2; ++i) {
    CHECK((score[i] > 0.0f && score[i] < 1.0f));
    CHECK(score[i] == doctest::Approx(1.0 / (1.0 + std::exp(-double{logit[i]}))));
  }

  // Embeddings once, then any pairs: inner products in this model.
  adjoint_embeddings* z = adjoint_embed_nodes(model, &graph);
  REQUIRE(z != nullptr);
  const int64_t width = adjoint_embedding_width(z);
  CHECK(width == 64);
  CHECK(adjoint_embedding_rows(z) == 120);
  const float* values = adjoint_embedding_values(z);
  const auto product = [&](int64_t a, int64_t b) {
    return std::inner_product(values + a * width, values + (a + 1) * width, values + b * width, 0.0);
  };
  CHECK(adjoint_score_pairs(model, z, 2, sources, targets, score.data()) == 0);
  CHECK(score == logit);
  for (size_t i = 0; i < 2; ++i)
    CHECK(score[i] == doctest::Approx(product(sources[i], targets[i])).epsilon(1e-4));
  std::vector<int64_t> found_src(6), found_dst(6);
  std::vector<float> best(6);
  const int64_t chosen[] = {5, 9};
  CHECK(adjoint_missing_links(model, z, 0, nullptr, 3, 2, chosen, found_src.data(), found_dst.data(),
                              best.data()) == 6);
  CHECK(found_src == std::vector<int64_t>{5, 5, 5, 9, 9, 9});
  std::set<std::pair<int64_t, int64_t>> joined;
  for (size_t e = 0; e < src.size(); ++e) joined.insert({{src[e], dst[e]}, {dst[e], src[e]}});
  for (size_t i = 0; i < 6; ++i) {
    CHECK(joined.count({found_src[i], found_dst[i]}) == 0);
    CHECK(best[i] == doctest::Approx(product(found_src[i], found_dst[i])).epsilon(1e-4));
    if (i % 3 != 2) continue;
    for (int64_t node = 0; node < 120; ++node)  // none outside is better than the third
      if (node != found_src[i] && joined.count({found_src[i], node}) == 0 &&
          std::count(&found_dst[i - 2], &found_dst[i] + 1, node) == 0)
        CHECK(product(found_src[i], node) <= best[i] + 1e-4);
  }
  const auto missing = [&](int64_t graphs, const int64_t* offsets, int64_t most) {
    return adjoint_missing_links(model, z, graphs, offsets, most, 0, nullptr, found_src.data(),
                                 found_dst.data(), best.data());
  };
  CHECK(missing(0, nullptr, 2) == 2);
  CHECK(missing(0, nullptr, 0) == -1);
  // As three graphs, the first of two nodes: no pair joins them.
  const int64_t offsets[] = {0, 2, 2, 120}, few[] = {0, 2, 119};
  const int64_t of_first = 1;
  CHECK(adjoint_missing_links(model, z, 3, offsets, 6, 1, &of_first, found_src.data(), found_dst.data(),
                              best.data()) == (joined.count({0, 1}) == 0 ? 1 : 0));
  CHECK(missing(3, offsets, 6) == 6);
  for (size_t i = 0; i < 6; ++i) CHECK((found_src[i] < 2) == (found_dst[i] < 2));
  CHECK(missing(2, few, 6) == -1);
  CHECK(mentions(std::string(adjoint_last_error()), {"do not ascend from 0 to 120 nodes"}));
  CHECK(missing(2, nullptr, 6) == -1);
  CHECK(adjoint_score_pairs(model, nullptr, 2, sources, targets, score.data()) == -1);
  CHECK(adjoint_embedding_width(nullptr) == -1);
  CHECK(adjoint_embed_nodes(model, nullptr) == nullptr);
  CHECK(adjoint_embed_graphs(model, &graph, 1, src.data()) == nullptr);
  CHECK(adjoint_predict_edges(model, &graph, result.data()) == -1);
  CHECK(mentions(std::string(adjoint_last_error()), {"a model of links, not of edges"}));
  adjoint_free_embeddings(z);
  adjoint_free_embeddings(nullptr);
  adjoint_free(model);

  // The example, compiled as C.
  bench.train("train_gcn", {});
  const Outcome outcome = succeeds(run("predict_c", {bench.checkpoint}));
  CHECK(mentions(outcome.out, "node 7: class "));
}
