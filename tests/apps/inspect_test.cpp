#include "../data/schema.h"
#include "process.h"
#include "small_dataset.h"

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using F = std::vector<float>;
using Bins = std::vector<std::pair<int64_t, int64_t>>;  // least degree, nodes

/// The lines of a histogram as (least degree, nodes), from the line that begins with `name`.
Bins histogram(const std::string& out, const std::string& name) {
  Bins bins;
  bool in_section = false;
  for (const std::string& line : lines_of(out)) {
    if (line.starts_with(name + " (")) {
      in_section = true;
    } else if (in_section && line.starts_with(' ')) {
      std::istringstream words(line);
      std::string range;
      int64_t nodes = 0;
      words >> range >> nodes;
      bins.emplace_back(std::stoll(range), nodes);
      CHECK(line.size() <= 80);
    } else {
      in_section = false;
    }
  }
  return bins;
}

int64_t sum_of(const Bins& bins) {
  int64_t sum = 0;
  for (const auto& [degree, nodes] : bins) sum += nodes;
  return sum;
}

Outcome inspect(const SchemaFile& file, const TemporaryDirectory& folder) {
  file.write(folder.file("file.h5"));
  return run("inspect", {folder.file("file.h5")});
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "inspect prints the contents of a valid file, and that it is valid") {
  const Outcome outcome = succeeds(inspect(small_file(), folder));
  CHECK(outcome.err.empty());
  CHECK(mentions(outcome.out,
                 {"name         small", "task         node_class", "nodes        6, 0 isolated",
                  "edges        8 directed, 1 self-loops, 0 parallel",
                  "not symmetric (the file says directed)", "in-degree    1 to 3, mean 1.33",
                  "out-degree   1 to 2, mean 1.33", "weights      1 to 8", "attributes   2 columns per edge",
                  "features     3 dense, 100 % not zero", "labels       6 of 6, 0 unlabelled",
                  "classes      3, 0: 2, 1: 2, 2: 2", "splits       2 train, 2 val, 2 test", "no errors"}));
  CHECK(histogram(outcome.out, "in-degrees") == Bins{{1, 5}, {2, 1}});
  CHECK(histogram(outcome.out, "out-degrees") == Bins{{1, 4}, {2, 2}});
}

TEST_CASE_FIXTURE(InFolder, "a degree histogram counts every node, including a hub and its leaves") {
  const std::string path = folder.file("star.h5");
  succeeds("generate", {"star", path, "--leaves", "4999", "--no-features"});
  Outcome outcome = succeeds("inspect", {path});
  const auto in = histogram(outcome.out, "in-degrees"), out = histogram(outcome.out, "out-degrees");
  CHECK(sum_of(in) == 5000);
  CHECK(sum_of(out) == 5000);
  CHECK(in.front() == std::pair<int64_t, int64_t>{0, 4999});
  CHECK(in.back() == std::pair<int64_t, int64_t>{4096, 1});
  CHECK(mentions(outcome.out, {"4096-8191          1   0.020 % ###"}));

  succeeds("generate", {"planted", path, "--nodes", "3000", "--degree", "9"});
  outcome = run("inspect", {path});
  CHECK(mentions(outcome.out, {"symmetric (the file says undirected)"}));
  CHECK(sum_of(histogram(outcome.out, "degrees")) == 3000);
  CHECK(outcome.out.find("note:") == std::string::npos);
}

TEST_CASE_FIXTURE(InFolder, "inspect --tiles prints the reuse of row windows and how full tiles are") {
  const std::string path = folder.file("file.h5");
  small_file().write(path);
  const std::string out = run("inspect", {path, "--tiles"}).out;
  CHECK(mentions(out, {"8                    6        1.33    50.00     0.00     0.00     0.00\n",
                       "64x64                1        8.00     0.00     0.00     0.00     0.00\n"}));
  CHECK(run("inspect", {path}).out.find("64x64") == std::string::npos);

  SchemaFile empty = small_file();
  empty.datasets = {{"edges/src", Tensor::from(I{})}, {"edges/dst", Tensor::from(I{})}};
  empty.attributes["task"] = "none";
  empty.write(path);
  CHECK(mentions(run("inspect", {path, "--tiles"}).out,
                 {"128x128              0        0.00     0.00     0.00     0.00     0.00\n"}));
}

TEST_CASE_FIXTURE(InFolder, "inspect prints all problems of a file, one per line, and fails") {
  SchemaFile f = small_file();
  f.datasets["edges/src"] = Tensor::from(I{5, 4, 3, 2, 1, 6, 0, -1});
  f.datasets["nodes/x"] = Tensor::from(F{1, 2, std::numeric_limits<float>::quiet_NaN()}, {1, 3});
  f.datasets["nodes/y"] = Tensor::from(I{0, 9, 2, 0, 1, 2});
  f.datasets["splits/val"] = Tensor::from(I{2, 0});
  f.datasets.erase("splits/1/val");
  const Outcome outcome = inspect(f, folder);
  const std::string path = folder.file("file.h5");
  CHECK(outcome.status == 1);
  CHECK(outcome.err == "inspect: " + path + ": 7 errors\n");
  std::vector<std::string> found;
  for (const std::string& line : lines_of(outcome.out))
    if (line.starts_with(path + ": ")) found.push_back(line.substr(path.size() + 2));
  CHECK(found == std::vector<std::string>{
                     "nodes/x: shape [1, 3], expected 6 rows",
                     "edges/src: 6 at position 5, expected 0 to 5",
                     "edges/src: -1 at position 7, expected 0 to 5",
                     "nodes/x: nan at row 0, column 2, expected finite numbers",
                     "nodes/y: 9 at position 1, expected -1 to 2",
                     "splits/val: index 0 at position 1 is already in train, expected once in a split",
                     "splits/1/val: missing",
                 });
  CHECK(outcome.out.find("no errors") == std::string::npos);
}

