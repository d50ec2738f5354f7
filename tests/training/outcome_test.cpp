#include "bench.h"
#include <adjoint/core/explain.h>
#include <adjoint/core/isa.h>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::test;

// What is reported of runs that a script gives.

namespace {

double mean(const Numbers& values) {
  double sum = 0.0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}
double deviation(const Numbers& values) {
  double squares = 0.0;
  for (const double v : values) squares += (v - mean(values)) * (v - mean(values));
  return values.size() < 2 ? 0.0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}
std::string with_spread(const Numbers& values) {
  return values.size() < 2 ? fmt::format("{:.4f}", values[0])
                           : fmt::format("{:.4f} ± {:.4f}", mean(values), deviation(values));
}
template <class Field>
Numbers all_of(const Program& p, Field field) {
  Numbers found;
  for (const RunResult& r : p.results()) found.push_back(static_cast<double>(std::invoke(field, r)));
  return found;
}

}  // namespace

TEST_CASE("runs are reported by means, sample deviations and lower medians") {
  for (const size_t runs : {1, 2, 3, 4})
    for (const size_t splits : {1, 2}) {
      CAPTURES(runs, splits);
      Dataset data = small_dataset(1, 2);
      add_splits(data, splits);
      Program p(data, models::gcn(), {{"metric", "accuracy"}});
      p.options.data.path = "small.h5";
      if (splits == 2) p.options.data.split = "all";
      p.options.run = {.epochs = 8, .seed = 3, .runs = static_cast<int64_t>(runs), .patience = 3};
      p.hyperparameters = {{"lr", "0.01"}, {"norm", "\"none\""}};
      std::vector<std::vector<ScriptedEpoch>> scripts;
      for (size_t r = 0; r < 4; ++r) scripts.push_back(drawn_script(10 + r, 8));
      p.play(scripts);
      const size_t count = splits == 2 && runs == 1 ? 2 : runs;
      REQUIRE(p.results().size() == count);
      auto json = p.json();
      const auto number = [&](const char* key) { return std::stod(json.at(key)); };
      CHECK(number("train_loss") == doctest::Approx(mean(all_of(p, &RunResult::train_loss))));
      CHECK(number("val_loss") == doctest::Approx(mean(all_of(p, &RunResult::val_loss))));
      CHECK(number("test_loss") == doctest::Approx(mean(all_of(p, &RunResult::test_loss))));
      CHECK(number("val_acc") == doctest::Approx(mean(all_of(p, &RunResult::val_metric))));
      const Numbers test = all_of(p, &RunResult::test_metric), auc = all_of(p, &RunResult::test_auc),
                    val = all_of(p, &RunResult::val_metric);
      CHECK(number("val_acc_std") == doctest::Approx(deviation(val)));
      CHECK(number("test_acc") == doctest::Approx(mean(test)));
      CHECK(number("test_acc_std") == doctest::Approx(deviation(test)));
      CHECK(number("test_auc") == doctest::Approx(mean(auc)));
      CHECK(number("test_auc_std") == doctest::Approx(deviation(auc)));
      const auto median = [](Numbers values) {
        std::sort(values.begin(), values.end());
        return values[(values.size() + 1) / 2 - 1];
      };
      CHECK(number("best_epoch") == median(all_of(p, &RunResult::best_epoch)));
      CHECK(number("epochs_run") == median(all_of(p, &RunResult::epochs_run)));
      check_json(json, {{"app", "train_gcn"},
                        {"dataset", "small"},
                        {"model", "GCN 40-4-2"},
                        {"device", "cpu"},
                        {"seed", "3"},
                        {"runs", fmt::format("{}", count)},
                        {"epochs", "8"},
                        {"lr", "0.01"},
                        {"norm", "none"},
                        {"features_scaling", "rows"},
                        {"features_bits", "32"},
                        {"metric", "accuracy"}});
      CHECK(number("epoch_ms") > 0.0);
      CHECK((number("peak_mb") > 1.0 && number("peak_mb") < 1e5));
      CHECK(1000.0 * number("wall_s") >= number("epoch_ms"));
      // Area under the curve, pair by pair, from the last run's outputs.
      const Numbers out = values(p.run->output()), y = values(data.y);
      double pairs = 0.0, above = 0.0;
      for (const int32_t a : p.run->examples().test.to_vector<int32_t>())
        for (const int32_t b : p.run->examples().test.to_vector<int32_t>()) {
          if (y[uz(a)] != 1.0 || y[uz(b)] != 0.0) continue;
          const double difference = out[uz(2 * a + 1)] - out[uz(2 * a)] - out[uz(2 * b + 1)] + out[uz(2 * b)];
          above += difference > 0.0 ? 1.0 : difference == 0.0 ? 0.5 : 0.0;
          ++pairs;
        }
      CHECK(auc.back() == doctest::Approx(above / pairs));

      const std::string text = p.text(), epoch = json.at("best_epoch"), ran = json.at("epochs_run");
      CHECK(mentions(
          text, {fmt::format(
                     "GCN 40-4-2 on small{}: test accuracy {}\n",
                     count < 2 ? "" : fmt::format(", {} runs{}", count, splits == 2 ? " over 2 splits" : ""),
                     with_spread(test)),
                 fmt::format("test ROC-AUC {}\n", with_spread(auc)),
                 fmt::format("validation accuracy {} at epoch {}{}{}; ", with_spread(val), epoch,
                             ran == "8" ? " of 8" : fmt::format("; stopped after {} of 8", ran),
                             count < 2 ? "" : " in the median"),
                 " ms per epoch; peak "}));
      CHECK(text.find("built-in demo") == std::string::npos);
      p.options.data.path = "";
      CHECK(mentions(p.text(), "data/README.md, then: train_gcn cora.h5"));
    }
}

