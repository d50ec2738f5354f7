#include "edge_files.h"

// Guesses of `convert edges` about its files, and its notes about them.

using namespace adj;
using namespace adj::test;

TEST_CASE_FIXTURE(EdgeFiles, "comments are before the first edge, and names may begin with # and %") {
  const FoundEdges found = import("# SNAP\n#more\n% KONECT\nann #bob\n#bob %cid\n# dan\n%cid ann\n");
  CHECK(names(found) == Names{"ann", "#bob", "%cid", "#", "dan"});
  CHECK(found.notes == "edges: separated by blanks; 3 lines of comments; ids are names\n");
  CHECK(import("#From\tTo\n1\t2\n2\t3\n").notes ==
        "edges: separated by a tab; columns named by the comment above: From, To; 1 line of comments; ids "
        "are integers from 1 to 3\n");
  CHECK(says(refused("1 2\n# 3\n"), "edges:2: \"#\" in column 1…"));

  const std::string tags = "#cat,#dog\n#dog,emu\nemu,#cat\n//x\n";
  CHECK(refused(tags) ==
        "edges:1: \"#cat,#dog\" may be a comment or a row: --comment '#' means the former, --comment '' the "
        "latter");
  CHECK(
      says(refused(tags, {.text = {.comment = ""}}), "edges:4: 1 fields, expected 2 as in the first line…"));
  const FoundEdges slashes = import(tags, {.text = {.comment = "//"}});
  CHECK(names(slashes) == Names{"#cat", "#dog", "emu"});
  CHECK(slashes.notes == "edges: separated by a comma; 1 line of comments; ids are names\n");
  CHECK(import("a b\n//\n//x y\nb c\n// z\n", {.text = {.comment = "//"}}).notes ==
        "edges: separated by blanks; 3 lines of comments; ids are names\n");
  CHECK(refused("#a,#b\n#b,#c\n") ==
        "edges: no edges, expected some in addition to 2 lines of comments (--comment defines them)");
}

TEST_CASE_FIXTURE(EdgeFiles, "a first line with a number is not a header") {
  const FoundEdges huge = import("18446744073709551615,5\n7,5\n");
  CHECK(names(huge) == Names{"18446744073709551615", "5", "7"});
  CHECK(huge.notes ==
        "edges: separated by a comma; ids are names (\"18446744073709551615\" is not a 64-bit integer)\n");
  CHECK(import("1.0 2.0\n1 2\n").graph.num_edges() == 2);
  CHECK(import("1e400 x\n1 2\n").graph.num_edges() == 2);
  CHECK(import("ann,2\n1,2\n").graph.num_edges() == 2);
  CHECK(import("a,b,5\nc,d,6\n", {.columns = {.weight = "3"}}).graph.num_edges() == 2);
  CHECK(refused("1 2\nx 3\n") ==
        "edges:2: \"x\" in column 1, expected a 64-bit integer, as the first ids are (--ids names takes any "
        "text)");
}

