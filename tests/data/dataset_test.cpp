#include "dataset_parts.h"
#include "limited_memory.h"
#include "schema.h"

using namespace adj;
using namespace adj::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("the number of classes is the file's, else the columns of the task's labels") {
  Dataset data;
  CHECK(data.num_classes() == 0);
  data.y = Tensor::zeros({4, 5});
  CHECK(data.num_classes() == 5);
  data.graph_y = Tensor::zeros({2, 3});
  CHECK(data.num_classes() == 3);
  data.graph_y = Tensor::zeros({2}, DType::i32);
  CHECK(data.num_classes() == 1);
  data.classes = 7;
  CHECK(data.num_classes() == 7);
}

TEST_CASE("a dataset made in memory is checked like a file") {
  const auto make = [](const std::function<void(Dataset&)>& change) {
    Dataset data;
    data.name = "made";
    data.task = Task::node_class;
    data.classes = 2;
    data.graph = Graph::from_coo(4, Tensor::from(I{0, 1}), Tensor::from(I{1, 2}));
    data.x = Features(Tensor::zeros({4, 2}));
    data.y = Tensor::from(I{0, 1, -1, 1});
    data.splits = {{Tensor::from(I{0}), Tensor::from(I{1}), Tensor::from(I{3})}};
    change(data);
    return complete_dataset(std::move(data));
  };
  const Dataset data = make([](Dataset&) {});
  CHECK(data.unlabelled == 1);
  CHECK(test_of(data) == I{3});
  CHECK(make([](Dataset& d) { d.splits.clear(); }).train.numel() == 0);
  const auto refused = [&](const std::function<void(Dataset&)>& change) {
    return error_of<DataError>([&] { make(change); });
  };
  CHECK(refused([](Dataset& d) { d.splits[0].val = Tensor::from(I{2}); }) ==
        "made: splits/val: index 2 has no label");
  CHECK(refused([](Dataset& d) { d.classes = 1; }) == "made: nodes/y: 1 at position 1, expected -1 to 0");
  CHECK(refused([](Dataset& d) {
          d.x = Features(Tensor::from(F{0, 1, 2, kInf}, {4, 1}));
        }) == "made: nodes/x: inf at row 3, column 0, expected finite numbers");
}

TEST_CASE("the contents of a small file") {
  for (int gzip : {0, 9}) {
    const Dataset d = load(small_file(), gzip);
    CHECK(d.name == "small");
    CHECK(d.task == Task::node_class);
    CHECK(!d.undirected);
    CHECK(d.num_nodes() == 6);
    CHECK(d.num_classes() == 3);
    CHECK(d.num_features() == 3);
    CHECK(offsets(d) == L{0, 3, 4, 5, 6, 7, 8});
    CHECK(sources(d) == I{0, 1, 5, 4, 3, 2, 1, 0});
    CHECK(weights(d) == F{7, 8, 1, 2, 3, 4, 5, 6});
    CHECK(attributes(d) == F{7, -7, 8, -8, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6});
    CHECK(d.x.dense().to_vector<float>()[17] == 18.0f);
    CHECK(classes(d) == I{0, 1, 2, 0, 1, 2});
    REQUIRE(d.splits.size() == 2);
    CHECK(train_of(d) == I{0, 1});
    CHECK(d.splits[1].test.to_vector<int32_t>() == I{3, 2});
  }
}

TEST_CASE("sparse features are read, their columns sorted") {
  const Dataset d = load(small_file(true));
  REQUIRE(d.x.is_sparse());
  CHECK(d.x.rows() == 6);
  CHECK(d.x.cols() == 3);
  CHECK(d.x.sparse().relation().csr().indices.to_vector<int32_t>() == I{0, 2, 1, 1, 2, 0});
  CHECK(d.x.sparse().values().to_vector<float>() == F{1, 20, 2, 3, 4, 5});
  CHECK(close(d.x.to_dense(), std::vector<double>{1, 0, 20, 0, 0, 0, 0, 2, 0, 0, 3, 0, 0, 0, 4, 5, 0, 0}));
  CHECK_THROWS_AS((void)d.x.dense(), Error);
}

