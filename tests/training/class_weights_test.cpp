#include "bench.h"

using namespace adj;
using namespace adj::test;

namespace {

Tensor ints(const std::vector<int32_t>& values) { return Tensor::from(values); }

/// Six examples to train: three of class 0, two of class 1, one of class 2, none of class 3.
Examples few_examples() {
  Examples examples;
  examples.task = "node_class";
  examples.outputs = 4;
  examples.y = ints({0, 0, 0, 1, 1, 2, 2, 3, -1});
  examples.splits = {{ints({5, 4, 3, 2, 1, 0}), ints({6, 7}), ints({0, 6})}};
  examples.use_split(0);
  return examples;
}
/// Five examples to train with labels of four columns: the third is never 1, the last never 0.
Examples labelled_examples() {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  Examples examples;
  examples.task = "node_multilabel";
  examples.labels = Labels::several;
  examples.outputs = 4;
  examples.y = Tensor::from<float>(
      {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, kNone, 1, 0, 1, 0, kNone, 0, kNone, 0, 1, 1, 1, 1, 0, 0, 1, kNone, 0},
      {7, 4});
  examples.splits = {{ints({4, 3, 2, 1, 0}), ints({5, 6}), ints({5})}};
  examples.use_split(0);
  return examples;
}
const std::vector<std::string> kNames{"common", "rare, or so", "2", "x=y"};

std::string refusal(const std::string& text, const std::vector<std::string>& names = kNames,
                    const Examples& examples = few_examples()) {
  return error_of<UsageError>([&] { (void)ClassWeights(text, examples, names); });
}

/// Σ w loss / Σ w by plain loops.
double weighted_mean(const Tensor& out, const Tensor& y, const Tensor& index, const Numbers& weight) {
  double sum = 0.0, total = 0.0;
  for (const int32_t i : index.to_vector<int32_t>()) {
    const double w = weight[uz(y.data<int32_t>()[i])];
    sum += w * plain_loss(Labels::classes, out, y, ints({i}));
    total += w;
  }
  return sum / total;
}

}  // namespace

TEST_CASE(
    "balanced weights are scikit-learn's, others are scaled to a mean of 1 over the training examples") {
  // compute_class_weight("balanced", classes=[0, 1, 2], y=[0, 0, 0, 1, 1, 2]); class 3 is not trained.
  const struct {
    const char* text;
    Numbers expected;
    const char* described;
  } cases[] = {{"balanced", {6.0 / 9, 1.0, 2.0, 1.0}, "common 0.6667, rare, or so 1, 2 2, x=y 1"},
               {"1,1,4,1",
                {6.0 / 9, 6.0 / 9, 24.0 / 9, 6.0 / 9},
                "common 0.6667, rare, or so 0.6667, 2 2.667, x=y 0.6667"},
               {"2=4",
                {6.0 / 9, 6.0 / 9, 24.0 / 9, 6.0 / 9},
                "common 0.6667, rare, or so 0.6667, 2 2.667, x=y 0.6667"},
               {"common=0.5,1=2.5e0", {0.4, 2.0, 0.8, 0.8}, "common 0.4, rare, or so 2, 2 0.8, x=y 0.8"},
               {"x=y=3", {1, 1, 1, 3}, "common 1, rare, or so 1, 2 1, x=y 3"}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const ClassWeights weights(c.text, few_examples(), kNames);
    CHECK(close(weights.fit(few_examples()), c.expected, 1e-6));
    CHECK(weights.describe(few_examples(), kNames) == c.described);
  }
  CHECK(ClassWeights("2=4", few_examples(), {}).describe(few_examples(), {}) ==
        "0 0.6667, 1 0.6667, 2 2.667, 3 0.6667");
  CHECK_FALSE(ClassWeights("none", few_examples(), kNames).fit(few_examples()));
  CHECK_FALSE(ClassWeights().fit(few_examples()));
  on_devices([](Device device) {
    const Tensor found = ClassWeights("balanced", few_examples(), {}).fit(few_examples().to(device));
    CHECK(found.device() == device);
  });
}

TEST_CASE("class weights that fit no class are refused, with what is expected") {
  const char* const numbers =
      "--class-weights: expected none, balanced, or numbers above 0 (1,2.5 or NAME=2.5), got ";
  for (const char* text :
       {"balance", "", "1,2,x,4", "1,2,0,4", "1,2,-1,4", "1,2,inf,4", "1,2,nan,4", "2=", "2=0"})
    CHECK_MESSAGE(refusal(text).starts_with(numbers), text);
  CHECK(refusal("1,2") ==
        "--class-weights: 2 numbers, expected one for each of 4 classes, or NAME=NUMBER for some");
  CHECK(refusal("comon=2") ==
        "--class-weights: no class 'comon', expected common, rare, or so, 2, x=y; did you mean 'common'?");
  CHECK(refusal("4=2", {}) == "--class-weights: no class '4', expected 0 to 3");
  CHECK(refusal("common=2,0=1") == "--class-weights: class '0' twice");
  CHECK(refusal("common=2,1") == "--class-weights: expected NAME=NUMBER, got '1'");
  Examples numbers_only = few_examples();
  numbers_only.labels = Labels::numbers;
  numbers_only.task = "node_regression";
  for (const char* text : {"balanced", "1,2"})
    CHECK(refusal(text, {}, numbers_only) == "--class-weights: node_regression has no classes to weight");
  CHECK(refusal("none", {}, numbers_only) == "");
  CHECK(refusal("1,2", {}, labelled_examples()) ==
        "--class-weights: 2 numbers, expected one for each of 4 labels, or NAME=NUMBER for some");
}

