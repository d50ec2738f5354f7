#include "json.h"
#include "small_dataset.h"
#include "small_graphs.h"

using namespace adj;
using namespace adj::test;

// A quantised model in integers, from the command line.

namespace {

std::map<std::string, std::string> result_of(const std::string& program, const Words& words) {
  return json_of(succeeds(run(program, words)));
}

/// Output of infer_qgnn for a model and a dataset.
std::map<std::string, std::string> inferred(Words words) {
  words.push_back("--json");
  if (std::find(words.begin(), words.end(), "--repeats") == words.end())
    words.insert(words.end(), {"--repeats", "1"});
  return result_of("infer_qgnn", words);
}

/// Compares two files of predictions to the bit.
bool same_predictions(const std::string& a, const std::string& b) {
  return same_bits(predictions_in(a), predictions_in(b));
}

}  // namespace

TEST_CASE("infer_qgnn reaches train_qgnn's accuracy in integers, and refuses other models") {
  const TemporaryDirectory folder;
  const std::string data = folder.file("data.h5"), low = folder.file("low.h5"), full = folder.file("full.h5");
  write_small_dataset(data);
  for (const char* model : {"gcn", "gin"}) {
    CAPTURE(model);
    const auto result = result_of("train_qgnn", {data, "--quiet", "--json", "--model", model, "--bits", "4",
                                                 "--epochs", "40", "--checkpoint", low});
    const auto infer = [&](const Words& more) {
      return inferred(joined({low, data, "--compare", "float32"}, more));
    };
    const auto whole = infer({});
    const double expected = std::stod(result.at("test_acc"));
    CHECK(std::stod(whole.at("float32_test_acc")) == doctest::Approx(expected).epsilon(1e-4));
    CHECK(std::stod(whole.at("test_acc")) == doctest::Approx(expected).epsilon(0.051));  // two nodes of 40
    CHECK(whole.at("batches") == "1");
    const auto by_bits = infer({"--sums", "bits"}),
               plain = infer({"--sums", "bits", "--all-steps", "--planes-alone", "--no-capture"}),
               parts = infer({"--parts", "6", "--parts-per-batch", "2"});
    CHECK(by_bits.at("by_bits") == "1");
    CHECK(by_bits.at("test_acc") == whole.at("test_acc"));
    CHECK(plain.at("test_acc") == whole.at("test_acc"));
    CHECK(parts.at("batches") == "3");
  }
  check_refused(program("infer_qgnn", {low}), {{{}, {"MODEL.h5 DATA.h5"}},
                                               {{data, "--sums", "words"}, {"--sums", "words"}},
                                               {{data, "--sums", "bytes", "--all-steps"}, {"--all-steps"}},
                                               {{data, "--parts", "1000"}, {"--parts", "120"}},
                                               {{data, "--batch-size", "4"}, {"--batch-size", "--parts"}}});
  succeeds("train_qgnn", {data, "--quiet", "--bits", "32", "--epochs", "2", "--checkpoint", full});
  CHECK(fails_with(run("infer_qgnn", {full, data}), 1, {"layer 0 is not quantised"}));
  succeeds("train_gcn", {data, "--quiet", "--epochs", "2", "--checkpoint", full});
  CHECK(fails_with(run("infer_qgnn", {full, data}), 1, {"was not trained by train_qgnn"}));
}

TEST_CASE("infer_qgnn reaches train_graph_qgin's accuracy in integers, in batches of any size") {
  const TemporaryDirectory folder;
  const std::string data = folder.file("data.h5"), model = folder.file("model.h5"),
                    whole = folder.file("whole.h5"), out = folder.file("out.h5");
  for (const char* features : {"file", "one-hot-degree"}) {
    Dataset graphs = split_graphs();
    if (std::string(features) != "file") graphs.x = {};
    save_dataset(graphs, data);
    for (const char* pool : {"sum", "mean", "max"}) {
      CAPTURE(features);
      CAPTURE(pool);
      const auto result =
          result_of("train_graph_qgin",
                    {data, "--quiet",         "--json", "--hidden",     "8",  "--layers",     "2", "--bits",
                     "4",  "--pool",          pool,     "--epochs",     "8",  "--iterations", "8", "--split",
                     "0",  "--node-features", features, "--checkpoint", model});
      const auto all = inferred({model, data, "--compare", "float32", "--out", whole});
      CHECK(all.at("graphs") == "40");
      CHECK(all.at("batches") == "2");  // of 32, as in training
      const double expected = std::stod(result.at("test_acc"));
      CHECK(expected > 0.8);
      CHECK(std::stod(all.at("float32_test_acc")) == doctest::Approx(expected).epsilon(1e-4));
      CHECK(std::stod(all.at("test_acc")) == doctest::Approx(expected).epsilon(0.11));  // a graph of 10
      for (const Words& more : {Words{"--batch-size", "7"}, Words{"--sums", "bits"},
                                Words{"--batch-size", "1", "--threads", "1"}}) {
        CHECK(inferred(joined({model, data, "--out", out}, more)).at("test_acc") == all.at("test_acc"));
        CHECK(same_predictions(out, whole));
      }
    }
  }
  // Without splits all labelled graphs are evaluated.
  Dataset unsplit = small_graphs();
  unsplit.x = {};
  save_dataset(unsplit, data);
  CHECK(inferred({model, data}).count("acc") == 1);
  CHECK(inferred({model, data}).count("test_acc") == 0);
  CHECK(fails_with(run("infer_qgnn", {model, data, "--parts", "4"}), 2, {"--parts", "--batch-size"}));
  CHECK(fails_with(run("infer_qgnn", {model, data, "--parts-per-batch", "4"}), 2, {"--parts-per-batch"}));
  unsplit = unlabelled(unsplit);
  unsplit.graph_offsets = {};
  save_dataset(unsplit, data);
  CHECK(fails_with(run("infer_qgnn", {model, data}), 1, {data, "graphs/offsets"}));
}

