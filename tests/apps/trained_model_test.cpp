#include "bench.h"
#include "variants.h"
#include <adjoint/data/hdf5_file.h>
#include <adjoint/models/c_api/adjoint.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/models/trained_model.h>

#include <cstdlib>
#include <set>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

struct Bench : TrainingBench {
  using TrainingBench::TrainingBench;
  void train(const std::string& trainer, const Words& more) const {
    succeeds(TrainingBench::train(
        trainer, joined({"--epochs", "8", "--checkpoint", checkpoint, "--predict", predicted}, more)));
  }
  template <class T>
  std::vector<T> written(const std::string& what, DType dtype) const {
    return H5Reader::open(predicted).tensor(what, {dtype}).to_vector<T>();
  }
};

void check_close(const std::vector<float>& given, const std::vector<float>& expected, double epsilon) {
  REQUIRE(given.size() == expected.size());
  for (size_t i = 0; i < given.size(); ++i) CHECK(given[i] == doctest::Approx(expected[i]).epsilon(epsilon));
}

/// `parts` components of six nodes each, rings or with a chord, which the label tells.
Dataset small_graphs(int64_t parts) {
  std::vector<int32_t> src, dst, y;
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < parts; ++g) {
    const auto first = static_cast<int32_t>(6 * g);
    const auto join = [&](int32_t a, int32_t b) {
      src.insert(src.end(), {first + a, first + b});
      dst.insert(dst.end(), {first + b, first + a});
    };
    for (int32_t i = 0; i < 6; ++i) join(i, (i + 1) % 6);
    if (g % 2 == 1) join(0, 3);
    y.push_back(static_cast<int32_t>(g % 2));
    offsets.push_back(6 * (g + 1));
  }
  Dataset data;
  data.name = "rings";
  data.task = Task::graph_class;
  data.classes = 2;
  data.graph = Graph::from_coo(6 * parts, Tensor::from(src), Tensor::from(dst));
  data.graph_offsets = Tensor::from(offsets);
  data.graph_y = Tensor::from(y);
  return data;
}

}  // namespace

TEST_CASE("trained models are loaded and predict from arrays, on every device") {
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
        const Predictions said = model.predict(data.graph, data.x);
        CHECK(model.outputs(data.graph, data.x).device() == device);
        if (data.task == Task::node_regression) {
          CHECK(!said.probability);
          check_close(said.prediction.to_vector<float>(),
                      bench.written<float>("nodes/prediction", DType::f32), 1e-4);
          continue;
        }
        check_close(said.probability.to_vector<float>(),
                    bench.written<float>("nodes/probability", DType::f32), 1e-4);
        if (!device.is_cpu()) continue;
        CHECK(said.probability.to_vector<float>() == bench.written<float>("nodes/probability", DType::f32));
        if (data.task == Task::node_class)
          CHECK(said.prediction.to_vector<int32_t>() ==
                bench.written<int32_t>("nodes/prediction", DType::i32));
        else
          CHECK(said.prediction.to_vector<uint8_t>() ==
                bench.written<uint8_t>("nodes/prediction", DType::u8));
      }
    }
}