TEST_CASE_FIXTURE(EdgeFiles,
                  "a header is recognised by numbers below it, or by ids that occur nowhere else") {
  const auto notes = [&](const std::string& text, const EdgeListOptions& options = {}) {
    return import(text, options).notes;
  };
  CHECK(notes("src,dst\n5,6\n6,5\n") ==
        "edges: separated by a comma; line 1 taken as header: src,dst; ids are integers from 5 to 6\n");
  const FoundEdges named = import("# x\nsrc,dst\nann,bob\nbob,cid\n");
  CHECK(named.notes ==
        "edges: separated by a comma; line 2 taken as header: src,dst; 1 line of comments; ids are names\n");
  CHECK(names(named) == Names{"ann", "bob", "cid"});
  CHECK(src_of(named) == I{0, 1});
  CHECK(dst_of(named) == I{1, 2});
  // Isolated pairs are in many graphs, usual column names in few.
  CHECK(says(notes("src,dst\nann,bob\ncid,dan\n"), "…header: src,dst…"));
  CHECK(says(notes("node,friend\nann,bob\nbob,cid\n"), "…header: node,friend…"));
  const FoundEdges weighted = import("a1,a2,w\nann,bob,1.5\ncid,dan,2\n", {.columns = {.weight = "3"}});
  CHECK(says(weighted.notes, "…header: a1,a2,w…"));
  CHECK(weights(weighted) == F{1.5f, 2});
  CHECK(says(notes("drug1,drug2\nD1,D2\nD2,D3\n"), "…header: drug1,drug2…"));
  CHECK(says(refused("BRCA1,BRCA2\nTP53,MDM2\nMDM2,MDM4\n"), "edges:1: \"BRCA1,BRCA2\", a header or…"));
  // Other words may be names of nodes, whose edge would be lost.
  for (const std::string first : {"alice,bob", "node1,node2"})
    CHECK(refused(first + (first == "alice,bob" ? "\ncarol,dave\ndave,erin\nerin,carol\n"
                                                : "\nnode3,node4\nnode4,node5\nnode5,node3\n")) ==
          "edges:1: \"" + first + "\", a header or an edge, expected --header yes or no to say which");
  CHECK(says(notes("first,second\nitem3,item4\nitem4,item5\n"), "…header: first,second…"));
  // Other first lines are edges, with a note if that is not certain.
  CHECK(notes("ann,bob\nbob,cid\n") == "edges: separated by a comma; ids are names\n");
  CHECK(says(notes("ann,bob\ncid,dan\n"), "…line 1 taken as an edge: ann,bob, with ids…"));
  CHECK(says(notes("src,dst\nann,src\n"), "…header: src,dst; ids are names; a node is called \"src\", too…"));
  CHECK(import("x,x\nann,bob\n").graph.num_edges() == 2);
  CHECK(import("ann,bob\n").graph.num_edges() == 1);
  CHECK(says(notes("first,second\n"), "…line 1 taken as an edge: first,second, with ids…"));
  CHECK(says(
      refused("src user,dst user,w\nann,src user,1\n", {.columns = {.weight = "3"}}),
      "edges:1: \"src user,dst user,w\", a header or an edge, expected --header yes or no to say which"));
  CHECK(says(refused("a,b,NA\nc,d,6\n", {.columns = {.weight = "3"}}),
             "edges:1: \"a,b,NA\", a header or an edge…"));
  // The option decides.
  CHECK(names(import("src,dst\nann,bob\nbob,cid\n", {.header = Header::no})) ==
        Names{"src", "dst", "ann", "bob", "cid"});
  CHECK(names(import("ann,bob\nbob,cid\n", {.header = Header::yes})) == Names{"bob", "cid"});
  CHECK(says(notes("1 2\n3 4\n", {.header = Header::yes}), "…line 1 taken as header: 1 2…"));
  CHECK(names(import("src,dst\n1,2\n", {.header = Header::no})) == Names{"src", "dst", "1", "2"});
  CHECK(refused("src,dst\n") ==
        "edges:1: no edges after the header, expected some (--header no: it is an edge)");
  CHECK(refused("src,dst\n", {.header = Header::yes}) == "edges:1: no edges after the header, expected some");
}

