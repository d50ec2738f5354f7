#include "graphland_files.h"
#include "limited_memory.h"
#include "npz_layouts.h"
#include "schema.h"
#include "text_folder.h"
#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/import/graphland.h>
#include <adjoint/data/import/npz_dataset.h>
#include <adjoint/data/import/ogb.h>
#include <adjoint/data/import/tu.h>

#include <zlib.h>

// Small files that declare large counts, in every format: refused with the place, in little memory.

using namespace adj;
using namespace adj::test;

namespace {

constexpr size_t kMegabytes = 400;

/// The error of import(folder) for these files, without the folder.
template <class Import>
std::string refused(const FolderText& files, Import&& import) {
  const TemporaryDirectory folder;
  const std::string start = folder.file("");
  write_folder(start, files);
  const std::string message = error_within(kMegabytes, [&] { (void)import(start); });
  return message.starts_with(start) ? message.substr(start.size()) : message;
}

std::string refused_edges(const std::string& list, EdgeListOptions options = {},
                          const FolderText& files = {}) {
  return refused(with(files, {{"edges", list}}), [&](const std::string& folder) {
    if (files.contains("x")) options.node_files.features = folder + "x";
    if (files.contains("y")) options.node_files.labels = folder + "y";
    return import_edge_list(folder + "edges", options);
  });
}

std::string refused_npz(const NpzFile& file) {
  return refused({{"a.npz", file.bytes()}}, [](const std::string& f) { return import_npz(f + "a.npz"); });
}

std::string refused_ogb(const FolderText& files, const OgbOptions& options = {}) {
  return refused(files, [&](const std::string& folder) { return import_ogb(folder, options); });
}

std::string refused_h5(const SchemaFile& file) {
  return refused({}, [&](const std::string& folder) {
    file.write(folder + "a.h5");
    return load_dataset(folder + "a.h5");
  });
}

}  // namespace

