#include "edge_files.h"

// Which columns of a list of edges are source, target and weight, by their names; what is refused since the
// names or the shape of the file leave it open; lines without an id.

using namespace adj;
using namespace adj::test;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string id_text(const Dataset& data, int32_t node) {
  const auto k = static_cast<size_t>(node);
  if (data.node_names) return names(data)[k];
  return std::to_string(data.node_ids ? data.node_ids.data<int64_t>()[k] : int64_t{node});
}
/// The edges by the ids of the file.
Pairs edges_of(const Dataset& data) {
  Pairs pairs;
  const I src = src_of(data), dst = dst_of(data);
  for (size_t k = 0; k < src.size(); ++k) pairs.emplace_back(id_text(data, src[k]), id_text(data, dst[k]));
  return pairs;
}

}  // namespace

TEST_CASE("words of a column's name") {
  CHECK(words_in("startNode_ID") == Names{"start", "node", "id"});
  CHECK(words_in(":START_ID(Person)") == Names{"start", "id"});
  CHECK(words_in("txId1") == Names{"tx", "id", "1"});
  CHECK(words_in("SRC") == Names{"src"});
  CHECK(words_in("Größe von-x") == Names{"größe", "von", "x"});
  CHECK(words_in(" ?!").empty());
}

TEST_CASE_FIXTURE(EdgeFiles, "names that everybody writes say which columns are source and target") {
  const Pairs expected{{"7", "8"}, {"8", "9"}};
  for (const auto& [source, target] : Pairs{{"source", "target"},
                                            {"Source", "Target"},
                                            {"src", "dst"},
                                            {"FROM", "TO"},
                                            {"head", "tail"},
                                            {"from_id", "to_id"},
                                            {"start", "end"},
                                            {":START_ID", ":END_ID"},
                                            {":START_ID(P)", ":END_ID(P)"},
                                            {"source node", "target node"},
                                            {"FromNodeId", "ToNodeId"},
                                            {"subject", "object"},
                                            {"citing", "cited"},
                                            {"source_id", "destination_id"}}) {
    CAPTURE(source);
    CHECK(edges_of(import(source + "," + target + "\n7,8\n8,9\n")) == expected);
    CHECK(edges_of(import(target + "," + source + "\n8,7\n9,8\n")) == expected);
    CHECK(edges_of(import("Id," + source + ",when," + target + "\n1,7,5,8\n2,8,5,9\n")) == expected);
  }
  // Names that are used for much else count in their order, beside columns of other purposes.
  for (const auto& [first, second] : Pairs{{"txId1", "txId2"}, {"id_1", "id_2"}, {"u", "v"}, {"s", "t"}}) {
    CAPTURE(first);
    CHECK(edges_of(import(first + "," + second + ",weight\n7,8,1\n8,9,1\n")) == expected);
    CHECK(says(refused(first + "," + second + ",more\n7,8,1\n8,9,1\n"), "edges:1: 3 columns, of which…"));
  }
}

