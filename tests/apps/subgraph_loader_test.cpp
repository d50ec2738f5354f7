#include "bench.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

// Training on clusters and on sampled subgraphs, from the command line to the last bit.

namespace {

const Words kClusters{"--loader", "cluster", "--parts", "9", "--parts-per-batch", "2"};
const Words kSubgraphs{"--loader", "saint", "--budget", "15", "--coverage", "5"};

using Bench = TrainingBench;

}  // namespace

TEST_CASE("every model trains on clusters and subgraphs, with the same bits for any workers and threads") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.program);
    const Bench bench;
    for (const Words& loader : {kClusters, kSubgraphs}) {
      CAPTURE(loader[1]);
      const auto with = [&](const Words& more) {
        return bench.all_of(variant.program,
                            joined(joined(loader, variant.options), joined({"--epochs", "4"}, more)));
      };
      const std::string course = with({"--workers", "0"});
      CHECK(with({"--workers", "1", "--threads", "1"}) == course);
      CHECK(with({"--workers", "3", "--threads", "2"}) == course);
      CHECK_FALSE(with({"--seed", "1"}) == course);
    }
  }
}

TEST_CASE("training on clusters and subgraphs learns every task") {
  for (const Words& loader : {kClusters, kSubgraphs}) {
    CAPTURE(loader[1]);
    const Words words = joined({"--epochs", "60"}, loader);
    CHECK(Bench().value("train_gcn", "test_acc", words) > 0.5);
    CHECK(Bench(small_multilabel_dataset()).value("train_gcn", "test_acc", words) > 0.6);
    CHECK(Bench(small_regression_dataset())
              .value("train_gcn", "train_loss", joined(words, {"--dropout", "0"})) < 0.6);
  }
}

TEST_CASE("one cluster of all nodes trains like the whole graph") {
  const Bench bench;
  const Words words{"--epochs", "10", "--dropout", "0", "--features-scaling", "none"};
  const double whole = bench.value("train_gcn", "train_loss", words);
  const double clusters =
      bench.value("train_gcn", "train_loss", joined(words, {"--loader", "cluster", "--parts", "4"}));
  CHECK(clusters == doctest::Approx(whole).epsilon(1e-4));
  // A subgraph of all nodes does too.
  const double subgraphs =
      bench.value("train_gcn", "train_loss",
                  joined(words, {"--loader", "saint", "--budget", "5000", "--saint", "walk", "--walk-length",
                                 "0", "--steps", "1", "--coverage", "2"}));
  CHECK(subgraphs == doctest::Approx(whole).epsilon(1e-4));
}

TEST_CASE("resumed training on clusters or subgraphs ends with the bits of uninterrupted training") {
  const Bench bench;
  for (const Words& loader : {kClusters, kSubgraphs, joined(kSubgraphs, {"--saint", "edge"})}) {
    CHECK(bench.resumes("train_gcn", loader, 5, 12, {"--workers", "2"}));
    const Words other = joined(loader, {"--epochs", "12", "--resume", bench.checkpoint, "--dropout", "0.4"});
    CHECK(bench.train("train_gcn", other).status == 1);
    CHECK(bench.resumes("train_gcn", joined(loader, {"--runs", "2", "--eval-every", "2"}), 6, 6));
  }
  succeeds(bench.train("train_gcn", joined(kClusters, {"--epochs", "5", "--checkpoint", bench.checkpoint})));
  Words others = kClusters;
  others[3] = "8";
  CHECK(fails_with(bench.train("train_gcn", joined(others, {"--resume", bench.checkpoint})), 1,
                   {bench.checkpoint, "parts"}));
}

TEST_CASE("training on clusters evaluates on the whole graph or layer by layer") {
  const Bench bench;
  const Words words = joined({"--epochs", "5"}, kClusters);
  const auto last = [&](const char* method) {
    return bench.value("train_sage", "val_acc",
                       joined(words, {"--evaluation", method, "--batch-size", "17"}));
  };
  CHECK(last("layers") == doctest::Approx(last("graph")).epsilon(1e-6));
  // It requires whole graphs.
  CHECK(fails_with(bench.train("train_gcn", joined(words, {"--evaluation", "layers"})), 2, {"evaluation"}));
}
