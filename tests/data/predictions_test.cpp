#include "dataset_parts.h"
#include "schema.h"
#include <adjoint/data/detail/names.h>

using namespace adj;
using namespace adj::test;

namespace {

/// The smallest names that CSV must quote, and one that needs no quotes.
Dataset named() {
  Dataset data = load(small_file());
  const auto [bytes, offsets] =
      detail::packed({"plain", "a,b", "quote \"x\"", "two\nlines", "Žluťoučký", ""});
  data.node_names = bytes;
  data.node_name_offsets = offsets;
  return data;
}

std::string written(const Dataset& data, const auto& predictions, const std::string& end) {
  const TemporaryDirectory folder;
  write_predictions(folder.file("p" + end), "train_gcn", data, predictions);
  return contents_of(folder.file("p" + end));
}

/// Six nodes and two classes: logits 0 and k.
Tensor logits() { return Tensor::from(F{0, 0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 3}, {6, 2}); }

}  // namespace

TEST_CASE("predictions of classes are CSV lines of names, class and probabilities") {
  const Predictions p = predictions_of(Task::node_class, logits(), {"cat", "dog, big"});
  CHECK(p.prediction.to_vector<int32_t>() == I{0, 1, 0, 1, 0, 1});
  CHECK(close(p.probability, {0.5, 0.5, 0.26894142, 0.73105858, 0.73105858, 0.26894142, 0.11920292,
                              0.88079708, 0.88079708, 0.11920292, 0.04742587, 0.95257413}));
  CHECK(written(named(), p, ".csv") ==
        "node,class,probability_cat,\"probability_dog, big\",score_cat,\"score_dog, big\"\n"
        "plain,cat,0.5,0.5,0,0\n"
        "\"a,b\",\"dog, big\",0.26894143,0.7310586,0,1\n"
        "\"quote \"\"x\"\"\",cat,0.7310586,0.26894143,1,0\n"
        "\"two\nlines\",\"dog, big\",0.11920292,0.8807971,0,2\n"
        "Žluťoučký,cat,0.8807971,0.11920292,2,0\n"
        ",\"dog, big\",0.047425874,0.95257413,0,3\n");
  CHECK(written(named(), p, ".jsonl")
            .starts_with("{\"node\": \"plain\", \"class\": \"cat\", \"probability_cat\": 0.5, "
                         "\"probability_dog, big\": 0.5, \"score_cat\": 0, \"score_dog, big\": 0}\n"
                         "{\"node\": \"a,b\", \"class\": \"dog, big\", "));
}

TEST_CASE("without names nodes and classes are numbers; ids take precedence") {
  Dataset data = load(small_file());
  const Predictions p = predictions_of(Task::node_class, logits());
  CHECK(
      written(data, p, ".csv")
          .starts_with("node,class,probability_0,probability_1,score_0,score_1\n0,0,0.5,0.5,0,0\n1,1,0.268"));
  data.node_ids = Tensor::from(std::vector<int64_t>{7, -2, 1, 0, 3, int64_t{1} << 40});
  CHECK(written(data, p, ".csv")
            .starts_with(
                "node,class,probability_0,probability_1,score_0,score_1\n7,0,0.5,0.5,0,0\n-2,1,0.268"));
  CHECK(written(data, p, ".jsonl").starts_with("{\"node\": 7, \"class\": 0, \"probability_0\": 0.5, "));
}

TEST_CASE("several labels, targets, graphs and pairs have their own columns") {
  Dataset data = load(small_file());
  const Tensor out = Tensor::from(F{0, 1, -1, 100, 1, 1, 2, 2, 3, -3, 0.1f, 1e-7f}, {6, 2});
  CHECK(written(data, predictions_of(Task::node_multilabel, out, {"a", "b"}), ".csv")
            .starts_with(
                "node,label_a,label_b,probability_a,probability_b,score_a,score_b\n0,0,1,0.5,0.7310586,0,1\n"
                "1,0,1,0.26894143,1,-1,100\n"));
  CHECK(written(data, predictions_of(Task::node_regression, out, {"x", "y"}), ".csv")
            .ends_with("\n4,3,-3\n5,0.1,1e-07\n"));
  CHECK(written(data, predictions_of(Task::node_regression, out.reshape({12, 1}).rows(0, 6)), ".csv")
            .starts_with("node,prediction\n0,0\n"));
  data.node_ids = Tensor::from(std::vector<int64_t>{5, 4, 3, 2, 1, 0});
  CHECK(written(data, predictions_of(Task::graph_class, logits().rows(0, 2), {"x", "y"}), ".csv") ==
        "graph,class,probability_x,probability_y,score_x,score_y\n0,x,0.5,0.5,0,0\n"
        "1,y,0.26894143,0.7310586,0,1\n");
  data.graph_names = {"salt", "ice, black"};
  CHECK(written(data, predictions_of(Task::graph_regression, out.reshape({12, 1}).rows(0, 2)), ".csv") ==
        "graph,prediction\nsalt,0\n\"ice, black\",1\n");
  const LinkPredictions links{.src = {0, 5}, .dst = {1, 2}, .score = {0.25f, -3.0f}, .label = {1, 0}};
  CHECK(written(data, links, ".csv") == "source,target,score,label\n5,4,0.25,1\n0,3,-3,0\n");
  CHECK(written(named(), links, ".jsonl")
            .starts_with("{\"source\": \"plain\", \"target\": \"a,b\", \"score\": 0.25, \"label\": 1}\n"));
}