TEST_CASE("infer_qgnn writes an integer model with the same results as the checkpoint, to the bit") {
  const TemporaryDirectory folder;
  const std::string data = folder.file("data.h5"), model = folder.file("model.h5"),
                    integers = folder.file("integers.h5"), again = folder.file("again.h5"),
                    first = folder.file("first.h5"), second = folder.file("second.h5");
  write_small_dataset(data);
  for (const Words& more : {Words{"--model", "gcn", "--features-scaling", "standard"},
                            Words{"--model", "gcn", "--features-scaling", "real"},
                            Words{"--model", "gin", "--norm", "batch", "--bits-weights", "3"}}) {
    succeeds("train_qgnn",
             joined({data, "--quiet", "--bits", "4", "--epochs", "10", "--checkpoint", model}, more));
    const auto of_checkpoint = inferred({model, data, "--out", first, "--write", integers});
    const auto of_file = inferred({integers, data, "--out", second});
    for (const char* key : {"model", "metric", "test_acc"}) CHECK(of_file.at(key) == of_checkpoint.at(key));
    CHECK(same_predictions(first, second));
    succeeds("infer_qgnn", {integers, "--write", again});  // and nothing else
    CHECK(contents_of(again) == contents_of(integers));
  }
  CHECK(fails_with(run("infer_qgnn", {integers, data, "--compare", "float32"}), 2, {"--compare", integers}));
  CHECK(fails_with(run("infer_qgnn", {model, data, "--write", model}), 2, {"--write", "--checkpoint"}));
  CHECK(fails_with(run("infer_qgnn", {data, data}), 1, {data, "format"}));
  CHECK(fails_with(run("predict", {"--checkpoint", integers, "--data", data, "--out", first}), 1,
                   {integers, "adjoint.integer_model"}));
}

TEST_CASE_FIXTURE(InFolder,
                  "infer_qgnn gives the same results over batches that workers make anew in every pass") {
  const std::string data = folder.file("data.h5"), model = folder.file("model.h5"),
                    kept = folder.file("kept.h5"), anew = folder.file("anew.h5");
  write_small_dataset(data);
  succeeds("train_qgnn", {data, "--quiet", "--bits", "4", "--epochs", "10", "--checkpoint", model});
  for (const Device device : devices())
    for (const char* sums : {"bits", "bytes"}) {
      CAPTURE(sums);
      const Words words{model, data,     "--device", device.str(), "--parts", "9", "--parts-per-batch",
                        "2",   "--sums", sums,       "--compare",  "float32"};
      const auto with = [&](const Words& more) { return inferred(joined(words, more)); };
      const auto all = with({"--out", kept});
      CHECK(all.at("batches") == "5");
      for (const char* workers : {"0", "1", "3"}) {
        CAPTURE(workers);
        const auto result =
            with({"--batches", "host", "--workers", workers, "--repeats", "3", "--out", anew});
        for (const char* key : {"test_acc", "float32_test_acc", "by_bits", "bytes", "batches"})
          CHECK(result.at(key) == all.at(key));
        CHECK(same_predictions(anew, kept));
      }
    }
  save_dataset(split_graphs(), data);
  (void)result_of("train_graph_qgin",
                  {data, "--quiet", "--json", "--hidden", "8", "--layers", "2", "--bits", "3", "--epochs",
                   "2", "--iterations", "4", "--split", "0", "--checkpoint", model});
  (void)inferred({model, data, "--batch-size", "7", "--out", kept});
  (void)inferred({model, data, "--batch-size", "7", "--batches", "host", "--workers", "2", "--out", anew});
  CHECK(same_predictions(anew, kept));
  CHECK(fails_with(run("infer_qgnn", {model, data, "--workers", "2"}), 2, {"--workers", "--batches host"}));
  CHECK(fails_with(run("infer_qgnn", {model, data, "--batches", "disk"}), 2, {"--batches", "disk"}));
  CHECK(fails_with(run("infer_qgnn", {model, data, "--batches", "host", "--workers", "many"}), 2,
                   {"--workers", "many"}));
}
