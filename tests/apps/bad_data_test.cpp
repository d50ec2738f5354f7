#include "../data/schema.h"
#include "process.h"
#include "small_dataset.h"

using namespace adj;
using namespace adj::test;

namespace {

struct Case {
  const char* what;
  SchemaChange damage;
  Words parts;  // of the message, besides the file's name
};

using Ints = std::vector<int32_t>;

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      {"other format", attribute("format", "something"), {"format", "something", "adjoint.graph"}},
      {"no format", gone({"format"}), {"format", "missing"}},
      {"no nodes", attribute("num_nodes", 0), {"num_nodes", "0"}},
      {"another task", attribute("task", "none"), {"task", "none", "node_class"}},
      {"no features", gone({"nodes/x"}), {"nodes/x", "missing"}},
      {"features without columns", put("nodes/x", Tensor::zeros({6, 0})), {"nodes/x", "no columns"}},
      {"no labels", gone({"nodes/y"}), {"nodes/y", "missing"}},
      {"no split",
       [](SchemaFile& f) {
         std::erase_if(f.datasets, [](auto& t) { return t.first.starts_with("splits"); });
       },
       {"splits", "missing", "--split 60,20,20"}},
      {"src and dst of different lengths",
       put("edges/dst", Tensor::from(Ints{1, 0})),
       {"edges/dst", "2", "8"}},
      {"index too large", poke("edges/dst", 6, 4), {"edges/dst", "6", "4", "0 to 5"}},
      {"NaN feature", poke("nodes/x", NAN, 7), {"nodes/x", "nan"}},
      {"label out of range", poke("nodes/y", 3, 3), {"nodes/y", "3", "-1 to 2"}},
      {"no label in a split", poke("nodes/y", -1, 1), {"splits/train", "1", "no label"}},
      {"shared split index", poke("splits/val", 1, 1), {"splits/val", "1", "train"}},
  };
  return list;
}

/// Runs with existing outputs, which must not change, and checks that the folder has no other files.
bool leaves_outputs_alone(const std::string& data, const TemporaryDirectory& folder,
                          const std::vector<std::string>& parts) {
  const std::string metrics = folder.file("out.csv"), predicted = folder.file("out.h5"),
                    checkpoint = folder.file("checkpoint.h5"), plot = folder.file("out.svg");
  const std::vector<std::string> outputs{metrics, predicted, checkpoint, plot};
  for (const std::string& output : outputs) std::ofstream(output) << "kept " << output;
  const Words words{"--data",   data, "--metrics",    metrics,    "--predict", predicted,
                    "--epochs", "2",  "--checkpoint", checkpoint, "--plot",    plot};
  bool good = fails_with(run("train_gcn", words), 1, joined(parts, {data}));
  for (const std::string& output : outputs) good = good && contents_of(output) == "kept " + output;
  const std::filesystem::directory_iterator entries(std::filesystem::path(metrics).parent_path());
  return good && std::distance(begin(entries), end(entries)) <= 5;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "the valid files behind the bad ones train") {
  const std::string path = folder.file("good.h5");
  SchemaFile contents = small_file();
  contents.write(path);
  succeeds("train_gcn", {"--data", path, "--epochs", "2"});
  contents.datasets["edges/src"] = contents.datasets["edges/dst"] = Tensor::from(Ints{});
  gone({"edges/weight", "edges/attr"})(contents);
  contents.write(path);
  succeeds("train_gcn", {"--data", path, "--epochs", "2"});
}

TEST_CASE("errors of bad datasets name file and place, and outputs are kept") {
  for (const Case& c : cases()) {
    CAPTURE(std::string(c.what));
    const TemporaryDirectory folder;
    const std::string path = folder.file("bad.h5");
    SchemaFile contents = small_file();
    c.damage(contents);
    contents.write(path);
    CHECK(leaves_outputs_alone(path, folder, c.parts));
  }
}

TEST_CASE_FIXTURE(InFolder, "files that are not datasets are refused by name") {
  const std::string good = folder.file("good.h5"), bad = folder.file("bad.h5");
  small_file().write(good);
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
  const auto train = program("train_gcn", {"--data", data, "--epochs", "2"});
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
