#include "bench.h"

using namespace adj;
using namespace adj::test;

namespace {

const Words kFirstKeys = {"app", "dataset", "model", "device", "seed", "runs", "epochs", "epochs_run"};
const Words kOptionKeys = {"hidden", "layers", "dropout", "lr", "weight_decay", "patience", "norm"};
const Words kLastKeys = {"metric",   "train_loss",   "val_loss",   "test_loss", "val_acc", "val_acc_std",
                         "test_acc", "test_acc_std", "best_epoch", "epoch_ms",  "peak_mb", "wall_s"};

struct Bench : TrainingBench {
  Bench() : TrainingBench(small_dataset(), {"--json"}) {}
};

}  // namespace

TEST_CASE_FIXTURE(With<Bench>, "--json prints one object last, with the keys in order") {
  const Outcome outcome = succeeds(bench.train({"--epochs", "12", "--seed", "5"}));
  const Words lines = lines_of(outcome.out);
  REQUIRE(lines.size() > 1);
  const auto members = json_members(lines.back());
  REQUIRE(members.size() >= kFirstKeys.size() + kOptionKeys.size() + kLastKeys.size());
  for (size_t i = 0; i < kFirstKeys.size(); ++i) CHECK(members[i].first == kFirstKeys[i]);
  for (size_t i = 0; i < kLastKeys.size(); ++i)
    CHECK(members[members.size() - kLastKeys.size() + i].first == kLastKeys[i]);
  auto json = json_of(outcome);
  CHECK(json.size() == members.size());
  for (const std::string& option : kOptionKeys) CHECK(json.count(option) == 1);
  CHECK(json.count("fanouts") + json.count("parts") == 0);
  check_json(json, {{"app", "train_gcn"},
                    {"dataset", "small"},
                    {"model", "GCN 40-16-3"},
                    {"device", "cpu"},
                    {"seed", "5"},
                    {"runs", "1"},
                    {"epochs", "12"},
                    {"epochs_run", "12"},
                    {"hidden", "16"},
                    {"weight_decay", "0.0005"},
                    {"norm", "none"},
                    {"metric", "accuracy"},
                    {"test_acc_std", "0"}});
  CHECK(std::stod(json["train_loss"]) > 0.0);
  CHECK(std::stod(json["val_acc"]) <= 1.0);
  CHECK(std::stoi(json["best_epoch"]) >= 1);
  CHECK(std::stoi(json["best_epoch"]) <= 12);
  CHECK(std::stod(json["epoch_ms"]) > 0.0);
  CHECK(std::stod(json["peak_mb"]) > 1.0);
  CHECK(std::stod(json["wall_s"]) > 0.0);
  CHECK(1000.0 * std::stod(json["wall_s"]) >= std::stod(json["epoch_ms"]));
  CHECK(mentions(outcome.err, {"epoch 12/12", "loss", "validation"}));

  const Outcome quiet = bench.train({"--epochs", "2", "--quiet"});
  CHECK(quiet.err.empty());
  CHECK(lines_of(quiet.out).size() == 1);
}

