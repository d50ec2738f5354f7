#include "bench.h"
#include "small_graphs.h"

#include <sys/stat.h>

using namespace adj;
using namespace adj::test;

namespace {

namespace fs = std::filesystem;

struct Bench : TrainingBench {
  Bench() : TrainingBench(small_dataset(), {"--epochs", "2", "--quiet"}) {}
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder.file(""))) found.insert(entry.path().filename());
    return found;
  }
};

/// The options that write a file, and its suffix.
std::vector<std::pair<std::string, std::string>> writers() {
  return {{"--metrics", ".csv"},   {"--metrics", ".jsonl"}, {"--predict", ".h5"},
          {"--checkpoint", ".h5"}, {"--plot", ".svg"},      {"--report", ".html"}};
}

}  // namespace

TEST_CASE_FIXTURE(With<Bench>, "outputs are regular files in every program") {
  const std::string pipe = bench.folder.file("pipe"), link = bench.folder.file("link");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", link);
  for (const std::string& path : {std::string("/dev/null"), pipe, link}) {
    CAPTURE(path);
    CHECK(fails_with(run("generate", {"citation", path}), 1, {path, "--out", "not a regular file"}));
    for (const char* option : {"--predict", "--checkpoint"})
      CHECK(fails_with(bench.train({option, path}), 1, {path, option, "not a regular file"}));
  }
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_fifo(pipe));
  CHECK(bench.names() == std::set<std::string>{"data.h5", "pipe", "link"});
}

TEST_CASE_FIXTURE(With<Bench>, "an output that is another file of the run is refused, under any name") {
  const auto file = [&](const char* name) { return bench.folder.file(name); };
  const std::string config = file("run.ini"), state = file("c.h5");
  std::ofstream(config) << "seed = 0\n";
  succeeds(bench.train({"--checkpoint", state}));
  fs::create_directory(file("sub"));
  const auto aliases = [&](const std::string& path) {
    const std::string name = fs::path(path).filename();
    for (const char* link : {"hard.csv", "soft.csv", "chain.csv"}) fs::remove(file(link));
    fs::create_hard_link(path, file("hard.csv"));
    fs::create_symlink(name, file("soft.csv"));
    fs::create_symlink(file("sub/../soft.csv"), file("chain.csv"));
    return Words{path,
                 file(("./" + name).c_str()),
                 file(("sub/../" + name).c_str()),
                 file("hard.csv"),
                 file("soft.csv"),
                 file("chain.csv")};
  };
  for (const auto& [path, input] :
       {std::pair(bench.data, "--data"), {config, "--config"}, {state, "--resume"}}) {
    const std::string before = contents_of(path);
    for (const std::string& alias : aliases(path)) {
      CAPTURE(alias);
      for (const char* option : {"--predict", "--metrics"}) {
        if (option == std::string("--metrics") && !alias.ends_with(".csv")) continue;
        CHECK(fails_with(bench.train({"--config", config, "--resume", state, option, alias}), 2,
                         {option, alias, std::string("the file of ") + input}));
      }
    }
    CHECK(contents_of(path) == before);
  }
  for (const std::string& alias : aliases(state))  // training resumes from its own checkpoint
    succeeds(bench.train({"--resume", state, "--checkpoint", alias}));

  std::ofstream(file("old.csv")) << "old";
  for (const std::string& alias : aliases(file("old.csv")))
    CHECK(fails_with(bench.train({"--metrics", file("old.csv"), "--predict", alias}), 2,
                     {"--predict", "the file of --metrics"}));
  CHECK(contents_of(file("old.csv")) == "old");
  fs::create_symlink("new.csv", file("dangling.csv"));
  for (const char* alias : {"new.csv", "./new.csv", "sub/../new.csv", "dangling.csv"})
    CHECK(fails_with(bench.train({"--metrics", file("new.csv"), "--predict", file(alias)}), 2,
                     {"--predict", "the file of --metrics"}));
  CHECK_FALSE(fs::exists(file("new.csv")));

  const Words words{"--data", bench.data, "--epochs", "2", "--metrics", file("out.csv")};
  const std::string quoted = " '" + file("out.csv") + "'";
  const Outcome shared = run_in_shell("", "2>>" + quoted, "train_gcn", words);
  CHECK(shared.status == 2);
  CHECK(mentions(contents_of(file("out.csv")), {"--metrics", "the file of standard error"}));
  CHECK(fails_with(run_in_shell("", ">>" + quoted, "train_gcn", words), 2, {"the file of standard output"}));
}

