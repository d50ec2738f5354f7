#include "bench.h"
#include "variants.h"

#include <cstring>

using namespace adj;
using namespace adj::test;

// Places of features while a model trains on batches, or runs layer by layer: --features, --cached-rows.

namespace {

/// Features that can stay in a file: dense.
Dataset dense(Dataset data) {
  data.x = Features(data.x.to_dense());
  return data;
}

struct Bench : TrainingBench {
  explicit Bench(const Dataset& dataset = dense(small_dataset()))
      : TrainingBench(dataset,
                      {"--quiet", "--json", "--loader", "neighbor", "--batch-size", "7", "--fanouts", "4"}) {}

  /// Result, metrics, predictions and checkpoint, without times.
  std::string all_of(const std::string& trainer, const Words& more) const {
    const std::string all = TrainingBench::all_of(trainer, joined(more, {"--checkpoint", checkpoint}));
    return all + contents_of(checkpoint);
  }
};

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("every model has the same bits wherever the features are stored, for any workers and threads") {
  for (const Variant& variant : variants()) {
    if (!exact_by_layers(variant) || !variant.options.empty()) continue;
    CAPTURE(variant.program);
    const Bench bench;
    for (Device device : devices()) {
      for (const Words& input : {Words{}, Words{"--features-scaling", "none", "--precision", "bfloat16"}}) {
        const Words always = Words{"--epochs", "3", "--device", device.str()} + input;
        const std::string course = bench.all_of(variant.program, always);
        CHECK(bench.all_of(variant.program, always + Words{"--features", "host"}) == course);
        CHECK(bench.all_of(variant.program, always + Words{"--features", "file", "--workers", "0"}) ==
              course);
        CHECK(bench.all_of(variant.program, always + Words{"--features", "file", "--workers", "3",
                                                           "--threads", "2", "--cached-rows", "20%"}) ==
              course);
        if (device.is_cuda())
          CHECK(bench.all_of(variant.program, always + Words{"--features", "host", "--cached-rows", "33"}) ==
                course);
      }
    }
  }
}

TEST_CASE("clusters and sampled subgraphs have the same bits wherever the features are stored") {
  const Bench bench;
  for (Device device : devices())
    for (const Words& loader : {Words{"cluster", "--parts", "9", "--parts-per-batch", "2"},
                                Words{"saint", "--saint", "node", "--budget", "40", "--coverage", "5"}}) {
      CAPTURE(loader[0]);
      const Words always = Words{"--epochs", "3", "--device", device.str(), "--loader"} + loader;
      const auto course = [&](const Words& more) {
        succeeds("train_sage", Words{"--data", bench.data, "--quiet", "--metrics", bench.metrics,
                                     "--checkpoint", bench.checkpoint} +
                                   always + more);
        return contents_of(bench.metrics) + contents_of(bench.checkpoint);
      };
      const std::string usual = course({});
      CHECK(course({"--features", "host"}) == usual);
      CHECK(course({"--features", "file", "--workers", "0"}) == usual);
      CHECK(course({"--features", "file", "--workers", "3", "--cached-rows", "20%"}) == usual);
    }
}

TEST_CASE("training resumed with features stored elsewhere has the bits of uninterrupted training") {
  const Bench bench;
  const std::string begun = bench.folder.file("begun.h5");
  const std::string unbroken = bench.all_of("train_sage", {"--epochs", "8"});
  succeeds(bench.train("train_sage", {"--epochs", "3", "--checkpoint", begun, "--features", "file"}));
  for (const char* place : {"device", "host", "file"})
    CHECK(bench.all_of("train_sage", {"--epochs", "8", "--resume", begun, "--features", place}) == unbroken);
  // One changed number is detected, in any place.
  Dataset other = dense(small_dataset());
  Tensor x = other.x.dense().clone();
  x.mutable_data<float>()[77] = 1.0f - x.data<float>()[77];  // still a bag of words
  other.x = Features(x);
  const Bench changed(other);
  for (const char* place : {"device", "file"})
    CHECK(fails_with(changed.train("train_sage", {"--epochs", "8", "--resume", begun, "--features", place}),
                     1, {begun, "dataset"}));
}

TEST_CASE("sparse features can stay in host memory, but not in the file") {
  const Bench bench(small_dataset());
  const Words always{"--epochs", "3"};
  CHECK(bench.all_of("train_sage", always + Words{"--features", "host"}) ==
        bench.all_of("train_sage", always));
  CHECK(fails_with(bench.train("train_sage", {"--features", "file"}), 1,
                   {bench.data, "nodes/x_indptr", "sparse", "dense"}));
}

TEST_CASE("layer-wise predictions equal those of the training, wherever the features are stored") {
  for (const Dataset& data : {small_dataset(), small_multilabel_dataset(), small_regression_dataset()})
    for (const Variant& variant : variants()) {
      CAPTURE(variant.program);
      const Bench bench(dense(data));
      const std::string &checkpoint = bench.checkpoint, &trained = bench.predicted,
                        out = bench.folder.file("out.h5");
      const auto predict = [&](const Words& more) {
        return run("predict",
                   Words{"--checkpoint", checkpoint, "--data", bench.data, "--out", out, "--quiet"} + more);
      };
      const auto predicted = [&](const Words& more) {
        succeeds(predict(more));
        return predictions_in(out);
      };
      if (!exact_by_layers(variant)) {
        succeeds(variant.program,
                 Words{"--data", bench.data, "--quiet", "--epochs", "2", "--checkpoint", checkpoint} +
                     variant.options);
        for (const Words& method : {Words{"--evaluation", "layers"}, Words{"--features", "file"}})
          CHECK(fails_with(predict(method), 2, {"--evaluation", "whole graph"}));
        continue;
      }
      succeeds(bench.train(
          variant.program,
          Words{"--epochs", "3", "--checkpoint", checkpoint, "--predict", trained} + variant.options));
      const Tensor expected = predictions_in(trained);
      for (const Words& method :
           {Words{"--evaluation", "layers"}, Words{"--features", "host"}, Words{"--features", "file"},
            Words{"--features", "file", "--workers", "3", "--cached-rows", "50"}})
        CHECK(same_bits(predicted(method + Words{"--batch-size", "7"}), expected));
      CHECK(close(predicted({"--features", "file"}), expected));
      CHECK(close(predicted({}), expected));
      for (Device device : devices())
        CHECK(close(predicted({"--features", "file", "--device", device.str()}), expected, 1e-3));
    }
}

TEST_CASE("wrong or conflicting options for the place of features") {
  const Bench bench;
  const std::vector<Refusal> cases{
      {{"--features", "disk"}, {"--features", "device or host or file", "'disk'"}},
      {{"--features", "file", "--evaluation", "graph"}, {"--evaluation graph", "--features file"}},
      {{"--features", "host", "--evaluation", "graph"}, {"--evaluation graph", "--features host"}},
      {{"--cached-rows", "5"}, {"--cached-rows", "--features host or file"}},
      {{"--features", "host", "--cached-rows", "5"}, {"--cached-rows", "GPU"}},
      {{"--features", "file", "--cached-rows", "-1"}, {"--cached-rows", "'-1'"}},
      {{"--features", "file", "--cached-rows", "121"}, {"--cached-rows", "at most 120", "121"}},
  };
  const Words files{
      "--data", bench.data, "--out", bench.folder.file("out.h5"), "--checkpoint", bench.folder.file("c.h5")};
  succeeds(bench.train("train_sage", {"--epochs", "1", "--checkpoint", files.back()}));
  check_refused([&](const Words& more) { return bench.train("train_sage", more); }, cases);
  check_refused(program("predict", files + Words{"--quiet"}), cases);
  succeeds(bench.train("train_sage", {"--epochs", "1", "--features", "file", "--cached-rows", "120"}));
  succeeds(bench.train("train_sage", {"--epochs", "1", "--features", "file", "--cached-rows", "0%"}));
  CHECK(fails_with(run("train_sage", {"--data", bench.data, "--quiet", "--features", "file"}), 2,
                   {"--features", "--loader neighbor or cluster or saint"}));
  CHECK(fails_with(run("train_sage", {"--quiet", "--loader", "neighbor", "--features", "file"}), 2,
                   {"--features file", "--data"}));
  CHECK(fails_with(run("train_gcn", {"--features", "file"}), 2, {"features"}));
  for (const Words& alone : {Words{"--batch-size", "5"}, Words{"--workers", "2"}})
    CHECK(fails_with(run("predict", files + Words{"--quiet"} + alone), 2, {alone[0], "--evaluation layers"}));
}

TEST_CASE("features in a file that are not finite or not readable by rows give a one-line error") {
  Dataset data = dense(small_dataset());
  const Bench bench(data);
  const auto refused = [&](const Words& parts) {
    return fails_with(
        bench.train("train_sage", {"--features", "file", "--epochs", "1", "--features-scaling", "rows"}), 1,
        Words{bench.data} + parts);
  };
  save_dataset(data, bench.data, 6);
  CHECK(refused({"nodes/x", "compressed", "expected float32"}));
  save_dataset(data, bench.data);
  Tensor x = data.x.dense();
  std::string bytes = contents_of(bench.data);  // save_dataset() would refuse it
  const size_t row =
      bytes.find(std::string(reinterpret_cast<const char*>(x.data<float>() + 40 * 3), 40 * sizeof(float)));
  REQUIRE(row != std::string::npos);
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(&bytes[row + 5 * sizeof infinite], &infinite, sizeof infinite);
  std::ofstream(bench.data, std::ios::binary) << bytes;
  CHECK(refused({"nodes/x", "inf at [3, 5]"}));
  // Finite numbers with infinite quotients.
  x = data.x.dense().clone();
  std::fill_n(x.mutable_data<float>() + 40 * 3, 40, 0.0f);
  x.mutable_data<float>()[40 * 3] = 3e38f;
  x.mutable_data<float>()[40 * 3 + 1] = -3e38f;
  x.mutable_data<float>()[40 * 3 + 2] = 1e-3f;
  data.x = Features(x);
  save_dataset(data, bench.data);
  CHECK(refused({"nodes/x", "a row divided by its sum is not finite"}));
  CHECK(fails_with(bench.train("train_sage", {"--epochs", "1", "--features-scaling", "rows"}), 1,
                   {bench.data, "nodes/x", "a row divided by its sum is not finite"}));
}

TEST_CASE("features larger than the process's memory limit train with the same bits") {
#if defined(__SANITIZE_ADDRESS__)
  MESSAGE("skipped: a sanitizer asks for more memory than the limit leaves");
#else
  // The limit on writable memory is the use for a small graph (libraries, threads, generated code, which
  // differ between machines) plus a third of the features' bytes. Address space (ulimit -v) would also count
  // the reserved heaps of threads, which vary.
  constexpr int64_t kNodes = 80'000, kFeatures = 1000;
  const auto planted = [](int64_t nodes) {
    return make_planted_dataset({.nodes = nodes, .classes = 4, .features = kFeatures, .degree = 3});
  };
  const Bench small(planted(4000)), bench(planted(kNodes));
  const auto training = [](const Bench& source) {
    return Words{"--data", source.data,    "--quiet", "--loader", "neighbor", "--fanouts",
                 "2",      "--batch-size", "32",      "--hidden", "8",        "--epochs",
                 "1",      "--threads",    "2",       "--seed",   "3",        "--features-scaling",
                 "none"};
  };
  const Words in_file{"--features", "file"}, train = training(bench);
  const auto held_to = [](int64_t kilobytes) { return fmt::format("ulimit -d {};", kilobytes); };
  int64_t base = 64 << 10;
  while (run_in_shell(held_to(base), "", "train_sage", training(small) + in_file).status != 0) {
    base += 32 << 10;
    REQUIRE(base < 2 << 20);
  }
  const std::string limit = held_to(base + kNodes * kFeatures * 4 / 3 / 1024),
                    checkpoint = bench.folder.file("c.h5"), whole = bench.folder.file("whole.h5"),
                    little = bench.folder.file("little.h5"), again = bench.folder.file("again.h5");
  succeeds("train_sage", train + Words{"--predict", whole});
  succeeds(run_in_shell(limit, "", "train_sage",
                        train + in_file + Words{"--predict", little, "--checkpoint", checkpoint}));
  CHECK(contents_of(little) == contents_of(whole));
  succeeds(run_in_shell(limit, "", "predict",
                        Words{"--checkpoint", checkpoint, "--data", bench.data, "--out", again, "--quiet",
                              "--batch-size", "32", "--threads", "2"} +
                            in_file));
  CHECK(same_bits(predictions_in(again), predictions_in(whole)));
  // The limit is one.
  CHECK(fails_with(run_in_shell(limit, "", "train_sage", train), 1, {"out of memory"}));
#endif
}
