#include "dataset_parts.h"
#include "schema.h"
#include <adjoint/data/typed_dataset.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Classes, or columns of labels, or many graphs; dense and sparse features.
std::vector<Dataset> datasets() {
  std::vector<Dataset> all;
  for (bool sparse : {false, true}) all.push_back(load(small_file(sparse)));
  SchemaFile columns = small_file();
  columns.attributes["task"] = "node_regression";
  columns.datasets["nodes/y"] = Tensor::from(F{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {6, 2});
  columns.datasets["nodes/part"] = Tensor::from(I{0, 1, 0, 1, 2, 2});
  all.push_back(load(columns));
  SchemaFile graphs = small_file();
  graphs.attributes["task"] = "graph_class";
  graphs.datasets["edges/src"] = Tensor::from(I{0, 1, 2, 2, 3, 5, 5, 4});
  graphs.datasets["edges/dst"] = Tensor::from(I{1, 2, 0, 1, 4, 4, 3, 5});
  graphs.datasets["graphs/offsets"] = Tensor::from(L{0, 3, 6});
  graphs.datasets["graphs/y"] = Tensor::from(I{2, 0, 1}).rows(0, 2);
  std::erase_if(graphs.datasets, [](const auto& dataset) { return dataset.first.starts_with("splits/"); });
  all.push_back(load(graphs));
  all.push_back(load_demo_dataset());
  Dataset bare;
  bare.graph = Graph::from_coo(3, Tensor::from(I{0, 1}), Tensor::from(I{1, 2}));
  all.push_back(bare);
  return all;
}

Tensor some_order(const Dataset& data, uint64_t seed, Device device = {}) {
  Generator generator(seed);
  const Tensor order = random_order(data.num_nodes(), generator, device);
  return data.graph_offsets ? order_within(order, data.graph_offsets.to(device)) : order;
}

}  // namespace

TEST_CASE("reordering moves everything that belongs to a node") {
  Dataset data = load(small_file());
  data.part = Tensor::from(I{0, 0, 1, 1, 2, 2});
  data.node_ids = Tensor::from(L{10, 11, 12, 13, 14, int64_t{1} << 40});
  data.node_names = Tensor::from(std::vector<uint8_t>{'a', 'b', 'b', 'd', 'e', 'f', 'f'});  // c has none
  data.node_name_offsets = Tensor::from(L{0, 1, 3, 3, 4, 5, 7});
  data.class_names = {"art", "", "music"};
  const Tensor order =
      Tensor::from(I{3, 5, 0, 4, 1, 2});  // so node 0 becomes 2, 1: 4, 2: 5, 3: 0, 4: 3, 5: 1
  for (Device device : devices()) {
    const Dataset result = reordered(data.to(device), order);
    CHECK(result.device() == device);
    CHECK(result.name == data.name);
    CHECK(result.classes == 3);
    CHECK(result.class_names == data.class_names);
    CHECK(classes(result) == I{0, 2, 0, 1, 1, 2});
    CHECK(result.x.dense().to_vector<float>() ==
          F{10, 11, 12, 16, 17, 18, 1, 2, 3, 13, 14, 15, 4, 5, 6, 7, 8, 9});
    CHECK(result.part.to_vector<int32_t>() == I{1, 2, 0, 2, 0, 1});
    CHECK(result.node_ids.to_vector<int64_t>() == L{13, int64_t{1} << 40, 10, 14, 11, 12});
    CHECK(result.node_names.to_vector<uint8_t>() == std::vector<uint8_t>{'d', 'f', 'f', 'a', 'e', 'b', 'b'});
    CHECK(result.node_name_offsets.to_vector<int64_t>() == L{0, 1, 3, 4, 5, 7, 7});
    CHECK(same_bits(original_order(result).node_names.to(Device::cpu()), data.node_names));
    CHECK(same_bits(original_order(result).node_name_offsets.to(Device::cpu()), data.node_name_offsets));
    CHECK(result.order.to_vector<int32_t>() == order.to_vector<int32_t>());
    CHECK(result.splits[0].train.to_vector<int32_t>() == I{2, 4});
    CHECK(result.splits[1].test.to_vector<int32_t>() == I{0, 5});
    CHECK(same_bits(result.train, result.splits[0].train));
    std::set<std::tuple<int32_t, int32_t, float, float>> edges;
    const auto src = result.graph.edge_index().src.to_vector<int32_t>(),
               dst = result.graph.edge_index().dst.to_vector<int32_t>();
    const auto weight = result.graph.edge_weight().to_vector<float>(),
               attr = result.graph.edge_attr("attr").to_vector<float>();
    for (size_t e = 0; e < src.size(); ++e) edges.emplace(src[e], dst[e], weight[e], attr[2 * e + 1]);
    CHECK(edges == decltype(edges){{1, 2, 1, -1},
                                   {3, 4, 2, -2},
                                   {0, 5, 3, -3},
                                   {5, 0, 4, -4},
                                   {4, 3, 5, -5},
                                   {2, 1, 6, -6},
                                   {2, 2, 7, -7},
                                   {4, 2, 8, -8}});
  }
  const Dataset sparse = load(small_file(true));
  const Features x = reordered(sparse, order).x;
  CHECK(x.is_sparse());
  CHECK(same_bits(x.to_dense(), detail::gather_edges(sparse.x.to_dense(), order)));
}

