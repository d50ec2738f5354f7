// A default-constructed handle holds nothing. Using it throws, and does not crash.
#include "../reference/plain.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/data/dataset.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/hetero_graph.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/graph/splits.h>
#include <adjoint/graph/transforms.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/ops.h>

#include <functional>

using namespace adj;
using namespace adj::test;

namespace {

/// Every one of these member functions throws, called with these arguments.
template <class T, class... Members>
auto refuses(const T& none, Members... members) {
  return [&none, members...](const auto&... arguments) {
    CHECK(!none);
    CHECK(!none.to(Device::cpu()));
    const auto check = [&](auto member) { CHECK_THROWS_AS(std::invoke(member, none, arguments...), Error); };
    (check(members), ...);
  };
}

}  // namespace

TEST_CASE("a default-constructed Relation throws") {
  using R = Relation;
  const R none;
  CHECK(none == R());
  CHECK_ERROR_HAS(none.num_src(), "default-constructed relation");
  refuses(none, &R::num_dst, &R::num_edges, &R::device, &R::edge_index, &R::csr, &R::csr_order,
          &R::transposed, &R::transposed_order, &R::symmetric, &R::in_degrees, &R::out_degrees, &R::reversed,
          &R::sorted, &R::cache)();
  refuses(none, &R::matrix, &R::adjoint)(Tensor());
  const Var x = Tensor::zeros({3, 2}), e = Tensor::zeros({4});
  CHECK_THROWS_AS(aggregate(none, x), Error);
  CHECK_THROWS_AS(edge_dot(none, x, x), Error);
  CHECK_THROWS_AS(edge_add(none, x, x), Error);
  CHECK_THROWS_AS(edge_softmax(none, e), Error);
}

TEST_CASE("a default-constructed Graph has counts of 0, and throws otherwise") {
  using G = Graph;
  const G none;
  CHECK(none.num_nodes() == 0);
  CHECK(none.num_edges() == 0);
  CHECK(none.edge_attributes().empty());
  CHECK_ERROR_HAS(none.relation(), "default-constructed graph");
  const auto gcn_adjacency = [](const G& graph) { return graph.gcn_adjacency(); };
  refuses(none, &G::edge_index, &G::in_edges, &G::out_edges, &G::edge_weight, &G::input_order, &G::in_degrees,
          &G::out_degrees, &G::is_symmetric, &G::has_self_loops, &G::adjacency, gcn_adjacency,
          &G::mean_adjacency, &G::operator const Relation&)();
  const Tensor no_values = Tensor::zeros({0}), no_ids = Tensor::zeros({0}, DType::i32);
  refuses(none, &G::edge_attr)("attr");
  refuses(none, &G::with_edge_attr)("attr", no_values);
  refuses(none, &G::with_edge_weight)(no_values);
  refuses(none, induced_subgraph, edge_subgraph)(no_ids);

  CHECK_THROWS_AS(to_undirected(none), Error);
  CHECK_THROWS_AS(add_self_loops(none), Error);
  CHECK_THROWS_AS(remove_self_loops(none), Error);
  CHECK_THROWS_AS(coalesce(none), Error);
  CHECK_THROWS_AS(reverse(none), Error);
  Generator generator(1);
  CHECK_THROWS_AS(random_link_split(none, {}, generator), Error);
  CHECK_THROWS_AS(negative_sampling(none, 1, generator), Error);
  nn::Model<nn::GCNConv> conv(2, 2);
  CHECK_THROWS_AS(conv(none, Features(Tensor::zeros({0, 2}))), Error);
  CHECK_THROWS_AS(fingerprint(Dataset()), Error);
}

TEST_CASE("a default-constructed SparseMatrix, Block, HeteroGraph or Features throws") {
  using M = SparseMatrix;
  const Var x = Tensor::zeros({3, 2});
  const Tensor no_values = Tensor::zeros({0});
  const M matrix;
  refuses(matrix, &M::rows, &M::cols, &M::entries, &M::device, &M::matrix, &M::adjoint, &M::to_dense,
          &M::row_normalized)();
  refuses(matrix, &M::with_values)(no_values);
  CHECK_THROWS_AS(M().keep_adjoint(true), Error);
  CHECK_THROWS_AS(aggregate(matrix, x), Error);

  const Block block;
  refuses(block, &Block::num_src, &Block::num_dst, &Block::num_edges, &Block::device, &Block::dst_nodes)();
  CHECK_THROWS_AS(aggregate(block, x), Error);

  using H = HeteroGraph;
  const H hetero;
  const EdgeType type{"a", "r", "b"};
  CHECK(hetero.device() == Device::cpu());
  CHECK_ERROR_HAS(hetero.num_nodes(), "default-constructed");
  refuses(hetero, &H::node_types, &H::edge_types, &H::num_edges)();
  CHECK_THROWS_AS(hetero.num_nodes("a"), Error);
  CHECK_THROWS_AS(hetero.relation("r"), Error);
  CHECK_THROWS_AS(hetero.relation(type), Error);
  refuses(hetero, &H::edge_attributes)(type);
  refuses(hetero, &H::edge_attr)(type, "w");
  refuses(hetero, &H::with_edge_attr)(type, "w", no_values);

  using F = Features;
  const F features;
  refuses(features, &F::dense, &F::sparse, &F::cols, &F::device, &F::to_dense, &F::row_normalized)();
  CHECK_THROWS_AS(features.rows(), Error);
  CHECK_THROWS_AS(features.to(DType::f64), Error);
  CHECK_THROWS_AS(linear(features, x), Error);
  CHECK_THROWS_AS(dropout(features, 0.5f), Error);
}
