#include "process.h"
#include "small_dataset.h"

using namespace adj;
using namespace adj::test;

namespace {

double largest_difference(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "reorder writes and reports every order, and restores the file to the byte") {
  const std::string in = folder.file("in.h5"), out = folder.file("out.h5"), back = folder.file("back.h5");
  write_small_dataset(in);
  const Dataset data = load_dataset(in);
  Words orders = order_names();
  orders.push_back("part");
  for (const std::string& order : orders) {
    CAPTURE(order);
    if (order == "part") {
      succeeds("partition", {in, out, "--parts", "4"});
      std::filesystem::copy_file(out, in, std::filesystem::copy_options::overwrite_existing);
    }
    const Outcome outcome = succeeds("reorder", {order, in, out, "--seed", "3"});
    CHECK(mentions(outcome.out,
                   {"120 nodes", "order " + order, "\nbefore bandwidth ", "\nafter  bandwidth ",
                    "distance between the ends of an edge: mean ", ", median ", "\nreordered in "}));
    CHECK(mentions(outcome.out, {order == "metis"  ? "edge cut 0 of 1 parts"
                                 : order == "part" ? "of 4 parts"
                                                   : "order"}));
    const Dataset result = load_dataset(out);
    if (order == "metis") CHECK_FALSE(result.order);  // one block, with nodes in the original order
    if (order != "metis" && order != "part")
      CHECK(same_bits(result.order, named_order(order, data.graph, {.seed = 3})));
    succeeds("reorder", {"original", out, back});
    CHECK(contents_of(back) == contents_of(in));
    succeeds("reorder", {"original", out, folder.file("zipped.h5"), "--gzip", "6"});
    CHECK(fingerprint(load_dataset(folder.file("zipped.h5"))) == fingerprint(load_dataset(in)));
    succeeds("reorder", {"random", out, back, "--seed", "9"});
    succeeds("reorder", {"original", back, out});
    CHECK(contents_of(out) == contents_of(in));
  }
  CHECK(mentions(succeeds("reorder", {"metis", in, out, "--parts", "6"}).out, {"of 6 parts"}));
  CHECK(same_bits(load_dataset(out).order, metis_order(data.graph, 6)));
  succeeds("reorder", {"original", in, out});  // already in the original order
  CHECK(contents_of(out) == contents_of(in));
}

TEST_CASE_FIXTURE(InFolder, "partition writes the library's partition, and reports the edge cut") {
  const std::string in = folder.file("in.h5"), out = folder.file("out.h5");
  write_small_dataset(in);
  const Dataset data = load_dataset(in);
  const Outcome outcome =
      succeeds("partition", {in, out, "--parts", "5", "--seed", "2", "--imbalance", "0.1"});
  const Dataset result = load_dataset(out);
  CHECK(same_bits(result.part, metis_partition(data.graph, 5, {.imbalance = 0.1, .seed = 2})));
  const PartitionSummary summary = summarize_partition(data.graph, result.part);
  CHECK(mentions(outcome.out, {"120 nodes", "in 5 parts", fmt::format("edge cut {} (", summary.cut),
                               fmt::format("parts of {} to {} nodes", summary.smallest, summary.largest)}));
  // Nothing else changed, and the partition follows its nodes.
  Dataset without = result;
  without.part = {};
  CHECK(fingerprint(without) == fingerprint(data));
  succeeds("reorder", {"part", out, in});
  const auto part = load_dataset(in).part.to_vector<int32_t>();
  CHECK(std::is_sorted(part.begin(), part.end()));
}

TEST_CASE("predictions for reordered nodes are in the original order") {
  const TemporaryDirectory folder;
  const std::string in = folder.file("in.h5"), mixed = folder.file("mixed.h5");
  write_small_dataset(in);
  succeeds("reorder", {"random", in, mixed, "--seed", "4"});
  const auto train = [&](const std::string& data, const std::string& name) {
    succeeds("train_gcn", {"--data", data, "--epochs", "20", "--dropout", "0", "--quiet", "--checkpoint",
                           folder.file(name + "_model.h5"), "--predict", folder.file(name + "_p.h5")});
    return values(predictions_in(folder.file(name + "_p.h5")));
  };
  const auto predict = [&](const std::string& data, const std::string& model) {
    succeeds("predict", {"--checkpoint", folder.file(model), "--data", data, "--out", folder.file("p.h5")});
    return values(predictions_in(folder.file("p.h5")));
  };
  // Without dropout the two trainings differ only in the order of their sums.
  const Numbers plain = train(in, "plain"), back = train(mixed, "mixed");
  CHECK(largest_difference(plain, back) < 1e-3);
  CHECK(largest_difference(predict(mixed, "mixed_model.h5"), back) == 0.0);
  CHECK(largest_difference(predict(in, "mixed_model.h5"), back) < 1e-5);
  CHECK(largest_difference(predict(mixed, "plain_model.h5"), plain) < 1e-5);
  // A file without an order counts as unordered, so its node order differs.
  Dataset forgetful = load_dataset(mixed);
  forgetful.order = {};
  save_dataset(forgetful, folder.file("forgetful.h5"));
  CHECK(largest_difference(predict(folder.file("forgetful.h5"), "plain_model.h5"), plain) > 0.01);
  // A checkpoint requires its dataset.
  CHECK(fails_with(run("train_gcn", {"--data", in, "--epochs", "30", "--dropout", "0", "--quiet", "--resume",
                                     folder.file("mixed_model.h5")}),
                   1, {"mixed_model.h5"}));
}

TEST_CASE_FIXTURE(InFolder, "errors of reorder and partition, which write nothing") {
  const std::string in = folder.file("in.h5"), out = folder.file("out.h5");
  write_small_dataset(in);
  const std::string before = contents_of(in);
  check_refused(program("reorder"),
                {{{}, {"expected reorder ORDER IN.h5 OUT.h5"}},
                 {{"rcm", in}, {"expected reorder ORDER IN.h5 OUT.h5"}},
                 {{"best", in, out}, {"--order: expected metis or rcm or", "got 'best'"}},
                 {{"rcm", in, out, "more"}, {"reorder: "}},
                 {{"rcm", in, in}, {"--out", "is also the file of --in"}},
                 {{"rcm", in, out, "--parts", "3"}, {"--parts: requires the order metis, got rcm"}},
                 {{"metis", in, out, "--parts", "-1"}, {"--parts: expected 0 or more, got -1"}},
                 {{"metis", in, out, "--seed", "2147483648"}, {"--seed: expected at most 2147483647"}},
                 {{"rcm", in, out, "--gzip", "10"}, {"--gzip: expected at most 9, got 10"}},
                 {{"rcm", in, out, "--threads", "x"}, {"threads"}}});
  check_refused(program("reorder"),
                {{{"rcm", folder.file("none.h5"), out}, {"none.h5: "}},
                 {{"part", in, out}, {"in.h5: nodes/part: missing"}},
                 {{"rcm", in, folder.file("none/out.h5")}, {"none/out.h5: --out: "}}},
                {}, 1);
  check_refused(
      program("partition"),
      {{{in, out}, {"--parts: expected 1 or more, got 0"}},
       {{in, "--parts", "3"}, {"expected partition IN.h5 OUT.h5"}},
       {{in, out, "--parts", "121"}, {"--parts: expected at most 120, the number of nodes in", "got 121"}},
       {{in, out, "--parts", "3000000000"}, {"--parts: expected at most 2147483647"}},
       {{in, out, "--parts", "3", "--imbalance", "nan"}, {"--imbalance: expected a number in [0.001, 10]"}},
       {{in, out, "--parts", "3", "--imbalance", "0"}, {"--imbalance: expected a number in [0.001, 10]"}},
       {{in, in, "--parts", "3"}, {"--out", "is also the file of --in"}}});
  CHECK(contents_of(in) == before);
  CHECK_FALSE(std::filesystem::exists(out));
  for (const char* program : {"reorder", "partition"})
    CHECK(mentions(succeeds(program, {"--help"}).out, {"Usage: ", "--parts", "--seed"}));
}
