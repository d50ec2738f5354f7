#include "../reference/plain.h"
#include "subgraph_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

// With one element of `tensor` one more than it was.
Tensor changed(const Tensor& tensor) {
  std::vector<double> all = values(tensor);
  all[all.size() - 1] += 1.0;
  return Tensor::from(all, tensor.shape()).to(tensor.dtype()).to(tensor.device());
}

}  // namespace

TEST_CASE("a fingerprint describes the data and is the same on every device") {
  for (bool sparse : {false, true}) {
    const Dataset data = small_citations(sparse);
    const std::string mark = fingerprint(data);
    CHECK(mentions(mark, "300 nodes"));
    CHECK(mentions(mark, "20 features, 3 classes, contents "));
    CHECK(fingerprint(small_citations(sparse)) == mark);
    for (Device device : devices()) CHECK(fingerprint(data.to(device)) == mark);
  }
  Dataset bare;
  bare.graph = small_citations(true).graph;
  CHECK(mentions(fingerprint(bare), "300 nodes"));
}

TEST_CASE("changing any number changes the fingerprint") {
  const Dataset data = small_citations(false), sparse = small_citations(true);
  std::set<std::string> marks{fingerprint(data), fingerprint(sparse)};
  const auto other = [&](auto&& change) {
    Dataset copy = data;
    change(copy);
    CHECK(marks.insert(fingerprint(copy)).second);
  };
  other([](Dataset& d) { d.name = "another"; });
  other([](Dataset& d) { d.y = changed(d.y); });
  other([](Dataset& d) { d.train = changed(d.train); });
  other([](Dataset& d) { d.val = changed(d.val); });
  other([](Dataset& d) { d.test = changed(d.test); });
  other([](Dataset& d) { std::swap(d.val, d.test); });
  other([](Dataset& d) { d.x = Features(changed(d.x.dense())); });
  other([](Dataset& d) { d.x = Features(d.x.dense().to(DType::bf16)); });
  other([](Dataset& d) {
    d.graph = d.graph.with_edge_attr("attr", Tensor::zeros({d.graph.num_edges(), 2}));
  });
  other([](Dataset& d) {
    d.graph = remove_self_loops(add_self_loops(d.graph, 2.0f));
    d.graph = add_self_loops(d.graph);
  });
  other([&](Dataset& d) {
    const SparseMatrix x = sparse.x.sparse();
    d.x = x.with_values(x.values() ? changed(x.values()) : Tensor::full({x.entries()}, 2.0));
  });
  other([](Dataset& d) { d.task = Task::none; });
  // The same labels on other nodes.
  other([](Dataset& d) {
    std::vector<int32_t> labels = d.y.to_vector<int32_t>();
    std::rotate(labels.begin(), labels.begin() + 1, labels.end());
    d.y = Tensor::from(labels);
  });
  other([](Dataset& d) {
    std::vector<int32_t> labels = d.y.to_vector<int32_t>();
    const auto differs = std::adjacent_find(labels.begin(), labels.end(), std::not_equal_to<>());
    std::iter_swap(differs, differs + 1);
    d.y = Tensor::from(labels);
  });
  // The same number of edges, one of them from another node.
  other([](Dataset& d) {
    auto [src, dst] = d.graph.edge_index();
    std::vector<int32_t> source_nodes = src.to_vector<int32_t>();
    source_nodes[7] = (source_nodes[7] + 1) % 300;
    d.graph = Graph::from_coo(300, Tensor::from(source_nodes), dst);
  });
  // The same number of feature entries, one of them in another column.
  other([&](Dataset& d) {
    const Csr& csr = sparse.x.sparse().relation().csr();
    std::vector<int32_t> columns = csr.indices.to_vector<int32_t>();
    columns.back() ^= 1;
    Csr moved = csr.to({});
    moved.indices = Tensor::from(columns);
    moved.cache = std::make_shared<KeyedCache>();
    REQUIRE(!same_bits(moved.indices, csr.indices));
    d.x = SparseMatrix(Relation::from_csr(moved), sparse.x.sparse().values());
  });

  const int64_t edges = data.graph.num_edges();
  const Tensor weight = Tensor::full({edges}, 1.0), attribute = Tensor::zeros({edges, 2});
  other([&](Dataset& d) { d.graph = d.graph.with_edge_weight(weight); });
  other([&](Dataset& d) { d.graph = d.graph.with_edge_weight(changed(weight)); });
  other([&](Dataset& d) { d.graph = d.graph.with_edge_attr("attr", changed(attribute)); });
  other([&](Dataset& d) { d.graph = d.graph.with_edge_attr("other", attribute); });
  other([&](Dataset& d) { d.graph = d.graph.with_edge_attr("attr", attribute).with_edge_weight(weight); });
  other([&](Dataset& d) {
    d.graph = d.graph.with_edge_attr("attr", attribute).with_edge_attr("b", attribute);
  });
  other([](Dataset& d) { d.graph_offsets = Tensor::from(std::vector<int64_t>{0, 100, 300}); });
  other([](Dataset& d) { d.graph_offsets = Tensor::from(std::vector<int64_t>{0, 101, 300}); });
  other([](Dataset& d) { d.graph_y = Tensor::from(std::vector<int32_t>{0, 1}); });
  other([](Dataset& d) { d.graph_y = Tensor::from(std::vector<int32_t>{1, 0}); });
}

TEST_CASE("every element counts, of tensors of any number of bytes") {
  Dataset data = small_citations(true);
  for (DType dtype : {DType::u8, DType::i32, DType::f32})
    for (int64_t n = 1; n <= 17; ++n) {
      CAPTURE(n);
      std::set<std::string> marks;
      for (int64_t changed = -1; changed < n; ++changed) {
        std::vector<double> numbers(static_cast<size_t>(n), 0.0);
        if (changed >= 0) numbers[static_cast<size_t>(changed)] = 1.0;
        data.y = Tensor::from(numbers).to(dtype);
        CHECK(marks.insert(fingerprint(data)).second);
      }
    }
}

TEST_CASE("weights on other edges change the fingerprint, but edge numbering does not") {
  const Dataset data = small_citations(true);
  const auto [src, dst] = data.graph.edge_index();
  const int64_t edges = src.numel();
  std::vector<int32_t> order(static_cast<size_t>(edges));
  std::iota(order.rbegin(), order.rend(), 0);
  const Tensor turned = Tensor::from(order), weight = random_tensor({edges});
  Dataset numbered = data, otherwise = data;
  numbered.graph = Graph(Relation::from_coo(300, 300, src, dst), weight);
  otherwise.graph = Graph(
      Relation::from_coo(300, 300, detail::gather_edges(src, turned), detail::gather_edges(dst, turned)),
      weight);
  CHECK(fingerprint(numbered) != fingerprint(otherwise));
  otherwise.graph = otherwise.graph.with_edge_weight(detail::gather_edges(weight, turned));
  CHECK(fingerprint(numbered) == fingerprint(otherwise));
}
