#include "../apps/small_graphs.h"
#include "bench.h"
#include <adjoint/nn/metrics/metrics.h>

using namespace adj;
using namespace adj::test;

// Labels, metrics, objectives, and the preparation of a dataset.

namespace {

const float kNone = std::numeric_limits<float>::quiet_NaN();

Examples examples_of(Labels labels, const Tensor& y, int64_t outputs, const std::vector<Split>& splits) {
  Examples examples;
  examples.labels = labels;
  examples.outputs = outputs;
  examples.y = y;
  examples.splits = splits;
  examples.use_split(0);
  return examples;
}
/// Training examples of that name.
Examples trained_on(const char* things, const Tensor& train) {
  Examples examples;
  examples.things = things;
  examples.train = train;
  return examples;
}
Tensor ints(const std::vector<int32_t>& values) { return Tensor::from(values); }

}  // namespace

TEST_CASE("tasks have their labels, words, outputs and metrics") {
  const struct {
    Task task;
    Labels labels;
    bool trained;
  } cases[] = {{Task::node_class, Labels::classes, true},
               {Task::node_multilabel, Labels::several, true},
               {Task::node_regression, Labels::numbers, true},
               {Task::graph_class, Labels::classes, false},
               {Task::graph_regression, Labels::numbers, false}};
  for (const auto& c : cases) {
    CHECK(labels_of(c.task) == c.labels);
    CHECK(is_trained(c.task) == c.trained);
    CHECK(task_named("task", std::string(name_of(c.task))) == c.task);
    CHECK(usual_metric("auto", c.task) == (c.task == Task::graph_class ? "accuracy" : "auto"));
    CHECK(usual_metric("f1", c.task) == "f1");
  }
  CHECK_FALSE(is_trained(Task::none));
  CHECK(word_for_outputs(Labels::classes) == "classes");
  CHECK(word_for_outputs(Labels::several) == "labels");
  CHECK(word_for_outputs(Labels::numbers) == "targets");
  CHECK(mentions(error_of<UsageError>([] { task_named("task", "node_clas"); }),
                 {"--task: expected node_class or node_multilabel or node_regression or graph_class or "
                  "graph_regression, got 'node_clas'; did you mean 'node_class'?"}));
  Dataset data = small_dataset();
  CHECK(outputs_of(data) == 3);
  CHECK(outputs_of(small_multilabel_dataset()) == 3);
  data.task = Task::graph_regression;
  data.graph_y = Tensor::zeros({5, 2});
  CHECK(outputs_of(data) == 2);
}

