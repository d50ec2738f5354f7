#include "process.h"

using namespace adj::test;

namespace {

/// Mean test accuracy over ten seeds, with the program's defaults.
double accuracy_on(const std::string& dataset) {
  const Outcome outcome =
      run("train_gcn", {"--data", data_file(dataset).string(), "--runs", "10", "--quiet", "--json"});
  REQUIRE(outcome.status == 0);
  const std::string key = "\"test_acc\": ";
  const size_t at = outcome.out.find(key);
  REQUIRE(at != std::string::npos);
  return std::stod(outcome.out.substr(at + key.size()));
}

}  // namespace

TEST_CASE("train_gcn reaches Kipf & Welling's accuracy on Cora") {
  if (!have_program("train_gcn") || !have_data("cora.h5")) return;
  CHECK(accuracy_on("cora.h5") >= 0.812);
}

TEST_CASE("train_gcn reaches Kipf & Welling's accuracy on Citeseer") {
  if (!have_program("train_gcn") || !have_data("citeseer.h5")) return;
  CHECK(accuracy_on("citeseer.h5") >= 0.700);
}
