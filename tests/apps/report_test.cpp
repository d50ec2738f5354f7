#include "bench.h"

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::test;

// --class-scores: scores per class.

namespace {

struct Bench : TrainingBench {
  explicit Bench(const Dataset& dataset)
      : TrainingBench(dataset, {"--epochs", "30", "--class-scores", "--json"}) {
    options.insert(options.end(), {"--predict", predicted});
  }
};

/// "[label, predicted, count]" of the test nodes, from the file of --predict.
Words confusions_of(const Dataset& data, const std::string& predicted) {
  const auto predictions =
      H5Reader::open(predicted).tensor("nodes/prediction", {DType::i32}).to_vector<int32_t>();
  const auto truth = data.y.to_vector<int32_t>();
  std::map<std::pair<int32_t, int32_t>, int> counts;
  for (int32_t i : data.test.to_vector<int32_t>())
    ++counts[{truth[static_cast<size_t>(i)], predictions[static_cast<size_t>(i)]}];
  Words all;
  for (const auto& [pair, count] : counts)
    all.push_back(fmt::format("[{}, {}, {}]", pair.first, pair.second, count));
  return all;
}

}  // namespace

TEST_CASE("--class-scores prints each class and the test nodes' confusion matrix, also in --json") {
  Dataset data = small_dataset();
  data.class_names = {"graphs", "a name that is longer than a table can show it", "ne\nur\u00e9"};
  const Bench bench(data);
  const Outcome outcome = succeeds(bench.train({}));
  const Words expected = confusions_of(data, bench.predicted);
  const std::string json = lines_of(outcome.out).back();
  CHECK(mentions(
      json, {fmt::format(R"("confusion": [{}]}})", fmt::join(expected, ", ")),
             R"("class_scores": {"examples": 40, "classes": [{"class": 0, "name": "graphs", "precision": )",
             R"("macro": {"precision": )", R"("weighted": {)"}));
  const std::string micro = json.substr(json.find("\"micro\""));
  CHECK(mentions(micro, {"\"f1\": " + json_of(outcome)["test_acc"] + ", \"support\": 40}"}));
  CHECK(mentions(outcome.out, {"On the 40 test nodes, at epoch ", "precision  recall      F1  support",
                               "\n0 graphs ", "\n1 a name that is longer t\u2026  ", "\n2 ne\\nur\u00e9 ",
                               "mean over classes", "all (accuracy)", "\nlabel, predicted as"}));
  const Outcome without = run("train_gcn", {bench.data, "--epochs", "2", "--json"});
  CHECK(without.out.find("class_scores") == std::string::npos);
  CHECK(without.out.find("precision  ") == std::string::npos);
  CHECK(fails_with(run("train_link", {bench.data, "--class-scores"}), 2, {"'--class-scores'"}));
  const Outcome several = bench.train({"--runs", "2"});
  CHECK(mentions(several.out, {"On the 40 test nodes of run 2, the last one, at epoch "}));
  CHECK(mentions(several.out, {fmt::format("{}", fmt::join(confusions_of(data, bench.predicted), ", "))}));
  CHECK(lines_of(bench.train({"--quiet"}).out).size() == 1);
}

TEST_CASE("predict --class-scores prints the training's report, without splits over all labels") {
  Dataset data = small_dataset();
  const Bench bench(data);
  const std::string state = bench.folder.file("c.h5"), out = bench.folder.file("out.h5");
  const Outcome trained = succeeds(bench.train({"--checkpoint", state}));
  const auto report_in = [](const Outcome& outcome) {
    const std::string& text = outcome.out;
    const size_t position = text.find("\"class_scores\": ");
    return position == std::string::npos ? text
                                         : text.substr(position, text.find("]]}", position) - position);
  };
  const auto predict = [&](const std::string& file, Words more) {
    return run("predict",
               joined({file, "--checkpoint", state, "--out", out, "--class-scores", "--json"}, more));
  };
  const Outcome predicted = predict(bench.data, {});
  CHECK(report_in(predicted) == report_in(trained));
  CHECK(mentions(predicted.out, {"On the 40 test nodes:", "mean over classes"}));
  CHECK(lines_of(predict(bench.data, {"--quiet"}).out).size() == 1);

  const auto labels = data.y.to_vector<int32_t>();
  const auto known = std::count_if(labels.begin(), labels.end(), [](int32_t y) { return y >= 0; });
  data.splits.clear();
  data.train = data.val = data.test = {};
  const std::string other = bench.folder.file("other.h5");
  save_dataset(data, other);
  CHECK(mentions(predict(other, {}).out, {fmt::format("On the {} labelled nodes:", known)}));
  CHECK(fails_with(run("predict", {other, "--report"}), 2, {"--report is now --class-scores"}));
  // Without labels there is nothing to score, but predictions are written.
  const Tensor written = predictions_in(out);
  const auto check_unscored = [&](const Dataset& unscored, const char* items) {
    save_dataset(unscored, other);
    std::filesystem::remove(out);
    const Outcome outcome = succeeds(predict(other, {"--quiet"}));
    CHECK(lines_of(outcome.err).back() ==
          fmt::format("warning: no class scores: {} has no {} with a label", other, items));
    CHECK(outcome.out.find("class_scores") == std::string::npos);
    CHECK(lines_of(outcome.out).size() == 1);
    CHECK(same_bits(predictions_in(out), written));
  };
  check_unscored(unlabelled(data), "nodes");
  data.y = Tensor::full({120}, -1.0, DType::i32);
  data.unlabelled = 120;
  check_unscored(data, "nodes");
}
