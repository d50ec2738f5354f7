#include "../support.h"
#include "text_folder.h"
#include <adjoint/data/import/edge_list.h>

#include <cmath>
#include <functional>

using namespace adj;
using namespace adj::test;

namespace {

using Ints = std::vector<int32_t>;

struct Files {
  TemporaryDirectory folder;
  std::string edges(const std::string& text) const { return write_file(folder.file("edges"), text); }
  std::string put(const std::string& name, const std::string& text) const {
    return write_file(folder.file(name), text);
  }
  Dataset import(const std::string& text, const EdgeListOptions& options = {}) const {
    return import_edge_list(edges(text), options);
  }
  /// What is said of it, without the folder.
  std::string refused(const std::string& text, const EdgeListOptions& options = {}) const {
    return error_in<DataError>(folder.file(""), [&] { (void)import(text, options); });
  }
};

Ints sources(const Dataset& data) { return data.graph.edge_index().src.to_vector<int32_t>(); }
Ints targets(const Dataset& data) { return data.graph.edge_index().dst.to_vector<int32_t>(); }

std::vector<std::string> names(const Dataset& data) {
  const auto bytes = data.node_names.to_vector<uint8_t>();
  const auto offsets = data.node_name_offsets.to_vector<int64_t>();
  std::vector<std::string> all;
  for (size_t k = 0; k + 1 < offsets.size(); ++k)
    all.emplace_back(bytes.begin() + offsets[k], bytes.begin() + offsets[k + 1]);
  return all;
}

}  // namespace

TEST_CASE("integer ids of any size are numbered in order of appearance and kept") {
  const Files files;
  const std::string text = "# SNAP\n900719925474099\t-5\r\n\n-5  7\n7 900719925474099\n";
  for (const std::string& bytes : {text, gzipped(text)}) {
    const Dataset data = files.import(bytes);
    CHECK(data.num_nodes() == 3);
    CHECK(sources(data) == Ints{0, 1, 2});
    CHECK(targets(data) == Ints{1, 2, 0});
    CHECK(data.node_ids.to_vector<int64_t>() == std::vector<int64_t>{900719925474099, -5, 7});
    CHECK_FALSE(data.undirected);
    CHECK(data.task == Task::none);
  }
  CHECK_FALSE(files.import("0,1\n1,2\n").node_ids);  // their own numbers
}

TEST_CASE("names are ids, and a header is told from them where ids are integers") {
  const Files files;
  const Dataset data = files.import("ann;bob\nbob;Zoë\nann;ann\n");
  CHECK(names(data) == std::vector<std::string>{"ann", "bob", "Zoë"});
  CHECK(sources(data) == Ints{0, 1, 0});
  CHECK(files.import("source,target\n5,6\n6,5\n").graph.num_edges() == 2);
  CHECK(names(files.import("a,b\nc,d\n", {.header = Header::yes})) == std::vector<std::string>{"c", "d"});
  CHECK(names(files.import("1 2\n2 x\n", {.ids = NodeIds::Kind::names})) ==
        std::vector<std::string>{"1", "2", "x"});
}

TEST_CASE("between tabs fields hold blanks, and those that are passed over may be empty") {
  const Files files;
  const Dataset data = files.import("10\t20\tAnn Smith\t\t0.5\n20\t30\t\tof old age\t2\n 30 \t10\t\t\t1\n",
                                    {.weight_column = 5});
  CHECK(sources(data) == Ints{0, 1, 2});
  CHECK(targets(data) == Ints{1, 2, 0});
  CHECK(data.graph.edge_weight().to_vector<float>() == std::vector<float>{0.5, 2, 1});
  CHECK(files.refused("1\t2\tx\n3\t4\n") == "edges:2: 2 fields, expected 3 as in the first line");
  CHECK(files.refused("1\t2\n3\t\n").starts_with("edges:2: "));
}

