#include "bench.h"

using namespace adj;
using namespace adj::test;

// Tasks besides classes, metrics, precisions, several splits, new graphs in every epoch.

namespace {

struct Bench : TrainingBench {
  using TrainingBench::TrainingBench;
  Course train(const Words& more) const { return course(program, more); }
  Outcome fail(const Words& more) const { return run(program, joined({"--data", data, "--quiet"}, more)); }
};

}  // namespace

TEST_CASE("multilabel tasks are scored by mean ROC-AUC or micro-F1, and written as probabilities") {
  const Dataset data = small_multilabel_dataset();
  const Bench bench(data);
  for (Device device : devices()) {
    const Course t = bench.train({"--epochs", "60", "--device", device.str()});
    CHECK(t.json.at("metric") == "auc");
    CHECK(t.json.at("model") == "GCN 40-16-3");
    CHECK(t.number("test_acc") > 0.7);
    CHECK(t.json.count("test_auc") == 0);
    CHECK(lines_of(t.metrics)[0] == "run,epoch,train_loss,val_loss,val_auc");
    const H5Reader file = H5Reader::open(bench.predicted);
    CHECK(file.text("", "task") == "node_multilabel");
    const Tensor probability = file.tensor("nodes/probability", {DType::f32}, {120, 3});
    const auto predicted = file.tensor("nodes/prediction", {DType::u8}, {120, 3}).to_vector<uint8_t>();
    const auto values = probability.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      CHECK(values[i] >= 0.0f);
      CHECK(values[i] <= 1.0f);
      CHECK((predicted[i] == 1) == (values[i] > 0.5f));
    }
    CHECK(nn::mean_roc_auc(probability, data.y, data.test) == doctest::Approx(t.number("test_acc")));
    const Course f1 = bench.train({"--epochs", "60", "--metric", "f1", "--device", device.str()});
    CHECK(f1.json.at("metric") == "f1");
    const Tensor again = H5Reader::open(bench.predicted).tensor("nodes/prediction", {DType::u8});
    Tensor centred = again.to(DType::f32);
    for (float& v : std::span(centred.mutable_data<float>(), 360)) v -= 0.5f;
    CHECK(nn::micro_f1(centred, data.y, data.test) == doctest::Approx(f1.number("test_acc")));
  }
  const Outcome text = run("train_gcn", {"--data", bench.data, "--epochs", "4"});
  CHECK(mentions(text.out, {"test mean ROC-AUC", "validation mean ROC-AUC"}));
  CHECK(mentions(text.err, {"3 labels;", "1 without a label"}));
}

TEST_CASE("reading a dataset notes classes without nodes") {
  Dataset data = small_dataset();
  data.classes = 5;
  const Bench bench(data);
  CHECK(mentions(run("train_gcn", {"--data", bench.data, "--epochs", "1"}).err,
                 {bench.data, "attribute num_classes: 5, of which 2 have no label"}));
}

TEST_CASE("labels missing in some columns are ignored there") {
  for (Dataset data : {small_multilabel_dataset(), small_regression_dataset()}) {
    const bool targets = data.task == Task::node_regression;
    data.y = data.y.clone();  // a third of all, and one of each node at most
    for (int64_t i = 0; i < 120; ++i)
      if (i % 4 != 0)
        data.y.mutable_data<float>()[3 * i + i % 4 - 1] = std::numeric_limits<float>::quiet_NaN();
    const Bench bench(data);
    for (const Words& loader : {Words{}, Words{"--loader", "cluster", "--parts", "3"},
                                Words{"--loader", "saint", "--budget", "30", "--coverage", "5"}}) {
      CAPTURE(loader.size());
      const Course t = bench.train(joined({"--epochs", "60", "--dropout", "0"}, loader));
      if (targets) {
        CHECK(t.number("train_loss") < 0.7);
      } else {
        CHECK(t.number("test_acc") > 0.65);
        const Tensor p = predictions_in(bench.predicted);
        CHECK(nn::mean_roc_auc(p, data.y, data.test) == doctest::Approx(t.number("test_acc")));
      }
    }
  }
}

TEST_CASE("targets far from zero are learnt, and scored by R2 or absolute error in their own unit") {
  const Dataset data = small_regression_dataset();
  const Bench bench(data);
  for (Device device : devices()) {
    const Course t = bench.train({"--epochs", "100", "--device", device.str()});
    CHECK(t.json.at("metric") == "r2");
    CHECK(t.number("test_acc") > 0.2);
    CHECK(lines_of(t.metrics)[0] == "run,epoch,train_loss,val_loss,val_r2");
    const H5Reader file = H5Reader::open(bench.predicted);
    CHECK_FALSE(file.has("nodes/probability"));
    const Tensor predicted = file.tensor("nodes/prediction", {DType::f32}, {120, 3});
    CHECK(nn::r2(predicted, data.y, data.test) == doctest::Approx(t.number("test_acc")));
    CHECK(predicted.data<float>()[0] > 990.0f);
    const Course mae = bench.train({"--epochs", "60", "--metric", "mae", "--device", device.str()});
    const std::vector<double> errors = column(bench.metrics, 4);  // the best epoch is one of the least
    CHECK(mae.number("val_acc") == *std::min_element(errors.begin(), errors.end()));
  }
  const Outcome text = run("train_gcn", {"--data", bench.data, "--epochs", "4"});
  CHECK(mentions(text.out, {"test R2", "validation R2"}));
  CHECK(mentions(text.err, {"3 targets;"}));
}

