#include "bench.h"
#include <adjoint/training/run_folder.h>

using namespace adj;
using namespace adj::test;
using adj::training::RunSummary;
using adj::training::write_run;

// --run-dir, --tensorboard and `compare`: the folder of a run is never that of another.

namespace {

namespace fs = std::filesystem;

struct Bench : TrainingBench {
  Bench() : TrainingBench(small_dataset(), {"--quiet"}) {}

  std::string a = folder.file("a"), b = folder.file("b");
  Outcome train(const Words& more, const std::string& epochs = "5",
                const std::string& trainer = "train_gcn") const {
    return TrainingBench::train(trainer, joined({"--epochs", epochs}, more));
  }
  /// A training of many epochs in folder `where`, that has written this file.
  std::unique_ptr<Process> running(const std::string& where, const char* file, const Words& more) const {
    auto process = std::make_unique<Process>(
        "train_gcn", joined({data, "--quiet", "--epochs", "1000000000", "--run-dir", where}, more));
    for (int i = 0; i < 100000 && !fs::exists(fs::path(where) / file); ++i) usleep(1000);
    return process;
  }
};

std::string in(const std::string& folder, const char* file) { return (fs::path(folder) / file).string(); }

}  // namespace

TEST_CASE_FIXTURE(With<Bench>, "a run's folder is continued from its own checkpoint only") {
  const std::string &a = bench.a, state = in(a, "checkpoint.h5");
  succeeds(bench.train({"--run-dir", a}, "5", "train_gat"));
  succeeds(bench.train({"--checkpoint", bench.checkpoint}));
  const std::string before = contents_of(in(a, "run.json"));
  CHECK(fails_with(bench.train({"--resume", bench.checkpoint, "--run-dir", a}), 1,
                   {a, "already holds a run", "--resume " + state}));
  CHECK(fails_with(bench.train({"--resume", state, "--run-dir", a}), 1, {state, "train_gat"}));
  CHECK(contents_of(in(a, "run.json")) == before);

  fs::create_hard_link(state, bench.folder.file("link.h5"));
  succeeds(bench.train({"--run-dir", a, "--resume", bench.folder.file("link.h5")}, "7", "train_gat"));
  succeeds(bench.train({"--resume", bench.checkpoint, "--run-dir", bench.b}));
  // --checkpoint elsewhere
  const std::string c = bench.folder.file("c");
  const Words elsewhere{"--run-dir", c, "--checkpoint", bench.checkpoint};
  succeeds(bench.train(elsewhere));
  succeeds(bench.train(joined(elsewhere, {"--resume", bench.checkpoint})));
  CHECK(fails_with(bench.train({"--run-dir", c, "--resume", in(bench.b, "checkpoint.h5")}), 1, {c, "holds"}));
}

TEST_CASE_FIXTURE(With<Bench>, "a training that is refused leaves no new folder") {
  Dataset bare = load_dataset(bench.data);
  bare.splits.clear();
  bare.train = bare.val = bare.test = {};
  const std::string file = bench.folder.file("bare.h5");
  save_dataset(bare, file);
  CHECK(fails_with(run("train_gcn", {file, "--run-dir", bench.a}), 1, {"splits: missing"}));
  CHECK_FALSE(fs::exists(bench.a));
  fs::create_directory(bench.a);  // one that was there stays
  CHECK(fails_with(run("train_gcn", {file, "--run-dir", bench.a}), 1, {"splits: missing"}));
  CHECK(fs::exists(bench.a));
}

TEST_CASE_FIXTURE(With<Bench>, "the folder of a run that goes on or was interrupted is refused") {
  const auto refuses = [&](const std::string& folder) {
    return fails_with(bench.train({"--run-dir", folder}), 1, {folder, "already holds a run"});
  };
  {
    const auto running = bench.running(bench.a, "run.json", {"--checkpoint-every", "1000000000"});
    CHECK(refuses(bench.a));
    CHECK(mentions(succeeds("compare", {bench.a}).out, {"state", "not finished"}));
  }  // killed before its first checkpoint
  CHECK_FALSE(fs::exists(in(bench.a, "checkpoint.h5")));
  CHECK(refuses(bench.a));

  const auto running = bench.running(bench.b, "checkpoint.h5", {});
  running->send(SIGTERM);
  CHECK(running->wait().status == 143);
  CHECK(refuses(bench.b));
  const std::string state = in(bench.b, "checkpoint.h5");
  const int64_t epoch = models::load_checkpoint(state, "train_gcn").integer("epoch");
  succeeds(bench.train({"--run-dir", bench.b, "--resume", state}, std::to_string(epoch + 3)));
  CHECK(succeeds("compare", {bench.b}).out.find("not finished") == std::string::npos);
  fs::remove(in(bench.b, "run.json"));
  CHECK(refuses(bench.b));
}

TEST_CASE_FIXTURE(With<Bench>, "a folder whose training runs is not continued by a second one") {
  const std::string state = in(bench.a, "checkpoint.h5");
  const auto resumed = [&] {
    const int64_t epoch = models::load_checkpoint(state, "train_gcn").integer("epoch");
    return bench.train({"--run-dir", bench.a, "--resume", state}, std::to_string(epoch + 3000));
  };
  {
    const auto running = bench.running(bench.a, "checkpoint.h5", {});
    CHECK(fails_with(resumed(), 1, {bench.a + ": another training runs in this folder"}));
  }
  succeeds(resumed());
}

