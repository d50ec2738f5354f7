#include "edge_files.h"

using namespace adj;
using namespace adj::test;

TEST_CASE_FIXTURE(EdgeFiles, "integer ids of any size are numbered in order of appearance and kept") {
  const std::string text = "# SNAP\n900719925474099\t-5\r\n\n-5  7\n7 900719925474099\n";
  for (const std::string& bytes : {text, gzipped(text)}) {
    const Dataset data = import(bytes);
    CHECK(data.num_nodes() == 3);
    CHECK(src_of(data) == I{0, 1, 2});
    CHECK(dst_of(data) == I{1, 2, 0});
    CHECK(data.node_ids.to_vector<int64_t>() == L{900719925474099, -5, 7});
    CHECK_FALSE(data.undirected);
    CHECK(data.task == Task::none);
  }
  CHECK_FALSE(import("0,1\n1,2\n").node_ids);  // their own numbers
}

TEST_CASE_FIXTURE(EdgeFiles, "names as ids, and a header before integer ids") {
  const Dataset data = import("ann;bob\nbob;Zoë\nann;ann\n");
  CHECK(names(data) == Names{"ann", "bob", "Zoë"});
  CHECK(src_of(data) == I{0, 1, 0});
  CHECK(import("source,target\n5,6\n6,5\n").graph.num_edges() == 2);
  CHECK(names(import("a,b\nc,d\n", {.header = Header::yes})) == Names{"c", "d"});
  CHECK(names(import("1 2\n2 x\n", {.ids = NodeIds::Kind::names})) == Names{"1", "2", "x"});
}

TEST_CASE_FIXTURE(EdgeFiles, "tab-separated fields may contain blanks, and unused ones may be empty") {
  const Dataset data = import("10\t20\tAnn Smith\t\t0.5\n20\t30\t\tof old age\t2\n 30 \t10\t\t\t1\n",
                              {.columns = {.weight = "5"}});
  CHECK(src_of(data) == I{0, 1, 2});
  CHECK(dst_of(data) == I{1, 2, 0});
  CHECK(weights(data) == F{0.5, 2, 1});
  check_refused({{"1\t2\tx\n3\t4\n", ":2: 2 fields, expected 3 as in the first line (--layout neighbors…"},
                 {"1\t2\n3\t\n", ":2: …"}});
}

TEST_CASE_FIXTURE(EdgeFiles, "many ids get the same numbers on any number of threads") {
  std::string text;
  for (int64_t i = 0; i < 300000; ++i) text += fmt::format("{} {}\n", (i * 7919) % 65537 * 100003, i % 1000);
  const auto with = [&](int threads) {
    const Threads scope(threads);
    return import(text);
  };
  const Dataset one = with(1), four = with(4);
  CHECK(one.num_nodes() == four.num_nodes());
  CHECK(one.node_ids.to_vector<int64_t>() == four.node_ids.to_vector<int64_t>());
  CHECK(src_of(one) == src_of(four));
  const auto ids = one.node_ids.to_vector<int64_t>();
  const I src = src_of(one), dst = dst_of(one);
  bool same = one.graph.num_edges() == 300000;
  for (int64_t i = 0; same && i < 300000; ++i)
    same = ids[static_cast<size_t>(src[static_cast<size_t>(i)])] == (i * 7919) % 65537 * 100003 &&
           ids[static_cast<size_t>(dst[static_cast<size_t>(i)])] == i % 1000;
  CHECK(same);
}

TEST_CASE_FIXTURE(EdgeFiles, "reverse edges, equal edges, self-loops and weights follow the options") {
  const std::string text = "0 1 2\n1 0 3\n2 2 4\n0 1 5\n";
  const auto kept = NodeIds::Kind::numbers;
  const Dataset both = import(text, {.ids = kept, .columns = {.weight = "3"}, .undirected = true});
  CHECK(both.undirected);
  CHECK(both.graph.is_symmetric());
  CHECK(src_of(both) == I{0, 1, 2, 0, 1, 0, 1});
  CHECK(weights(both) == F{2, 3, 4, 5, 2, 3, 5});
  const Dataset merged = import(text, {.ids = kept, .columns = {.weight = "3"}, .coalesce = true});
  CHECK(merged.graph.num_edges() == 3);
  CHECK(weights(merged) == F{3, 7, 4});
  const Dataset plain =
      import(text, {.ids = kept, .undirected = true, .coalesce = true, .drop_self_loops = true});
  CHECK(src_of(plain) == I{0, 1});
  CHECK(dst_of(plain) == I{1, 0});
  CHECK(plain.num_nodes() == 3);
  CHECK(import(text, {.ids = kept, .nodes = 9}).num_nodes() == 9);
}

