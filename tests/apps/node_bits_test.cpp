#include "bench.h"
#include <adjoint/models/checkpoint.h>
#include <adjoint/models/integer_model.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;

// train_qgnn --node-bits.

namespace {

struct Bench : TrainingBench {
  Bench() : TrainingBench(small_dataset(), {"--json"}, "train_qgnn") {}
};

double mean_of(const optim::Checkpoint& checkpoint, const std::string& name) {
  double sum = 0.0;
  const auto bits = checkpoint.tensors.at(name).to_vector<float>();
  for (const float b : bits) sum += std::clamp(static_cast<double>(b), 1.0, 8.0);
  return sum / static_cast<double>(bits.size());
}

}  // namespace

TEST_CASE("train_qgnn learns bits per node towards the mean, as its note and its checkpoint report") {
  for (const Words& kind : {Words{}, Words{"--model", "gin", "--norm", "batch"}}) {
    const Bench bench;
    const Outcome outcome = succeeds(
        bench.train(joined({"--node-bits", "3", "--node-bits-penalty", "10", "--epochs", "80", "--eval-every",
                            "10", "--checkpoint", bench.checkpoint, "--predict", bench.folder.file("p.csv")},
                           kind)));
    CHECK(mentions(outcome.err, {"bits by node: ", "in the mean over all numbers"}));
    CHECK(mentions(outcome.out, {"3 by node", "\"node_bits\": 3"}));
    CHECK(std::stod(json_of(outcome)["train_loss"]) < 0.8);  // of 1.1 without learning
    const optim::Checkpoint checkpoint = optim::load_checkpoint(bench.checkpoint);
    CHECK(checkpoint.facts.at("option.nodes") == "120");
    const double inputs = mean_of(checkpoint, "model.inputs.0.nodes.bits"),
                 sums = mean_of(checkpoint, "model.sums.0.input.nodes.bits");
    MESSAGE("mean bits of the first layer's input " << inputs << ", of its sums " << sums);
    CHECK(std::abs((inputs + sums) / 2.0 - 3.0) < 1.0);
    const auto bits = checkpoint.tensors.at("model.sums.0.input.nodes.bits").to_vector<float>();
    CHECK(*std::max_element(bits.begin(), bits.end()) > *std::min_element(bits.begin(), bits.end()) + 0.1f);
    // predict computes the same; an integer model is refused.
    succeeds("predict",
             {"--checkpoint", bench.checkpoint, "--data", bench.data, "--out", bench.folder.file("q.csv")});
    CHECK(contents_of(bench.folder.file("q.csv")) == contents_of(bench.folder.file("p.csv")));
    CHECK_THROWS_WITH_AS(IntegerModel(load_trained(bench.checkpoint)),
                         doctest::Contains("sums of integers need one scale"), Error);
    // Nodes of another graph have no bits.
    Dataset other = small_dataset();
    save_dataset(
        make_citation_dataset(
            {.nodes = 90, .classes = 3, .features = 40, .train_per_class = 5, .val = 10, .test = 20}),
        bench.folder.file("other.h5"));
    CHECK(fails_with(run("predict", {"--quiet", "--checkpoint", bench.checkpoint, "--data",
                                     bench.folder.file("other.h5"), "--out", bench.folder.file("r.csv")}),
                     1, {"other.h5: edges: ", "bits by node of 120 nodes", "but this graph has 90 nodes"}));
  }
}

TEST_CASE(
    "bits per node follow their nodes: a reordered graph gives the same classes, another one is refused") {
  const Bench bench;
  const std::string mixed = bench.folder.file("mixed.h5"), p = bench.folder.file("p.h5"),
                    q = bench.folder.file("q.h5"), other = bench.folder.file("other.h5");
  succeeds("reorder", {"random", bench.data, mixed, "--seed", "4"});
  write_small_dataset(other, 2);  // as many nodes
  const auto train = [&](const std::string& data) {
    succeeds(run("train_qgnn", {"--data", data, "--quiet", "--node-bits", "3", "--epochs", "30",
                                "--checkpoint", bench.checkpoint, "--predict", p}));
  };
  const auto predict = [&](const std::string& data) {
    return run("predict", {"--quiet", "--checkpoint", bench.checkpoint, "--data", data, "--out", q});
  };
  train(bench.data);
  succeeds(predict(mixed));
  CHECK(same_bits(predictions_in(q), predictions_in(p)));
  CHECK(fails_with(predict(other), 1, {"other.h5: edges: ", "bits by node of 120 nodes", "same order"}));
  const TrainedModel model = load_trained(bench.checkpoint);
  for (const std::string& file : {mixed, other}) {
    const Dataset data = load_dataset(file);
    CHECK_THROWS_WITH_AS((void)model.outputs(data.graph, data.x), doctest::Contains("same order"), Error);
  }
  train(mixed);
  succeeds(predict(mixed));
  CHECK(same_bits(predictions_in(q), predictions_in(p)));
  CHECK(fails_with(predict(bench.data), 1, {"data.h5: edges: ", ", order ", "same order"}));
  // An order that maps the edges onto themselves: a graph of no edges.
  Dataset lonely = small_dataset();
  lonely.graph = Graph::from_coo(120, Tensor::empty({0}, DType::i32), Tensor::empty({0}, DType::i32));
  save_dataset(lonely, bench.data);
  succeeds("reorder", {"random", bench.data, mixed, "--seed", "4"});
  train(bench.data);
  succeeds(predict(mixed));
  CHECK(same_bits(predictions_in(q), predictions_in(p)));
}

TEST_CASE("bits per node are the same on any number of threads, and when resumed") {
  const Bench bench;
  const Words bits{"--quiet", "--node-bits", "2.5"};
  const auto with = [&](const Words& more) {
    return bench.all_of(joined(bits, joined({"--epochs", "12"}, more)));
  };
  const std::string once = with({"--threads", "1"});
  CHECK(with({"--threads", "3"}) == once);
  CHECK(bench.resumes(bench.program, bits, 5, 12));
  CHECK(with({"--node-bits-penalty", "50"}) != once);
  CHECK(fails_with(bench.train({"--quiet", "--epochs", "12", "--resume", bench.checkpoint}), 1,
                   {"was trained with --node-bits 2.5; this run has 0"}));
}

TEST_CASE("train_qgnn refuses options that conflict with bits per node") {
  const Bench bench;
  check_refused(
      [&](const Words& more) {
        return bench.train(joined({"--quiet", "--node-bits", "3"}, more));
      },
      {{{"--scales", "running"}, {"--scales running", "--node-bits"}},
       {{"--degree-quant", "0.2"}, {"--degree-quant", "--node-bits"}},
       {{"--bits-activations", "4"}, {"--bits-activations", "--node-bits"}},
       {{"--bits", "32"}, {"--bits 32", "--node-bits"}},
       {{"--loader", "cluster", "--parts", "4"}, {"--loader cluster", "--node-bits"}},
       {{"--node-bits-penalty", "-1"}, {"--node-bits-penalty: expected 0 or more"}}});
  CHECK(fails_with(bench.train({"--quiet", "--node-bits", "9"}), 2, {"--node-bits: expected 1 to 8"}));
  CHECK(fails_with(bench.train({"--quiet", "--node-bits", "0.5"}), 2, {"--node-bits: expected 1 to 8"}));
}
