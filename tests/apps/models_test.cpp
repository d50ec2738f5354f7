#include "json.h"
#include "small_dataset.h"
#include "variants.h"

#include <cmath>
#include <set>

using namespace adj;
using namespace adj::test;

// What every training program keeps to, whatever its model.

namespace {

using Words = std::vector<std::string>;

struct Course {
  std::map<std::string, std::string> json;
  std::string metrics, predictions;
  bool operator==(const Course& other) const {
    return metrics == other.metrics && predictions == other.predictions &&
           json.at("test_acc") == other.json.at("test_acc");
  }
};

struct Bench {
  TemporaryDirectory folder;
  std::string data = folder.file("data.h5"), metrics = folder.file("m.csv"), predicted = folder.file("p.h5");
  explicit Bench(const Dataset& dataset) { save_dataset(dataset, data); }
  Course train(const Variant& variant, Words more) const {
    more.insert(more.begin(), variant.options.begin(), variant.options.end());
    more.insert(more.begin(),
                {"--data", data, "--json", "--quiet", "--metrics", metrics, "--predict", predicted});
    const Outcome outcome = run(variant.program, more);
    if (outcome.status != 0) MESSAGE(outcome.err);
    REQUIRE(outcome.status == 0);
    return {json_of(outcome), contents_of(metrics), contents_of(predicted)};
  }
};

}  // namespace

TEST_CASE("every model learns every task, and names itself") {
  std::set<std::string> names;
  for (const Variant& variant : variants()) {
    if (!have_program(variant.program)) continue;
    CAPTURE(variant.program);
    for (Device device : devices()) {
      CAPTURE(device.str());
      const Words words{"--epochs", "100", "--patience", "0", "--device", device.str()};
      const Course classes = Bench(small_dataset()).train(variant, words);
      CHECK(std::stod(classes.json.at("test_acc")) > 0.5);
      CHECK(classes.json.at("app") == variant.program);
      names.insert(classes.json.at("model"));
      CHECK(std::stod(Bench(small_multilabel_dataset()).train(variant, words).json.at("test_acc")) > 0.6);
      // Of standardised targets, of which one is constant: 2 / 3 where the mean is all that is learnt.
      Words exact = words;
      exact.insert(exact.end(), {"--dropout", "0"});
      CHECK(std::stod(Bench(small_regression_dataset()).train(variant, exact).json.at("train_loss")) < 0.55);
    }
  }
  CHECK(names.size() == variants().size());
}

TEST_CASE("every model has the same bits again, on other threads, resumed, recorded or not, on new graphs") {
  for (const Variant& variant : variants()) {
    if (!have_program(variant.program)) continue;
    CAPTURE(variant.program);
    const Bench bench(small_dataset());
    for (Device device : devices()) {
      CAPTURE(device.str());
      const auto train = [&](Words more) {
        more.insert(more.end(), {"--device", device.str()});
        return bench.train(variant, more);
      };
      const Course course = train({"--epochs", "14"});
      CHECK(train({"--epochs", "14", "--threads", "1"}) == course);
      CHECK(train({"--epochs", "14", "--threads", "3"}) == course);
      CHECK(train({"--epochs", "14", "--no-capture"}) == course);
      CHECK(train({"--epochs", "14", "--inductive", "--aggregation", "reduce"}) == course);
      CHECK_FALSE(train({"--epochs", "14", "--seed", "1"}) == course);
      const std::string checkpoint = bench.folder.file("c.h5");
      train({"--epochs", "5", "--checkpoint", checkpoint});
      CHECK(train({"--epochs", "14", "--resume", checkpoint}) == course);
    }
  }
}

TEST_CASE("every model trains in bfloat16 nearly as in float32") {
  for (const Variant& variant : variants()) {
    if (!takes_bfloat16(variant) || !have_program(variant.program)) continue;
    CAPTURE(variant.program);
    const Bench bench(small_dataset());
    for (Device device : devices()) {
      CAPTURE(device.str());
      const Words words{"--epochs", "10",       "--lr",       "0.001",      "--dropout",
                        "0",        "--device", device.str(), "--precision"};
      // Of several seeds, for one may begin where roundings count for more than they do on the whole.
      const auto loss = [&](const char* precision) {
        double sum = 0.0;
        for (const char* seed : {"0", "1", "2", "3"}) {
          Words more = words;
          more.insert(more.end(), {precision, "--seed", seed});
          sum += std::stod(bench.train(variant, more).json.at("train_loss"));
        }
        return sum;
      };
      const double wide = loss("float32"), narrow = loss("bfloat16");
      CHECK(narrow != wide);
      CHECK(narrow == doctest::Approx(wide).epsilon(0.03));
    }
  }
}

TEST_CASE("every program says what it takes") {
  for (const Variant& variant : variants()) {
    if (!have_program(variant.program)) continue;
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