TEST_CASE("the metrics of each kind of labels, their defaults, directions and bounds") {
  const double inf = std::numeric_limits<double>::infinity();
  const struct {
    Labels labels;
    int64_t outputs;
    std::vector<std::string> options, names, columns;
    std::string refused;
  } cases[] = {{Labels::classes,
                3,
                {"accuracy", "f1"},
                {"accuracy", "macro-F1"},
                {"acc", "f1"},
                "accuracy or f1 for labels of 3 classes"},
               {Labels::classes,
                2,
                {"auc", "accuracy", "f1", "pr-auc"},
                {"ROC-AUC", "accuracy", "macro-F1", "average precision"},
                {"auc", "acc", "f1", "pr_auc"},
                "auc or accuracy or f1 or pr-auc for labels of 2 classes, or recall@precision=P, recall@K, "
                "precision@K"},
               {Labels::several,
                2,
                {"auc", "f1", "pr-auc"},
                {"mean ROC-AUC", "micro-F1", "mean average precision"},
                {"auc", "f1", "pr_auc"},
                "auc or f1 or pr-auc for several labels"},
               {Labels::numbers,
                2,
                {"r2", "mae"},
                {"R2", "mean absolute error"},
                {"r2", "mae"},
                "r2 or mae for regression"}};
  for (const auto& c : cases) {
    CHECK(metric_named("auto", c.labels, c.outputs).option == c.options[0]);
    for (size_t k = 0; k < c.options.size(); ++k) {
      const Metric& metric = metric_named(c.options[k], c.labels, c.outputs);
      CHECK((metric.option == c.options[k] && metric.name == c.names[k] && metric.column == c.columns[k]));
      const bool mae = metric.option == "mae";
      CHECK(metric.higher_is_better == !mae);
      CHECK(metric.score(0.75) == (mae ? -0.75 : 0.75));
      CHECK(metric.low == (metric.option == "r2" ? -inf : 0.0));
      CHECK(metric.high == (mae ? inf : 1.0));
    }
    CHECK(mentions(error_of<UsageError>([&] { metric_named("what", c.labels, c.outputs); }),
                   fmt::format("--metric: expected {}, got 'what'", c.refused)));
  }
  // Values by hand: labels 1 0 1 of three examples, margins 2, 1 and -1 of two classes.
  const Tensor out = Tensor::from(std::vector<float>{0, 2, 1, 2, 3, 2, 9, 9}, {4, 2}), y = ints({1, 0, 1, 0}),
               index = ints({0, 1, 2});
  const auto metric = [&](const char* name, Labels labels, const Tensor& target) {
    return metric_named(name, labels, 2).measure(out, target, index);
  };
  CHECK(metric("auc", Labels::classes, y) == 0.5);
  CHECK(metric("accuracy", Labels::classes, y) == doctest::Approx(1.0 / 3.0));
  CHECK(metric("f1", Labels::classes, y) == doctest::Approx((0.5 + 0.0) / 2.0));
  // The positives are first and third.
  CHECK(metric("pr-auc", Labels::classes, y) == doctest::Approx((1.0 + 2.0 / 3.0) / 2.0));
  CHECK(metric("recall@precision=0.7", Labels::classes, y) == 0.5);
  CHECK(metric("recall@precision=0.6", Labels::classes, y) == 1.0);
  CHECK(metric("recall@1", Labels::classes, y) == 0.5);
  CHECK(metric("precision@2", Labels::classes, y) == 0.5);
  const Tensor t = Tensor::from(std::vector<float>{0, 1, 1, 0, 1, 1, 0, 0}, {4, 2});
  CHECK(metric("auc", Labels::several, t) == doctest::Approx((1.0 + 0.5) / 2.0));
  CHECK(metric("f1", Labels::several, t) == doctest::Approx(2.0 * 4 / (2.0 * 4 + 1 + 0)));
  CHECK(metric("mae", Labels::numbers, t) == doctest::Approx((0 + 1 + 0 + 2 + 2 + 1) / 6.0));
  CHECK(metric("r2", Labels::numbers, t) ==
        doctest::Approx((1 - 4.0 / (2.0 / 3.0) + 1 - 6.0 / (2.0 / 3.0)) / 2.0));
  CHECK(metric("pr-auc", Labels::several, t) == doctest::Approx((1.0 + 2.0 / 3.0) / 2.0));
}

TEST_CASE("a metric that depends on the positive class names it") {
  for (const char* option : {"pr-auc", "recall@5", "precision@5", "recall@precision=0.5", "auc", "f1"}) {
    Metric metric = metric_named(option, Labels::classes, 2);
    const std::string before = metric.name;
    metric.name_class({});
    CHECK(metric.name == before);
    metric.name_class({"fraud", "legit"});
    CHECK(metric.name == before + (metric.option == "auc" || metric.option == "f1" ? "" : " of 'legit'"));
  }
}

