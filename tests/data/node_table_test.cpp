#include "edge_files.h"

// Tables of nodes: columns by name, their types, nodes without edges or without a row.

using namespace adj;
using namespace adj::test;

namespace {

const std::string kRing = "ann,bob\nbob,cid\ncid,ann\n";

EdgeListOptions with_table(const EdgeFiles& files, const std::string& text,
                           const NodeColumnNames& columns = {}) {
  EdgeListOptions o = files.with_features(text);
  o.node_files.columns = columns;
  return o;
}

}  // namespace

TEST_CASE_FIXTURE(EdgeFiles, "columns of a table of nodes are found by name, in any order") {
  const std::string table = "height,label,node_id,width\n1,x,bob,4\n2,y,ann,5\n3,x,cid,6\n";
  const FoundEdges found = import(kRing, with_table(*this, table));
  CHECK(features(found) == F{2, 5, 1, 4, 3, 6});
  CHECK(found.feature_names == Names{"height", "width"});
  CHECK(classes(found) == I{1, 0, 0});
  CHECK(found.class_names == Names{"x", "y"});
  CHECK(says(found.notes, "…labels are text, alphabetical; labels from column 2 (label)\n"));

  const FoundEdges chosen = import(kRing, with_table(*this, "who,a,kind,b\nbob,1,x,4\nann,2,y,5\ncid,3,x,6\n",
                                                     {.id = "who", .label = "kind", .features = {"b"}}));
  CHECK(features(chosen) == F{5, 4, 6});
  CHECK(chosen.feature_names == Names{"b"});
  CHECK(classes(chosen) == I{1, 0, 0});
  CHECK(says(chosen.notes, "…; passed over: a\n…"));
  const FoundEdges without = import(
      kRing, with_table(*this, "id,a,note,b\nbob,1,x,4\nann,2,y,5\ncid,3,z,6\n", {.without = {"note", "2"}}));
  CHECK(features(without) == F{5, 4, 6});
  // pandas' index beside an id, and as the id.
  CHECK(import(kRing, with_table(*this, ",id,a\n0,bob,1\n1,ann,2\n2,cid,3\n")).feature_names == Names{"a"});
  CHECK(import("0,1\n1,2\n", with_table(*this, ",a\n0,1\n1,2\n2,3\n")).feature_names == Names{"a"});
  // Without a header by number.
  CHECK(features(import(kRing, with_table(*this, "1,bob,4\n2,ann,5\n3,cid,6\n", {.id = "2"}))) ==
        F{2, 5, 1, 4, 3, 6});

  CHECK(refused(kRing, with_table(*this, table, {.label = "colour"})) ==
        "features:1: no column \"colour\", expected a number from 1 to 4 or one of height, label, node_id, "
        "width");
  CHECK(
      says(refused(kRing, with_table(*this, "id,label,class\nann,1,2\n")),
           "features:1: columns \"label\" and \"class\" may both be labels, expected --label to say which…"));
  const std::string purposes = ", expected columns of one purpose";
  CHECK(refused(kRing, with_table(*this, table, {.features = {"width", "4"}})) ==
        "features:1: column 4 (width) is chosen as a feature and is one already" + purposes);
  CHECK(refused(kRing, with_table(*this, table, {.features = {"node_id"}})) ==
        "features:1: column 3 (node_id) is chosen as a feature and is the id" + purposes);
  CHECK(refused(kRing, with_table(*this, table, {.features = {"label"}})) ==
        "features:1: column 2 (label) is chosen as a feature and is the label" + purposes);
  EdgeListOptions both = with_table(*this, table);
  both.node_files.labels = put("labels", "id,kind\nann,p\nbob,q\ncid,p\n");
  both.node_files.columns.without = {"label"};
  CHECK(import(kRing, both).class_names == Names{"p", "q"});
  both.node_files.labels = put("labels", "id,kind,sort\nann,p,1\nbob,q,2\ncid,p,3\n");
  both.node_files.columns.label = "kind";
  CHECK(import(kRing, both).class_names == Names{"p", "q"});
}

