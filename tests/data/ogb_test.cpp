#include "dataset_parts.h"
#include "npz_file.h"
#include "text_folder.h"
#include <adjoint/data/import/ogb.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Four nodes and five edges, one of them a loop and one listed twice.
FolderText node_folder() {
  return {{"raw/edge.csv.gz", "0,1\n2,1\n3,3\n0,1\n1,0\n"},
          {"raw/num-node-list.csv.gz", "4\n"},
          {"raw/num-edge-list.csv.gz", "5\n"},
          {"raw/node-feat.csv.gz", "0.5,-1\n2,3\n4e-1,5\n6,7\n"},
          {"raw/edge-feat.csv.gz", "10,1\n20,2\n30,3\n40,4\n50,5\n"},
          {"raw/node_year.csv.gz", "2001\n2002\n2003\n2004\n"},
          {"raw/node-label.csv.gz", "2\n0\n1\n2\n"},
          {"split/time/train.csv.gz", "3\n0\n"},
          {"split/time/valid.csv.gz", "1\n"},
          {"split/time/test.csv.gz", "2\n"}};
}

/// Three graphs of 2, 1 and 3 nodes.
FolderText graph_folder() {
  return {{"raw/edge.csv.gz", "0,1\n1,0\n2,0\n"},
          {"raw/num-node-list.csv.gz", "2\n1\n3\n"},
          {"raw/num-edge-list.csv.gz", "1\n0\n2\n"},
          {"raw/node-feat.csv.gz", "1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n"},
          {"raw/edge-feat.csv.gz", "1\n2\n3\n"},
          {"raw/graph-label.csv.gz", "1\n0\n1\n"},
          {"split/scaffold/train.csv.gz", "2\n"},
          {"split/scaffold/valid.csv.gz", "0\n"},
          {"split/scaffold/test.csv.gz", "1\n"}};
}

Dataset import(const FolderText& files, const OgbOptions& options = {}) {
  const TemporaryDirectory folder;
  write_folder(folder.file("ogbn_small"), files);
  return import_ogb(folder.file("ogbn_small"), options);
}

template <class E = DataError>
std::string refused(const FolderText& files, const OgbOptions& options = {}) {
  const TemporaryDirectory folder;
  write_folder(folder.file("d"), files);
  return error_in<E>(folder.file("d") + "/", [&] { (void)import_ogb(folder.file("d"), options); });
}

NpzFile binary_data() {
  NpzFile f;
  f.add("edge_index", npy<int64_t>({2, 5}, {0, 2, 3, 0, 1, 1, 1, 3, 1, 0}));
  f.add("num_nodes_list", npy<int64_t>({1}, {4})).add("num_edges_list", npy<int64_t>({1}, {5}));
  f.add("node_feat", npy<float>({4, 2}, {0.5, -1, 2, 3, 0.4f, 5, 6, 7}), 8);
  f.add("edge_feat", npy<float>({5, 2}, {10, 1, 20, 2, 30, 3, 40, 4, 50, 5}));
  f.add("node_year", npy<int64_t>({4, 1}, {2001, 2002, 2003, 2004}));
  return f;
}
NpzFile binary_labels(const F& labels = {2, 0, 1, 2}) {
  NpzFile f;
  f.add("node_label", npy<float>({4, 1}, labels));
  return f;
}

Dataset import_binary(const NpzFile& data, const NpzFile& labels, const OgbOptions& options = {}) {
  const TemporaryDirectory folder;
  write_folder(folder.file("d"),
               with(without(node_folder(), {"raw/"}),
                    {{"raw/data.npz", data.bytes()}, {"raw/node-label.npz", labels.bytes()}}));
  return import_ogb(folder.file("d"), options);
}

}  // namespace

TEST_CASE("OGB: a graph whose nodes have classes") {
  const Dataset d = import(node_folder());
  CHECK(d.name == "ogbn_small");
  CHECK(d.task == Task::node_class);
  CHECK_FALSE(d.undirected);
  CHECK(d.classes == 3);
  CHECK(offsets(d) == L{0, 1, 4, 4, 5});
  CHECK(sources(d) == I{1, 0, 0, 2, 3});
  CHECK(attributes(d) == F{50, 5, 10, 1, 40, 4, 20, 2, 30, 3});
  CHECK(features(d) == F{0.5, -1, 2, 3, 0.4f, 5, 6, 7});
  CHECK(classes(d) == I{2, 0, 1, 2});
  REQUIRE(d.splits.size() == 1);
  CHECK(train_of(d) == I{3, 0});
  CHECK(val_of(d) == I{1});
  CHECK(test_of(d) == I{2});
}