TEST_CASE_FIXTURE(With<Bench>, "the events of two trainings do not mix in a folder") {
  for (const Words& runs : {Words{}, Words{"--runs", "2"}}) {
    const std::string folder = bench.folder.file(runs.empty() ? "one" : "two");
    const Words words = joined(runs, {"--tensorboard", folder});
    succeeds(bench.train(joined(words, {"--checkpoint", bench.checkpoint})));
    CHECK(fails_with(bench.train(words), 1, {folder, "holds events", "--tensorboard"}));
    succeeds(bench.train(joined(words, {"--resume", bench.checkpoint})));
  }
}

TEST_CASE_FIXTURE(InFolder,
                  "compare sorts runs by the validation metric in its direction, and marks the best") {
  const auto written = [&](const std::string& name, const std::string& metric, const std::string& val,
                           const std::string& dropout, const std::string& dataset = "cora") {
    RunSummary summary{
        "train_gcn", "0.1.0", "avx2", "cpu", {{"dropout", dropout}, {"run-dir", name}, {"lr", "0.01"}}};
    summary.result = fmt::format(R"({{"dataset": "{}", "metric": "{}", "val_acc": {}, "test_acc": 0.5}})",
                                 dataset, metric, val);
    fs::create_directories(folder.file(name));
    write_run(folder.file(name), summary);
    return folder.file(name);
  };
  const std::string low = written("low", "accuracy", "0.75", "0.5"),
                    high = written("a_higher", "accuracy", "0.8125", "0"),
                    equal = written("equal", "accuracy", "0.8125", "0.5"),
                    close = written("close", "accuracy", "0.81249", "0");
  CHECK(
      succeeds("compare", {low, equal, high, close}).out ==
      "  run       val_acc  test_acc\n"
      "* equal      0.8125       0.5\n"
      "* a_higher   0.8125       0.5\n"
      "  close     0.81249       0.5\n"
      "  low          0.75       0.5\n"
      "all: model -, dataset cora, metric accuracy, device cpu, isa avx2, version 0.1.0\n"
      "\n"
      "accuracy on cora: equal, a_higher, close, low: by validation (val_acc), higher is better, * the best\n"
      "\n"
      "options that differ:\n"
      "  run       dropout\n"
      "* equal         0.5\n"
      "* a_higher        0\n"
      "  close           0\n"
      "  low           0.5\n");
  // Lower is better for errors only; runs of other metrics and datasets have their own order.
  const std::string bad = written("bad", "mae", "1.5", "0.5"), good = written("good", "mae", "0.25", "0.5"),
                    elsewhere = written("elsewhere", "accuracy", "0.9", "0.5", "citeseer"),
                    loud = written("loud", "loudness", "3", "0.5"),
                    failed = written("failed", "mae", "null", "0.5");
  const Words lines = lines_of(succeeds("compare", {failed, bad, low, elsewhere, good, high, loud}).out);
  Words order;
  for (size_t k = 1; k <= 7; ++k) order.push_back(lines.at(k).substr(0, lines[k].find(' ', 2)));
  CHECK(order == Words{"* good", "  bad", "* a_higher", "  low", "* elsewhere", "  loud", "  failed"});
  CHECK(mentions(succeeds("compare", {bad, low, elsewhere, good, high, loud}).out,
                 {"mae on cora: good, bad: by validation (val_acc), lower is better, * the best\n",
                  "accuracy on cora: a_higher, low: by validation (val_acc), higher is better, * the best\n",
                  "accuracy on citeseer: elsewhere: by",
                  "loudness on cora: loud: not sorted, as it is not known whether higher is better\n"}));
  for (const char* metric : {"f1", "auc", "r2", "mrr", "hits@20"}) {
    CAPTURE(metric);
    const std::string one = written("one", metric, "0.1", "0"), two = written("two", metric, "0.2", "0");
    CHECK(lines_of(succeeds("compare", {one, two}).out).at(1).starts_with("* two"));
  }
  CHECK(lines_of(succeeds("compare", {low}).out).at(1).starts_with("* low  "));
  // Data of one name: the same ones by their fingerprint, without one by the path.
  const auto run_with = [&](const std::string& name, const std::string& path, const std::string& data) {
    RunSummary summary = training::read_run(written(name, "auc", "0.5", "0"));
    summary.options["data"] = path;
    summary.data = data;
    write_run(folder.file(name), summary);
    return folder.file(name);
  };
  const std::string first = run_with("first", "a.h5", "1"), copy = run_with("copy", "b.h5", "1"),
                    changed = run_with("changed", "c.h5", "2"), old = run_with("old", "d.h5", "");
  CHECK(mentions(succeeds("compare", {first, copy, changed, old}).out,
                 {"auc on cora (a.h5): first, copy: by", "auc on cora (c.h5): changed: by",
                  "auc on cora (d.h5): old: by"}));
}

TEST_CASE_FIXTURE(With<Bench>, "compare names folders of one name by their paths, and damaged files") {
  const std::string one = in(bench.a, "run"), two = in(bench.b, "run"), other = bench.folder.file("other");
  for (const std::string& folder : {one, two, other}) succeeds(bench.train({"--run-dir", folder}));
  CHECK(mentions(succeeds("compare", {one, other}).out, {"* run ", "* other "}));
  CHECK(
      mentions(succeeds("compare", {one, two, other}).out, {"* " + one + " ", "* " + two + " ", "* other "}));
  for (const char* text : {"", "{}", "{\"program\": 1}", "[1"}) {
    std::ofstream(in(one, "run.json")) << text;
    CHECK(fails_with(run("compare", {one}), 1,
                     {in(one, "run.json: damaged, expected a file written by --run-dir")}));
  }
}