TEST_CASE_FIXTURE(EdgeFiles, "columns of other purposes are passed over by name") {
  const FoundEdges gephi = import("Id,Source,Target,Type\n0,10,20,Undirected\n1,20,30,Undirected\n");
  CHECK(edges_of(gephi) == Pairs{{"10", "20"}, {"20", "30"}});
  CHECK(gephi.notes ==
        "edges: separated by a comma; line 1 taken as header: Id,Source,Target,Type; edges from Source to "
        "Target; passed over: Id, Type; ids are integers from 10 to 30; the file calls its edges undirected "
        "(--undirected adds the reverses)\n");
  const FoundEdges frame = import(",src,dst\n0,10,11\n1,10,12\n2,11,12\n");  // pandas' index
  CHECK(edges_of(frame) == Pairs{{"10", "11"}, {"10", "12"}, {"11", "12"}});
  CHECK(says(frame.notes, "…; edges from src to dst; passed over: column 1; …"));
  // Of several pairs that of ids, or of the fewest words.
  CHECK(edges_of(import("source_id,source_name,target_id,target_name\n1,x,2,y\n2,y,1,x\n")) ==
        Pairs{{"1", "2"}, {"2", "1"}});
  CHECK(edges_of(import("source kinship,source,target kinship,target\nA,1,B,2\nB,2,A,1\n")) ==
        Pairs{{"1", "2"}, {"2", "1"}});
  // Two that remain.
  CHECK(edges_of(import("time,person,friend\n5,ann,bob\n6,bob,cid\n")) ==
        Pairs{{"ann", "bob"}, {"bob", "cid"}});
  CHECK(edges_of(import("from,amount,to\n7,1.5,8\n")) == Pairs{{"7", "8"}});
  std::string many = "src,dst", row = "1,2";
  for (int k = 0; k < 12; ++k) {
    many += fmt::format(",f{}", k);
    row += ",0";
  }
  CHECK(says(import(many + "\n" + row + "\n").notes,
             "…; passed over: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more; …"));
}

