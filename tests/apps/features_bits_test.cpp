#include "json.h"
#include "small_dataset.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

// --features-bits from the command line to the last bit.

namespace {

/// The small citation graph with dense features, of only 0 and 1 or of both signs.
struct Bench : InFolder {
  std::string binary = folder.file("binary.h5"), measured = folder.file("measured.h5"),
              checkpoint = folder.file("c.h5");
  Bench() {
    Dataset data = small_dataset();
    data.x = Features(data.x.to_dense());
    save_dataset(data, binary);
    Generator generator(3);
    data.x = Features(random_normal({data.num_nodes(), 40}, 0.0, 1.0, generator));
    save_dataset(data, measured);
  }
  Outcome train(const std::string& program, const std::string& data, const Words& more) const {
    return run(program, joined({"--data", data, "--json"}, more));
  }
  /// Results of a training, without times.
  std::string all_of(const std::string& program, const std::string& data, const Words& more) const {
    const std::string metrics = folder.file("m.csv"), predicted = folder.file("p.h5");
    succeeds(train(program, data, joined(more, {"--metrics", metrics, "--predict", predicted})));
    return contents_of(metrics) + contents_of(predicted);
  }
};

}  // namespace

TEST_CASE("features of 0 and 1 in one or eight bits train with the same bits as dense ones") {
  const Bench bench;
  const Words same{"--features-scaling", "none", "--epochs", "12"};
  for (const std::string program : {"train_gcn", "train_agnn", "train_gat"}) {
    CAPTURE(program);
    const std::string dense = bench.all_of(program, bench.binary, same);
    for (const char* bits : {"1", "8"})
      CHECK(bench.all_of(program, bench.binary, joined(same, {"--features-bits", bits})) == dense);
    // For other features fewer bits give other values.
    const Words few = joined(same, {"--features-bits", "2"});
    CHECK(bench.all_of(program, bench.measured, few) != bench.all_of(program, bench.measured, same));
  }
}

TEST_CASE("every program trains on quantised features, with the same bits on any number of threads") {
  const Bench bench;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.program);
    const Words all = joined(variant.options, {"--features-bits", "4", "--epochs", "4"});
    const std::string once = bench.all_of(variant.program, bench.measured, joined(all, {"--threads", "1"}));
    CHECK(bench.all_of(variant.program, bench.measured, joined(all, {"--threads", "3"})) == once);
  }
}

TEST_CASE("link training on features in one bit equals training on dense ones") {
  const Bench bench;
  const Words plain{"--features-scaling", "none", "--epochs", "3"};
  auto dense = json_of(bench.train("train_link", bench.binary, plain)),
       bits = json_of(bench.train("train_link", bench.binary, joined(plain, {"--features-bits", "1"})));
  for (const char* key : {"train_loss", "val_loss", "test_acc"}) CHECK(bits.at(key) == dense.at(key));
}

TEST_CASE("batches of quantised features train and evaluate like dense features of the same values") {
  const Bench bench;
  const Words same{"--features-scaling", "none", "--epochs", "3"};
  for (const auto& [program, loader] :
       {std::pair<std::string, Words>{"train_sage",
                                      {"--loader", "neighbor", "--fanouts", "3,2", "--batch-size", "8"}},
        {"train_gcn", {"--loader", "cluster", "--parts", "6", "--parts-per-batch", "2"}},
        {"train_gcn", {"--loader", "saint", "--budget", "20", "--coverage", "3"}}}) {
    CAPTURE(program);
    CAPTURE(loader[1]);
    const Words all = joined(loader, same);
    CHECK(bench.all_of(program, bench.binary, joined(all, {"--features-bits", "1"})) ==
          bench.all_of(program, bench.binary, all));
  }
}

TEST_CASE("a checkpoint keeps bits and ranges for prediction and resuming, and refuses others") {
  const Bench bench;
  const Words bits{"--features-bits", "3", "--features-scaling", "none"};
  const std::string predicted = bench.folder.file("p.csv"), again = bench.folder.file("q.csv"),
                    h5 = bench.folder.file("q.h5");
  const Outcome outcome = succeeds(bench.train(
      "train_gcn", bench.measured,
      joined(bits, {"--epochs", "10", "--checkpoint", bench.checkpoint, "--predict", predicted})));
  // 120 nodes of 40 features: 15 bytes a node, and a range of 8 bytes a column; dense 160 bytes a node.
  CHECK(mentions(outcome.err,
                 {"features: 3 bits per number, one range per column: 0.00 MB instead of 0.02 MB as"}));
  CHECK(mentions(outcome.out, {"\"features_bits\": 3"}));

  const models::Checkpoint checkpoint = models::load_checkpoint(bench.checkpoint);
  CHECK(checkpoint.facts.at("features.bits") == "3");
  const models::Preprocessing kept = models::Preprocessing::load(checkpoint);
  const Dataset data = load_dataset(bench.measured);
  const FeatureQuantization fitted = FeatureQuantization::fit(3, data.x);
  CHECK(kept.quantization.bits() == 3);
  CHECK(same_bits(kept.quantization.scale(), fitted.scale()));
  CHECK(same_bits(kept.quantization.zero(), fitted.zero()));

  const Words predict{"--checkpoint", bench.checkpoint, "--data", bench.measured, "--out"};
  succeeds("predict", joined(predict, {again}));
  CHECK(contents_of(again) == contents_of(predicted));
  succeeds("predict", joined(predict, {h5}));
  const Tensor predictions = predictions_in(h5);
  const TrainedModel model = load_trained(bench.checkpoint, Device::cpu());
  CHECK(model.quantization().bits() == 3);
  CHECK(same_bits(model.predict(data.graph, data.x).probability, predictions));
  CHECK(same_bits(model.predict(data.graph, fitted.apply(data.x)).probability, predictions));

  const Words resume{"--epochs", "20", "--resume", bench.checkpoint};
  const std::string unbroken = bench.all_of("train_gcn", bench.measured, joined(bits, {"--epochs", "20"}));
  CHECK(bench.all_of("train_gcn", bench.measured, joined(bits, resume)) == unbroken);
  CHECK(fails_with(
      bench.train("train_gcn", bench.measured, joined(resume, {"--features-scaling", "none", "--quiet"})), 1,
      {"features.bits", "'3'", "'32'"}));
}

TEST_CASE("a model of quantised features predicts from features in their file with the same bits") {
  const Bench bench;
  const std::string held = bench.folder.file("a.csv"), left = bench.folder.file("b.csv");
  succeeds(bench.train("train_sage", bench.measured,
                       {"--features-bits", "2", "--epochs", "4", "--checkpoint", bench.checkpoint}));
  const Words predict{"--checkpoint", bench.checkpoint, "--data", bench.measured, "--evaluation", "layers"};
  succeeds("predict", joined(predict, {"--out", held}));
  succeeds("predict", joined(predict, {"--out", left, "--features", "file"}));
  CHECK(contents_of(held) == contents_of(left));
}