TEST_CASE("OGB: inverse edges follow their edges, with features, also for loops") {
  const Dataset d = import(node_folder(), {.inverse_edges = true});
  CHECK(d.undirected);
  CHECK(d.graph.is_symmetric());
  CHECK(offsets(d) == L{0, 3, 7, 8, 10});
  CHECK(sources(d) == I{1, 1, 1, 0, 0, 0, 2, 1, 3, 3});
  CHECK(attributes(d) == F{10, 1, 40, 4, 50, 5, 10, 1, 40, 4, 50, 5, 20, 2, 20, 2, 30, 3, 30, 3});
}

TEST_CASE("OGB: the folder, raw/ in it and a folder without raw/ are the same, gzipped or not") {
  const TemporaryDirectory folder;
  FolderText flat, plain;
  for (const auto& [name, text] : node_folder()) {
    flat[name.starts_with("raw/") ? name.substr(4) : name] = text;
    plain[name.substr(0, name.size() - 3)] = text;
  }
  write_folder(folder.file("a"), node_folder());
  write_folder(folder.file("b"), flat);
  write_folder(folder.file("c"), plain);
  const std::string expected = fingerprint(import_ogb(folder.file("a")));
  const auto same = [&](const std::string& path) {
    Dataset d = import_ogb(folder.file(path));
    d.name = "a";
    return fingerprint(d) == expected;
  };
  for (const char* path : {"a/", "a/raw", "a/raw/", "b", "c"}) {
    CAPTURE(path);
    CHECK(same(path));
  }
}

TEST_CASE("OGB: features and splits may be absent") {
  const Dataset d = import(without(node_folder(), {"raw/node-feat", "raw/edge-feat", "split/"}));
  CHECK_FALSE(d.x);
  CHECK(d.graph.edge_attributes().empty());
  CHECK(offsets(d) == L{0, 1, 4, 4, 5});
  CHECK(sources(d) == I{1, 0, 0, 2, 3});  // ascending, though the file has 0, 2, 0
  const Dataset both = import(without(node_folder(), {"raw/edge-feat"}), {.inverse_edges = true});
  CHECK(offsets(both) == L{0, 3, 7, 8, 10});
  CHECK(sources(both) == I{1, 1, 1, 0, 0, 0, 2, 1, 3, 3});
  CHECK(d.splits.empty());
  CHECK(d.train.numel() == 0);
}

TEST_CASE("OGB: additional tables are appended to the features") {
  CHECK(features(import(node_folder(), {.node_tables = {"node_year"}})) ==
        F{0.5, -1, 2001, 2, 3, 2002, 0.4f, 5, 2003, 6, 7, 2004});
  CHECK(import(without(node_folder(), {"raw/node-feat.csv.gz"}), {.node_tables = {"node_year"}}).x.cols() ==
        1);
  const FolderText proteins = with(node_folder(), {{"raw/species.csv.gz", "1\n2\n3\n4\n"}});
  CHECK(import(proteins, {.node_tables = {"node_species", "node_year"}}).x.cols() == 4);
  CHECK(refused(node_folder(), {.node_tables = {"node_age"}}) == "raw: node_age.csv.gz is missing");
  CHECK(refused<UsageError>(node_folder(), {.node_tables = {"../x"}}) ==
        "--node-tables ../x: expected names like node_year");
}