TEST_CASE("an output may be a dangling symbolic link, whose target is created") {
  for (const auto& [option, suffix] : writers()) {
    CAPTURE(option + suffix);
    const Bench bench;
    fs::create_directory(bench.folder.file("there"));
    const std::string link = bench.folder.file("link" + suffix), target = "there/made" + suffix;
    fs::create_symlink(target, link);
    succeeds(bench.train({option, link}));
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_regular_file(bench.folder.file(target)));
    succeeds(bench.train({option, link}));
    CHECK(fs::is_symlink(link));
    CHECK(bench.names() == std::set<std::string>{"data.h5", "there", "link" + suffix});
  }
  const Bench bench;
  fs::create_symlink("made.h5", bench.folder.file("link.h5"));
  succeeds("generate",
           {"citation", bench.folder.file("link.h5"), "--nodes", "400", "--test", "100", "--val", "50"});
  CHECK(fs::is_symlink(bench.folder.file("link.h5")));
  CHECK(load_dataset(bench.folder.file("made.h5")).num_nodes() == 400);
}

TEST_CASE("the longest possible name is written, and a longer one is refused before training") {
  for (const auto& [option, suffix] : writers()) {
    CAPTURE(option + suffix);
    const Bench bench;
    const std::string longest = bench.folder.file(std::string(255 - suffix.size(), 'n') + suffix);
    succeeds(bench.train({option, longest}));
    CHECK(fs::is_regular_file(longest));
    const std::string longer = bench.folder.file(std::string(256 - suffix.size(), 'n') + suffix);
    CHECK(fails_with(bench.train({option, longer, "--epochs=1000000000"}), 2, {"--epochs"}));
    CHECK(fails_with(run("train_gcn", {"--data", bench.data, "--epochs", "1000000000", option, longer}), 1,
                     {option, "File name too long"}));
  }
  const Bench bench;
  const std::string longer = bench.folder.file(std::string(256, 'n'));
  for (const char* option : {"--data", "--resume", "--config"})
    CHECK(fails_with(run("train_gcn", {"--quiet", option, longer}), 1, {longer, "File name too long"}));
  CHECK(fails_with(run("generate", {"citation", longer}), 1, {"--out", "File name too long"}));
}

TEST_CASE_FIXTURE(With<Bench>, "temporary files of earlier runs do not stop a run") {
  const std::string metrics = bench.folder.file("m.csv");
  for (int count = 0; count < 3; ++count)  // names that once contained a process id, such as 1 in a container
    for (int id = 1; id < 3; ++id) {
      std::ofstream(metrics + fmt::format(".{}.tmp", id)) << "left";
      std::ofstream(bench.folder.file(fmt::format(".m.csv.{}-{}.tmp", id, count))) << "left";
    }
  const size_t before = bench.names().size();
  const Outcome outcome =
      succeeds(run("train_gcn", {"--data", bench.data, "--epochs", "2", "--metrics", metrics}));
  CHECK(bench.names().size() == before + 1);
}

TEST_CASE_FIXTURE(With<Bench>, "a config file is a regular file or a pipe of 1 MB at most") {
  const std::string config = bench.folder.file("run.ini");
  for (const char* device : {"/dev/zero", "/dev/null"})
    CHECK(fails_with(bench.train({"--config", device}), 1, {device, "regular file or a pipe"}));
  std::ofstream(config) << "hidden = 5\n" << std::string((1 << 20) - 11, '#');
  CHECK(mentions(bench.train({"--config", config}).out, {"GCN 40-5-3"}));
  std::ofstream(config, std::ios::app) << "#";
  CHECK(fails_with(bench.train({"--config", config}), 1, {config, "1 MB at most"}));
  const Words words{"--data", bench.data, "--epochs", "2", "--config", "/dev/stdin"};
  CHECK(mentions(run_in_shell("echo hidden = 6 |", "", "train_gcn", words).out, {"GCN 40-6-3"}));
  CHECK(fails_with(run_in_shell("yes '#' |", "", "train_gcn", words), 1, {"/dev/stdin", "1 MB at most"}));
}

