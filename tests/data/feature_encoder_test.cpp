#include "../says.h"
#include "edge_files.h"

using namespace adj;
using namespace adj::test;

namespace {

FeatureEncoder people() {
  return {{{.column = "age", .filling = {41.5f}},
           {.column = "colour", .type = ColumnType::category, .categories = {"blue", "größe \"5\""}},
           {.column = "rank", .type = ColumnType::ordinal, .categories = {"9", "10"}, .filling = {0.5f}},
           {.column = "note", .type = ColumnType::text, .columns = 2},
           {.column = "v", .type = ColumnType::vector, .columns = 2, .filling = {1.0f, 0.1f}},
           {.column = "day", .type = ColumnType::date, .origin = 19787},
           {.column = "ok", .type = ColumnType::boolean},
           {.column = "zip", .type = ColumnType::hash, .columns = 1, .whole_numbers = true}}};
}

Dataset dataset_with(const FeatureEncoder& encoder) {
  Dataset data;
  data.graph = Graph::from_coo(2, Tensor::from<int32_t>({0}), Tensor::from<int32_t>({1}));
  data.encoder = encoder;
  data.feature_names = encoder.feature_names();
  data.x = Features(Tensor::full({2, std::ssize(data.feature_names)}, 1.0f));
  return data;
}

std::string refused_json(const std::string& json) {
  return error_in<DataError>("", [&] { (void)FeatureEncoder::parse(json, "f.h5", 100); });
}

}  // namespace

TEST_CASE("an encoder names its features, and is the same after writing and reading") {
  const FeatureEncoder encoder = people();
  CHECK(encoder.width() == 11);
  CHECK(encoder.feature_names() == Names{"age", "colour=blue", "colour=größe \"5\"", "rank", "note[0]",
                                         "note[1]", "v[0]", "v[1]", "day", "ok", "zip[0]"});
  CHECK(FeatureEncoder::parse(encoder.json(), "f.h5", 11) == encoder);
  const std::string day = R"({"columns": [{"name": "d", "type": "date")";
  CHECK(FeatureEncoder::parse(day + "}]}", "f.h5", 1).columns[0].origin ==
        0);  // as earlier versions wrote it
  CHECK(refused_json(day + R"(, "origin": 1.5}]})") == "f.h5: d: origin: missing or wrong");
  CHECK(refused_json(day + R"(, "origin": 2932897}]})") ==
        "f.h5: d: origin: 2932897, expected -719528 to 2932896");
  CHECK(FeatureEncoder::numbers({"a", "b"}).json() ==
        R"({"columns":[{"name":"a","type":"number"},{"name":"b","type":"number"}]})");
}

TEST_CASE("sets have a feature for each item, or a number of them, and keep what is between two items") {
  const FeatureEncoder encoder{
      {{.column = "s", .type = ColumnType::set, .categories = {"a", "b c"}, .separator = "|"},
       {.column = "h", .type = ColumnType::set, .columns = 3, .separator = " "}}};
  CHECK(encoder.width() == 5);
  CHECK(encoder.feature_names() == Names{"s=a", "s=b c", "h[0]", "h[1]", "h[2]"});
  CHECK(FeatureEncoder::parse(encoder.json(), "f.h5", 5) == encoder);
  const std::string begin = R"({"columns": [{"name": "s", "type": "set")";
  CHECK(refused_json(begin + R"(, "categories": ["a"]}]})") == "f.h5: s: separator: missing or wrong");
  CHECK(refused_json(begin + R"(, "separator": "", "columns": 3}]})") ==
        "f.h5: s: separator: expected 1 to 15 bytes");
  CHECK(refused_json(begin + R"(, "separator": "|", "categories": []}]})") ==
        "f.h5: s: categories: none, expected some");
  CHECK(refused_json(begin + R"(, "separator": "|"}]})") == "f.h5: s: categories: missing or wrong");
}

TEST_CASE("JSON that is no encoder is refused by the column and field") {
  const std::string begin = R"({"columns": [)";
  for (
      const auto& [json, message] : {
          std::pair<std::string, std::string>{"", "f.h5: expected JSON with a list of columns"},
          {"[]", "f.h5: expected JSON with a list of columns"},
          {R"({"columns": []})", "f.h5: expected JSON with a list of columns"},
          {begin + "1]}", "f.h5: name: missing or wrong"},
          {begin + R"({"name": 1, "type": "number"}]})", "f.h5: name: missing or wrong"},
          {begin + R"({"name": "a"}]})", "f.h5: a: type: missing or wrong"},
          {begin + R"({"name": "a", "type": "colour"}]})",
           "f.h5: a: type \"colour\", expected one of number, boolean, category, ordinal, hash, text, date, "
           "vector, set"},
          {begin + R"({"name": "a", "type": "category", "categories": []}]})",
           "f.h5: a: categories: none, expected some"},
          {begin + R"({"name": "a", "type": "category", "categories": ["x", "x"]}]})",
           "f.h5: a: categories: \"x\" twice"},
          {begin + R"({"name": "a", "type": "category", "categories": [1]}]})",
           "f.h5: a: categories: expected texts"},
          {begin + R"({"name": "a", "type": "vector"}]})", "f.h5: a: columns: missing or wrong"},
          {begin + R"({"name": "a", "type": "hash", "columns": 0}]})",
           "f.h5: a: columns: 0, expected 1 to 100"},
          {begin + R"({"name": "a", "type": "hash", "columns": 101}]})",
           "f.h5: a: columns: 101, expected 1 to 100"},
          {begin + R"({"name": "a", "type": "number", "filling": [1, 2]}]})",
           "f.h5: a: filling: 2 numbers, expected 1"},
          {begin + R"({"name": "a", "type": "number", "filling": [1e99]}]})",
           "f.h5: a: filling: expected finite numbers"},
          {begin + R"({"name": "a", "type": "number"}, {"name": "a", "type": "date"}]})",
           "f.h5: column a twice"},
          {begin +
               R"({"name": "a", "type": "hash", "columns": 60}, {"name": "b", "type": "hash", "columns": 60}]})",
           "f.h5: 120 features, expected 100 at most"},
      })
    CHECK(refused_json(json) == message);
}

