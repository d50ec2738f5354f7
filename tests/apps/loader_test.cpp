#include "bench.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

// Training on mini-batches, from the command line to the last bit.

namespace {

struct Bench : TrainingBench {
  explicit Bench(const Dataset& dataset = small_dataset())
      : TrainingBench(dataset, {"--quiet", "--json", "--loader", "neighbor", "--batch-size", "7"}) {}
};

}  // namespace

TEST_CASE(
    "every model over blocks trains on sampled neighbourhoods with the same bits for any workers and "
    "threads") {
  for (const Variant& variant : variants()) {
    if (!takes_blocks(variant)) continue;
    CAPTURE(variant.program);
    const Bench bench;
    const auto with = [&](const Words& more) {
      return bench.all_of(variant.program,
                          joined(joined(variant.options, more), {"--epochs", "6", "--fanouts", "4"}));
    };
    const std::string course = with({"--workers", "0"});
    CHECK(with({"--workers", "1", "--threads", "1"}) == course);
    CHECK(with({"--workers", "auto"}) == course);
    CHECK(with({"--workers", "3", "--threads", "2"}) == course);
    CHECK_FALSE(with({"--seed", "1"}) == course);
  }
}

TEST_CASE("sampled training learns every task") {
  const Words words{"--epochs", "40", "--fanouts", "5,5"};
  const auto value = [&](const Dataset& data, const char* key, const Words& more) {
    return Bench(data).value("train_sage", key, more);
  };
  CHECK(value(small_dataset(), "test_acc", words) > 0.5);
  CHECK(Bench().value("train_gcn", "test_acc", words) > 0.5);
  CHECK(value(small_multilabel_dataset(), "test_acc", words) > 0.6);
  CHECK(value(small_regression_dataset(), "train_loss", {"--epochs", "40", "--dropout", "0"}) < 0.55);
}

TEST_CASE_FIXTURE(With<Bench>, "layer by layer an evaluation is that of the whole graph") {
  const auto last = [&](const char* method) {
    return bench.value("train_sage", "val_acc", {"--epochs", "5", "--evaluation", method});
  };
  CHECK(last("layers") == doctest::Approx(last("graph")).epsilon(1e-6));
}

TEST_CASE_FIXTURE(With<Bench>, "a sampled training that is resumed ends with the bits of an unbroken one") {
  for (const Words& sampling :
       {Words{"--fanouts", "4,2"}, Words{"--replace"}, Words{"--labor", "--norm", "batch"}}) {
    CHECK(bench.resumes("train_sage", sampling, 5, 12, {"--workers", "2"}));
    CHECK(bench.resumes("train_sage", joined(sampling, {"--runs", "2", "--eval-every", "2"}), 6, 6));
  }
  Words other{"--epochs", "9", "--resume", bench.checkpoint, "--fanouts", "3", "--runs", "2"};
  CHECK(bench.train("train_sage", other).status == 1);
}

TEST_CASE_FIXTURE(With<Bench>, "options of mini-batches that are wrong or do not go together") {
  CHECK(fails_with(run("train_agnn", {"--loader", "neighbor"}), 2, {"loader"}));
  for (const char* program : {"train_gcn", "train_link"}) {
    const Words words{bench.data, "--loader", "neighbor", "--epochs", "1"};
    CHECK(
        mentions(succeeds(run(program, words)).err, {"evaluation: over the whole graph (gcn is not exact "}));
    const Outcome graph_outcome = succeeds(run(program, joined(words, {"--evaluation", "graph"})));
    CHECK(graph_outcome.err.find("evaluation") == std::string::npos);
    const Words two{"--epochs", "2"};
    CHECK(bench.all_of(program, two) == bench.all_of(program, joined(two, {"--evaluation", "graph"})));
  }
  CHECK(fails_with(bench.train("train_gcn", {"--evaluation", "layers"}), 2, {"layers", "GCN", "graph"}));
}
