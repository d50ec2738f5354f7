#include "bench.h"
#include "variants.h"

#include <cmath>
#include <set>

using namespace adj;
using namespace adj::test;

// Properties of all training programs.

namespace {

struct Bench : TrainingBench {
  using TrainingBench::TrainingBench;
  Course train(const Variant& variant, const Words& more) const {
    return course(variant.program, joined(variant.options, more));
  }
};

}  // namespace

TEST_CASE("every model learns every task, and prints its name") {
  std::set<std::string> names;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.program);
    for (Device device : devices()) {
      const Words words{"--epochs", "100", "--patience", "0", "--device", device.str()};
      const Course classes = Bench(small_dataset()).train(variant, words);
      CHECK(classes.number("test_acc") > 0.5);
      CHECK(classes.json.at("app") == variant.program);
      names.insert(classes.json.at("model"));
      CHECK(Bench(small_multilabel_dataset()).train(variant, words).number("test_acc") > 0.6);
      // Loss of standardised targets, one of them constant: 2 / 3 for predicting the mean.
      const Course exact =
          Bench(small_regression_dataset()).train(variant, joined(words, {"--dropout", "0"}));
      CHECK(exact.number("train_loss") < 0.55);
    }
  }
  CHECK(names.size() == variants().size());
}

TEST_CASE(
    "every model has the same bits in every run: any threads, resumed, captured or eager, on new graphs") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.program);
    const Bench bench(small_dataset());
    for (Device device : devices()) {
      const Words on{"--device", device.str()};
      const auto train = [&](const Words& more) {
        return bench.train(variant, joined(joined(more, on), {"--epochs", "14"}));
      };
      const Course course = train({});
      for (const Words& same : {Words{"--threads", "1"}, Words{"--threads", "3"}, Words{"--no-capture"},
                                Words{"--inductive", "--aggregation", "reduce"}})
        CHECK(train(same) == course);
      CHECK_FALSE(train({"--seed", "1"}) == course);
      CHECK(bench.resumes(variant.program, joined(variant.options, on), 5, 14));
    }
  }
}

TEST_CASE("every model trains in bfloat16 nearly as in float32") {
  for (const Variant& variant : variants()) {
    if (!takes_bfloat16(variant)) continue;
    CAPTURE(variant.program);
    const Bench bench(small_dataset());
    for (Device device : devices()) {
      const Words words{"--epochs", "10",       "--lr",       "0.001",      "--dropout",
                        "0",        "--device", device.str(), "--precision"};
      // Mean over several seeds, as one may be unusually sensitive to rounding.
      const auto loss = [&](const char* precision) {
        double sum = 0.0;
        for (const char* seed : {"0", "1", "2", "3"})
          sum += bench.train(variant, joined(words, {precision, "--seed", seed})).number("train_loss");
        return sum;
      };
      const double wide = loss("float32"), narrow = loss("bfloat16");
      CHECK(narrow != wide);
      CHECK(narrow == doctest::Approx(wide).epsilon(0.03));
    }
  }
}

TEST_CASE("every program prints its options") {
  for (const Variant& variant : variants()) {
    const Outcome page = run(variant.program, {"--help"});
    CAPTURE(page.out);
    CHECK(page.status == 0);
    CHECK(page.out.starts_with("Usage: " + variant.program + " "));
    CHECK(lines_of(page.out)[1].starts_with("Trains "));
    CHECK(lines_of(page.out)[1].ends_with("."));
    for (const char* ugly : {"99999", "00000", ".:", "):"}) CHECK(page.out.find(ugly) == std::string::npos);
    for (const std::string& option : variant.options)
      if (option.starts_with("--")) CHECK(page.out.find(option + " ") != std::string::npos);
    for (const char* option : {"--hidden", "--layers"})
      CHECK(fails_with(run(variant.program, {option, "0"}), 2, {option, "1 or more"}));
    CHECK(fails_with(run(variant.program, {"--dropout", "1"}), 2, {"--dropout", "[0, 1)"}));
  }
}
