#include "dataset_parts.h"
#include "schema.h"

using namespace adj;
using namespace adj::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The problems of a file, without its name; checks that each is one line, and that the error of
/// load_dataset() is among them.
Names problems_of(const std::string& path) {
  const Names lines = check_dataset(path).problems;
  const std::string thrown = error_of<DataError>([&] { (void)load_dataset(path); });
  CHECK(thrown.empty() == lines.empty());
  if (!thrown.empty()) CHECK(std::count(lines.begin(), lines.end(), thrown) == 1);
  Names problems;
  for (const std::string& line : lines) {
    CHECK(line.starts_with(path + ": "));
    CHECK(line.find('\n') == std::string::npos);
    problems.push_back(line.substr(path.size() + 2));
  }
  return problems;
}

Names problems_of(const SchemaFile& file, int gzip = 0) {
  const TemporaryDirectory folder;
  file.write(folder.file("bad.h5"), gzip);
  return problems_of(folder.file("bad.h5"));
}

void check_problems(const Names& expected, const SchemaFile& file, int gzip = 0) {
  CHECK(problems_of(file, gzip) == expected);
}

/// Two graphs of three nodes each.
SchemaFile graphs_file() {
  SchemaFile f = small_file();
  f.attributes["task"] = "graph_class";
  f.datasets["edges/src"] = Tensor::from(I{0, 1, 2, 3, 4, 5, 0, 1});
  f.datasets["graphs/offsets"] = Tensor::from(L{0, 3, 4, 6});
  f.datasets["graphs/y"] = Tensor::from(I{0, 1, 2});
  f.datasets["edges/dst"] = Tensor::from(I{1, 0, 0, 3, 5, 4, 0, 0});
  set_split(f, {0}, {1}, {2});
  return f;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "a valid file has no problems, and gives the dataset of loading") {
  for (bool sparse : {false, true}) {
    small_file(sparse).write(folder.file("small.h5"));
    const CheckedDataset checked = check_dataset(folder.file("small.h5"));
    CHECK(checked.problems.empty());
    CHECK(fingerprint(checked.data) == fingerprint(load_dataset(folder.file("small.h5"))));
  }
  CHECK(problems_of(graphs_file()).empty());
}

TEST_CASE("all problems of a file are found, each in its place") {
  SchemaFile f = small_file();
  f.attributes["format"] = "other";
  f.attributes["version"] = int64_t{7};
  f.attributes["name"] = int64_t{3};
  f.datasets["edges/src"] = Tensor::from(I{5, 4, 3, 2, 1, 6, 0, -1});
  f.datasets["edges/dst"] = Tensor::from(L{0, int64_t{1} << 40, 2, 3, 4, 5, 0, 0});
  f.datasets["edges/weight"] = Tensor::from(F{1, 2, kNan, 4, 5, 6, 7, 8});
  f.datasets["edges/attr"] = Tensor::zeros({8});
  f.datasets["nodes/x"] = Tensor::from(F{1, kNan, 3, 4}, {2, 2});
  f.datasets["nodes/y"] = Tensor::from(I{0, 9, 2, -1, 1, 2});
  f.datasets["splits/train"] = Tensor::from(I{0, 1, 0});
  f.datasets["splits/val"] = Tensor::from(I{6, 3, 1});
  f.datasets.erase("splits/1/val");
  check_problems(
      {
          "attribute format: \"other\", expected \"adjoint.graph\"",
          "attribute version: 7, expected 1 or 2: written for a newer Adjoint",
          "attribute name: not a string",
          "nodes/x: shape [2, 2], expected 6 rows",
          "edges/src: 6 at position 5, expected 0 to 5",
          "edges/src: -1 at position 7, expected 0 to 5",
          "edges/dst: 1099511627776 at position 1, expected 0 to 5",
          "edges/weight: nan at position 2, expected finite numbers",
          "edges/attr: shape [8], expected [8, *] floating numbers",
          "nodes/x: nan at row 0, column 1, expected finite numbers",
          "nodes/y: 9 at position 1, expected -1 to 2",
          "splits/train: index 0 at position 2 is already in train, expected once in a split",
          "splits/val: 6 at position 0, expected 0 to 5",
          "splits/val: index 1 at position 2 is already in train, expected once in a split",
          "splits/val: index 3 at position 1 has no label",
          "splits/1/val: missing",
          "splits/1/test: index 3 at position 0 has no label",
      },
      f);
}

TEST_CASE("all faults of sparse features and of graphs are found") {
  SchemaFile f = small_file(true);
  f.attributes["nodes@x_cols"] = int64_t{2};
  f.datasets["nodes/x_indptr"] = Tensor::from(L{1, 0, 2, 3, 2, 5, 9});
  f.datasets["nodes/x_data"] = Tensor::from(F{20, kNan, 2, 3, 4, 5});
  check_problems(
      {
          "nodes/x_indices: 2 at position 0, expected 0 to 1",
          "nodes/x_indices: 2 at position 4, expected 0 to 1",
          "nodes/x_indptr: starts with 1, expected 0",
          "nodes/x_indptr: falls from 1 to 0 at position 1, expected ascending numbers",
          "nodes/x_indptr: falls from 3 to 2 at position 4, expected ascending numbers",
          "nodes/x_indptr: ends with 9, expected 6, the length of nodes/x_indices",
          "nodes/x_data: nan at position 1, expected finite numbers",
      },
      f);
  f = graphs_file();
  f.datasets["edges/dst"] = Tensor::from(I{1, 0, 3, 3, 5, 4, 0, 8});
  f.datasets["graphs/y"] = Tensor::from(I{0, 5, 2});
  f.datasets["splits/test"] = Tensor::from(I{3});
  check_problems(
      {
          "edges/dst: 8 at position 7, expected 0 to 5",
          "edges/dst: an edge from node 2 of graph 0 to node 3 of graph 1 at position 2, expected edges "
          "within graphs",
          "graphs/y: 5 at position 1, expected -1 to 2",
          "splits/test: 3 at position 0, expected 0 to 2",
      },
      f);
}