TEST_CASE_FIXTURE(InFolder, "a file that HDF5 cannot read gives a one-line error") {
  const std::string path = folder.file("file.h5");
  small_file().write(path);
  std::filesystem::resize_file(path, 900);
  for (const Words& words : {Words{path}, Words{path, "--json"}}) {
    const Outcome outcome = run("inspect", words);
    CHECK(outcome.status == 1);
    CHECK(mentions(outcome.out, {path + ": truncated: 900 bytes"}));
    CHECK(outcome.err == "inspect: " + path + ": 1 error\n");
  }
  CHECK(run("inspect", {folder.file("none.h5")}).status == 1);
  std::ofstream(path) << "text";
  CHECK(mentions(run("inspect", {path}).out, {path + ": not an HDF5 file"}));
}

TEST_CASE_FIXTURE(InFolder, "valid but suspicious contents are noted") {
  SchemaFile f = small_file();
  f.attributes["undirected"] = int64_t{1};
  f.attributes["num_classes"] = int64_t{9};
  f.datasets["edges/src"] = Tensor::from(I{5, 5, 3, 2, 1, 0, 0, 1});
  f.datasets["edges/dst"] = Tensor::from(I{0, 0, 2, 3, 4, 5, 0, 0});
  f.datasets["edges/weight"] = Tensor::from(F{1, -2, 3, 0, 5, 6, 7, 8});
  f.datasets["edges/wieght"] = Tensor::zeros({8});
  f.datasets["nodes/x"] = Tensor::from(F{1, 0, 1e6, 1, 0, 1, 0, 0, 0, 2, 0, 1, 3, 0, 1, 1, 0, 1}, {6, 3});
  const std::string path = folder.file("file.h5") + ": ";
  Outcome outcome = inspect(f, folder);
  CHECK(outcome.status == 0);
  CHECK(mentions(
      outcome.out,
      {"note: " + path + "attribute undirected: 1, but some edges exist in one direction only",
       "note: " + path + "edges: 1 parallel edges", "edges/weight: 1 are negative", "edges/weight: 1 are 0",
       "nodes/x: 1 of 6 rows are all zero", "nodes/x: 1 of 3 columns are the same for every node",
       "attribute num_classes: 9, but no label is of class 3, 4, 5 and 3 more",
       "splits/train: no example of class 2", "splits/val: no example of class 1",
       "splits/test: no example of class 0", "splits: 3 more parts lack a class",
       "edges/wieght: not part of the schema, ignored", "no errors"}));

  SchemaFile bare = small_file();
  bare.attributes["num_nodes"] = int64_t{100};
  bare.attributes["task"] = "none";
  bare.datasets = {{"edges/src", Tensor::from(I{0, 1})}, {"edges/dst", Tensor::from(I{1, 0})}};
  outcome = inspect(bare, folder);
  CHECK(outcome.status == 0);
  CHECK(mentions(outcome.out,
                 {"attribute num_nodes: 100, but the last node with an edge is 1",
                  "attribute undirected: 0 or missing, but every edge exists in both directions"}));
}

TEST_CASE_FIXTURE(InFolder, "inspect summarises many graphs, multilabel and regression") {
  const std::string path = folder.file("file.h5");
  save_dataset(small_multilabel_dataset(), path);
  CHECK(mentions(run("inspect", {path}).out,
                 {"task         node_multilabel", "with 1       of 3 columns, 0: "}));
  save_dataset(small_regression_dataset(), path);
  CHECK(mentions(run("inspect", {path}).out,
                 {"task         node_regression", "targets      1000 to 1010 in column 0 of 3",
                  "nodes/y: the same for every row in column 2"}));
  SchemaFile f = small_file();
  f.datasets["edges/dst"] = Tensor::from(I{5, 4, 3, 2, 1, 0, 0, 1});
  f.attributes["task"] = "graph_class";
  f.datasets["graphs/offsets"] = Tensor::from(std::vector<int64_t>{0, 2, 2, 6});
  f.datasets["graphs/y"] = Tensor::from(I{1, 0, 2});
  set_split(f, {0}, {1}, {2});
  const Outcome outcome = inspect(f, folder);
  CHECK(mentions(outcome.out,
                 {"graphs       3, of 0 to 4 nodes each", "graphs/offsets: 1 graphs without a node"}));
}

TEST_CASE_FIXTURE(InFolder, "inspect draws the degree distribution") {
  const std::string path = folder.file("file.h5"), plot = folder.file("degrees.svg");
  small_file().write(path);
  succeeds("inspect", {path, "--plot", plot});
  CHECK(mentions(contents_of(plot), {"<svg", "in-degree", "out-degree", "share of the nodes", "</svg>"}));
}

TEST_CASE_FIXTURE(InFolder, "inspect refuses unknown arguments") {
  const std::string path = folder.file("file.h5");
  small_file().write(path);
  const std::string before = contents_of(path);
  check_refused(program("inspect"), {{{}, {"inspect FILE.h5"}},
                                     {{path, path}, {"--help"}},
                                     {{path, "--threads", "-1"}, {"--threads"}},
                                     {{path, "--plot", "d.png"}, {"--plot", "FILE.svg", "d.png"}},
                                     {{path, "--plot", path}, {"--plot", path}}});
  CHECK(contents_of(path) == before);
  CHECK(mentions(run("inspect", {"--help"}).out, {"--plot", "--tiles", "--json"}));
}