TEST_CASE("ROC-AUC is reported beside the metric for two classes in the test nodes only") {
  const auto json = [](Dataset data, const Program::OptionTexts& settings = {}) {
    Program p(data, models::gcn(), settings);
    p.options.run.epochs = 2;
    p.play({drawn_script(1, 2)});
    const std::string text = p.text();
    auto members = p.json();
    CHECK((text.find("test ROC-AUC") != std::string::npos) ==
          (members.count("test_auc") == 1 || p.task->metric.option == "auc"));
    return members;
  };
  CHECK(json(small_dataset()).count("test_auc") == 0);
  Dataset data = small_dataset(1, 2);
  data.y = data.y.clone();
  data.y.mutable_data<int32_t>()[data.val.data<int32_t>()[0]] ^= 1;  // both classes to validate, too
  const auto two = json(data, {{"metric", "auc"}});
  CHECK(two.at("test_auc") == two.at("test_acc"));
  for (const int32_t only : {0, 1}) {
    Dataset one = small_dataset(1, 2);
    one.y = one.y.clone();
    for (const int32_t i : one.test.to_vector<int32_t>()) one.y.mutable_data<int32_t>()[i] = only;
    CHECK(json(one, {{"metric", "accuracy"}}).count("test_auc") == 0);
  }
}

TEST_CASE("folds are reported at the one epoch of the best mean that all of them reached") {
  for (const bool lower : {false, true})
    for (const size_t runs : {1, 2, 3})
      for (const int64_t patience : {0, 2}) {
        CAPTURES(lower, runs, patience);
        Dataset data = small_dataset(1, 2);
        add_splits(data, 4);
        Program p(data, models::gcn(), {{"metric", "accuracy"}, {"split", "all"}});
        p.options.run = {.epochs = 9, .runs = static_cast<int64_t>(runs), .patience = patience};
        std::vector<std::vector<ScriptedEpoch>> scripts;
        for (size_t r = 0; r < 4; ++r) scripts.push_back(drawn_script(30 + r, 9));
        for (std::vector<ScriptedEpoch>& script : scripts)  // of equal means the first counts
          std::copy_n(script.begin(), 4, script.begin() + 4);
        const auto folds = [&](Program& q) {
          q.settings.emplace(q.options);
          Examples examples = node_examples(*q.settings, q.data);
          examples.cross_validated = true;
          q.task.emplace(*q.settings, q.data, examples);
          if (lower) q.task->metric.higher_is_better = false;  // as for absolute errors
          q.run.emplace(*q.settings, *q.task);
        };
        folds(p);
        size_t r = 0;
        while (p.next_run()) {
          Scripted epochs(*p.run, *p.model, scripts[r++]);
          for (auto& epoch : p.run->epochs(epochs))
            for ([[maybe_unused]] const NodeBatch& batch : epoch) epoch.add(epochs.train(epoch.done()));
        }
        const size_t count = runs == 1 ? 4 : runs;  // as many as splits
        REQUIRE(p.results().size() == count);
        int64_t best = 0;
        Numbers at_best, losses;
        for (int64_t e = 1; e <= 9; ++e) {
          Numbers metric, loss;
          for (const EpochRecord& record : p.history())
            if (record.epoch == e) metric.push_back(record.val_metric), loss.push_back(record.val_loss);
          if (metric.size() < count) continue;
          const bool better =
              best == 0 || (lower ? mean(metric) < mean(at_best) : mean(metric) > mean(at_best));
          if (better) best = e, at_best = metric, losses = loss;
        }
        const auto json = p.json();
        const auto number = [&](const char* key) { return std::stod(json.at(key)); };
        CHECK(number("best_epoch") == static_cast<double>(best));
        CHECK(number("test_acc") == doctest::Approx(mean(at_best)));
        CHECK(json.at("val_acc") == json.at("test_acc"));
        CHECK(number("test_acc_std") == doctest::Approx(deviation(at_best)));
        CHECK(number("val_loss") == doctest::Approx(mean(losses)));
        CHECK(json.at("test_loss") == json.at("val_loss"));
        CHECK(number("train_loss") == doctest::Approx(mean(all_of(p, &RunResult::train_loss))));
        CHECK(json.count("test_auc") == 0);
        CHECK(mentions(p.text(),
                       {fmt::format("GCN 40-4-2 on small: accuracy {} over {} of 4 folds\nat epoch {} of 9, "
                                    "whose mean over the folds is the best; ",
                                    with_spread(at_best), count, best)}));
        // The chart's marks are there, too.
        const TemporaryDirectory folder;
        p.options.output.plot = folder.file("p.svg");
        p.text();
        CHECK(mentions(
            contents_of(p.options.output.plot),
            {fmt::format("best epoch {}<", best), fmt::format("test accuracy {:.4f}<", mean(at_best))}));
      }
}