TEST_CASE("metrics with a number: names, columns, and what is no such number") {
  const auto named = [](const char* text, int64_t classes = 2) {
    return metric_named(text, Labels::classes, classes);
  };
  const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
      {"recall@precision=0.90", "recall@precision=0.9", "recall at precision 0.9", "recall_precision_0_9"},
      {"recall@precision=1", "recall@precision=1", "recall at precision 1", "recall_precision_1"},
      {"recall@50", "recall@50", "recall@50", "recall_50"},
      {"precision@1000", "precision@1000", "precision@1000", "precision_1000"}};
  for (const auto& [text, option, name, column] : cases) {
    const Metric metric = named(text);
    CHECK((metric.option == option && metric.name == name && metric.column == column));
    CHECK((metric.higher_is_better && metric.low == 0.0 && metric.high == 1.0));
    CHECK(higher_is_better(option) == true);
    CHECK(mentions(error_of<UsageError>([&] { named(text, 3); }), "for labels of 3 classes, got"));
  }
  for (const char* text :
       {"recall@precision=0", "recall@precision=1.1", "recall@precision=x", "recall@precision="})
    CHECK(mentions(error_of<UsageError>([&] { named(text); }),
                   {"--metric: expected recall@precision=P with P above 0, at most 1, got '", text}));
  for (const char* text : {"recall@0", "recall@", "recall@p", "recall@-5", "recall@0.9"})
    CHECK(mentions(error_of<UsageError>([&] { named(text); }),
                   {"--metric: expected recall@K with K of 1 or more, or recall@precision=P, got '", text}));
  CHECK(mentions(error_of<UsageError>([&] { named("precision@0"); }),
                 "--metric: expected precision@K with K of 1 or more, got 'precision@0'"));
  CHECK_FALSE(higher_is_better("recall@0"));
  CHECK_FALSE(higher_is_better("recall"));
  // More than there are to validate.
  const std::vector<Split> splits{{ints({0, 1}), ints({0, 1, 2}), ints({0, 1})}};
  const Examples examples = examples_of(Labels::classes, ints({0, 1, 0, 1}), 2, splits);
  CHECK(mentions(error_of<DataError>([&] { (void)metric_for(examples, "f.h5", "precision@3", 0, 1); }),
                 {"f.h5: splits/test: no precision@3 (precision_at: k is 3, expected 1 to 2"}));
}

TEST_CASE(
    "a metric is defined on every split in use, or named with its place; an automatic ROC-AUC gives way") {
  const std::vector<Split> splits{{ints({0, 1}), ints({0, 1}), ints({0, 1})},
                                  {ints({0}), ints({1, 0}), ints({1, 3})}};
  Examples examples = examples_of(Labels::classes, ints({0, 1, 0, 1}), 2, splits);
  const auto chosen = [&](const char* wanted, size_t first, size_t count) {
    set_log_level(LogLevel::warning);
    const std::string option = metric_for(examples, "f.h5", wanted, first, count).option;
    set_log_level(LogLevel::info);
    return option;
  };
  CHECK(chosen("auto", 0, 1) == "auc");
  CHECK(chosen("auto", 0, 2) == "accuracy");
  CHECK(chosen("auto", 1, 1) == "accuracy");
  CHECK(chosen("f1", 0, 2) == "f1");
  CHECK(mentions(printed(STDERR_FILENO, [&] { (void)metric_for(examples, "f.h5", "auto", 0, 2); }),
                 {"f.h5: splits/1/test: ", "; accuracy is used instead"}));
  CHECK(mentions(error_of<DataError>([&] { chosen("auc", 0, 2); }),
                 {"f.h5: splits/1/test: no ROC-AUC (", "); another --metric may be defined there"}));
  examples.auto_metric = "accuracy";
  CHECK(chosen("auto", 0, 1) == "accuracy");
  examples.splits[1].val = ints({1, 3});
  CHECK(mentions(error_of<DataError>([&] { chosen("auc", 1, 1); }), "f.h5: splits/1/val: "));
  examples.splits_in_file = false;
  CHECK(
      mentions(error_of<DataError>([&] { chosen("auc", 1, 1); }), "f.h5: split 1 drawn by the seed, val: "));
  examples = examples_of(Labels::several, Tensor::full({4, 1}, 1.0), 1, splits);
  CHECK(mentions(error_of<DataError>([&] { chosen("auto", 0, 1); }), "f.h5: splits/val: no mean ROC-AUC"));
}