TEST_CASE_FIXTURE(EdgeFiles, "columns of times, ports and the like are no ends beside others") {
  const auto ends = [&](const std::string& names) {
    std::string row;
    for (size_t k = 0; k <= static_cast<size_t>(std::ranges::count(names, ',')); ++k)
      row += fmt::format("{}{}", k == 0 ? "" : ",", 7 + k);
    return edges_of(import(names + "\n" + row + "\n"));
  };
  for (const std::string names :
       {"start_time,end_time,start_station_id,end_station_id", "from_date,to_date,from_user_id,to_user_id",
        "start_year,end_year,person_a_id,person_b_id", "start_lat,end_lat,start_station,end_station",
        "Src Port,Dst Port,Src IP Addr,Dst IP Addr,Label"})
    CHECK(ends(names) == Pairs{{"9", "10"}});
  CHECK(ends("from_bank,to_bank,amount") == Pairs{{"7", "8"}});
  CHECK(ends("start_time,end_time") == Pairs{{"7", "8"}});
  CHECK(ends("from_user,to_user,from_user_city,to_user_city") == Pairs{{"7", "8"}});
  for (const std::string names :
       {"From Bank,Account,To Bank,Account", "From Bank,Account,To Bank,Account.1",
        "from_city,to_city,from_user_id,to_user_id", "start,end,start_station_id,end_station_id"})
    CHECK(says(refused(names + "\n7,8,9,10\n"), "…expected --source and --target to say which…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "two columns of one purpose or name are an error") {
  CHECK(refused("src,dst,weight,weight\n1,2,3,4\n") ==
        "edges:1: column 3 (weight) and column 4 (weight) may both be weights, expected --weight to say "
        "which (or none)");
  CHECK(says(refused("src,dst,weight,weight\n1,2,3,4\n", {.columns = {.weight = "weight"}}),
             "edges:1: 2 columns called \"weight\", expected a number from 1 to 4 to say which"));
  CHECK(weights(import("src,dst,weight,weight\n1,2,3,4\n", {.columns = {.weight = "4"}})) == F{4});
  CHECK(says(refused("p,q,weight,Weights\n1,2,3,4\n", {.columns = {.source = "p", .target = "q"}}),
             "edges:1: column 3 (weight) and column 4 (Weights) may both be weights…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "a comment above the first row names the columns") {
  const FoundEdges moved = import("#Sign\tToNodeId\tFromNodeId\n-1\t2\t1\n1\t3\t2\n");
  CHECK(edges_of(moved) == Pairs{{"1", "2"}, {"2", "3"}});
  CHECK(says(moved.notes, "…; columns named by the comment above: Sign, ToNodeId, …; passed over: Sign; …"));
  CHECK(edges_of(import("# x\n# dst src\n2 1\n3 2\n")) == Pairs{{"1", "2"}, {"2", "3"}});
  // Interactions have numbers, too (BioGRID).
  CHECK(edges_of(import("#id\tgene a\tgene b\n117\t5\t6\n118\t6\t7\n")) == Pairs{{"5", "6"}, {"6", "7"}});
  const std::string many = "#Interaction\tGene A\tGene B\tScore\tName A\n117\t5\t6\t1\tx\n";
  CHECK(says(refused(many), "edges:2: 5 columns, of which names make none source and target…"));
  CHECK(edges_of(import(many, {.columns = {.source = "Gene A", .target = "Gene B"}})) == Pairs{{"5", "6"}});
  CHECK(edges_of(import(many, {.columns = {.source = "2", .target = "3"}})) == Pairs{{"5", "6"}});
  // Comments that are none.
  CHECK(edges_of(import("# made by us, today\n7,8\n8,9\n")) == Pairs{{"7", "8"}, {"8", "9"}});
  CHECK(edges_of(import("# a list\nsrc dst\n7 8\n8 9\n")) == Pairs{{"7", "8"}, {"8", "9"}});
  CHECK(edges_of(import("% 4 3 3\n1 2 5\n2 3 5\n")) == Pairs{{"1", "2"}, {"2", "3"}});
}

TEST_CASE_FIXTURE(EdgeFiles, "edges that repeat another are counted") {
  CHECK(says(import("7,8\n7,8\n8,7\n").notes,
             "…\nedges: 1 of 3 edges repeat another (--coalesce merges them)\n"));
  CHECK(says(import("7,8\n8,7\n8,9\n", {.undirected = true}).notes,
             "…\nedges: 2 of 6 edges repeat another; where the list has both directions, --undirected adds "
             "them again (--coalesce merges them)\n"));
  CHECK_FALSE(says(import("7,8\n8,7\n", {.undirected = true, .coalesce = true}).notes, "…repeat…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "edges that are merged or dropped are counted, and those of weight 0") {
  const EdgeListOptions both{.undirected = true, .coalesce = true, .drop_self_loops = true};
  CHECK(says(
      import("7,8\n8,7\n7,7\n8,9\n", both).notes,
      "…\nedges: 1 self-loop dropped, the first in line 3\nedges: 2 of 6 edges merged with equal ones\n"));
  CHECK(says(import("src,dst,weight\n7,8,0\n7,8,2\n8,9,0\n", {.coalesce = true}).notes,
             "…; 2 of 3 weights are 0\nedges: 1 of 3 edges merged with equal ones, adding their "
             "weights; 1 of 2 merged weights are 0\n"));
  CHECK(says(import("7,8\n8,9\n", both).notes,
             "…\nedges: 0 self-loops dropped\nedges: 0 of 4 edges merged with equal ones\n"));
  const std::string text =
                        "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 0\n1 1 0\n2 3 4\n3 3 1\n",
                    last = " of 4 entries are 0 and still edges (--layout matrix leaves them out)\n";
  CHECK(says(import(text).notes, "…; 2" + last));
  CHECK(says(import(text, {.columns = {.weight = "none"}}).notes, "…; 2" + last));
  CHECK(says(import(text, {.layout = EdgeLayout::matrix, .drop_self_loops = true}).notes,
             "…2 stored entries are 0 and no edges…\nedges: 1 self-loop dropped, the first of '2'\n"));
  CHECK_FALSE(says(import("1,2,1\n", {.columns = {.weight = "3"}}).notes, "… 0…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "ids of data frames with gaps are integers") {
  CHECK(edges_of(import("1.0,2.0\n2.0,1\n3,1.0\n")) == Pairs{{"1", "2"}, {"2", "1"}, {"3", "1"}});
  EdgeListOptions o = with_features("id,x\n1,5\n2,6\n");
  CHECK(import("src,dst\n1.0,2.0\n2.0,1.0\n", o).x.rows() == 2);
  for (const char* text : {"1e5,2\n2,1e5\n", "2,1e5\n1e5,2\n"})
    CHECK(says(import(text).notes, "…; ids are names (\"1e5\" is not a 64-bit integer)…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "digits that begin with a zero are names") {
  const FoundEdges codes = import("src,dst\n01001,1002\n1001,02134\n");
  CHECK(edges_of(codes) == Pairs{{"01001", "1002"}, {"1001", "02134"}});
  CHECK(says(codes.notes, "…; ids are names (\"01001\" begins with a zero, as codes do; --ids integers …"));
  CHECK(says(refused("1001,5\n01001,6\n"), "edges:2: \"01001\" in column 1, which begins with a zero…"));
  CHECK(edges_of(import("1001,5\n01001,6\n", {.ids = NodeIds::Kind::integers})) ==
        Pairs{{"1001", "5"}, {"1001", "6"}});
  CHECK(edges_of(import("0,1\n1,0\n")) == Pairs{{"0", "1"}, {"1", "0"}});
}

TEST_CASE_FIXTURE(EdgeFiles, "pairs in brackets, DIMACS and METIS are refused with the way out") {
  CHECK(says(refused("(0, 1)\n(1, 2)\n"), "edges:1: \"(0, 1)\", which may be a pair in brackets…"));
  CHECK(says(refused("[7 8]\n[8 9]\n"), "edges:1: \"[7 8]\", which may be a pair in brackets…"));
  for (const char* row : {"edge(a,b).", "edge(1,2).", "(a,b,5)", "e{a;b}"})
    CHECK(says(refused(fmt::format("{0}\n{0}\n", row)),
               fmt::format("edges:1: \"{}\", which may be a pair in brackets…", row)));
  CHECK(import("f(a),f(b)\nf(b),g(\n").graph.num_edges() == 2);
  CHECK(says(refused("nodedef>name VARCHAR,label VARCHAR\na,Ann\nedgedef>node1 VARCHAR,node2 VARCHAR\na,b\n"),
             "edges:1: GDF, expected a list of edges (sed…"));
  CHECK(says(refused("id,title,refs\np1,A,p2;p3\np2,B,p3\n"),
             "edges:1: \"p2;p3\" in column 3 (refs), which may…"));
  CHECK(says(refused("c roads\nc\np sp 3 2\na 1 2 803\na 2 1 803\n"), "edges:1: DIMACS, expected a list…"));
  CHECK(says(refused("p edge 3 2\ne 1 2\ne 2 3\n"), "edges:1: DIMACS, expected a list…"));
  CHECK(edges_of(import("c d\nd c\n")) == Pairs{{"c", "d"}, {"d", "c"}});
  CHECK(edges_of(import("p q\nq p\n")) == Pairs{{"p", "q"}, {"q", "p"}});
  const std::string ring = "4 4\n2 4\n1 3\n2 4\n3 1\n";
  CHECK(says(refused(ring), "edges:1: \"4 4\" and 4 lines, as in a graph of METIS…"));
  CHECK(says(refused("3 1\n2\n1\n\n", {.layout = EdgeLayout::neighbors}), "edges:1: \"3 1\" and 3 lines…"));
  CHECK(import(ring, {.columns = {.source = "1", .target = "2"}}).graph.num_edges() == 5);
}

TEST_CASE_FIXTURE(EdgeFiles, "weights by name, by choice, or none") {
  const std::string text = "weight,dst,src,cost\n0.5,2,1,7\n-2,1,2,8\n";
  const FoundEdges by_name = import(text);
  CHECK(edges_of(by_name) == Pairs{{"1", "2"}, {"2", "1"}});
  CHECK(weights(by_name) == F{0.5f, -2});
  CHECK(says(by_name.notes, "…; edges from src to dst; weights from weight; passed over: cost; …"));
  CHECK(weights(import(text, {.columns = {.weight = "cost"}})) == F{7, 8});
  CHECK(weights(import(text, {.columns = {.weight = "4"}})) == F{7, 8});
  CHECK_FALSE(import(text, {.columns = {.weight = "none"}}).graph.edge_weight());
  CHECK(refused("src,dst,weight\n1,2,x\n") ==
        "edges:2: \"x\" in column 3 (weight), expected a weight, finite and within float32");
  CHECK_FALSE(import("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.5\n",
                     {.columns = {.weight = "none"}})
                  .graph.edge_weight());
}

TEST_CASE_FIXTURE(EdgeFiles, "chosen columns, by name or number") {
  const std::string text = "p,q,r\n1,2,3\n4,5,6\n";
  CHECK(refused(text) ==
        "edges:1: 3 columns, of which names make none source and target, expected --source and --target to "
        "say which (a name of the header, or a number from 1); --layout neighbors: a node and its neighbours "
        "in each line");
  CHECK(edges_of(import(text, {.columns = {.source = "r", .target = "q"}})) == Pairs{{"3", "2"}, {"6", "5"}});
  CHECK(edges_of(import(text, {.columns = {.source = "3", .target = "1"}})) == Pairs{{"3", "1"}, {"6", "4"}});
  CHECK(edges_of(import("ann\tbob\tcid\n", {.columns = {.source = "3", .target = "2"}})) ==
        Pairs{{"cid", "bob"}});
  CHECK(refused(text, {.columns = {.source = "x", .target = "q"}}) ==
        "edges:1: no column \"x\", expected a number from 1 to 3 or one of p, q, r");
  CHECK(refused("1,2,3\n", {.columns = {.source = "4", .target = "1"}}) ==
        "edges:1: no column \"4\", expected a number from 1 to 3, as there is no header (--header or "
        "--node-headers yes: the first line is one)");
  CHECK(says(refused(text, {.columns = {.source = "q", .target = "2"}}),
             "edges:1: one column for two purposes…"));
  CHECK(says(refused(text, {.columns = {.source = "q"}}), "edges:1: --source without --target…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "edges or nodes of several kinds are refused, unless the columns are chosen") {
  const std::string triples = "head,relation,tail\naspirin,treats,pain\npain,symptom_of,flu\n";
  CHECK(refused(triples) ==
        "edges:1: column \"relation\" says that edges are of several kinds, expected one kind (--source "
        "\"head\" "
        "--target \"tail\" takes all as one; convert tables keeps the kinds)");
  CHECK(edges_of(import(triples, {.columns = {.source = "head", .target = "tail"}})) ==
        Pairs{{"aspirin", "pain"}, {"pain", "flu"}});
  CHECK(says(refused("aspirin\ttreats\tpain\npain\tsymptom of\tflu\n"), "edges:1: 3 columns, of which…"));
  CHECK(says(refused(":START_ID,:END_ID,:TYPE\n1,2,KNOWS\n"), "edges:1: column \":TYPE\" says…"));

  const std::string users = "userId,movieId,rating\n1,1,5\n1,3,4\n2,1,3\n";
  CHECK(refused(users) ==
        "edges:1: columns \"userId\" and \"movieId\" may be ids of two kinds of nodes, expected ids of one "
        "kind (--source \"userId\" --target \"movieId\" takes all as one; convert tables keeps the kinds)");
  CHECK(says(refused("user,item\n1,1\n2,1\n"), "edges:1: columns \"user\" and \"item\" may be…"));
  CHECK(says(refused("userId,movieId\nann,heat\nbob,heat\n"), "edges:1: columns \"userId\"…"));
  CHECK(edges_of(import("node_id\tnode_id\n1\t2\n2\t1\n")) == Pairs{{"1", "2"}, {"2", "1"}});
  CHECK(edges_of(import("user,item\nann,heat\nbob,heat\n", {.header = Header::yes})) ==
        Pairs{{"ann", "heat"}, {"bob", "heat"}});
  CHECK(says(refused(":START_ID(User),:END_ID(Movie)\n1,1\n"), "edges:1: columns \":START_ID(User)\"…"));
  CHECK(refused("src_type,src_id,rel_time,dst_type,dst_id\nuser,1,5,item,1\n") ==
        "edges:1: columns \"src_type\" and \"dst_type\" say that nodes are of several kinds, expected one "
        "kind (--source \"src_id\" --target \"dst_id\" takes all as one; convert tables keeps the kinds)");
  CHECK(says(refused("node1,node1_type,node2,node2_type\n1,X,2,Y\n"), "edges:1: columns \"node1_type\"…"));
  CHECK(says(refused("user_id,movie_id,rating,ts\n1,1,5,100\n"), "edges:1: columns \"user_id\"…"));
  CHECK(says(refused("% bip weighted\n1 1 5\n2 1 3\n"), "edges: \"% bip weighted\", so that sources…"));
  CHECK(says(import("% sym unweighted\n1 2\n2 3\n").notes, "…; the file calls its edges undirected…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "adjacency matrices and graphs in other formats are refused") {
  const std::string matrix = "0,1,0,1\n1,0,1,0\n0,1,0,0\n1,0,0,0\n";
  CHECK(refused(matrix) ==
        "edges: 4 rows of 4 columns, which may be an adjacency matrix, expected a list of edges (--layout "
        "matrix: it is a matrix; with --source and --target it is a list)");
  CHECK(import(matrix, {.columns = {.source = "1", .target = "2"}}).graph.num_edges() == 4);
  CHECK(import("0,1,0,1\n1,0,1,0\n0,1,0,0\n").graph.num_edges() == 3);
  CHECK(says(refused("0 1 0\n1 0 1\n0 1 0\n"), "edges: 3 rows of 3 columns, which…"));
  CHECK(import("0 1 7\n1 0 8\n0 2 9\n").graph.num_edges() == 3);  // three edges with a number each
  CHECK(says(refused(",a,b\na,0,1\nb,1,0\n"), "edges: 2 rows of 3 columns, which…"));
  for (const auto& [text, format] : {std::pair("<?xml version=\"1.0\"?>\n<graphml/>\n", "XML"),
                                     {"{\"nodes\": []}\n", "JSON"},
                                     {"graph [\n node [ id 1 ]\n]\n", "GML"},
                                     {"Creator \"x\"\ngraph [\n", "GML"},
                                     {"*Vertices 3\n1 \"Ann\"\n", "Pajek"}})
    CHECK(says(refused(text),
               fmt::format("edges:1: {}, expected a list of edges; data/to_adjoint.py…", format)));
}

TEST_CASE_FIXTURE(EdgeFiles, "lines without an id are an error, dropped and counted, or names on request") {
  const std::string named = "AAA,BBB\nBBB,CCC\nCCC,\\N\n\\N,AAA\nAAA,NULL\n";
  CHECK(refused(named) ==
        "edges:3: \"\\N\" in column 2, expected the id of a node (--missing-ids drop passes over such lines, "
        "keep takes it as a name)");
  const FoundEdges dropped = import(named, {.missing_ids = MissingIds::drop});
  CHECK(edges_of(dropped) == Pairs{{"AAA", "BBB"}, {"BBB", "CCC"}});
  CHECK(
      says(dropped.notes,
           "…; ids are names; 3 lines without an id dropped, in column 1, column 2, the first in line 3\n"));
  CHECK(import(named, {.missing_ids = MissingIds::keep}).graph.num_edges() == 5);
  CHECK(says(refused("a,b\nc,\n", {.missing_ids = MissingIds::keep}), "edges:2: nothing in column 2…"));
  CHECK(says(refused("1,2\n2,nan\n"),
             "edges:2: \"nan\" in column 2, expected the id of a node (--missing-ids drop…"));
  const FoundEdges numbers =
      import("src,dst,weight\n1,2,5\n,2,6\n2,1,7\nNA,1,8\n", {.missing_ids = MissingIds::drop});
  CHECK(edges_of(numbers) == Pairs{{"1", "2"}, {"2", "1"}});
  CHECK(weights(numbers) == F{5, 7});
  CHECK(says(numbers.notes, "…; 2 lines without an id dropped, in column 1 (src), the first in line 3\n"));
}

TEST_CASE_FIXTURE(EdgeFiles,
                  "a first line that lacks an id is an error, or dropped, also if it may be a header") {
  const std::string why = "expected the id of a node (--missing-ids drop passes over such lines";
  for (const auto& [text, found] : {std::pair("x,NA\ny,z\nz,x\n", "edges:1: \"NA\" in column 2, "),
                                    {"NA,b\nb,c\nc,d\n", "edges:1: \"NA\" in column 1, "},
                                    {"a,\nb,c\nc,d\n", "edges:1: nothing in column 2, "}}) {
    CHECK(says(refused(text), found + why + "…"));
    const FoundEdges dropped = import(text, {.missing_ids = MissingIds::drop});
    CHECK(dropped.graph.num_edges() == 2);
    CHECK(dropped.num_nodes() == 3);
    CHECK(says(dropped.notes, "…; 1 line without an id dropped, in column …, the first in line 1\n"));
  }
  CHECK(names(import("x,NA\ny,z\nz,x\n", {.missing_ids = MissingIds::keep})) == Names{"x", "NA", "y", "z"});
  CHECK(says(refused("a,b,bad\nb,c,1\nc,a,2\n", {.columns = {.source = "1", .target = "2", .label = "3"},
                                                 .edge_task = Task::edge_regression}),
             "edges:1: \"bad\" in column 3, expected a target…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "a line that states the separator is passed over, a title is refused") {
  for (const auto& [line, separator] :
       Pairs{{"sep=,", ","}, {"sep=;", ";"}, {"SEP=|", "|"}, {"\"sep=;\"", ";"}}) {
    const FoundEdges found =
        import(line + "\nsrc" + separator + "dst\n1" + separator + "2\n2" + separator + "3\n");
    CHECK(edges_of(found) == Pairs{{"1", "2"}, {"2", "3"}});
    CHECK(says(found.notes, "…line 2 taken as header…; line 1, which states the separator, passed over;…"));
  }
  const EdgeListOptions yes{.header = Header::yes}, no{.header = Header::no};
  CHECK(names(import("sep=;\r\nsrc;dst\r\na,b;c\r\n", yes)) == Names{"a,b", "c"});
  CHECK(names(import("sep=;\na;b\nb;c\n", no)) == Names{"a", "b", "c"});
  CHECK(import("1,2\n", with_labels("sep=;\nid;label\n1;x\n2;y\n")).classes == 2);
  CHECK(import("sep=,\n0,1\n1,0\n", {.layout = EdgeLayout::matrix}).graph.num_edges() == 2);
  CHECK(names(import("sep=;\na,b;c\n", {.layout = EdgeLayout::neighbors})) == Names{"a,b", "c"});
  for (const std::string title : {"My graph export,", ","})
    for (const auto& options : {EdgeListOptions{}, yes})
      CHECK(says(refused(title + "\nsrc,dst\nb,c\nc,d\n", options),
                 "edges:1: \"" + title + "\", a line above the header, expected the header first…"));
}

TEST_CASE_FIXTURE(EdgeFiles, "edges that Gephi calls directed and undirected are refused") {
  const std::string mixed = "Source,Target,Type\n1,2,Undirected\n2,3,Directed\n";
  const std::string why =
      "edges: column \"Type\" says Directed in 1 and Undirected in 1 lines, expected edges of";
  for (const bool undirected : {false, true})
    CHECK(says(refused(mixed, {.undirected = undirected}), why + "…"));
  const FoundEdges chosen = import(mixed, {.columns = {.source = "Source", .target = "Target"}});
  CHECK(edges_of(chosen) == Pairs{{"1", "2"}, {"2", "3"}});
  CHECK_FALSE(says(chosen.notes, "…calls its edges undirected…"));
}
