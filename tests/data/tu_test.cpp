#include "dataset_parts.h"
#include "text_folder.h"
#include <adjoint/data/import/tu.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Graph 1 has the nodes 1 and 2, graph 2 the nodes 3 to 5; a loop, and an edge listed twice.
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

TEST_CASE("TU: attributes come before the labels on request") {
  const Dataset d = import(small_folder(), {.node_attributes = true, .edge_attributes = true});
  CHECK(features(d) ==
        F{0.5, 1, 1, 0, 0, 1.5, 2, 0, 0, 1, 2.5, 3, 1, 0, 0, 3.5, 4, 0, 1, 0, 4.5, 5, 0, 0, 1});
  CHECK(attributes(d) == F{20, 1, 0, 0, 10, 1, 0, 0, 60, 1, 0, 0, 80, 0, 1, 1});
  CHECK(features(import(without(small_folder(), {"SMALL_node_labels"}), {.node_attributes = true})).size() ==
        10);
  CHECK_FALSE(import(without(small_folder(), {"SMALL_node_labels"})).x);
  CHECK(import(without(small_folder(), {"SMALL_edge_labels"})).graph.edge_attributes().empty());
}

TEST_CASE("TU: edges may be kept unchanged") {
  const Dataset d = import(small_folder(), {.keep_edges = true});
  CHECK(offsets(d) == L{0, 1, 2, 3, 6, 6});
  CHECK(sources(d) == I{1, 0, 4, 2, 2, 3});
  CHECK(attributes(d) == F{1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0});
}

TEST_CASE("TU: several columns of labels, with values that no node has") {
  const Dataset d = import(with(small_folder(), {{"SMALL_node_labels.txt", "0,-1\n3,-1\n0,0\n3,0\n0,0\n"}}));
  CHECK(d.x.cols() == 6);
  CHECK(features(d) ==
        F{1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1});
}

TEST_CASE("TU: labels of many values make sparse features") {
  const Dataset d = import(with(small_folder(), {{"SMALL_node_labels.txt", "7\n1007\n5007\n7\n8\n"}}),
                           {.node_attributes = true});
  REQUIRE(d.x.is_sparse());
  CHECK(d.x.cols() == 5003);
  const F dense = features(d);
  CHECK(dense[0] == 0.5);
  CHECK(dense[2] == 1);
  CHECK(dense[5003 + 1002] == 1);
  CHECK(dense[2 * 5003 + 5002] == 1);
  CHECK(std::count(dense.begin(), dense.end(), 0.0f) == 5 * 5000);
  CHECK(fingerprint(saved_and_loaded(d)) == fingerprint(d));
}

TEST_CASE("TU: nodes out of order are sorted by graph, stably, with their labels and edges") {
  // The nodes 1 to 5 of the small folder as lines 3, 1, 5, 4, 2 in another order: 2 1 2 2 1 are their graphs.
  const FolderText files = {{"SMALL_A.txt", "2, 5\n5, 2\n1, 3\n3, 3\n1, 3\n4, 1\n"},
                            {"SMALL_graph_indicator.txt", "2\n1\n2\n2\n1\n"},
                            {"SMALL_graph_labels.txt", "1\n-1\n"},
                            {"SMALL_node_labels.txt", "3\n3\n4\n5\n5\n"},
                            {"SMALL_edge_labels.txt", "0\n0\n1\n1\n2\n0\n"}};
  Dataset d = import(files);
  CHECK(d.node_ids.to_vector<int64_t>() == std::vector<int64_t>{2, 5, 1, 3, 4});
  d.node_ids = {};
  CHECK(fingerprint(d) ==
        fingerprint(import(without(small_folder(), {"SMALL_node_attributes", "SMALL_edge_attributes"}))));
}

TEST_CASE("TU: columns of an earlier dataset, in which other labels are 0") {
  const TuOptions attributed{.node_attributes = true, .edge_attributes = true};
  const Dataset first = import(small_folder(), attributed);
  const TuOptions later{.like = TuLike{"first.h5", first.feature_names, first.attr_names}};
  CHECK(fingerprint(import(small_folder(), later)) == fingerprint(first));
  const Dataset d = import(with(small_folder(), {{"SMALL_node_labels.txt", "4\n9\n2\n4\n-7\n"},
                                                 {"SMALL_edge_labels.txt", "1\n1\n1\n1\n1\n1\n"}}),
                           later);
  CHECK(d.feature_names == first.feature_names);
  CHECK(features(d) ==
        F{0.5, 1, 0, 1, 0, 1.5, 2, 0, 0, 0, 2.5, 3, 0, 0, 0, 3.5, 4, 0, 1, 0, 4.5, 5, 0, 0, 0});
  CHECK(attributes(d) == F{20, 0, 1, 0, 10, 0, 1, 0, 60, 0, 1, 0, 80, 0, 2, 0});
  const Dataset many = import(with(small_folder(), {{"SMALL_node_labels.txt", "7\n1007\n5007\n7\n8\n"}}));
  const Dataset few = import(with(small_folder(), {{"SMALL_node_labels.txt", "8\n1\n8\n5008\n9\n"}}),
                             {.like = TuLike{"many.h5", many.feature_names, many.attr_names}});
  REQUIRE(few.x.is_sparse());
  CHECK(few.x.cols() == many.x.cols());
  const F dense = features(few);
  CHECK(dense[1] == 1);
  CHECK(std::count(dense.begin(), dense.end(), 0.0f) == 5 * 5001 - 3);
  CHECK(refused(without(small_folder(), {"SMALL_node_labels"}), later) ==
        "SMALL: columns of nodes: attribute_1, attribute_2; expected those of first.h5: attribute_1, "
        "attribute_2, "
        "label=3, label=4, label=5");
  CHECK(refused(without(small_folder(), {"SMALL_node_attributes"}), later) ==
        "SMALL_node_attributes.txt: missing, required by first.h5");
}