TEST_CASE("examples take a split, name its parts, and come from nodes with labels and splits") {
  const std::vector<Split> splits{{ints({0}), ints({1}), ints({2})}, {ints({3}), ints({4}), ints({5})}};
  Examples examples = examples_of(Labels::classes, ints({0, 1, 0, 1, 0, 1}), 2, splits);
  CHECK(values(examples.val) == Numbers{1});
  examples.use_split(1);
  CHECK((values(examples.train) == Numbers{3} && values(examples.val) == Numbers{4} &&
         values(examples.test) == Numbers{5}));
  CHECK_THROWS_AS(examples.use_split(2), Error);
  CHECK(examples.size() == 6);
  CHECK((examples.place(0, "val") == "splits/val" && examples.place(3, "test") == "splits/3/test"));
  examples.splits_in_file = false;
  CHECK(examples.place(0, "val") == "split 0 drawn by the seed, val");
  on_devices([&](Device device) {
    const Examples moved = examples.to(device);
    for (const Tensor& t :
         {moved.y, moved.train, moved.val, moved.test, moved.splits[0].train, moved.splits[1].test})
      CHECK(t.device() == device);
  });
  for (const Dataset& data : {small_dataset(), small_multilabel_dataset(), small_regression_dataset()}) {
    const Examples nodes = node_examples(data, "f", "train_gcn");
    CHECK((nodes.things == "nodes" && nodes.task == name_of(data.task) &&
           nodes.labels == labels_of(data.task) && nodes.outputs == 3 &&
           nodes.unlabelled == data.unlabelled && nodes.splits.size() == 1 && nodes.splits_in_file &&
           !nodes.cross_validated));
    CHECK(same_bits(nodes.y, data.y));
  }
  const auto refused = [](auto&& change, const std::string& message) {
    Dataset data = small_dataset();
    change(data);
    CHECK(mentions(error_of<DataError>([&] { node_examples(data, "f", "train_gcn"); }), message));
  };
  refused([](Dataset& d) { d.task = Task::none; },
          "f: attribute task: none, train_gcn trains node_class, node_multilabel and node_regression; "
          "train_link needs no labels");
  refused([](Dataset& d) { d.task = Task::graph_class; }, "; train_graph_gin trains this");
  refused([](Dataset& d) { d.y = {}; }, "f: nodes/y: missing, train_gcn needs labels");
  refused([](Dataset& d) { d.splits.clear(); }, "f: splits: missing");
}

