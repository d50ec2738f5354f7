#include "bench.h"
#include "variants.h"

using namespace adj;
using namespace adj::test;

// Properties of all training programs.

namespace {

struct Bench : TrainingBench {
  using TrainingBench::TrainingBench;
  Course train(const Variant& variant, const Words& more) const {
    return course(variant.program, joined(variant.options, more));
  }
};

}  // namespace

TEST_CASE("every model learns every task, and prints its name") {
  std::set<std::string> names;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.program);
    for (Device device : devices()) {
      const Words words{"--epochs", "100", "--patience", "0", "--device", device.str()};
      const Course classes = Bench(small_dataset()).train(variant, words);
      CHECK(classes.number("test_acc") > 0.5);
      CHECK(classes.json.at("app") == variant.program);
      names.insert(classes.json.at("model"));
      CHECK(Bench(small_multilabel_dataset()).train(variant, words).number("test_acc") > 0.6);
      // Loss of standardised targets, one of them constant: 2 / 3 for predicting the mean.
      const Course exact =
          Bench(small_regression_dataset()).train(variant, joined(words, {"--dropout", "0"}));
      CHECK(exact.number("train_loss") < 0.55);
    }
  }
  CHECK(names.size() == variants().size());
}

TEST_CASE(
    "every model has the same bits in every run: any threads, resumed, captured or eager, on new graphs") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.program);
    const Bench bench(small_dataset());
    for (Device device : devices()) {
      const Words device_option{"--device", device.str()};
      const auto train = [&](const Words& more) {
        return bench.train(variant, joined(joined(more, device_option), {"--epochs", "14"}));
      };
      const Course course = train({});
      for (const Words& same : {Words{"--threads", "1"}, Words{"--threads", "3"}, Words{"--no-capture"},
                                Words{"--inductive", "--aggregation", "reduce"}})
        CHECK(train(same) == course);
      CHECK_FALSE(train({"--seed", "1"}) == course);
      CHECK(bench.resumes(variant.program, joined(variant.options, device_option), 5, 14));
    }
  }
}

namespace {

/// The statistics of batch norms after so many epochs; the weights keep their initial values.
std::map<std::string, Tensor> statistics(const Bench& bench, const Variant& variant, const char* epochs) {
  succeeds(bench.TrainingBench::train(
      variant.program, joined(variant.options, {"--lr", "1e-30", "--weight-decay", "0", "--dropout", "0",
                                                "--epochs", epochs, "--checkpoint", bench.checkpoint})));
  std::map<std::string, Tensor> found = models::load_checkpoint(bench.checkpoint).with_prefix("model.");
  std::erase_if(found, [](const auto& entry) { return entry.first.find("running_") == std::string::npos; });
  return found;
}

}  // namespace

TEST_CASE("full-batch training leaves a batch norm the statistics of its newest epoch") {
  for (Device device : devices()) {
    const Dataset data = small_dataset();
    const Bench bench(data, {"--quiet", "--features-scaling", "none", "--device", device.str()});
    const auto found = statistics(bench, {"train_gcn", {"--norm", "batch"}}, "1");
    const models::Checkpoint checkpoint = models::load_checkpoint(bench.checkpoint);
    const Numbers x = values(data.x.to_dense()), weight = values(checkpoint.tensor("model.convs.0.weight")),
                  bias = values(checkpoint.tensor("model.convs.0.bias"));
    const size_t nodes = uz(data.num_nodes()), in = uz(data.num_features()), out = bias.size();
    // D^-1/2 (A + I) D^-1/2 X W + b, edge by edge.
    auto edges = data.graph.edge_index();
    auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
    for (int32_t i = 0; i < data.num_nodes(); ++i) src.push_back(i), dst.push_back(i);
    Numbers degree(nodes), product(nodes * out), y(nodes * out);
    for (const int32_t i : dst) degree[uz(i)] += 1.0;
    for (size_t i = 0; i < nodes; ++i)
      for (size_t k = 0; k < in; ++k)
        for (size_t c = 0; c < out; ++c) product[i * out + c] += x[i * in + k] * weight[k * out + c];
    for (size_t e = 0; e < src.size(); ++e)
      for (size_t c = 0; c < out; ++c)
        y[uz(dst[e]) * out + c] +=
            product[uz(src[e]) * out + c] / std::sqrt(degree[uz(src[e])] * degree[uz(dst[e])]);
    Numbers mean(out), variance(out);
    for (size_t c = 0; c < out; ++c) {
      for (size_t i = 0; i < nodes; ++i) mean[c] += (y[i * out + c] + bias[c]) / static_cast<double>(nodes);
      for (size_t i = 0; i < nodes; ++i)
        variance[c] += std::pow(y[i * out + c] + bias[c] - mean[c], 2) / static_cast<double>(nodes - 1);
    }
    CHECK(close_to_scale(found.at("norms.0.running_mean"), Tensor::from(mean).to(DType::f32), 1e-4));
    CHECK(close_to_scale(found.at("norms.0.running_var"), Tensor::from(variance).to(DType::f32), 1e-4));
  }
}

