#include "../support.h"

using namespace adj;
using namespace adj::test;

namespace {

const EdgeType kWrites{"author", "writes", "paper"}, kCites{"paper", "cites", "paper"};
using Ints = std::vector<int32_t>;
using Names = std::vector<std::string>;

/// Two types of nodes, two of edges, one of which has weights, attributes, labels, splits and times.
TypedDataset library() {
  TypedDataset data;
  data.name = "library";
  ItemTable author, paper, writes, cites;
  author.node_names = Tensor::from(std::vector<uint8_t>{'a', 'b', 'b'});
  author.node_name_offsets = Tensor::from(std::vector<int64_t>{0, 1, 3});
  paper.x = Features(Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}));
  paper.feature_names = {"pages", "age"};
  paper.task = Task::node_class;
  paper.classes = 2;
  paper.class_names = {"gnn", "db"};
  paper.y = Tensor::from(Ints{0, 1, -1});
  paper.unlabelled = 1;
  paper.times = Tensor::from(std::vector<int64_t>{int64_t{1} << 60 | 1, -5, ItemTable::kNoTime});
  writes.x = Features(Tensor::from(std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f}, {4, 1}));
  writes.feature_names = {"share"};
  writes.task = Task::node_regression;
  writes.y = Tensor::from(std::vector<float>{1, 2, 3, 4}, {4, 1});
  writes.splits = {{Tensor::from(Ints{3, 0}), Tensor::from(Ints{1}), Tensor::from(Ints{2})}};
  writes.times = Tensor::from(std::vector<int64_t>{4, 3, 2, 1});
  const EdgeAttributes of_writes{{"weight", Tensor::from(std::vector<float>{1, 2, 3, 4})},
                                 {"attr", writes.x.dense()}};
  data.graph = HeteroGraph(
      {{"author", 2}, {"paper", 3}},
      {{kWrites,
        {Relation::from_coo(2, 3, Tensor::from(Ints{1, 0, 1, 0}), Tensor::from(Ints{2, 0, 0, 1})),
         of_writes}},
       {kCites, {Relation::from_coo(3, 3, Tensor::from(Ints{2, 1}), Tensor::from(Ints{0, 2})), {}}}});
  data.nodes = {{"author", author}, {"paper", paper}};
  data.edges = {{kWrites, writes}, {kCites, cites}};
  return data;
}

}  // namespace

TEST_CASE("a typed dataset is the same after writing and reading, whatever its types are called") {
  const TemporaryDirectory folder;
  for (const std::string name : {"writes", "http://example.org/writes#1", "0", "größer als"}) {
    TypedDataset data = library();
    const EdgeType type{"author", name, "paper"};
    data.graph = HeteroGraph({{"author", 2}, {"paper", 3}},
                             {{type, {data.graph.relation(kWrites), data.graph.edge_attributes(kWrites)}},
                              {kCites, {data.graph.relation(kCites), {}}}});
    auto items = data.edges.extract(kWrites);
    items.key() = type;
    data.edges.insert(std::move(items));
    const std::string path = folder.file("typed.h5");
    save_typed_dataset(data, path);
    CHECK(is_typed_dataset(path));
    CHECK_FALSE(is_typed_dataset(folder.file("none.h5")));
    CHECK(check_typed_dataset(path).problems.empty());
    const TypedDataset read = load_typed_dataset(path);
    CHECK(read.name == "library");
    CHECK(read.graph.node_types() == Names{"author", "paper"});
    CHECK(read.num_nodes("author") == 2);
    const EdgeIndex edges = read.graph.relation(type).edge_index();
    CHECK(edges.src.to_vector<int32_t>() == Ints{1, 0, 1, 0});
    CHECK(edges.dst.to_vector<int32_t>() == Ints{2, 0, 0, 1});
    CHECK(read.graph.edge_attr(type, "weight").to_vector<float>() == std::vector<float>{1, 2, 3, 4});
    const ItemTable &paper = read.nodes.at("paper"), &writes = read.edges.at(type);
    CHECK(paper.x.to_dense().to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(paper.feature_names == Names{"pages", "age"});
    CHECK(paper.class_names == Names{"gnn", "db"});
    CHECK(paper.unlabelled == 1);
    CHECK(paper.times.to_vector<int64_t>() ==
          std::vector<int64_t>{int64_t{1} << 60 | 1, -5, ItemTable::kNoTime});
    CHECK(read.nodes.at("author").node_name_offsets.to_vector<int64_t>() == std::vector<int64_t>{0, 1, 3});
    CHECK(writes.task == Task::node_regression);
    CHECK(writes.y.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
    CHECK(writes.train.to_vector<int32_t>() == Ints{3, 0});
    CHECK(writes.times.to_vector<int64_t>() == std::vector<int64_t>{4, 3, 2, 1});
    CHECK(read.graph.edge_attr(type, "attr").to_vector<float>() ==
          std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f});
  }
}

TEST_CASE("one type of edges between nodes of one type is a graph") {
  const TypedDataset data = library();
  const Dataset papers = data.homogeneous(data.edge_type("cites"));
  CHECK(papers.num_nodes() == 3);
  CHECK(papers.class_names == Names{"gnn", "db"});
  CHECK(papers.graph.num_edges() == 2);
  CHECK(papers.times);
  CHECK(data.edge_type("paper:cites:paper") == kCites);
  const std::string of_two = error_of<Error>([&] { (void)data.homogeneous(kWrites); });
  CHECK(mentions(of_two, "author:writes:paper are edges from author to paper, expected nodes of one type"));
  CHECK(mentions(error_of<Error>([&] { (void)data.edge_type("reads"); }),
                 "no edges of type \"reads\", expected one of: author:writes:paper, paper:cites:paper"));
}

TEST_CASE("a file of version 1 is one type of nodes and of edges") {
  const TemporaryDirectory folder;
  Dataset data;
  data.graph = Graph::from_coo(3, Tensor::from(Ints{2, 0}), Tensor::from(Ints{0, 1}),
                               Tensor::from(std::vector<float>{7, 8}),
                               {{"attr", Tensor::from(std::vector<float>{1, 2}, {2, 1})},
                                {"time", Tensor::from(std::vector<int64_t>{-9, int64_t{1} << 55 | 1})}});
  data.attr_names = {"length"};
  data.times = Tensor::from(std::vector<int64_t>{1, 2, 3});
  const std::string path = folder.file("one.h5");
  save_dataset(data, path);
  CHECK_FALSE(is_typed_dataset(path));
  const Dataset graph = load_dataset(path);
  CHECK(graph.attr_names == Names{"length"});
  CHECK(graph.times.to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3});
  const TypedDataset typed = load_typed_dataset(path);
  const EdgeType type{"node", "edge", "node"};
  CHECK(typed.num_nodes("node") == 3);
  CHECK(typed.edges.at(type).feature_names == Names{"length"});
  // Both number edges by target, then source.
  CHECK(typed.edges.at(type).times.to_vector<int64_t>() == std::vector<int64_t>{-9, int64_t{1} << 55 | 1});
  CHECK(typed.graph.edge_attr(type, "weight").to_vector<float>() == std::vector<float>{7, 8});
  const Dataset again = typed.homogeneous(type);
  CHECK(again.graph.edge_attr("time").to_vector<int64_t>() == std::vector<int64_t>{-9, int64_t{1} << 55 | 1});
  CHECK(fingerprint(again) == fingerprint(graph));
}