TEST_CASE("a dataset keeps its encoder, and one that does not fit its features is refused") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a.h5");
  save_dataset(dataset_with(people()), path);
  CHECK(load_dataset(path).encoder == people());
  CHECK(load_feature_encoder(path) == people());
  CHECK(check_dataset(path).problems.empty());
  CHECK(beside_schema(path).empty());

  Dataset other = dataset_with(people());
  other.feature_names[0] = "years";
  CHECK(says(error_in<DataError>("", [&] { save_dataset(other, path); }),
             "…nodes/x_encoder: feature 0: \"age\", expected \"years\" by its name"));
  other = dataset_with(people());
  other.feature_names.clear();
  save_dataset(other, path);  // names are not needed
  other.encoder.columns.pop_back();
  CHECK(says(error_in<DataError>("", [&] { save_dataset(other, path); }),
             "…nodes/x_encoder: 10 features, expected 11"));

  // Written by others.
  const auto written = [&](const std::string& json) {
    H5Writer file(path);
    file.attribute("", "format", std::string("adjoint.graph"));
    file.attribute("", "version", int64_t{1});
    file.attribute("", "num_nodes", int64_t{2});
    file.attribute("", "num_classes", int64_t{0});
    file.attribute("", "task", std::string("none"));
    file.write("edges/src", Tensor::from<int32_t>({0}));
    file.write("edges/dst", Tensor::from<int32_t>({1}));
    file.write("nodes/x", Tensor::full({2, 1}, 1.0f));
    file.write("nodes/x_encoder", Tensor::from(std::vector<uint8_t>(json.begin(), json.end())));
    file.commit();
    return error_in<DataError>("", [&] { (void)load_dataset(path); });
  };
  CHECK(says(written("{"), "…: nodes/x_encoder: expected JSON with a list of columns"));
  CHECK(says(written(FeatureEncoder::numbers({"a", "b"}).json()),
             "…: nodes/x_encoder: 2 features, expected 1 at most"));
  CHECK(check_dataset(path).problems.size() == 1);
}

TEST_CASE("without an encoder the names of columns are one of numbers; without both there is an error") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a.h5");
  Dataset data = dataset_with(FeatureEncoder::numbers({"a", "b"}));
  data.encoder = {};
  save_dataset(data, path);
  CHECK(load_feature_encoder(path) == FeatureEncoder::numbers({"a", "b"}));
  data.feature_names.clear();
  save_dataset(data, path);
  CHECK(says(error_in<DataError>("", [&] { (void)load_feature_encoder(path); }),
             "…a.h5: no names of columns…"));
}

TEST_CASE("different fillings are found by the names of columns") {
  FeatureEncoder found = people();
  CHECK(different_fillings(found, people()).empty());
  found.columns[0].filling = {44.5f};
  found.columns[4].filling = {1.0f, 0.2f};
  std::swap(found.columns[0], found.columns[1]);
  CHECK(different_fillings(found, people()) == "age: 44.5, not 41.5, v: 0.2, not 0.1");
  CHECK(different_fillings({}, people()).empty());
}

TEST_CASE("encoders are compared by what features of the same names mean") {
  const ColumnEncoder sizes{.column = "size", .type = ColumnType::ordinal, .categories = {"L", "M", "S"}},
      note{.column = "note", .type = ColumnType::text, .columns = 16},
      tags{.column = "tags", .type = ColumnType::set, .categories = {"a", "b"}, .separator = "|"},
      color{.column = "color", .type = ColumnType::category, .categories = {"blue", "red"}};
  const FeatureEncoder trained{{sizes, note, tags, color}};
  const auto found = [&](size_t k, auto change) {
    FeatureEncoder other = trained;
    change(other.columns[k]);
    return different_types(other, trained);
  };
  CHECK(found(0, [](auto& c) { c.filling = {1}; }).empty());
  CHECK(found(0, [](auto& c) { c.categories = {"L", "M"}; }).empty());
  CHECK(found(2, [](auto& c) { c.categories = {"b", "c"}, c.separator = " "; }).empty());
  CHECK(found(3, [](auto& c) { c.categories = {"red"}, c.column = "colour"; }).empty());
  CHECK(found(0, [](auto& c) {
          c.categories = {"M", "S"};
        }) == "column size is an ordinal of M, S here, an ordinal of L, M, S in the training");
  CHECK(found(1, [](auto& c) { c.columns = 32; }) == "column note is text:32 here, text:16 in the training");
  CHECK(found(1, [](auto& c) { c.type = ColumnType::hash; }) ==
        "column note is hash:16 here, text:16 in the training");
  CHECK(found(2, [](auto& c) { c.categories.clear(), c.columns = 16; }) ==
        "column tags is set:16 here, a set in the training");
  const FeatureEncoder dated{{{.column = "d", .type = ColumnType::date, .origin = 19787}}},
      plain{{{.column = "d", .type = ColumnType::date}}};
  CHECK(different_types(dated, dated).empty());
  CHECK(different_types(plain, dated) ==
        "column d is a date here, a date in days since 2024-03-05 in the training");
  const FeatureEncoder numbers = FeatureEncoder::numbers({"size", "note", "color"});
  CHECK(different_types(numbers, trained) ==
        "column size is a number here, an ordinal of L, M, S in the training, and so 2 more");
  CHECK(different_types({}, trained).empty());
}