namespace {

/// Programs, data of a task, its metrics with their columns, and the loaders.
struct Crossing {
  std::string program;
  Dataset data;
  std::vector<std::pair<std::string, std::string>> metrics;
  std::vector<Words> loaders;
  Words options = {};
};

/// A member of a JSON object that may have others nested.
std::string member(const std::string& json, const std::string& key) {
  const size_t begin = json.find("\"" + key + "\": ") + key.size() + 4;
  return json.substr(begin, json.find_first_of(",}", begin) - begin);
}

std::vector<Crossing> crossings() {
  Dataset targets = split_graphs();
  targets.task = Task::graph_regression;
  targets.classes = 0;
  targets.graph_y = targets.graph_y.to(DType::f32).reshape({kGraphs, 1});
  const std::vector<Words> nodes{{},
                                 {"--loader", "neighbor", "--fanouts", "3,3"},
                                 {"--loader", "cluster", "--parts", "3"},
                                 {"--loader", "saint", "--budget", "30", "--coverage", "5"}};
  const std::vector<Words> graphs{{}}, links{{}, {"--loader", "neighbor", "--batch-size", "50"}};
  const Words few{"--split", "0", "--iterations", "2", "--batch-size", "8", "--class-scores"};
  const std::vector<std::pair<std::string, std::string>> several{{"accuracy", "acc"}, {"f1", "f1"}},
      two{{"auc", "auc"},
          {"accuracy", "acc"},
          {"f1", "f1"},
          {"pr-auc", "pr_auc"},
          {"recall@precision=0.5", "recall_precision_0_5"},
          {"precision@2", "precision_2"}},
      numbers{{"r2", "r2"}, {"mae", "mae"}};
  return {{"train_gcn", small_dataset(), several, nodes, {"--class-scores"}},
          {"train_gcn", small_two_class_dataset(), two, nodes, {"--class-scores"}},
          {"train_gcn",
           small_multilabel_dataset(),
           {{"auc", "auc"}, {"f1", "f1"}, {"pr-auc", "pr_auc"}},
           nodes,
           {"--class-scores"}},
          {"train_gcn", small_regression_dataset(), numbers, nodes},
          {"train_graph_gin", split_graphs(), two, graphs, joined(few, {"--class-weights", "balanced"})},
          {"train_graph_gin", targets, numbers, graphs, Words(few.begin(), few.end() - 1)},
          {"train_link", small_dataset(), {{"auc", "auc"}, {"mrr", "mrr"}, {"hits@3", "hits_3"}}, links}};
}

}  // namespace

TEST_CASE("every metric of every task and loader goes into every output") {
  for (const Crossing& c : crossings())
    for (const Words& loader : c.loaders)
      for (const auto& [metric, name] : c.metrics) {
        CAPTURE(c.program);
        CAPTURE(metric);
        CAPTURE(loader.empty() ? "none" : loader[1]);
        const TrainingBench bench(c.data, joined(c.options, loader), c.program);
        const auto path = [&](const char* file) { return bench.folder.file(file); };
        const auto train = [&](const std::string& end, const std::string& metrics, const std::string& dir) {
          return succeeds(bench.train({"--epochs", "2", "--quiet", "--json", "--metric", metric, "--metrics",
                                       metrics, "--run-dir", dir, "--plot", path("p.svg"), "--predict",
                                       path("p") + end, "--profile"}))
              .out;
        };
        const std::string json = train(".csv", path("run/metrics.csv"), path("run"));
        CHECK(member(json, "metric") == "\"" + metric + "\"");
        const Words lines = lines_of(contents_of(path("run/metrics.csv")));
        REQUIRE(lines.size() == 3);
        CHECK(lines[0] == "run,epoch,train_loss,val_loss,val_" + name);
        CHECK(column(path("run/metrics.csv"), 4)[std::stoul(member(json, "best_epoch")) - 1] ==
              std::stod(member(json, "val_acc")));
        for (const char* file :
             {"run/run.json", "run/report.html", "run/trace.json", "run/checkpoint.h5", "p.svg", "p.csv"})
          CHECK(fs::file_size(path(file)) > 0);
        CHECK(models::load_checkpoint(path("run/checkpoint.h5")).facts.at("option.metric") == metric);
        std::string events;
        for (const auto& entry : fs::directory_iterator(path("run")))
          if (entry.path().filename().string().find("tfevents") != std::string::npos)
            events = contents_of(entry.path());
        CHECK(mentions(events, {metric + "/validation"}));
        CHECK(member(train(".jsonl", path("m.jsonl"), path("second")), "test_acc") ==
              member(json, "test_acc"));
        CHECK(mentions(lines_of(contents_of(path("m.jsonl"))).at(1), {"\"val_" + name + "\": "}));
        CHECK(mentions(succeeds(run("compare", {path("run"), path("second")})).out, {"test_acc"}));
      }
}
