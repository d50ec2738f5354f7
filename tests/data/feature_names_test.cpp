#include "edge_files.h"

using namespace adj;
using namespace adj::test;

namespace {

/// Three nodes on a path, with columns of these names: column k has 10 (k + 1) + its row.
Dataset named(const std::vector<std::string>& names, bool sparse = false) {
  Dataset data;
  data.name = "path";
  data.graph = Graph::from_coo(3, Tensor::from<int32_t>({0, 1}), Tensor::from<int32_t>({1, 2}));
  std::vector<float> x;
  for (int i = 0; i < 3; ++i)
    for (size_t k = 0; k < names.size(); ++k)
      x.push_back(static_cast<float>(10 * (k + 1) + static_cast<size_t>(i)));
  const auto columns = std::ssize(names);
  if (sparse) {
    Csr csr;
    csr.rows = 3;
    csr.cols = columns;
    csr.offsets = Tensor::from<int64_t>({0, columns, 2 * columns, 3 * columns});
    std::vector<int32_t> indices;
    for (int i = 0; i < 3; ++i)
      for (int32_t k = 0; k < columns; ++k) indices.push_back(k);
    csr.indices = Tensor::from(indices);
    data.x = SparseMatrix(Relation::from_csr(std::move(csr)), Tensor::from(x));
  } else {
    data.x = Features(Tensor::from(x, {3, columns}));
  }
  data.feature_names = names;
  return data;
}

}  // namespace

TEST_CASE("features are brought into the order of a model's columns by name, others passed over") {
  for (const bool sparse : {false, true}) {
    CAPTURE(sparse);
    Dataset data = named({"age", "city", "income", "score"}, sparse);
    match_features(data, "b.h5", {"income", "age", "score"}, {}, "m.h5");
    CHECK(values(data.x.to_dense()) == Numbers{30, 10, 40, 31, 11, 41, 32, 12, 42});
    CHECK(data.feature_names == std::vector<std::string>{"income", "age", "score"});
  }
}

