#include "process.h"
#include "small_dataset.h"
#include <adjoint/data/hdf5_file.h>
#include <adjoint/optim/checkpoint.h>

#include <csignal>

using namespace adj;
using namespace adj::test;

namespace {

using Words = std::vector<std::string>;

struct Bench {
  TemporaryDirectory folder;
  std::string data = folder.file("small.h5"), checkpoint = folder.file("c.h5");
  Bench() { write_small_dataset(data); }

  Outcome train(Words more) const {
    more.insert(more.begin(), {"--data", data, "--quiet", "--json"});
    return run("train_gcn", more);
  }
  /// Result, metrics and predictions of a training, without what the clock and the process say.
  std::string all_of(Words more) const {
    const std::string metrics = folder.file("m.csv"), predicted = folder.file("p.h5");
    more.insert(more.end(), {"--metrics", metrics, "--predict", predicted});
    const Outcome outcome = train(more);
    if (outcome.status != 0) MESSAGE(outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome.out.substr(0, outcome.out.find("\"epoch_ms\"")) + contents_of(metrics) +
           contents_of(predicted);
  }
  /// Runs until a checkpoint stands there and `micros` longer; then sends `signal`.
  Outcome interrupt(Words more, int signal, int micros) const {
    more.insert(more.begin(), {"--data", data, "--checkpoint", checkpoint, "--checkpoint-every", "1"});
    Process process("train_gcn", more);
    for (int i = 0; i < 100000 && !std::filesystem::exists(checkpoint); ++i) usleep(1000);
    usleep(static_cast<useconds_t>(micros));
    process.send(signal);
    return process.wait();
  }
};

}  // namespace

TEST_CASE("a resumed training ends with the bits of an unbroken one") {
  if (!have_program("train_gcn")) return;
  const Bench bench;
  for (const Words& model :
       {Words{"--seed", "3"}, Words{"--norm", "batch", "--layers", "3", "--hidden", "24"}}) {
    Words first = model, second = model;
    first.insert(first.end(), {"--epochs", "11", "--checkpoint", bench.checkpoint});
    second.insert(second.end(), {"--epochs", "30"});
    const std::string unbroken = bench.all_of(second);
    REQUIRE(bench.train(first).status == 0);
    second.insert(second.end(), {"--resume", bench.checkpoint});
    CHECK(bench.all_of(second) == unbroken);
    // On top of itself, and again from its own end.
    second.insert(second.end(), {"--checkpoint", bench.checkpoint});
    CHECK(bench.all_of(second) == unbroken);
    CHECK(bench.all_of(second) == unbroken);
  }
}

TEST_CASE("an interrupted training finishes its epoch, keeps its state and exits with 130") {
  if (!have_program("train_gcn")) return;
  const Bench bench;
  const std::string metrics = bench.folder.file("m.csv");
  std::ofstream(metrics) << "older";
  const Outcome outcome =
      bench.interrupt({"--epochs", "1000000", "--quiet", "--metrics", metrics}, SIGINT, 20000);
  CHECK(fails_with(outcome, 130, {"interrupted", "--resume " + bench.checkpoint}));
  CHECK(contents_of(metrics) == "older");
  const int64_t epoch = optim::load_checkpoint(bench.checkpoint, "train_gcn").integer("epoch");
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

TEST_CASE("several runs go on in the run where they stopped") {
  if (!have_program("train_gcn")) return;
  const Bench bench;
  const Words words{"--runs", "3", "--epochs", "120", "--patience", "60"};
  const std::string unbroken = bench.all_of(words);
  for (int micros : {0, 60000, 200000}) {
    std::filesystem::remove(bench.checkpoint);
    bench.interrupt(words, SIGKILL, micros);
    Words more = words;
    more.insert(more.end(), {"--resume", bench.checkpoint});
    CHECK(bench.all_of(more) == unbroken);
  }
}

TEST_CASE("a kill at any moment of a training leaves a checkpoint to go on from") {
  if (!have_program("train_gcn")) return;
  const Bench bench;
  int64_t last = 0;
  for (int round = 0; round < 25; ++round) {
    Words words{"--epochs", "1000000", "--quiet", "--hidden", "256"};
    if (round > 0) words.insert(words.end(), {"--resume", bench.checkpoint});
    CHECK(bench.interrupt(words, SIGKILL, 30000 + 3100 * round).status == 128 + SIGKILL);
    const int64_t epoch = optim::load_checkpoint(bench.checkpoint, "train_gcn").integer("epoch");
    CHECK(epoch >= last);
    last = epoch;
  }
  CHECK(last > 0);
}

TEST_CASE("a checkpoint of something else is refused, and stays") {
  if (!have_program("train_gcn")) return;
  const Bench bench;
  const std::string c = bench.checkpoint;
  REQUIRE(bench.train({"--epochs", "4", "--checkpoint", c}).status == 0);
  const std::string before = contents_of(c);
  const struct {
    Words arguments, parts;
  } cases[] = {
      {{"--hidden", "8"}, {"hidden", "16", "8"}},
      {{"--layers", "3"}, {"layers", "2", "3"}},
      {{"--lr", "0.02"}, {"lr", "0.01", "0.02"}},
      {{"--seed", "1"}, {"seed", "'0'", "'1'"}},
      {{"--norm", "batch"}, {"norm", "none", "batch"}},
      {{"--raw-features"}, {"raw-features", "false", "true"}},
      {{"--runs", "2"}, {"runs", "1", "2"}},
      {{"--epochs", "3"}, {"epoch", "4", "0 to 3"}},
  };
  for (const auto& k : cases) {
    CAPTURE(k.arguments[0]);
    Words words = k.arguments, parts = k.parts;
    words.insert(words.end(), {"--resume", c, "--checkpoint", c});
    if (k.arguments[0] != "--epochs") words.insert(words.end(), {"--epochs", "8"});
    parts.push_back(c);
    CHECK(fails_with(bench.train(words), 1, parts));
    CHECK(contents_of(c) == before);
  }

  const std::string other = bench.folder.file("other.h5");
  write_small_dataset(other, 1, 2);
  CHECK(fails_with(run("train_gcn", {"--quiet", "--data", other, "--resume", c}), 1,
                   {c, "dataset", "3 classes", "2 classes"}));
  Dataset relabelled = load_dataset(bench.data);  // the same name and counts
  std::vector<int32_t> labels = relabelled.y.to_vector<int32_t>();
  labels[0] = (labels[0] + 1) % 3;
  relabelled.y = Tensor::from(labels);
  save_dataset(relabelled, other);
  CHECK(fails_with(run("train_gcn", {"--quiet", "--data", other, "--resume", c}), 1,
                   {c, "dataset", "contents"}));
  CHECK(fails_with(bench.train({"--resume", bench.data}), 1,
                   {bench.data, "adjoint.graph", "adjoint.checkpoint"}));
  CHECK(fails_with(bench.train({"--resume", bench.folder.file("none.h5")}), 1, {"none.h5", "No such file"}));

  const std::string damaged = bench.folder.file("damaged.h5");
  std::ofstream(damaged, std::ios::binary) << before.substr(0, before.size() / 2);
  CHECK(fails_with(bench.train({"--resume", damaged}), 1, {damaged}));

  const auto changed = [&](auto&& change, const Words& parts) {
    optim::Checkpoint checkpoint = optim::load_checkpoint(c, "train_gcn");
    change(checkpoint);
    optim::save_checkpoint(checkpoint, damaged);
    Words all = parts;
    all.push_back(damaged);
    return fails_with(bench.train({"--resume", damaged}), 1, all);
  };
  CHECK(changed([](auto& x) { x.program = "train_gat"; }, {"train_gat", "train_gcn"}));
  CHECK(changed([](auto& x) { x.facts.erase("epoch"); }, {"epoch", "missing"}));
  CHECK(changed([](auto& x) { x.facts["epoch"] = "four"; }, {"epoch", "four", "number"}));
  CHECK(changed([](auto& x) { x.set("run", int64_t{5}); }, {"run", "5"}));
  CHECK(changed([](auto& x) { x.set("best_epoch", int64_t{50}); }, {"best_epoch", "50"}));
  CHECK(changed([](auto& x) { x.tensors.erase("model.convs.0.weight"); }, {"convs.0.weight", "missing"}));
  CHECK(changed(
      [](auto& x) {
        x.tensors["model.convs.0.weight"] = Tensor::zeros({3, 3});
      },
      {"convs.0.weight", "[3, 3]", "[40, 16]"}));
  CHECK(changed([](auto& x) { x.tensors.erase("optimizer.0.steps"); }, {"optimizer"}));
  CHECK(changed([](auto& x) { x.tensors.erase("best.convs.1.bias"); }, {"convs.1.bias"}));
  CHECK(changed(
      [](auto& x) {
        x.tensors["history"] = Tensor::zeros({2, 4}, DType::f64);
      },
      {"history", "[2, 4]"}));
  CHECK(changed([](auto& x) { x.tensors.erase("results"); }, {"results", "missing"}));
}