TEST_CASE("the objective standardises targets over the training examples, and measures losses in that unit") {
  const Tensor y = Tensor::from(std::vector<float>{1, 5, kNone, 3, 5, 10, 8, 5, 20, 7, kNone, kNone}, {4, 3});
  const std::vector<Split> splits{{ints({0, 1, 3}), ints({2}), ints({2, 1})}};
  const Objective objective(examples_of(Labels::numbers, y, 3, splits));
  // Columns over rows 0, 1, 3: 1, 3, 7; 5, 5, none; none, 10, none.
  const double mean = 11.0 / 3.0,
               sd = std::sqrt((std::pow(1 - mean, 2) + std::pow(3 - mean, 2) + std::pow(7 - mean, 2)) / 3.0);
  CHECK(close(objective.mean(), Numbers{mean, 5.0, 10.0}, 1e-6));
  CHECK(close(objective.deviation(), Numbers{sd, 1.0, 1.0}, 1e-6));
  const Numbers z = values(objective.targets());
  CHECK(z[0] == doctest::Approx((1 - mean) / sd));
  CHECK(z[6] == doctest::Approx((8 - mean) / sd));
  CHECK(z[7] == doctest::Approx(0.0));
  CHECK(std::isnan(z[2]));
  const Tensor out = Tensor::from(std::vector<float>{1, 2, 3, 0, 1, 0, -1, 0.5f, 2, 0, 0, 0}, {4, 3});
  Numbers unit = values(out);
  for (size_t i = 0; i < unit.size(); ++i)
    unit[i] = unit[i] * values(objective.deviation())[i % 3] + values(objective.mean())[i % 3];
  CHECK(close(objective.output(out), unit, 1e-6));
  CHECK(objective.output(out.to(DType::bf16)).dtype() == DType::f32);
  for (const Tensor& index : {ints({2}), ints({2, 1}), ints({0, 3, 0})}) {
    const double expected = plain_loss(Labels::numbers, out, objective.targets(), index);
    CHECK(objective.loss(Var(out), index).item() == doctest::Approx(expected));
    CHECK(objective.loss_of_output(objective.output(out), index) == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("losses of classes, labels and targets, over an index, a batch or with weights, are plain loops'") {
  const Tensor out = random_tensor({6, 3}), index = ints({4, 0, 2});
  const Numbers weight{0.5, 2.0, 0.25};
  const Tensor w = Tensor::from(std::vector<float>{0.5f, 2.0f, 0.25f});
  const Tensor several =
      Tensor::from(std::vector<float>{1, 0, 1, 1, 1, 0, 0, kNone, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0}, {6, 3});
  const struct {
    Labels labels;
    Tensor y;
  } cases[] = {{Labels::classes, ints({0, 1, 2, 0, 1, 2})},
               {Labels::several, several},
               {Labels::numbers, random_tensor({6, 3})}};
  for (const auto& c : cases) {
    const Objective objective(examples_of(c.labels, c.y, 3, {{ints({0, 1, 2, 3, 4, 5}), index, index}}));
    const Tensor& y = objective.targets();
    const bool numbers = c.labels == Labels::numbers;
    CHECK(bool{objective.mean()} == numbers);
    if (!numbers) CHECK(same_bits(y, c.y));
    if (!numbers) CHECK(same_bits(objective.output(out), out));
    const double expected = plain_loss(c.labels, out, y, index);
    CHECK(objective.loss(Var(out), index).item() == doctest::Approx(expected));
    CHECK(objective.loss_of_output(objective.output(out), index) == doctest::Approx(expected).epsilon(1e-5));
    CHECK(objective.loss_of_batch(Var(out), y, index).item() == doctest::Approx(expected));
    CHECK(objective.loss_of_batch(Var(out), y).item() ==
          doctest::Approx(plain_loss(c.labels, out, y, ints({0, 1, 2, 3, 4, 5}))));
    CHECK(objective.loss_of_batch(Var(out), y, index, w).item() ==
          doctest::Approx(plain_loss(c.labels, out, y, index, weight)));
  }
}

TEST_CASE("features are scaled by the training rows, then quantised; the task keeps what was fitted") {
  const Dataset data = small_dataset();
  const Dense x(data.x.to_dense());
  const auto train = data.train.to_vector<int32_t>();
  for (const std::string how : {"auto", "none", "rows", "standard"}) {
    CAPTURE(how);
    Program p(data, models::gcn(), {{"features-scaling", how}});
    p.prepare();
    const Dense found(p.task->features.to_dense());
    CHECK(name_of(p.task->preprocessing.scaling.kind()) == (how == "auto" ? "rows" : how));
    for (int64_t j = 0; j < x.cols; ++j) {
      double mean = 0.0, variance = 0.0;
      for (const int32_t i : train) mean += x(i, j) / static_cast<double>(train.size());
      for (const int32_t i : train)
        variance += (x(i, j) - mean) * (x(i, j) - mean) / static_cast<double>(train.size());
      for (int64_t i = 0; i < x.rows; ++i) {
        double sum = 0.0;
        for (int64_t k = 0; k < x.cols; ++k) sum += x(i, k);
        const double expected = how == "none" ? x(i, j)
                                : how == "standard"
                                    ? (x(i, j) - mean) / (variance > 1e-12 ? std::sqrt(variance) : 1.0)
                                    : x(i, j) / (sum > 0.0 ? sum : 1.0);
        if (std::abs(found(i, j) - expected) > 1e-4)
          FAIL_CHECK(fmt::format("[{}, {}]: {}, expected {}", i, j, found(i, j), expected));
      }
    }
  }
  Program bits(data, models::gcn(), {{"features-scaling", "none"}, {"features-bits", "1"}});
  bits.prepare();
  CHECK(bits.task->preprocessing.quantization.bits() == 1);
  CHECK(bits.task->features.is_quantized());
  CHECK(close(bits.task->features.to_dense(), x.data, 1e-6));  // words are 0 or 1
  Program wide(data);
  wide.prepare();
  CHECK(wide.task->preprocessing.quantization.bits() == 32);
}

TEST_CASE("the choice of scaling is explained, and what it spoils is refused") {
  using Kind = FeatureScaling::Kind;
  const auto output_of = [](Dataset data, std::optional<Kind> how, std::string* error = nullptr) {
    return printed(STDERR_FILENO, [&] {
      const std::string found = error_of<DataError>([&] {
        const FeatureScaling scaling = choose_scaling(data, "f.h5", how, data.train);
        scale_features(data, "f.h5", scaling);
      });
      if (error != nullptr) *error = found;
    });
  };
  const auto dense = [](const std::function<float(int64_t, int64_t)>& f) {
    Dataset data = small_dataset();
    std::vector<float> x;
    for (int64_t i = 0; i < 120; ++i)
      for (int64_t j = 0; j < 4; ++j) x.push_back(f(i, j));
    data.x = Features(Tensor::from(x, {120, 4}));
    return data;
  };
  CHECK(output_of(small_dataset(), std::nullopt) ==
        "features: rows divided by their sums (bag of words); --features-scaling none leaves them\n");
  Dataset people = dense([](int64_t i, int64_t j) { return static_cast<float>(j == 1 ? i % 2 : i % 3); });
  CHECK(output_of(people, std::nullopt) ==
        "features: 3 of 4 columns standardised (0, 2, 3); --features-scaling none leaves them\n");
  people.feature_names = {"age", "member", "income", "score\n"};
  for (const std::optional<Kind> how : {std::optional(Kind::real), {}})
    CHECK(output_of(people, how) ==
          "features: 3 of 4 columns standardised (age, income, score\\n); --features-scaling none leaves "
          "them\n");
  CHECK(output_of(small_dataset(), Kind::real) ==
        "features: 0 of 40 columns standardised; --features-scaling none leaves them\n"
        "warning: features: standard scaling makes sparse ones dense, 0 MB\n");
  CHECK(output_of(dense([](int64_t, int64_t) { return 0.0f; }), std::nullopt) ==
        "features: unscaled (all are 0)\n");
  Dataset words = small_dataset();
  words.x = Features(SparseMatrix::from_csr(2, 1 << 26, {0, 1, 2}, {0, 1}, {-1, 1500}));
  CHECK(mentions(output_of(words, std::nullopt),
                 {"features: unscaled (sparse; --features-scaling real makes them dense)\n", "warning",
                  "the largest value is 1 in one and 1.5e+03 in another; --features-scaling real"}));
  words.x = Features(Tensor::full({2, 3}, 0.5));
  words.encoder.columns = {{.column = "note", .type = ColumnType::text, .columns = 3}};
  CHECK(output_of(words, std::nullopt) == "features: unscaled (words and categories of a table)\n");
  CHECK(mentions(output_of(small_dataset(), Kind::standard),
                 {"standard scaling makes sparse ones dense, 0 MB"}));
  CHECK(output_of(dense([](int64_t i, int64_t) { return static_cast<float>(i); }), Kind::standard) == "");
  CHECK(output_of(small_dataset(), Kind::none) == "");
  std::string error;
  output_of(dense([](int64_t i, int64_t j) {
              return i == 5 ? (j == 0 ? 3e38f : j == 1 ? -3e38f : 1e-30f) : 1.0f;
            }),
            Kind::rows, &error);
  CHECK(error == "f.h5: nodes/x: a row divided by its sum is not finite; --features-scaling none leaves it");
  Dataset beyond = dense([](int64_t i, int64_t) { return static_cast<float>(i % 2); });
  beyond.x.dense().rows(100, 101).fill_(3e38);
  beyond.train = ints({0, 1});
  output_of(beyond, Kind::standard, &error);
  CHECK(error == "f.h5: nodes/x: a scaled column is not finite; --features-scaling none leaves it");
  Dataset graphs = split_graphs();
  Numbers rows;
  for (const int64_t g : {2, 0})
    for (int64_t i = graphs.graph_offsets.data<int64_t>()[g]; i < graphs.graph_offsets.data<int64_t>()[g + 1];
         ++i)
      rows.push_back(static_cast<double>(i));
  CHECK(values(training_rows(graphs, trained_on("graphs", ints({2, 0})))) == rows);
  CHECK(same_bits(training_rows(graphs, trained_on("nodes", ints({1, 2}))), ints({1, 2})));
  CHECK_FALSE(training_rows(graphs, trained_on("pairs", ints({1}))));
  require_features(graphs, "f", "train_gcn");
  const std::string makers =
      "; --node-features constant, degree, one-hot-degree, random-walk or learned makes some";
  graphs.x = {};
  CHECK(error_of<DataError>([&] { require_features(graphs, "f", "train_gcn"); }) ==
        "f: nodes/x: missing, train_gcn needs node features" + makers);
  graphs.x = Features(Tensor::zeros({graphs.num_nodes(), 0}));
  CHECK(error_of<DataError>([&] { require_features(graphs, "f", "train_gcn"); }) ==
        "f: nodes/x: no columns, train_gcn needs node features" + makers);
  const auto packed = [](Dataset data, int64_t bits) {
    return printed(STDERR_FILENO, [&] { quantize_features(data, choose_quantization(data, "f", bits)); });
  };
  Dataset wide = small_dataset();
  wide.x = Features(random_tensor({120, 4096}));
  CHECK(mentions(packed(wide, 8), {"features: 8 bits per number, one range per column: 0.",
                                   "instead of 1.88 MB as dense ones"}));
  CHECK(packed(wide, 8).find("warning") == std::string::npos);
  CHECK(mentions(packed(small_dataset(), 8), {"as sparse ones"}));
  Dataset sparse = make_citation_dataset({.nodes = 300,
                                          .classes = 3,
                                          .features = 3000,
                                          .words = 4.0,
                                          .train_per_class = 8,
                                          .val = 30,
                                          .test = 40});
  CHECK(mentions(packed(sparse, 8), "sparse ones take less memory than 8 bits per number"));
  CHECK(packed(sparse, 32) == "");
}

TEST_CASE("a task completes its options, counts its data, and identifies it with the splits it uses") {
  Dataset data = small_dataset();
  add_splits(data, 3);
  data.class_names = {"a", "b", "c"};
  Program p(data);
  const std::string output = printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), p.prepare(); });
  CHECK(mentions(output, fmt::format("small: 120 nodes, {} edges, 40 features, 3 classes; 24 nodes to train, "
                                     "30 to validate, 40 to test\n",
                                     data.graph.num_edges())));
  CHECK(p.task->fingerprint.empty());
  CHECK(p.task->preprocessing.class_names == data.class_names);
  CHECK((p.task->num_features == 40 && !p.task->store && p.task->features && !p.task->data.x &&
         !p.task->edges));
  CHECK(p.task->runs == 1);
  const auto print_of = [&](const Program::OptionTexts& settings) {
    Program q(data, models::gcn(), settings);
    q.options.data.features_scaling = FeatureScaling::Kind::none;
    q.prepare();
    return q.task->fingerprint;
  };
  const std::string first = print_of({{"checkpoint", "c"}}),
                    second = print_of({{"resume", "c"}, {"split", "1"}}),
                    all = print_of({{"checkpoint", "c"}, {"split", "all"}});
  Dataset one = data;
  CHECK(first == fingerprint(one));
  one.use_split(1);
  CHECK(second == fingerprint(one));
  one.use_split(2);
  CHECK(all == first + "; " + second + "; " + fingerprint(one));
  Program several(data, models::gcn(), {{"split", "all"}});
  CHECK(mentions(printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), several.prepare(); }),
                 "40 to test (3 splits)\n"));
  CHECK(several.task->runs == 3);
  CHECK(several.task->splits == std::vector<size_t>{0, 1, 2});
  Dataset some = small_regression_dataset();
  Program targets(some);
  CHECK(mentions(printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), targets.prepare(); }),
                 {"3 targets;", "40 to test, 1 without a label\n"}));
}

