#include "../says.h"
#include "dataset_parts.h"
#include "npz_layouts.h"
#include <adjoint/data/import/npz_dataset.h>

using namespace adj;
using namespace adj::test;

namespace {

Dataset import(const NpzFile& file) {
  const TemporaryDirectory folder;
  file.write(folder.file("small.npz"));
  return import_npz(folder.file("small.npz"));
}

Dataset import_reddit(const NpzFile& data, const NpzFile& graph, const std::string& name = "graph") {
  const TemporaryDirectory folder;
  data.write(folder.file("reddit_data.npz"));
  graph.write(folder.file("reddit_" + name + ".npz"));
  return import_npz(folder.file("reddit_data.npz"));
}

/// The error, without the file's name.
std::string refused(const std::function<void()>& f) {
  const std::string message = error_of<DataError>(f);
  return message.empty() ? "none" : message.substr(message.find(".npz: ") + 6);
}

/// An array of a valid file that is changed, or removed if there are no bytes, and the error that it causes.
struct BadArray {
  std::string name, bytes, message;  ///< `message` as in `says`; from ':' on it follows the array's name
};

void check_refused(const NpzFile& good, const std::vector<BadArray>& bad,
                   const std::function<void(const NpzFile&)>& import_it) {
  for (const auto& [name, bytes, message] : bad) {
    NpzFile file = good;
    if (bytes.empty())
      file.erase(name);
    else
      file[name].bytes = bytes;
    CHECK(says(refused([&] { import_it(file); }), message.starts_with(':') ? name + message : message));
  }
}
void check_refused(const NpzFile& good, const std::vector<BadArray>& bad) {
  check_refused(good, bad, [](const NpzFile& file) { (void)import(file); });
}

}  // namespace