TEST_CASE("a row of zeros stays zero when features are divided by row sums") {
  for (Device device : devices()) {
    const Tensor x = Tensor::from(std::vector<float>{1, 3, 0, 0, -1, 1, 5, 0}, {4, 2}, device);
    CHECK(close(Features(x).row_normalized().dense(), {0.25, 0.75, 0, 0, -1, 1, 1, 0}, 1e-6));
    const SparseMatrix sparse =
        SparseMatrix::from_csr(4, 2, {0, 2, 2, 4, 5}, {0, 1, 0, 1, 0}, {1, 3, 0, 0, 5}).to(device);
    CHECK(close(Features(sparse).row_normalized().to_dense(), {0.25, 0.75, 0, 0, 0, 0, 1, 0}, 1e-6));
  }
}

TEST_CASE("other tasks: multilabel, regression, many graphs, none") {
  SchemaFile f = small_file();
  f.attributes["task"] = "node_multilabel";
  f.attributes.erase("num_classes");
  f.datasets["nodes/y"] = Tensor::from(I{0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1}, {6, 2}).to(DType::u8);
  Dataset d = load(f);
  CHECK(d.num_classes() == 2);
  CHECK(d.y.dtype() == DType::f32);
  CHECK(d.y.to_vector<float>() == F{0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1});

  f.attributes["task"] = "node_regression";
  f.datasets["nodes/y"] = Tensor::from(F{0.5f, 1, 2, 3, 4, 5});
  d = load(f);
  CHECK(d.y.shape() == Shape{6, 1});
  CHECK(d.y.to_vector<float>()[0] == 0.5f);

  f.attributes["task"] = "graph_class";
  f.attributes["num_classes"] = int64_t{2};
  f.datasets["graphs/offsets"] = Tensor::from(L{0, 2, 2, 6});
  f.datasets["edges/src"] = Tensor::from(I{5, 4, 3, 2, 1, 0, 0, 1});
  f.datasets["edges/dst"] = Tensor::from(I{2, 3, 4, 5, 0, 1, 0, 0});
  f.datasets["graphs/y"] = Tensor::from(I{1, 0, 1});
  set_split(f, {2}, {0}, {1});
  d = load(f);
  CHECK(d.graph_offsets.to_vector<int64_t>() == L{0, 2, 2, 6});
  CHECK(d.graph_y.to_vector<int32_t>() == I{1, 0, 1});
  CHECK(d.num_classes() == 2);

  SchemaFile bare;
  bare.attributes["format"] = "adjoint.graph";
  bare.attributes["version"] = int64_t{1};
  bare.attributes["num_nodes"] = int64_t{3};
  bare.attributes["task"] = "none";
  bare.datasets["edges/src"] = Tensor::from(I{});
  bare.datasets["edges/dst"] = Tensor::from(I{});
  d = load(bare);
  CHECK(d.name == "small");  // of the file
  CHECK(d.num_nodes() == 3);
  CHECK(d.graph.num_edges() == 0);
  CHECK(d.splits.empty());
  CHECK(!d.x);
}

TEST_CASE("saving and loading a dataset keeps its bits") {
  for (bool sparse : {false, true})
    for (int gzip : {0, 4}) {
      const Dataset d = load(small_file(sparse));
      check_same(saved_and_loaded(d, gzip), d);
    }
}

TEST_CASE_FIXTURE(InFolder, "a name that is not UTF-8 is escaped: of a dataset, an attribute or a file") {
  SchemaFile file = small_file();
  file.attributes["name"] = "caf\xe9 \u00e9";
  CHECK(load(file).name == "caf\\xe9 \u00e9");
  file.attributes["name"] = "two\nlines";
  CHECK(load(file).name == "two\nlines");
  file.attributes.erase("name");
  const std::string latin = folder.file("th\xe9.h5"), saved = folder.file("saved.h5");
  file.write(latin);
  Dataset data = load_dataset(latin);
  CHECK(data.name == "th\\xe9");
  data.name = "caf\xe9";
  save_dataset(data, saved);
  CHECK(H5Reader::open(saved).text("", "name") == "caf\\xe9");
}