TEST_CASE_FIXTURE(InFolder,
                  "features are on the device, in host memory or in their file, and give the same batches") {
  Dataset data = small_dataset();
  data.x = Features(data.x.to_dense());
  const std::string path = folder.file("d.h5");
  save_dataset(data, path);
  std::vector<double> losses;
  for (const std::string place : {"device", "host", "file"}) {
    Program p(
        data, models::sage(),
        {{"loader", "neighbor"}, {"features", place}, {"epochs", "2"}, {"batch-size", "16"}, {"data", path}});
    p.data = load_data(p.options);
    CHECK(bool{p.data.x} == (place != "file"));
    CHECK(file_of(p.options, p.data) == path);
    p.learn();
    CHECK(bool{p.task->features} == (place == "device"));
    CHECK(bool{p.task->store});
    losses.push_back(p.history().back().train_loss);
  }
  CHECK(losses[0] == losses[1]);
  CHECK(losses[0] == losses[2]);
  Program demo(data, models::sage(), {{"loader", "neighbor"}, {"features", "file"}});
  CHECK(error_of<UsageError>([&] { load_data(demo.options); }) ==
        "--features file: requires --data FILE, the demo dataset is not a file");
  demo.options.batches.features = FeaturePlace::device;
  CHECK(load_data(demo.options).name == load_demo_dataset().name);
  CHECK(file_of(demo.options, data) == "small");
  Program sparse(small_dataset());
  sparse.options.batches.features = FeaturePlace::host;
  sparse.options.batches.cached_rows = "50%";
  CHECK(error_of<UsageError>([&] { (void)feature_store(sparse.data, sparse.options.batches, DType::f32); }) ==
        "--cached-rows: expected dense or quantised features, those of small are sparse");
}