TEST_CASE("TU: targets instead of classes") {
  const Dataset d = import(with(small_folder(), {{"SMALL_graph_attributes.txt", "0.5, 2\n-1e3, 4\n"}}));
  CHECK(d.task == Task::graph_regression);
  CHECK(d.graph_y.to_vector<float>() == F{0.5, 2, -1000, 4});
  CHECK(import(without(with(small_folder(), {{"SMALL_graph_attributes.txt", "0.5\n1\n"}}),
                       {"SMALL_graph_labels"}))
            .graph_y.shape() == Shape{2, 1});
}

TEST_CASE("TU: bad folders, with the file and line in the error") {
  check_bad_files<TuOptions>(
      small_folder(), "SMALL_*.txt",
      {{"A", "1, 2\n2, 6\n", ":2: \"6\" in column 2, expected an integer from 1 to 5"},
       {"A", "0, 1\n", ":1: \"0\"…"},
       {"A", "1, 2\n1.5, 2\n", ":2: \"1.5\"…"},
       {"A", "1, 2\n1\n", ":2: 1 fields, expected 2"},
       {"A", "1, 2, 3\n", ":1: 3 fields, expected 2"},
       {"A", "", ":1: empty, expected numbers"},
       {"A", "1, 2\n\n2, 3\n",
        ":3: an edge from node 2 of graph 1 to node 3 of graph 2, expected edges within graphs"},
       {"A", kRemoved, "…: no file NAME_A.txt, expected one"},
       {"graph_indicator", "1\n1\n3\n3\n3\n", ": no node of graph 2, expected each of 1 to 3 to have one"},
       {"graph_indicator", "1\n1\n2\n9\n2\n",
        ":4: graph 9 of 5 nodes, expected every graph to have at least one"},
       {"graph_indicator", "0\n1\n2\n2\n2\n", ":1: \"0\"…"},
       {"graph_indicator", "1\n1\nx\n", ":3: \"x\"…"},
       {"graph_indicator", "1\n1\n2\n2\n", "SMALL_A.txt:6: \"5\"…"},
       {"graph_indicator", "", ":1: empty…"},
       {"graph_indicator", kRemoved, ": cannot be opened…"},
       {"graph_labels", "1\n", "…SMALL_graph_labels.txt: 1 lines, expected 2, one for each of the graphs"},
       {"graph_labels", "1\nnan\n", ":2: \"nan\"…"},
       {"graph_labels", "1, 2\n1, 2\n", ":1: 2 fields, expected 1"},
       {"graph_labels", kRemoved, ": missing, and …"},
       {"graph_attributes", "1\ninf\n", ":2: \"inf\"…"},
       {"graph_attributes", "1\nnan\n", ":2: \"nan\"…"},
       {"node_labels", "1\n2\n", ": 2 lines, expected 5, one for each of the nodes"},
       {"node_labels", "1\n2, 3\n", ":2: 2 fields, expected 1"},
       {"node_labels", "0\n9223372036854775807\n-9223372036854775808\n0\n0\n",
        ": labels from -9223372036854775808 to 9223372036854775807 in column 1…"},
       {"edge_labels", "0\n1\n", ": 2 lines, expected 6, one for each of the edges"},
       {"edge_labels", "0\n0\n0\n0\n0\n2000\n", ": labels that make 2001 columns, expected at most 1024"},
       {"node_attributes", "1\n2\n3\nnan\n5\n", ":4: \"nan\"…", {.node_attributes = true}},
       {"node_attributes", kRemoved, ": missing, required by --node-attributes", {.node_attributes = true}},
       {"edge_attributes",
        "1\n",
        ": 1 lines, expected 6, one for each of the edges",
        {.edge_attributes = true}}},
      refused);
  CHECK(says(refused(with(small_folder(), {{"OTHER_A.txt", "1, 2\n"}})),
             "…: several datasets, OTHER, SMALL; expected one"));
  CHECK(error_in<DataError>("", [] { (void)import_tu("/nowhere"); }) ==
        "/nowhere: cannot be opened as a folder: No such file or directory");
}

TEST_CASE("TU: MUTAG and PROTEINS equal the conversion of an independent script") {
  for (const auto& [raw, file] :
       {std::pair{"raw/tu/MUTAG", "mutag.h5"}, {"raw/tu/PROTEINS", "proteins.h5"}}) {
    if (!have_data(raw) || !have_data(file)) continue;
    CAPTURE(raw);
    const Quiet quiet;
    check_same(import_tu(data_file(raw).string()), load_dataset(data_file(file).string()));
  }
}