TEST_CASE("many threads predict with one model, each to the bits of a call alone") {
  for (const std::string program : {"train_gcn", "train_gat", "train_sage", "train_gin", "train_qgnn"}) {
    CAPTURE(program);
    const Bench bench(small_dataset());
    bench.train(program, {});
    const TrainedModel model = load_trained(bench.checkpoint);
    std::vector<Dataset> graphs;
    std::vector<std::vector<float>> expected, given(8);
    for (uint64_t k = 0; k < 8; ++k) {
      graphs.push_back(small_dataset(k % 4 + 1));
      expected.push_back(model.outputs(graphs.back().graph, graphs.back().x).to_vector<float>());
    }
    std::vector<std::thread> threads;
    for (size_t k = 0; k < 8; ++k)
      threads.emplace_back([&, k] {
        for (int round = 0; round < 20; ++round)
          given[k] = model.outputs(graphs[k].graph, graphs[k].x).to_vector<float>();
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t k = 0; k < 8; ++k) CHECK(given[k] == expected[k]);
  }
}

TEST_CASE("models of graphs and of links are loaded like those of nodes") {
  for (const Words& options : {Words{"--node-features", "degree"}, Words{"--node-features", "constant"}}) {
    const Dataset data = small_graphs(40);
    const Bench bench(data);
    Words words = joined(options, {"--split", "0", "--folds", "4", "--iterations", "2"});
    bench.train("train_graph_gin", words);
    const TrainedModel model = load_trained(bench.checkpoint);
    CHECK(model.of_graphs());
    const Predictions said = model.predict(data.graph, data.graph_offsets, {});
    CHECK(said.probability.to_vector<float>() == bench.written<float>("graphs/probability", DType::f32));
    CHECK(mentions(error_of([&] { (void)model.predict(data.graph, Features()); }), "graphs"));
  }
  for (const Words& options : {Words{"--model", "gcn"}, Words{"--model", "sage", "--decoder", "mlp"}}) {
    const Dataset data = small_dataset();
    const Bench bench(data);
    Words words = joined(options, {"--hidden", "16", "--embedding", "8"});
    bench.train("train_link", words);
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

TEST_CASE("loading a model leaves the program's random numbers where they were") {
  const Bench bench(small_dataset());
  bench.train("train_gcn", {});
  manual_seed(7);
  (void)default_generator().next();
  const uint64_t before = default_generator().position();
  (void)load_trained(bench.checkpoint);
  CHECK(default_generator().position() == before);
  CHECK(default_generator().seed() == 7);
}

TEST_CASE("inputs that do not fit a trained model are an error of one line") {
  const Bench bench(small_dataset());
  bench.train("train_gcn", {});
  const TrainedModel model = load_trained(bench.checkpoint);
  const Dataset data = small_dataset();
  CHECK(mentions(error_of([&] {
                   (void)model.predict(data.graph, Features(Tensor::zeros({120, 39})));
                 }),
                 "39"));
  CHECK(mentions(error_of([&] {
                   (void)model.predict(data.graph, Features(Tensor::zeros({119, 40})));
                 }),
                 "120 nodes"));
  CHECK(mentions(error_of([&] { (void)model.predict(data.graph, {}); }), "expected 40"));
  CHECK(mentions(error_of([&] { (void)load_trained(bench.data); }), "adjoint.checkpoint"));
  optim::Checkpoint checkpoint = optim::load_checkpoint(bench.checkpoint);
  const auto refused = [&](const char* fact, const std::string& value) {
    optim::Checkpoint changed = checkpoint;
    changed.facts[fact] = value;
    const std::string path = bench.folder.file("changed.h5");
    save_checkpoint(changed, path);
    return error_of([&] { (void)load_trained(path); });
  };
  CHECK(mentions(refused("option.hidden", "sixteen"), "--hidden: expected an integer, got 'sixteen'"));
  CHECK(mentions(refused("option.hidden", "17"), "tensors/best."));
  CHECK(mentions(refused("option.norm", "group"), "none or batch"));
  CHECK(mentions(refused("task", "graph_class"), "graph_class"));
  CHECK(mentions(refused("features", "-1"), "facts@features"));
}

TEST_CASE("a C program loads, predicts, frees and asks for the last error") {
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
  check_close(result, bench.written<float>("nodes/probability", DType::f32), 1e-5);
  CHECK(adjoint_predict_graphs(model, &graph, 1, src.data(), result.data()) == -1);
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
  const int64_t from[] = {0, 1}, to[] = {1, 2};
  CHECK(adjoint_predict_links(model, &graph, 2, from, to, score.data()) == 0);
  for (const float p : score) CHECK((p > 0.0f && p < 1.0f));
  adjoint_free(model);

  // The example, compiled as C.
  bench.train("train_gcn", {});
  const Outcome outcome = succeeds(run("predict_c", {bench.checkpoint}));
  CHECK(mentions(outcome.out, "node 7: class "));
}