TEST_CASE("errors of a place in a file keep their kind") {
  const auto thrown = [](auto error) {
    return error_of([&]() { at_place("f", "nodes/x", [&]() -> int { throw error; }); });
  };
  CHECK(at_place("f", "nodes/x", [] { return 7; }) == 7);
  CHECK(thrown(Error("wrong")) == "f: nodes/x: wrong");
  CHECK(thrown(DataError("wrong")) == "wrong");
  CHECK(thrown(OutOfMemory("wrong")) == "wrong");
  CHECK_THROWS_AS(at_place("f", "nodes/x", []() -> int { throw Error("wrong"); }), DataError);
}

TEST_CASE_FIXTURE(InFolder, "processes that read their rows hold neither all edges nor all features") {
  Dataset data = small_dataset();
  data.x = Features(data.x.to_dense());
  const std::string path = folder.file("data.h5");
  save_dataset(data, path);
  const auto tasks = [&](const Program::OptionTexts& texts, bool features_in_file) {
    CAPTURES(texts);
    run_ranks(2, [&](const Group& group) {
      Program p(data, models::gcn(), texts);
      p.options.data.path = path;
      Settings settings(p.options);
      settings.readers = group;
      const LearningTask task = node_task(settings);
      CHECK(task.data.graph.rank() != nullptr);
      CHECK(task.data.num_nodes() == data.num_nodes());
      CHECK(bool{task.data.x_in_file} == features_in_file);
      CHECK(bool{task.features} != features_in_file);
    });
  };
  tasks({}, true);
  tasks({{"features-bits", "8"}}, false);
  tasks({{"report", folder.file("r.html")}}, false);
  tasks({{"node-features", "degree"}}, false);
  REQUIRE(data.x.dense().bytes() > 1024);  // which are compressed
  save_dataset(data, path, 9);
  tasks({}, false);
}
