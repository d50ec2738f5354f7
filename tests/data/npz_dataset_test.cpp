#include "../support.h"
#include "npz_layouts.h"
#include <adjoint/data/import/npz_dataset.h>

#include <functional>
#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using F = std::vector<float>;

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

/// What is refused, without the file's name.
std::string refused(const std::function<void()>& f) {
  const std::string message = error_of<DataError>(f);
  return message.empty() ? "none" : message.substr(message.find(".npz: ") + 6);
}

I sources(const Dataset& d) { return d.graph.in_edges().indices.to_vector<int32_t>(); }
L offsets(const Dataset& d) { return d.graph.in_edges().offsets.to_vector<int64_t>(); }

}  // namespace

TEST_CASE("npz of heterophilous-graphs: undirected, with its splits") {
  const Dataset d = import(heterophilous());
  CHECK(d.name == "small");
  CHECK(d.task == Task::node_class);
  CHECK(d.undirected);
  CHECK(d.classes == 3);
  CHECK(offsets(d) == L{0, 1, 3, 4, 5});
  CHECK(sources(d) == I{1, 0, 1, 3, 2});
  CHECK(d.x.dense().to_vector<float>() == F{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(d.y.to_vector<int32_t>() == I{0, 2, 1, 0});
  REQUIRE(d.splits.size() == 2);
  CHECK(d.train.to_vector<int32_t>() == I{0, 3});
  CHECK(d.splits[1].test.to_vector<int32_t>() == I{3});
}

TEST_CASE("npz of gnn-benchmark: undirected, without self-loops, features binary, objects not looked at") {
  const Dataset d = import(gnn_benchmark());
  CHECK(d.undirected);
  CHECK(offsets(d) == L{0, 2, 3, 4});
  CHECK(sources(d) == I{1, 2, 0, 0});
  REQUIRE(d.x.is_sparse());
  CHECK(values(d.x.to_dense()) == std::vector<double>{1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, -1, 0, 0, 0});
  CHECK(d.y.to_vector<int32_t>() == I{1, 0, 1});
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
  CHECK(import(dense).x.dense().to_vector<float>() == F{1, 2, 3, 4, 5, 6});
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
    CHECK(d.x.dense().to_vector<float>()[7] == 0.1f);
    CHECK(d.classes == 5);
    CHECK(d.train.to_vector<int32_t>() == I{0, 3});
    CHECK(d.val.to_vector<int32_t>() == I{2});
    CHECK(d.test.to_vector<int32_t>() == I{1});
  }
  NpzFile csr;
  csr.add("indices", npy<int32_t>({3}, {1, 0, 2})).add("indptr", npy<int32_t>({5}, {0, 1, 2, 2, 3}));
  csr.add("data", npy<float>({3}, {1, 1, 1})).add("shape", npy<int64_t>({2}, {4, 4}));
  csr.add("format", npy("<U3", {}, std::string("c\0\0\0s\0\0\0r\0\0\0", 12)));
  CHECK(sources(import_reddit(reddit_data(), csr)) == I{1, 0, 3});
}

TEST_CASE("a plain npz: edges as they stand, every kind of label") {
  const Dataset d = import(plain());
  CHECK(!d.undirected);
  CHECK(offsets(d) == L{0, 0, 1, 3});
  CHECK(sources(d) == I{0, 1, 1});
  CHECK(d.task == Task::node_class);
  CHECK(d.train.to_vector<int32_t>() == I{1});

  NpzFile f = plain();
  f["y"].bytes = npy<float>({3}, {0.5f, -1, 2});
  f.add("edge_weight", npy<double>({3}, {3, 1, 2})).add("edge_attr", npy<float>({3, 2}, {5, 6, 1, 2, 3, 4}));
  Dataset r = import(f);
  CHECK(r.task == Task::node_regression);
  CHECK(r.y.shape() == Shape{3, 1});
  CHECK(r.graph.edge_weight().to_vector<float>() == F{3, 1, 2});
  CHECK(r.graph.edge_attr("attr").to_vector<float>() == F{5, 6, 1, 2, 3, 4});
  f["y"].bytes = npy_bools({3, 2}, {1, 0, 0, 0, 1, 1});
  CHECK(import(f).task == Task::node_multilabel);
  f["y"].bytes = npy<int64_t>({3, 1}, {1, 0, 1});
  CHECK(import(f).y.to_vector<int32_t>() == I{1, 0, 1});

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

TEST_CASE("npz files of the releases that are wrong somewhere") {
  const auto changed = [](NpzFile f, const std::string& name, const std::string& bytes) {
    f[name].bytes = bytes;
    return refused([&] { import(f); });
  };
  const auto without = [](NpzFile f, const std::string& name) {
    f.erase(name);
    return refused([&] { import(f); });
  };
  const NpzFile h = heterophilous(), g = gnn_benchmark(), p = plain();
  CHECK(refused([&] { import(h); }) == "none");
  CHECK(changed(h, "edges", npy<int64_t>({1, 2}, {0, 4})) == "edges: 4 at row 0, column 1, expected 0 to 3");
  CHECK(changed(h, "edges", npy<int64_t>({1, 2}, {-1, 0})) ==
        "edges: -1 at row 0, column 0, expected 0 to 3");
  CHECK(changed(h, "edges", npy<int64_t>({2, 3}, {0, 1, 2, 0, 1, 2})) ==
        "edges: shape [2, 3], expected [*, 2]");
  CHECK(changed(h, "edges", npy<float>({1, 2}, {0, 1})) ==
        "edges: elements of the type <f4, expected integers");
  CHECK(changed(h, "edges", npy("|O", {1}, "x")).starts_with("edges: shape [1], expected [*, 2]"));
  CHECK(changed(h, "node_features", npy("|O", {4, 2}, "x"))
            .starts_with("node_features: pickled Python objects"));
  CHECK(changed(h, "node_features", npy<float>({0, 2}, {})) ==
        "node_features: 0 nodes, expected 1 to 2147483646");
  CHECK(changed(h, "node_features", npy<float>({4, 1}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 4})) ==
        "node_features: nan at row 2, column 0, expected finite numbers");
  CHECK(changed(h, "node_labels", npy<int64_t>({3}, {0, 1, 2})) == "node_labels: shape [3], expected [4]");
  CHECK(changed(h, "node_labels", npy<int64_t>({4}, {0, -2, 1, 0})) ==
        "node_labels: -2 at position 1, expected -1 to 2147483646");
  CHECK(changed(h, "val_masks", npy_bools({2, 4}, {1, 0, 0, 0, 1, 0, 0, 0})) ==
        "val_masks: node 0 of split 0 is in train already, expected every node in one part at most");
  CHECK(changed(h, "val_masks", npy_bools({2, 4}, {0, 1, 0, 0, 0, 0, 0, 0})) ==
        "val_masks: no node of split 1 is in val, expected one at least");
  NpzFile trailing = h;
  for (const char* name : {"train_masks", "val_masks", "test_masks"})
    trailing[name].bytes = npy_bools({3, 4}, {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  trailing["val_masks"].bytes = npy_bools({3, 4}, {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  trailing["test_masks"].bytes = npy_bools({3, 4}, {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  CHECK(refused([&] { import(trailing); }) ==
        "train_masks: no node of split 2 is in train, expected one at least");
  for (const char* name : {"train_masks", "val_masks", "test_masks"})
    trailing[name].bytes = npy_bools({1, 4}, {0, 0, 0, 0});
  CHECK(refused([&] { import(trailing); }) ==
        "train_masks: no node of split 0 is in train, expected one at least");
  CHECK(changed(h, "val_masks", npy_bools({1, 4}, {0, 1, 0, 0})) ==
        "val_masks: shape [1, 4], expected [2, 4]");
  CHECK(changed(h, "train_masks", npy_bools({0, 4}, {})) == "train_masks: no splits, expected one at least");
  CHECK(changed(h, "val_masks", npy<int32_t>({2, 4}, {0, 2, 0, 0, 1, 0, 0, 0})) ==
        "val_masks: 2 for node 1 of split 0, expected 0 or 1");
  for (const char* name : {"node_labels", "train_masks", "val_masks", "test_masks"})
    CHECK(without(h, name) == fmt::format("{}: missing, expected an array of this name", name));
  CHECK(without(h, "edges").starts_with("arrays node_features, node_labels, test_masks"));

  CHECK(changed(g, "adj_shape", npy<int64_t>({2}, {3, 4})) ==
        "adj_shape: 3 by 4, expected as many columns as rows");
  CHECK(changed(g, "adj_shape", npy<int64_t>({2}, {1ll << 31, 1ll << 31})) ==
        "adj_shape: 2147483648 at position 0, expected 0 to 2147483646");
  CHECK(changed(g, "adj_shape", npy<int64_t>({2}, {900000, 900000})) ==
        "adj_indptr: shape [4], expected [900001]");
  CHECK(changed(g, "adj_indptr", npy<int32_t>({4}, {0, 2, 1, 5})) ==
        "adj_indptr: falls from 2 to 1 at position 2, expected ascending numbers");
  CHECK(changed(g, "adj_indptr", npy<int32_t>({4}, {1, 2, 4, 5})) == "adj_indptr: begins with 1, expected 0");
  CHECK(changed(g, "adj_indptr", npy<int32_t>({4}, {0, 2, 4, 4})) ==
        "adj_indptr: ends with 4, but adj_indices has 5 elements");
  CHECK(changed(g, "adj_indices", npy<int32_t>({5}, {1, 2, 3, 0, 0})) ==
        "adj_indices: 3 at position 2, expected 0 to 2");
  CHECK(changed(g, "adj_data", npy<float>({1}, {1})) == "adj_data: shape [1], expected [5]");
  CHECK(changed(g, "attr_shape", npy<int64_t>({2}, {4, 5})) == "attr_shape: 4 rows, but adj_shape has 3");
  CHECK(changed(g, "attr_data", npy<float>({4}, {1, std::numeric_limits<float>::infinity(), 1, 1})) ==
        "attr_data: inf at position 1, expected finite numbers");
  CHECK(
      changed(g, "labels_data", npy<float>({1}, {1})).starts_with("labels_data: labels as a sparse matrix"));
  CHECK(changed(g, "adj_indices", npy("|O", {5}, "x")).starts_with("adj_indices: pickled Python objects"));
  CHECK(without(g, "attr_data") == "attr_data: missing, expected an array of this name");

  CHECK(changed(p, "edge_index", npy<int64_t>({3, 2}, {0, 1, 1, 2, 0, 2})) ==
        "edge_index: shape [3, 2], expected [2, *]");
  CHECK(changed(p, "edge_index", npy<int64_t>({2, 1}, {0, 3})) ==
        "edge_index: 3 at row 1, column 0, expected 0 to 2");
  CHECK(changed(p, "train_masks", npy_bools({3}, {0, 0, 0}))
            .starts_with("train_masks: an array that a file with edge_index does not have"));
  CHECK(changed(p, "num_nodes", npy<int64_t>({}, {4})) == "num_nodes: 4, but y has 3 rows");
  CHECK(changed(p, "y", npy<int64_t>({4}, {0, 0, 0, 0})) == "y: 4 rows, but x has 3");
  CHECK(changed(p, "y", npy<int64_t>({3, 2}, {0, 0, 0, 0, 3, 0})) ==
        "y: 3 at row 2, column 0, expected 0 or 1");
  CHECK(changed(p, "y", npy<float>({3, 0}, {})) == "y: shape [3, 0], expected a column at least");
  CHECK(changed(p, "y", npy<float>({}, {1})) == "y: one number, expected a row a node");
  CHECK(changed(p, "edge_weight", npy<float>({2}, {1, 1})) == "edge_weight: shape [2], expected [3]");
  CHECK(without(p, "val_mask") == "val_mask: missing, expected an array of this name");
  NpzFile bare;
  bare.add("edge_index", npy<int64_t>({2, 1}, {0, 1})).add("num_nodes", npy<int64_t>({}, {2000000000}));
  CHECK(refused([&] { import(bare); }) ==
        "num_nodes: 2000000000, but nothing in the file is of so many nodes");
  bare.erase("num_nodes");
  bare["edge_index"].bytes = npy<int64_t>({2, 1}, {0, 2000000000});
  CHECK(refused([&] { import(bare); }) ==
        "edge_index: node 2000000000, but nothing in the file is of so many nodes");
  bare["edge_index"].bytes = npy<int64_t>({2, 1}, {0, 1ll << 31});
  CHECK(refused([&] { import(bare); }) ==
        "edge_index: 2147483648 at row 1, column 0, expected integers that int32 holds");
  bare["edge_index"].bytes = npy<int64_t>({2, 0}, {});
  CHECK(refused([&] { import(bare); }) == "edge_index: 0 nodes, expected 1 to 2147483646");
}

TEST_CASE("npz files of Reddit that are wrong somewhere") {
  const auto changed = [](const std::string& name, const std::string& bytes) {
    NpzFile f = reddit_graph();
    f[name].bytes = bytes;
    return refused([&] { import_reddit(reddit_data(), f); });
  };
  CHECK(changed("row", npy<int32_t>({4}, {0, 1, 4, 0})) == "row: 4 at position 2, expected 0 to 3");
  CHECK(changed("col", npy<int32_t>({3}, {0, 1, 0})) == "col: shape [3], expected [4]");
  CHECK(changed("data", npy<int32_t>({3}, {0, 1, 0})) == "data: shape [3], expected [4]");
  CHECK(changed("shape", npy<int64_t>({2}, {5, 5})) == "shape: 5 by 5, but there are features of 4 nodes");
  CHECK(changed("format", npy("|S3", {}, "csc")) ==
        "format: \"csc\", expected a sparse matrix as coo or csr");
  CHECK(changed("format", npy("|O", {}, "coo")) == "format: [] of the type |O, expected one string");
  NpzFile data = reddit_data();
  data["node_types"].bytes = npy<int32_t>({4}, {1, 3, 2, 4});
  CHECK(refused([&] { import_reddit(data, reddit_graph()); }) ==
        "node_types: 4 at position 3, expected 0 to 3");
  data["node_types"].bytes = npy<int32_t>({4}, {1, 3, 3, 1});
  CHECK(refused([&] { import_reddit(data, reddit_graph()); }) ==
        "node_types: no node of split 0 is in val, expected one at least");
  CHECK(refused([&] { import_reddit(reddit_data(), reddit_graph(), "edges"); }).starts_with("neither "));
  CHECK(refused([&] { import(reddit_data()); }).starts_with("features and labels of Reddit"));
  CHECK(refused([&] { import(reddit_graph()); }).starts_with("one sparse matrix"));
}

TEST_CASE("npz files of the releases hold what an independent script made of them") {
  for (const std::string name : {"tolokers", "minesweeper", "citeseer_full"}) {
    if (!have_data("raw/" + name + ".npz") || !have_data(name + ".h5")) continue;
    CAPTURE(name);
    const Dataset d = import_npz(data_file("raw/" + name + ".npz").string());
    const Dataset e = load_dataset(data_file(name + ".h5").string());
    CHECK(d.name == e.name);
    CHECK(d.task == e.task);
    CHECK(d.classes == e.classes);
    CHECK(d.undirected == e.undirected);
    CHECK(same_bits(d.graph.in_edges().offsets, e.graph.in_edges().offsets));
    CHECK(same_bits(d.graph.in_edges().indices, e.graph.in_edges().indices));
    REQUIRE(d.x.is_sparse() == e.x.is_sparse());
    if (d.x.is_sparse()) {
      CHECK(same_bits(d.x.sparse().relation().csr().offsets, e.x.sparse().relation().csr().offsets));
      CHECK(same_bits(d.x.sparse().relation().csr().indices, e.x.sparse().relation().csr().indices));
      CHECK(same_bits(d.x.sparse().values(), e.x.sparse().values()));
    } else {
      CHECK(same_bits(d.x.dense(), e.x.dense()));
    }
    CHECK(same_bits(d.y, e.y));
    REQUIRE(d.splits.size() == e.splits.size());
    for (size_t s = 0; s < d.splits.size(); ++s) {
      CHECK(same_bits(d.splits[s].train, e.splits[s].train));
      CHECK(same_bits(d.splits[s].val, e.splits[s].val));
      CHECK(same_bits(d.splits[s].test, e.splits[s].test));
    }
  }
}