TEST_CASE_FIXTURE(InFolder, "names that a spreadsheet would run are escaped in CSV on request") {
  Dataset data = load(small_file());
  const auto [bytes, offsets] = detail::packed({"=1+1", "+a", "-b,c", "@sum", "\tx", "safe=1"});
  data.node_names = bytes;
  data.node_name_offsets = offsets;
  const Predictions p = predictions_of(Task::node_class, logits(), {"=cat", "dog"});
  const auto cells = [&](const char* name, bool escape) {
    write_predictions(folder.file(name), "predict", data, p, escape);
    return contents_of(folder.file(name));
  };
  CHECK(cells("raw.csv", false)
            .starts_with("node,class,probability_=cat,probability_dog,score_=cat,score_dog\n"
                         "=1+1,=cat,0.5,0.5,0,0\n+a,dog,"));
  const std::string escaped = cells("safe.csv", true);
  CHECK(mentions(escaped, {"probability_=cat", "\n'=1+1,'=cat,0.5,0.5,0,0\n'+a,dog,", "\n\"'-b,c\",'=cat,",
                           "\n'@sum,dog,", "\n'\tx,'=cat,", "\nsafe=1,dog,"}));
  CHECK(cells("safe.jsonl", true) == cells("raw.jsonl", false));
  const LinkPredictions links{.src = {0}, .dst = {2}, .score = {-0.5f}, .label = {1}};
  write_predictions(folder.file("l.csv"), "train_link", data, links, true);
  CHECK(contents_of(folder.file("l.csv")) == "source,target,score,label\n'=1+1,\"'-b,c\",-0.5,1\n");
}

TEST_CASE("nodes of a reordered dataset keep their names and original order") {
  const Dataset data = named(), moved = reordered(data, Tensor::from(I{3, 5, 0, 4, 1, 2}));
  const Predictions p = predictions_of(Task::node_class, logits(), {"cat", "dog"});
  Predictions of_moved = p;
  for (Tensor* rows : {&of_moved.prediction, &of_moved.probability, &of_moved.score})
    *rows = detail::gather_edges(*rows, moved.order);
  for (const char* end : {".csv", ".jsonl"}) CHECK(written(moved, of_moved, end) == written(data, p, end));
  const LinkPredictions links{.src = {0, 5}, .dst = {1, 2}, .score = {0.25f, -3.0f}, .label = {1, 0}};
  CHECK(written(moved, links, ".csv") ==
        "source,target,score,label\n\"two\nlines\",,0.25,1\n\"quote \"\"x\"\"\",plain,-3,0\n");
}

TEST_CASE_FIXTURE(InFolder, "an HDF5 file of predictions has the names") {
  const Predictions p = predictions_of(Task::node_class, logits(), {"cat", "dog"});
  write_predictions(folder.file("p.h5"), "train_gcn", named(), p);
  const H5Reader file = H5Reader::open(folder.file("p.h5"));
  CHECK(file.text("", "format") == "adjoint.prediction");
  CHECK(file.tensor("nodes/prediction", {DType::i32}, {6}).to_vector<int32_t>() == I{0, 1, 0, 1, 0, 1});
  CHECK(same_bits(file.tensor("nodes/probability", {DType::f32}, {6, 2}), p.probability));
  CHECK(same_bits(file.tensor("nodes/score", {DType::f32}, {6, 2}), logits()));
  CHECK(detail::unpacked({file.tensor("nodes/class_names", {DType::u8}, {6}),
                          file.tensor("nodes/class_names_offsets", {DType::i64}, {3})}) ==
        std::vector<std::string>{"cat", "dog"});
  CHECK(detail::unpacked({file.tensor("nodes/name", {DType::u8}, {-1}),
                          file.tensor("nodes/name_offsets", {DType::i64}, {7})})[3] == "two\nlines");
}

TEST_CASE("many rows are written identically on any number of threads") {
  Dataset data = load(small_file());
  data.order = {};
  const Predictions p = predictions_of(Task::node_regression, random_tensor({150000, 3}));
  const Threads one(1);
  const std::string alone = written(data, p, ".csv");
  const Threads four(4);
  CHECK(written(data, p, ".csv") == alone);
  CHECK(std::count(alone.begin(), alone.end(), '\n') == 150001);
}

TEST_CASE_FIXTURE(InFolder, "other file extensions and wrong numbers of names are refused") {
  const Predictions p = predictions_of(Task::node_class, logits());
  for (const char* name : {"p.txt", "p", "p.hdf5", "csv"})
    CHECK_THROWS_WITH_AS(write_predictions(folder.file(name), "predict", load(small_file()), p),
                         doctest::Contains("expected FILE.csv, FILE.jsonl or FILE.h5"), UsageError);
  CHECK_THROWS_AS((void)predictions_of(Task::node_class, logits(), {"one"}), Error);
  CHECK_THROWS_AS(write_predictions(folder.file("none/p.csv"), "predict", load(small_file()), p), DataError);
}
