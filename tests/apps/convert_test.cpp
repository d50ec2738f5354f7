#include "../data/gzip_file.h"
#include "process.h"

using namespace adj;
using namespace adj::test;

namespace {

struct Edges {
  TemporaryDirectory folder;
  std::string put(const std::string& name, const std::string& text) const {
    return write_file(folder.file(name), text);
  }
  Outcome convert(const std::string& text, const std::vector<std::string>& more) const {
    return run("convert", joined({"edges", put("links.csv", text), folder.file("out.h5"), "--quiet"}, more));
  }
};

const std::string kRing = "a,b\nb,c\nc,d\nd,e\ne,a\n";

}  // namespace

TEST_CASE("convert edges prints its guesses") {
  const Edges files;
  const std::string labels = files.put("labels.csv", "node,label\na,x\nb,y\nc,x\nd,y\ne,NA\n");
  const std::string features = files.put("x.csv", "node,f\na,1\nb,\nc,3\nd,4\ne,5\n");
  const Outcome done = succeeds(
      files.convert("# one\nsrc,dst\n" + kRing, {"--labels", labels, "--features", features, "--impute",
                                                 "mean", "--split", "50,25,25", "--seed", "1"}));
  CHECK(mentions(done.out,
                 {"links.csv: separated by a comma; line 2 taken as header: src,dst; 1 line of "
                  "comments; ids are names\n",
                  "x.csv: separated by a comma; line 1 taken as header: node,f; 1 missing number "
                  "imputed (mean of 2 training nodes) in 1 column: 1 in f\n",
                  "1 line taken as unlabelled, in column 2 (label), the first in line 6: 1 of \"NA\"\n",
                  "split by seed 1: 2 nodes to train, 1 to validate, 1 to test\n"}));
  succeeds(files.convert(kRing, {"--header", "yes", "--labels", labels, "--missing-labels", "x,NA"}));
  CHECK(mentions(files.convert("a,b\n#b,c\n", {"--comment", "#"}).out,
                 {"2 nodes, 1 directed edges", "1 line of"}));
  CHECK(mentions(files.convert("#a,#b\n#b,c\n", {"--comment", ""}).out, {"3 nodes, 2 directed edges"}));
}

TEST_CASE("convert edges refuses conflicting options and compressed files") {
  const Edges files;
  const auto usage = [&](const std::vector<std::string>& more, const std::string& part) {
    return fails_with(files.convert(kRing, more), 2, {part});
  };
  CHECK(usage({"--header", "maybe"}, "--header: expected auto or yes or no or comment, got 'maybe'"));
  CHECK(usage({"--node-headers", "1"}, "--node-headers: expected auto or yes or no or comment, got '1'"));
  for (const char* split :
       {"60,20", "60,20,30", "60,40,0", "a,b,c", "60,20,20,0", "nan,50,50", "150,-25,-25"})
    CHECK(usage({"--split", split}, "expected three percentages above 0 that add up to 100"));
  CHECK(usage({"--stratified"}, "--stratified: requires --split"));
  CHECK(usage({"--seed", "3"}, "--seed: requires --split"));
  CHECK(usage({"--task", "node_regression"}, "--task: requires --labels"));
  CHECK(usage({"--missing-labels", "x"}, "--missing-labels: requires --labels"));
  CHECK(usage({"--node-headers", "yes"}, "--node-headers: requires --features, --labels or --train"));
  CHECK(
      usage({"--split", "60,20,20", "--stratified"}, "--stratified: requires labels and --task node_class"));
  CHECK(usage({"--split", "60,20,20", "--train", "x", "--val", "x", "--test", "x"},
              "--split: conflicts with --train"));
  CHECK(usage({"--impute", "mode"}, "--impute mode: expected mean, median or zero"));
  CHECK(usage({"--impute", "mean"}, "--impute: requires --features"));
  CHECK(usage({"--like", "old.h5"}, "--like: requires --features"));
  CHECK(usage({"--weight-column", "1", "--weight", "2"},
              "--weight-column, --unweighted: older forms of --weight"));
  CHECK(usage({"--weight-column", "1", "--unweighted"},
              "--weight-column, --unweighted: older forms of --weight"));
  const std::string table = files.put("t.csv", "id,f\na,1\n");
  for (const Words& more : {Words{"--impute", "mean"}, {"--columns", "f"}, {"--types", "f=number"}})
    CHECK(usage(joined({"--features", table, "--like", "old.h5"}, more),
                "--like: conflicts with --columns, --without, --types and --impute, which its file decides"));
  for (const char* type : {"f", "f=colour", "f=hash:0", "f=hash:x", "f=number:3", "f=text:1048577"})
    CHECK(usage({"--features", table, "--types", type}, fmt::format("--types {}: expected ", type)));
  CHECK(fails_with(files.convert("BZh91AY&SY", {}), 1, {"links.csv: a bzip2 archive, ", "bunzip2"}));
}