TEST_CASE("OGB: kinds of labels") {
  const auto labelled = [](const std::string& text, const OgbOptions& options = {}) {
    return import(with(node_folder(), {{"raw/node-label.csv.gz", text}}), options);
  };
  const auto asked = [](const std::string& text, const OgbOptions& options = {}) {
    return refused<UsageError>(with(node_folder(), {{"raw/node-label.csv.gz", text}}), options);
  };
  CHECK(labelled("0,1\n1,1\n0,0\n1,0\n").task == Task::node_multilabel);
  CHECK(labelled("0,1\n1,1\n0,0\n1,0\n").y.to_vector<float>() == F{0, 1, 1, 1, 0, 0, 1, 0});
  CHECK(labelled("0.5\n1\n-2\n1\n").task == Task::node_regression);
  CHECK(labelled("0.5,1\n1,1\n0,0\n1,0\n").y.shape() == Shape{4, 2});
  CHECK(classes(labelled("2.0\n0.0\n1.0\n1.0\n")) == I{2, 0, 1, 1});
  CHECK(labelled("2\n0\n1\n1\n", {.labels = LabelKind::regression}).task == Task::node_regression);
  CHECK(labelled("1\n0\n1\n1\n", {.labels = LabelKind::multilabel}).y.shape() == Shape{4, 1});
  const Dataset second = labelled("7,1\n7,3\n7,0\n7,0\n", {.label_column = 1});
  CHECK(classes(second) == I{1, 3, 0, 0});
  CHECK(second.classes == 4);

  CHECK(says(asked("-1\n0\n1\n1\n"), "…expected --task class, multilabel or regression…"));
  const std::string several = "1,2\n0,2\n1,1\n1,1\n";
  CHECK(says(asked(several), "…several columns of integers, whose kind is unknown…"));
  CHECK(asked(several, {.label_column = 2}) == "--label-column 2: node_label has 2 columns, expected 0 to 1");
}

TEST_CASE("OGB: nodes without a label are removed from the split") {
  const Quiet quiet;
  FolderText files = with(node_folder(), {{"raw/node-label.csv.gz", "nan\n0.0\n1.0\n2.0\n"}});
  const Dataset d = import(files);
  CHECK(classes(d) == I{-1, 0, 1, 2});
  CHECK(d.unlabelled == 1);
  CHECK(train_of(d) == I{3});
  for (const char* text : {"\"\"\n0\n1\n2\n", "\n0\n1\n2\n"}) {
    files["raw/node-label.csv.gz"] = text;
    CHECK(fingerprint(import(files)) == fingerprint(d));
  }
  files["raw/node-label.csv.gz"] = ",1\n,\n0,0\n1,0\n";
  files["split/time/valid.csv.gz"] = "1\n3\n";
  files["split/time/train.csv.gz"] = "0\n";
  const Dataset columns = import(files);
  CHECK(columns.task == Task::node_multilabel);
  CHECK(columns.unlabelled == 1);
  CHECK(std::isnan(columns.y.data<float>()[3]));
  CHECK(train_of(columns) == I{0});
  CHECK(val_of(columns) == I{3});
}

TEST_CASE("OGB: many graphs") {
  const Dataset d = import(graph_folder());
  CHECK(d.task == Task::graph_class);
  CHECK(d.classes == 2);
  CHECK(d.graph_offsets.to_vector<int64_t>() == L{0, 2, 3, 6});
  CHECK(d.graph_y.to_vector<int32_t>() == I{1, 0, 1});
  CHECK_FALSE(d.y);
  CHECK(offsets(d) == L{0, 0, 1, 1, 3, 3, 3});
  CHECK(sources(d) == I{0, 4, 5});
  CHECK(attributes(d) == F{1, 2, 3});
  CHECK(d.x.rows() == 6);
  CHECK(train_of(d) == I{2});

  const Dataset both = import(graph_folder(), {.inverse_edges = true});
  CHECK(offsets(both) == L{0, 1, 2, 2, 4, 5, 6});
  CHECK(sources(both) == I{1, 0, 4, 5, 3, 3});
  CHECK(attributes(both) == F{1, 1, 2, 3, 2, 3});

  CHECK(import(with(graph_folder(), {{"raw/graph-label.csv.gz", "-0.5\n1\n2\n"}})).task ==
        Task::graph_regression);
  const FolderText tasks = with(graph_folder(), {{"raw/graph-label.csv.gz", "1,0\n0,1\n1,1\n"}});
  CHECK(refused(tasks) ==
        "raw/graph-label.csv.gz: 2 columns of 0 and 1, which no task of graphs has; expected --label-column "
        "K for one of them, or --task regression for all as targets");
  CHECK(import(tasks, {.label_column = 1}).graph_y.to_vector<int32_t>() == I{0, 1, 1});
  CHECK(import(tasks, {.labels = LabelKind::regression}).graph_y.shape() == Shape{3, 2});
}

