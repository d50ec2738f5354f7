#include "text_folder.h"
#include <adjoint/core/log.h>
#include <adjoint/data/import/tu.h>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using F = std::vector<float>;

/// Graph 1 has the nodes 1 and 2, graph 2 the nodes 3 to 5; a loop, and an edge that stands twice.
FolderText small_folder() {
  return {{"SMALL_A.txt", "1, 2\n2, 1\n3, 4\n4, 4\n3, 4\n5, 3\n"},
          {"SMALL_graph_indicator.txt", "1\n1\n2\n2\n2\n"},
          {"SMALL_graph_labels.txt", "1\n-1\n"},
          {"SMALL_node_labels.txt", "3\n5\n3\n4\n5\n"},
          {"SMALL_node_attributes.txt", "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n"},
          {"SMALL_edge_labels.txt", "0\n0\n1\n1\n2\n0\n"},
          {"SMALL_edge_attributes.txt", "10\n20\n30\n40\n50\n60\n"},
          {"README.txt", "of no importance"}};
}

FolderText with(FolderText files, const std::string& part, const std::string& text) {
  files["SMALL_" + part + ".txt"] = text;
  return files;
}
FolderText without(FolderText files, const std::string& part) {
  files.erase("SMALL_" + part + ".txt");
  return files;
}

/// What is left out is said, which is not wanted here.
struct Quiet {
  LogLevel before = log_level();
  Quiet() { set_log_level(LogLevel::warning); }
  ~Quiet() { set_log_level(before); }
};

Dataset import(const FolderText& files, const TuOptions& options = {}) {
  const Quiet quiet;
  const TemporaryDirectory folder;
  write_folder(folder.file("d"), files);
  return import_tu(folder.file("d"), options);
}

std::string refused(const FolderText& files, const TuOptions& options = {}) {
  const Quiet quiet;
  const TemporaryDirectory folder;
  write_folder(folder.file("d"), files);
  return error_in<DataError>(folder.file("d") + "/", [&] { (void)import_tu(folder.file("d"), options); });
}

I sources(const Dataset& d) { return d.graph.in_edges().indices.to_vector<int32_t>(); }
L offsets(const Dataset& d) { return d.graph.in_edges().offsets.to_vector<int64_t>(); }
F features(const Dataset& d) { return d.x.to_dense().to_vector<float>(); }
F attributes(const Dataset& d) { return d.graph.edge_attr("attr").to_vector<float>(); }

}  // namespace

