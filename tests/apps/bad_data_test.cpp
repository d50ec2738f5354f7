#include "process.h"
#include "small_dataset.h"
#include <adjoint/data/hdf5_file.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

/// A file of the schema, to be damaged: six nodes, two classes.
struct Contents {
  std::map<std::string, Tensor> tensors{
      {"edges/src", ints({0, 1, 2, 3, 4, 5})}, {"edges/dst", ints({1, 0, 3, 2, 5, 4})},
      {"nodes/x", Tensor::full({6, 2}, 1.0)},  {"nodes/y", ints({0, 1, 0, 1, 0, 1})},
      {"splits/train", ints({0, 1})},          {"splits/val", ints({2, 3})},
      {"splits/test", ints({4, 5})},
  };
  std::map<std::string, std::string> texts{
      {"format", "adjoint.graph"}, {"name", "six"}, {"task", "node_class"}};
  std::map<std::string, int64_t> numbers{
      {"version", 1}, {"num_nodes", 6}, {"num_classes", 2}, {"undirected", 1}};

  static Tensor ints(const std::vector<int32_t>& values) { return Tensor::from(values); }

  void write(const std::string& path) const {
    H5Writer file(path);
    for (const auto& [name, text] : texts) file.attribute("", name, text);
    for (const auto& [name, number] : numbers) file.attribute("", name, number);
    for (const auto& [name, tensor] : tensors) file.write(name, tensor);
    file.commit();
  }
};

Tensor with(Tensor tensor, size_t position, float value) {
  tensor.mutable_data<float>()[position] = value;
  return tensor;
}

struct Case {
  const char* what;
  std::function<void(Contents&)> damage;
  std::vector<std::string> parts;  // of the message, besides the file's name
};

const std::vector<Case>& cases() {
  using C = Contents;
  const auto set = [](const char* name, const Tensor& tensor) {
    return [=](C& c) { c.tensors[name] = tensor; };
  };
  const auto drop = [](const char* name) { return [=](C& c) { c.tensors.erase(name); }; };
  const auto ints = C::ints;
  static const std::vector<Case> list{
      {"other format",
       [](C& c) { c.texts["format"] = "something"; },
       {"format", "something", "adjoint.graph"}},
      {"no format", [](C& c) { c.texts.erase("format"); }, {"format", "missing"}},
      {"no nodes", [](C& c) { c.numbers["num_nodes"] = 0; }, {"num_nodes", "0"}},
      {"another task", [](C& c) { c.texts["task"] = "none"; }, {"task", "none", "node_class"}},
      {"no features", drop("nodes/x"), {"nodes/x", "missing"}},
      {"features without columns", set("nodes/x", Tensor::zeros({6, 0})), {"nodes/x", "no columns"}},
      {"no labels", drop("nodes/y"), {"nodes/y", "missing"}},
      {"no split",
       [](C& c) { std::erase_if(c.tensors, [](auto& t) { return t.first.starts_with("splits"); }); },
       {"splits", "missing", "splits/train"}},
      {"src and dst of different lengths", set("edges/dst", ints({1, 0})), {"edges/dst", "2", "6"}},
      {"index too large", set("edges/dst", ints({1, 0, 3, 2, 6, 4})), {"edges/dst", "6", "4", "0 to 5"}},
      {"NaN feature", set("nodes/x", with(Tensor::full({6, 2}, 1.0), 7, NAN)), {"nodes/x", "nan"}},
      {"label out of range", set("nodes/y", ints({0, 1, 0, 2, 0, 1})), {"nodes/y", "2", "-1 to 1"}},
      {"no label in a split", set("nodes/y", ints({0, -1, 0, 1, 0, 1})), {"splits/train", "1", "no label"}},
      {"shared split index", set("splits/val", ints({2, 1})), {"splits/val", "1", "train"}},
  };
  return list;
}

/// Runs with existing outputs, which must be unchanged, without other files in the folder.
bool leaves_outputs_alone(const std::string& data, const TemporaryDirectory& folder,
                          const std::vector<std::string>& parts) {
  const std::string metrics = folder.file("out.csv"), predicted = folder.file("out.h5"),
                    checkpoint = folder.file("checkpoint.h5"), plot = folder.file("out.svg");
  const std::vector<std::string> outputs{metrics, predicted, checkpoint, plot};
  for (const std::string& output : outputs) std::ofstream(output) << "kept " << output;
  std::vector<std::string> all = parts,
                           words{"--data",   data, "--metrics",    metrics,    "--predict", predicted,
                                 "--epochs", "2",  "--checkpoint", checkpoint, "--plot",    plot};
  all.push_back(data);
  bool good = fails_with(run("train_gcn", words), 1, all);
  for (const std::string& output : outputs) good = good && contents_of(output) == "kept " + output;
  const std::filesystem::directory_iterator entries(std::filesystem::path(metrics).parent_path());
  return good && std::distance(begin(entries), end(entries)) <= 5;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "the files that the bad ones are made from train") {
  const std::string path = folder.file("good.h5");
  Contents contents;
  contents.write(path);
  succeeds("train_gcn", {"--data", path, "--epochs", "2"});
  contents.tensors["edges/src"] = contents.tensors["edges/dst"] = Contents::ints({});
  contents.write(path);
  succeeds("train_gcn", {"--data", path, "--epochs", "2"});
}