TEST_CASE("numbers of other types are converted") {
  SchemaFile f = small_file();
  const Dataset plain = load(f);
  f.datasets["nodes/x"] = f.datasets["nodes/x"].to(DType::f64);
  f.datasets["edges/weight"] = f.datasets["edges/weight"].to(DType::f64);
  for (const char* path : {"edges/src", "nodes/y", "splits/train"})
    f.datasets[path] = f.datasets[path].to(DType::i64);
  f.datasets["edges/dst"] = f.datasets["edges/dst"].to(DType::u8);
  f.datasets["splits/val"] = f.datasets["splits/val"].to(DType::u8);  // indices, not a mask
  check_same(load(f), plain);
  f = small_file(true);
  for (auto& [name, tensor] : f.datasets)
    if (tensor.dtype() == DType::i32) tensor = tensor.to(DType::i64);
  f.datasets["nodes/x_indptr"] = f.datasets["nodes/x_indptr"].to(DType::i32);
  check_same(load(f), load(small_file(true)));
}

TEST_CASE("nodes without a label are counted, and kept when written") {
  SchemaFile f = small_file();
  f.datasets["nodes/y"] = Tensor::from(I{-1, 1, 2, 0, -1, 2});
  set_split(f, {1}, {2, 3}, {5});
  Dataset d = load(f);
  CHECK(d.unlabelled == 2);
  CHECK(classes(d) == I{-1, 1, 2, 0, -1, 2});
  CHECK(saved_and_loaded(d).unlabelled == 2);

  f.attributes["task"] = "node_multilabel";
  f.datasets["nodes/y"] = Tensor::from(F{0, kNan, 1, 0, 1, 1, 0, 0, kNan, kNan, 1, 1}, {6, 2});
  f.datasets["splits/train"] = Tensor::from(I{1, 0});  // which has a label in one column
  d = load(f);
  CHECK(d.unlabelled == 1);
  CHECK(saved_and_loaded(d).unlabelled == 1);
  f.datasets["nodes/y"] = Tensor::from(F{0, kNan, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1}, {6, 2});
  d = load(f);
  CHECK(d.unlabelled == 0);
  CHECK(std::isnan(saved_and_loaded(d).y.data<float>()[1]));
  CHECK(load(small_file()).unlabelled == 0);
}