TEST_CASE("lists of edges: many nodes without edges") {
  const EdgeListOptions numbers{.ids = NodeIds::Kind::numbers, .coalesce = true};
  const std::string refusal =
      " nodes for 1 edges, expected ids without large gaps, or mapped ids (--ids integers)";
  CHECK(refused_edges("%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 1\n1 2\n",
                      {.coalesce = true}) == "edges: 2000000000" + refusal);
  CHECK(refused_edges("%%MatrixMarket matrix coordinate real symmetric\n2000000000 2000000000 1\n2 1 5\n",
                      {.coalesce = true}) == "edges: 2000000000" + refusal);
  CHECK(refused_edges("0 2000000000\n", numbers) == "edges: 2000000001" + refusal);
  CHECK(refused_edges("0 1\n", {.ids = NodeIds::Kind::numbers, .nodes = 2'000'000'000}) ==
        "edges: 2000000000" + refusal);
  CHECK(refused_edges("0 2000000000\n", numbers, {{"y", "0,a\n"}}) == "edges: 2000000001" + refusal);
  CHECK(refused_edges("0 2000000000\n", numbers, {{"x", "0,1\n"}}) == "edges: 2000000001" + refusal);
  CHECK(refused_edges("0 1\n", numbers, {{"x", "0,1\n1,2\n2000000000,3\n"}}) ==
        "edges: 2000000001" + refusal);
  CHECK(refused_edges("0 999999\n", numbers) == "no error");
  CHECK(refused_edges("0 1000000\n", numbers) == "edges: 1000001" + refusal);
  // Few nodes with long rows.
  std::string row = "0";
  for (int i = 0; i < 2000; ++i) row += ",1";
  EdgeListOptions targets = numbers;
  targets.node_files.task = Task::node_regression;
  CHECK(refused_edges("0 999999\n", targets, {{"y", row + "\n"}}) ==
        "y: 1 rows of 2000 columns for 1000000 nodes, expected at least one for every 16 nodes");
  CHECK(refused_edges("0 999999\n", numbers, {{"x", row + "\n"}}) ==
        "x: 1 rows of 2000 columns for 1000000 nodes, expected at least one for every 16 nodes");
}

TEST_CASE("npz: nodes without bytes, columns without entries, classes without nodes") {
  constexpr int64_t kMany = 2'000'000'000;
  NpzFile h = heterophilous();
  h["node_features"].bytes = npy<float>({kMany, 0}, {});
  CHECK(refused_npz(h) == "a.npz: node_features: shape [2000000000, 0], expected at least one column");
  h["node_features"].bytes = npy<float>({4, 0}, {});
  CHECK(refused_npz(h) == "a.npz: node_features: shape [4, 0], expected at least one column");
  h["node_features"].bytes = npy<float>({kMany, 1}, {});
  CHECK(refused_npz(h).starts_with("a.npz: node_features: 2000000000 nodes in a file of "));

  NpzFile r = reddit_data();
  r["feature"].bytes = npy<float>({kMany, 0}, {});
  CHECK(refused({{"a_data.npz", r.bytes()}, {"a_graph.npz", reddit_graph().bytes()}},
                [](const std::string& folder) { return import_npz(folder + "a_data.npz"); }) ==
        "a_data.npz: feature: shape [2000000000, 0], expected at least one column");

  NpzFile p;
  p.add("edge_index", npy<int64_t>({2, 1}, {0, 1})).add("x", npy<float>({kMany, 0}, {}));
  CHECK(refused_npz(p) == "a.npz: x: shape [2000000000, 0], expected at least one column");
  p.erase("x");
  p["y"].bytes = npy<float>({kMany, 0}, {});
  CHECK(refused_npz(p) == "a.npz: y: shape [2000000000, 0], expected at least one column");
  p["y"].bytes = npy<float>({kMany}, {});
  CHECK(refused_npz(p).starts_with("a.npz: y: 2000000000 nodes in a file of "));
  p.erase("y");
  p["edge_attr"].bytes = npy<float>({1, 0}, {});
  CHECK(refused_npz(p) == "a.npz: edge_attr: shape [1, 0], expected at least one column");
  p = plain();
  p["y"].bytes = npy<int64_t>({3}, {2, 0, 1'000'000'000});
  CHECK(refused_npz(p) ==
        "a.npz: y: 1000000000 at position 2, expected classes numbered from 0, to 9999 as 3 are in use; "
        "targets of regression are written as floating numbers");

  NpzFile g = gnn_benchmark();
  g["adj_shape"].bytes = npy<int64_t>({2}, {kMany, kMany});
  CHECK(refused_npz(g).starts_with("a.npz: adj_shape: 2000000000 nodes in a file of "));
  g = gnn_benchmark();
  g["attr_shape"].bytes = npy<int64_t>({2}, {3, kMany});
  CHECK(refused_npz(g) == "a.npz: attr_shape: 2000000000 columns for 4 entries, expected 1000000 at most");
  g = gnn_benchmark();
  g.erase("attr_indptr");
  g["attr_matrix"].bytes = npy<float>({3, 0}, {});
  CHECK(refused_npz(g) == "a.npz: attr_matrix: shape [3, 0], expected at least one column");
}

TEST_CASE("OGB: nodes missing from all tables, and numbers as classes") {
  const FolderText graphs = {{"raw/edge.csv", "0,1\n"},
                             {"raw/num-node-list.csv", "2000000000\n"},
                             {"raw/num-edge-list.csv", "1\n"},
                             {"raw/graph-label.csv", "1\n"}};
  const std::string bare = "raw/num-node-list.csv: 2000000000 nodes, but nothing has that many";
  CHECK(refused_ogb(graphs) == bare);
  CHECK(refused_ogb(with(graphs, {{"raw/node-feat.csv", "1,2\n"}})) == bare);
  CHECK(
      refused_ogb(with(graphs, {{"raw/num-edge-list.csv", "2000000000\n"}, {"raw/node-feat.csv", "1\n"}})) ==
      "raw/edge.csv: 1 lines, expected 2000000000 as in num-edge-list");

  NpzFile data, labels;
  data.add("num_nodes_list", npy<int64_t>({1}, {2'000'000'000}));
  data.add("num_edges_list", npy<int64_t>({1}, {1})).add("edge_index", npy<int64_t>({2, 1}, {0, 1}));
  labels.add("graph_label", npy<int64_t>({1, 1}, {1}));
  const FolderText binary = {{"raw/data.npz", data.bytes()}, {"raw/graph-label.npz", labels.bytes()}};
  CHECK(refused_ogb(binary) == "raw/data.npz: num_nodes_list: 2000000000 nodes, but nothing has that many");
  data.add("node_feat", npy<float>({2'000'000'000, 0}, {}));
  CHECK(refused_ogb(with(binary, {{"raw/data.npz", data.bytes()}})) ==
        "raw/data.npz: node_feat: shape [2000000000, 0], expected at least one column");
  data["node_feat"].bytes = npy<float>({1, 1}, {1});
  CHECK(refused_ogb(with(binary, {{"raw/data.npz", data.bytes()}})) ==
        "raw/data.npz: num_nodes_list: 2000000000 nodes, but nothing has that many");

  const FolderText nodes = {{"raw/edge.csv", "0,1\n"},
                            {"raw/num-node-list.csv", "3\n"},
                            {"raw/num-edge-list.csv", "1\n"},
                            {"raw/node-label.csv", "0\n12000000\n5\n"}};
  CHECK(refused_ogb(nodes) ==
        "raw/node-label.csv:2: label 12000000, expected classes numbered from 0, to 9999 as 3 are in use; "
        "--task regression takes labels as numbers");
  CHECK(refused_ogb(nodes, {.labels = LabelKind::regression}) == "no error");
}

TEST_CASE("TU: labels far apart would make too many columns") {
  const FolderText files = {{"T_A.txt", "1, 2\n"},
                            {"T_graph_indicator.txt", "1\n1\n"},
                            {"T_graph_labels.txt", "1\n"},
                            {"T_node_labels.txt", "0\n2000000000\n"}};
  const auto import = [](const std::string& folder) { return import_tu(folder); };
  CHECK(refused(files, import) ==
        "T_node_labels.txt: labels from 0 to 2000000000 in column 1, which make more than 1000000 columns");
  CHECK(says(refused(with(files, {{"T_graph_indicator.txt", "1\n2000000000\n"}}), import),
             "T_graph_indicator.txt:2: graph 2000000000 of 2 nodes…"));
}

TEST_CASE("GraphLand: numbers as classes, and categories of few nodes each") {
  const auto refused_graphland = [](const FolderText& changes) {
    return refused(with(city(), changes), [](const std::string& folder) { return import_graphland(folder); });
  };
  CHECK(
      refused_graphland({{"targets.csv", "node_id,kind\n0,2\n1,0\n2,1\n3,\n4,0\n5,16000000\n6,0\n7,2\n"}}) ==
      "targets.csv: node 5: kind \"16000000\", expected classes numbered from 0, to 9999 as 4 are in use; "
      "\"task: regression\" in info.yaml takes numbers unchanged");
  std::string info =
                  "task: regression\ntarget_name: kind\nnumerical_features_names:\n"
                  "fraction_features_names:\ncategorical_features_names: [a, b, c, d]\n",
              features = "node_id,a,b,c,d\n", targets = "node_id,kind\n", masks = "node_id,train,val,test\n";
  for (int i = 0; i < 10'000; ++i) {
    features += fmt::format("{0},{0},{0},{0},{0}\n", i);
    targets += fmt::format("{},1\n", i);
    masks += fmt::format("{},{},{},{}\n", i, i % 3 == 0, i % 3 == 1, i % 3 == 2);
  }
  CHECK(refused_graphland({{"info.yaml", info},
                           {"features.csv", features},
                           {"targets.csv", targets},
                           {"split_masks_RL.csv", masks}})
            .starts_with("features.csv: 40000 columns with those of categories, 1.6 GB and more than 300 "
                         "times the file"));
}

TEST_CASE("files of the schema: many nodes, classes and columns without values") {
  SchemaFile f = small_file();
  f.datasets.erase("nodes/x");
  f.datasets.erase("nodes/y");
  f.attributes["task"] = "none";
  f.attributes["num_nodes"] = int64_t{2'000'000'000};
  CHECK(refused_h5(f) ==
        "a.h5: attribute num_nodes: 2000000000, but nothing in the file has that many nodes");
  f.datasets["nodes/x"] = Tensor::empty({2'000'000'000, 0});
  CHECK(refused_h5(f) ==
        "a.h5: attribute num_nodes: 2000000000, but nothing in the file has that many nodes");

  f = small_file();
  f.attributes["num_classes"] = int64_t{10'000'000};
  const std::string most = ", expected 10000 at most, as 3 have a label; for numbers use a regression task";
  CHECK(refused_h5(f) == "a.h5: attribute num_classes: 10000000" + most);
  f.datasets["nodes/y"] = Tensor::from(std::vector<int32_t>{0, 1, 2, 9'999'999, 1, 2});
  f.attributes["task"] = "node_class";
  CHECK(refused_h5(f).starts_with("a.h5: attribute num_classes: 10000000, expected 10000 at most, as 4"));
  f = small_file();
  f.attributes["num_classes"] = int64_t{10'000};
  CHECK(refused_h5(f) == "no error");
  f.attributes["task"] = "none";
  f.attributes["num_classes"] = int64_t{10'000'000};
  CHECK(refused_h5(f).starts_with("a.h5: attribute num_classes: 10000000"));

  f = small_file(true);
  f.attributes["nodes@x_cols"] = int64_t{2'000'000'000};
  CHECK(refused_h5(f) == "a.h5: attribute nodes@x_cols: 2000000000 for 6 entries, expected 1000000 at most");
  f.attributes["nodes@x_cols"] = int64_t{1'000'000};
  CHECK(refused_h5(f) == "no error");
}

TEST_CASE("a highly compressed text is refused before it takes memory") {
  const std::string line = "1 2\n";
  std::string million;
  while (million.size() < (size_t{1} << 20)) million += line;
  const std::string member = gzipped(million, 9);
  std::string bomb;
  while (bomb.size() < (size_t{3} << 20)) bomb += member;
  CHECK(mentions(refused_edges(bomb), "expands to more than 100 times its size"));
}