TEST_CASE_FIXTURE(With<Bench>, "predictions agree with the accuracy and the losses that are reported") {
  const std::string path = bench.predicted;
  auto json = json_of(bench.train({"--epochs", "40", "--metrics", bench.metrics, "--predict", path}));
  const Dataset data = load_dataset(bench.data);
  const H5Reader file = H5Reader::open(path);
  CHECK(file.text("", "format") == "adjoint.prediction");
  CHECK(file.text("", "dataset") == "small");
  const auto predicted = file.tensor("nodes/prediction", {DType::i32}, {120}).to_vector<int32_t>();
  const auto probability = file.tensor("nodes/probability", {DType::f32}, {120, 3}).to_vector<float>();
  for (size_t i = 0; i < 120; ++i) {
    const float* row = probability.data() + 3 * i;
    CHECK(row[0] + row[1] + row[2] == doctest::Approx(1.0).epsilon(1e-5));
    CHECK(std::max_element(row, row + 3) - row == predicted[i]);
  }
  const auto label = data.y.to_vector<int32_t>();
  double hits = 0.0;
  for (int32_t i : data.test.to_vector<int32_t>())
    hits += predicted[static_cast<size_t>(i)] == label[static_cast<size_t>(i)] ? 1.0 : 0.0;
  CHECK(std::stod(json["test_acc"]) == doctest::Approx(hits / 40.0));
  CHECK(std::stod(json["test_acc"]) > 0.5);
  // The losses of the best epoch are those of its weights.
  CHECK(column(bench.metrics, 3).at(std::stoul(json["best_epoch"]) - 1) == std::stod(json["val_loss"]));
  const auto loss_over = [&](const Tensor& part) {
    double loss = 0.0;
    for (int32_t i : part.to_vector<int32_t>())
      loss -= std::log(
          static_cast<double>(probability[static_cast<size_t>(3 * i + label[static_cast<size_t>(i)])]));
    return loss / static_cast<double>(part.numel());
  };
  CHECK(std::stod(json["val_loss"]) == doctest::Approx(loss_over(data.val)).epsilon(1e-4));
  CHECK(std::stod(json["test_loss"]) == doctest::Approx(loss_over(data.test)).epsilon(1e-4));
}

TEST_CASE_FIXTURE(With<Bench>,
                  "a recorded validation has the bits of one that is launched kernel by kernel") {
  for (Device device : devices())
    for (const Words& model : {Words{}, Words{"--norm", "batch", "--layers", "3", "--runs", "2"},
                               Words{"--eval-every", "4", "--patience", "8"}}) {
      const Words words = joined(model, {"--quiet", "--epochs", "30", "--device", device.str()});
      CHECK((bench.all_of(words) == bench.all_of(joined(words, {"--no-capture"}))));
    }
}

TEST_CASE("diverging training is an error that names the epoch, and leaves no outputs") {
  const Bench bench;
  for (Device device : devices()) {
    const auto train = [&](const Words& more) {
      const Outcome outcome =
          bench.train(joined(more, {"--quiet", "--device", device.str(), "--predict", bench.predicted,
                                    "--metrics", bench.metrics, "--checkpoint", bench.checkpoint}));
      for (const std::string& path : {bench.predicted, bench.metrics})
        CHECK_FALSE(std::filesystem::exists(path));
      return outcome;
    };
    // Only the validation sees the last epoch's step.
    CHECK(fails_with(train({"--lr", "1e20", "--epochs", "1"}), 1, {"epoch 1:", "the logits are not finite"}));
    CHECK(fails_with(train({"--lr", "1e38", "--epochs", "5", "--weight-decay", "1e30"}), 1, {"epoch 1:"}));
    CHECK(fails_with(train({"--lr", "1e300", "--epochs", "4"}), 1,
                     {"epoch 1:", "the parameter convs.0.weight is not finite"}));
    CHECK(fails_with(
        train({"--lr", "1e300", "--epochs", "40", "--eval-every", "20", "--checkpoint-every", "1000"}), 1,
        {"epochs 1 to 20:", "training loss", "--lr"}));
    CHECK(fails_with(train({"--lr", "1e300", "--epochs", "40", "--eval-every", "20"}), 1,
                     {"epoch 10:", "parameter convs.0.weight", "c.h5 is not written"}));
    CHECK_FALSE(std::filesystem::exists(bench.checkpoint));
  }
}

TEST_CASE("without --data the program trains on the demo, and mentions Cora") {
  const Outcome outcome = succeeds(run("train_gcn", {"--epochs", "40"}));
  CHECK(mentions(outcome.out, {"demo", "test accuracy", "Cora"}));
}

TEST_CASE("train_gcn reaches Kipf & Welling's accuracy, in the mean over ten seeds, with its defaults") {
  for (const auto& [dataset, least] : {std::pair{"cora.h5", 0.812}, {"citeseer.h5", 0.700}}) {
    if (!have_data(dataset)) continue;
    CAPTURE(std::string(dataset));
    const Outcome outcome = succeeds(
        run("train_gcn", {"--data", data_file(dataset).string(), "--runs", "10", "--quiet", "--json"}));
    CHECK(std::stod(json_of(outcome).at("test_acc")) >= least);
  }
}