// With constant weights every epoch has the same statistics, which an average approaches from 0 and 1.
TEST_CASE("statistics of batch norms are averaged over mini-batches only") {
  const Bench bench;
  const Words norm{"--norm", "batch"};
  for (const Variant& variant : {Variant{"train_gcn", norm},
                                 {"train_gat", joined(norm, {"--attention-dropout", "0"})},
                                 {"train_sage", norm},
                                 {"train_gin", norm},
                                 {"train_transformer", norm},
                                 {"train_qgnn", joined(norm, {"--bits", "32"})},
                                 {"train_qgnn", {"--norm", "sums", "--bits", "32"}},
                                 {"train_qgnn", joined(norm, {"--bits", "32", "--model", "gin"})}})
    for (const bool whole : {true, false}) {
      Variant with = variant;
      if (!whole) with.options = joined(with.options, {"--loader", "cluster", "--parts", "2", "--seed", "1"});
      CAPTURE(with.program);
      CAPTURE(whole);
      const auto once = statistics(bench, with, "1"), often = statistics(bench, with, "5");
      REQUIRE(once.size() >= 2);
      for (const auto& [name, tensor] : once) {
        CAPTURE(name);
        CHECK(close_to_scale(often.at(name), tensor, 1e-5) == whole);
      }
    }
}

TEST_CASE("every model trains in bfloat16 nearly as in float32") {
  for (const Variant& variant : variants()) {
    if (!takes_bfloat16(variant)) continue;
    CAPTURE(variant.program);
    const Bench bench(small_dataset());
    for (Device device : devices()) {
      const Words words{"--epochs", "10",       "--lr",       "0.001",      "--dropout",
                        "0",        "--device", device.str(), "--precision"};
      // Mean over several seeds, as one may be unusually sensitive to rounding.
      const auto loss = [&](const char* precision) {
        double sum = 0.0;
        for (const char* seed : {"0", "1", "2", "3"})
          sum += bench.train(variant, joined(words, {precision, "--seed", seed})).number("train_loss");
        return sum;
      };
      const double wide = loss("float32"), narrow = loss("bfloat16");
      CHECK(narrow != wide);
      CHECK(narrow == doctest::Approx(wide).epsilon(0.03));
    }
  }
}

TEST_CASE("every program prints its options") {
  for (const Variant& variant : variants()) {
    const Outcome page = run(variant.program, {"--help"});
    CAPTURE(page.out);
    CHECK(page.status == 0);
    CHECK(page.out.starts_with("Usage: " + variant.program + " "));
    CHECK(lines_of(page.out)[1].starts_with("Trains "));
    CHECK(lines_of(page.out)[1].ends_with("."));
    for (const char* ugly : {"99999", "00000", ".:", "):"}) CHECK(page.out.find(ugly) == std::string::npos);
    for (const std::string& option : variant.options)
      if (option.starts_with("--")) CHECK(page.out.find(option + " ") != std::string::npos);
    for (const char* option : {"--hidden", "--layers"})
      CHECK(fails_with(run(variant.program, {option, "0"}), 2, {option, "1 or more"}));
    CHECK(fails_with(run(variant.program, {"--dropout", "1"}), 2, {"--dropout", "[0, 1)"}));
  }
}
