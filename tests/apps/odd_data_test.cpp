#include "../data/schema.h"
#include "process.h"

using namespace adj;
using namespace adj::test;

// Degenerate datasets. Training on them works, or gives a one-line error.

namespace {

/// A ring of nodes with labels 0, 1, … cyclically, split in three.
Dataset ring(int64_t nodes, int64_t classes, const Tensor& x) {
  std::vector<int32_t> src, dst, y;
  std::vector<std::vector<int32_t>> parts(3);
  for (int32_t i = 0; i < nodes; ++i) {
    const auto next = static_cast<int32_t>((i + 1) % nodes);
    src.insert(src.end(), {i, next});
    dst.insert(dst.end(), {next, i});
    y.push_back(static_cast<int32_t>(i % classes));
    parts[static_cast<size_t>(i % 3)].push_back(i);
  }
  Dataset data;
  data.name = "ring";
  data.task = Task::node_class;
  data.undirected = true;
  data.classes = classes;
  data.graph = Graph::from_coo(nodes, Tensor::from(src), Tensor::from(dst));
  data.x = Features(x);
  data.y = Tensor::from(y);
  data.splits = {{Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])}};
  data.use_split(0);
  return data;
}

/// Trains with every option; results and predictions are all finite.
bool trains(const Dataset& data) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("odd.h5"), predicted = folder.file("p.h5");
  save_dataset(data, path);
  bool good = true;
  for (Device device : devices())
    for (const Words& more : {Words{}, Words{"--features-scaling", "none"},
                              Words{"--features-scaling", "standard"}, Words{"--norm", "batch"}}) {
      const Outcome outcome = run("train_gcn", joined({"--data", path, "--epochs", "8", "--quiet", "--json",
                                                       "--device", device.str(), "--predict", predicted},
                                                      more));
      if (outcome.status != 0 || !outcome.err.empty()) MESSAGE(outcome.err);
      good = good && outcome.status == 0 && outcome.out.find("nan") == std::string::npos &&
             outcome.out.find("inf") == std::string::npos;
      if (outcome.status != 0) continue;
      for (double p : values(predictions_in(predicted))) good = good && std::isfinite(p);
    }
  return good;
}

}  // namespace

TEST_CASE("denormal, constant and zero features train") {
  for (double value : {1e-45, 1e-42, 1e-38, 0.0, 1.0, 1e30}) {
    CAPTURE(value);
    CHECK(trains(ring(30, 3, Tensor::full({30, 4}, value))));
  }
  Tensor mixed = Tensor::full({30, 4}, 1e-42);
  mixed.rows(0, 10).fill_(2.0);
  CHECK(trains(ring(30, 3, mixed)));
}

TEST_CASE_FIXTURE(InFolder, "training works with three nodes and one feature, but refuses one class") {
  CHECK(trains(ring(3, 2, Tensor::full({3, 1}, 1.0))));
  const std::string path = folder.file("alike.h5");
  save_dataset(ring(30, 1, random_tensor({30, 4})), path);
  CHECK(fails_with(run("train_gcn", {"--data", path}), 1,
                   {path + ": nodes/y: all 30 labels are of one class, expected two or more"}));
}

TEST_CASE_FIXTURE(InFolder, "a dataset of one node is refused for its empty splits") {
  const std::string path = folder.file("one.h5");
  SchemaFile file;
  file.attributes = {{"format", "adjoint.graph"}, {"name", "one"}, {"task", "node_class"}};
  for (const char* name : {"version", "num_nodes", "num_classes", "undirected"}) file.attributes[name] = 1;
  const Tensor none = Tensor::empty({0}, DType::i32), zero = Tensor::zeros({1}, DType::i32);
  file.datasets = {{"edges/src", none},  {"edges/dst", none},    {"nodes/x", Tensor::full({1, 2}, 1.0)},
                   {"nodes/y", zero},    {"splits/train", zero}, {"splits/val", none},
                   {"splits/test", none}};
  file.write(path);
  CHECK(fails_with(run("train_gcn", {"--data", path}), 1, {path, "splits/val", "empty"}));
}

TEST_CASE_FIXTURE(InFolder, "a row whose normalisation is not finite is refused, but trains standardised") {
  const std::string path = folder.file("cancelled.h5");
  Tensor x = Tensor::full({6, 3}, 1.0);
  x.mutable_data<float>()[0] = -1.0f;
  x.mutable_data<float>()[2] = 1e-42f;  // 1 - 1 + 1e-42
  save_dataset(ring(6, 2, x), path);
  CHECK(fails_with(run("train_gcn", {"--data", path, "--epochs", "2", "--features-scaling", "rows"}), 1,
                   {path, "nodes/x", "not finite", "--features-scaling none"}));
  succeeds("train_gcn", {"--data", path, "--epochs", "2"});  // auto divides no row of features with negatives
}
