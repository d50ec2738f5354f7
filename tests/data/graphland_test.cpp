#include "../support.h"
#include "graphland_files.h"
#include <adjoint/data/import/graphland.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using F = std::vector<float>;
using Split3 = GraphLandOptions::Split;

Dataset import(const std::map<std::string, std::string>& files, const GraphLandOptions& options = {},
               const std::string& name = "city") {
  const TemporaryDirectory folder;
  write_files(files, folder.file(name));
  return import_graphland(folder.file(name), options);
}

/// The error, without the folder, of files of which one was changed: `from` becomes `to`.
std::string error_of(const std::string& file, const std::string& from, const std::string& to,
                     const GraphLandOptions& options = {}) {
  std::map<std::string, std::string> files = city();
  std::string& text = files[file];
  if (from.empty()) {
    text = to;
  } else {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  }
  try {
    (void)import(files, options);
  } catch (const DataError& error) {
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    return message.substr(message.find("/city") + 6);
  }
  return "none";
}

const GraphLandOptions kAsTheyAre{.numerical = ColumnTransform::none, .target = ColumnTransform::none};

std::vector<double> column(const Dataset& d, int64_t k) {
  std::vector<double> all = values(d.x.dense()), one;
  for (size_t i = static_cast<size_t>(k); i < all.size(); i += static_cast<size_t>(d.num_features()))
    one.push_back(all[i]);
  return one;
}

}  // namespace

