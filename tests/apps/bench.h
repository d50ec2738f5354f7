#pragma once

#include "json.h"
#include "small_dataset.h"

namespace adj::test {

/// Outputs of a training run.
struct Course {
  std::map<std::string, std::string> json;
  std::string metrics, predictions;  ///< file contents
  double number(const std::string& key) const { return std::stod(json.at(key)); }
  bool operator==(const Course& other) const {
    return metrics == other.metrics && predictions == other.predictions &&
           json.at("test_acc") == other.json.at("test_acc");
  }
};

/// A dataset in a file, a program that trains on it, and options common to all runs.
struct TrainingBench {
  TemporaryDirectory folder;
  std::string data = folder.file("data.h5"), checkpoint = folder.file("c.h5"), metrics = folder.file("m.csv"),
              predicted = folder.file("p.h5");
  Words options{"--quiet", "--json"};
  std::string program = "train_gcn";

  explicit TrainingBench(const Dataset& dataset = small_dataset()) { save_dataset(dataset, data); }
  TrainingBench(const Dataset& dataset, const Words& of_all, const std::string& trainer = "train_gcn")
      : options(of_all), program(trainer) {
    save_dataset(dataset, data);
  }

  Outcome train(const std::string& other, const Words& more) const {
    return run(other, joined(joined({"--data", data}, options), more));
  }
  Outcome train(const Words& more) const { return train(program, more); }

  /// The JSON result that a training prints last.
  std::map<std::string, std::string> result(const Words& more) const {
    return json_of(succeeds(train(more)));
  }
  double value(const std::string& other, const char* key, const Words& more) const {
    return std::stod(json_of(succeeds(train(other, more))).at(key));
  }
  Course course(const std::string& other, const Words& more) const {
    const Outcome outcome =
        succeeds(train(other, joined(more, {"--metrics", metrics, "--predict", predicted})));
    return {json_of(outcome), contents_of(metrics), contents_of(predicted)};
  }
  /// Result, metrics and predictions, without times and process data.
  std::string all_of(const std::string& other, const Words& more) const {
    const std::string out =
        succeeds(train(other, joined(more, {"--metrics", metrics, "--predict", predicted}))).out;
    return out.substr(0, out.find("\"epoch_ms\"")) + contents_of(metrics) + contents_of(predicted);
  }
  std::string all_of(const Words& more) const { return all_of(program, more); }
  /// Whether training interrupted after epoch `broken` and resumed with `changed` options ends with the bits
  /// of uninterrupted training. Its checkpoint stays.
  bool resumes(const std::string& other, const Words& more, int broken, int epochs,
               const Words& changed = {}) const {
    const auto until = [&](int end, const Words& last) {
      return all_of(other, joined(joined(more, {"--epochs", std::to_string(end)}), last));
    };
    const std::string unbroken = until(epochs, {});
    (void)until(broken, {"--checkpoint", checkpoint});
    return until(epochs, joined({"--resume", checkpoint}, changed)) == unbroken;
  }
};

/// For TEST_CASE_FIXTURE: a test with a bench.
template <class Bench>
struct With {
  Bench bench;
};

}  // namespace adj::test
