#include "dataset_parts.h"
#include "graphland_files.h"
#include "text_folder.h"
#include <adjoint/data/import/graphland.h>

using namespace adj;
using namespace adj::test;

namespace {

using D = std::vector<double>;
using Split3 = GraphLandOptions::Split;

Dataset import(const FolderText& files, const GraphLandOptions& options = {},
               const std::string& name = "city") {
  const TemporaryDirectory folder;
  write_folder(folder.file(name), files);
  return import_graphland(folder.file(name), options);
}

/// A change of the text `original`, or of all if that is empty, in one file, and the error that it causes:
/// `message` is as in `says`; from ':' on it follows the file's name.
struct Change {
  std::string file, original, replacement, message;
  GraphLandOptions options{};
};

void check_refused(const std::vector<Change>& changes) {
  for (const auto& [file, original, replacement, expected, options] : changes) {
    FolderText files = city();
    std::string& text = files[file];
    REQUIRE(text.find(original) != std::string::npos);
    text.replace(text.find(original), original.empty() ? text.size() : original.size(), replacement);
    const std::string message = error_in<DataError>("/city/", [&, &o = options] { (void)import(files, o); });
    CHECK(says(message, expected.starts_with(':') ? file + expected : expected));
  }
}

const GraphLandOptions kUnchanged{.numerical = ColumnTransform::none, .target = ColumnTransform::none};

std::vector<double> column(const Dataset& d, int64_t k) {
  std::vector<double> all = values(d.x.dense()), one;
  for (size_t i = static_cast<size_t>(k); i < all.size(); i += static_cast<size_t>(d.num_features()))
    one.push_back(all[i]);
  return one;
}

}  // namespace