TEST_CASE("what no file may hold is refused on saving, and no file appears") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("typed.h5");
  const auto refused = [&](auto change) {
    TypedDataset data = library();
    change(data);
    const std::string message = error_of<DataError>([&] { save_typed_dataset(data, path); });
    CHECK_FALSE(std::filesystem::exists(path));
    return message.substr(std::min(message.size(), path.size() + 2));
  };
  CHECK(mentions(refused([](TypedDataset& d) {
                   d.nodes.at("paper").y = Tensor::from(Ints{0, 2, 1});
                 }),
                 "nodes/paper/y: 2 at position 1, expected -1 to 1"));
  CHECK(mentions(refused([](TypedDataset& d) { d.nodes.at("paper").feature_names = {"one"}; }),
                 "nodes/paper/x_names: 1 names, expected 2"));
  CHECK(mentions(refused([](TypedDataset& d) {
                   d.edges.at(kWrites).times = Tensor::from(Ints{1, 2, 3, 4});
                 }),
                 std::vector<std::string>{"edges/writes/time: ", ", expected int64"}));
  CHECK(mentions(refused([](TypedDataset& d) {
                   d.edges.at(kWrites).x = Features(Tensor::full({3, 1}, 1.0));
                 }),
                 "edges/writes/attr: 3 rows, expected 4"));
  CHECK(mentions(refused([](TypedDataset& d) { d.edges.at(kWrites).splits[0].val = Tensor::from(Ints{9}); }),
                 "edges/writes/splits/val: index 9"));
}

TEST_CASE("a typed dataset moves to a device with all that it has") {
  for (Device device : devices()) {
    const TypedDataset data = library().to(device);
    CHECK(data.device() == device);
    CHECK(data.nodes.at("paper").x.device() == device);
    CHECK(data.edges.at(kWrites).times.device() == device);
    CHECK(data.graph.edge_attr(kWrites, "weight").device() == device);
  }
}

TEST_CASE("labels of edges stay with their edges, as a graph and as one type") {
  const TemporaryDirectory folder;
  TypedDataset typed = library();
  typed.nodes.at("paper").task = Task::none;
  ItemTable& cites = typed.edges.at(kCites);  // 2 to 0, 1 to 2
  cites.task = Task::node_class;
  cites.classes = 2;
  cites.y = Tensor::from(Ints{1, 0});
  cites.splits = {{Tensor::from(Ints{1}), Tensor::from(Ints{0}), Tensor::from(Ints{0})}};
  const EdgeType backward{"paper", "cited", "paper"};  // not in the order of edge numbers
  typed.graph = HeteroGraph(
      {{"author", 2}, {"paper", 3}},
      {{backward, {Relation::from_coo(3, 3, Tensor::from(Ints{1, 2}), Tensor::from(Ints{2, 0})), {}}}});
  typed.edges = {{backward, cites}};
  const Dataset graph = typed.homogeneous(backward);
  CHECK(graph.task == Task::edge_class);
  // Edge 0 goes to node 0, edge 1 to node 2.
  CHECK(graph.graph.edge_index().dst.to_vector<int32_t>() == Ints{0, 2});
  CHECK(graph.edge_y.to_vector<int32_t>() == Ints{0, 1});
  CHECK(graph.train.to_vector<int32_t>() == Ints{0});

  Dataset data = graph;
  data.splits.clear();
  const std::string path = folder.file("edges.h5");
  save_dataset(data, path);
  const TypedDataset read = load_typed_dataset(path);
  const ItemTable& items = read.edges.at({"node", "edge", "node"});
  CHECK(read.nodes.at("node").task == Task::none);
  CHECK(items.task == Task::node_class);
  // As in the list, not by edge number.
  CHECK(items.y.to_vector<int32_t>() == Ints{1, 0});
  CHECK(read.graph.relation("edge").edge_index().dst.to_vector<int32_t>() == Ints{2, 0});
  save_typed_dataset(read, folder.file("typed.h5"));
  CHECK(check_typed_dataset(folder.file("typed.h5")).problems.empty());
}