TEST_CASE_FIXTURE(
    InFolder, "every output has its own file, at the end, and nothing is printed that was not requested") {
  const auto script = drawn_script(3, 4);
  Program p;
  p.options.run.epochs = 4;
  OutputOptions& o = p.options.output;
  p.play({script});
  std::filesystem::create_directories(folder.file("run"));
  CHECK(std::filesystem::is_empty(folder.file("run")));
  o.metrics = folder.file("m.csv"), o.plot = folder.file("p.svg"), o.report = folder.file("r.html"),
  o.run_dir = folder.file("run"), o.predict = folder.file("p.csv");
  std::string text = p.text();
  std::string rows = "run,epoch,train_loss,val_loss,val_acc\n";
  for (int64_t e = 1; e <= 4; ++e) {
    const ScriptedEpoch& now = script[uz(e - 1)];
    rows += fmt::format("0,{},{},{},{}\n", e, now.train_loss, now.val_loss,
                        static_cast<double>(now.val_hits) / 30.0);
  }
  CHECK(contents_of(o.metrics) == rows);
  CHECK(mentions(contents_of(o.plot), "<svg"));
  const std::string page = contents_of(o.report);
  const RunResult& result = p.results()[0];
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"program", "train_gcn 0.1.0"},
           {"device", "cpu"},
           {"nodes", "120"},
           {"edges", fmt::format("{}, undirected", p.data.graph.num_edges())},
           {"features", "40 columns"},
           {"test accuracy", fmt::format("{:.4g}", result.test_metric)},
           {"validation accuracy", fmt::format("{:.4g}", result.val_metric)},
           {"best epoch", fmt::format("{} of 4", result.best_epoch)}})
    CHECK(mentions(page, fmt::format("<tr><td>{}</td><td>{}</td></tr>", name, value)));
  CHECK(mentions(page, {"GCN 40-4-3 on small", "<h2>Classes</h2>", "<h2>Degrees</h2>",
                        fmt::format("On the 40 test nodes, at epoch {}:", result.best_epoch)}));
  CHECK(read_run(o.run_dir).result_named("test_acc") == fmt::format("{}", result.test_metric));
  CHECK(read_run(o.run_dir).finished);
  write_predictions(*p.run);
  CHECK(lines_of(contents_of(o.predict)).size() == 121);
  CHECK(lines_of(text).size() == 3);
  const std::string json = p.text().substr(text.size() - 60);
  o.json = true;
  CHECK(lines_of(p.text()).size() == 4);
  o.quiet = true;
  text = p.text();
  CHECK(lines_of(text).size() == 1);
  CHECK(text.find("class_scores") == std::string::npos);
  o.class_scores = true;
  CHECK(mentions(p.text(), R"("class_scores": {"examples": 40, )"));
  o.json = false;
  CHECK(mentions(p.text(),
                 {fmt::format("\nOn the 40 test nodes, at epoch {}:\n", result.best_epoch), "precision"}));
  p.options.compute.explain = true;
  set_explaining(true);
  explain("this", "{}", "that");
  CHECK(mentions(p.text(), {fmt::format("CPU kernels: {}\n", describe_cpu_isa()), "this", "that"}));
  set_explaining(false);
}