TEST_CASE_FIXTURE(EdgeFiles, "Matrix Market files are square matrices of edges") {
  const Dataset general =
      import("%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 0.5\n3 1 -2\n");
  CHECK(src_of(general) == I{0, 2});
  CHECK(dst_of(general) == I{1, 0});
  CHECK(weights(general) == F{0.5f, -2.0f});
  const Dataset symmetric = import("%%matrixmarket MATRIX coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n");
  CHECK(symmetric.num_nodes() == 4);
  CHECK(symmetric.undirected);
  CHECK(src_of(symmetric) == I{1, 2, 0});
  CHECK_FALSE(symmetric.graph.edge_weight());

  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  check_refused({{head, ":1: no size line, expected one of rows, columns and entries"},
                 {head + "3 3\n", ":2: 2 numbers, expected rows, columns and entries"},
                 {head + "3 4 1\n1 1\n", ":2: 3 rows and 4 columns, expected a square matrix"},
                 {head + "3 3 1\n0 1\n", ":3: \"0\" in column 1, expected an integer from 1 to 3"},
                 {head + "3 3 1\n1 4\n", ":3: \"4\" in column 2, expected an integer from 1 to 3"},
                 {head + "3 3 2\n1 2\n", ":3: 1 entries, expected 2 as in the size line"},
                 {head + "3 3 1\n1 2\n2 3\n", ":4: more entries than the 1 of the size line"},
                 {head + "3 3 1\n1 2 3\n", ":3: 3 fields, expected 2"},
                 {head + "2147483648 2147483648 1\n1 2\n", ":2: 2147483648 rows…"},
                 {head + "3 3 2147483648\n1 2\n", ":2: 2147483648 entries…"},
                 {head + "2000000000 2000000000 1\n1 2\n", "…nodes for 1 edges…"},
                 {"%%MatrixMarket matrix array real general\n", ":1: …"},
                 {"%%MatrixMarket matrix coordinate complex general\n", ":1: …"},
                 {"%%MatrixMarket matrix coordinate real hermitian\n", ":1: …"}});
}