TEST_CASE("bad datasets are refused by file and place, and outputs stay") {
  for (const Case& c : cases()) {
    CAPTURE(std::string(c.what));
    const TemporaryDirectory folder;
    const std::string path = folder.file("bad.h5");
    Contents contents;
    c.damage(contents);
    contents.write(path);
    CHECK(leaves_outputs_alone(path, folder, c.parts));
  }
}

TEST_CASE_FIXTURE(InFolder, "files that are no dataset are refused by name") {
  const std::string good = folder.file("good.h5"), bad = folder.file("bad.h5");
  Contents().write(good);
  const std::string bytes = contents_of(good);
  std::filesystem::remove(good);
  CHECK(leaves_outputs_alone(bad, folder, {"No such file"}));
  std::ofstream(bad) << "";
  CHECK(leaves_outputs_alone(bad, folder, {"HDF5"}));
  std::ofstream(bad) << "src,dst\n0,1\n";
  CHECK(leaves_outputs_alone(bad, folder, {"HDF5"}));
  for (size_t keep : {size_t{100}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
    CAPTURE(keep);
    std::ofstream(bad, std::ios::binary) << bytes.substr(0, keep);
    CHECK(leaves_outputs_alone(bad, folder, {}));
  }
  std::filesystem::remove(bad);
  std::filesystem::create_directory(bad);
  CHECK(leaves_outputs_alone(bad, folder, {"not a file"}));
}

TEST_CASE_FIXTURE(InFolder, "outputs that cannot be written are refused before training") {
  const std::string data = folder.file("small.h5"), out = folder.file("out.csv");
  write_small_dataset(data);
  const std::string before = contents_of(data);
  const auto train = [&](std::vector<std::string> more) {
    return run("train_gcn", joined({"--data", data, "--epochs", "2"}, more));
  };
  for (const char* option : {"metrics", "predict", "plot", "checkpoint"}) {
    CAPTURE(std::string(option));
    const std::string suffix = option == std::string("plot") ? ".svg" : ".csv";
    const std::string flag = std::string("--") + option, nowhere = folder.file("no/folder" + suffix);
    CHECK(fails_with(train({flag, nowhere}), 1, {nowhere, flag, "No such file"}));
    const std::string directory = folder.file("directory" + suffix);
    std::filesystem::create_directory(directory);
    CHECK(fails_with(train({flag, directory}), 1, {directory, flag, "a folder"}));
    std::filesystem::remove(directory);
    if (suffix == ".csv") {
      std::filesystem::create_symlink("/dev/null", directory);
      CHECK(fails_with(train({flag, directory}), 1, {directory, flag, "not a regular file"}));
      std::filesystem::remove(directory);
    }
  }
  CHECK(fails_with(train({"--predict", data}), 2, {"--predict", data}));
  CHECK(fails_with(train({"--checkpoint", folder.file("./small.h5")}), 2, {"--checkpoint"}));
  CHECK(contents_of(data) == before);
  CHECK(fails_with(train({"--metrics", out, "--predict", out}), 2, {"--predict", out}));
  CHECK_FALSE(std::filesystem::exists(out));
  if (geteuid() != 0) {
    std::filesystem::create_directory(folder.file("locked"));
    std::filesystem::permissions(folder.file("locked"), std::filesystem::perms::owner_read);
    CHECK(fails_with(train({"--metrics", folder.file("locked/out.csv")}), 1, {"locked", "ermission"}));
    std::filesystem::permissions(folder.file("locked"), std::filesystem::perms::owner_all);
  } else {
    MESSAGE("skipped: a folder without permission (root may write everywhere)");
  }
}

TEST_CASE_FIXTURE(InFolder, "a diverging training is an error of one line, and writes nothing") {
  const std::string data = folder.file("small.h5"), metrics = folder.file("out.csv");
  write_small_dataset(data);
  CHECK(fails_with(run("train_gcn", {"--quiet", "--data", data, "--metrics", metrics, "--lr", "1e30"}), 1,
                   {"epoch", "loss", "--lr"}));
  CHECK_FALSE(std::filesystem::exists(metrics));
}
