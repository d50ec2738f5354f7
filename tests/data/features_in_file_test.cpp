#include "loader_batches.h"
#include "schema.h"

using namespace adj;
using namespace adj::test;

// Datasets whose features stay in their file.

namespace {

constexpr LoadOptions kInFile{.features_in_file = true};

Dataset small(int64_t width) {
  return make_planted_dataset({.nodes = 500, .classes = 3, .features = width, .degree = 6});
}

std::string saved(const TemporaryDirectory& folder, const Dataset& data, int gzip = 0) {
  const std::string path = folder.file("data.h5");
  save_dataset(data, path, gzip);
  return path;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "features in the file have the fingerprint of those in memory") {
  for (int64_t width : {1, 7, 64, 3000}) {
    CAPTURE(width);
    const std::string path = saved(folder, small(width));
    Dataset whole = load_dataset(path), left = load_dataset(path, kInFile);
    CHECK_FALSE(left.x);
    REQUIRE(left.x_in_file);
    CHECK(left.x_in_file.rows() == 500);
    CHECK(left.num_features() == width);
    CHECK(same_bits(left.y, whole.y));
    CHECK(left.graph.num_edges() == whole.graph.num_edges());
    CHECK(fingerprint(left) == fingerprint(whole));
    for (Device device : devices()) CHECK(fingerprint(left.to(device)) == fingerprint(whole));
    left.x_in_file = left.x_in_file.row_normalized();
    CHECK_FALSE(fingerprint(left) == fingerprint(whole));
    whole.x = whole.x.row_normalized();
    CHECK(fingerprint(left) == fingerprint(whole));
  }
}

TEST_CASE_FIXTURE(InFolder, "a file without features") {
  Dataset data = small(4);
  data.x = {};
  const Dataset left = load_dataset(saved(folder, data), kInFile);
  CHECK_FALSE(left.x_in_file);
  CHECK(left.num_features() == 0);
  CHECK(fingerprint(left) == fingerprint(data));
}

TEST_CASE_FIXTURE(InFolder, "batches have the same features from the file as from memory") {
  const std::string path = saved(folder, small(20));
  const Dataset whole = load_dataset(path), left = load_dataset(path, kInFile);
  for (Device device : devices())
    for (int workers : {0, 2}) {
      const NeighborLoaderOptions options{
          .sampling = {.fanouts = {4, 3}},
          .loading = {.batch_size = 50, .shuffle = true, .workers = workers, .device = device}};
      const NeighborLoader a(whole, whole.train, options), b(left, left.train, options);
      CHECK(same(batches(a, 1), batches(b, 1)));
      CHECK(b.batch(1, 0).x.device() == device);
    }
}

TEST_CASE("clusters, sampled subgraphs and graph batches read features from the dataset's file") {
  const TemporaryDirectory folder;
  const std::string path = saved(folder, small(20));
  const Dataset whole = load_dataset(path);
  Dataset left = load_dataset(path, kInFile);
  const ClusterLoaderOptions clusters{.parts = 4, .loading = {.shuffle = true}};
  CHECK(same(batches(ClusterLoader(whole, whole.train, clusters), 1),
             batches(ClusterLoader(left, left.train, clusters), 1)));
  const SaintLoaderOptions saint{.sampling = {.budget = 20}, .coverage = 1};
  CHECK(same(batches(SaintLoader(whole, whole.train, saint), 1),
             batches(SaintLoader(left, left.train, saint), 1)));
  left.graph_offsets = ids({0, left.num_nodes()});
  const GraphLoader graphs(left, ids({0}), {});
  CHECK(same_bits(graphs.batch(0, 0).x.dense(), whole.x.dense()));
}

TEST_CASE_FIXTURE(InFolder, "features that cannot stay in the file give a one-line error when loading") {
  const auto refusal = [&](const std::string& path) {
    return error_of<DataError>([&] { (void)load_dataset(path, kInFile); });
  };
  const auto rewritten = [&](const Tensor& x) {
    SchemaFile file = small_file();
    file.datasets["nodes/x"] = x;
    file.write(folder.file("other.h5"));
    return folder.file("other.h5");
  };
  CHECK(refusal(rewritten(random_tensor({6, 3}))).empty());
  CHECK(mentions(refusal(rewritten(random_tensor({6, 3}, DType::f64))), {"nodes/x", "float64", "float32"}));
  CHECK(mentions(refusal(rewritten(random_tensor({5, 3}))), {"nodes/x", "[5, 3]", "6 rows"}));
  CHECK(mentions(refusal(rewritten(random_tensor({6}))), {"nodes/x", "[6]", "[6, *]"}));
  CHECK(mentions(refusal(rewritten(Tensor::zeros({6, 3}, DType::i32))), {"nodes/x", "floating numbers"}));
  CHECK(mentions(refusal(saved(folder, small(30), 6)), {"nodes/x", "compressed", "expected float32"}));
  Tensor spoiled = random_tensor({6, 3});
  spoiled.mutable_data<float>()[3 * 4 + 2] = std::numeric_limits<float>::quiet_NaN();
  CHECK(mentions(refusal(rewritten(spoiled)), {"nodes/x", "nan at [4, 2]"}));
  CHECK(mentions(refusal(saved(folder, make_citation_dataset({.nodes = 2000}))),
                 {"nodes/x_indptr", "sparse", "dense"}));
}

TEST_CASE_FIXTURE(InFolder, "functions that need features in memory fail, and write nothing") {
  const Dataset left = load_dataset(saved(folder, small(4)), kInFile);
  const std::string other = folder.file("other.h5");
  CHECK_ERROR(save_dataset(left, other),
              fmt::format("save_dataset {}: the features are left in {}: nodes/x, expected them in memory",
                          other, folder.file("data.h5"))
                  .c_str());
  CHECK_FALSE(std::filesystem::exists(other));
  CHECK_THROWS_AS(reordered(left, degree_order(left.graph.relation())), Error);
}