TEST_CASE("npz of heterophilous-graphs: undirected, with its splits") {
  const Dataset d = import(heterophilous());
  CHECK(d.name == "small");
  CHECK(d.task == Task::node_class);
  CHECK(d.undirected);
  CHECK(d.classes == 3);
  CHECK(offsets(d) == L{0, 1, 3, 4, 5});
  CHECK(sources(d) == I{1, 0, 1, 3, 2});
  CHECK(features(d) == F{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(classes(d) == I{0, 2, 1, 0});
  REQUIRE(d.splits.size() == 2);
  CHECK(train_of(d) == I{0, 3});
  CHECK(d.splits[1].test.to_vector<int32_t>() == I{3});
}

TEST_CASE("npz of gnn-benchmark: undirected, without self-loops, features binary, objects ignored") {
  const Dataset d = import(gnn_benchmark());
  CHECK(d.undirected);
  CHECK(offsets(d) == L{0, 2, 3, 4});
  CHECK(sources(d) == I{1, 2, 0, 0});
  REQUIRE(d.x.is_sparse());
  CHECK(values(d.x.to_dense()) == std::vector<double>{1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, -1, 0, 0, 0});
  CHECK(classes(d) == I{1, 0, 1});
  CHECK(d.splits.empty());
  CHECK(d.train.numel() == 0);

  NpzFile twice = gnn_benchmark();
  twice["attr_data"].bytes = npy<float>({4}, {-1, 0.5, -1, 3});
  twice["attr_indices"].bytes = npy<int32_t>({4}, {2, 2, 0, 0});  // added up before they count as positive
  CHECK(values(import(twice).x.to_dense()) ==
        std::vector<double>{0, 0, -0.5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0});

  NpzFile dense = gnn_benchmark();
  for (const char* name : {"attr_data", "attr_indices", "attr_indptr", "attr_shape"}) dense.erase(name);
  CHECK(!import(dense).x);
  dense.add("attr_matrix", npy<double>({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK(features(import(dense)) == F{1, 2, 3, 4, 5, 6});
  dense.erase("labels");
  CHECK(import(dense).task == Task::none);
}

TEST_CASE("npz of Reddit: features and graph in two files, either sparse format") {
  for (const char* name : {"graph", "self_loop_graph"}) {
    const Dataset d = import_reddit(reddit_data(), reddit_graph(), name);
    CHECK(d.name == "reddit");
    CHECK(!d.undirected);
    CHECK(offsets(d) == L{0, 1, 2, 3, 3});
    CHECK(sources(d) == I{1, 0, 3});
    CHECK(features(d)[7] == 0.1f);
    CHECK(d.classes == 5);
    CHECK(train_of(d) == I{0, 3});
    CHECK(val_of(d) == I{2});
    CHECK(test_of(d) == I{1});
  }
  NpzFile csr;
  csr.add("indices", npy<int32_t>({3}, {1, 0, 2})).add("indptr", npy<int32_t>({5}, {0, 1, 2, 2, 3}));
  csr.add("data", npy<float>({3}, {1, 1, 1})).add("shape", npy<int64_t>({2}, {4, 4}));
  csr.add("format", npy("<U3", {}, std::string("c\0\0\0s\0\0\0r\0\0\0", 12)));
  CHECK(sources(import_reddit(reddit_data(), csr)) == I{1, 0, 3});
}

TEST_CASE("a plain npz: edges unchanged, every kind of label") {
  const Dataset d = import(plain());
  CHECK(!d.undirected);
  CHECK(offsets(d) == L{0, 0, 1, 3});
  CHECK(sources(d) == I{0, 1, 1});
  CHECK(d.task == Task::node_class);
  CHECK(train_of(d) == I{1});

  NpzFile f = plain();
  f["y"].bytes = npy<float>({3}, {0.5f, -1, 2});
  f.add("edge_weight", npy<double>({3}, {3, 1, 2})).add("edge_attr", npy<float>({3, 2}, {5, 6, 1, 2, 3, 4}));
  Dataset r = import(f);
  CHECK(r.task == Task::node_regression);
  CHECK(r.y.shape() == Shape{3, 1});
  CHECK(weights(r) == F{3, 1, 2});
  CHECK(attributes(r) == F{5, 6, 1, 2, 3, 4});
  f["y"].bytes = npy_bools({3, 2}, {1, 0, 0, 0, 1, 1});
  CHECK(import(f).task == Task::node_multilabel);
  f["y"].bytes = npy<float>({3, 2}, {1, 0, 0, 0, 1, 1});
  CHECK(import(f).task == Task::node_multilabel);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Dataset one_hot = import(NpzFile()
                                     .add("edge_index", npy("<i4", {2, 2}, raw<int32_t>({0, 1, 1, 2}), true))
                                     .add("y", npy<float>({3, 3}, {0, 0, 1, nan, nan, nan, 0, 1, 0})));
  CHECK(one_hot.task == Task::node_class);  // one 1 in every row
  CHECK(one_hot.classes == 3);
  CHECK(one_hot.unlabelled == 1);
  CHECK(classes(one_hot) == I{2, -1, 1});
  f["y"].bytes = npy<int64_t>({3, 1}, {1, 0, 1});
  CHECK(classes(import(f)) == I{1, 0, 1});

  f = NpzFile().add("edge_index", npy("<i4", {2, 3}, raw<int32_t>({0, 1, 1, 0, 5, 5}), true));
  r = import(f);
  CHECK(r.num_nodes() == 6);
  CHECK(r.task == Task::none);
  CHECK(r.undirected);
  CHECK(sources(r) == I{1, 0, 5});
  f.add("num_nodes", npy<int64_t>({}, {9}));
  CHECK(import(f).num_nodes() == 9);

  NpzFile several = plain();
  several["train_mask"].bytes = npy_bools({3, 2}, {0, 1, 1, 0, 0, 0});
  several["val_mask"].bytes = npy_bools({3, 2}, {1, 0, 0, 0, 0, 1});
  several["test_mask"].bytes = npy<int64_t>({3, 2}, {0, 0, 0, 1, 1, 0});
  r = import(several);
  REQUIRE(r.splits.size() == 2);
  CHECK(r.splits[1].train.to_vector<int32_t>() == I{0});
  CHECK(r.splits[1].val.to_vector<int32_t>() == I{2});
  CHECK(r.splits[0].test.to_vector<int32_t>() == I{2});
}

TEST_CASE("npz: whole numbers that float32 does not hold are noted") {
  NpzFile f = plain();
  f["y"].bytes = npy<double>({3}, {1600000001, 1600000000, 0.1});
  const TemporaryDirectory folder;
  f.write(folder.file("small.npz"));
  std::vector<std::string> notes;
  (void)import_npz(folder.file("small.npz"), &notes);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].ends_with("small.npz: y: 1 number is rounded to float32, by 1 at most"));
}

TEST_CASE("a plain npz: a label of -1 or nan is none, and no mask may have it") {
  NpzFile f = plain();
  f["y"].bytes = npy<int64_t>({3}, {-1, 0, 1});
  CHECK(refused([&] { import(f); }) == "val_mask: node 0 of split 0 has no label");
  for (const char* name : {"train_mask", "val_mask", "test_mask"}) f.erase(name);
  CHECK(import(f).unlabelled == 1);
  f["y"].bytes = npy<float>({3}, {1, std::numeric_limits<float>::quiet_NaN(), 2});
  CHECK(import(f).unlabelled == 1);
  f["y"].bytes = npy<int64_t>({3}, {-1, -1, -1});
  CHECK(refused([&] { import(f); }) == "y: -1 for all nodes, expected at least one label");
}

TEST_CASE("classes of an npz that no node has are noted") {
  const auto notes = [](std::initializer_list<int64_t> y) {
    const TemporaryDirectory folder;
    NpzFile f = plain();
    f["y"].bytes = npy<int64_t>({3}, y);
    f.write(folder.file("small.npz"));
    std::vector<std::string> found;
    (void)import_npz(folder.file("small.npz"), &found);
    return found.empty() ? "" : found[0].substr(found[0].find(".npz: ") + 6);
  };
  CHECK(notes({0, 1, 1}).empty());
  CHECK(says(notes({9, 5, 7}),
             "10 classes, as labels are numbers from 0, but no node has 0, 1, 2, 3, 4 and 2 more"));
}

TEST_CASE("bad npz files of the releases") {
  CHECK(refused([&] { import(heterophilous()); }) == "none");
  NpzFile trailing = heterophilous();
  for (const char* name : {"train_masks", "val_masks", "test_masks"})
    trailing[name].bytes = npy_bools({3, 4}, {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  trailing["val_masks"].bytes = npy_bools({3, 4}, {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  trailing["test_masks"].bytes = npy_bools({3, 4}, {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  CHECK(refused([&] { import(trailing); }) ==
        "train_masks: no node of split 2 is in train, expected at least one");
  for (const char* name : {"train_masks", "val_masks", "test_masks"})
    trailing[name].bytes = npy_bools({1, 4}, {0, 0, 0, 0});
  CHECK(refused([&] { import(trailing); }) ==
        "train_masks: no node of split 0 is in train, expected at least one");
  check_refused(
      heterophilous(),
      {{"edges", npy<int64_t>({1, 2}, {0, 4}), ": 4 at row 0, column 1, expected 0 to 3"},
       {"edges", npy<int64_t>({1, 2}, {-1, 0}), ": -1 at row 0, column 0, expected 0 to 3"},
       {"edges", npy<int64_t>({2, 3}, {0, 1, 2, 0, 1, 2}), ": shape [2, 3], expected [*, 2]"},
       {"edges", npy<float>({1, 2}, {0, 1}), ": elements of the type <f4, expected integers"},
       {"edges", npy("|O", {1}, "x"), ": shape [1], expected [*, 2]…"},
       {"node_features", npy("|O", {4, 2}, "x"), ": pickled Python objects…"},
       {"node_features", npy<float>({0, 2}, {}), ": 0 nodes, expected 1 to 2147483646"},
       {"node_features", npy<float>({4, 1}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 4}),
        ": nan at row 2, column 0, expected finite numbers"},
       {"node_labels", npy<int64_t>({3}, {0, 1, 2}), ": shape [3], expected [4]"},
       {"node_labels", npy<int64_t>({4}, {0, -2, 1, 0}), ": -2 at position 1, expected -1 to 2147483646"},
       {"val_masks", npy_bools({2, 4}, {1, 0, 0, 0, 1, 0, 0, 0}),
        ": node 0 of split 0 is already in train, expected each node in at most one part"},
       {"val_masks", npy_bools({2, 4}, {0, 1, 0, 0, 0, 0, 0, 0}),
        ": no node of split 1 is in val, expected at least one"},
       {"val_masks", npy_bools({1, 4}, {0, 1, 0, 0}), ": shape [1, 4], expected [2, 4]"},
       {"train_masks", npy_bools({0, 4}, {}), ": no splits, expected at least one"},
       {"val_masks", npy<int32_t>({2, 4}, {0, 2, 0, 0, 1, 0, 0, 0}),
        ": 2 for node 1 of split 0, expected 0 or 1"},
       {"node_labels", "", ": missing, expected an array of this name"},
       {"train_masks", "", ": missing, expected an array of this name"},
       {"val_masks", "", ": missing, expected an array of this name"},
       {"test_masks", "", ": missing, expected an array of this name"},
       {"edges", "", "arrays node_features, node_labels, test_masks…"}});

  check_refused(
      gnn_benchmark(),
      {{"adj_shape", npy<int64_t>({2}, {3, 4}), ": 3 by 4, expected as many columns as rows"},
       {"adj_shape", npy<int64_t>({2}, {1ll << 31, 1ll << 31}),
        ": 2147483648 at position 0, expected 0 to 2147483646"},
       {"adj_shape", npy<int64_t>({2}, {900000, 900000}), "adj_indptr: shape [4], expected [900001]"},
       {"adj_indptr", npy<int32_t>({4}, {0, 2, 1, 5}),
        ": falls from 2 to 1 at position 2, expected ascending numbers"},
       {"adj_indptr", npy<int32_t>({4}, {1, 2, 4, 5}), ": begins with 1, expected 0"},
       {"adj_indptr", npy<int32_t>({4}, {0, 2, 4, 4}), ": ends with 4, but adj_indices has 5 elements"},
       {"adj_indices", npy<int32_t>({5}, {1, 2, 3, 0, 0}), ": 3 at position 2, expected 0 to 2"},
       {"adj_data", npy<float>({1}, {1}), ": shape [1], expected [5]"},
       {"attr_shape", npy<int64_t>({2}, {4, 5}), ": 4 rows, but adj_shape has 3"},
       {"attr_data", npy<float>({4}, {1, std::numeric_limits<float>::infinity(), 1, 1}),
        ": inf at position 1, expected finite numbers"},
       {"labels_data", npy<float>({1}, {1}), ": labels as a sparse matrix…"},
       {"adj_indices", npy("|O", {5}, "x"), ": pickled Python objects…"},
       {"attr_data", "", ": missing, expected an array of this name"}});

  check_refused(plain(),
                {{"edge_index", npy<int64_t>({3, 2}, {0, 1, 1, 2, 0, 2}), ": shape [3, 2], expected [2, *]"},
                 {"edge_index", npy<int64_t>({2, 1}, {0, 3}), ": 3 at row 1, column 0, expected 0 to 2"},
                 {"train_masks", npy_bools({3}, {0, 0, 0}), ": unknown in a file with edge_index…"},
                 {"num_nodes", npy<int64_t>({}, {4}), ": 4, but y has 3 rows"},
                 {"y", npy<int64_t>({4}, {0, 0, 0, 0}), ": 4 rows, but x has 3"},
                 {"y", npy<int64_t>({3, 2}, {0, 0, 0, 0, 3, 0}), ": 3 at row 2, column 0, expected 0 or 1"},
                 {"y", npy<float>({3, 0}, {}), ": shape [3, 0], expected at least one column"},
                 {"y", npy<float>({}, {1}), ": one number, expected one row per node"},
                 {"edge_weight", npy<float>({2}, {1, 1}), ": shape [2], expected [3]"},
                 {"val_mask", "", ": missing, expected an array of this name"}});
  check_refused(NpzFile(), {{"edge_index", npy<int64_t>({2, 1}, {0, 2000000000}),
                             ": node 2000000000, but nothing in the file has that many nodes"},
                            {"edge_index", npy<int64_t>({2, 1}, {0, 1ll << 31}),
                             ": 2147483648 at row 1, column 0, expected integers within int32"},
                            {"edge_index", npy<int64_t>({2, 0}, {}), ": 0 nodes, expected 1 to 2147483646"}});
  check_refused(NpzFile().add("edge_index", npy<int64_t>({2, 1}, {0, 1})),
                {{"num_nodes", npy<int64_t>({}, {2000000000}),
                  ": 2000000000, but nothing in the file has that many nodes"}});
}

TEST_CASE("bad npz files of Reddit") {
  check_refused(reddit_graph(),
                {{"row", npy<int32_t>({4}, {0, 1, 4, 0}), ": 4 at position 2, expected 0 to 3"},
                 {"col", npy<int32_t>({3}, {0, 1, 0}), ": shape [3], expected [4]"},
                 {"data", npy<int32_t>({3}, {0, 1, 0}), ": shape [3], expected [4]"},
                 {"shape", npy<int64_t>({2}, {5, 5}), ": 5 by 5, but the features have 4 rows"},
                 {"format", npy("|S3", {}, "csc"), ": \"csc\", expected a sparse matrix as coo or csr"},
                 {"format", npy("|O", {}, "coo"), ": [] of the type |O, expected one string"}},
                [](const NpzFile& graph) { (void)import_reddit(reddit_data(), graph); });
  check_refused(reddit_data(),
                {{"node_types", npy<int32_t>({4}, {1, 3, 2, 4}), ": 4 at position 3, expected 0 to 3"},
                 {"node_types", npy<int32_t>({4}, {1, 3, 3, 1}),
                  ": no node of split 0 is in val, expected at least one"}},
                [](const NpzFile& data) { (void)import_reddit(data, reddit_graph()); });
  CHECK(says(refused([&] { import_reddit(reddit_data(), reddit_graph(), "edges"); }),
             "expected …reddit_graph.npz or …reddit_self_loop_graph.npz in the same folder"));
  CHECK(refused([&] { import(reddit_data()); }).starts_with("features and labels of Reddit"));
  CHECK(refused([&] { import(reddit_graph()); }).starts_with("one sparse matrix"));
}

TEST_CASE("npz files of the releases equal the conversion of an independent script") {
  for (const std::string name : {"tolokers", "minesweeper", "citeseer_full"}) {
    if (!have_data("raw/" + name + ".npz") || !have_data(name + ".h5")) continue;
    CAPTURE(name);
    check_same(import_npz(data_file("raw/" + name + ".npz").string()),
               load_dataset(data_file(name + ".h5").string()));
  }
}