TEST_CASE("a GraphLand folder: numerical columns, fractions and categories in the order of info.yaml") {
  const Dataset d = import(city(), kUnchanged);
  CHECK(d.name == "city");
  CHECK(d.task == Task::node_class);
  CHECK(d.classes == 3);
  CHECK(d.undirected);
  CHECK(d.num_nodes() == 8);
  REQUIRE(d.num_features() == 7);  // b, a, share, c of -1, 3 and 7, two
  CHECK(column(d, 0) == D{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(column(d, 1) == D{3, 1, 1, 1, 10, 2, 1, 4.5});
  CHECK(column(d, 2) == D{0.5, 0.25, 0.25, 0.25, 1, 0, 0.25, 0.75});
  CHECK(column(d, 3) == D{0, 1, 0, 0, 0, 0, 0, 0});
  CHECK(column(d, 4) == D{0, 0, 0, 1, 0, 1, 0, 0});
  CHECK(column(d, 5) == D{1, 0, 1, 0, 1, 0, 1, 1});
  CHECK(column(d, 6) == D{0, 1, 0, 0, 0, 0, 1, 0});
  CHECK(classes(d) == I{2, 0, 1, -1, 0, 1, 0, 2});
  CHECK(d.unlabelled == 1);
  CHECK(train_of(d) == I{0, 6});  // 3 has no label
  CHECK(val_of(d) == I{1, 4});
  CHECK(test_of(d) == I{2, 5});
  CHECK(offsets(d) == L{0, 1, 2, 3, 5, 6, 8, 10, 11});
  CHECK(sources(d) == I{3, 6, 2, 0, 6, 5, 4, 7, 1, 3, 5});
}

TEST_CASE("a GraphLand folder: transforms and other choices") {
  GraphLandOptions options;
  Dataset d = import(city(), options);
  const std::vector<float> a = {3, 1, 1, 10, 2, 1, 4.5};
  const ColumnFit normal(ColumnTransform::quantile_normal, a, 8);
  CHECK(column(d, 1)[0] == doctest::Approx(normal(3.0f)));
  CHECK(column(d, 1)[3] == doctest::Approx(normal(1.0f)));  // imputed
  CHECK(column(d, 2)[7] == 0.75);
  for (const char* name : {"avazu-ctr", "artnet-views"}) CHECK(column(import(city(), {}, name), 2)[4] > 5.0);
  options.fraction = ColumnTransform::min_max;
  options.one_hot = options.undirected = false;
  options.numerical = ColumnTransform::none;
  options.numerical_imputation = Imputation::median;
  options.split = Split3::TH;
  d = import(city(), options);
  CHECK(d.num_features() == 5);
  CHECK(column(d, 3)[1] == -1.0);
  CHECK(column(d, 1)[3] == 2.0);
  CHECK(d.graph.num_edges() == 8);
  CHECK(!d.undirected);
  FolderText files = city();
  files["info.yaml"] =
      "task: binary_classification\ntarget_name: two\nnumerical_features_names: []\nfraction_features_names: "
      "~\n"
      "categorical_features_names: []\n";
  files["targets.csv"] = "id,two\n0,1\n1,0\n2,0\n3,1\n4,1\n5,1\n6,0\n7,1\n";
  d = import(files);
  CHECK(!d.x);
  CHECK(d.classes == 2);
}

TEST_CASE("a GraphLand folder of regression: targets by the training nodes") {
  FolderText files = city();
  files["info.yaml"].replace(files["info.yaml"].find("multiclass_classification"), 25, "regression");
  Dataset d = import(files);
  CHECK(d.task == Task::node_regression);
  CHECK(d.y.shape() == Shape{8, 1});
  CHECK(d.y.data<float>()[0] == doctest::Approx(1.0));  // 2 and 0: mean 1, deviation 1
  CHECK(d.y.data<float>()[2] == doctest::Approx(0.0));
  CHECK(std::isnan(d.y.data<float>()[3]));
  CHECK(d.unlabelled == 1);
  CHECK(import(files, kUnchanged).y.data<float>()[0] == 2.0f);
}

TEST_CASE("a GraphLand folder, THI: one graph each for training, validation and test") {
  GraphLandOptions options = kUnchanged;
  options.split = Split3::THI;
  const Dataset d = import(city(), options);
  REQUIRE(d.graph_offsets.to_vector<int64_t>() == L{0, 3, 8, 15});  // 0 3 6, 0 1 3 4 6, 0 1 2 3 4 5 6
  CHECK(classes(d) == I{2, -1, 0, 2, 0, -1, 0, 0, 2, 0, 1, -1, 0, 1, 0});
  CHECK(d.unlabelled == 3);
  CHECK(d.node_ids.to_vector<int64_t>() == L{0, 3, 6, 0, 1, 3, 4, 6, 0, 1, 2, 3, 4, 5, 6});
  CHECK(train_of(d) == I{0, 2});
  CHECK(val_of(d) == I{4, 6});
  CHECK(test_of(d) == I{10, 13});
  CHECK(offsets(d) == L{0, 1, 3, 4, 5, 6, 8, 8, 10, 11, 12, 13, 15, 16, 17, 19});
  CHECK(sources(d) == I{1, 0, 2, 1, 5, 7, 3, 7, 4, 5, 11, 14, 10, 8, 14, 13, 12, 9, 11});
  // Only the categories of training nodes are known: of c 3 and 7, of two the greater.
  CHECK(d.num_features() == 5);
  CHECK(column(d, 3) == D{1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1});
  // Training nodes have 3 and 1 in column a.
  CHECK(column(d, 1)[1] == 1.0);
  CHECK(test_of(saved_and_loaded(d)) == I{10, 13});
}

TEST_CASE("bad GraphLand folders") {
  std::string no_number = city()["features.csv"];
  for (const char* field : {"0,3,", "1,1,", "2,1,", "4,10,", "5,2,", "6,1,", "7,4.5,"})
    no_number.replace(no_number.find(std::string("\n") + field) + 3, std::string(field).size() - 3, "");
  check_refused(
      {{"edgelist.csv", "1,6", "1,6", "none"},
       {"edgelist.csv", "1,6", "1,8", ":6: …"},
       {"edgelist.csv", "1,6", "-1,6", ":6: …"},
       {"edgelist.csv", "1,6", "1", ":6: …"},
       {"edgelist.csv", "1,6", "1,6,2", ":6: …"},
       {"edgelist.csv", "1,6", "1,6.5", ":6: …"},
       {"features.csv", "\n4,10", "\n5,10", ":6: node \"5\", expected 4: ascending from 0"},
       {"features.csv", "4,10,5", "4,ten,5", ":6: a \"ten\", expected a finite number or nothing"},
       {"features.csv", "4,10,5", "4,inf,5", ":6: a \"inf\"…"},
       {"features.csv", "4,10,5", "4,1e39,5", ":6: a \"1e39\"…"},
       {"features.csv", "4,10,5", "4,10", ":6: 6 fields, expected 7…"},
       {"features.csv", "7.0", "7.5", ":6: c \"7.5\", expected a whole number (category)"},
       {"features.csv", "7.0", "", ":6: c \"\", expected a whole number (category)"},
       {"features.csv", ",a,b", ",a,d", ":1: no column \"b\""},
       {"features.csv", ",a,b", ",b,b", ":1: two columns \"b\"…"},
       {"features.csv", "\"x,y\"\n3,,4", "\"x\n\"\"y\"\n\n3,ten,4", ":7: a \"ten\"…"},
       {"features.csv", "\"x,y\"", "\"x,y", ":4: a quote that is not closed, expected a second one"},
       {"features.csv", "1,3,0.25,7,4,\"x,y\"", "\"1\n\",3,0.25,7,4,\"x,y",
        ":5: a quote that is not closed, expected a second one"},
       {"features.csv", "\"x,y\"", "\"\"\"\n\"\"\n\"\" \",\"", ":6: a quote that is not closed…"},
       {"features.csv", "x,y\"", std::string(9 << 20, '\n'),
        ":4: a quote that is not closed within 8388608 bytes, expected a second one"},
       {"features.csv", "\"x,y\"", "\"x,y\"z", ":4: text after a closing quote, expected a comma"},
       {"features.csv", "", std::string(1'000'000, ',') + "\n",
        ":1: expected at most 1000000 columns, found more"},
       {"features.csv", "4,10,5,1,7.0,4", "4,10,5,1,7.0,4,x", ":6: 8 fields, expected 7 as in the header"},
       {"features.csv", "node_id", "\"node_id\"", "none"},
       {"features.csv", "", "node_id\n0\n", ":1: one column…"},
       {"features.csv", "", "node_id,a,b,share,c,two\n", ": no nodes, expected at least one"},
       {"features.csv", "", "", ":1: empty…"},
       {"features.csv", "", no_number, ": a: no number, expected at least one"},
       {"targets.csv", "7,2\n", "", ": 7 nodes, but features.csv has 8"},
       {"targets.csv", "7,2\n", "7,2\n8,1\n", ": 9 nodes, but features.csv has 8"},
       {"targets.csv", "4,0", "4,0.5",
        ":6: kind \"0.5\", expected a class, a whole number from 0, or nothing"},
       {"targets.csv", "4,0", "4,-1", ":6: kind \"-1\"…"},
       {"targets.csv", "4,0", "4,3e9", ":6: kind \"3e9\"…"},
       {"targets.csv", "", "i,kind\n0,\n1,\n2,\n3,\n4,\n5,\n6,\n7,\n", ": no node has a kind"},
       {"info.yaml", "multiclass", "binary",
        "targets.csv:2: kind \"2\", expected one of two classes, 0 or 1"},
       {"split_masks_RL.csv", "4,False,True", "4,True,True", ":6: in train and in val, expected one of them"},
       {"split_masks_RL.csv", "4,False,True", "4,perhaps,True",
        ":6: train \"perhaps\", expected True or False"},
       {"split_masks_RL.csv", "train,val", "train,valid", ":1: no column \"val\""},
       {"split_masks_RL.csv", "7,False,False,False\n", "", ": 7 nodes, but features.csv has 8"},
       {"split_masks_TH.csv",
        "1,0,1,0\n2,0,0,1\n3,1,0,0\n4,0,1,0",
        "1,0,0,0\n2,0,0,1\n3,1,0,0\n4,0,0,0",
        ": no node with a kind is in val, expected at least one",
        {.split = Split3::TH}},
       {"split_masks_RH.csv", "", "", ":1: empty…", {.split = Split3::RH}}});
}

TEST_CASE("GraphLand lists of edges without a header, or without edges") {
  const std::string edges = city().at("edgelist.csv"), head = "source,target\n";
  check_refused(
      {{"edgelist.csv", "", "", ":1: empty, expected a header and edges"},
       {"edgelist.csv", "", head, ":1: no edges after the header, expected some"},
       {"edgelist.csv", "", head + "\n", ":1: no edges after the header, expected some"},
       {"edgelist.csv", "", edges.substr(head.size()), ":1: \"0,3\", expected a header, of two names"}});
}

TEST_CASE("bad files info.yaml") {
  // Each of many keys is looked up once: quadratic work would take 15 seconds.
  std::string keys;
  for (int k = 0; k < 120'000; ++k) keys += fmt::format("k{}:\n", k);
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int k = 1; k < 40; ++k) laughs += fmt::format("a{}: &a{} [*a{}, *a{}]\n", k, k, k - 1, k - 1);
  check_refused(
      {{"info.yaml", "kind", "sort", "targets.csv:1: no column \"sort\""},
       {"info.yaml", "multiclass_classification", "clustering", ":2: task \"clustering\"…"},
       {"info.yaml", "task:", "tusk:", ":1: the key task is missing"},
       {"info.yaml", "target_name: kind", "target_name: [kind]", ":3: target_name: expected a text"},
       {"info.yaml", "[c, two]", "c", ":7: categorical_features_names: expected a list…"},
       {"info.yaml", "[c, two]", "[c, [two]]", ":7: categorical_features_names: expected names…"},
       {"info.yaml", "[c, two]", "[c, c]", ":7: categorical_features_names: c twice"},
       {"info.yaml", "[c, two]", "[c, a]", ":7: a is also a numerical feature"},
       {"info.yaml", "note:", "task:", ":8: the key task twice"},
       {"info.yaml", "", keys, ":1: the key task is missing"},
       {"info.yaml", "", keys + "k0:\n", ":120001: the key k0 twice"},
       {"info.yaml", "", "- a\n- b\n", ":1: no keys with values…"},
       {"info.yaml", "", "", "info.yaml…"},
       {"info.yaml", "", "a: [1\nb: }", ":…"},
       {"info.yaml", "", std::string(100'000, '['), "info.yaml…"},
       {"info.yaml", "", "a: " + std::string(2 << 20, 'x'), ":1: …"},
       {"info.yaml", "", laughs, ":1: the key task is missing"},
       {"info.yaml", "",
        "task: regression\ntarget_name: kind\nnumerical_features_names: &a [a]\n"
        "fraction_features_names: []\ncategorical_features_names: [*a]\n" +
            laughs,
        ":…"}});
  CHECK_THROWS_AS((void)import_graphland("/nowhere/at/all"), DataError);
}