TEST_CASE_FIXTURE(InFolder, "regression has no class scores, but predictions, degrees and its own words") {
  Program p(small_regression_dataset(), models::gcn(), {{"epochs", "3"}});
  p.options.output.report = folder.file("r.html");
  p.learn();
  p.text();
  const std::string page = contents_of(p.options.output.report);
  CHECK(page.find("<h2>Classes</h2>") == std::string::npos);
  CHECK(mentions(page, {"<h2>Degrees</h2>", "R2 by in-degree"}));
  p.options.output.class_scores = true;
  CHECK(error_of<UsageError>([&] { p.prepare(); }) ==
        "--class-scores: node_regression has no classes to score");
}

TEST_CASE_FIXTURE(InFolder, "with --profile the table is printed, and the trace written") {
  Program p(small_dataset(), models::gcn(), {{"epochs", "2"}});
  p.options.output.profile = true;
  p.options.output.trace = folder.file("t.json");
  p.options.output.report = folder.file("r.html");
  p.learn();
  CHECK(mentions(p.text(), "forward"));
  CHECK(mentions(contents_of(p.options.output.trace), "traceEvents"));
  CHECK(mentions(contents_of(p.options.output.report), "<h2>Time and memory by op</h2>"));
}

namespace {

/// Labels and predictions: class 2 is never predicted, class 3 only by mistake, class 4 not there at all.
struct Judged {
  Tensor y = Tensor::from(std::vector<int32_t>{0, 0, 0, 1, 1, 2, 0});
  std::vector<int32_t> predicted{0, 0, 3, 1, 1, 0, 2};
  Tensor index = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  Tensor output(int64_t classes = 5) const {
    std::vector<float> logits(predicted.size() * uz(classes));
    for (size_t i = 0; i < predicted.size(); ++i) logits[i * uz(classes) + uz(predicted[i])] = 1.0f;
    return Tensor::from(logits, {std::ssize(predicted), classes});
  }
  const double p0 = 2.0 / 3.0, r0 = 2.0 / 3.0, f0 = 4.0 / 6.0, p1 = 1.0, r1 = 1.0, f1 = 1.0;
};

std::string scores(double p, double r, double f, int support) {
  return fmt::format("  {:9.4f}  {:6.4f}  {:6.4f}  {:7}\n", p, r, f, support);
}

}  // namespace

TEST_CASE_FIXTURE(Judged, "validation chooses the temperature of calibrated probabilities") {
  // All confidences are e^b / (e^b + 4); 4 of 6 validation nodes are right, so b = log 8, and the error is 0.
  const ClassReport report(Labels::classes, output(5), y, index, {}, index);
  const std::string json = report.json();
  const auto member = [&](const std::string& name) {
    return std::stod(json.substr(json.find(fmt::format(R"("{}": )", name)) + name.size() + 4));
  };
  CHECK(member("temperature") == doctest::Approx(1.0 / std::log(8.0)));
  CHECK(member("ece_scaled") < 1e-9);
  CHECK(member("ece") == doctest::Approx(4.0 / 6.0 - std::exp(1.0) / (std::exp(1.0) + 4.0)));
  const std::string says = "(15 bins), 0.0000 at temperature 0.481, which validation chose";
  CHECK(mentions(printed(STDOUT_FILENO, [&] { report.print("Heading"); }), says));
  CHECK(mentions(report.html(), says));
  // Nodes that are all right choose none, as would an infinite confidence, and neither do no nodes.
  for (const std::vector<int32_t>& nodes : {std::vector<int32_t>{}, {0, 1, 3, 4}})
    CHECK(ClassReport(Labels::classes, output(5), y, index, {}, Tensor::from(nodes))
              .json()
              .find("temperature") == std::string::npos);
}