TEST_CASE("OGB: the binary form") {
  const Dataset d = import_binary(binary_data(), binary_labels());
  Dataset text = import(node_folder());
  text.name = "d";
  CHECK(fingerprint(d) == fingerprint(text));
  const OgbOptions options{.inverse_edges = true, .node_tables = {"node_year"}};
  text = import(node_folder(), options);
  text.name = "d";
  CHECK(fingerprint(import_binary(binary_data(), binary_labels(), options)) == fingerprint(text));

  const Quiet quiet;
  CHECK(import_binary(binary_data(), binary_labels({NAN, 0, 1, 1})).unlabelled == 1);
  const auto refused_binary = [](const NpzFile& data, const F& labels = {2, 0, 1, 2}) {
    return error_in<DataError>("/raw/", [&] { (void)import_binary(data, binary_labels(labels)); });
  };
  const auto pair = [](int64_t target, int64_t edges) {
    NpzFile f;
    f.add("edge_index", npy<int64_t>({2, 1}, {0, target})).add("num_nodes_list", npy<int64_t>({1}, {4}));
    return f.add("num_edges_list", npy<int64_t>({1}, {edges}));
  };
  CHECK(refused_binary(binary_data().add("wild", npy<int64_t>({1}, {0}))) ==
        "data.npz: wild: an unknown array, expected node_… or edge_…");
  CHECK(says(refused_binary(binary_data(), {1, 0, 1, INFINITY}), "…node_label: row 3: inf…"));
  CHECK(refused_binary(pair(4, 1)) == "data.npz: edge_index: 4 at row 1, column 0, expected 0 to 3");
  CHECK(says(refused_binary(pair(3, 2)), "data.npz: edge_index: shape [2, 1], expected [2, 2]…"));
}

TEST_CASE("OGB: splits") {
  const FolderText files = with(node_folder(), {{"split/random/train.csv.gz", "0\n"},
                                                {"split/random/valid.csv.gz", "1\n"},
                                                {"split/random/test.csv.gz", "3\n2\n"}});
  CHECK(refused<UsageError>(files) ==
        "split: several splits, random, time; expected --split NAME for one of them");
  CHECK(test_of(import(files, {.split = "random"})) == I{3, 2});
  CHECK(says(refused<UsageError>(files, {.split = "../split/time"}), "…has only random, time…"));
}

