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

TEST_CASE("clusters come from the file, or from METIS if it has none or other ones are requested") {
  Dataset data = small_dataset();
  const Bench without(data);
  std::vector<int32_t> part(static_cast<size_t>(data.num_nodes()));
  for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<int32_t>(i % 6);
  data.part = Tensor::from(part);
  const Bench with(data);
  const auto course = [](const Bench& bench, const Words& more) {
    return bench.all_of("train_gcn",
                        joined({"--epochs", "4", "--loader", "cluster", "--parts-per-batch", "2"}, more));
  };
  const std::string stored = course(with, {}), asked = course(with, {"--parts", "6"});
  CHECK(stored != asked);
  CHECK(course(without, {"--parts", "6"}) == asked);
  CHECK(with.train("train_gcn", {"--loader", "cluster"}).err.find("METIS") == std::string::npos);
  const auto output_of = [](const Bench& bench, const Words& more) {
    const Outcome outcome =
        run("train_gcn", joined({"--data", bench.data, "--loader", "cluster", "--epochs", "1"}, more));
    return outcome.out + outcome.err;
  };
  CHECK(output_of(with, {}).find("METIS") == std::string::npos);
  CHECK(mentions(output_of(with, {"--parts", "6"}), "6 parts of "));
  CHECK(mentions(output_of(without, {}), "1 parts of 120 to 120 nodes by METIS, 0 of "));
}

TEST_CASE("batches without training nodes are skipped, and an epoch without steps is an error") {
  Dataset data = small_dataset();
  const int32_t lone = data.train.to_vector<int32_t>()[0];
  data.train = Tensor::from(std::vector<int32_t>{lone});
  data.splits = {{data.train, data.val, data.test}};
  const Bench bench(data);
  succeeds(bench.train("train_gcn", joined({"--epochs", "3"}, kClusters)));
  const Outcome none = bench.train("train_gcn", {"--loader", "saint", "--budget", "1", "--walk-length", "1",
                                                 "--steps", "1", "--epochs", "50"});
  CHECK(fails_with(none, 1, {"epoch ", "no training node in any of 1 subgraphs", "--budget"}));
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

TEST_CASE("wrong or conflicting options of clusters and subgraphs") {
  const Bench bench;
  check_refused(
      program("train_gcn", {"--data", bench.data, "--quiet"}),
      {
          {{"--loader", "neighbour"}, {"--loader", "none or neighbor or cluster or saint", "neighbour"}},
          {{"--loader", "cluster", "--parts", "-1"}, {"--parts", "0 or more"}},
          {{"--loader", "cluster", "--parts", "x"}, {"parts"}},
          {{"--loader", "cluster", "--parts-per-batch", "0"}, {"--parts-per-batch", "1 or more"}},
          {{"--loader", "cluster", "--budget", "5"}, {"--budget", "--loader saint"}},
          {{"--loader", "cluster", "--inductive"}, {"--inductive", "--loader cluster"}},
          {{"--loader", "saint", "--saint", "some"}, {"--saint", "node or edge or walk"}},
          {{"--loader", "saint", "--budget", "0"}, {"--budget", "1 or more"}},
          {{"--loader", "saint", "--budget", "100000001"}, {"--budget", "100000000"}},
          {{"--loader", "saint", "--walk-length", "100000000"}, {"--walk-length", "99999999"}},
          {{"--loader", "saint", "--budget", "10000", "--walk-length", "10000"},
           {"--budget 10000: 10001 nodes per draw", "100000000"}},
          {{"--loader", "saint", "--saint", "edge", "--budget", "50000001"},
           {"--budget 50000001", "100000000"}},
          {{"--loader", "saint", "--walk-length", "-1"}, {"--walk-length", "0 or more"}},
          {{"--loader", "saint", "--saint", "node", "--walk-length", "3"}, {"--walk-length", "--saint walk"}},
          {{"--loader", "saint", "--steps", "-1"}, {"--steps", "0 or more"}},
          {{"--loader", "saint", "--coverage", "-1"}, {"--coverage", "0 or more"}},
          {{"--loader", "saint", "--parts", "5"}, {"--parts", "--loader cluster"}},
          {{"--parts", "5"}, {"--parts", "--loader cluster"}},
          {{"--steps", "5"}, {"--steps", "--loader saint"}},
          {{"--batch-size", "5"}, {"batch-size"}},
          {{"--fanouts", "5"}, {"fanouts"}},
      });
  CHECK(fails_with(run("train_sage", {"--loader", "cluster", "--fanouts", "5", "--quiet"}), 2,
                   {"--fanouts", "--loader neighbor"}));
  CHECK(fails_with(run("train_sage", {"--batch-size", "5", "--quiet"}), 2,
                   {"--batch-size", "--loader neighbor or cluster or saint"}));
}