TEST_CASE_FIXTURE(Judged, "the class report of counts by hand: printed, in JSON and in HTML") {
  const ClassReport report(Labels::classes, output(5), y, index, {"a", "b", "c", "d", "none"});
  CHECK(report.examples() == 6);
  // Means are over the four classes that are present or predicted.
  const double mp = (p0 + p1) / 4, mr = (r0 + r1) / 4, mf = (f0 + f1) / 4;
  const double wp = (3 * p0 + 2 * p1) / 6, wr = (3 * r0 + 2 * r1) / 6, wf = (3 * f0 + 2 * f1) / 6,
               share = 4.0 / 6.0,
               ece = share - std::exp(1.0) / (std::exp(1.0) + 4.0);  // all have the same confidence
  const std::string text = printed(STDOUT_FILENO, [&] { report.print("Heading"); });
  CHECK(text ==
        "\nHeading\n                   "
        "  precision  recall      F1  support\n"
        "0 a                " +
            scores(p0, r0, f0, 3) + "1 b                " + scores(p1, r1, f1, 2) + "2 c                " +
            scores(0, 0, 0, 1) + "3 d                " + scores(0, 0, 0, 0) + "4 none             " +
            scores(0, 0, 0, 0) + "mean over classes  " + scores(mp, mr, mf, 6) + "weighted by support" +
            scores(wp, wr, wf, 6) + "all (accuracy)     " + scores(share, share, share, 6) +
            fmt::format("expected calibration error of the probabilities {:.4f} (15 bins)\n", ece) +
            "\nlabel, predicted as  0  1  2  3  4\n"
            "0 a                  2  .  .  1  .\n"
            "1 b                  .  2  .  .  .\n"
            "2 c                  1  .  .  .  .\n"
            "3 d                  .  .  .  .  .\n"
            "4 none               .  .  .  .  .\n");
  const auto one = [](double p, double r, double f, int support) {
    return fmt::format(R"("precision": {}, "recall": {}, "f1": {}, "support": {})", p, r, f, support);
  };
  const std::string json = report.json();
  CHECK(mentions(json,
                 {R"({"examples": 6, "classes": [{"class": 0, "name": "a", )" + one(p0, r0, f0, 3) + "}, ",
                  R"({"class": 2, "name": "c", )" + one(0, 0, 0, 1),
                  R"("confusion": [[0, 0, 2], [0, 3, 1], [1, 1, 2], [2, 0, 1]]})"}));
  for (const auto& [name, f, support] :
       {std::tuple("macro", mf, 6), {"weighted", wf, 6}, {"micro", share, 6}}) {
    const size_t position = json.find(fmt::format(R"("{}": {{)", name));
    REQUIRE(position != std::string::npos);
    const auto value = [&](const char* member) {
      return std::stod(
          json.substr(json.find(fmt::format(R"("{}": )", member), position) + std::strlen(member) + 4));
    };
    CHECK(value("f1") == doctest::Approx(f));
    CHECK(value("support") == support);
  }
  CHECK(std::stod(json.substr(json.find(R"("ece": )") + 7)) == doctest::Approx(ece));
  const std::string html = report.html();
  CHECK(mentions(
      html, fmt::format("<p>Expected calibration error of the probabilities {:.4f} (15 bins)</p>", ece)));
  CHECK(mentions(html, {"<tr><td>0 a</td><td>0.6667</td><td>0.6667</td><td class=\"share\" style=\"--share: "
                        "66.7%\">0.6667</td><td>3</td></tr>",
                        fmt::format("<tr><td>mean over classes</td><td>{:.4f}</td><td>{:.4f}</td>", mp, mr),
                        "<th>label, predicted as</th><th>0</th><th>1</th><th>2</th><th>3</th>",
                        // 70 % of the share of its row
                        "<tr><td>0 a</td><td class=\"cell\" style=\"--share: 46.7%\">2</td>",
                        "<td class=\"cell\" style=\"--share: 23.3%\">1</td>",
                        "<tr><td>4 none</td><td class=\"cell\" style=\"--share: 0.0%\">0</td>"}));
  const ClassReport nameless(Labels::classes, output(), y, {}, {});
  CHECK(nameless.examples() == 7);
  CHECK(mentions(nameless.json(), {R"({"examples": 7, "classes": [{"class": 0, "precision": )"}));
  CHECK(nameless.json().find("name") == std::string::npos);
  CHECK(mentions(printed(STDOUT_FILENO, [&] { nameless.print("H"); }),
                 {"\n0                  ", "\n2                  "}));
}

