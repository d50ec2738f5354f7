#include "json.h"
#include "small_dataset.h"

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kColumns = 16;

/// The small citation graph with features drawn around a point for each class, both signs: own measurements.
/// `scale(column)` is multiplied.
template <class F>
Dataset measured(F scale, uint64_t seed = 1) {
  Dataset data = small_dataset(seed);
  Generator generator(7);  // the classes' points do not depend on the seed
  const std::vector<float> centers = random_normal({3 * kColumns}, 0.0, 1.0, generator).to_vector<float>();
  Generator noise(seed);
  std::vector<float> x = random_normal({data.num_nodes() * kColumns}, 0.0, 1.0, noise).to_vector<float>();
  const std::vector<int32_t> y = data.y.to_vector<int32_t>();
  for (size_t k = 0; k < x.size(); ++k) {
    const size_t node = k / kColumns, column = k % kColumns;
    x[k] = static_cast<float>(scale(column)) *
           (x[k] + centers[static_cast<size_t>(y[node]) * kColumns + column]);
  }
  data.x = Features(Tensor::from(x, {data.num_nodes(), kColumns}));
  return data;
}

Outcome train(const std::string& data, const Words& more) {
  const bool has_epochs = std::find(more.begin(), more.end(), "--epochs") != more.end();
  return run("train_gcn",
             joined({"--data", data, "--json"}, has_epochs ? more : joined(more, {"--epochs", "100"})));
}

double accuracy(const Outcome& outcome) { return std::stod(json_of(succeeds(outcome))["test_acc"]); }

}  // namespace

TEST_CASE("standard scaling equalises columns of very different scale") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("measured.h5"), other = folder.file("other.h5"),
                    checkpoint = folder.file("c.h5"), predicted = folder.file("p.csv"),
                    again = folder.file("q.csv");
  const auto scale = [](size_t column) { return column == 3 ? 1e4 : 0.01; };
  save_dataset(measured(scale), path);
  const Outcome standard =
      train(path, {"--features-scaling", "standard", "--checkpoint", checkpoint, "--predict", predicted});
  const double none = accuracy(train(path, {"--features-scaling", "none"})), good = accuracy(standard);
  MESSAGE("test accuracy: none " << none << ", standard " << good);
  CHECK(good > 0.85);
  CHECK(none < good - 0.15);

  // Scaling fitted to the training nodes is saved, and used on other graphs.
  const models::Preprocessing kept = models::Preprocessing::load(models::load_checkpoint(checkpoint));
  const Dataset data = load_dataset(path);
  const FeatureScaling fitted = FeatureScaling::fit(FeatureScaling::Kind::standard, data.x, data.train);
  CHECK(kept.scaling.kind() == FeatureScaling::Kind::standard);
  CHECK(same_bits(kept.scaling.mean(), fitted.mean()));
  CHECK(same_bits(kept.scaling.deviation(), fitted.deviation()));
  succeeds("predict", {"--checkpoint", checkpoint, "--data", path, "--out", again});
  CHECK(contents_of(again) == contents_of(predicted));
  // The library's call does the same for raw features.
  const std::string h5 = folder.file("p.h5");
  succeeds("predict", {"--checkpoint", checkpoint, "--data", path, "--out", h5});
  const TrainedModel model = load_trained(checkpoint, Device::cpu());
  CHECK(close(model.predict(data.graph, data.x).probability, predictions_in(h5), 1e-6));
  Dataset shifted = measured(scale, 2);  // its means would differ if fitted again
  save_dataset(shifted, other);
  CHECK(std::stod(json_of(run("predict", {"--checkpoint", checkpoint, "--data", other, "--out", again,
                                          "--json"}))["test_acc"]) > 0.8);
  CHECK(fails_with(run("predict", {"--checkpoint", checkpoint, "--data", path, "--out", again,
                                   "--features-scaling", "rows"}),
                   2, {"--features-scaling", "--pyg-state"}));

  // Training resumes only with the same scaling.
  succeeds(train(path, {"--features-scaling", "standard", "--resume", checkpoint}));
  CHECK(fails_with(train(path, {"--quiet", "--resume", checkpoint, "--features-scaling", "none"}), 1,
                   {"features.scaling", "'standard'", "'none'"}));
}

TEST_CASE_FIXTURE(InFolder, "standard scaling is the same for features in their file") {
  const std::string path = folder.file("measured.h5"), one = folder.file("one.csv"),
                    other = folder.file("other.csv");
  save_dataset(measured([](size_t column) { return column == 3 ? 1e4 : 1.0; }), path);
  for (const char* how : {"standard", "auto", "real", "rows"}) {
    CAPTURE(how);
    const auto with =
        program("train_sage", {"--data", path, "--quiet", "--loader", "neighbor", "--batch-size", "20",
                               "--epochs", "3", "--features-scaling", how});
    succeeds(with({"--predict", one}));
    succeeds(with({"--predict", other, "--features", "file"}));
    CHECK(contents_of(one) == contents_of(other));
  }
}

TEST_CASE("older checkpoints with raw-features are still read") {
  for (const bool raw : {false, true}) {
    CAPTURE(raw);
    const TemporaryDirectory folder;
    const std::string path = folder.file("data.h5"), c = folder.file("c.h5"), first = folder.file("p.csv"),
                      second = folder.file("q.csv");
    save_dataset(small_dataset(), path);
    const Words how{"--features-scaling", raw ? "none" : "rows"};
    succeeds(train(path, {how[0], how[1], "--epochs", "10", "--checkpoint", c, "--predict", first}));
    models::Checkpoint checkpoint = models::load_checkpoint(c);
    REQUIRE(checkpoint.facts.erase("features.scaling") == 1);
    checkpoint.facts["option.raw-features"] = raw ? "true" : "false";
    models::save_checkpoint(checkpoint, c);
    succeeds("predict", {"--checkpoint", c, "--data", path, "--out", second});
    CHECK(contents_of(first) == contents_of(second));
    succeeds(train(path, {"--epochs", "12", how[0], how[1], "--resume", c}));
    CHECK(fails_with(train(path, {"--quiet", "--epochs", "12", "--resume", c, how[0], raw ? "rows" : "none"}),
                     1, {"features.scaling", raw ? "'none'" : "'rows'"}));
  }
}

TEST_CASE("errors for old options name the current ones") {
  CHECK(fails_with(run("train_gcn", {"--raw-features"}), 2, {"--raw-features", "--features-scaling none"}));
  CHECK(fails_with(run("predict", {"--normalize-features"}), 2, {"--features-scaling rows"}));
  CHECK(fails_with(run("train_gcn", {"--features-scaling", "max"}), 2,
                   {"--features-scaling", "standard", "max"}));
}
