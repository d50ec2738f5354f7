#include "../support.h"
#include <adjoint/training/report.h>
#include <adjoint/training/run_folder.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;
using namespace adj::training;

namespace {

/// Labels, and outputs that predict 0, 1, 0, 0.
struct OfFourNodes {
  Tensor y = Tensor::from(std::vector<int32_t>{0, 1, 1, 0}),
         output = Tensor::from(std::vector<float>{2, 1, 0, 1, 3, 0, 5, 1}, {4, 2}),
         all = Tensor::from(std::vector<int32_t>{0, 1, 2, 3});
};

/// Node 0 has no in-edge, node 1 one, node 2 three and node 3 two.
Graph small_graph() {
  const std::vector<int32_t> from{0, 0, 1, 3, 0, 1}, to{1, 2, 2, 2, 3, 3};
  return Graph::from_coo(4, Tensor::from(from), Tensor::from(to));
}

}  // namespace

TEST_CASE_FIXTURE(OfFourNodes, "scores by degree cover the selected nodes, in bins of powers of two") {
  const Metric& accuracy = metric_named("accuracy", Labels::classes, 2);
  const auto scores = scores_by_degree(small_graph(), accuracy, output, y, all);
  REQUIRE(scores.size() == 3);
  const DegreeScore expected[] = {{0, 0, 1, 1.0}, {1, 1, 1, 1.0}, {2, 3, 2, 0.5}};
  for (size_t k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(scores[k].least == expected[k].least);
    CHECK(scores[k].largest == expected[k].largest);
    CHECK(scores[k].examples == expected[k].examples);
    CHECK(scores[k].value == expected[k].value);
  }
  const Tensor two = Tensor::from(std::vector<int32_t>{1, 2});
  CHECK(scores_by_degree(small_graph(), accuracy, output, y, two).size() == 2);
  // ROC-AUC is undefined for a single class.
  CHECK(std::isnan(
      scores_by_degree(small_graph(), metric_named("auc", Labels::classes, 2), output, y, two)[0].value));
}

TEST_CASE_FIXTURE(OfFourNodes, "a report is one page without external files or empty sections") {
  Report report{.title = "<script>alert(1)</script>", .facts = {{"device", "cpu & more"}}};
  const std::string bare = html(report);
  CHECK(mentions(bare, {"&lt;script&gt;", "cpu &amp; more", "<h2>Run</h2>", "</html>"}));
  CHECK(bare.find("<script>") == std::string::npos);
  for (const char* heading : {"Training", "Classes", "Degrees", "Time and memory"})
    CHECK(bare.find(heading) == std::string::npos);
  report.charts.push_back({.title = "curves"});
  report.classes.emplace(Labels::classes, output, y, all, std::vector<std::string>{"a<b", "c"});
  report.scored = "On the 4 test nodes of run 2:";
  report.metric = "accuracy";
  report.degrees = {{0, 0, 3, 0.5}, {1, 1, 4, 0.75}, {2, 3, 5, 1.0}};
  report.profile = {{.name = "spmm", .forward_calls = 3, .forward_ms = 1.5, .allocated = 2'000'000}};
  const std::string page = html(report);
  CHECK(mentions(page, {"<title>curves</title>", "0 a&lt;b", "label, predicted as", "2-3", "0.7500", "spmm",
                        "100.0 %", "accuracy by in-degree"}));
  for (const char* heading : {"Classes", "Degrees"})
    CHECK(mentions(page, {fmt::format("<h2>{}</h2>\n<p>On the 4 test nodes of run 2:</p>", heading)}));
  // Class 1: one correct, one taken for 0.
  CHECK(mentions(page,
                 "<td class=\"cell\" style=\"--share: 35.0%\">1</td><td class=\"cell\" style=\"--share: "
                 "35.0%\">1</td>"));
  for (const char* outside : {"src=", "href=\"http", "url(", "@import"})
    CHECK(page.find(outside) == std::string::npos);
}

TEST_CASE("a run's folder is read back unchanged") {
  const TemporaryDirectory temporary;
  const std::string path = temporary.file("runs/a");
  make_run_folder(path);
  const RunSummary run{
      .program = "train_gcn",
      .version = "0.1.0",
      .isa = "avx2",
      .device = "cpu",
      .options = {{"lr", "0.1"}, {"data", "\xff"}},
      .result = R"({"metric": "accuracy", "test_acc": 0.8125, "report": {"a": 1}, "val_loss": null})"};
  write_run(path, run);
  const RunSummary read = read_run(path);
  CHECK((read.program == run.program && read.version == run.version && read.isa == run.isa &&
         read.device == run.device));
  CHECK(read.options == std::map<std::string, std::string>{{"lr", "0.1"}, {"data", "\xef\xbf\xbd"}});
  CHECK(read.result_named("test_acc") == "0.8125");
  CHECK(read.result_named("metric") == "accuracy");
  CHECK(read.result_named("val_loss") == "null");
  CHECK(read.result_named("report") == "");
  CHECK(read.finished);
  CHECK(mentions(error_of<DataError>([&] { make_run_folder(path); }), {path, "holds a run already"}));
  CHECK(mentions(error_of<DataError>([&] { begin_run(path, run); }), {path, "began meanwhile"}));
  const std::string checkpoint = path + "/checkpoint.h5";
  std::ofstream(checkpoint) << "state";
  CHECK_NOTHROW(make_run_folder(path, checkpoint));
  begin_run(path, run, checkpoint);
  CHECK_FALSE(read_run(path).finished);
}

TEST_CASE("a run that is killed before it has written run.json leaves a folder for another run") {
  const TemporaryDirectory folder;
  const RunSummary run{.program = "train_gcn", .version = "0.1.0", .isa = "avx2", .device = "cpu"};
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit nothing{0, 0};  // the first byte kills
    setrlimit(RLIMIT_FSIZE, &nothing);
    begin_run(folder.file("."), run);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ));
  CHECK_FALSE(std::filesystem::exists(folder.file("run.json")));
  make_run_folder(folder.file("."));
  begin_run(folder.file("."), run);
  CHECK_FALSE(read_run(folder.file(".")).finished);
}

TEST_CASE("a folder that is not a run is refused, naming the file") {
  const TemporaryDirectory temporary;
  CHECK(mentions(error_of<DataError>([&] { read_run(temporary.file("none")); }), "none/run.json"));
  std::ofstream(temporary.file("run.json")) << "{\"program\": 1}";
  const std::string folder = temporary.file(".");
  CHECK(mentions(error_of<DataError>([&] { read_run(folder); }), "run.json"));
  std::ofstream(temporary.file("run.json")) << "{";
  CHECK(mentions(error_of<DataError>([&] { read_run(folder); }), "run.json"));
  CHECK(mentions(error_of<DataError>([&] { make_run_folder(temporary.file("run.json")); }), "run.json"));
}
