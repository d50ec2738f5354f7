#include "bench.h"

#include <csignal>

using namespace adj;
using namespace adj::test;

namespace {

struct Bench : TrainingBench {
  /// Runs until a checkpoint exists and `micros` longer; then sends `signal`.
  Outcome interrupt(const Words& more, int signal, int micros) const {
    Process process("train_gcn",
                    joined({"--data", data, "--checkpoint", checkpoint, "--checkpoint-every", "1"}, more));
    for (int i = 0; i < 100000 && !std::filesystem::exists(checkpoint); ++i) usleep(1000);
    usleep(static_cast<useconds_t>(micros));
    process.send(signal);
    return process.wait();
  }
  /// True if training refuses to resume from the checkpoint with this change, naming the file and the parts.
  bool refuses(const std::function<void(models::Checkpoint&)>& change, const Words& parts,
               const Words& more = {}) const {
    const std::string changed = folder.file("changed.h5");
    models::Checkpoint copy = models::load_checkpoint(checkpoint, "train_gcn");
    change(copy);
    models::save_checkpoint(copy, changed);
    return fails_with(train(joined(more, {"--resume", changed})), 1, joined(parts, {changed}));
  }
};

using Change = std::function<void(models::Checkpoint&)>;

Change zeros(const char* tensor, Shape shape, DType dtype = DType::f64) {
  return [=](models::Checkpoint& x) { x.tensors[tensor] = Tensor::zeros(shape, dtype); };
}
Change without(const char* name) {
  return [=](models::Checkpoint& x) { x.facts.erase(name), x.tensors.erase(name); };
}

}  // namespace

TEST_CASE_FIXTURE(With<Bench>, "a resumed training ends with the bits of an unbroken one") {
  for (const Words& model :
       {Words{"--seed", "3"}, Words{"--norm", "batch", "--layers", "3", "--hidden", "24"}}) {
    CHECK(bench.resumes("train_gcn", model, 11, 30));
    // On top of itself, and again from its own end.
    const Words whole = joined(model, {"--epochs", "30"});
    for (int round = 0; round < 2; ++round)
      CHECK(bench.all_of(joined(whole, {"--resume", bench.checkpoint, "--checkpoint", bench.checkpoint})) ==
            bench.all_of(whole));
  }
}

TEST_CASE_FIXTURE(With<Bench>, "resuming a training that has ended writes its new checkpoint") {
  const std::string other = bench.folder.file("other.h5"), folder = bench.folder.file("run");
  for (const Words& end : {Words{"--epochs", "500", "--patience", "3"}, Words{"--epochs", "4"}}) {
    std::filesystem::remove(other);
    std::filesystem::remove_all(folder);
    succeeds(bench.train(joined(end, {"--checkpoint", bench.checkpoint})));
    const Words resumed = joined(end, {"--resume", bench.checkpoint});
    succeeds(bench.train(joined(resumed, {"--checkpoint", other})));
    CHECK(contents_of(other) == contents_of(bench.checkpoint));
    succeeds(bench.train(joined(resumed, {"--run-dir", folder})));
    CHECK(contents_of(folder + "/checkpoint.h5") == contents_of(bench.checkpoint));
  }
  // The first of two runs has ended: the second one goes on.
  const Words two{"--epochs", "4", "--runs", "2"};
  const std::string unbroken = bench.all_of(two);
  succeeds(bench.train(joined(two, {"--checkpoint", bench.checkpoint})));
  CHECK(bench.all_of(joined(two, {"--resume", bench.checkpoint, "--checkpoint", other})) == unbroken);
}

TEST_CASE_FIXTURE(With<Bench>, "options without influence on results may change when a training is resumed") {
  const std::string unbroken = bench.all_of({"--epochs", "12"});
  succeeds(bench.train(
      {"--epochs", "5", "--threads", "2", "--checkpoint", bench.checkpoint, "--checkpoint-every", "2"}));
  CHECK(bench.all_of({"--epochs", "12", "--resume", bench.checkpoint, "--threads", "1", "--no-capture",
                      "--checkpoint", bench.folder.file("other.h5"), "--checkpoint-every", "7"}) == unbroken);
}

TEST_CASE("interrupted training finishes its epoch, saves its state and exits with 130") {
  const Bench bench;
  const std::string metrics = bench.folder.file("m.csv");
  std::ofstream(metrics) << "older";
  const Outcome outcome =
      bench.interrupt({"--epochs", "1000000", "--quiet", "--metrics", metrics}, SIGINT, 20000);
  CHECK(fails_with(outcome, 130, {"interrupted", "--resume " + bench.checkpoint}));
  CHECK(contents_of(metrics) == "older");
  const int64_t epoch = models::load_checkpoint(bench.checkpoint, "train_gcn").integer("epoch");
  CHECK(epoch >= 1);
  const std::string epochs = std::to_string(epoch + 7);
  CHECK(bench.all_of({"--epochs", epochs, "--resume", bench.checkpoint}) ==
        bench.all_of({"--epochs", epochs}));

  const Outcome without = [&] {
    Process process("train_gcn", {"--data", bench.data, "--epochs", "1000000"});
    usleep(300000);
    process.send(SIGTERM);
    return process.wait();
  }();
  CHECK(without.status == 143);
}

