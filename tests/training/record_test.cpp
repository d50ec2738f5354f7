#include "bench.h"

using namespace adj;
using namespace adj::test;

// The record of a training in files and checkpoints, and its chart.

namespace {

Metric accuracy() { return metric_named("accuracy", Labels::classes, 3); }

/// Three runs of other lengths; the first two are complete.
TrainingRecord record_of(int64_t runs = 3) {
  TrainingRecord record;
  std::mt19937 generator(5);
  const auto draw = [&] { return static_cast<double>(generator() % 1000) / 1000.0; };
  for (int64_t r = 0; r < runs; ++r) {
    for (int64_t e = 1; e <= 10 + 3 * r; ++e)
      record.history.push_back({r, e, 1.0 + draw(), 2.0 + draw(), draw()});
    if (r == runs - 1 && runs > 1) break;
    const int64_t best = 4 + r;
    const double metric = record.row_of(r, best)->val_metric;
    record.add({draw(), metric, draw(), std::nan(""), best, draw()});
  }
  return record;
}

}  // namespace

TEST_CASE("a record completes its results from the history") {
  const TrainingRecord record = record_of();
  REQUIRE(record.results.size() == 2);
  CHECK(record.results[0].epochs_run == 10);
  CHECK(record.results[1].epochs_run == 13);
  CHECK(record.results[0].val_loss == record.history[3].val_loss);
  CHECK(record.results[1].val_loss == record.history[10 + 4].val_loss);
  CHECK(record.row_of(1, 13) == &record.history[22]);
  CHECK(record.row_of(1, 14) == nullptr);
  CHECK(record.row_of(3, 1) == nullptr);
  CHECK(record.row_of(0, 0) == nullptr);
}

TEST_CASE_FIXTURE(InFolder, "a record is written to a checkpoint and read back, to the bit") {
  const std::vector<Metric> two{accuracy(), metric_named("mae", Labels::numbers, 1)};
  for (const std::vector<Metric>& reported : {std::vector<Metric>{}, two}) {
    TrainingRecord record = record_of();
    for (RunResult& r : record.results)
      for (size_t k = 0; k < 2 * reported.size(); ++k)
        r.reported.push_back(k < 2 ? 0.25 * static_cast<double>(k) : 7.0);
    models::Checkpoint checkpoint;
    checkpoint.set("epoch", int64_t{16});
    record.write(checkpoint, reported);
    CHECK(checkpoint.tensors.count("reported") == reported.size() / 2);
    CHECK(checkpoint.tensors.at("history").shape() == Shape{10 + 13 + 16, 5});
    CHECK(checkpoint.tensors.at("results").shape() == Shape{2, 6});
    const TrainingRecord read = TrainingRecord::read(checkpoint, accuracy(), reported, 2, 16);
    check_same(read, record);
    for (const RunResult& result : read.results) CHECK(std::isnan(result.test_auc));
  }
}