TEST_CASE_FIXTURE(InFolder, "save_dataset() refuses what load_dataset() would refuse") {
  const std::string path = folder.file("again.h5");
  const auto refused = [&](auto change) {
    Dataset d = load(small_file());
    change(d);
    const std::string error = error_of<DataError>([&] { save_dataset(d, path); });
    CHECK(std::filesystem::exists(path) == error.empty());
    if (!error.empty()) return error.substr(path.size() + 2);
    (void)load_dataset(path);
    std::filesystem::remove(path);
    return std::string("written");
  };
  const Tensor none = Tensor::empty({0}, DType::i32);
  const auto bare = [&](int64_t nodes) {
    Dataset d;
    d.graph = Graph::from_coo(nodes, Tensor::from(I{0}), Tensor::from(I{1}));
    d.train = d.val = d.test = none;
    return d;
  };
  CHECK(refused([](Dataset&) {}) == "written");
  CHECK(refused([&](Dataset& d) { d = bare(1'000'000); }) == "written");
  CHECK(refused([&](Dataset& d) { d = bare(1'000'001); }) ==
        "attribute num_nodes: 1000001, but nothing in the dataset has that many nodes");
  CHECK(refused([&](Dataset& d) {
          d = bare(1'000'001);
          d.x = Features(Tensor::empty({1'000'001, 0}));
        }) == "attribute num_nodes: 1000001, but nothing in the dataset has that many nodes");
  CHECK(refused([&](Dataset& d) {
          d.graph = Graph::from_coo(0, none, none);
        }).starts_with("attribute num_nodes: 0, expected 1 to "));
  CHECK(refused([](Dataset& d) { d.x = Features(Tensor::zeros({5, 3})); }) == "nodes/x: 5 rows, expected 6");
  CHECK(refused([](Dataset& d) { d.y = {}; }) == "nodes/y: missing, expected for task node_class");
  CHECK(refused([](Dataset& d) {
          d.y = Tensor::from(I{0, 1, 2, 3, 1, 2});
        }) == "nodes/y: 3 at position 3, expected -1 to 2");
  CHECK(refused([](Dataset& d) { d.classes = 10'001; }) ==
        "attribute num_classes: 10001, expected 10000 at most, as 3 have a label");
  CHECK(refused([&](Dataset& d) { d.splits[1].val = none; }) ==
        "splits/1/val: empty, expected at least one index");
  CHECK(refused([](Dataset& d) {
          d.splits[0].test = Tensor::from(I{4, 6});
        }) == "splits/test: index 6, expected 0 to 5");
  CHECK(refused([](Dataset& d) {
          d.splits[0].test = Tensor::from(I{0, 4});
        }) == "splits/test: index 0 occurs twice, expected once in a split");
  CHECK(refused([](Dataset& d) {
          d.y = Tensor::from(I{0, 1, 2, 0, 1, -1});
          d.unlabelled = 1;
        }) == "splits/test: index 5 has no label");

  CHECK(refused([](Dataset& d) { d.name = std::string("a\0b", 3); }) ==
        "attribute name: a NUL byte, expected a name without one");
  const std::string finite = ", expected finite numbers";
  CHECK(refused([](Dataset& d) {
          d.graph = d.graph.with_edge_weight(Tensor::from(F{1, 2, 3, kNan, 5, 6, 7, 8}));
        }) == "edges/weight: nan at position 3" + finite);
  CHECK(refused([](Dataset& d) {
          d.graph = d.graph.with_edge_attr("attr", Tensor::full({8, 2}, -kInf));
        }) == "edges/attr: -inf at row 0, column 0" + finite);
  CHECK(refused([](Dataset& d) {
          d.x = Features(Tensor::from(F{0, 1, 2, 3, kNan, 5}, {6, 1}));
        }) == "nodes/x: nan at row 4, column 0" + finite);
  CHECK(refused([](Dataset& d) {
          d.x = SparseMatrix::from_csr(6, 2, {0, 2, 2, 2, 2, 2, 3}, {0, 1, 1}, {1, kInf, 2});
        }) == "nodes/x_data: inf at position 1" + finite);
  CHECK(refused([](Dataset& d) {
          d.y = Tensor::from(I{0, 1, 2, 0, -2, 2});
        }) == "nodes/y: -2 at position 4, expected -1 to 2");
  CHECK(refused([](Dataset& d) {
          d.y = Tensor::from(I{0, 1, 2, 0, 1});
        }) == "nodes/y: [5] int32 on cpu, expected 6 rows");
  const auto with_targets = [](Task task, F y) {
    return [=](Dataset& d) {
      d.task = task;
      d.classes = 0;
      d.y = Tensor::from(y, {6, 1});
    };
  };
  CHECK(refused(with_targets(Task::node_regression, {0, 1, 2, 3, 4, 5})) == "written");
  CHECK(refused(with_targets(Task::node_regression, {0, 1, kInf, 3, 4, 5})) ==
        "nodes/y: inf at row 2, column 0, expected finite numbers, or nan for no label");
  CHECK(refused(with_targets(Task::node_multilabel, {0, 1, 1, 0, 1, 0.5f})) ==
        "nodes/y: 0.5 at row 5, column 0, expected 0, 1 or nan");
  CHECK(refused([](Dataset& d) {
          d.part = Tensor::from(I{0, 0, 1, -1, 1, 1});
        }) == "nodes/part: -1 at position 3, expected 0 to 5");
  CHECK(refused([](Dataset& d) {
          d.order = Tensor::from(I{0, 1, 2, 3, 1, 5});
        }) == "nodes/order: 1 at position 4, expected each node of a graph once");
  const auto with_graphs = [](std::vector<int64_t> offsets) {
    return [=](Dataset& d) {
      d.graph = Graph::from_coo(6, Tensor::from(I{0, 3, 5}), Tensor::from(I{1, 4, 4}));
      d.task = Task::none;
      d.graph_offsets = Tensor::from(offsets);
    };
  };
  CHECK(refused(with_graphs({0, 3, 6})) == "written");
  CHECK(refused(with_graphs({0, 4, 3, 6})) ==
        "graphs/offsets: 3 at position 2, expected ascending numbers from 0");
  CHECK(refused(with_graphs({-1, 3, 6})) ==
        "graphs/offsets: -1 at position 0, expected ascending numbers from 0");
  CHECK(refused(with_graphs({0, 3, 5})) == "graphs/offsets: ends with 5, expected 6");
  CHECK(refused(with_graphs({6})) == "graphs/offsets: [1] int64 on cpu, expected at least 2 int64 numbers");
  CHECK(refused(with_graphs({0, 4, 6})) ==
        "edges/dst: an edge from node 3 to node 4 of graph 1, expected edges within graphs");
}

TEST_CASE("a number of nodes is checked before there is a graph of them") {
  Dataset data;
  data.name = "few";
  const auto refused = [&](int64_t nodes) {
    return error_of<DataError>([&] { check_num_nodes(data, nodes, 10); });
  };
  CHECK(refused(1'000'000).empty());
  CHECK(refused(2'000'000'000) ==
        "few: attribute num_nodes: 2000000000, but nothing in the dataset has that many nodes");
  CHECK(refused(0).starts_with("few: attribute num_nodes: 0, expected 1 to "));
  data.y = Tensor::from(I{0, 1});
  CHECK(refused(2).empty());
  CHECK(refused(2'000'000'000) == "few: nodes/y: [2] int32 on cpu, expected 2000000000 rows");
}

TEST_CASE("without splits the selections are empty, which losses and metrics refuse") {
  SchemaFile f = small_file();
  std::erase_if(f.datasets, [](const auto& dataset) { return dataset.first.starts_with("splits/"); });
  const Dataset d = load(f);
  CHECK(d.splits.empty());
  for (const Tensor& selection : {d.train, d.val, d.test}) {
    REQUIRE(selection);
    CHECK(selection.numel() == 0);
  }
  const Tensor logits = Tensor::zeros({6, 3});
  CHECK_THROWS_AS((void)cross_entropy(Var(logits), d.y, d.train), Error);
  CHECK_THROWS_AS((void)nn::accuracy(logits, d.y, d.test), Error);
  CHECK(d.to(Device::cpu()).train.numel() == 0);
}

TEST_CASE("loading needs little more memory than the data") {
#if defined(__SANITIZE_ADDRESS__)
  MESSAGE("skipped: a sanitizer keeps memory of its own");
#else
  const TemporaryDirectory folder;
  constexpr int64_t kNodes = 250'000, kFeatures = 64;  // 64 MB
  SchemaFile f = small_file();
  f.attributes["num_nodes"] = kNodes;
  f.datasets["nodes/x"] = Tensor::full({kNodes, kFeatures}, 0.5);
  f.datasets["nodes/y"] = Tensor::zeros({kNodes}, DType::i32);
  f.write(folder.file("large.h5"));
  f.datasets.clear();
  const auto megabytes = [](const char* what) {
    std::ifstream status("/proc/self/status");
    std::string word;
    for (double kilobytes = 0.0; status >> word;)
      if (word == what && status >> kilobytes) return kilobytes / 1024.0;
    return 0.0;
  };
  // In a child, whose peak memory is new.
  CHECK(error_in_child([&] {
          empty_cache(Device::cpu());
          std::ofstream("/proc/self/clear_refs") << 5;
          const double before = megabytes("VmRSS:");
          const Dataset d = load_dataset(folder.file("large.h5"));
          const double taken = megabytes("VmHWM:") - before, held = kNodes * (kFeatures + 1) * 4 / 0x1p20;
          ADJ_CHECK(d.num_features() == kFeatures && taken > 0.9 * held && taken < 1.1 * held + 8.0,
                    "{} MB for {} MB", taken, held);
        }) == "no error");
#endif
}

TEST_CASE_FIXTURE(InFolder, "edge attributes outside the schema are refused, not dropped") {
  Dataset d = load(small_file(false));
  const int64_t edges = d.graph.num_edges();
  d.graph = d.graph.with_edge_attr("time", Tensor::zeros({edges, 1}));
  CHECK_THROWS_AS(save_dataset(d, folder.file("time.h5")), Error);
  d = load(small_file(false));
  d.graph = d.graph.with_edge_attr("attr", Tensor::zeros({edges}));
  CHECK_THROWS_AS(save_dataset(d, folder.file("flat.h5")), Error);
  CHECK(std::filesystem::is_empty(folder.file(".")));
}

TEST_CASE("a dataset moves to a device and selects one of its splits") {
  for (Device device : devices()) {
    Dataset d = load(small_file(true)).to(device);
    CHECK(d.device() == device);
    CHECK(d.x.sparse().device() == device);
    d.use_split(1);
    CHECK(d.train.device() == device);
    CHECK(train_of(d) == I{5});
    CHECK(val_of(d) == I{4});
    CHECK(test_of(d) == I{3, 2});
    d.use_split(0);
    CHECK(train_of(d) == I{0, 1});
    CHECK(val_of(d) == I{2, 3});
    CHECK(test_of(d) == I{4, 5});
    CHECK_ERROR(d.use_split(2), "dataset small: no split 2, it has 2");
  }
}

namespace {

struct Fault {
  const char* message;  // after "FILE: "
  SchemaChange damage;
};

/// Checks the error, and that it is among the problems found.
void check_faults(const std::vector<Fault>& faults, bool sparse = false) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("bad.h5");
  for (const Fault& fault : faults) {
    SchemaFile file = small_file(sparse);
    fault.damage(file);
    file.write(path);
    CAPTURE(fault.message);
    CHECK_THROWS_WITH_AS((void)load_dataset(path), (path + ": " + fault.message).c_str(), DataError);
    const std::vector<std::string> problems = check_dataset(path).problems;
    CHECK(std::count(problems.begin(), problems.end(), path + ": " + fault.message) == 1);
  }
}

}  // namespace

TEST_CASE("every fault of a file gives one line with file, place and expected value") {
  check_faults({
      {"attribute format: missing, expected a string", gone({"format"})},
      {"attribute format: \"other\", expected \"adjoint.graph\"", attribute("format", "other")},
      {"attribute format: not a string", attribute("format", 1)},
      {"attribute version: 3, expected 1 or 2: written for a newer Adjoint", attribute("version", 3)},
      {"attribute version: 2, a file of several types of nodes or edges, expected 1, a graph (convert typed "
       "FILE OUT --edges TYPE takes the graph of one type of edges)",
       attribute("version", 2)},
      {"attribute version: 0, expected 1 or 2", attribute("version", 0)},
      {"attribute version: missing, expected an integer", gone({"version"})},
      {"attribute num_nodes: missing, expected an integer", gone({"num_nodes"})},
      {"attribute num_nodes: 0, expected 1 to 2147483646", attribute("num_nodes", 0)},
      {"attribute num_nodes: -4, expected 1 to 2147483646", attribute("num_nodes", -4)},
      {"attribute num_nodes: 1099511627776, expected 1 to 2147483646",
       attribute("num_nodes", int64_t{1} << 40)},
      {"attribute num_classes: missing, expected an integer", gone({"num_classes"})},
      {"attribute num_classes: -1, expected 0 to 2147483647", attribute("num_classes", -1)},
      {"attribute task: \"guess\", expected node_class, node_multilabel, node_regression, graph_class, "
       "graph_regression, edge_class, edge_regression or none",
       attribute("task", "guess")},
      {"attribute num_nodes: 300000000, but nothing in the file has that many nodes",
       each({attribute("num_nodes", 300'000'000), gone({"nodes/x"}), gone({"nodes/y"})})},
      // Edges.
      {"edges/src: missing", gone({"edges/src"})},
      {"edges/dst: missing", gone({"edges/dst"})},
      {"edges/src: float32 [8], expected integers", put("edges/src", Tensor::zeros({8}))},
      {"edges/src: shape [4, 2], expected [*] integers",
       [](SchemaFile& f) {
         f.datasets["edges/src"] = f.datasets["edges/src"].reshape({4, 2});
       }},
      {"edges/dst: 7 edges, but edges/src has 8",
       [](SchemaFile& f) { f.datasets["edges/dst"] = f.datasets["edges/dst"].rows(0, 7); }},
      {"edges/src: 6 at position 3, expected 0 to 5", poke("edges/src", int32_t{6}, 3)},
      {"edges/dst: -1 at position 7, expected 0 to 5", poke("edges/dst", int32_t{-1}, 7)},
      {"edges/src: 4294967296 at position 0, expected 0 to 5",
       put("edges/src", Tensor::from(L{int64_t{1} << 32, 0, 0, 0, 0, 0, 0, 0}))},
      {"edges/weight: shape [7], expected [8] floating numbers", put("edges/weight", Tensor::zeros({7}))},
      {"edges/weight: int32 [8], expected floating numbers",
       put("edges/weight", Tensor::zeros({8}, DType::i32))},
      {"edges/weight: 1e+39 at position 3, expected finite numbers",
       each({put("edges/weight", Tensor::zeros({8}, DType::f64)), poke("edges/weight", 1e39, 3)})},
      {"edges/weight: inf at position 2, expected finite numbers", poke("edges/weight", kInf, 2)},
      {"edges/attr: shape [8], expected [8, *] floating numbers", put("edges/attr", Tensor::zeros({8}))},
      {"edges/attr: nan at row 3, column 1, expected finite numbers", poke("edges/attr", kNan, 7)},
      // Nodes.
      {"nodes/x: shape [5, 3], expected 6 rows",
       [](SchemaFile& f) { f.datasets["nodes/x"] = f.datasets["nodes/x"].rows(0, 5); }},
      {"nodes/x: int32 [6, 3], expected floating numbers", put("nodes/x", Tensor::zeros({6, 3}, DType::i32))},
      {"nodes/x: nan at row 2, column 1, expected finite numbers", poke("nodes/x", kNan, 7)},
      {"nodes/x: -inf at row 5, column 2, expected finite numbers", poke("nodes/x", -kInf, 17)},
      {"nodes/y: missing, expected for task node_class", gone({"nodes/y"})},
      {"nodes/y: 3 at position 5, expected -1 to 2", poke("nodes/y", int32_t{3}, 5)},
      {"nodes/y: -2 at position 0, expected -1 to 2", poke("nodes/y", int32_t{-2}, 0)},
      {"nodes/x: shape [6, 3], expected 300000000 rows", attribute("num_nodes", 300'000'000)},
      {"nodes/y: shape [5], expected 6 rows", put("nodes/y", Tensor::from(I{0, 0, 0, 0, 0}))},
      {"nodes/y: float32 [6], expected integers", put("nodes/y", Tensor::zeros({6}))},
      {"nodes/y: label 2 at row 2, column 0, expected 0 or 1",
       [](SchemaFile& f) {
         f.attributes["task"] = "node_multilabel";
         f.datasets["nodes/y"] = f.datasets["nodes/y"].to(DType::u8).reshape({6, 1});
       }},
      {"nodes/y: inf at position 1, expected finite numbers, or nan for no label",
       each({attribute("task", "node_regression"), put("nodes/y", Tensor::from(F{0, kInf, 0, 0, 0, 0}))})},
      {"nodes/y: shape [6, 1, 1], expected [6] or [6, *]",
       each({attribute("task", "node_regression"), put("nodes/y", Tensor::zeros({6, 1, 1}))})},
      // Splits and graphs.
      {"splits/test: index 5 at position 1 has no label", poke("nodes/y", int32_t{-1}, 5)},
      {"splits/train: index 1 at position 1 has no label",
       each({attribute("task", "node_regression"), put("nodes/y", Tensor::from(F{0, kNan, 0, 0, 0, 0}))})},
      {"splits/train: empty, expected at least one index", put("splits/train", Tensor::from(I{}))},
      {"splits/val: missing", gone({"splits/val"})},
      {"splits/1/test: missing", gone({"splits/1/test"})},
      {"splits/test: 6 at position 1, expected 0 to 5", put("splits/test", Tensor::from(I{4, 6}))},
      {"splits/test: -6 at position 0, expected 0 to 5", put("splits/test", Tensor::from(I{-6}))},
      {"splits/val: index 0 at position 1 is already in train, expected once in a split",
       put("splits/val", Tensor::from(I{2, 0}))},
      {"splits/1/test: index 2 at position 2 is already in test, expected once in a split",
       put("splits/1/test", Tensor::from(I{3, 2, 2}))},
      {"splits/1/train: missing",
       [](SchemaFile& f) {
         for (const char* part : {"train", "val", "test"}) {
           f.datasets[std::string("splits/2/") + part] = f.datasets[std::string("splits/1/") + part];
           f.datasets.erase(std::string("splits/1/") + part);
         }
       }},
      {"graphs/offsets: missing, expected for task graph_class", attribute("task", "graph_class")},
      {"graphs/y: missing, expected for task graph_class",
       each({attribute("task", "graph_class"), put("graphs/offsets", Tensor::from(L{0, 6}))})},
      {"graphs/offsets: ends with 5, expected 6, the number of nodes",
       put("graphs/offsets", Tensor::from(L{0, 3, 5}))},
      {"graphs/offsets: 1 numbers, expected at least 2", put("graphs/offsets", Tensor::from(L{0}))},
      {"edges/dst: an edge from node 5 of graph 2 to node 3 of graph 1 at position 5, expected "
       "edges within graphs",
       each({attribute("task", "graph_class"), put("graphs/offsets", Tensor::from(L{0, 2, 4, 6})),
             put("graphs/y", Tensor::from(I{0, 1, 2})),
             put("edges/src", Tensor::from(I{0, 1, 2, 3, 4, 5, 0, 1})),
             put("edges/dst", Tensor::from(I{1, 0, 3, 2, 5, 3, 0, 0}))})},
  });
}

TEST_CASE("every fault of a file's sparse features gives one line with file, place and expected value") {
  check_faults(
      {
          {"nodes: both x and x_indptr, expected one kind of features",
           put("nodes/x", Tensor::zeros({6, 3}))},
          {"attribute nodes@x_cols: missing, expected an integer", gone({"nodes@x_cols"})},
          {"attribute nodes@x_cols: -3, expected 0 to 2147483646", attribute("nodes@x_cols", -3)},
          {"attribute nodes@x_cols: 2147483647, expected 0 to 2147483646",
           attribute("nodes@x_cols", 2147483647)},
          {"nodes/x_indptr: missing", gone({"nodes/x_indptr"})},
          {"nodes/x_data: missing", gone({"nodes/x_data"})},
          {"nodes/x_indices: missing", gone({"nodes/x_indices"})},
          {"nodes/x_indptr: shape [6], expected 7 rows",
           put("nodes/x_indptr", Tensor::from(L{0, 2, 2, 3, 4, 6}))},
          {"nodes/x_indptr: starts with 1, expected 0", poke("nodes/x_indptr", int64_t{1}, 0)},
          {"nodes/x_indptr: falls from 9 to 2 at position 2, expected ascending numbers",
           poke("nodes/x_indptr", int64_t{9}, 1)},
          {"nodes/x_indptr: ends with 7, expected 6, the length of nodes/x_indices",
           poke("nodes/x_indptr", int64_t{7}, 6)},
          {"nodes/x_indices: 3 at position 4, expected 0 to 2", poke("nodes/x_indices", int32_t{3}, 4)},
          {"nodes/x_data: shape [5], expected [6] floating numbers", put("nodes/x_data", Tensor::zeros({5}))},
          {"nodes/x_data: nan at position 0, expected finite numbers", poke("nodes/x_data", kNan, 0)},
      },
      true);
}

TEST_CASE("the demo dataset is large enough and can be read") {
  const Dataset demo = load_demo_dataset();
  CHECK(demo.name == "demo");
  CHECK(demo.num_nodes() >= 2000);
  CHECK(demo.x.is_sparse());
  CHECK(demo.graph.is_symmetric());
  CHECK(demo.train.numel() == 20 * demo.num_classes());
  CHECK(demo.val.numel() == 500);
  CHECK(demo.test.numel() == 1000);
}

TEST_CASE("real datasets have their published counts") {
  struct Real {
    const char* file;
    int64_t nodes, edges, features, classes;
    size_t splits;
  };
  for (const Real& real :
       {Real{"cora.h5", 2708, 10556, 1433, 7, 1}, Real{"citeseer.h5", 3327, 9104, 3703, 6, 1},
        Real{"tolokers.h5", 11758, 1038000, 10, 2, 10}, Real{"minesweeper.h5", 10000, 78804, 7, 2, 10}}) {
    if (!have_data(real.file)) continue;
    const Dataset d = load_dataset(data_file(real.file).string());
    CAPTURE(real.file);
    CHECK(d.num_nodes() == real.nodes);
    CHECK(d.graph.num_edges() == real.edges);
    CHECK(d.num_features() == real.features);
    CHECK(d.num_classes() == real.classes);
    CHECK(d.splits.size() == real.splits);
    CHECK(d.undirected);
    CHECK(d.graph.is_symmetric());
    CHECK(!d.graph.has_self_loops());
  }
  if (have_data("citeseer_full.h5"))
    CHECK(load_dataset(data_file("citeseer_full.h5").string()).splits.empty());
}