TEST_CASE_FIXTURE(Judged,
                  "of many classes the report has the largest, and the pairs that are confused most") {
  for (const int64_t classes : {20, 21}) {
    const ClassReport report(Labels::classes, output(classes), y, index, {});
    const std::string text = printed(STDOUT_FILENO, [&] { report.print("H"); });
    CHECK((text.find("predicted as") != std::string::npos) == (classes == 20));
    if (classes == 21)
      CHECK(mentions(
          text,
          {"\nmost often mistaken for another class:\n0      1 of     3 as 3\n2      1 of     1 as 0\n"}));
    CHECK((report.html().find("<th>taken for</th>") != std::string::npos) == (classes == 21));
    if (classes == 21)
      CHECK(mentions(report.html(),
                     "<tr><td>0</td><td>3</td><td>1</td></tr>\n<tr><td>2</td><td>0</td><td>1</td></tr>"));
  }
  const ClassReport right(Labels::classes, output(21), Tensor::from(predicted), {}, {});
  CHECK(mentions(printed(STDOUT_FILENO, [&] { right.print("H"); }), "no class was mistaken for another\n"));
  // 60 classes: class c has c % 7 examples, each taken for the next class.
  std::vector<int32_t> labels;
  for (int32_t c = 0; c < 60; ++c) labels.insert(labels.end(), uz(c % 7), c);
  std::vector<float> logits(labels.size() * 60);
  for (size_t i = 0; i < labels.size(); ++i) logits[i * 60 + uz((labels[i] + 1) % 60)] = 1.0f;
  const ClassReport many(Labels::classes, Tensor::from(logits, {std::ssize(labels), 60}),
                         Tensor::from(labels), {}, {});
  const Words lines = lines_of(printed(STDOUT_FILENO, [&] { many.print("H"); }));
  CHECK(lines[2] == "the 50 largest of 60 classes");
  CHECK(lines[4].starts_with("6  "));  // the first of those with six
  CHECK(lines[5].starts_with("13 "));
  const auto heading = std::find(lines.begin(), lines.end(), "most often mistaken for another class:");
  CHECK(heading - lines.begin() == 4 + 50 + 3 + 1 + 1);
  CHECK(lines.end() - heading == 1 + 20);
  CHECK(heading[1] == "6       6 of     6 as 7");
  CHECK(heading[9] == "5       5 of     5 as 6");  // after eight with six
}

TEST_CASE("several labels are reported by label and all together, without a matrix") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = Tensor::from(std::vector<float>{1, 0, 1, 1, 0, none}, {3, 2}),
               out = Tensor::from(std::vector<float>{1, 1, 1, -1, 1, 1}, {3, 2});
  const ClassReport report(Labels::several, out, y, {}, {});
  const std::string text = printed(STDOUT_FILENO, [&] { report.print("H"); });
  CHECK(text ==
        "\nH\n                   "
        "  precision  recall      F1  support\n"
        "0                  " +
            scores(2.0 / 3.0, 1, 0.8, 2) + "1                  " + scores(0, 0, 0, 1) +
            "mean over classes  " + scores(1.0 / 3.0, 0.5, 0.4, 3) + "weighted by support" +
            scores(4.0 / 9.0, 2.0 / 3.0, 1.6 / 3.0, 3) + "all labels together" +
            scores(0.5, 2.0 / 3.0, 4.0 / 7.0, 3));
  CHECK(report.json().find("confusion") == std::string::npos);
  CHECK(report.html().find("predicted as") == std::string::npos);
  CHECK(report.examples() == 3);
}

TEST_CASE("names are cut to 24 characters, whatever their bytes, and columns stay aligned") {
  const Tensor y = Tensor::from(std::vector<int32_t>{0, 1}),
               out = Tensor::from(std::vector<float>{1, 0, 0, 1}, {2, 2});
  const auto line = [&](const std::string& name) {
    const ClassReport report(Labels::classes, out, y, {}, {name, "b"});
    return lines_of(printed(STDOUT_FILENO, [&] { report.print("H"); })).at(3);
  };
  const std::string row = scores(1, 1, 1, 1).substr(0, scores(1, 1, 1, 1).size() - 1);
  CHECK(line(std::string(24, 'x')) == "0 " + std::string(24, 'x') + row);
  CHECK(line(std::string(25, 'x')) == "0 " + std::string(23, 'x') + "…" + row);
  std::string umlauts;
  for (int k = 0; k < 25; ++k) umlauts += "ü";
  CHECK(line(umlauts) == "0 " + umlauts.substr(0, 46) + "…" + row);
  CHECK(line(umlauts.substr(0, 4)) == "0 üü               " + row);
}