TEST_CASE("OGB: bad folders, with the file and line in the error") {
  const auto check = [](const FolderText& good, const std::vector<BadFile<OgbOptions>>& bad) {
    check_bad_files(good, "*.csv.gz", bad, refused<DataError>);
  };
  check(
      node_folder(),
      {{"raw/edge", "0,1\n2,4\n3,3\n0,1\n1,0\n", ":2: \"4\" in column 2, expected an integer from 0 to 3"},
       {"raw/edge", "0,1\n2,-1\n3,3\n0,1\n1,0\n", ":2: \"-1\"…"},
       {"raw/edge", "0,1\n2,x\n", ":2: \"x\" in column 2…"},
       {"raw/edge", "0,1\n2\n", ":2: 1 fields, expected 2"},
       {"raw/edge", "src,dst\n0,1\n", ":1: \"src\"…"},
       {"raw/edge", "0,1\n", ": 1 lines, expected 5 as in num-edge-list"},
       {"raw/edge", "", ":1: empty, expected numbers"},
       {"raw/edge", kRemoved, "raw: neither edge.csv.gz nor data.npz, expected a dataset's folder raw/"},
       {"raw/node-feat", "1,2\n3\n5,6\n7,8\n", ":2: 1 fields, expected 2"},
       {"raw/node-feat", "1,2\n3,nan\n5,6\n7,8\n", ":2: \"nan\" in column 2…"},
       {"raw/node-feat", "1,2\n3,inf\n5,6\n7,8\n", ":2: \"inf\"…"},
       {"raw/node-feat", "1\n2\n3\n4\n5\n", ": 5 lines, expected 4 as in num-node-list"},
       {"raw/edge-feat", "1\n2\n", ": 2 lines, expected 5 as in num-edge-list"},
       {"raw/node-label", "1\n2\n3\n", ": 3 lines, expected 4 as in num-node-list"},
       {"raw/node-label", "1\n2\ninf\n3\n", ":3: \"inf\"…"},
       {"raw/node-label", "nan\nnan\nnan\nnan\n", ": 4 rows, none with a label, expected at least one"},
       {"raw/node-label",
        "1\n0.5\n1\n2\n",
        ":2: label 0.5, expected a class, an integer from 0 to 16777215",
        {.labels = LabelKind::classes}},
       {"raw/node-label",
        "1\n\n0\n2\n",
        ":4: label 2 in column 1, expected 0 or 1",
        {.labels = LabelKind::multilabel}},
       {"raw/node-label", kRemoved, "raw/edge.csv.gz: expected node-label or graph-label in the same folder"},
       {"raw/node-label", "0\n1\nnan\n1\n",
        "split/time/test.csv.gz: none of 1 has a label, expected at least one index"},
       {"raw/graph-label", "1\n", ": in addition to node labels, expected one kind of labels"},
       {"raw/num-node-list", "0\n", ":1: \"0\"…"},
       {"raw/num-node-list", "2147483647\n", ":1: …"},
       {"raw/num-node-list", "3\n1\n", "raw/num-edge-list.csv.gz: 1 graphs, but num_nodes_list has 2"},
       {"raw/num-node-list", kRemoved, "raw: num-node-list.csv.gz is missing"},
       {"raw/num-edge-list", kRemoved, "raw: num-edge-list.csv.gz is missing"},
       {"raw/triplet-type-list", "",
        "raw: triplet-type-list.csv.gz: a dataset of several types of nodes, expected one type"},
       {"split/time/valid", "2\n0\n", ":2: index 0 is already in train, expected once in a split"},
       {"split/time/train", "0\n\n3\n0\n", ":4: index 0 is already in train, expected once in a split"},
       {"split/time/test", "4\n", ":1: \"4\" in column 1, expected an integer from 0 to 3"},
       {"split/time/test", "-1\n", ":1: \"-1\"…"},
       {"split/time/test", "", ": empty, expected at least one index"},
       {"split/time/test", kRemoved, "split/time: test.csv.gz is missing"}});
  check(with(node_folder(), {{"raw/num-edge-list.csv.gz", "2\n3\n"}}),
        {{"raw/num-node-list", "3\n1\n", ": 2 graphs, expected one graph if nodes have labels"}});
  check(graph_folder(),
        {{"raw/edge", "0,1\n1,0\n\n2,3\n", ":4: \"3\" in column 2, expected an integer from 0 to 2"},
         {"raw/edge", "0,2\n1,0\n2,1\n", ":1: node 2 in graph 0, expected 0 to 1"},
         {"raw/edge", "2,0\n1,0\n2,1\n", ":1: node 2 in graph 0, expected 0 to 1"},
         {"raw/graph-label", "1\n0\n", ": 2 lines, expected 3 as in num-node-list (a line per graph)"}});
  check(without(graph_folder(), {"raw/node-feat", "raw/edge-feat"}),
        {{"raw/num-node-list", "2\n1\n2000000000\n", ": 2000000003 nodes, but nothing has that many"},
         {"raw/num-node-list", "2000000000\n2000000000\n2000000000\n",
          ": 6000000000 nodes, expected at most 2147483646"}});
  for (const auto& [name, text] : without(node_folder(), {"raw/node_year"})) {
    CAPTURE(name);
    const TemporaryDirectory folder;
    write_folder(folder.file("d"), node_folder());
    const auto path = std::filesystem::path(folder.file("d")) / name;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
    CHECK(says(error_in<DataError>("", [&] { (void)import_ogb(folder.file("d")); }), "…a truncated gzip…"));
  }
  CHECK(error_in<DataError>("", [] { (void)import_ogb("/nowhere/at/all"); }) ==
        "/nowhere/at/all: cannot be opened: No such file or directory");
  CHECK(error_in<DataError>("", [] { (void)import_ogb("/dev/null"); }) ==
        "/dev/null: not a folder, expected the one that holds raw/ and split/");
}

TEST_CASE("OGB: an imported dataset is unchanged by saving and loading") {
  for (const Dataset& d : {import(node_folder(), {.inverse_edges = true}), import(graph_folder())})
    CHECK(fingerprint(saved_and_loaded(d)) == fingerprint(d));
}
