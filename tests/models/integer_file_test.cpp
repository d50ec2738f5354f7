#include "quantised_models.h"
#include <adjoint/models/integer_model.h>

#include <filesystem>

using namespace adj;
using namespace adj::test;

TEST_CASE_FIXTURE(InFolder, "an integer model loaded from its file has the same results to the bit") {
  const std::string checkpoint = folder.file("c.h5"), path = folder.file("q.h5");
  on_devices([&](Device device) {
    const Graph graph = random_graph(device);
    const Tensor x = random_tensor({kNodes, kIn}).to(device);
    for (const char* kind : {"gcn", "gin"})
      for (const char* norm : {"none", "batch", "sums"})
        for (const char* bits : {"8", "1", "8,3,5"}) {
          CAPTURES(kind, norm, bits);
          write_checkpoint(trained_on(graph, x, options_of(kind, norm, bits)), checkpoint);
          const IntegerModel model(load_trained(checkpoint, device));
          model.save(path);
          CHECK(is_integer_model(path));
          CHECK_FALSE(is_integer_model(checkpoint));
          for (const IntegerSums sums : {IntegerSums::bytes, IntegerSums::bits}) {
            const IntegerModel back = IntegerModel::load(path, device, {.sums = sums});
            CHECK(same_bits(back(back.pack(graph, Features(x))), model(model.pack(graph, Features(x)))));
          }
          const IntegerModel back = IntegerModel::load(path, device);
          CHECK(back.describe() == model.describe());
          CHECK(back.description().origin == "train_qgnn, epoch 2");
          CHECK(back.description().class_names == model.description().class_names);
          CHECK(back.description().facts.count("generator.seed") == 0);
          const std::string again = folder.file("again.h5");
          back.save(again);
          CHECK(std::filesystem::file_size(again) == std::filesystem::file_size(path));
        }
    const ManyGraphs many = many_graphs(device);
    for (const nn::GraphPool pool : {nn::GraphPool::sum, nn::GraphPool::mean, nn::GraphPool::max}) {
      const Tensor of_all = random_tensor({many.graph.num_nodes(), kIn}).to(device);
      models::ModelOptions o = options_of("graph-qgin", "none", "3");
      o.graphs.pool = pool;
      write_checkpoint(trained_on(many, of_all, o), checkpoint);
      const IntegerModel model(load_trained(checkpoint, device));
      model.save(path);
      const IntegerModel back = IntegerModel::load(path, device);
      CHECK(same_bits(back(back.pack(many.graph, many.offsets, Features(of_all))),
                      model(model.pack(many.graph, many.offsets, Features(of_all)))));
      CHECK(back.description().graphs_at_once == 16);
    }
  });
}

TEST_CASE_FIXTURE(InFolder, "an integer model's file keeps how features are scaled and quantised") {
  const std::string checkpoint = folder.file("c.h5"), path = folder.file("q.h5");
  const Graph graph = random_graph({});
  const Tensor x = random_tensor({kNodes, kIn});
  write_checkpoint(trained_on(graph, x, options_of("gcn", "none", "8")), checkpoint);
  models::Checkpoint written = models::load_checkpoint(checkpoint);
  written.facts["features.bits"] = "2";
  written.facts["features.scaling"] = "real";  // by mean and deviation, as standard
  written.tensors["features.scale"] = Tensor::full({1}, 0.75);
  written.tensors["features.zero"] = Tensor::full({1}, 1.0);
  models::save_checkpoint(written, checkpoint);
  const IntegerModel model(load_trained(checkpoint));
  model.save(path);
  const IntegerModel back = IntegerModel::load(path);
  // Standardised by write_checkpoint's mean and deviation, then one of four values.
  const std::vector<double> mean = values(written.tensors.at("features.mean")), raw = values(x);
  std::vector<double> expected;
  for (size_t i = 0; i < raw.size(); ++i) {
    const double standard = (raw[i] - mean[i % uz(kIn)]) / 1.5;
    expected.push_back(0.75 * (std::clamp(std::nearbyint(standard / 0.75 + 1.0), 0.0, 3.0) - 1.0));
  }
  for (const IntegerModel* either : {&model, &back})
    CHECK(close(either->description().prepare(Features(x)).to_dense(), expected, 1e-6));
  CHECK(same_bits(back(back.pack(graph, Features(x))), model(model.pack(graph, Features(x)))));
}

TEST_CASE_FIXTURE(InFolder, "the file of an integer model has the size of its packed weights") {
  const std::string checkpoint = folder.file("c.h5"), path = folder.file("q.h5");
  for (const int bits : {8, 4, 1}) {
    models::ModelOptions o = options_of("gin", "none", fmt::format("{}", bits));
    o.hidden = 512;
    write_checkpoint(trained_on(random_graph({}), random_tensor({kNodes, kIn}), o), checkpoint);
    IntegerModel(load_trained(checkpoint)).save(path);
    constexpr int64_t kWeights = 512 * (kIn + 512 + 512 + 512 + 512 + kOut), kColumns = 5 * 512 + kOut;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
    CHECK(size >= kWeights * bits / 8);
    CHECK(size <= kWeights * bits / 8 + kColumns * 16 + (int64_t{48} << 10));
  }
}

TEST_CASE_FIXTURE(InFolder, "an integer model that is not from a checkpoint is not written") {
  const IntegerModel model(
      trained_on(random_graph({}), random_tensor({kNodes, kIn}), options_of("gcn", "none", "4")));
  CHECK_ERROR_HAS(model.save(folder.file("q.h5")), "not from a checkpoint");
  CHECK_FALSE(std::filesystem::exists(folder.file("q.h5")));
}
