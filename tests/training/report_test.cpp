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
  const std::vector<int32_t> sources{0, 0, 1, 3, 0, 1}, targets{1, 2, 2, 2, 3, 3};
  return Graph::from_coo(4, Tensor::from(sources), Tensor::from(targets));
}

RunSummary run_of(const char* program, const std::map<std::string, std::string>& options = {}) {
  RunSummary run;
  run.program = program;
  run.options = options;
  return run;
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

TEST_CASE("the scores by degree are a table and a curve, at the geometric means of their degrees") {
  Report report{.title = "t", .metric = "accuracy"};
  report.degrees = {
      {0, 0, 3, 0.1}, {1, 1, 4, 0.75}, {2, 3, 5, 0.25}, {4, 7, 6, std::nan("")}, {8, 15, 7, 0.5}};
  const std::string page = html(report);
  for (const char* row :
       {"<tr><td>0</td><td>3</td><td>0.1000</td></tr>", "<tr><td>1</td><td>4</td><td>0.7500</td></tr>",
        "<tr><td>2-3</td><td>5</td><td>0.2500</td></tr>", "<tr><td>4-7</td><td>6</td><td>-</td></tr>",
        "<tr><td>8-15</td><td>7</td><td>0.5000</td></tr>"})
    CHECK(mentions(page, row));
  // From 0.8 to 1.25 * 15 in logarithms; from 0.25 and 0.75 a tenth further. 748 by 422.
  std::string points;
  for (const auto& [degree, value] : {std::pair(1.0, 0.75), {std::sqrt(6.0), 0.25}, {std::sqrt(120.0), 0.5}})
    points += fmt::format("{:.1f},{:.1f} ", 748.0 * std::log(degree / 0.8) / std::log(18.75 / 0.8),
                          422.0 * (1.0 - (value - 0.2) / 0.6));
  CHECK(mentions(page,
                 {"<polyline points=\"" + points + "\"", "accuracy on the test nodes", ">in-degree</text>"}));
  report.degrees = {{0, 0, 3, 0.1}, {1, 1, 4, 0.75}, {2, 3, 5, std::nan("")}};
  CHECK(html(report).find("<svg") == std::string::npos);  // a point is no curve
  report.degrees = {{1, 1, 4, 0.5}, {2, 3, 5, 0.5}};
  CHECK(mentions(html(report), ",211.0 "));  // between 0.499 and 0.501
}

TEST_CASE("the table of ops has their shares of the time, counts and megabytes") {
  Report report{.title = "t"};
  report.profile = {{.name = "a<b",
                     .forward_calls = 3,
                     .backward_calls = 2,
                     .forward_ms = 1.5,
                     .backward_ms = 4.5,
                     .allocated = 2'000'000,
                     .copied = 3'000'000,
                     .peak = 7'500'000},
                    {.name = "c", .forward_calls = 1, .forward_ms = 2.0}};
  CHECK(mentions(
      html(report),
      {"<tr><td>a&lt;b</td><td class=\"share\" style=\"--share: 75.0%\">75.0 %</td><td>3</td><td>1.500</td>"
       "<td>2</td><td>4.500</td><td>2.0</td><td>3.0</td><td>7.5</td></tr>",
       "<tr><td>c</td><td class=\"share\" style=\"--share: 25.0%\">25.0 %</td><td>1</td><td>2.000</td>"}));
}

TEST_CASE("bins of degrees begin at powers of two") {
  // Node k has k in-edges, up to 16.
  std::vector<int32_t> src, dst, y(17), index;
  for (int32_t k = 0; k <= 16; ++k) {
    for (int32_t e = 0; e < k; ++e) src.push_back(e), dst.push_back(k);
    index.push_back(k);
    y[static_cast<size_t>(k)] = k % 2;
  }
  const Graph graph = Graph::from_coo(17, Tensor::from(src), Tensor::from(dst));
  std::vector<float> output;
  for (int k = 0; k <= 16; ++k) output.insert(output.end(), {1.0f, k >= 8 ? 2.0f : 0.0f});
  const auto scores = scores_by_degree(graph, metric_named("accuracy", Labels::classes, 2),
                                       Tensor::from(output, {17, 2}), Tensor::from(y), Tensor::from(index));
  const DegreeScore expected[] = {{0, 0, 1, 1.0}, {1, 1, 1, 0.0},  {2, 3, 2, 0.5},
                                  {4, 7, 4, 0.5}, {8, 15, 8, 0.5}, {16, 31, 1, 0.0}};
  REQUIRE(scores.size() == 6);
  for (size_t k = 0; k < 6; ++k) {
    CHECK((scores[k].least == expected[k].least && scores[k].largest == expected[k].largest &&
           scores[k].examples == expected[k].examples));
    CHECK(scores[k].value == expected[k].value);
  }
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
  CHECK(mentions(error_of<DataError>([&] { make_run_folder(path); }), {path, "already holds a run"}));
  CHECK(
      mentions(error_of<DataError>([&] { begin_run(path, run); }), {path, "began in this folder meanwhile"}));
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

TEST_CASE_FIXTURE(InFolder,
                  "a folder with any file of a run is taken, unless its own checkpoint is resumed") {
  for (const char* name :
       {"run.json", "checkpoint.h5", "metrics.csv", "report.html", "trace.json", "other.txt"}) {
    CAPTURE(std::string(name));
    const std::string path = folder.file(std::string("of-") + name);
    make_run_folder(path);
    make_run_folder(path);  // still empty
    if (name == std::string("run.json"))
      write_run(path, run_of("p"));
    else
      std::ofstream(path + "/" + name) << "x";
    const std::string message = error_of<DataError>([&] { make_run_folder(path); });
    if (name == std::string("other.txt"))
      CHECK(message == "");
    else
      CHECK(message == fmt::format("{}: already holds a run, expected another folder{}", path,
                                   name == std::string("checkpoint.h5")
                                       ? ", or --resume " + path + "/checkpoint.h5 to continue it"
                                       : ""));
  }
  // The checkpoint may be elsewhere, as the run says.
  const std::string path = folder.file("run"), elsewhere = folder.file("c.h5");
  make_run_folder(path);
  begin_run(path, run_of("p", {{"checkpoint", elsewhere}}));
  CHECK_FALSE(read_run(path).finished);
  std::ofstream(elsewhere) << "x";
  std::ofstream(path + "/checkpoint.h5") << "x";
  CHECK(mentions(error_of<DataError>([&] { make_run_folder(path); }),
                 "--resume " + elsewhere + " to continue it"));
  CHECK(mentions(error_of<DataError>([&] { make_run_folder(path, path + "/checkpoint.h5"); }),
                 "already holds a run"));
  CHECK(mentions(error_of<DataError>([&] { make_run_folder(path, folder.file("none.h5")); }),
                 "already holds a run"));
  make_run_folder(path, elsewhere);
  CHECK(mentions(error_of<DataError>([&] { begin_run(path, run_of("q"), path + "/checkpoint.h5"); }),
                 "began in this folder meanwhile"));
  begin_run(path, run_of("q"), elsewhere);
  CHECK(read_run(path).program == "q");
  CHECK(
      mentions(error_of<DataError>([&] { begin_run(folder.file("absent"), run_of("q")); }), "No such file"));
  std::ofstream(path + "/run.json")
      << R"({"program": "p", "version": "1", "isa": "i", "device": "cpu", "options": {}, "result": {"a": [1], "b": true, "c": 2.5, "d": "e"}})";
  const RunSummary old = read_run(path);  // without "finished"
  CHECK((old.finished && old.program == "p" && old.version == "1" && old.isa == "i" && old.device == "cpu"));
  using Results = std::vector<std::pair<std::string, std::string>>;
  CHECK(old.results == Results{{"b", "true"}, {"c", "2.5"}, {"d", "e"}});
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