TEST_CASE("many ids are numbered alike on any number of threads") {
  const Files files;
  std::string text;
  for (int64_t i = 0; i < 300000; ++i) text += fmt::format("{} {}\n", (i * 7919) % 65537 * 100003, i % 1000);
  Dataset one, four;
  {
    const Threads scope(1);
    one = files.import(text);
  }
  {
    const Threads scope(4);
    four = files.import(text);
  }
  CHECK(one.num_nodes() == four.num_nodes());
  CHECK(one.node_ids.to_vector<int64_t>() == four.node_ids.to_vector<int64_t>());
  CHECK(sources(one) == sources(four));
  const auto ids = one.node_ids.to_vector<int64_t>();
  const Ints src = sources(one), dst = targets(one);
  bool same = one.graph.num_edges() == 300000;
  for (int64_t i = 0; same && i < 300000; ++i)
    same = ids[static_cast<size_t>(src[static_cast<size_t>(i)])] == (i * 7919) % 65537 * 100003 &&
           ids[static_cast<size_t>(dst[static_cast<size_t>(i)])] == i % 1000;
  CHECK(same);
}

TEST_CASE("reverses, equal edges, self-loops and weights are as asked for") {
  const Files files;
  const std::string text = "0 1 2\n1 0 3\n2 2 4\n0 1 5\n";
  const auto kept = NodeIds::Kind::numbers;
  const Dataset both = files.import(text, {.ids = kept, .weight_column = 3, .undirected = true});
  CHECK(both.undirected);
  CHECK(both.graph.is_symmetric());
  CHECK(sources(both) == Ints{0, 1, 2, 0, 1, 0, 1});
  CHECK(both.graph.edge_weight().to_vector<float>() == std::vector<float>{2, 3, 4, 5, 2, 3, 5});
  const Dataset merged = files.import(text, {.ids = kept, .weight_column = 3, .coalesce = true});
  CHECK(merged.graph.num_edges() == 3);
  CHECK(merged.graph.edge_weight().to_vector<float>() == std::vector<float>{3, 7, 4});
  const Dataset plain =
      files.import(text, {.ids = kept, .undirected = true, .coalesce = true, .drop_self_loops = true});
  CHECK(sources(plain) == Ints{0, 1});
  CHECK(targets(plain) == Ints{1, 0});
  CHECK(plain.num_nodes() == 3);
  CHECK(files.import(text, {.ids = kept, .nodes = 9}).num_nodes() == 9);
}

TEST_CASE("Matrix Market files are square matrices of edges") {
  const Files files;
  const Dataset general =
      files.import("%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 0.5\n3 1 -2\n");
  CHECK(sources(general) == Ints{0, 2});
  CHECK(targets(general) == Ints{1, 0});
  CHECK(general.graph.edge_weight().to_vector<float>() == std::vector<float>{0.5f, -2.0f});
  const Dataset symmetric =
      files.import("%%matrixmarket MATRIX coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n");
  CHECK(symmetric.num_nodes() == 4);
  CHECK(symmetric.undirected);
  CHECK(sources(symmetric) == Ints{1, 2, 0});
  CHECK_FALSE(symmetric.graph.edge_weight());

  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  CHECK(files.refused(head) == "edges:1: no size line, expected one of rows, columns and entries");
  CHECK(files.refused(head + "3 3\n") == "edges:2: 2 numbers, expected rows, columns and entries");
  CHECK(files.refused(head + "3 4 1\n1 1\n") == "edges:2: 3 rows and 4 columns, expected a square matrix");
  CHECK(files.refused(head + "3 3 1\n0 1\n") ==
        "edges:3: \"0\" in column 1, expected an integer from 1 to 3");
  CHECK(files.refused(head + "3 3 1\n1 4\n") ==
        "edges:3: \"4\" in column 2, expected an integer from 1 to 3");
  CHECK(files.refused(head + "3 3 2\n1 2\n") == "edges:3: 1 entries, expected 2 as in the size line");
  CHECK(files.refused(head + "3 3 1\n1 2\n2 3\n") == "edges:4: more entries than the 1 of the size line");
  CHECK(files.refused(head + "3 3 1\n1 2 3\n") == "edges:3: 3 fields, expected 2");
  CHECK(files.refused(head + "2147483648 2147483648 1\n1 2\n").starts_with("edges:2: 2147483648 rows"));
  CHECK(files.refused(head + "3 3 2147483648\n1 2\n").starts_with("edges:2: 2147483648 entries"));
  CHECK(files.refused(head + "2000000000 2000000000 1\n1 2\n").find("nodes for 1 edges") !=
        std::string::npos);
  CHECK(files.refused("%%MatrixMarket matrix array real general\n").starts_with("edges:1: "));
  CHECK(files.refused("%%MatrixMarket matrix coordinate complex general\n").starts_with("edges:1: "));
  CHECK(files.refused("%%MatrixMarket matrix coordinate real hermitian\n").starts_with("edges:1: "));
}