TEST_CASE_FIXTURE(EdgeFiles, "masks that make no split are explained") {
  EdgeListOptions o = with_table(*this, "id,a,train_mask,test_mask\nann,1,1,0\nbob,2,0,1\ncid,3,0,0\n");
  CHECK(says(import(kRing, o).notes,
             "…features: no split by train_mask, test_mask, as there is no val_mask\n…"));
  o.node_files.columns.without = {"train_mask", "test_mask"};
  CHECK_FALSE(says(import(kRing, o).notes, "…no split by…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "a name of ids wins over the first column, and an index is passed over") {
  const std::string line = "0,1\n1,2\n2,3\n";
  for (const char* head : {",user_id,x", "index,paper_id,x", "Unnamed: 0,name,x", "age,userId,x"}) {
    const FoundEdges found =
        import(line, with_table(*this, std::string(head) + "\n0,3,30\n1,0,0\n2,2,20\n3,1,10\n"));
    CHECK(found.feature_names.back() == "x");
    CHECK(found.feature_names.size() == (head[0] == 'a' ? 2u : 1u));
    const F x = features(found);
    CHECK(F{x[0], x[x.size() - 1]} == F{head[0] == 'a' ? 1.0f : 0.0f, 30});
    CHECK(says(found.notes, "…; ids from column 2 (…"));
  }
  const FoundEdges labelled = import(line, with_table(*this, "label,x,nid\n1,30,3\n0,0,0\n1,20,2\n0,10,1\n"));
  CHECK(features(labelled) == F{0, 10, 20, 30});
  CHECK(classes(labelled) == I{0, 0, 1, 1});
  CHECK(classes(import(line, with_labels(",user,label\n0,3,1\n1,0,0\n2,2,1\n3,1,0\n"))) == I{0, 0, 1, 1});
  // The id of another thing: of few, or of a feature by its type.
  CHECK(features(import(kRing, with_table(*this, "who,city_id\nbob,7\nann,8\ncid,7\n"))) == F{8, 7, 7});
  CHECK(features(import("0,1\n1,0\n", with_table(*this, "user_id,city_id\n1,7\n0,8\n"))) == F{8, 7});
  CHECK(features(import(kRing, with_table(*this, "who,name,x\nbob,B,7\nann,A,8\ncid,C,9\n",
                                          {.features = {"x"}}))) == F{8, 7, 9});
  CHECK(refused(line, with_table(*this, "x,user_id,item_id\n1,3,1\n2,0,2\n")) ==
        "features:1: columns \"user_id\" and \"item_id\" may both be ids, expected --id to say which");
  CHECK(
      says(refused(line, with_labels("x,user_id,item_id\n1,3,1\n2,0,2\n")), "…ids, expected one called id"));
  // Rows that are counted have no use for an index.
  EdgeListOptions rows = with_table(*this, ",x\n0,10\n1,20\n2,30\n");
  rows.node_files.features_by_row = true;
  const FoundEdges counted = import("0,1\n1,2\n", rows);
  CHECK(counted.feature_names == Names{"x"});
  CHECK(says(counted.notes, "…; passed over: column 1\n"));
}

TEST_CASE_FIXTURE(EdgeFiles, "beside an index, and without a name, ids are the column that edges match") {
  for (const char* index : {"", "index", "Unnamed: 0"}) {
    const auto table = [&](const std::string& rows, const NodeColumnNames& names = {}) {
      return with_table(*this, std::string(index) + ",user,x\n" + rows, names);
    };
    // By value: names, and numbers that an index has none or some of.
    const FoundEdges named = import(kRing, table("0,cid,3.5\n1,ann,1.5\n2,bob,2.5\n"));
    CHECK(features(named) == F{1.5f, 2.5f, 3.5f});
    CHECK(named.feature_names == Names{"x"});
    CHECK(says(named.notes, "…features: ids from column 2 (user), which has those of edges\n…"));
    CHECK(features(import("1005,1007\n1007,1002\n", table("0,1007,2\n1,1002,3\n2,1005,1\n"))) == F{1, 2, 3});
    CHECK(features(import("1,2\n2,3\n", table("0,2,20\n1,3,30\n2,1,10\n"))) == F{10, 20, 30});
    // The index, if only it has them all; a column of numbers with fractions or repeats has none.
    CHECK(import("0,1\n1,2\n", table("0,1,2\n1,2,3\n2,3,4\n")).feature_names == Names{"user", "x"});
    CHECK(import("0,1\n1,2\n", table("0,1.5,2\n1,2,3\n2,0,4\n")).feature_names == Names{"user", "x"});
    // Both: nobody but the user knows.
    const std::string both = "0,2,20\n1,0,0\n2,1,10\n3,3,30\n", line = "0,1\n1,2\n2,3\n";
    CHECK(says(refused(line, table(both)),
               "features:1: column 1… and column 2 (user) both have all ids of edges, expected --id to say "
               "which has them"));
    CHECK(features(import(line, table(both, {.id = "user"}))) == F{0, 10, 20, 30});
    CHECK(features(import(line, table(both, {.id = "1"}))) == F{2, 20, 0, 0, 1, 10, 3, 30});
    // Neither has all: the one that has some.
    CHECK(says(refused("8,9\n9,7\n", table("0,8,1\n1,9,2\n")), "…2 rows for 3 nodes; no row for '7'"));
    CHECK(says(refused("8,9\n9,1\n", table("0,8,1\n1,9,2\n")), "…both have ids of edges, expected --id…"));
  }
}

TEST_CASE_FIXTURE(EdgeFiles, "a column that says the split is no feature") {
  const FoundEdges found =
      import(kRing, with_table(*this, "id,x,part,label\nann,1,train,a\nbob,2,val,b\ncid,3,test,a\n"));
  CHECK(found.feature_names == Names{"x"});
  CHECK(says(found.notes, "…; passed over as a split, no feature: part (convert tables --split-column and…"));
  CHECK(import(kRing, with_table(*this, "id,x,split\nann,1,0\nbob,2,1\ncid,3,2\n")).feature_names ==
        Names{"x"});
  CHECK(import(kRing, with_table(*this, "id,x,is_train\nann,1,1\nbob,2,0\ncid,3,0\n")).feature_names ==
        Names{"x"});
  const FoundEdges masks = import(
      kRing, with_table(*this, "id,x,is_train,is_val,is_test\nann,1,1,0,0\nbob,2,0,1,0\ncid,3,0,0,1\n"));
  CHECK(masks.feature_names == Names{"x"});
  CHECK(masks.train.to_vector<int32_t>() == I{0});
  CHECK(says(masks.notes, "…split by its columns of masks: 1 nodes to train…"));
  EdgeListOptions typed = with_table(*this, "id,x,split\nann,1,train\nbob,2,test\ncid,3,test\n");
  typed.node_files.types = {{"split", ColumnType::category}};
  CHECK(import(kRing, typed).feature_names == Names{"x", "split=test", "split=train"});
  for (const char* other : {"test", "part", "train"})
    CHECK(import(kRing, with_table(*this, fmt::format("id,x,{}\nann,1,1\nbob,2,0\ncid,3,0\n", other)))
              .feature_names == Names{"x", other});
}

TEST_CASE_FIXTURE(EdgeFiles, "pandas and Excel have missing values of their own") {
  CHECK(import(kRing, with_labels("id,label\nann,<NA>\nbob,b\ncid,NaT\n")).unlabelled == 2);
  for (const char* none : {"<NA>", "NaT", "#N/A"})
    CHECK(says(refused(fmt::format("a,b\nc,{}\n", none)), "…expected the id of a node…"));
  CHECK(names(import("Nat,b\n")) == Names{"Nat", "b"});
  const std::string dates = "id,day\nann,2024-03-01\nbob,2024-03-02\ncid,";
  CHECK(says(refused(kRing, with_table(*this, dates + "NaT\n")), "features:4: no number in column 2 (day)…"));
  CHECK(refused(kRing, with_table(*this, dates + "0000-00-00\n")) ==
        "features:4: \"0000-00-00\" in column 2 (day), expected a date, as 2 other fields are there (--types "
        "COLUMN=category takes them as texts; --without COLUMN: no feature)");
}

TEST_CASE_FIXTURE(EdgeFiles, "nodes without a label are in no part of a split by masks, and named") {
  const std::string ring = "a,b\nb,c\nc,d\nd,a\n";
  const std::string table = "id,label,train_mask,val_mask,test_mask\na,x,1,0,0\nb,y,0,1,0\nc,x,0,0,1\n";
  const FoundEdges found = import(ring, with_table(*this, table + "d,,1,0,0\n"));
  REQUIRE(found.splits.size() == 1);
  CHECK(found.train.to_vector<int32_t>() == std::vector{0});
  CHECK(says(found.notes, "…features: nodes without a label, in no part: 1: d\n…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "names of columns are compared with case, which errors say") {
  const std::string table = "id,Age,t1,t2\nann,1,0,1\nbob,2,1,0\ncid,3,0,0\n";
  CHECK(refused(kRing, with_table(*this, table, {.label = "age"})) ==
        "features:1: no column \"age\", expected a number from 1 to 4; the header has \"Age\"");
  CHECK(refused(kRing, with_table(*this, table, {.label = "t1,t2"})) ==
        "features:1: no column \"t1,t2\", expected one column of labels (convert edges --labels FILE: all "
        "columns of a file of labels)");
  EdgeListOptions o = with_table(*this, table);
  o.node_files.like = LikeFile{"old.h5", FeatureEncoder::numbers({"age", "t1"})};
  CHECK(says(refused(kRing, o),
             "…no column age, expected all of 2; …(\"Age\" is not \"age\": letters differ in case)"));
}

TEST_CASE_FIXTURE(EdgeFiles, "features that are called as labels are named") {
  CHECK(says(import(kRing, with_table(*this, "id,age,y\nann,1,0\nbob,2,1\ncid,3,0\n")).notes,
             "…; \"y\" is a feature (--label \"y\": it is the label)…"));
  CHECK_FALSE(says(import(kRing, with_table(*this, "id,y\nann,1\nbob,2\ncid,3\n", {.label = "none"})).notes,
                   "…it is the label…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "labels that name the nodes are refused, unless their column is chosen") {
  const std::string gephi = "Id,Label,a\nann,Ann A.,1\nbob,Bob B.,2\ncid,Cid C.,3\n";
  CHECK(refused(kRing, with_table(*this, gephi)) ==
        "features: column 2 (Label) has another text in every row, expected labels of classes (--label none: "
        "they are no labels; --label \"Label\": they are)");
  CHECK(import(kRing, with_table(*this, gephi, {.label = "Label"})).classes == 3);
  const FoundEdges none = import(kRing, with_table(*this, gephi, {.label = "none", .without = {"Label"}}));
  CHECK(none.task == Task::none);
  CHECK(none.feature_names == Names{"a"});
  CHECK(import(kRing,
               with_table(*this, "id,feature,label\nann,\"1,0,1\",2\nbob,\"0,0,1\",0\ncid,\"1,1,1\",1\n"))
            .classes == 3);
  std::string ring, ids = "id,label\n";
  for (int i = 0; i < 10; ++i) {
    ring += fmt::format("n{},n{}\n", i, (i + 1) % 10);
    ids += fmt::format("n{},{}\n", i, i);
  }
  CHECK(says(refused(ring, with_table(*this, ids)),
             "features: column 2 (label) has another text in every row…"));
  ids += "n0a,0\n";  // one of them twice
  CHECK(says(refused(ring, with_table(*this, ids)),
             "features: column 2 (label) has another text in nearly every row…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "what is asked of labels needs some") {
  const EdgeListOptions plain = with_table(*this, "id,a\nann,1\nbob,2\ncid,3\n");
  const std::string refusal =
      "features: no column of labels, expected one called label or class (--label COLUMN says which)";
  EdgeListOptions o = plain;
  o.node_files.task = Task::node_regression;
  CHECK(refused(kRing, o) == refusal);
  o = plain;
  o.node_files.missing_labels = Names{"x"};
  CHECK(refused(kRing, o) == refusal);
  o = plain;
  o.node_files.split = RandomSplits{{.val = 0.3, .test = 0.3}, 0, true};
  CHECK(refused(kRing, o) == refusal);
  o.node_files.split->stratified = false;
  CHECK(import(kRing, o).splits.size() == 1);
}

TEST_CASE_FIXTURE(EdgeFiles, "several labels of a node: lists in a field, or a line for each") {
  const auto labelled = [&](const std::string& text) {
    EdgeListOptions o = with_labels(text);
    o.node_files.task = Task::node_multilabel;
    return o;
  };
  const auto rows = [](const FoundEdges& found) {  // by name, -1: no label
    std::map<std::string, std::vector<int>> all;
    const std::vector<float> y = found.y.to_vector<float>();
    const auto width = uz(found.y.size(1));
    const Names nodes = names(found);
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t k = 0; k < width; ++k)
        all[nodes[i]].push_back(std::isnan(y[i * width + k]) ? -1 : static_cast<int>(y[i * width + k]));
    return all;
  };
  using Rows = std::map<std::string, std::vector<int>>;
  const FoundEdges lines = import(kRing, labelled("ann,red\nann,blue\ncid,blue\n"));
  CHECK(lines.class_names == Names{"blue", "red"});
  CHECK(rows(lines) == Rows{{"ann", {1, 1}}, {"bob", {-1, -1}}, {"cid", {1, 0}}});
  CHECK(lines.unlabelled == 1);
  CHECK(says(lines.notes, "…; labels are 2 kinds, text, alphabetical…"));
  const FoundEdges lists = import(kRing, labelled("id,groups\nann,7;12\nbob,NA\ncid,12\n"));
  CHECK(lists.class_names == Names{"7", "12"});
  CHECK(rows(lists) == Rows{{"ann", {1, 1}}, {"bob", {-1, -1}}, {"cid", {0, 1}}});
  CHECK(says(lists.notes, "…; labels are 2 kinds, numbers, in ascending order, separated by a semicolon…"));
  const FoundEdges one = import(kRing, labelled("id,spam\nann,1\nbob,0\ncid,1\n"));
  CHECK(rows(one) == Rows{{"ann", {1}}, {"bob", {0}}, {"cid", {1}}});
  CHECK(one.class_names == Names{"spam"});
  CHECK(says(refused(kRing, labelled("ann,NA\n")), "labels: no labels…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "tables by row have labels too, and empty lines are no rows") {
  EdgeListOptions o = with_table(*this, "a,label\n1,x\n\n2,y\n3,x\n");
  o.node_files.features_by_row = true;
  const FoundEdges found = import("2 0\n0 1\n", o);
  CHECK(features(found) == F{3, 1, 2});
  CHECK(classes(found) == I{0, 0, 1});
}

TEST_CASE_FIXTURE(EdgeFiles, "types of columns: numbers, booleans, categories and vectors") {
  const FoundEdges found = import(kRing, with_table(*this,
                                                    "id,age,member,colour,v\nann,30,True,red,\"0.5, 1\"\n"
                                                    "bob,40,false,blue,\"[2 3]\"\ncid,50,TRUE,red,4;5\n"));
  CHECK(found.feature_names == Names{"age", "member", "colour=blue", "colour=red", "v[0]", "v[1]"});
  CHECK(features(found) == F{30, 1, 0, 1, 0.5f, 1, 40, 0, 1, 0, 2, 3, 50, 1, 0, 1, 4, 5});
  CHECK(says(found.notes, "…; member: boolean; colour: category of 2; v: 2 numbers in a field\n"));
  // On request.
  EdgeListOptions o = with_table(*this, "id,zip,x\nann,7,1\nbob,12,1\ncid,7,1\n");
  o.node_files.types = {{"zip", ColumnType::category}};
  const FoundEdges zip = import(kRing, o);
  CHECK(zip.feature_names == Names{"zip=12", "zip=7", "x"});
  CHECK(features(zip) == F{0, 1, 1, 1, 0, 1, 0, 1, 1});
  CHECK(says(zip.notes, "…; zip: category of 2; constant: x\n"));
  // What numbers lose is said.
  CHECK(says(
      import(kRing, with_table(*this, "id,zip,seen,x\nann,01001,16777217,1\nbob,2139,5,2\ncid,0,6,3\n"))
          .notes,
      "…; zip: numbers, 1 begin with a zero, as codes do (--types COLUMN=category or hash keeps it); seen: "
      "numbers, 1 number is rounded to float32, by 1 at most\n"));
  o = with_table(*this, "id,ok\nann,true\nbob,false\ncid,true\n");
  o.node_files.types = {{"ok", ColumnType::number}};
  CHECK(refused(kRing, o) ==
        "features:2: \"true\" in column 2 (ok), expected a finite number within float32");
  o.node_files.types = {{"id", ColumnType::number}};
  CHECK(says(refused(kRing, o), "features:1: column 1 (id) has a type, but is no feature"));
  // What is neither.
  CHECK(refused(kRing, with_table(*this, "id,a\nann,1\nbob,1.O\ncid,2\n")) ==
        "features:3: \"1.O\" in column 2 (a), expected a finite number within float32, as 2 other fields are "
        "there");
  CHECK(refused(kRing, with_table(*this, "id,name\nann,A\nbob,B\ncid,C\n")) ==
        "features:2: \"A\" in column 2 (name), a column of another text in every row, expected numbers, or "
        "texts of 64 categories at most (--without COLUMN: no feature; --types COLUMN=hash, ordinal or text: "
        "a feature of another type)");
  std::string edges, table = "id,word\n";
  for (int i = 0; i < 200; ++i) {
    edges += fmt::format("n{},n{}\n", i, (i + 1) % 200);
    table += fmt::format("n{},w{}\n", i, i % 65);
  }
  CHECK(says(refused(edges, with_table(*this, table)),
             "features:2: \"w0\" in column 2 (word), a column of more than 64…"));
  CHECK(refused(kRing, with_table(*this, "id,v\nann,1 2\nbob,1 2 3\ncid,1 2\n")) ==
        "features:2: \"1 2\" in column 2 (v), a column of vectors of different lengths, expected equal ones "
        "(--types COLUMN=set: lists of items)");
}

TEST_CASE_FIXTURE(EdgeFiles, "categories and types are the same on any number of threads, over many blocks") {
  std::string edges, table = "id,kind,x,flag\n";
  const char* const kinds[] = {"oak", "ash", "elm", "fir", ""};
  for (int i = 0; i < 120000; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 120000);
    table += fmt::format("{},{},{},{}\n", i, kinds[i * 7 % 5], i % 10, i % 3 == 0 ? "True" : "False");
  }
  for (int threads : {1, 4}) {
    const Threads scope(threads);
    const FoundEdges found = import(edges, with_table(*this, table));
    CHECK(found.feature_names == Names{"kind=ash", "kind=elm", "kind=fir", "kind=oak", "x", "flag"});
    CHECK(says(found.notes, "…; kind: category of 4, 24000 without one; flag: boolean\n"));
    const F x = features(found);
    bool same = true;
    for (int i = 0; same && i < 120000; ++i) {
      const int kind = i * 7 % 5;
      const F row{kind == 1 ? 1.0f : 0, kind == 2 ? 1.0f : 0,       kind == 3 ? 1.0f : 0,
                  kind == 0 ? 1.0f : 0, static_cast<float>(i % 10), i % 3 == 0 ? 1.0f : 0};
      same = std::equal(row.begin(), row.end(), x.begin() + 6 * i);
    }
    CHECK(same);
  }
}

TEST_CASE_FIXTURE(EdgeFiles, "nodes of the table need no edges, and integers may be written as 7.0") {
  const FoundEdges found = import(kRing, with_table(*this, "id,a\ndora,4\nann,1\nbob,2\ncid,3\neve,5\n"));
  CHECK(names(found) == Names{"ann", "bob", "cid", "dora", "eve"});
  CHECK(features(found) == F{1, 2, 3, 4, 5});
  CHECK(says(found.notes, "…\nfeatures: 2 nodes without an edge: dora, eve\n…"));
  const FoundEdges floats = import("7,8\n8,7\n", with_table(*this, "id,a\n9.0,3\n8.0,2\n7,1\n"));
  CHECK(floats.node_ids.to_vector<int64_t>() == L{7, 8, 9});
  CHECK(features(floats) == F{1, 2, 3});
  EdgeListOptions numbers = with_table(*this, "id,a\n0,1\n1,2\n2,3\n");
  numbers.ids = NodeIds::Kind::numbers;
  CHECK(import("0,1\n", numbers).num_nodes() == 3);
  const std::string words = "who,colour\nann,red\nbob,red\ncid,blue\n";
  CHECK(refused(kRing, with_table(*this, words)) ==
        "features:1: \"who\" is in no edge, so that the line is a header or a node, expected --node-headers "
        "yes or no to say which");
  EdgeListOptions stated = with_table(*this, words);
  stated.node_files.headers = Header::yes;
  CHECK(import(kRing, stated).feature_names == Names{"colour=blue", "colour=red"});
  stated.node_files.headers = Header::no;
  CHECK(names(import(kRing, stated)) == Names{"ann", "bob", "cid", "who"});
  CHECK(refused(kRing, with_table(*this, "id,a\n1,4\n2,1\n3,2\n")) ==
        "features:2: \"1\" in column 1 (id) is in no edge, nor is any other node of the file, expected the "
        "ids of the edges (--id COLUMN says which column has them)");
  CHECK(says(refused("7,8\n", with_table(*this, "id,a\n7,1\nx,2\n8,2\n")),
             "features:3: \"x\", expected the id of a node, an integer…"));
  CHECK(says(refused(kRing, with_table(*this, "id,a\nann,1\n,2\nbob,3\n")),
             "features:3: \"\", expected the id…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "imputation is of the training nodes, also for nodes without a row") {
  const std::string table = "id,a,ok,kind\nann,1,true,x\nbob,,false,y\ndan,9,,x\n",
                    list = kRing + "cid,dan\n";
  CHECK(refused(list, with_features(table)) == "features:4: 3 rows for 4 nodes; no row for 'cid'");
  EdgeListOptions o = with_features(table, Imputation::mean);
  const FoundEdges all = import(list, o);
  CHECK(all.feature_names == Names{"a", "ok", "kind=x", "kind=y"});
  CHECK(features(all) == F{1, 1, 1, 0, 5, 0, 0, 1, 5, 0.5f, 0, 0, 9, 0.5f, 1, 0});
  CHECK(says(all.notes,
             "…; 1 node without a row; 4 missing numbers imputed (mean) in 2 columns: 2 in a, 2 in ok\n"));
  o = with_split("ann\nbob\n", "cid\n", "dan\n", o);
  const FoundEdges split = import(list, o);
  CHECK(features(split) == F{1, 1, 1, 0, 1, 0, 0, 1, 1, 0.5f, 0, 0, 9, 0.5f, 1, 0});
  CHECK(says(split.notes, "…imputed (mean of 2 training nodes) in 2 columns…"));
  o = with_split("bob\n", "ann\n", "dan\n", with_features(table, Imputation::median));
  CHECK(refused(list, o) ==
        "features: no number in a of the training nodes, expected at least one to find its median");
  // Most nodes without a row are another file's.
  CHECK(says(refused("a,b\nc,d\ne,a\n", with_features("id,x\na,1\nb,2\n", Imputation::zero)),
             "features:3: 2 rows for 5 nodes…"));
}

TEST_CASE_FIXTURE(EdgeFiles,
                  "sets of items: one separator in all rows, a column for each item or for its hash") {
  EdgeListOptions o =
      with_table(*this, "id,words,tags\nann,\"30,4\",New York\nbob,4,\ncid,\"5,30,4\",Rome|New York\n");
  o.node_files.types = {{"words", ColumnType::set}, {"tags", ColumnType::set}};
  const FoundEdges found = import(kRing, o);
  CHECK(found.feature_names == Names{"words=4", "words=5", "words=30", "tags=New York", "tags=Rome"});
  CHECK(features(found) == F{1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1});
  CHECK(says(found.notes,
             "…; words: set, items separated by a comma, 3 different ones; tags: set, items separated by "
             "\"|\", 2 different ones, 1 without one; constant: words=4\n"));
  o.node_files.types[0].columns = 8;
  const F hashed = features(import(kRing, o));
  CHECK(hashed.size() == 30);
  for (size_t k = 0; k < 8; ++k) CHECK(hashed[k] <= hashed[20 + k]);  // 30 and 4 are in the last row, too
  CHECK(std::count(hashed.begin() + 10, hashed.begin() + 18, 1.0f) == 1);
  std::string many = "id,words\nann,1\nbob,2\ncid,";
  for (int k = 0; k < 4095; ++k) many += std::to_string(k) + '|';
  o = with_table(*this, many + "4095\n");
  o.node_files.types = {{"words", ColumnType::set}};
  CHECK(import(kRing, o).feature_names.size() == 4096);
  o = with_table(*this, many + "4095|4096\n");
  o.node_files.types = {{"words", ColumnType::set}};
  CHECK(says(refused(kRing, o),
             "features:2: \"1\" in column 2 (words), a column of more than 4096 different items…"));
  o.node_files.types.clear();
  CHECK(says(refused(kRing, with_table(*this, "id,words\nann,\"1;2\"\nbob,3\ncid,4\n")),
             "features:2: \"1;2\" in column 2 (words), expected a finite number…(--types COLUMN=set: lists "
             "of items)"));
}

TEST_CASE_FIXTURE(EdgeFiles, "types on request: ordinals, hashes, words and dates") {
  EdgeListOptions o = with_table(*this,
                                 "id,size,zip,note,day\nann,10,A1,red car,2024-03-01\nbob,9,B2,,1969-12-31\n"
                                 "cid,10,A1,car,1970-01-01T12:00\n");
  o.node_files.types = {
      {"size", ColumnType::ordinal}, {"zip", ColumnType::hash, 8}, {"note", ColumnType::text, 8}};
  const FoundEdges found = import(kRing, o);
  CHECK(found.feature_names.size() == 18);
  CHECK(found.feature_names[0] == "size");
  CHECK(found.feature_names[9] == "note[0]");
  CHECK(found.feature_names[17] == "day");
  const F x = features(found);
  const auto row = [&](int i) { return F(x.begin() + 18 * i, x.begin() + 18 * (i + 1)); };
  CHECK(row(0)[0] == 1);  // 9 before 10
  CHECK(row(1)[0] == 0);
  CHECK(row(0)[17] == 19784);  // days since the first one
  CHECK(row(1)[17] == 0);
  CHECK(row(2)[17] == 1.5f);
  CHECK(std::equal(x.begin() + 1, x.begin() + 9, x.begin() + 37));  // one zip
  const auto ones = [&](int i) { return std::count(x.begin() + 18 * i + 1, x.begin() + 18 * i + 9, 1.0f); };
  for (int i = 0; i < 3; ++i) CHECK(ones(i) == 1);
  CHECK(std::count(x.begin() + 27, x.begin() + 35, 0.0f) == 8);  // no note
  CHECK(row(2)[9] == 1);                                         // car, by its hash
  CHECK(
      says(found.notes,
           "…; size: 0 to 1, from 9 to 10; zip: hashed into 8 columns; note: words and pairs of words, "
           "hashed into 8 columns, 1 without one; day: date, in days since 1969-12-31, rounded by 85 seconds "
           "at most\n"));
  CHECK(says(refused(kRing, with_table(*this, "id,day\nann,3/1/2024\nbob,3/2/2024\ncid,3/1/2024\n")),
             "features:2: \"3/1/2024\" in column 2 (day), a column of dates whose order is unclear…"));
  o = with_table(*this, "id,day\nann,2024-03-01\nbob,soon\ncid,\n");
  CHECK(import(kRing, o).feature_names == Names{"day=2024-03-01", "day=soon"});
  o.node_files.types = {{"day", ColumnType::date}};
  CHECK(refused(kRing, o) ==
        "features:3: \"soon\" in column 2 (day), expected dates as 2024-12-31 or 2024-12-31T23:59:59Z");
  o = with_table(*this, "id,day\nann,2024-03-01\nbob,2024-03-02\ncid,\n");
  CHECK(says(refused(kRing, o), "features:4: no number in column 2 (day)…"));
  o.node_files.impute = Imputation::mean;
  CHECK(features(import(kRing, o))[2] == 19783.5f);
  // Any number of different texts.
  std::string edges, table = "id,word\n";
  for (int i = 0; i < 200; ++i) {
    edges += fmt::format("n{},n{}\n", i, (i + 1) % 200);
    table += fmt::format("n{},w{:03}\n", i, 199 - i);
  }
  o = with_table(*this, table);
  o.node_files.types = {{"word", ColumnType::ordinal}};
  const F ranks = features(import(edges, o));
  CHECK(ranks[0] == 199);
  CHECK(ranks[199] == 0);
}

TEST_CASE_FIXTURE(EdgeFiles, "a later table goes through the encoder of the first") {
  EdgeListOptions first = with_split(
      "ann\nbob\n", "cid\n", "dan\n",
      with_table(*this,
                 "id,age,member,colour,label\nann,30,true,red,x\nbob,50,false,blue,y\ncid,,true,,x\n"
                 "dan,90,,red,x\n"));
  first.node_files.impute = Imputation::mean;
  const FoundEdges fitted = import(kRing + "cid,dan\n", first);
  CHECK(fitted.encoder.columns.size() == 3);
  CHECK(fitted.encoder.columns[0].filling == std::vector{40.0f});
  const auto like = [&](const std::string& table) {
    EdgeListOptions o = with_table(*this, table);
    o.node_files.like = LikeFile{"first.h5", fitted.encoder};
    return o;
  };
  // Other columns, order, types by their own contents, and gaps; a node without a row; an unknown category.
  const std::string later = "colour,extra,id,member,age\ngreen,7,eve,1,\n,8,fay,,20\nblue,9,gus,0,60\n";
  const FoundEdges found = import("eve,fay\nfay,gus\ngus,hal\n", like(later));
  CHECK(found.feature_names == Names{"age", "member", "colour=blue", "colour=red"});
  CHECK(features(found) == F{40, 1, 0, 0, 20, 0.5f, 0, 0, 60, 0, 1, 0, 40, 0.5f, 0, 0});
  CHECK(found.encoder == fitted.encoder);
  CHECK(says(found.notes,
             "…features: separated by a comma; line 1 taken as header: colour,extra,id,member,age; ids from "
             "column 3 (id); features as in first.h5; age: 1 missing, 40 as there; member: 1 missing, 0.5 as "
             "there; colour: 1 missing; colour: 1 row of categories that are not known there (green); 1 node "
             "without a row; passed over: extra\n"));
  // Labels stay labels, unless they were a feature.
  const FoundEdges labelled =
      import("eve,fay\n", like("id,age,member,colour,label\neve,1,true,red,u\nfay,2,true,red,v\n"));
  CHECK(labelled.class_names == Names{"u", "v"});
  EdgeListOptions was_feature = like("id,label\neve,1\nfay,2\n");
  was_feature.node_files.like->encoder = FeatureEncoder::numbers({"label"});
  const FoundEdges feature = import("eve,fay\n", was_feature);
  CHECK(features(feature) == F{1, 2});
  CHECK(!feature.y);

  CHECK(refused("eve,fay\n", like("id,Age,colour\neve,1,red\nfay,2,red\n")) ==
        "features:1, features as in first.h5: no column age, member, expected all of 3; other columns: id, "
        "Age (\"Age\" is not \"age\": letters differ in case)");
  CHECK(says(refused("eve,fay\n", like("age,member,colour\n1,true,red\n2,true,red\n")),
             "features:1: column 1 (age) is a feature in first.h5, expected another column of ids (--id)"));
  CHECK(refused("eve,fay\n", like("id,age,member,colour\neve,old,1,red\nfay,2,1,red\n")) ==
        "features:2: \"old\" in column 2 (age), expected a finite number within float32 as in first.h5");
  CHECK(refused("eve,fay\n", like("id,age,member,colour\neve,1,2,red\nfay,2,1,red\n")) ==
        "features:2: \"2\" in column 3 (member), expected true, false, 1 or 0 as in first.h5");
  CHECK(says(refused("eve,fay\n", like("id,age,member,colour\neve,1,1,red\neve,2,1,red\n")),
             "features:3: node 'eve' occurs twice, expected one row each"));
  // Without fillings.
  EdgeListOptions bare = like("id,a,b\neve,1,low\nfay,,high\n");
  bare.node_files.like->encoder = {
      {{.column = "a"}, {.column = "b", .type = ColumnType::ordinal, .categories = {"low", "high"}}}};
  CHECK(says(
      refused("eve,fay\n", bare),
      "features:3: no value in column 2 (a), expected one, as first.h5 was converted without --impute…"));
  bare.node_files.features = put("features", "id,a,b\neve,1,low\nfay,2,higher\n");
  CHECK(says(refused("eve,fay\n", bare),
             "features: column 3 (b) has texts that first.h5 does not know (higher), expected its 2"));
  bare.node_files.features = put("features", "id,a,b\neve,1,low\n");
  CHECK(says(refused("eve,fay\n", bare), "features:2: 1 rows for 2 nodes; no row for 'fay'"));
}