TEST_CASE("columns of edge attributes are matched likewise, those of features stay") {
  Dataset data = named({"b", "a"});
  data.graph = data.graph.with_edge_attr("attr", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  data.attr_names = {"length", "price", "year"};
  match_attributes(data, "b.h5", {"year", "length"}, {}, "m.h5");
  CHECK(values(data.graph.edge_attr("attr")) == Numbers{3, 1, 6, 4});
  CHECK(data.attr_names == std::vector<std::string>{"year", "length"});
  CHECK(values(data.x.dense())[0] == 10);
  CHECK_THROWS_WITH_AS(
      match_attributes(data, "b.h5", {"price"}, {}, "m.h5"),
      "b.h5: edges/attr_names: no column 'price', but 'year', 'length'; m.h5 was trained with 1 columns",
      DataError);
}

TEST_CASE("columns that a model needs and a file lacks are named") {
  Dataset data = named({"age", "Income"});
  CHECK_THROWS_WITH_AS(
      match_features(data, "b.h5", {"income", "age"}, {}, "m.h5"),
      "b.h5: nodes/x_names: no column 'income', but 'Income'; m.h5 was trained with 2 columns", DataError);
}

TEST_CASE("without names on one side columns stay where they are") {
  Dataset data = named({"b", "a"});
  match_features(data, "b.h5", {}, {}, "m.h5");
  CHECK(values(data.x.dense())[0] == 10);
  data.feature_names.clear();
  match_features(data, "b.h5", {"a", "b"}, {}, "m.h5");
  CHECK(values(data.x.dense())[0] == 10);
}

TEST_CASE("classes are numbered as a model's by name; a class that it does not know is no label") {
  Dataset data = named({"a"});
  data.task = Task::node_class;
  data.classes = 3;
  data.class_names = {"cat", "dog", "owl"};
  data.y = Tensor::from<int32_t>({0, 1, 2});
  data.splits = {{Tensor::from<int32_t>({0}), Tensor::from<int32_t>({1}), Tensor::from<int32_t>({2})}};
  data.use_split(0);
  match_classes(data, "b.h5", {"dog", "cat"}, 2, "m.h5");
  CHECK(data.y.to_vector<int32_t>() == std::vector<int32_t>{1, 0, -1});
  CHECK(data.test.numel() == 0);
  CHECK(data.val.to_vector<int32_t>() == std::vector<int32_t>{1});
  CHECK(data.classes == 2);
}

TEST_CASE("classes without names are numbers, which are matched by the other side's names") {
  struct Case {
    std::vector<std::string> found, trained;
    int64_t classes, outputs;
    std::vector<int32_t> expected;  // of labels 0 and the last class
  };
  const Case cases[] = {{{"0", "1", "3"}, {}, 3, 3, {0, -1}},     {{"1", "2", "3"}, {}, 3, 3, {1, -1}},
                        {{}, {"1", "2", "3"}, 3, 3, {-1, 1}},     {{"0", "2"}, {}, 2, 3, {0, 2}},
                        {{"0.0", "2.0"}, {}, 2, 3, {0, 2}},       {{}, {}, 2, 3, {0, 1}},
                        {{}, {"cat", "dog", "owl"}, 3, 3, {0, 2}}};
  for (const Case& c : cases) {
    CAPTURE(c.found.size());
    Dataset data = named({"a"});
    data.task = Task::node_class;
    data.classes = c.classes;
    data.class_names = c.found;
    data.y = Tensor::from<int32_t>({0, static_cast<int32_t>(c.classes) - 1, -1});
    match_classes(data, "b.h5", c.trained, c.outputs, "m.h5");
    CHECK(data.y.to_vector<int32_t>() == std::vector<int32_t>{c.expected[0], c.expected[1], -1});
    CHECK(data.classes == c.outputs);
  }
}

TEST_CASE("columns of several labels are matched by name; without one of them there are no labels") {
  Dataset data = named({"a"});
  data.task = Task::node_regression;
  data.class_names = {"vip", "score", "age"};
  data.y = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  match_classes(data, "b.h5", {"age", "vip"}, 2, "m.h5");
  CHECK(values(data.y) == Numbers{3, 1, 6, 4, 9, 7});
  match_classes(data, "b.h5", {"age", "salary"}, 2, "m.h5");
  CHECK(!data.y);
}

TEST_CASE("columns of the same name but another type are refused, naming --like") {
  Dataset data = named({"joined", "age"});
  data.encoder = FeatureEncoder::numbers({"joined", "age"});
  FeatureEncoder trained = data.encoder;
  trained.columns[1].type = ColumnType::boolean;  // 1 and 0, as numbers
  trained.columns[1].filling = {0.5f};
  match_features(data, "b.h5", {"joined", "age"}, trained, "m.h5");
  trained.columns[0].type = ColumnType::date;
  CHECK_THROWS_WITH_AS(
      match_features(data, "b.h5", {"joined", "age"}, trained, "m.h5"),
      "b.h5: features: column joined is a number here, a date in the training; convert with --like MODEL",
      DataError);
  CHECK_THROWS_WITH_AS(match_features(data, "b.h5", {"joined", "city=paris"}, {}, "m.h5"),
                       "b.h5: nodes/x_names: no column 'city=paris', but 'age'; m.h5 was trained with 2 "
                       "columns; convert with --like MODEL",
                       DataError);
}

TEST_CASE("names of columns are kept in files, and checked") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("named.h5");
  Dataset data = named({"age", "größe"});
  save_dataset(data, path);
  CHECK(load_dataset(path).feature_names == std::vector<std::string>{"age", "größe"});
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"age"}, {"age", "age"}, {"age", "\xff"}}) {
    data.feature_names = wrong;
    CHECK_THROWS_AS(save_dataset(data, path), DataError);
  }
}

TEST_CASE("names of columns are those of a table's header") {
  const EdgeFiles files;
  EdgeListOptions options = files.with_features("id,age,income\na,1,2\nb,3,4\nc,5,6\n");
  CHECK(files.import("a,b\nb,c\n", options).feature_names == std::vector<std::string>{"age", "income"});
  options = files.with_features("a,1,2\nb,3,4\nc,5,6\n");
  CHECK(files.import("a,b\nb,c\n", options).feature_names.empty());
}