TEST_CASE("a record that no training writes is refused by table and row") {
  const std::vector<Metric> reported{metric_named("mae", Labels::numbers, 1)};
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const struct {
    const char* table;
    int64_t index;
    double value;
    std::string message;  // empty: accepted
  } cases[] = {{"history", 0, 1.0, "tensors/history: row 0: the run is 1, expected -1 or the one after it"},
               {"history", 0, -1.0, "row 0: the run is -1, expected 0 to 2"},
               {"history", 5 * 23, 3.0, "row 23: the run is 3, expected 0 to 2"},
               {"history", 5 * 12, 0.0, "row 12: the run is 0, expected 1 or the one after it"},
               {"history", 5 * 12, 0.5, "row 12: the run is 0.5, expected a whole number"},
               {"history", 5 * 2 + 1, 2.0, "row 2: the epoch is 2, expected one after 2"},
               {"history", 1, 0.0, "row 0: the epoch is 0, expected 1 to 20"},
               {"history", 5 * 9 + 1, 20.0, ""},
               {"history", 5 * 9 + 1, 21.0, "row 9: the epoch is 21, expected 1 to 20"},
               {"history", 5 * 38 + 1, 17.0, "row 38: the epoch is 17, expected 1 to 16"},
               {"history", 5 * 4 + 2, inf, "row 4: the training loss is inf, expected a finite number"},
               {"history", 5 * 4 + 2, -1.0, ""},
               {"history", 5 * 4 + 3, nan, "row 4: the validation loss is nan, expected a finite number"},
               {"history", 5 * 4 + 4, 1.01, "row 4: the validation accuracy is 1.01, expected 0 to 1"},
               {"history", 5 * 4 + 4, -0.01, "row 4: the validation accuracy is -0.01, expected 0 to 1"},
               {"history", 5 * 4 + 4, nan, "row 4: the validation accuracy is nan, expected a finite number"},
               {"history", 5 * 4 + 4, 1.0, ""},
               {"results", 0, nan, "tensors/results: row 0: the training loss is nan"},
               {"results", 1, 1.5, "row 0: the validation accuracy is 1.5"},
               {"results", 2, -0.5, "row 0: the test accuracy is -0.5"},
               {"results", 3, 1.5, "row 0: the area under the curve is 1.5, expected 0 to 1"},
               {"results", 3, 0.5, ""},
               {"results", 4, 0.0, "row 0: the best epoch is 0, expected 1 to 20"},
               {"results", 4, 12.0, "row 0: the best epoch is 12, expected an epoch in tensors/history"},
               {"results", 4, 21.0, "row 0: the best epoch is 21, expected 1 to 20"},
               {"results", 6 + 5, -1.0, "row 1: the test loss is -1, expected 0 to inf"},
               {"results", 5, 0.0, ""},
               {"reported", 0, -1.0, "tensors/reported: row 0: mean absolute error is -1, expected 0 to inf"},
               {"reported", 3, nan, "tensors/reported: row 1: mean absolute error is nan"},
               {"reported", 3, 0.0, ""}};
  for (const auto& c : cases) {
    CAPTURES(std::string(c.table), c.index, c.value);
    TrainingRecord record = record_of();
    for (RunResult& r : record.results) r.reported = {1.0, 2.0};
    models::Checkpoint checkpoint;
    checkpoint.path = "c.h5";
    checkpoint.set("epoch", int64_t{16});
    record.write(checkpoint, reported);
    checkpoint.tensors[c.table].mutable_data<double>()[c.index] = c.value;
    const std::string message =
        error_of<DataError>([&] { TrainingRecord::read(checkpoint, accuracy(), reported, 2, 20); });
    if (c.message.empty()) CHECK(message == "");
    if (!c.message.empty()) CHECK(mentions(message, {"c.h5: ", c.message}));
  }
  const auto refused = [&](int64_t run, const std::function<void(models::Checkpoint&)>& change,
                           const std::string& message) {
    TrainingRecord record = record_of();
    for (RunResult& r : record.results) r.reported = {1.0, 2.0};
    models::Checkpoint checkpoint;
    checkpoint.set("epoch", int64_t{16});
    record.write(checkpoint, reported);
    change(checkpoint);
    CHECK(mentions(
        error_of<DataError>([&] { TrainingRecord::read(checkpoint, accuracy(), reported, run, 20); }),
        message));
  };
  const auto rows = [](const char* table, int64_t begin, int64_t end) {
    return [=](models::Checkpoint& c) { c.tensors[table] = c.tensors[table].rows(begin, end).clone(); };
  };
  refused(2, rows("history", 0, 10), "tensors/history: no row of run 1");
  refused(2, rows("history", 0, 0), "tensors/history: no row of run 0");
  refused(2, rows("results", 0, 1), "tensors/results: 1 rows, expected 2");
  refused(
      3, [](auto&) {}, "tensors/results: 2 rows, expected 3");
  refused(2, rows("reported", 0, 1), "tensors/reported: 1 rows, expected 2");
}

TEST_CASE_FIXTURE(InFolder, "metrics are rows of the history, and scalars have tags") {
  const TrainingRecord record = record_of(1);
  const Metric& auc = metric_named("auc", Labels::several, 3);
  std::string csv = "run,epoch,train_loss,val_loss,val_auc\n", json;
  for (const EpochRecord& r : record.history) {
    csv += fmt::format("{},{},{},{},{}\n", r.run, r.epoch, r.train_loss, r.val_loss, r.val_metric);
    json += fmt::format(R"({{"run": {}, "epoch": {}, "train_loss": {}, "val_loss": {}, "val_auc": {}}})"
                        "\n",
                        r.run, r.epoch, r.train_loss, r.val_loss, r.val_metric);
  }
  write_metrics(folder.file("m.csv"), auc, record.history);
  write_metrics(folder.file("m.jsonl"), auc, record.history);
  CHECK(contents_of(folder.file("m.csv")) == csv);
  CHECK(contents_of(folder.file("m.jsonl")) == json);
  using Scalars = std::vector<std::pair<std::string, double>>;
  CHECK(scalars_of({0, 1, 2.0, 3.0, 0.5}, auc, 0.1, 7.0) == Scalars{{"loss/train", 2.0},
                                                                    {"loss/validation", 3.0},
                                                                    {"auc/validation", 0.5},
                                                                    {"learning_rate", 0.1},
                                                                    {"seconds", 7.0}});
}

