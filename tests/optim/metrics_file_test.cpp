#include "../reference/plain.h"
#include <adjoint/optim/metrics_file.h>

#include <fstream>
#include <limits>

#include <sys/stat.h>

using namespace adj;
using namespace adj::test;
using optim::MetricsFile;

TEST_CASE_FIXTURE(InFolder,
                  "metrics are CSV or JSON lines by the file's name, and numbers read back to the bit") {
  const double third = 1.0 / 3.0, nan = std::numeric_limits<double>::quiet_NaN();
  const std::string csv = folder.file("m.csv"), json = folder.file("m.jsonl");
  for (const std::string& path : {csv, json}) {
    MetricsFile metrics(path, {"epoch", "loss"});
    metrics.add({1, third});
    metrics.add({2, nan});
    metrics.flush();
  }
  CHECK(contents_of(csv) == "epoch,loss\n1,0.3333333333333333\n2,nan\n");
  CHECK(contents_of(json) ==
        "{\"epoch\": 1, \"loss\": 0.3333333333333333}\n{\"epoch\": 2, \"loss\": null}\n");
}

TEST_CASE_FIXTURE(InFolder, "a metrics file is unchanged until flush(), which writes all rows") {
  const std::string path = folder.file("m.csv");
  std::ofstream(path) << "older";
  MetricsFile metrics(path, {"epoch"});
  metrics.add({1});
  CHECK(contents_of(path) == "older");
  metrics.flush();
  CHECK(contents_of(path) == "epoch\n1\n");
  metrics.add({2});
  metrics.flush();
  metrics.flush();
  CHECK(contents_of(path) == "epoch\n1\n2\n");
  metrics.set_rows({7});
  metrics.add({8});
  metrics.flush();
  CHECK(contents_of(path) == "epoch\n7\n8\n");
}

TEST_CASE_FIXTURE(InFolder, "a pipe or a device is refused and not replaced") {
  const std::string path = folder.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  for (const std::string& other : {path, std::string("/dev/null")}) {
    MetricsFile metrics(other, {"epoch"});
    CHECK_THROWS_AS(metrics.flush(), DataError);
  }
  CHECK(std::filesystem::is_fifo(path));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE_FIXTURE(InFolder, "metrics refuse rows of another length, and files that cannot be written") {
  MetricsFile metrics(folder.file("no/folder/m.csv"), {"epoch", "loss"});
  CHECK(mentions(error_of([&] { metrics.add({1}); }), "1 numbers for the columns epoch, loss"));
  CHECK_THROWS_AS(metrics.set_rows({1, 2, 3}), Error);
  metrics.add({1, 2});
  CHECK_THROWS_AS(metrics.flush(), DataError);
  CHECK_THROWS_AS(MetricsFile("m.csv", {}), Error);
  CHECK(mentions(error_of([] { MetricsFile("m.csv", {"a,b"}); }), "'a,b'"));
}
