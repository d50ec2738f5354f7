#include "bench.h"

using namespace adj;
using namespace adj::test;

namespace {

const Words kFirstKeys = {"app", "dataset", "model", "device", "seed", "runs", "epochs", "epochs_run"};
const Words kOptionKeys = {"hidden", "layers", "dropout", "lr", "weight_decay", "patience", "norm"};
const Words kLastKeys = {"metric",       "train_loss", "val_loss", "test_loss", "val_acc", "test_acc",
                         "test_acc_std", "best_epoch", "epoch_ms", "peak_mb",   "wall_s"};

struct Bench : TrainingBench {
  explicit Bench(int64_t classes = 3) : TrainingBench(small_dataset(1, classes), {"--json"}) {}
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

TEST_CASE_FIXTURE(With<Bench>, "several runs give mean and deviation over their seeds") {
  std::vector<double> accuracy;
  for (const char* seed : {"3", "4", "5"})
    accuracy.push_back(std::stod(json_of(bench.train({"--epochs", "15", "--seed", seed}))["test_acc"]));
  auto json = json_of(bench.train({"--epochs", "15", "--seed", "3", "--runs", "3"}));
  const double mean = (accuracy[0] + accuracy[1] + accuracy[2]) / 3.0;
  double squares = 0.0;
  for (double a : accuracy) squares += (a - mean) * (a - mean);
  CHECK(std::stod(json["test_acc"]) == doctest::Approx(mean));
  CHECK(std::stod(json["test_acc_std"]) == doctest::Approx(std::sqrt(squares / 2.0)));
  CHECK(json["runs"] == "3");
}

TEST_CASE_FIXTURE(With<Bench>, "metrics are CSV or JSON lines, one an evaluated epoch") {
  const std::string csv = bench.folder.file("m.csv"), jsonl = bench.folder.file("m.jsonl");
  std::ofstream(csv) << "older";
  succeeds(bench.train({"--epochs", "7", "--metrics", csv, "--runs", "2"}));
  const Words rows = lines_of(contents_of(csv));
  REQUIRE(rows.size() == 15);
  CHECK(rows[0] == "run,epoch,train_loss,val_loss,val_acc");
  CHECK(rows[1].starts_with("0,1,"));
  CHECK(rows[14].starts_with("1,7,"));
  succeeds(bench.train({"--epochs", "7", "--metrics", jsonl, "--eval-every", "3"}));
  const Words objects = lines_of(contents_of(jsonl));
  REQUIRE(objects.size() == 3);
  const auto members = json_members(objects[2]);
  REQUIRE(members.size() == 5);
  CHECK(members[1] == std::pair<std::string, std::string>("epoch", "7"));
  CHECK(rows[7] == fmt::format("0,7,{},{},{}", members[2].second, members[3].second, members[4].second));
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

TEST_CASE_FIXTURE(With<Bench>, "a plot is an SVG of the curves, for any name of the dataset") {
  Dataset data = load_dataset(bench.data);
  data.name = "it's\n`touch " + bench.folder.file("oops") + "`\"";
  save_dataset(data, bench.data);
  const std::string path = bench.folder.file("it's \"a\" $(plot).svg");
  const Outcome outcome = succeeds(bench.train({"--epochs", "5", "--runs", "2", "--plot", path}));
  CHECK(mentions(contents_of(path),
                 {"<svg", "mean of 2 runs", ">training loss<", ">validation loss<", ">validation accuracy<",
                  "best epochs", fmt::format("test accuracy {:.4f}", std::stod(json_of(outcome)["test_acc"])),
                  "</svg>"}));
  const Outcome one = bench.train({"--epochs", "5", "--plot", path});
  CHECK(mentions(contents_of(path),
                 {">training loss<", "best epoch " + json_of(one)["best_epoch"],
                  fmt::format("test accuracy {:.4f}", std::stod(json_of(one)["test_acc"]))}));
  CHECK_FALSE(std::filesystem::exists(bench.folder.file("oops")));
  CHECK(json_of(outcome)["wall_s"] != "");
}

TEST_CASE("a plot shows the curves' range, with measured curves faint behind smoothed ones") {
  const Bench bench;
  const std::string path = bench.folder.file("p.svg"), csv = bench.folder.file("m.csv");
  auto json = json_of(bench.train({"--epochs", "100", "--plot", path, "--metrics", csv}));
  const std::string svg = contents_of(path);
  double low = 1.0, high = 0.0;  // of the ticks on the right
  const std::string begin = "text-anchor=\"start\">";
  for (size_t position = svg.find(begin); position != std::string::npos;
       position = svg.find(begin, position + 1)) {
    if (svg[position + begin.size()] != '0' && svg[position + begin.size()] != '1') continue;  // the legend
    const double tick = std::stod(svg.substr(position + begin.size()));
    low = std::min(low, tick);
    high = std::max(high, tick);
  }
  std::vector<double> accuracy = column(csv, 4);
  std::sort(accuracy.begin(), accuracy.end());
  CHECK(low > accuracy.front());  // the steep beginning is left out
  CHECK(low < accuracy[20]);
  CHECK(high <= 1.0);
  CHECK(mentions(svg, {"opacity=\"0."}));
  // Losses over many powers of ten.
  const Outcome long_one =
      succeeds(bench.train({"--epochs", "3000", "--plot", path, "--dropout", "0", "--weight-decay", "0",
                            "--lr", "0.1", "--eval-every", "10"}));
  CHECK(mentions(contents_of(path), {"loss (logarithmic)"}));
}

TEST_CASE("progress prints the loss of its own epoch, and the epoch of its validation") {
  const Bench bench;
  const Words lines = lines_of(bench.train({"--epochs", "20", "--eval-every", "7"}).err);
  const Words every = lines_of(bench.train({"--epochs", "20"}).err);
  REQUIRE(lines.size() == 13);
  REQUIRE(every.size() == 13);
  for (size_t i = 3; i < 12; ++i) {
    const size_t epoch = 2 * (i - 2), validated = epoch / 7 * 7;
    CAPTURE(lines[i]);
    const std::string loss = every[i].substr(0, every[i].find("  validation"));
    CHECK(lines[i].starts_with(loss));
    CHECK(mentions(loss, "loss "));
    if (validated == 0) {
      CHECK(lines[i] == loss);
    } else {
      CHECK(lines[i].ends_with(validated == epoch ? every[i].substr(loss.size())
                                                  : fmt::format(" (epoch {})", validated)));
    }
  }
  CHECK(lines.back() == every.back());
}

TEST_CASE_FIXTURE(With<Bench>, "progress of several runs names the run") {
  const Outcome outcome = bench.train({"--epochs", "20", "--runs", "2"});
  const Words lines = lines_of(outcome.err);
  REQUIRE(lines.size() == 15);
  CHECK(lines[3].starts_with("run 1/2  epoch 4/20  loss "));
  CHECK(lines[7].starts_with("run 1/2  epoch 20/20  loss "));
  CHECK(lines[8].starts_with("run 1/2: test accuracy "));
  CHECK(lines[9].starts_with("run 2/2  epoch 4/20  loss "));
  CHECK(mentions(outcome.out, {" of 20 in the median; "}));
}

TEST_CASE_FIXTURE(With<Bench>, "nodes without a label are counted in the summary of the data") {
  CHECK(bench.train({"--epochs", "1"}).err.find("without a label") == std::string::npos);
  Dataset data = load_dataset(bench.data);
  std::vector<int32_t> labels = data.y.to_vector<int32_t>();
  std::set<size_t> unused;
  for (size_t i = 0; i < labels.size(); ++i) unused.insert(i);
  for (const Tensor& part : {data.train, data.val, data.test})
    for (int32_t i : part.to_vector<int32_t>()) unused.erase(static_cast<size_t>(i));
  for (int k = 0; k < 5; ++k) labels[unused.extract(unused.begin()).value()] = -1;
  data.y = Tensor::from(labels);
  save_dataset(data, bench.data);
  CHECK(mentions(bench.train({"--epochs", "1"}).err, {"40 to test, 5 without a label\n"}));
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

TEST_CASE_FIXTURE(With<Bench>,
                  "patience stops early, and prints the best epoch, the last one and the reason") {
  const std::string csv = bench.metrics;
  std::map<bool, size_t> ran;
  for (const bool either : {false, true}) {
    CAPTURE(either);
    const Outcome outcome = bench.train({"--epochs", "3000", "--patience", "20", "--patience-on",
                                         either ? "either" : "metric", "--metrics", csv});
    auto json = json_of(outcome);
    const std::vector<double> metrics = column(csv, 4), losses = column(csv, 3);
    ran[either] = metrics.size();
    CHECK(metrics.size() < 3000);
    // By the metric only, the first of the best epochs counts; with the loss, the last one that is best in
    // both.
    double metric = -1.0, loss = 1e9;
    size_t best = 0, good = 0;
    for (size_t i = 0; i < metrics.size(); ++i) {
      const bool higher = either ? metrics[i] >= metric : metrics[i] > metric, lower = losses[i] <= loss;
      if (higher && (lower || !either)) best = i + 1;
      if (higher || (lower && either)) good = i + 1;
      metric = std::max(metric, metrics[i]);
      loss = std::min(loss, losses[i]);
    }
    CHECK(std::stoul(json["best_epoch"]) == best);
    CHECK(std::stod(json["val_acc"]) == metrics.at(best - 1));
    CHECK(good + 20 == metrics.size());
    check_json(json, {{"epochs", "3000"}, {"epochs_run", std::to_string(ran[either])}});
    CHECK(mentions(outcome.out, {fmt::format("at epoch {}; stopped after {} of 3000; ", best, ran[either])}));
    const std::string last = lines_of(outcome.err).back();
    CHECK(last.starts_with(fmt::format("epoch {}/3000  loss ", ran[either])));
    const char* reason =
        either ? "validation accuracy and loss worse than before" : "no better validation accuracy";
    CHECK(mentions(last, {"validation 0.", fmt::format("(stopped: {} for 20 epochs)", reason)}));
    CHECK(outcome.err.find("3000/3000") == std::string::npos);
  }
  CHECK(ran[true] > ran[false]);
}

TEST_CASE_FIXTURE(With<Bench>, "several runs stop early each, and their median is reported") {
  const Outcome several =
      bench.train({"--epochs", "3000", "--patience", "20", "--runs", "3", "--metrics", bench.metrics});
  std::vector<int> ran(3);
  for (const double run : column(bench.metrics, 0)) ++ran.at(static_cast<size_t>(run));
  for (const int epochs : ran)
    CHECK(mentions(several.err, {fmt::format("; stopped after {} of 3000", epochs)}));
  std::sort(ran.begin(), ran.end());
  CHECK(json_of(several)["epochs_run"] == std::to_string(ran[1]));
}

TEST_CASE("ROC-AUC exists for two classes, not for three") {
  const Outcome two = Bench(2).train({"--epochs", "5", "--runs", "2"});
  CHECK(mentions(two.out, {"ROC-AUC", "\"test_auc_std\": "}));
  auto json = json_of(two);
  CHECK(std::stod(json["test_auc"]) > 0.0);
  CHECK(std::stod(json["test_auc"]) <= 1.0);
  CHECK(mentions(two.out, {fmt::format("test ROC-AUC {:.4f}", std::stod(json["test_auc"]))}));
  const Outcome three = Bench(3).train({"--epochs", "5"});
  for (const char* area : {"auc", "ROC-AUC"}) CHECK(three.out.find(area) == std::string::npos);
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