TEST_CASE("a GraphLand folder: numerical columns, fractions and categories in the order of info.yaml") {
  const Dataset d = import(city(), kAsTheyAre);
  CHECK(d.name == "city");
  CHECK(d.task == Task::node_class);
  CHECK(d.classes == 3);
  CHECK(d.undirected);
  CHECK(d.num_nodes() == 8);
  REQUIRE(d.num_features() == 7);  // b, a, share, c of -1, 3 and 7, two
  using D = std::vector<double>;
  CHECK(column(d, 0) == D{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(column(d, 1) == D{3, 1, 1, 1, 10, 2, 1, 4.5});
  CHECK(column(d, 2) == D{0.5, 0.25, 0.25, 0.25, 1, 0, 0.25, 0.75});
  CHECK(column(d, 3) == D{0, 1, 0, 0, 0, 0, 0, 0});
  CHECK(column(d, 4) == D{0, 0, 0, 1, 0, 1, 0, 0});
  CHECK(column(d, 5) == D{1, 0, 1, 0, 1, 0, 1, 1});
  CHECK(column(d, 6) == D{0, 1, 0, 0, 0, 0, 1, 0});
  CHECK(d.y.to_vector<int32_t>() == I{2, 0, 1, -1, 0, 1, 0, 2});
  CHECK(d.unlabelled == 1);
  CHECK(d.train.to_vector<int32_t>() == I{0, 6});  // 3 has no label
  CHECK(d.val.to_vector<int32_t>() == I{1, 4});
  CHECK(d.test.to_vector<int32_t>() == I{2, 5});
  CHECK(d.graph.in_edges().offsets.to_vector<int64_t>() == L{0, 1, 2, 3, 5, 6, 8, 10, 11});
  CHECK(d.graph.in_edges().indices.to_vector<int32_t>() == I{3, 6, 2, 0, 6, 5, 4, 7, 1, 3, 5});
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
  std::map<std::string, std::string> files = city();
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
  std::map<std::string, std::string> files = city();
  files["info.yaml"].replace(files["info.yaml"].find("multiclass_classification"), 25, "regression");
  Dataset d = import(files);
  CHECK(d.task == Task::node_regression);
  CHECK(d.y.shape() == Shape{8, 1});
  CHECK(d.y.data<float>()[0] == doctest::Approx(1.0));  // 2 and 0: mean 1, deviation 1
  CHECK(d.y.data<float>()[2] == doctest::Approx(0.0));
  CHECK(std::isnan(d.y.data<float>()[3]));
  CHECK(d.unlabelled == 1);
  CHECK(import(files, kAsTheyAre).y.data<float>()[0] == 2.0f);
}

TEST_CASE("a GraphLand folder, THI: the graph as it was known to train, to validate and to test") {
  GraphLandOptions options = kAsTheyAre;
  options.split = Split3::THI;
  const Dataset d = import(city(), options);
  REQUIRE(d.graph_offsets.to_vector<int64_t>() == L{0, 3, 8, 15});  // 0 3 6, 0 1 3 4 6, 0 1 2 3 4 5 6
  CHECK(d.y.to_vector<int32_t>() == I{2, -1, 0, 2, 0, -1, 0, 0, 2, 0, 1, -1, 0, 1, 0});
  CHECK(d.unlabelled == 3);
  CHECK(d.node_ids.to_vector<int64_t>() == L{0, 3, 6, 0, 1, 3, 4, 6, 0, 1, 2, 3, 4, 5, 6});
  CHECK(d.train.to_vector<int32_t>() == I{0, 2});
  CHECK(d.val.to_vector<int32_t>() == I{4, 6});
  CHECK(d.test.to_vector<int32_t>() == I{10, 13});
  CHECK(d.graph.in_edges().offsets.to_vector<int64_t>() ==
        L{0, 1, 3, 4, 5, 6, 8, 8, 10, 11, 12, 13, 15, 16, 17, 19});
  CHECK(d.graph.in_edges().indices.to_vector<int32_t>() ==
        I{1, 0, 2, 1, 5, 7, 3, 7, 4, 5, 11, 14, 10, 8, 14, 13, 12, 9, 11});
  // What training nodes show alone is known: of c 3 and 7, of two the greater.
  CHECK(d.num_features() == 5);
  CHECK(column(d, 3) == std::vector<double>{1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1});
  // Of a, training nodes have 3 and 1.
  CHECK(column(d, 1)[1] == 1.0);
  const TemporaryDirectory folder;
  save_dataset(d, folder.file("thi.h5"));
  CHECK(load_dataset(folder.file("thi.h5")).test.to_vector<int32_t>() == I{10, 13});
}

TEST_CASE("a GraphLand folder that is wrong somewhere") {
  CHECK(error_of("edgelist.csv", "1,6", "1,6") == "none");
  CHECK(error_of("edgelist.csv", "1,6", "1,8").starts_with("edgelist.csv:6: "));
  CHECK(error_of("edgelist.csv", "1,6", "-1,6").starts_with("edgelist.csv:6: "));
  CHECK(error_of("edgelist.csv", "1,6", "1").starts_with("edgelist.csv:6: "));
  CHECK(error_of("edgelist.csv", "1,6", "1,6,2").starts_with("edgelist.csv:6: "));
  CHECK(error_of("edgelist.csv", "1,6", "1,6.5").starts_with("edgelist.csv:6: "));
  CHECK(error_of("features.csv", "\n4,10", "\n5,10") ==
        "features.csv:6: node \"5\", expected 4: ascending from 0");
  CHECK(error_of("features.csv", "4,10,5", "4,ten,5") ==
        "features.csv:6: a \"ten\", expected a finite number or nothing");
  CHECK(error_of("features.csv", "4,10,5", "4,inf,5").starts_with("features.csv:6: a \"inf\""));
  CHECK(error_of("features.csv", "4,10,5", "4,1e39,5").starts_with("features.csv:6: a \"1e39\""));
  CHECK(error_of("features.csv", "4,10,5", "4,10").starts_with("features.csv:6: 6 fields, expected 7"));
  CHECK(error_of("features.csv", "7.0", "7.5") ==
        "features.csv:6: c \"7.5\", expected a whole number, the category's");
  CHECK(error_of("features.csv", "7.0", "") ==
        "features.csv:6: c \"\", expected a whole number, the category's");
  CHECK(error_of("features.csv", ",a,b", ",a,d") == "features.csv:1: no column \"b\"");
  CHECK(error_of("features.csv", ",a,b", ",b,b").starts_with("features.csv:1: two columns \"b\""));
  CHECK(error_of("features.csv", "", "node_id\n0\n").starts_with("features.csv:1: one column"));
  CHECK(error_of("features.csv", "", "node_id,a,b,share,c,two\n") ==
        "features.csv: no nodes, expected one at least");
  CHECK(error_of("features.csv", "", "").starts_with("features.csv:1: empty"));
  std::string no_number = city()["features.csv"];
  for (const char* field : {"0,3,", "1,1,", "2,1,", "4,10,", "5,2,", "6,1,", "7,4.5,"})
    no_number.replace(no_number.find(std::string("\n") + field) + 3, std::string(field).size() - 3, "");
  CHECK(error_of("features.csv", "", no_number) == "features.csv: a: no number, expected one at least");
  CHECK(error_of("targets.csv", "7,2\n", "") == "targets.csv: 7 nodes, but features.csv has 8");
  CHECK(error_of("targets.csv", "7,2\n", "7,2\n8,1\n") == "targets.csv: 9 nodes, but features.csv has 8");
  CHECK(error_of("targets.csv", "4,0", "4,0.5") ==
        "targets.csv:6: kind \"0.5\", expected a class, a whole number from 0, or nothing");
  CHECK(error_of("targets.csv", "4,0", "4,-1").starts_with("targets.csv:6: kind \"-1\""));
  CHECK(error_of("targets.csv", "4,0", "4,3e9").starts_with("targets.csv:6: kind \"3e9\""));
  CHECK(error_of("targets.csv", "", "i,kind\n0,\n1,\n2,\n3,\n4,\n5,\n6,\n7,\n") ==
        "targets.csv: no node has a kind");
  CHECK(error_of("info.yaml", "multiclass", "binary") ==
        "targets.csv:2: kind \"2\", expected one of two classes, 0 or 1");
  CHECK(error_of("split_masks_RL.csv", "4,False,True", "4,True,True") ==
        "split_masks_RL.csv:6: in train and in val, expected one of them");
  CHECK(error_of("split_masks_RL.csv", "4,False,True", "4,perhaps,True") ==
        "split_masks_RL.csv:6: train \"perhaps\", expected True or False");
  CHECK(error_of("split_masks_RL.csv", "train,val", "train,valid") ==
        "split_masks_RL.csv:1: no column \"val\"");
  CHECK(error_of("split_masks_RL.csv", "7,False,False,False\n", "") ==
        "split_masks_RL.csv: 7 nodes, but features.csv has 8");
  CHECK(error_of("split_masks_TH.csv", "1,0,1,0\n2,0,0,1\n3,1,0,0\n4,0,1,0",
                 "1,0,0,0\n2,0,0,1\n3,1,0,0\n4,0,0,0", {.split = Split3::TH}) ==
        "split_masks_TH.csv: no node with a kind is in val, expected one at least");
  CHECK(error_of("split_masks_RH.csv", "", "", {.split = Split3::RH})
            .starts_with("split_masks_RH.csv:1: empty"));
}

TEST_CASE("a list of edges without a header, or without edges") {
  const std::string edges = city().at("edgelist.csv"), head = "source,target\n";
  CHECK(error_of("edgelist.csv", "", "") == "edgelist.csv:1: empty, expected a header and edges");
  CHECK(error_of("edgelist.csv", "", head) == "edgelist.csv:1: no edges behind the header, expected some");
  CHECK(error_of("edgelist.csv", "", head + "\n") ==
        "edgelist.csv:1: no edges behind the header, expected some");
  CHECK(error_of("edgelist.csv", "", edges.substr(head.size())) ==
        "edgelist.csv:1: \"0,3\", expected a header, of two names");
}

TEST_CASE("an info.yaml that is wrong somewhere") {
  CHECK(error_of("info.yaml", "kind", "sort") == "targets.csv:1: no column \"sort\"");
  CHECK(error_of("info.yaml", "multiclass_classification", "clustering")
            .starts_with("info.yaml:2: task \"clustering\""));
  CHECK(error_of("info.yaml", "task:", "tusk:") == "info.yaml:1: the key task is missing");
  CHECK(error_of("info.yaml", "target_name: kind", "target_name: [kind]") ==
        "info.yaml:3: target_name: expected a text");
  CHECK(error_of("info.yaml", "[c, two]", "c")
            .starts_with("info.yaml:7: categorical_features_names: expected a list"));
  CHECK(error_of("info.yaml", "[c, two]", "[c, [two]]")
            .starts_with("info.yaml:7: categorical_features_names: expected names"));
  CHECK(error_of("info.yaml", "[c, two]", "[c, c]") == "info.yaml:7: categorical_features_names: c twice");
  CHECK(error_of("info.yaml", "[c, two]", "[c, a]") == "info.yaml:7: a among the numerical features too");
  CHECK(error_of("info.yaml", "note:", "task:") == "info.yaml:8: the key task twice");
  // Of many keys each is looked up once: the square of these would take a quarter of a minute.
  std::string keys;
  for (int k = 0; k < 120'000; ++k) keys += fmt::format("k{}:\n", k);
  CHECK(error_of("info.yaml", "", keys) == "info.yaml:1: the key task is missing");
  CHECK(error_of("info.yaml", "", keys + "k0:\n") == "info.yaml:120001: the key k0 twice");
  CHECK(error_of("info.yaml", "", "- a\n- b\n").starts_with("info.yaml:1: no keys with values"));
  CHECK(error_of("info.yaml", "", "").starts_with("info.yaml"));
  CHECK(error_of("info.yaml", "", "a: [1\nb: }").starts_with("info.yaml:"));
  CHECK(error_of("info.yaml", "", std::string(100'000, '[')).starts_with("info.yaml"));
  CHECK(error_of("info.yaml", "", "a: " + std::string(2 << 20, 'x')).starts_with("info.yaml:1: "));
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int k = 1; k < 40; ++k) laughs += fmt::format("a{}: &a{} [*a{}, *a{}]\n", k, k, k - 1, k - 1);
  CHECK(error_of("info.yaml", "", laughs) == "info.yaml:1: the key task is missing");
  CHECK(error_of("info.yaml", "",
                 "task: regression\ntarget_name: kind\nnumerical_features_names: &a [a]\n"
                 "fraction_features_names: []\ncategorical_features_names: [*a]\n" +
                     laughs)
            .starts_with("info.yaml:"));
  CHECK_THROWS_AS((void)import_graphland("/nowhere/at/all"), DataError);
}