TEST_CASE_FIXTURE(EdgeFiles, "names in a header are not nodes, on any number of threads") {
  std::string text = "one,id\n";
  for (int i = 0; i < 200000; ++i) text += fmt::format("n{},n{}\n", i % 5000, (i * 7) % 4999);
  const Dataset expected = import(text.substr(7), {.undirected = true});
  for (int threads : {1, 4}) {
    const Threads scope(threads);
    const Dataset data = import(text, {.undirected = true});
    CHECK(names(data) == names(expected));
    CHECK(same_bits(data.graph.edge_index().src, expected.graph.edge_index().src));
    CHECK(same_bits(data.graph.edge_index().dst, expected.graph.edge_index().dst));
  }
  EdgeListOptions o = with_labels("n4,x\none,y\n");
  CHECK(says(refused(text, o), "labels:2: \"one\" is in no edge…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "quotes hold separators, quotes and line ends, in every file") {
  EdgeListOptions o = with_split("\"two\nlines\"\n", "Doe, John\n", "\"say \"\"x\"\"\"\n");
  o.node_files.features =
      put("x", "id,\"a, b\"\n\"Doe, John\",\"1.5\"\n\"two\nlines\",2\n\"say \"\"x\"\"\",3\n");
  o.node_files.labels = put("y", "\"two\nlines\";\"a;b\"\n\"Doe, John\";\"a;b\"\n\"say \"\"x\"\"\";\"\n\"\n");
  const Dataset data = import("\"Doe, John\",\"two\nlines\"\r\n \"two\nlines\" ,\"say \"\"x\"\"\"\n", o);
  CHECK(names(data) == Names{"Doe, John", "two\nlines", "say \"x\""});
  CHECK(features(data) == F{1.5f, 2, 3});
  CHECK(classes(data) == I{1, 1, 0});
  CHECK(train_of(data) == I{1});
  CHECK(val_of(data) == I{0});
  CHECK(names(import("\"a b\"\tx\"y\nx\"y\tc\n")) == Names{"a b", "x\"y", "c"});
  CHECK(names(import("\"a b\" \"c\"\nc d\n")) == Names{"a b", "c", "d"});
  CHECK(refused("a,b\n\"c,d\ne,f\n") == "edges:2: a quote that is not closed, expected a second one");
  CHECK(refused("a,b\n\"c\"d,e\n") == "edges:2: text after a closing quote, expected a comma");
  CHECK(says(refused("a,b\n\"c\n\n\nd\",e,f\n\""), "edges:2: 3 fields, expected 2 as in the first line…"));
  CHECK(says(refused("a,b\n\"c\n\n\nd\",e\nf\n"), "edges:6: 1 fields, expected 2 as in the first line…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "records of several lines are never split by blocks, on any number of threads") {
  std::string text = "# it's \"so\nsrc,dst,note\n";
  Names expected;
  for (int i = 0; i < 120000; ++i) {
    const std::string name = fmt::format("n\n{}, \"{}\"", i, i % 7);
    text += fmt::format("\"n\n{}, \"\"{}\"\"\",hub,\"{}\"\n", i, i % 7,
                        std::string(static_cast<size_t>(i % 40), '\n'));
    expected.push_back(name);
    if (i == 0) expected.emplace_back("hub");
  }
  for (int threads : {1, 4}) {
    const Threads scope(threads);
    CHECK(names(import(text)) == expected);
  }
  std::string late = text;
  late += "\"open,hub,x\n";
  for (int i = 0; i < 5000000; ++i) late += "1,2\n";
  CHECK(says(refused(late), "…a quote that is not closed within 8388608 bytes…"));
}

TEST_CASE("labels that are numbers are sorted as numbers, and values for no label are noted") {
  const EdgeFiles files;
  const std::string ring = "0,1\n1,2\n2,3\n3,0\n";
  const FoundEdges floats = files.import(ring, files.with_labels("0,10.0\n1,2.0\n2,1.0\n3,2\n"));
  CHECK(classes(floats) == I{2, 1, 0, 1});
  CHECK(floats.class_names == Names{"1.0", "2.0", "10.0"});
  CHECK(files.import(ring, files.with_labels("0,1\n1,0\n2,0\n3,1\n")).class_names.empty());
  CHECK(files.import(ring, files.with_labels("0,20\n1,3\n")).class_names == Names{"3", "20"});
  CHECK(files.import(ring, files.with_labels("0,pear\n1,Äpfel\n")).class_names == Names{"pear", "Äpfel"});
  EdgeListOptions columns = files.with_labels("id,red,green\n0,1,0\n1,NA,1\n");
  columns.node_files.task = Task::node_multilabel;
  const FoundEdges several = files.import(ring, columns);
  CHECK(several.class_names == Names{"red", "green"});
  CHECK(says(several.notes,
             "…header: id,red,green; 1 field taken as no label, in column 2 (red), the first in line 3\n…"));
  columns = files.with_labels("id,red,red\n0,1,0\n1,0,1\n");
  columns.node_files.task = Task::node_multilabel;
  const FoundEdges twice = files.import(ring, columns);
  CHECK(twice.class_names.empty());
  CHECK(says(twice.notes, "…; names not kept: class 1: \"red\", as class 0, expected distinct names\n…"));
  CHECK(floats.notes ==
        "edges: separated by a comma; ids are integers from 0 to 3\n"
        "labels: separated by a comma; ids from column 1; labels are numbers, in ascending order; 1 other "
        "spelling of a number, as \"2\" of \"2.0\": the same class\n");
  const FoundEdges none = files.import(ring, files.with_labels("id,label\n0,-1\n1,NA\n2,x\n3,None\n"));
  CHECK(classes(none) == I{-1, -1, 0, -1});
  CHECK(none.unlabelled == 3);
  CHECK(says(none.notes,
             "…labels: separated by a comma; line 1 taken as header: id,label; labels are text, "
             "alphabetical; 3 lines taken as unlabelled, in column 2 (label), the first in line 2: 1 of "
             "\"-1\", 1 of \"NA\", 1 of \"None\"\n…"));
  CHECK(files.import(ring, files.with_labels("0,-1.0\n1,1.0\n2,\n3,null\n")).unlabelled == 3);
  EdgeListOptions o = files.with_labels("0,-1\n1,NA\n2,\n3,None\n");
  o.node_files.missing_labels = Names{"", "NA"};
  const Dataset chosen = files.import(ring, o);
  CHECK(classes(chosen) == I{0, -1, -1, 1});
  CHECK(says(files.import(ring, files.with_labels("0,0.5\n1,0.25\n")).notes, "…--task node_regression…"));
}

TEST_CASE_FIXTURE(EdgeFiles,
                  "classes that may mean no label, and features that may be the label, are noted") {
  const std::string ring = "0,1\n1,2\n2,0\n";
  const FoundEdges unknown = import(ring, with_labels("id,class\n0,1\n1,Unknown\n2,Unknown\n"));
  CHECK(
      says(unknown.notes,
           "…labels are text, alphabetical; \"Unknown\" is a class, of 2 nodes (--missing-labels \"Unknown\" "
           "makes it none)\n"));
  EdgeListOptions o = with_labels("id,kind\n0,a\n1,b\n2,b\n");
  o.node_files.features = put("features", "id,f,kind\n0,0.1,0\n1,0.2,1\n2,0.3,1\n");
  CHECK(says(import(ring, o).notes,
             "…features: column \"kind\" is a feature; if it is the label, models see the answer\n…"));
  o.node_files.features = put("features", "id,f,kinds\n0,0.1,0\n1,0.2,1\n2,0.3,1\n");
  CHECK(import(ring, o).notes.find("answer") == std::string::npos);
}

TEST_CASE_FIXTURE(EdgeFiles, "chosen words for no label add to the usual ones, unless one of them is empty") {
  const std::string ring = "0,1\n1,2\n2,3\n3,0\n";
  EdgeListOptions o = with_labels("id,class\n0,NA\n1,unknown\n2,red\n3,-1\n");
  o.node_files.missing_labels = Names{"unknown"};
  CHECK(import(ring, o).class_names == Names{"red"});
  for (const Names& empty : {Names{}, Names{""}}) {
    o.node_files.missing_labels = empty;
    CHECK(import(ring, o).class_names == Names{"-1", "NA", "red", "unknown"});
  }
  o = {.columns = {.label = "kind"}, .node_files = {.missing_labels = Names{"9"}}};
  CHECK(import("source,target,kind\na,b,NA\nb,c,9\nc,a,red\n", o).class_names == Names{"red"});
}

TEST_CASE_FIXTURE(EdgeFiles, "labels -1 and 1, and numbers of many values, are noted") {
  const std::string ring = "0,1\n1,2\n2,0\n";
  const std::string hint = "…1 of \"-1\" (--missing-labels \"\": -1 is a class)\n…";
  CHECK(says(import(ring, with_labels("0,-1\n1,1\n2,1\n")).notes, hint));
  CHECK(says(import(ring, with_labels("0,-1\n1,0\n2,1\n")).notes, hint));
  CHECK_FALSE(says(import(ring, with_labels("0,-1\n1,2\n2,1\n")).notes, hint));
  std::string path, ages, kinds;
  for (int i = 0; i < 21; ++i) {
    path += fmt::format("{},{}\n", i, (i + 1) % 21);
    ages += fmt::format("{},{}\n", i, 20 + i);
    kinds += fmt::format("{},{}\n", i, i);
  }
  const std::string many = "…ascending order, 21 different ones (--task node_regression for targets)…";
  CHECK(says(import(path, with_labels(ages)).notes, many));
  CHECK_FALSE(says(import(path, with_labels(kinds)).notes, many));
}

TEST_CASE_FIXTURE(EdgeFiles, "targets and weights that float32 does not hold are noted") {
  EdgeListOptions o = with_labels("0,1600000001\n1,1600000000\n2,16777217\n");
  o.node_files.task = Task::node_regression;
  CHECK(says(import("0,1\n1,2\n2,0\n", o).notes,
             "…labels: …; 2 targets are rounded to float32, by 1 at most\n"));
  o = {.columns = {.label = "t"}, .edge_task = Task::edge_regression};
  CHECK(says(
      import("source,target,weight,t\na,b,16777217,1\nb,c,16777216,16777219\n", o).notes,
      "…; 1 weight is rounded to float32, by 1 at most; 1 target is rounded to float32, by 1 at most\n…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "labels that are whole numbers of any size are told apart, and sorted") {
  const std::string ring = "0,1\n1,2\n2,3\n3,0\n";
  const FoundEdges large = import(
      ring, with_labels("0,9223372036854775809\n1,9223372036854775808\n2,-9223372036854775810\n3,7\n"));
  CHECK(classes(large) == I{3, 2, 0, 1});
  CHECK(large.class_names ==
        Names{"-9223372036854775810", "7", "9223372036854775808", "9223372036854775809"});
  const std::string googol = "1" + std::string(400, '0');
  const FoundEdges equal = import(ring, with_labels("0," + googol + "\n1,-0\n2,+00\n3,0" + googol + "\n"));
  CHECK(classes(equal) == I{1, 0, 0, 1});
  // With fractions numbers are doubles, which do not tell these apart.
  const FoundEdges mixed = import(ring, with_labels("0,0.5\n1,9007199254740993\n2,9007199254740992\n"));
  CHECK(classes(mixed) == I{0, 2, 1, -1});
  CHECK(says(mixed.notes, "…labels are text…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "names that are not UTF-8 are refused with line and byte") {
  const std::string
      ring = "0,1\n1,2\n2,3\n3,0\n",
      rest =
          ", expected UTF-8 (a list of edges is read with --encoding latin1, or any name that iconv knows)";
  CHECK(refused("a,b\nb,M\xfcller\n") == R"(edges:2: "M\xfcller": byte 2 is 0xfc)" + rest);
  CHECK(refused("a,b\nb,\"x\n\"\"\xff\"\n") == R"(edges:2: "x\n"\xff": byte 4 is 0xff)" + rest);
  CHECK(refused("a,b\nb,\xc0\xaf\n") == R"(edges:2: "\xc0\xaf": byte 1 is 0xc0)" + rest);  // overlong
  CHECK(refused(ring, with_labels("0,pear\n1,\xc4pfel\n")) ==
        R"(labels:2: "\xc4pfel": byte 1 is 0xc4)" + rest);
  CHECK(refused("M\xc3\xbcller,b\n", with_labels("M\xfcller,1\n")) ==
        R"(labels:1: "M\xfcller": byte 2 is 0xfc)" + rest);
  EdgeListOptions columns = with_labels("id,red,gr\xfcn\n0,1,0\n1,0,1\n");
  columns.node_files.task = Task::node_multilabel;
  CHECK(refused(ring, columns) == R"(labels:1: "gr\xfcn": byte 3 is 0xfc)" + rest);
  // What is not kept may be anything.
  const EdgeListOptions first_two{.columns = {.source = "1", .target = "2"}};
  CHECK(names(import("% M\xfcller\nä,b,\xfc\nb,日本,\xff\n", first_two)) == Names{"ä", "b", "日本"});
}

// Minutes where time is quadratic in the quotes of a line.
TEST_CASE_FIXTURE(EdgeFiles, "a line of a million quotes") {
  std::string line = "a,b";
  for (int i = 0; i < 500'000; ++i) line += ",\"x\"";
  const EdgeListOptions first_two{.columns = {.source = "1", .target = "2"}};
  std::string rows = line + "\n";
  CHECK(names(import(rows + rows, first_two)) == Names{"a", "b"});
  for (char& c : line)
    if (c == ',') c = ';';
  line += ';';
  for (int i = 0; i < 1'000'000; ++i) line += "z\"";  // ordinary characters within a field
  CHECK(names(import(line + "\n\"b\n\";c" + line.substr(3) + "\n", first_two)) ==
        Names{"a", "b", "b\n", "c"});
}

TEST_CASE_FIXTURE(EdgeFiles, "headers of node files follow the same rule, and errors name unknown ids") {
  const std::string list = "ann,bob\nbob,cid\ncid,ann\n";
  CHECK(says(import(list, with_labels("node,label\nann,x\nbob,y\n")).notes, "…header: node,label…"));
  CHECK(says(import(list, with_labels("whoever,what\nann,1\nbob,2\n")).notes, "…header: whoever…"));
  CHECK(refused(list, with_labels("x17,x\nann,y\n")) ==
        "labels:1: \"x17\" is in no edge, expected an id that is in an edge (--node-headers yes: the first "
        "line is a header)");
  CHECK(refused(list, with_labels("ann,x\nx17,y\n")) ==
        "labels:2: \"x17\" is in no edge, expected an id that is in an edge");
  CHECK(says(refused("#bob,ann\nann,#bob\n", with_labels("# labels\n#bob,x\nann,y\n")),
             "edges:1: \"#bob,ann\" may be…"));
  CHECK(says(refused("ann,#bob\n#bob,ann\n", with_labels("# labels\n#bob,x\nann,y\n")),
             "labels:2: \"#bob,x\" may be a comment or a row…"));
  CHECK(refused("ann,#bob\n", with_labels("#bob,x\n")) ==
        "labels: no rows, expected some in addition to 1 line of comments (--comment defines them)");
  CHECK(import("id,src\nsrc,id\n", with_labels("id,label\nsrc,x\n")).unlabelled == 0);
  EdgeListOptions o = with_labels("x17,x\nann,y\nbob,z\n");
  o.node_files.headers = Header::yes;
  CHECK(import(list, o).classes == 2);
  o = with_features("ann,1\nbob,2\ncid,3\n");
  o.node_files.headers = Header::yes;
  CHECK(refused(list, o) == "features:3: 2 rows for 3 nodes; no row for 'ann'");
  CHECK(import(list, with_features(",f\nann,1\nbob,2\ncid,3\n")).num_features() == 1);
  const EdgeListOptions numbers{.ids = NodeIds::Kind::numbers,
                                .node_files = {.labels = put("labels", "0,a\n9,b\n")}};
  CHECK(refused("0,1\n", numbers) == "labels:2: \"9\" is not a node, expected 0 to 1 (--nodes N for more)");
  o = with_split("# chosen\nnode\nann\n", "bob\n", "x17\n");
  CHECK(says(refused(list, o), "test:1: \"x17\" is in no edge…"));
  o.node_files.test = put("test", "cid\n");
  CHECK(says(import(list, o).notes, "…train: one column; line 2 taken as header: node; 1 line of comments…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "missing numbers of features are an error, or imputed by column") {
  const std::string ring = "0,1\n1,2\n2,3\n3,0\n", x = "id,a,b,c\n0,1,NA,7\n1,2,5,7\n2,,8,7\n3,6,,7\n";
  CHECK(refused(ring, with_features(x)) ==
        "features:2: no number in column 3 (b), expected a finite one within float32 (--impute mean, median "
        "or zero fills gaps)");
  const FoundEdges mean = import(ring, with_features(x, Imputation::mean));
  CHECK(features(mean) == F{1, 6.5f, 7, 2, 5, 7, 3, 8, 7, 6, 6.5f, 7});
  CHECK(says(mean.notes, "…3 missing numbers imputed (mean) in 2 columns: 1 in a, 2 in b…"));
  const auto imputed = [&](Imputation how) { return features(import(ring, with_features(x, how))); };
  CHECK(imputed(Imputation::median)[6] == 2);
  CHECK(imputed(Imputation::zero)[6] == 0);
  const std::string nothing = "0,NA\n1,\n2,?\n3,nan\n";
  CHECK(refused(ring, with_features(nothing, Imputation::mean)) ==
        "features: no number in column 2, expected at least one to find its mean");
  CHECK(features(import(ring, with_features(nothing, Imputation::zero))) == F{0, 0, 0, 0});
}

TEST_CASE_FIXTURE(EdgeFiles, "a split is drawn among the labelled nodes, or refused") {
  std::string ring, labels;
  for (int i = 0; i < 100; ++i) {
    ring += fmt::format("{},{}\n", i, (i + 1) % 100);
    labels += fmt::format("{},{}\n", i, i % 10 == 0 ? "NA" : i % 3 == 0 ? "a" : "b");
  }
  EdgeListOptions o = with_labels(labels);
  for (bool stratified : {false, true}) {
    o.node_files.split = RandomSplits{{.val = 0.2, .test = 0.2}, 3, stratified};
    const FoundEdges found = import(ring, o);
    const Dataset& data = found;
    CHECK(found.notes.find(fmt::format("split by seed 3{}: 54 nodes to train, 18 to validate, 18 to test",
                                       stratified ? ", stratified" : "")) != std::string::npos);
    std::vector<int32_t> all;
    for (const Tensor& part : {data.train, data.val, data.test})
      for (int32_t i : part.to_vector<int32_t>()) all.push_back(i);
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    CHECK(all.size() == 90);
    for (int32_t i : all) CHECK(data.y.data<int32_t>()[i] >= 0);
    CHECK(same_bits(import(ring, o).test, data.test));
    o.node_files.split->seed = 4;
    CHECK_FALSE(same_bits(import(ring, o).test, data.test));
  }
  o = with_labels("0,a\n1,b\n");
  o.node_files.split = RandomSplits{{.val = 0.2, .test = 0.2}};
  CHECK(refused(ring, o) ==
        "labels: a split of 2 nodes with a label into 2 nodes to train, 0 to validate, 0 to test, expected "
        "some in each part");
}

TEST_CASE_FIXTURE(EdgeFiles, "equal edges whose weights add up beyond float32 are refused") {
  const EdgeListOptions o{.columns = {.weight = "3"}, .coalesce = true};
  CHECK(refused("ann,bob,3e38\nbob,ann,1\nann,bob,3e38\n", o) ==
        "edges: weights of the edges from ann to bob add up to inf, expected a sum within float32");
  CHECK(says(refused("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -3e38\n1 2 -3e38\n",
                     {.coalesce = true}),
             "…from 0 to 1 add up to -inf…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "tab-separated numbers may have blanks, and unused columns any text") {
  const FoundEdges found = import("1\t2\tsome text\n2\t3\t\n3\t1\tx\n");
  CHECK(found.graph.num_edges() == 3);
  CHECK(
      says(found.notes,
           "…; edges from column 1 to column 2; passed over: column 3; no header, so that ends are …; ids…"));
  CHECK(import("1\t2\n2 3\n").graph.num_edges() == 2);
}

TEST_CASE_FIXTURE(EdgeFiles, "a chosen text separates fields, with quotes, in all files") {
  const auto separated = [](std::string_view text) { return TextFormat{.separator = Separator(text)}; };
  const FoundEdges movies =
      import("1::1193::5\n1::661::3\n", {.text = separated("::"), .columns = {.weight = "3"}});
  CHECK(movies.node_ids.to_vector<int64_t>() == std::vector<int64_t>{1, 1193, 661});
  CHECK(weights(movies) == F{5, 3});
  CHECK(movies.notes ==
        "edges: separated by \"::\"; edges from column 1 to column 2; weights from column 3; ids are "
        "integers from 1 to 1193\n");
  const FoundEdges pipes = import("a | \"b | \"\"c\"\"\"|12\nb|  \"a\"  |3,\n", {.text = separated("|")});
  CHECK(names(pipes) == Names{"a", "b | \"c\"", "b"});
  CHECK(names(import("a | \"b\"\na | \"c | \n\"\n", {.text = separated(" | ")})) ==
        Names{"a", "b", "c | \n"});
  CHECK(names(import("a,b\tc;\n", {.text = separated("\t")})) == Names{"a,b", "c;"});
  CHECK(names(import("a,b  c;\n", {.text = separated("")})) == Names{"a,b", "c;"});
  CHECK(names(import("a:b::c\n", {.text = separated("::")})) == Names{"a:b", "c"});
  CHECK(names(import("aSEPARATED BY 15b\n", {.text = separated("SEPARATED BY 15")})) == Names{"a", "b"});
  CHECK(refused("1|2\n2|3\n") ==
        "edges:1: one column, expected two ids (--separator TEXT says what is between them)");
  EdgeListOptions both = with_features("id|size\na|1\nb|2\n");
  both.text = separated("|");
  CHECK(features(import("a|b\n", both)) == F{1, 2});
}

TEST_CASE_FIXTURE(EdgeFiles, "numbers with a decimal comma are read on request, and refused without") {
  const std::string german = "von;nach;wert\nA;B;3,5\nB;C;1,25\n";
  const EdgeListOptions comma{.text = {.decimal = Decimal::comma},
                              .columns = {.source = "von", .target = "nach", .weight = "wert"}};
  CHECK(weights(import(german, comma)) == F{3.5, 1.25});
  CHECK(weights(import("A B -3,5e1\nB C ,5\n",
                       {.text = {.decimal = Decimal::comma}, .columns = {.weight = "3"}})) == F{-35, 0.5});
  const EdgeListOptions third{
      .header = Header::no, .text = {.decimal = Decimal::comma}, .columns = {.weight = "3"}};
  const FoundEdges thousands = import("A;B;1.250,5\nB;C;-12.345.678\nC;A;1.250\n", third);
  CHECK(weights(thousands) == F{1250.5, -12345678, 1250});
  CHECK(says(thousands.notes, "…3 weights have points between thousands…"));
  for (const char* wrong : {"1.25,5", "0.125", "1234.567", ".250", "1.250,", "1..250", "1.250,5e3"})
    CHECK(refused(fmt::format("A;B;{}\n", wrong), third) ==
          fmt::format("edges:1: \"{}\" in column 3, expected a weight, finite and within float32", wrong));
  CHECK(refused("A;B;3,5\n", {.header = Header::no, .columns = {.weight = "3"}}) ==
        "edges:1: \"3,5\" in column 3, expected a weight, finite and within float32 (--decimal comma: "
        "numbers have a decimal comma)");

  EdgeListOptions table = with_features("id;size;place\nA;1,5;0,5 2\nB;2;1,5 3\n");
  CHECK(says(refused("A;B\n", table),
             "features:2: \"1,5\" in column 2 (size), a number with a decimal comma or two numbers, expected "
             "--decimal comma or point to say which"));
  table.text.decimal = Decimal::comma;
  CHECK(features(import("A;B\n", table)) == F{1.5, 0.5, 2, 2, 1.5, 3});
  table = with_features("id;v\nA;1,5\nB;2,7\n");
  table.text.decimal = Decimal::point;
  CHECK(features(import("A;B\n", table)) == F{1, 5, 2, 7});
  table = with_features("id;size\nA;1\nB;2\n");
  table.node_files.labels = put("labels", "A;0,5\nB;2\n");
  table.node_files.task = Task::node_regression;
  CHECK(says(refused("A;B\n", table), "labels:1: \"0,5\" in column 2, …(--decimal comma: …"));
  table.text.decimal = Decimal::comma;
  CHECK(import("A;B\n", table).y.to_vector<float>() == F{0.5, 2});
}