TEST_CASE("other tasks resume with the bits of uninterrupted training") {
  for (const Dataset& data : {small_multilabel_dataset(), small_regression_dataset()}) {
    const Bench bench(data);
    for (const Words& more :
         {Words{}, Words{"--metric", data.task == Task::node_regression ? "mae" : "f1"}}) {
      CHECK(bench.resumes("train_gcn", more, 9, 20));
      CHECK(fails_with(bench.fail({"--resume", bench.checkpoint, "--metric", "auto", "--hidden", "8"}), 1,
                       {"hidden"}));
    }
    CHECK(fails_with(bench.fail({"--resume", bench.checkpoint, "--metric", "auto"}), 1,
                     {"was trained with --metric", "this run has auto"}));
  }
}

TEST_CASE("a graph rebuilt every epoch gives the bits of one that is kept") {
  Dataset data = small_dataset();
  // Edges in another order than the graph's own, with weights and attributes.
  const EdgeIndex edges = data.graph.edge_index();
  auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  std::vector<float> weight;
  for (size_t e = 0; e < src.size(); ++e) weight.push_back(1.0f + static_cast<float>(e % 7));
  std::reverse(src.begin(), src.end()), std::reverse(dst.begin(), dst.end());
  data.graph = Graph::from_coo(120, Tensor::from(src), Tensor::from(dst), Tensor::from(weight),
                               {{"attr", Tensor::zeros({std::ssize(src), 2})}});
  const Bench bench(data);
  for (Device device : devices())
    for (const Words& model : {Words{}, Words{"--norm", "batch", "--layers", "3"}}) {
      const Words words = joined(model, {"--epochs", "10", "--device", device.str()});
      CHECK(bench.train(joined(words, {"--inductive", "--aggregation", "reduce"})) == bench.train(words));
    }
}

TEST_CASE("bfloat16 trains nearly as float32, and tf32 is float32 on the CPU") {
  for (const Dataset& data : {small_dataset(), small_multilabel_dataset(), small_regression_dataset()}) {
    const Bench bench(data);
    for (Device device : devices()) {
      const Words words{"--epochs", "40", "--dropout", "0", "--device", device.str()};
      const auto with = [&](const char* precision) {
        return bench.train(joined(words, {"--precision", precision}));
      };
      const Course wide = bench.train(words), narrow = with("bfloat16"), tf32 = with("tf32");
      CHECK(narrow.number("train_loss") == doctest::Approx(wide.number("train_loss")).epsilon(0.05));
      CHECK(narrow.json.at("train_loss") != wide.json.at("train_loss"));
      CHECK(narrow.metrics == with("bfloat16").metrics);
      if (device.is_cpu()) CHECK(tf32.metrics == wide.metrics);
      CHECK(tf32.number("train_loss") == doctest::Approx(wide.number("train_loss")).epsilon(0.02));
    }
    CHECK(bench.resumes("train_gcn", {"--precision", "bfloat16"}, 11, 20));
    CHECK(fails_with(bench.fail({"--epochs", "20", "--resume", bench.checkpoint}), 1,
                     {"precision", "bfloat16", "float32"}));
  }
}

TEST_CASE("--explain prints the kernels that ran, before the results") {
  const Bench bench(small_dataset());
  for (Device device : devices()) {
    const Words words{"--data", bench.data, "--epochs", "3", "--device", device.str(), "--json"};
    CHECK(run("train_gcn", words).out.find("spmm of") == std::string::npos);
    const Words more = joined(words, {"--explain"});
    const Words lines = lines_of(run("train_gcn", more).out);
    REQUIRE(lines.size() > 3);
    CHECK(lines[0] == "CPU kernels: " + describe_cpu_isa());
    CHECK(lines[1].starts_with("spmm of 120 x "));
    CHECK(lines[1].find(device.str() + ": ") != std::string::npos);
    CHECK(lines.back().starts_with("{\"app\""));
    if (device.is_cpu()) continue;
    const std::string out = run("train_gat", more).out;
    CHECK(mentions(out, "gat of 120 x 120 with "));
    CHECK(mentions(out, "gat_backward of 120 x 120 with "));
  }
}