TEST_CASE("the first three of many wrong values and their number are listed") {
  for (int gzip : {0, 4}) {
    SchemaFile f = small_file();
    constexpr int64_t kEdges = 600'000;  // several blocks
    Tensor src = Tensor::zeros({kEdges}, DType::i32);
    for (int64_t e = 1000; e < kEdges; e += 2) src.mutable_data<int32_t>()[e] = 77;
    f.datasets["edges/src"] = src;
    f.datasets["edges/dst"] = Tensor::zeros({kEdges}, DType::i64);
    f.datasets.erase("edges/weight");
    f.datasets.erase("edges/attr");
    check_problems(
        {
            "edges/src: 77 at position 1000, expected 0 to 5",
            "edges/src: 77 at position 1002, expected 0 to 5",
            "edges/src: 77 at position 1004, expected 0 to 5",
            "edges/src: 299497 more such values, 299500 in all",
        },
        f, gzip);
  }
}

TEST_CASE("the problems found do not depend on the number of threads") {
  SchemaFile f = small_file();
  Tensor src = Tensor::zeros({400'000}, DType::i32), dst = src.clone();
  for (int64_t e = 0; e < src.numel(); e += 7) src.mutable_data<int32_t>()[e] = static_cast<int32_t>(10 + e);
  f.datasets["edges/src"] = src;
  f.datasets["edges/dst"] = dst;
  f.datasets.erase("edges/weight");
  f.datasets.erase("edges/attr");
  const TemporaryDirectory folder;
  f.write(folder.file("bad.h5"));
  const auto with = [&](int threads) {
    const Threads scope(threads);
    return problems_of(folder.file("bad.h5"));
  };
  CHECK(with(8) == with(1));
}

TEST_CASE("parts are checked separately if the number of nodes is unknown") {
  SchemaFile f = small_file();
  f.attributes.erase("num_nodes");
  f.datasets["edges/src"] = Tensor::from(I{5, 4, 3, 2, 1, -6, 0, 0});
  f.datasets["nodes/x"] = Tensor::from(F{1, kNan}, {1, 2});
  check_problems(
      {
          "attribute num_nodes: missing, expected an integer",
          "edges/src: -6 at position 5, expected 0 to 2147483646",
          "nodes/x: nan at row 0, column 1, expected finite numbers",
      },
      f);
  // A huge count claimed by a few bytes: nothing of that size is allocated.
  f = small_file();
  f.attributes["num_nodes"] = int64_t{2'000'000'000};
  for (const char* path : {"nodes/x", "nodes/y"}) f.datasets.erase(path);
  f.datasets["splits/test"] = Tensor::from(I{-1});
  check_problems(
      {
          "attribute num_nodes: 2000000000, but nothing in the file has that many nodes",
          "nodes/y: missing, expected for task node_class",
          "splits/test: -1 at position 0, expected 0 to 2147483646",
      },
      f);
}

TEST_CASE("the number of problems is bounded") {
  SchemaFile f = small_file();
  f.datasets["splits/999999/train"] = Tensor::from(I{0});
  Names problems = problems_of(f);
  CHECK(problems.size() == 3 * 3 + 2 + 1);
  CHECK(problems.back() ==
        "splits: 999997 of the split numbers below 1000000 are missing, expected consecutive numbers");
  f = small_file();
  for (int k = 2; k < 400; ++k)
    for (const char* part : {"train", "val", "test"})
      f.datasets[fmt::format("splits/{}/{}", k, part)] = Tensor::from(I{6, 7, 8, 9, 10});
  problems = problems_of(f);
  CHECK(problems.size() == 1001);
  CHECK(problems.back() == fmt::format("{} more problems, expected none", 398 * 3 * 4 - 1000));
}

TEST_CASE_FIXTURE(InFolder, "the valid parts of a file with problems are loaded") {
  SchemaFile f = small_file();
  f.datasets["nodes/y"] = Tensor::from(I{0, 9, 2, -1, 1, 2});
  f.write(folder.file("bad.h5"));
  const Dataset data = check_dataset(folder.file("bad.h5")).data;
  CHECK(data.name == "small");
  CHECK(data.graph.num_edges() == 8);
  CHECK(data.num_features() == 3);
  CHECK(!data.y);
  CHECK(data.splits.empty());
  CHECK(data.train.numel() == 0);
}

TEST_CASE_FIXTURE(InFolder, "a damaged or missing file is one problem") {
  const std::string path = folder.file("bad.h5");
  CHECK(problems_of(path) == Names{"No such file or directory"});
  std::ofstream(path) << "text";
  CHECK(problems_of(path) == Names{"not an HDF5 file"});
  small_file().write(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Names problems = problems_of(path);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("truncated: "));
}
