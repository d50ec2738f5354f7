#include "bench.h"
#include <adjoint/models/checkpoint.h>

using namespace adj;
using namespace adj::test;

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

TEST_CASE_FIXTURE(With<Bench>, "compare names folders of one name by their paths, and damaged files") {
  const std::string one = in(bench.a, "run"), two = in(bench.b, "run"), other = bench.folder.file("other");
  for (const std::string& folder : {one, two, other}) succeeds(bench.train({"--run-dir", folder}));
  CHECK(lines_of(succeeds("compare", {one, other}).out)[0].find('/') == std::string::npos);
  CHECK(mentions(lines_of(succeeds("compare", {one, two, other}).out)[0], {one, two, " other"}));
  for (const char* text : {"", "{}", "{\"program\": 1}", "[1"}) {
    std::ofstream(in(one, "run.json")) << text;
    CHECK(fails_with(run("compare", {one}), 1,
                     {in(one, "run.json: damaged, expected a file written by --run-dir")}));
  }
}