TEST_CASE("convert names what the columns of labels are") {
  const Edges files;
  const std::string labels = files.put("labels.csv", "a,1,0\nb,0,1\nc,1,1\nd,0,1\ne,1,0\n");
  const auto summary = [&](const char* task) {
    return succeeds(files.convert(kRing, {"--labels", labels, "--task", task})).out;
  };
  CHECK(mentions(summary("node_multilabel"), {"0 features, 2 labels, 0 without"}));
  CHECK(mentions(summary("node_regression"), {"0 features, 2 targets, 0 without"}));
}

TEST_CASE("a later table goes through what was fitted, from a dataset, a model and an integer model") {
  const Edges files;
  const std::string table = files.put(
                        "t.csv",
                        "id,age,colour,label\na,1,red,x\nb,,blue,y\nc,3,red,x\nd,5,red,y\ne,8,red,x\n"),
                    later = files.put("later.csv", "colour,id,age\ngreen,a,2\nred,b,\nblue,c,4\n"),
                    dataset = files.folder.file("first.h5"), model = files.folder.file("model.h5"),
                    integers = files.folder.file("integers.h5"), out = files.folder.file("out.h5");
  succeeds(run("convert", {"edges", files.put("links.csv", kRing), dataset, "--quiet", "--features", table,
                           "--impute", "median", "--split", "40,30,30"}));
  succeeds(run("train_qgnn", {dataset, "--epochs", "2", "--quiet", "--checkpoint", model}));
  succeeds(run("infer_qgnn", {"--checkpoint", model, "--data", dataset, "--write", integers, "--quiet"}));
  const float filling = load_dataset(dataset).encoder.columns.at(0).filling.at(0);
  for (const std::string& like : {dataset, model, integers}) {
    CAPTURE(like);
    const Outcome done = succeeds(files.convert("a,b\nb,c\n", {"--features", later, "--like", like}));
    CHECK(mentions(done.out, {"features as in " + like, fmt::format("age: 1 missing, {} as there", filling),
                              "colour: 1 row of categories that are not known there (green)"}));
    const Dataset data = load_dataset(out);
    CHECK(data.feature_names == std::vector<std::string>{"age", "colour=blue", "colour=red"});
    CHECK(data.x.to_dense().to_vector<float>() == std::vector<float>{2, 0, 0, filling, 0, 1, 4, 1, 0});
  }
  // Values for gaps that another table would have are pointed out.
  succeeds(files.convert(
      "a,b\nb,c\n",
      {"--features", files.put("u.csv", "id,age,colour\na,2,red\nb,,red\nc,9,blue\n"), "--impute", "zero"}));
  const Outcome predicted = succeeds(run("infer_qgnn", {"--checkpoint", model, "--data", out}));
  CHECK(mentions(predicted.err, {fmt::format("age: 0, not {} (convert --like uses its numbers)", filling)}));
  CHECK(fails_with(files.convert(kRing, {"--features", later, "--like", files.folder.file("none.h5")}), 1,
                   {"none.h5"}));
}

TEST_CASE("older names of options for weights are read") {
  const Edges files;
  const std::string weighted = "a,b,2\nb,a,3\n";
  succeeds(files.convert(weighted, {"--weight-column", "3"}));
  CHECK(load_dataset(files.folder.file("out.h5")).graph.edge_weight().to_vector<float>() ==
        std::vector<float>{3, 2});  // by target
  succeeds(files.convert("source,target,weight\na,b,2\nb,a,3\n", {"--unweighted"}));
  CHECK_FALSE(load_dataset(files.folder.file("out.h5")).graph.edge_weight());
}
