#include "bench.h"
#include "small_graphs.h"

using namespace adj;
using namespace adj::test;

// Training on whole graphs, from the command line to the last bit.

namespace {

/// The number of nodes, and its tenfold, of each graph.
Dataset regression_graphs() {
  Dataset data = split_graphs();
  std::vector<float> y;
  for (int64_t g = 0; g < kGraphs; ++g)
    for (const float scale : {1.0f, 10.0f}) y.push_back(scale * static_cast<float>(5 + g / 2 % 5));
  data.task = Task::graph_regression;
  data.classes = 0;
  data.graph_y = Tensor::from(y, {kGraphs, 2});
  return data;
}

struct Bench : TrainingBench {
  explicit Bench(const Dataset& dataset = small_graphs())
      : TrainingBench(dataset, {"--quiet", "--json", "--hidden", "8"}, "train_graph_gin") {}
};

const Words kShort{"--folds", "4", "--iterations", "5", "--batch-size", "8", "--epochs", "4"};

/// Options, each with a value, that replace those of the same name.
Words with(Words words, const Words& more) {
  for (const std::string& option : more)
    if (const auto before = std::find(words.begin(), words.end(), option);
        option.starts_with("--") && before != words.end())
      words.erase(before, before + 2);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE_FIXTURE(With<Bench>, "graphs are learnt by cross-validation, for each way to pool") {
  for (const char* pool : {"sum", "mean", "max"}) {
    auto result = bench.result(with(kShort, {"--epochs", "12", "--pool", pool}));
    CHECK(std::stod(result.at("test_acc")) > 0.9);
    CHECK(result.at("test_acc") == result.at("val_acc"));  // a fold is both
    CHECK(result.at("runs") == "4");
    CHECK(result.at("metric") == "accuracy");
    CHECK(result.count("test_auc") == 0);
  }
}

TEST_CASE_FIXTURE(With<Bench>,
                  "a report of folds marks the epoch of the result, and names the fold of its classes") {
  const std::string plot = bench.folder.file("p.svg"), page = bench.folder.file("p.html");
  auto result = bench.result(with(kShort, {"--plot", plot, "--report", page}));
  for (const std::string& file : {plot, page})
    CHECK(mentions(contents_of(file), {fmt::format("test accuracy {:.4f}", std::stod(result.at("test_acc"))),
                                       "best epoch " + result.at("best_epoch")}));
  CHECK(mentions(contents_of(page),
                 {"<h2>Classes</h2>\n<p>On the 10 test graphs of fold 4, the last one, at epoch "}));
}

TEST_CASE("graph training on features in one bit equals training on dense ones") {
  for (const char* program : {"train_graph_gin", "train_graph_qgin"}) {
    Bench bench;
    bench.program = program;
    const Words plain = with(kShort, {"--features-scaling", "none"});
    auto bits = bench.result(with(plain, {"--features-bits", "1"})), dense = bench.result(plain);
    for (const char* key : {"train_loss", "val_loss", "test_acc"}) CHECK(bits.at(key) == dense.at(key));
    CHECK(bits.at("features_bits") == "1");
  }
}

TEST_CASE_FIXTURE(With<Bench>, "a training on graphs has the same bits for any workers and threads") {
  for (const Words& more : {Words{}, Words{"--iterations", "0", "--train-eps", "--pool", "max"}}) {
    const Words words = with(kShort, more);
    const std::string course = bench.all_of(with(words, {"--workers", "0"}));
    CHECK(bench.all_of(with(words, {"--workers", "1", "--threads", "1"})) == course);
    CHECK(bench.all_of(with(words, {"--workers", "3", "--threads", "2"})) == course);
    CHECK_FALSE(bench.all_of(with(words, {"--seed", "1"})) == course);
  }
}

TEST_CASE_FIXTURE(With<Bench>, "a training on graphs that is resumed ends with the bits of an unbroken one") {
  // The rate is halved before, at and after the interruption.
  const Words words{"--folds", "4", "--iterations", "5", "--batch-size", "8",
                    "--split", "1", "--lr-halve",   "2"};
  CHECK(bench.resumes(bench.program, words, 5, 9, {"--workers", "2"}));
  const Words whole = joined(words, {"--epochs", "9"});
  CHECK_FALSE(bench.all_of(with(whole, {"--lr-halve", "0"})) == bench.all_of(whole));
  CHECK(fails_with(bench.train(joined(whole, {"--resume", bench.checkpoint, "--pool", "max"})), 1,
                   {bench.checkpoint}));
}

TEST_CASE("graph training uses the file's splits, and predict runs the model") {
  const Bench bench(split_graphs());
  const std::string checkpoint = bench.folder.file("c.h5"), out = bench.folder.file("p.h5");
  CHECK(bench.result({"--epochs", "3", "--iterations", "5"}).at("runs") == "2");
  auto result = bench.result({"--epochs", "8", "--iterations", "8", "--split", "0", "--checkpoint",
                              checkpoint, "--predict", bench.folder.file("t.h5")});
  CHECK(result.at("runs") == "1");
  CHECK(std::stod(result.at("test_acc")) > 0.9);
  const Outcome outcome =
      succeeds(run("predict", {"--checkpoint", checkpoint, "--data", bench.data, "--out", out, "--json"}));
  for (const char* name : {"graphs/prediction", "graphs/probability"})
    CHECK(same_bits(H5Reader::open(out).tensor(name, {DType::i32, DType::f32}),
                    H5Reader::open(bench.folder.file("t.h5")).tensor(name, {DType::i32, DType::f32})));
  CHECK(H5Reader::open(out).tensor("graphs/probability", {DType::f32}).shape() == Shape{kGraphs, 2});
  Dataset one = unlabelled(small_graphs());  // all nodes as one graph, which has no label
  one.graph_offsets = {};
  const std::string bare = bench.folder.file("one.h5");
  save_dataset(one, bare);
  CHECK(fails_with(run("predict", {"--checkpoint", checkpoint, "--data", bare, "--out", out, "--quiet"}), 1,
                   {bare, "graphs/offsets"}));
}

TEST_CASE("regression of graphs learns in the targets' own unit") {
  const Bench bench(regression_graphs());
  const std::string out = bench.folder.file("p.h5");
  auto result = bench.result(
      {"--epochs", "30", "--iterations", "10", "--split", "0", "--dropout", "0", "--predict", out});
  CHECK(result.at("metric") == "r2");
  CHECK(std::stod(result.at("test_acc")) > 0.5);
  const Numbers predictions = values(predictions_in(out));
  double error = 0.0;
  for (size_t g = 0; g < kGraphs; ++g)
    error += std::abs(predictions[2 * g + 1] - 10.0 * (5 + static_cast<int>(g) / 2 % 5));
  CHECK(error / kGraphs < 10.0);
}

TEST_CASE("graphs without node features are refused, or get generated ones") {
  Dataset data = small_graphs();
  data.x = {};
  const Bench bench(data);
  CHECK(fails_with(bench.train(kShort), 1, {bench.data, "nodes/x", "--node-features"}));
  CHECK(std::stod(bench.result(with(kShort, {"--epochs", "12", "--node-features", "one-hot-degree"}))
                      .at("test_acc")) > 0.9);
  CHECK(bench.result(with(kShort, {"--node-features", "constant"})).at("model").find("GIN 1-") == 0);

  // Degrees of another file use the columns of the training.
  const std::string checkpoint = bench.folder.file("c.h5"), out = bench.folder.file("p.h5");
  (void)bench.result(
      with(kShort, {"--node-features", "one-hot-degree", "--split", "0", "--checkpoint", checkpoint}));
  const auto predict = [&](const std::string& file) {
    return run("predict", {"--checkpoint", checkpoint, "--data", file, "--out", out, "--quiet"});
  };
  const auto star = [&](int32_t leaves) {
    std::vector<int32_t> src, dst(static_cast<size_t>(leaves), 0);
    for (int32_t leaf = 1; leaf <= leaves; ++leaf) src.push_back(leaf);
    Dataset one;
    one.graph = Graph::from_coo(leaves + 1, Tensor::from(src), Tensor::from(dst));
    one.graph_offsets = Tensor::from(std::vector<int64_t>{0, leaves + 1});
    const std::string path = bench.folder.file("star.h5");
    save_dataset(one, path);
    return path;
  };
  succeeds(predict(star(3)));
  CHECK(fails_with(predict(star(9)), 1, {"star.h5", "9 in-edges", "8 at most"}));
}

TEST_CASE("files without graphs for training, and wrong options") {
  const auto refused = [](auto&& change, const Words& more, const Words& parts) {
    Dataset data = small_graphs();
    change(data);
    const Bench bench(data);
    return fails_with(bench.train(more), 1, with({bench.data}, parts));
  };
  CHECK(refused([](Dataset& d) { d.task = Task::none, d.classes = 0, d.graph_y = {}; }, {}, {"task"}));
  CHECK(refused(
      [](Dataset& d) {  // all but three graphs are without a label
        std::vector<int32_t> y(kGraphs, -1);
        y[0] = 0, y[1] = 1, y[2] = 0;
        d.graph_y = Tensor::from(y);
        d.unlabelled = kGraphs - 3;
      },
      {}, {"graphs/y", "3 labelled", "10"}));
  const Bench bench;
  for (const Words& wrong : {Words{"--pool", "min"}, Words{"--node-features", "some"}})
    CHECK(fails_with(bench.train(wrong), 2, {wrong[0], wrong[1]}));
  CHECK(fails_with(bench.train(with(kShort, {"--split", "4"})), 2, {"--split"}));
}

TEST_CASE("graphs train with low-bit products, with the same bits for any workers and threads") {
  Bench bench;
  const Words words = with(kShort, {"--epochs", "12"});
  const auto course = [&](const Words& more) { return bench.result(with(words, more)); };
  const auto whole = course({});
  bench.program = "train_graph_qgin";
  // The same model without quantisation.
  const auto unquantised = course({"--bits", "32"});
  for (const char* key : {"model", "train_loss", "test_acc"}) CHECK(unquantised.at(key) == whole.at(key));
  for (const Words& bits : {Words{"--bits", "8"}, Words{"--bits", "4,3,4,2", "--scales", "running"}})
    CHECK(std::stod(course(bits).at("test_acc")) > 0.9);
  CHECK(course({"--bits", "4"}).at("train_loss") != whole.at("train_loss"));
  const Words few = with(kShort, {"--bits", "3"});
  const std::string alone = bench.all_of(with(few, {"--workers", "0", "--threads", "1"}));
  CHECK(bench.all_of(with(few, {"--workers", "2", "--threads", "3"})) == alone);
  CHECK(fails_with(bench.train({"--bits", "4,2"}), 2, {"--bits 4,2", "2 numbers", "4 layers"}));
  CHECK(fails_with(bench.train({"--precision", "bfloat16"}), 2, {"--precision bfloat16"}));
  const std::string checkpoint = bench.folder.file("c.h5"), trained = bench.folder.file("t.h5"),
                    predicted = bench.folder.file("p.h5");
  bench.result(with(few, {"--folds", "2", "--checkpoint", checkpoint, "--predict", trained}));
  succeeds("predict", {"--checkpoint", checkpoint, "--data", bench.data, "--out", predicted, "--quiet"});
  CHECK(same_bits(predictions_in(predicted), predictions_in(trained)));
}