namespace {

Numbers y_of(const Series& s) {
  Numbers y;
  for (const auto& point : s.points) y.push_back(point.second);
  return y;
}
bool near(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 1e-9) return false;
  return true;
}

/// The mean over a window that is symmetric at the beginning, and cut off at the end.
Numbers smoothed(const Numbers& y) {
  const auto count = std::ssize(y), reach = std::min<int64_t>(count / 40, 50);
  Numbers smooth;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0.0, taken = 0.0;
    for (int64_t k = i - std::min(i, reach); k <= std::min(i + std::min(i, reach), count - 1); ++k)
      sum += y[uz(k)], ++taken;
    smooth.push_back(sum / taken);
  }
  return smooth;
}

}  // namespace

TEST_CASE("the chart has each run's curves, faint, and the smoothed mean where all runs are") {
  TrainingRecord record;
  std::mt19937 generator(7);
  const auto draw = [&] { return static_cast<double>(generator() % 1000) / 1000.0; };
  for (const int64_t runs : {1, 3}) {
    record = {};
    for (int64_t r = 0; r < runs; ++r) {
      for (int64_t e = 1; e <= 90 + 10 * r; ++e)
        record.history.push_back({r, e, 1.0 + draw(), 2.0 + draw(), draw()});
      record.add({1.0, 0.5, 0.25 * static_cast<double>(r + 1), std::nan(""), 4 + 2 * r, 1.0});
    }
    const Chart chart = training_chart("title", accuracy(), record.history, record.results);
    CHECK(chart.title == (runs == 1 ? "title" : "title, mean of 3 runs"));
    CHECK((chart.x.name == "epoch" && chart.x.low == 0.0 &&
           chart.x.high == static_cast<double>(80 + 10 * runs)));
    const size_t count = uz(runs);
    REQUIRE(chart.series.size() == 3 * count + 3 + count + 2);
    const auto curve = [&](size_t r, double EpochRecord::*number) {
      Numbers y;
      for (const EpochRecord& e : record.history)
        if (e.run == static_cast<int64_t>(r)) y.push_back(e.*number);
      return y;
    };
    size_t k = 0;
    const std::pair<double EpochRecord::*, std::string> lines[] = {
        {&EpochRecord::train_loss, "training loss"},
        {&EpochRecord::val_loss, "validation loss"},
        {&EpochRecord::val_metric, "validation accuracy"}};
    for (const auto& [number, name] : lines)
      for (size_t r = 0; r < count; ++r, ++k) {
        const Series& s = chart.series[k];
        CHECK(
            (s.form == Series::Form::faint && s.name.empty() && s.right == (name == "validation accuracy")));
        CHECK(y_of(s) == curve(r, number));
        CHECK(s.points[4].first == 5.0);
        CHECK(s.color == chart.series[3 * count + k / count].color);
      }
    for (const auto& [number, name] : lines) {
      const Series& s = chart.series[k++];
      Numbers mean(90);
      for (size_t r = 0; r < count; ++r)
        for (size_t e = 0; e < 90; ++e) mean[e] += curve(r, number)[e] / static_cast<double>(runs);
      CHECK((s.form == Series::Form::line && s.name == name && s.right == (name == "validation accuracy")));
      CHECK(near(y_of(s), smoothed(mean)));
      CHECK(s.points[89].first == 90.0);
    }
    std::vector<std::pair<double, double>> best, test;
    for (int64_t r = 0; r < runs; ++r) {
      best.emplace_back(4.0 + 2.0 * static_cast<double>(r), 0.5);
      test.emplace_back(best.back().first, 0.25 * static_cast<double>(r + 1));
      const Series& joint = chart.series[k++];
      CHECK((joint.form == Series::Form::faint && joint.right));
      CHECK(joint.points == std::vector{best.back(), test.back()});
    }
    CHECK(chart.series[k].points == test);
    CHECK(chart.series[k].name == (runs == 1 ? "test accuracy 0.2500" : "test accuracy 0.5000"));
    CHECK((chart.series[k].form == Series::Form::diamonds && chart.series[k].right));
    ++k;
    CHECK(chart.series[k].points == best);
    CHECK(chart.series[k].name == (runs == 1 ? "best epoch 4" : "best epochs"));
    CHECK((chart.series[k].form == Series::Form::dots && chart.series[k].right));
  }
  record.results[1].best_epoch = record.results[2].best_epoch = 4;
  CHECK(training_chart("", accuracy(), record.history, record.results).series.back().name == "best epoch 4");
  // More than 50 epochs are never in one half of the window.
  record = {};
  for (int64_t e = 1; e <= 2600; ++e) record.history.push_back({0, e, draw(), draw(), draw()});
  record.add({1.0, 0.5, 0.5, 0.5, 1, 1.0});
  Numbers y;
  for (const EpochRecord& e : record.history) y.push_back(e.train_loss);
  CHECK(near(y_of(training_chart("", accuracy(), record.history, record.results).series[3]), smoothed(y)));
}

