#include "bench.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

// Training on a new graph in every epoch, with sums over sorted rows or over the edge list.

namespace {

struct Bench : TrainingBench {
  Bench() : TrainingBench(small_dataset(), {"--json", "--inductive"}) {}
  Outcome run(const Variant& variant, const Words& more) const {
    return TrainingBench::train(variant.program, joined(variant.options, more));
  }
  Course train(const Variant& variant, const Words& more) const {
    return course(variant.program, joined(variant.options, more));
  }
};

const std::vector<Variant> kSums{{"train_gcn", {}},
                                 {"train_gcn", {"--norm", "batch", "--layers", "3"}},
                                 {"train_sage", {}},
                                 {"train_gin", {}},
                                 {"train_gin", {"--train-eps"}}};

}  // namespace

TEST_CASE(
    "both methods train to the same loss; the list's has the same bits in every run, resumed or on any "
    "threads") {
  for (const Variant& variant : kSums) {
    CAPTURE(variant.program);
    const Bench bench;
    for (Device device : devices()) {
      const auto train = [&](const char* method, Words more) {
        return bench.train(variant,
                           joined(more, {"--quiet", "--device", device.str(), "--aggregation", method}));
      };
      // Before and after a step. Adam takes full steps for gradients that are only rounding errors, and deep
      // sums amplify them.
      for (const auto& [epochs, allowed] : {std::pair{"1", 1e-5}, {"3", 2e-3}}) {
        CAPTURE(epochs);
        const double reduced = train("reduce", {"--epochs", epochs}).number("train_loss");
        CHECK(train("scatter", {"--epochs", epochs}).number("train_loss") ==
              doctest::Approx(reduced).epsilon(allowed));
      }
      const Course listed = train("scatter", {"--epochs", "12"});
      CHECK(train("scatter", {"--epochs", "12"}) == listed);
      for (const char* threads : {"1", "2", "5"})
        CHECK(train("scatter", {"--epochs", "12", "--threads", threads}) == listed);
      train("scatter", {"--epochs", "5", "--checkpoint", bench.checkpoint});
      CHECK(train("scatter", {"--epochs", "12", "--resume", bench.checkpoint}) == listed);
      const Outcome other = bench.run(variant, {"--resume", bench.checkpoint, "--aggregation", "reduce",
                                                "--device", device.str(), "--quiet"});
      CHECK(other.status == 1);
      CHECK(mentions(other.err, "facts@aggregation: 'scatter', but this training has 'reduce'"));
    }
  }
}

TEST_CASE("--aggregation auto chooses by a rule, and --explain prints the choice and its reason") {
  const Bench bench;
  const Variant gcn{"train_gcn", {}};
  const Course any = bench.train(gcn, {"--quiet", "--epochs", "6"});
  const Course again = bench.train(gcn, {"--quiet", "--epochs", "6", "--aggregation", "auto"});
  CHECK(any == again);
  const Outcome outcome = succeeds(bench.run(gcn, {"--epochs", "2", "--explain"}));
  CHECK(mentions(outcome.out, "sums over a list of "));
  CHECK(mentions(outcome.out, "for 5 sums of width "));
}

TEST_CASE("errors of --aggregation") {
  const Bench bench;
  const auto refused = [&](const std::string& program, const Words& words, const char* why) {
    CHECK(fails_with(run(program, joined({"--data", bench.data, "--quiet"}, words)), 2, {why}));
  };
  refused("train_gat", {"--aggregation", "scatter", "--inductive"}, "has no sums over neighbours");
  refused("train_sage", {"--aggr", "max", "--aggregation", "measure", "--inductive"}, "has no sums");
}