TEST_CASE("the original order has the same bits after any number of reorderings, and from files") {
  for (Device device : devices())
    for (const Dataset& original : datasets()) {
      CAPTURE(original.name);
      const Dataset data = original.to(device);
      const Dataset once = reordered(data, some_order(data, 1, device));
      const Dataset twice = reordered(once, some_order(data, 2, device));
      check_same(original_order(once), data);
      check_same(original_order(twice), data);
      CHECK_FALSE(original_order(twice).order);
      check_same(original_order(data), data);
      // In one step by its stored order.
      check_same(reordered(data, twice.order), twice);
      CHECK(original_order(twice.to(Device::cpu())).device() == Device::cpu());
      const Tensor ids = Tensor::from(once.order.to_vector<int32_t>());
      CHECK(same_bits(original_rows(ids, once.order),
                      inverse_order(inverse_order(original_rows(ids, once.order)))));
      CHECK(original_rows(ids, once.order).to_vector<int32_t>()[0] == 0);
      if (!device.is_cpu() || !data.y) continue;
      const Dataset loaded = saved_and_loaded(twice);
      check_same(loaded, twice);
      check_same(original_order(loaded), saved_and_loaded(data));
    }
}

TEST_CASE("edges are written in the order of their list, also after the nodes are reordered") {
  Dataset data;
  const I src{3, 0, 3, 1}, dst{0, 3, 0, 2}, labels{1, 0, 0, 1};
  const std::vector<float> attr{5, 1, 7, 4};
  data.graph =
      Graph::from_coo(4, Tensor::from(src), Tensor::from(dst), {}, {{"attr", Tensor::from(attr, {4, 1})}});
  data.task = Task::edge_class;
  data.classes = 2;
  const I number = inverse_order(data.graph.input_order()).to_vector<int32_t>();
  I y(4);
  for (size_t k = 0; k < 4; ++k) y[static_cast<size_t>(number[k])] = labels[k];
  data.edge_y = Tensor::from(y);
  data.splits = {{Tensor::from(I{number[2]}), Tensor::from(I{number[0]}), Tensor::from(I{number[3]})}};
  data.use_first_split();
  const I order{2, 0, 3, 1}, place = inverse_order(Tensor::from(order)).to_vector<int32_t>();
  for (const bool moved : {false, true}) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("edges.h5");
    save_dataset(moved ? reordered(data, Tensor::from(order)) : data, path);
    const TypedDataset file = load_typed_dataset(path);  // in the order of the file
    const EdgeIndex edges = file.graph.relation("edge").edge_index();
    const ItemTable& items = file.edges.begin()->second;
    const auto ends = [&](I nodes) {
      for (int32_t& node : nodes) node = moved ? place[static_cast<size_t>(node)] : node;
      return nodes;
    };
    CHECK(edges.src.to_vector<int32_t>() == ends(src));
    CHECK(edges.dst.to_vector<int32_t>() == ends(dst));
    CHECK(items.x.to_dense().to_vector<float>() == attr);
    CHECK(items.y.to_vector<int32_t>() == labels);
    CHECK(items.splits[0].train.to_vector<int32_t>() == I{2});
    CHECK(items.splits[0].val.to_vector<int32_t>() == I{0});
    CHECK(items.splits[0].test.to_vector<int32_t>() == I{3});
  }
}

TEST_CASE("fingerprints differ by order and partition, and match after the order is restored") {
  Dataset data = load_demo_dataset();
  std::set<std::string> marks{fingerprint(data)};
  CHECK(marks.insert(fingerprint(reordered(data, some_order(data, 1)))).second);
  CHECK(marks.insert(fingerprint(reordered(data, some_order(data, 2)))).second);
  CHECK(marks.count(fingerprint(original_order(reordered(data, some_order(data, 2))))) == 1);
  // Data that differ only in order: no edges, features or labels.
  Dataset empty;
  empty.graph = Graph::from_coo(3, Tensor::from(I{}), Tensor::from(I{}));
  CHECK(marks.insert(fingerprint(empty)).second);
  CHECK(marks.insert(fingerprint(reordered(empty, Tensor::from(I{1, 0, 2})))).second);
  data.part = metis_partition(data.graph, 4);
  CHECK(marks.insert(fingerprint(data)).second);
  data.order = std::exchange(data.part, {});
  CHECK(marks.insert(fingerprint(data)).second);
}