TEST_CASE_FIXTURE(EdgeFiles, "features, labels and splits are joined by id") {
  EdgeListOptions o = with_split("10\n", "20\n", "40\n");
  o.node_files.features = put("x", "node,a,b\n30,5,6\n10,1,2\n40,7,8\n20,3,4\n");
  o.node_files.labels = put("y", "id,label\n20,pear\n10,apple\n30,\n40,pear\n");
  const Dataset data = import("10 20\n20 30\n30 40\n", o);
  CHECK(features(data) == F{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(classes(data) == I{0, 1, -1, 1});
  CHECK(data.classes == 2);
  CHECK(data.unlabelled == 1);
  CHECK(test_of(data) == I{3});
  const std::string path = folder.file("out.h5");
  save_dataset(data, path, 1);
  const Dataset back = load_dataset(path);
  CHECK(back.node_ids.to_vector<int64_t>() == L{10, 20, 30, 40});
  CHECK(fingerprint(back) == fingerprint(load_dataset(path)));
  CHECK(back.to(Device::cpu()).node_ids.numel() == 4);

  o = {};
  o.node_files.features = put("x", "1 2\n3 4\n5 6\n");
  o.node_files.features_by_row = true;
  o.node_files.labels = put("y", "10\n9\n10\n");
  o.node_files.labels_by_row = true;
  const Dataset rows = import("2 0\n0 1\n", o);
  CHECK(features(rows) == F{5, 6, 1, 2, 3, 4});
  CHECK(classes(rows) == I{1, 1, 0});  // 9 before 10, as numbers

  o = {};
  o.node_files.labels = put("y", "a 1 0\nb 0 nan\n");
  o.node_files.task = Task::node_multilabel;
  const Dataset many = import("a b\nb c\n", o);
  CHECK(many.y.shape() == Shape{3, 2});
  CHECK(many.unlabelled == 1);
  CHECK(names(many) == Names{"a", "b", "c"});
  save_dataset(many, path);
  CHECK(names(load_dataset(path)) == names(many));
}

TEST_CASE_FIXTURE(EdgeFiles, "bad lists and bad files of nodes, with the file and line in the error") {
  const EdgeListOptions weighted{.columns = {.weight = "3"}}, numbers{.ids = NodeIds::Kind::numbers};
  check_refused(
      {{"", ": no edges, expected some"},
       {"# nothing\n",
        ": no edges, expected some in addition to 1 line of comments (--comment defines them)"},
       {"1\n2\n", ":1: one column, expected two ids (--separator TEXT says what is between them)"},
       {"1 2\n3\n", ":2: 1 fields, expected 2 as in the first line…"},
       {"1 2\n3 4 5\n", ":2: 3 fields, expected 2 as in the first line…"},
       {"1 2\n3 x\n", ":2: \"x\" in column 2, expected a 64-bit integer…"},
       {"1 2\n3 9223372036854775808\n", ":2: \"9223372036854775808\"…"},
       {"a,b\nc,\n",
        ":2: nothing in column 2, expected the id of a node (--missing-ids drop passes over such lines)"},
       {"1 2 x\n", ":1: \"x\" in column 3, expected a weight…", weighted},
       {"1 2 inf\n", ":1: \"inf\" in column 3…", weighted},
       {"1 2\n", ":1: no column \"3\", expected a number from 1 to 2, as there is no header…", weighted},
       {"0 -1\n", ":1: \"-1\" in column 2, expected an integer from 0 to 2147483645", numbers},
       {"0 2147483646\n", ":1: \"2147483646\"…", numbers},
       {"0 2147483645\n", ": 2147483646 nodes for 1 edges…", numbers}});

  const std::string list = "10 20\n20 30\n", unknown =
                                                 " is in no edge, expected an id that is in an edge (--ids "
                                                 "numbers --nodes N allows nodes without edges)";
  const auto x = [&](const std::string& text, const std::string& message) {
    check_refused({{list, message, with_features(text)}});
  };
  x("10,1\n20,2\n30,3\n", "none");
  x("", "features: no rows, expected some");
  x("10,1\n20,2\n", "features:2: 2 rows for 3 nodes; no row for '30'");
  x("10,1\n20,2\n10,3\n", "features:3: node '10' occurs twice, expected one row each");
  x("10,1\n20,2\n40,3\n", "features:3: 3 rows for 4 nodes; no row for '30'");
  x("10,1\n20,2,3\n30,3\n", "features:2: 3 fields, expected 2 as in the first line");
  x("10,1\n20,nan\n30,3\n", "features:2: no number in column 2…");
  const auto y = [&](const std::string& text, const std::string& message) {
    check_refused({{list, message, with_labels(text)}});
  };
  y("10,a\n11,b\n", "labels:2: \"11\"" + unknown);
  y("10,a\n10,b\n",
    "labels:2: node '10' occurs twice, expected one row each (--task node_multilabel takes several labels)");
  y("10,a,b\n", "labels:1: more than one label…");
  y("10,\n", "labels: no labels, expected some");

  const auto by_row = [&](const std::string& text, const std::string& message, Task task = Task::node_class) {
    EdgeListOptions o = with_labels(text);
    o.node_files.labels_by_row = true;
    o.node_files.task = task;
    check_refused({{"0 1\n1 2\n", message, o}});
  };
  by_row("a\nb\n", "labels:2: 2 rows for 3 nodes; no row for '2'");
  for (const Task task : {Task::node_regression, Task::node_multilabel})
    by_row("1\n0\n", "labels:2: 2 rows for 3 nodes; no row for '2'", task);
  by_row("a\nb\nc\nd\n",
         "labels:4: row 3, from 0, but no node has that id (--node-headers yes: the first line is a header)");
  const auto split = [&](const std::string& test, const std::string& message) {
    check_refused({{list, message, with_split("10\n", "20\n", test, with_labels("10,a\n20,b\n"))}});
  };
  split("30\n", "test:1: \"30\", a node without a label");
  split("10\n", "test:1: \"10\" occurs twice, expected once in a split");
  split("", "test: no rows, expected some");
}