TEST_CASE("weights of several labels are negatives over positives, in a plain loop's loss") {
  const Examples examples = labelled_examples();
  const Tensor out = random_tensor({7, 4});
  for (const auto& [text, expected] :
       {std::pair<const char*, Numbers>{"balanced", {2.0 / 3, 3.0, 1.0, 1.0}}, {"1=9", {1, 9, 1, 1}}}) {
    CAPTURE(text);
    const ClassWeights weights(text, examples, kNames);
    CHECK(close(weights.fit(examples), expected, 1e-6));
    const Objective objective(examples, weights);
    const auto loss_over = [&](const Tensor& rows, bool mean) {
      double sum = 0.0, known = 0.0;
      for (const int32_t i : rows.to_vector<int32_t>())
        for (size_t t = 0; t < 4; ++t) {
          const double y = values(examples.y)[uz(i) * 4 + t], x = values(out)[uz(i) * 4 + t];
          if (std::isnan(y)) continue;
          sum += y > 0.5 ? expected[t] * std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
          ++known;
        }
      return mean ? sum / known : sum;
    };
    for (const Tensor& index : {examples.train, examples.val}) {
      CHECK(objective.loss(Var(out), index).item() == doctest::Approx(loss_over(index, true)));
      CHECK(objective.loss_of_batch(Var(out), examples.y, index).item() ==
            doctest::Approx(loss_over(index, true)));
      const Tensor twice = Tensor::full({index.numel()}, 2.0);
      CHECK(objective.loss_of_batch(Var(out), examples.y, index, twice).item() ==
            doctest::Approx(loss_over(index, false) * 2.0 / 4.0));
    }
  }
  CHECK(ClassWeights("balanced", examples, kNames).describe(examples, kNames) ==
        "common 0.6667, rare, or so 3, 2 1, x=y 1");
}

TEST_CASE("the weighted objective is a plain loop's, and batches sum up to the whole") {
  const Examples examples = few_examples();
  const Tensor out = random_tensor({9, 4});
  for (const char* text : {"balanced", "1,0.25,6,2"}) {
    CAPTURE(text);
    const ClassWeights weights(text, examples, {});
    const Objective objective(examples, weights);
    const Numbers weight = values(weights.fit(examples));
    for (const Tensor& index : {examples.train, examples.val, examples.test}) {
      const double expected = weighted_mean(out, examples.y, index, weight);
      CHECK(objective.loss(Var(out), index).item() == doctest::Approx(expected));
      CHECK(objective.loss_of_output(out, index) == doctest::Approx(expected));
    }
    const double whole = weighted_mean(out, examples.y, examples.train, weight);
    CHECK(objective.loss_of_batch(Var(out), examples.y, examples.train).item() == doctest::Approx(whole));
    // Batches of five and one example, by their sizes; the second has one class only.
    const auto part = [&](const Tensor& index) {
      return objective.loss_of_batch(Var(out), examples.y, index).item() * static_cast<double>(index.numel());
    };
    CHECK((part(ints({0, 1, 3, 4, 5})) + part(ints({2}))) / 6.0 == doctest::Approx(whole));
    // Rows of a batch without an index, and a loader's own weights.
    const Tensor rows = ints({5, 0, 3}), labels = ints({2, 0, 1});
    const Tensor batch = random_tensor({3, 4}), factors = Tensor::from(std::vector<float>{0.5f, 2.0f, 0.25f});
    double mean = 0.0, sum = 0.0;
    for (int32_t k = 0; k < 3; ++k) {
      const double loss =
          weight[uz(labels.data<int32_t>()[k])] * plain_loss(Labels::classes, batch, labels, ints({k}));
      mean += loss / 3.0;
      sum += loss * double{factors.data<float>()[k]};
    }
    CHECK(objective.loss_of_batch(Var(batch), labels).item() == doctest::Approx(mean));
    CHECK(objective.loss_of_batch(Var(batch), labels, ints({0, 1, 2}), factors).item() ==
          doctest::Approx(sum));
  }
}

TEST_CASE("a training logs its class weights by name, and weights each run's own split") {
  Dataset data = small_dataset();
  data.class_names = {"a", "b", "c"};
  data.splits = {{ints({0, 1, 2, 3, 4, 5}), data.val, data.test}, {data.train, data.val, data.test}};
  data.train = data.splits[0].train;
  const auto y = data.y.to_vector<int32_t>();
  std::string expected = "class weights: ";
  double classes = 0.0, counts[3] = {};
  for (size_t i = 0; i < 6; ++i) classes += counts[y[i]]++ == 0.0 ? 1.0 : 0.0;
  for (size_t c = 0; c < 3; ++c)
    expected += fmt::format("{}{} {:.4g}", c == 0 ? "" : ", ", data.class_names[c],
                            counts[c] == 0.0 ? 1.0 : 6.0 / (classes * counts[c]));
  Program p(data, models::gcn(), {{"class-weights", "balanced"}, {"split", "all"}, {"epochs", "1"}});
  CHECK(mentions(printed(STDERR_FILENO, [&] { p.prepare(); }), expected + "\n"));
  // The second split has as many nodes of each class: all weights are 1.
  const Tensor out = random_tensor({120, 3});
  for (const bool first : {true, false}) {
    REQUIRE(p.next_run());
    const double plain = plain_loss(Labels::classes, out, data.y, p.run->examples().val),
                 found = p.run->objective().loss(Var(out), p.run->examples().val).item();
    CHECK((found == doctest::Approx(plain)) == !first);
  }
}