TEST_CASE("a partition and an order are read and written, of any integers") {
  SchemaFile file = small_file();
  file.datasets["nodes/part"] = Tensor::from(I{4, 1, 0, 1, 5, 2}).to(DType::i64);
  file.datasets["nodes/order"] = Tensor::from(I{4, 1, 0, 3, 5, 2}).to(DType::u8);
  const Dataset data = load(file);
  CHECK(data.part.to_vector<int32_t>() == I{4, 1, 0, 1, 5, 2});
  CHECK(data.order.to_vector<int32_t>() == I{4, 1, 0, 3, 5, 2});
  check_same(saved_and_loaded(data), data);
  CHECK_FALSE(load(small_file()).part);
  CHECK_FALSE(load(small_file()).order);
}

TEST_CASE("a file with a wrong order or partition is refused") {
  const std::vector<std::pair<std::string, SchemaChange>> cases{
      {"nodes/order: node 1 at position 3 occurs twice, expected each node once",
       put("nodes/order", Tensor::from(I{4, 1, 0, 1, 5, 2}))},
      {"nodes/order: 6 at position 0, expected 0 to 5",
       put("nodes/order", Tensor::from(I{6, 1, 0, 3, 5, 2}))},
      {"nodes/order: -1 at position 5, expected 0 to 5",
       put("nodes/order", Tensor::from(I{4, 1, 0, 3, 5, -1}))},
      {"nodes/order: shape [5], expected 6 rows", put("nodes/order", Tensor::from(I{4, 1, 0, 3, 2}))},
      {"nodes/order: shape [0], expected 6 rows", put("nodes/order", Tensor::from(I{}))},
      {"nodes/order: ", put("nodes/order", Tensor::zeros({6}))},
      {"nodes/order: ", put("nodes/order", Tensor::zeros({6, 1}, DType::i32))},
      {"nodes/part: 6 at position 0, expected 0 to 5", put("nodes/part", Tensor::from(I{6, 1, 0, 1, 5, 2}))},
      {"nodes/part: -1 at position 1, expected 0 to 5",
       put("nodes/part", Tensor::from(I{0, -1, 0, 1, 5, 2}))},
      {"nodes/part: shape [7], expected 6 rows", put("nodes/part", Tensor::zeros({7}, DType::i32))},
      {"nodes/part: ", put("nodes/part", Tensor::zeros({6}))},
      {"nodes/order: node 3 at position 0, expected 0 to 2, the nodes of graph 0",
       each({put("nodes/order", Tensor::from(I{3, 1, 0, 2, 5, 4})),
             put("edges/src", Tensor::from(I{0, 1, 2, 3, 4, 5, 0, 1})),
             put("edges/dst", Tensor::from(I{0, 1, 2, 3, 4, 5, 0, 1})),
             put("graphs/offsets", Tensor::from(L{0, 3, 6}))})}};
  for (const auto& [message, damage] : cases) {
    SchemaFile file = small_file();
    damage(file);
    const std::string error = error_of<DataError>([&] { (void)load(file); });
    CHECK(mentions(error, message));
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("tensors that are not an order of the dataset are refused") {
  const Dataset data = load(small_file()), graphs = datasets()[3];
  const auto refuses = [](const Dataset& d, const Tensor& order, const std::string& message) {
    CHECK_ERROR(reordered(d, order), message.c_str());
  };
  refuses(data, Tensor(), "reordered: the order is (no tensor), expected [6] int32");
  refuses(data, Tensor::from(I{0, 1, 2}), "reordered: the order is [3] int32 on cpu, expected [6] int32");
  refuses(data, Tensor::from(I{0, 1, 2, 3, 4, 4}),
          "order: node 4 at position 5 occurs twice, expected each node once");
  refuses(data, Tensor::from(I{0, 1, 2, 3, 4, 6}), "order: node 6 at position 5, expected 0 to 5");
  refuses(data, Tensor::zeros({6}), "order: the order is [6] float32 on cpu, expected [N] int32");
  refuses(graphs, Tensor::from(I{0, 1, 3, 2, 4, 5}),
          "reordered: node 3 at position 2, where graph 0 has nodes 0 to 2; expected an order within graphs "
          "(order_within)");
  CHECK_THROWS_AS(original_rows(Tensor::zeros({6, 2}), Tensor::from(I{0, 0, 1, 2, 3, 4})), Error);
  for (int64_t rows : {5, 7})
    CHECK_ERROR_HAS(original_rows(Tensor::zeros({rows, 2}), Tensor::from(I{5, 0, 1, 2, 3, 4})),
                    "in an order of 6 nodes");
  CHECK_THROWS_AS(original_rows({}, Tensor::from(I{0})), Error);
}