TEST_CASE(
    "the chart's axes show nearly all values, all marks, and losses over many powers of ten as logarithms") {
  const auto chart = [](const std::vector<EpochRecord>& history, double val, double test) {
    TrainingRecord record{history, {}};
    record.add({1.0, val, test, std::nan(""), 1, 1.0});
    return training_chart("", accuracy(), record.history, record.results);
  };
  // 41 epochs: losses of 1 to 1.4 and, twice, a spike; metrics of 0.5 to 0.6, at first 0.
  std::vector<EpochRecord> history;
  for (int64_t e = 1; e <= 41; ++e) {
    const double t = static_cast<double>(e - 1) / 40.0;
    history.push_back({0, e, e == 20 ? 50.0 : 1.0 + 0.4 * t, 1.0 + 0.4 * t, e == 1 ? 0.0 : 0.5 + 0.1 * t});
  }
  const Chart narrow = chart(history, 0.55, 0.58);
  CHECK_FALSE(narrow.left.logarithmic);
  CHECK(narrow.left.name == "loss");
  CHECK(narrow.left.low == 0.0);
  Numbers losses, metrics;
  for (const EpochRecord& e : history)
    losses.insert(losses.end(), {e.train_loss, e.val_loss}), metrics.push_back(e.val_metric);
  std::sort(losses.begin(), losses.end());
  std::sort(metrics.begin(), metrics.end());
  const auto range = [](const Numbers& sorted, double beyond) {  // of the middle 80 %, and some more
    const size_t last = sorted.size() - 1;
    const double low = sorted[last / 10], high = sorted[last - last / 10];
    return std::pair(std::max(sorted[0], low - beyond * (high - low)),
                     std::min(sorted[last], high + beyond * (high - low)));
  };
  const auto [low_loss, high_loss] = range(losses, 1.0);
  CHECK(narrow.left.high == doctest::Approx(high_loss + 0.05 * (high_loss - low_loss)));
  REQUIRE(narrow.right);
  auto [low, high] = range(metrics, 0.5);
  CHECK(narrow.right->low == doctest::Approx(low - 0.05 * (high - low)));
  CHECK(narrow.right->high == doctest::Approx(high + 0.05 * (high - low)));
  CHECK(narrow.right->name == "accuracy");
  for (const auto& [val, test] : {std::pair(0.2, 0.9), {0.9, 0.2}}) {
    const Chart marked = chart(history, val, test);
    CHECK(marked.right->low == doctest::Approx(0.2 - 0.05 * 0.7));
    CHECK(marked.right->high == doctest::Approx(0.9 + 0.05 * 0.7));
  }
  const Chart bounded = chart(history, 0.0, 1.0);  // no further than the metric goes
  CHECK((bounded.right->low == 0.0 && bounded.right->high == 1.0));
  for (EpochRecord& e : history) e.train_loss = e.val_loss = 0.5, e.val_metric = 0.5;
  const Chart constant = chart(history, 0.5, 0.5);
  CHECK(constant.left.high == doctest::Approx(0.501));
  CHECK(constant.right->low == doctest::Approx(0.499));
  // From 1e4 down to 1e-3, of which a twentieth on each side does not count.
  for (size_t e = 0; e < 41; ++e)
    history[e].train_loss = history[e].val_loss = std::pow(10.0, 4.0 - 7.0 * static_cast<double>(e) / 40.0);
  const Chart wide = chart(history, 0.5, 0.5);
  CHECK(wide.left.logarithmic);
  CHECK(wide.left.name == "loss (logarithmic)");
  CHECK(wide.left.low == doctest::Approx(1e-3 / 1.5));
  CHECK(wide.left.high == doctest::Approx(1.5e4));
  for (size_t e = 0; e < 41; ++e)
    history[e].train_loss = history[e].val_loss = std::pow(10.0, 3.2 * static_cast<double>(e) / 40.0);
  CHECK_FALSE(chart(history, 0.5, 0.5).left.logarithmic);  // 3.2 powers in all, 2.88 without the ends
  history[0].train_loss = 0.0;
  CHECK(chart(history, 0.5, 0.5).left.low == 0.0);
}
