#include "../nn/module_state.h"
#include <adjoint/core/parallel.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/nn/conv/gcn_conv.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>

#include <sys/wait.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;
using models::Checkpoint;

namespace {

Checkpoint example(int64_t epoch, int64_t rows = 7) {
  Checkpoint checkpoint;
  checkpoint.program = "train_test";
  checkpoint.facts["model"] = "GCN 3-2";
  checkpoint.set("epoch", epoch);
  checkpoint.set("third", 1.0 / 3.0);
  checkpoint.tensors["model.weight"] = Tensor::full({rows, 3}, static_cast<double>(epoch));
  checkpoint.tensors["model.steps"] = Tensor::full({1}, static_cast<double>(epoch), DType::i64);
  checkpoint.tensors["modelling"] = Tensor::full({}, 0.1, DType::f64);
  checkpoint.tensors["history"] = Tensor::zeros({0, 5}, DType::f64);
  return checkpoint;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "a loaded checkpoint equals the saved one to the bit") {
  const std::string path = folder.file("a.h5");
  Checkpoint saved = example(41);
  saved.set("tiny", std::numeric_limits<double>::denorm_min());
  saved.set("low", std::numeric_limits<double>::lowest());
  saved.set("most", std::numeric_limits<int64_t>::max());
  saved.tensors["odd"] =
      Tensor::from(std::vector<float>{-0.0f, NAN, INFINITY, std::numeric_limits<float>::denorm_min()});
  saved.tensors["narrow"] = random_tensor({5, 3}).to(DType::bf16);
  models::save_checkpoint(saved, path);
  const Checkpoint loaded = models::load_checkpoint(path, "train_test");
  CHECK(loaded.facts == saved.facts);
  CHECK(loaded.path == path);
  CHECK(loaded.integer("epoch") == 41);
  CHECK(loaded.number("third") == 1.0 / 3.0);
  CHECK(loaded.number("tiny") == std::numeric_limits<double>::denorm_min());
  CHECK(loaded.number("low") == std::numeric_limits<double>::lowest());
  CHECK(loaded.integer("most") == std::numeric_limits<int64_t>::max());
  CHECK(equal(loaded.tensors, saved.tensors));
  const auto model = loaded.with_prefix("model.");
  CHECK(model.size() == 2);
  CHECK(model.count("weight") == 1);
  CHECK(model.count("steps") == 1);
}

TEST_CASE_FIXTURE(InFolder, "files that are not checkpoints are refused") {
  const auto load = [](const std::string& path, const std::string& program = "train_test") {
    return error_of<DataError>([&] { models::load_checkpoint(path, program); });
  };
  const std::string missing = folder.file("missing.h5");
  CHECK(mentions(load(missing), missing));

  const std::string text = folder.file("text.h5");
  std::ofstream(text) << "not a checkpoint";
  CHECK(mentions(load(text), {text, "HDF5"}));

  const std::string other = folder.file("other.h5");
  H5Writer dataset(other);
  dataset.attribute("", "format", std::string("adjoint.graph"));
  dataset.commit();
  CHECK(mentions(load(other), "adjoint.checkpoint"));

  for (int64_t version : {0, 1, 3, -1}) {
    const std::string another = folder.file("another.h5");
    H5Writer writer(another);
    writer.attribute("", "format", std::string("adjoint.checkpoint"));
    writer.attribute("", "version", version);
    writer.attribute("", "program", std::string("train_test"));
    writer.attribute("facts", "epoch", std::string("3"));
    writer.write("tensors/a", Tensor::zeros({1}));
    writer.commit();
    CHECK(mentions(load(another), fmt::format("version: {}, expected 2", version)));
  }

  const std::string good = folder.file("good.h5");
  models::save_checkpoint(example(3), good);
  CHECK(mentions(load(good, "train_gat"), "train_test"));
  const Checkpoint loaded = models::load_checkpoint(good, "train_test");
  for (const auto& [fact, part] :
       {std::pair("nothing", "nothing"), {"model", "GCN 3-2"}, {"third", "number"}})
    CHECK(mentions(error_of<DataError>([&] { loaded.integer(fact); }), part));
  CHECK_THROWS_AS(models::save_checkpoint(example(1), folder.file("no/such/folder.h5")), DataError);
}

TEST_CASE_FIXTURE(InFolder,
                  "tensors that expand to far more than the file are refused before they are read") {
  const std::string path = folder.file("small.h5");
  H5Writer writer(path, 9);
  writer.attribute("", "format", std::string("adjoint.checkpoint"));
  writer.attribute("", "version", int64_t{2});
  writer.attribute("", "program", std::string("train_test"));
  for (const char* name : {"a", "b", "c"})
    writer.write(fmt::format("tensors/{}", name), Tensor::zeros({2, 1 << 20}));
  writer.commit();
  const std::string message = error_of<DataError>([&] { (void)models::load_checkpoint(path); });
  CHECK(mentions(message, {path, "tensors/c: 25165824 bytes of tensors so far, expected at most "}));
}

TEST_CASE_FIXTURE(InFolder, "after a kill at any moment the file is the old or the new checkpoint") {
  const std::string path = folder.file("killed.h5");
  constexpr int64_t kRows = 20000;
  models::save_checkpoint(example(0, kRows), path);
  int64_t last = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
      for (int64_t epoch = last + 1;; ++epoch) models::save_checkpoint(example(epoch, kRows), path);
    usleep(static_cast<useconds_t>(500 + 733 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const Checkpoint loaded = models::load_checkpoint(path, "train_test");
    const int64_t epoch = loaded.integer("epoch");
    CHECK(epoch >= last);
    REQUIRE(
        same_bits(loaded.tensors.at("model.weight"), Tensor::full({kRows, 3}, static_cast<double>(epoch))));
    last = epoch;
  }
  CHECK(last > 0);
}

TEST_CASE_FIXTURE(InFolder, "a module is saved and loaded without training") {
  const std::string path = folder.file("own.h5");
  nn::Model<nn::GCNConv> saved(3, 2), loaded(3, 2), other(3, 4);
  models::save_model(saved, path);
  models::load_model(loaded, path);
  CHECK(equal(copied(saved), copied(loaded)));
  CHECK(mentions(error_of<DataError>([&] { models::load_model(other, path); }),
                 path + ": tensors/model.*: load_state: weight is [3, 2]"));

  // A training's best weights.
  models::Checkpoint training;
  training.program = "mine";
  training.set("best_epoch", int64_t{3});
  for (const auto& [name, tensor] : saved.state()) {
    training.tensors["model." + name] = Tensor::zeros(tensor.shape());
    training.tensors["best." + name] = tensor;
  }
  models::save_checkpoint(training, path);
  nn::Model<nn::GCNConv> best(3, 2);
  models::load_model(best, path);
  CHECK(same_bits(best.weight.value(), saved.weight.value()));

  const models::Checkpoint stored = models::load_checkpoint(path);
  const std::string none = error_of<DataError>([&] { (void)stored.with_prefix("modell."); });
  CHECK(none == path + ": tensors/modell.*: none, expected a prefix of best. model.");
  training.tensors["best.weight"] = Tensor::full({3, 2}, std::numeric_limits<double>::infinity());
  models::save_checkpoint(training, path);
  CHECK(error_of<DataError>([&] { models::load_model(best, path); }) ==
        path + ": tensors/best.weight: not finite");
}