TEST_CASE_FIXTURE(With<Bench>, "several runs are resumed in the run where they stopped") {
  for (const char* patience_on : {"metric", "either"}) {
    const Words words{"--runs", "3", "--epochs", "120", "--patience", "60", "--patience-on", patience_on};
    const std::string unbroken = bench.all_of(words);
    for (int micros : {0, 60000, 200000}) {
      std::filesystem::remove(bench.checkpoint);
      bench.interrupt(words, SIGKILL, micros);
      CHECK(bench.all_of(joined(words, {"--resume", bench.checkpoint})) == unbroken);
    }
  }
}

TEST_CASE_FIXTURE(With<Bench>, "a kill at any moment of a training leaves a valid checkpoint") {
  int64_t last = 0;
  for (int round = 0; round < 25; ++round) {
    Words words{"--epochs", "1000000", "--quiet", "--hidden", "256"};
    if (round > 0) words.insert(words.end(), {"--resume", bench.checkpoint});
    CHECK(bench.interrupt(words, SIGKILL, 30000 + 3100 * round).status == 128 + SIGKILL);
    const int64_t epoch = models::load_checkpoint(bench.checkpoint, "train_gcn").integer("epoch");
    CHECK(epoch >= last);
    last = epoch;
  }
  CHECK(last > 0);
}

TEST_CASE_FIXTURE(With<Bench>, "a checkpoint of another training is refused, and kept") {
  const std::string c = bench.checkpoint;
  succeeds(bench.train({"--epochs", "4", "--checkpoint", c}));
  const std::string before = contents_of(c);
  check_refused(
      [&](const Words& more) {
        return bench.train(joined({"--resume", c, "--checkpoint", c},
                                  more[0] == "--epochs" ? more : joined(more, {"--epochs", "8"})));
      },
      {
          {{"--hidden", "8"}, {"hidden", "16", "8"}},
          {{"--layers", "3"}, {"layers", "2", "3"}},
          {{"--lr", "0.02"}, {"lr", "0.01", "0.02"}},
          {{"--seed", "1"}, {"was trained with --seed 0; this run has 1"}},
          {{"--norm", "batch"}, {"norm", "none", "batch"}},
          {{"--optimizer", "adamw"}, {"optimizer", "adam", "adamw"}},
          {{"--schedule", "cosine"}, {"schedule", "none", "cosine"}},
          {{"--warm-up", "2"}, {"warm-up", "0", "2"}},
          {{"--class-weights", "1,2,1"}, {"class-weights", "none", "1,2,1"}},
          {{"--features-scaling", "none"}, {"features.scaling", "'rows'", "'none'"}},
          {{"--runs", "2"}, {"runs", "1", "2"}},
          {{"--epochs", "3"}, {"--resume after 4 epochs", "--epochs 3"}},
      },
      {c}, 1);
  CHECK(contents_of(c) == before);

  const std::string other = bench.folder.file("other.h5");
  write_small_dataset(other, 1, 2);
  const auto resumed = [&] { return run("train_gcn", {"--quiet", "--data", other, "--resume", c}); };
  CHECK(fails_with(resumed(), 1, {c, "dataset", "3 classes", "2 classes"}));
  Dataset relabelled = load_dataset(bench.data);  // the same name and counts
  std::vector<int32_t> labels = relabelled.y.to_vector<int32_t>();
  labels[0] = (labels[0] + 1) % 3;
  relabelled.y = Tensor::from(labels);
  save_dataset(relabelled, other);
  CHECK(fails_with(resumed(), 1, {c, "dataset", "contents"}));
  // The same labels on other nodes, and edges of other weights.
  std::rotate(labels.begin(), labels.begin() + 1, labels.end());
  relabelled.y = Tensor::from(labels);
  save_dataset(relabelled, other);
  CHECK(fails_with(resumed(), 1, {c, "dataset", "contents"}));
  Dataset weighted = load_dataset(bench.data);
  weighted.graph = weighted.graph.with_edge_weight(Tensor::full({weighted.graph.num_edges()}, 2.0));
  save_dataset(weighted, other);
  CHECK(fails_with(resumed(), 1, {c, "dataset", "contents"}));
  CHECK(fails_with(bench.train({"--resume", bench.data}), 1,
                   {bench.data, "adjoint.graph", "adjoint.checkpoint"}));
  CHECK(fails_with(bench.train({"--resume", bench.folder.file("none.h5")}), 1, {"none.h5", "No such file"}));

  const std::string damaged = bench.folder.file("damaged.h5");
  std::ofstream(damaged, std::ios::binary) << before.substr(0, before.size() / 2);
  CHECK(fails_with(bench.train({"--resume", damaged}), 1, {damaged}));

  const std::pair<Change, Words> changes[] = {
      {[](auto& x) { x.program = "train_gat"; }, {"train_gat", "train_gcn"}},
      {[](auto& x) { x.facts["epoch"] = "four"; }, {"epoch", "four", "number"}},
      {zeros("history", {2, 4}), {"history", "[2, 4]"}},
      {without("results"), {"results", "missing"}}};
  for (const auto& [change, parts] : changes) CHECK(bench.refuses(change, parts));
}