TEST_CASE("TU: graphs, labels as columns, loops removed and parallel edges merged") {
  const Dataset d = import(small_folder());
  CHECK(d.name == "SMALL");
  CHECK(d.task == Task::graph_class);
  CHECK(d.classes == 2);
  CHECK_FALSE(d.undirected);
  CHECK(d.graph_offsets.to_vector<int64_t>() == L{0, 2, 5});
  CHECK(d.graph_y.to_vector<int32_t>() == I{1, 0});
  CHECK(features(d) == F{1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(offsets(d) == L{0, 1, 2, 3, 4, 4});
  CHECK(sources(d) == I{1, 0, 4, 2});
  CHECK(attributes(d) == F{1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1});
}

TEST_CASE("TU: attributes stand before the labels where they are wanted") {
  const Dataset d = import(small_folder(), {.node_attributes = true, .edge_attributes = true});
  CHECK(features(d) ==
        F{0.5, 1, 1, 0, 0, 1.5, 2, 0, 0, 1, 2.5, 3, 1, 0, 0, 3.5, 4, 0, 1, 0, 4.5, 5, 0, 0, 1});
  CHECK(attributes(d) == F{20, 1, 0, 0, 10, 1, 0, 0, 60, 1, 0, 0, 80, 0, 1, 1});
  CHECK(features(import(without(small_folder(), "node_labels"), {.node_attributes = true})).size() == 10);
  CHECK_FALSE(import(without(small_folder(), "node_labels")).x);
  CHECK(import(without(small_folder(), "edge_labels")).graph.edge_attributes().empty());
}

TEST_CASE("TU: edges may be kept as they stand") {
  const Dataset d = import(small_folder(), {.keep_edges = true});
  CHECK(offsets(d) == L{0, 1, 2, 3, 6, 6});
  CHECK(sources(d) == I{1, 0, 4, 2, 2, 3});
  CHECK(attributes(d) == F{1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0});
}

TEST_CASE("TU: several columns of labels, with values that nothing has") {
  const Dataset d = import(with(small_folder(), "node_labels", "0,-1\n3,-1\n0,0\n3,0\n0,0\n"));
  CHECK(d.x.cols() == 6);
  CHECK(features(d) ==
        F{1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1});
}

TEST_CASE("TU: labels of many values make sparse features") {
  const Dataset d =
      import(with(small_folder(), "node_labels", "7\n1007\n5007\n7\n8\n"), {.node_attributes = true});
  REQUIRE(d.x.is_sparse());
  CHECK(d.x.cols() == 5003);
  const F dense = features(d);
  CHECK(dense[0] == 0.5);
  CHECK(dense[2] == 1);
  CHECK(dense[5003 + 1002] == 1);
  CHECK(dense[2 * 5003 + 5002] == 1);
  CHECK(std::count(dense.begin(), dense.end(), 0.0f) == 5 * 5000);
  const TemporaryDirectory folder;
  save_dataset(d, folder.file("a.h5"));
  CHECK(fingerprint(load_dataset(folder.file("a.h5"))) == fingerprint(d));
}

TEST_CASE("TU: nodes out of order are sorted by graph, stably, with all that is theirs") {
  // The nodes 1 to 5 of the small folder as lines 3, 1, 5, 4, 2 in another order: 2 1 2 2 1 are their graphs.
  const FolderText files = {{"SMALL_A.txt", "2, 5\n5, 2\n1, 3\n3, 3\n1, 3\n4, 1\n"},
                            {"SMALL_graph_indicator.txt", "2\n1\n2\n2\n1\n"},
                            {"SMALL_graph_labels.txt", "1\n-1\n"},
                            {"SMALL_node_labels.txt", "3\n3\n4\n5\n5\n"},
                            {"SMALL_edge_labels.txt", "0\n0\n1\n1\n2\n0\n"}};
  CHECK(fingerprint(import(files)) ==
        fingerprint(import(without(without(small_folder(), "node_attributes"), "edge_attributes"))));
}

TEST_CASE("TU: targets instead of classes") {
  const Dataset d = import(with(small_folder(), "graph_attributes", "0.5, 2\n-1e3, 4\n"));
  CHECK(d.task == Task::graph_regression);
  CHECK(d.graph_y.to_vector<float>() == F{0.5, 2, -1000, 4});
  CHECK(
      import(without(with(small_folder(), "graph_attributes", "0.5\n1\n"), "graph_labels")).graph_y.shape() ==
      Shape{2, 1});
}

TEST_CASE("TU: bad folders are refused by file and line") {
  const auto changed = [](const std::string& part, const std::string& text, const TuOptions& options = {}) {
    return refused(with(small_folder(), part, text), options);
  };
  CHECK(changed("A", "1, 2\n2, 6\n") == "SMALL_A.txt:2: \"6\" in column 2, expected an integer from 1 to 5");
  CHECK(changed("A", "0, 1\n").starts_with("SMALL_A.txt:1: \"0\""));
  CHECK(changed("A", "1, 2\n1.5, 2\n").starts_with("SMALL_A.txt:2: \"1.5\""));
  CHECK(changed("A", "1, 2\n1\n") == "SMALL_A.txt:2: 1 fields, expected 2");
  CHECK(changed("A", "1, 2, 3\n") == "SMALL_A.txt:1: 3 fields, expected 2");
  CHECK(changed("A", "") == "SMALL_A.txt:1: empty, expected numbers");
  CHECK(changed("A", "1, 2\n\n2, 3\n") ==
        "SMALL_A.txt:3: an edge from node 2 of graph 1 to node 3 of graph 2, expected edges within graphs");
  CHECK(changed("graph_indicator", "1\n1\n3\n3\n3\n") ==
        "SMALL_graph_indicator.txt: no node of graph 2, expected each of 1 to 3 to have one");
  CHECK(changed("graph_indicator", "1\n1\n2\n9\n2\n") ==
        "SMALL_graph_indicator.txt:4: graph 9 of 5 nodes, expected every graph to have one at least");
  CHECK(changed("graph_indicator", "0\n1\n2\n2\n2\n").starts_with("SMALL_graph_indicator.txt:1: \"0\""));
  CHECK(changed("graph_indicator", "1\n1\nx\n").starts_with("SMALL_graph_indicator.txt:3: \"x\""));
  CHECK(changed("graph_indicator", "1\n1\n2\n2\n").starts_with("SMALL_A.txt:6: \"5\""));
  CHECK(changed("graph_indicator", "").starts_with("SMALL_graph_indicator.txt:1: empty"));
  CHECK(changed("graph_labels", "1\n")
            .ends_with("SMALL_graph_labels.txt: 1 lines, expected 2, one for each of the graphs"));
  CHECK(changed("graph_labels", "1\nnan\n").starts_with("SMALL_graph_labels.txt:2: \"nan\""));
  CHECK(changed("graph_labels", "1, 2\n1, 2\n") == "SMALL_graph_labels.txt:1: 2 fields, expected 1");
  CHECK(changed("graph_attributes", "1\ninf\n").starts_with("SMALL_graph_attributes.txt:2: \"inf\""));
  CHECK(changed("graph_attributes", "1\nnan\n").starts_with("SMALL_graph_attributes.txt:2: \"nan\""));
  CHECK(changed("node_labels", "1\n2\n") ==
        "SMALL_node_labels.txt: 2 lines, expected 5, one for each of the nodes");
  CHECK(changed("node_labels", "1\n2, 3\n") == "SMALL_node_labels.txt:2: 2 fields, expected 1");
  CHECK(
      changed("node_labels", "0\n9223372036854775807\n-9223372036854775808\n0\n0\n")
          .starts_with(
              "SMALL_node_labels.txt: labels from -9223372036854775808 to 9223372036854775807 in column 1"));
  CHECK(changed("edge_labels", "0\n1\n") ==
        "SMALL_edge_labels.txt: 2 lines, expected 6, one for each of the edges");
  CHECK(changed("edge_labels", "0\n0\n0\n0\n0\n2000\n") ==
        "SMALL_edge_labels.txt: labels that make 2001 columns, expected at most 1024");
  CHECK(changed("node_attributes", "1\n2\n3\nnan\n5\n", {.node_attributes = true})
            .starts_with("SMALL_node_attributes.txt:4: \"nan\""));
  CHECK(changed("edge_attributes", "1\n", {.edge_attributes = true}) ==
        "SMALL_edge_attributes.txt: 1 lines, expected 6, one for each of the edges");
  CHECK(refused(without(small_folder(), "node_attributes"), {.node_attributes = true}) ==
        "SMALL_node_attributes.txt: missing, expected for --node-attributes");
  CHECK(refused(without(small_folder(), "graph_indicator"))
            .starts_with("SMALL_graph_indicator.txt: cannot be opened"));
  CHECK(
      refused(without(small_folder(), "graph_labels")).starts_with("SMALL_graph_labels.txt: missing, and "));
  FolderText two = small_folder();
  two["OTHER_A.txt"] = "1, 2\n";
  CHECK(refused(two).ends_with(": several datasets, OTHER, SMALL; expected one"));
  CHECK(refused(without(small_folder(), "A")).ends_with(": no file NAME_A.txt, expected one"));
  CHECK(error_in<DataError>("", [] { (void)import_tu("/nowhere"); }) ==
        "/nowhere: cannot be opened as a folder: No such file or directory");
}

TEST_CASE("TU: MUTAG and PROTEINS hold what an independent script made of them") {
  for (const auto& [raw, file] :
       {std::pair{"raw/tu/MUTAG", "mutag.h5"}, {"raw/tu/PROTEINS", "proteins.h5"}}) {
    if (!have_data(raw) || !have_data(file)) continue;
    CAPTURE(raw);
    const Quiet quiet;
    const Dataset made = import_tu(data_file(raw).string()),
                  expected = load_dataset(data_file(file).string());
    CHECK(made.task == expected.task);
    CHECK(made.classes == expected.classes);
    CHECK(made.undirected == expected.undirected);
    CHECK(same_bits(made.graph.in_edges().offsets, expected.graph.in_edges().offsets));
    CHECK(same_bits(made.graph.in_edges().indices, expected.graph.in_edges().indices));
    CHECK(same_bits(made.x.dense(), expected.x.dense()));
    CHECK(same_bits(made.graph_offsets, expected.graph_offsets));
    CHECK(same_bits(made.graph_y, expected.graph_y));
  }
}