TEST_CASE("features, labels and splits are joined by id") {
  const Files files;
  EdgeListOptions o;
  o.node_files.features = files.put("x", "node,a,b\n30,5,6\n10,1,2\n20,3,4\n");
  o.node_files.labels = files.put("y", "id,label\n20,pear\n10,apple\n30,\n");
  o.node_files.train = files.put("train", "10\n");
  o.node_files.val = files.put("val", "20\n");
  o.node_files.test = files.put("test", "40\n");
  o.node_files.features = files.put("x", "node,a,b\n30,5,6\n10,1,2\n40,7,8\n20,3,4\n");
  o.node_files.labels = files.put("y", "id,label\n20,pear\n10,apple\n30,\n40,pear\n");
  const Dataset data = files.import("10 20\n20 30\n30 40\n", o);
  CHECK(data.x.dense().to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(data.y.to_vector<int32_t>() == Ints{0, 1, -1, 1});
  CHECK(data.classes == 2);
  CHECK(data.unlabelled == 1);
  CHECK(data.test.to_vector<int32_t>() == Ints{3});
  const std::string path = files.folder.file("out.h5");
  save_dataset(data, path, 1);
  const Dataset back = load_dataset(path);
  CHECK(back.node_ids.to_vector<int64_t>() == std::vector<int64_t>{10, 20, 30, 40});
  CHECK(fingerprint(back) == fingerprint(load_dataset(path)));
  CHECK(back.to(Device::cpu()).node_ids.numel() == 4);

  o = {};
  o.node_files.features = files.put("x", "1 2\n3 4\n5 6\n");
  o.node_files.features_by_row = true;
  o.node_files.labels = files.put("y", "10\n9\n10\n");
  o.node_files.labels_by_row = true;
  const Dataset rows = files.import("2 0\n0 1\n", o);
  CHECK(rows.x.dense().to_vector<float>() == std::vector<float>{5, 6, 1, 2, 3, 4});
  CHECK(rows.y.to_vector<int32_t>() == Ints{1, 1, 0});  // 9 before 10, as numbers

  o = {};
  o.node_files.labels = files.put("y", "a 1 0\nb 0 nan\n");
  o.node_files.task = Task::node_multilabel;
  const Dataset many = files.import("a b\nb c\n", o);
  CHECK(many.y.shape() == Shape{3, 2});
  CHECK(many.unlabelled == 1);
  CHECK(names(many) == std::vector<std::string>{"a", "b", "c"});
  save_dataset(many, path);
  CHECK(names(load_dataset(path)) == names(many));
}

TEST_CASE("bad lists and bad files of nodes are refused with file and line") {
  const Files files;
  CHECK(files.refused("") == "edges: no edges, expected some");
  CHECK(files.refused("# nothing\n") ==
        "edges: no edges, expected some beside 1 line of comments (--comment says what is one)");
  CHECK(files.refused("1\n2\n") == "edges:1: one column, expected two ids");
  CHECK(files.refused("1 2\n3\n") == "edges:2: 1 fields, expected 2 as in the first line");
  CHECK(files.refused("1 2\n3 4 5\n") == "edges:2: 3 fields, expected 2 as in the first line");
  CHECK(
      files.refused("1 2\n3 x\n").starts_with("edges:2: \"x\" in column 2, expected an integer of 64 bits"));
  CHECK(files.refused("1 2\n3 9223372036854775808\n").starts_with("edges:2: \"9223372036854775808\""));
  CHECK(files.refused("a,b\nc,\n") == "edges:2: nothing in column 2, expected the id of a node");
  CHECK(files.refused("1 2 x\n", {.weight_column = 3})
            .starts_with("edges:1: \"x\" in column 3, expected a weight"));
  CHECK(files.refused("1 2 inf\n", {.weight_column = 3}).starts_with("edges:1: \"inf\" in column 3"));
  CHECK(files.refused("1 2\n", {.weight_column = 3})
            .starts_with("edges: 2 columns, expected weights in column 3"));
  const EdgeListOptions numbers{.ids = NodeIds::Kind::numbers};
  CHECK(files.refused("0 -1\n", numbers) ==
        "edges:1: \"-1\" in column 2, expected an integer from 0 to 2147483645");
  CHECK(files.refused("0 2147483646\n", numbers).starts_with("edges:1: \"2147483646\""));
  CHECK(files.refused("0 2147483645\n", numbers).starts_with("edges: 2147483646 nodes for 1 edges"));

  const std::string list = "10 20\n20 30\n";
  const auto with = [&](auto member, const std::string& text) {
    EdgeListOptions o;
    o.node_files.*member = files.put("nodes", text);
    return files.refused(list, o);
  };
  const auto x = &NodeFiles::features, y = &NodeFiles::labels;
  CHECK(with(x, "10,1\n20,2\n30,3\n") == "none");
  CHECK(with(x, "") == "nodes: no rows, expected some");
  CHECK(with(x, "10,1\n20,2\n") == "nodes:2: 2 rows, expected 3, one a node");
  CHECK(with(x, "10,1\n20,2\n10,3\n") ==
        "nodes:3: the node of an earlier line again, expected one line a node");
  CHECK(with(x, "10,1\n20,2\n40,3\n") ==
        "nodes:3: \"40\" stands in no edge, expected the id of a node (--ids numbers --nodes N has nodes "
        "without edges)");
  CHECK(with(x, "10,1\n20,2,3\n30,3\n") == "nodes:2: 3 fields, expected 2 as in the first line");
  CHECK(with(x, "10,1\n20,nan\n30,3\n").starts_with("nodes:2: \"nan\""));
  CHECK(with(y, "10,a\n11,b\n") ==
        "nodes:2: \"11\" stands in no edge, expected the id of a node (--ids numbers --nodes N has nodes "
        "without edges)");
  CHECK(with(y, "10,a\n10,b\n") == "nodes:2: the node of an earlier line again, expected one line a node");
  CHECK(with(y, "10,a,b\n").starts_with("nodes:1: more than one label"));
  CHECK(with(y, "10,\n") == "nodes: no labels, expected some");

  EdgeListOptions o;
  o.node_files.labels_by_row = true;
  o.node_files.labels = files.put("nodes", "a\nb\n");
  CHECK(files.refused("0 1\n1 2\n", o) == "nodes:2: 2 rows, expected 3, one a node");
  o.node_files.labels = files.put("nodes", "a\nb\nc\nd\n");
  CHECK(files.refused("0 1\n1 2\n", o) ==
        "nodes:4: row 3, from 0, but no node has that id (--node-headers yes: the first line is a header)");
  o = {};
  o.node_files.labels = files.put("y", "10,a\n20,b\n");
  o.node_files.train = files.put("train", "10\n");
  o.node_files.val = files.put("val", "20\n");
  o.node_files.test = files.put("test", "30\n");
  CHECK(files.refused(list, o) == "test:1: \"30\", a node without a label");
  o.node_files.test = files.put("test", "10\n");
  CHECK(files.refused(list, o) == "test:1: \"10\" again, expected each node once in a split");
  o.node_files.test = files.put("test", "");
  CHECK(files.refused(list, o) == "test: no rows, expected some");
}
