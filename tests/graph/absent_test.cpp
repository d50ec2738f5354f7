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

using namespace adj;
using namespace adj::test;

// A handle that was default-constructed holds nothing. Using it is an error, and no crash.

TEST_CASE("a default-constructed Relation refuses every question") {
  const Relation none;
  CHECK(!none);
  CHECK(none == Relation());
  CHECK(!none.to({}));
  CHECK(mentions(error_of([&] { none.num_src(); }), "default-constructed relation"));
  CHECK_THROWS_AS(none.num_dst(), Error);
  CHECK_THROWS_AS(none.num_edges(), Error);
  CHECK_THROWS_AS((void)none.device(), Error);
  CHECK_THROWS_AS(none.edge_index(), Error);
  CHECK_THROWS_AS(none.csr(), Error);
  CHECK_THROWS_AS(none.csr_order(), Error);
  CHECK_THROWS_AS(none.transposed(), Error);
  CHECK_THROWS_AS(none.transposed_order(), Error);
  CHECK_THROWS_AS(none.matrix(), Error);
  CHECK_THROWS_AS(none.adjoint(), Error);
  CHECK_THROWS_AS(none.symmetric(), Error);
  CHECK_THROWS_AS(none.in_degrees(), Error);
  CHECK_THROWS_AS(none.out_degrees(), Error);
  CHECK_THROWS_AS(none.reversed(), Error);
  CHECK_THROWS_AS(none.sorted(), Error);
  CHECK_THROWS_AS(none.cache(), Error);
  const Var x = Tensor::zeros({3, 2}), e = Tensor::zeros({4});
  CHECK_THROWS_AS(aggregate(none, x), Error);
  CHECK_THROWS_AS(edge_dot(none, x, x), Error);
  CHECK_THROWS_AS(edge_add(none, x, x), Error);
  CHECK_THROWS_AS(edge_softmax(none, e), Error);
}

TEST_CASE("a default-constructed Graph refuses every question but its counts") {
  const Graph none;
  CHECK(!none);
  CHECK(none.num_nodes() == 0);
  CHECK(none.num_edges() == 0);
  CHECK(none.edge_attributes().empty());
  CHECK(!none.to({}));
  CHECK(mentions(error_of([&] { none.relation(); }), "default-constructed graph"));
  CHECK_THROWS_AS(none.edge_index(), Error);
  CHECK_THROWS_AS(none.in_edges(), Error);
  CHECK_THROWS_AS(none.out_edges(), Error);
  CHECK_THROWS_AS(none.edge_weight(), Error);
  CHECK_THROWS_AS(none.edge_attr("attr"), Error);
  CHECK_THROWS_AS(none.with_edge_attr("attr", Tensor::zeros({0})), Error);
  CHECK_THROWS_AS(none.with_edge_weight(Tensor::zeros({0})), Error);
  CHECK_THROWS_AS(none.input_order(), Error);
  CHECK_THROWS_AS(none.in_degrees(), Error);
  CHECK_THROWS_AS(none.out_degrees(), Error);
  CHECK_THROWS_AS(none.is_symmetric(), Error);
  CHECK_THROWS_AS(none.has_self_loops(), Error);
  CHECK_THROWS_AS(none.adjacency(), Error);
  CHECK_THROWS_AS(none.gcn_adjacency(), Error);
  CHECK_THROWS_AS(none.mean_adjacency(), Error);
  CHECK_THROWS_AS((void)static_cast<const Relation&>(none), Error);

  CHECK_THROWS_AS(to_undirected(none), Error);
  CHECK_THROWS_AS(add_self_loops(none), Error);
  CHECK_THROWS_AS(remove_self_loops(none), Error);
  CHECK_THROWS_AS(coalesce(none), Error);
  CHECK_THROWS_AS(reverse(none), Error);
  CHECK_THROWS_AS(induced_subgraph(none, Tensor::zeros({0}, DType::i32)), Error);
  CHECK_THROWS_AS(edge_subgraph(none, Tensor::zeros({0}, DType::i32)), Error);
  Generator generator(1);
  CHECK_THROWS_AS(random_link_split(none, {}, generator), Error);
  CHECK_THROWS_AS(negative_sampling(none, 1, generator), Error);
  nn::Model<nn::GCNConv> conv(2, 2);
  CHECK_THROWS_AS(conv(none, Features(Tensor::zeros({0, 2}))), Error);
  CHECK_THROWS_AS(fingerprint(Dataset()), Error);
}

TEST_CASE("a default-constructed SparseMatrix, Block, HeteroGraph or Features refuses every question") {
  const SparseMatrix matrix;
  CHECK(!matrix);
  CHECK(!matrix.to({}));
  CHECK_THROWS_AS(matrix.rows(), Error);
  CHECK_THROWS_AS(matrix.cols(), Error);
  CHECK_THROWS_AS(matrix.entries(), Error);
  CHECK_THROWS_AS((void)matrix.device(), Error);
  CHECK_THROWS_AS(matrix.matrix(), Error);
  CHECK_THROWS_AS(matrix.adjoint(), Error);
  CHECK_THROWS_AS(matrix.with_values(Tensor::zeros({0})), Error);
  CHECK_THROWS_AS(matrix.to_dense(), Error);
  CHECK_THROWS_AS(matrix.row_normalized(), Error);
  CHECK_THROWS_AS(SparseMatrix().keep_adjoint(true), Error);
  const Var x = Tensor::zeros({3, 2});
  CHECK_THROWS_AS(spmm(matrix, x), Error);

  const Block block;
  CHECK(!block);
  CHECK(!block.to({}));
  CHECK_THROWS_AS(block.num_src(), Error);
  CHECK_THROWS_AS(block.num_dst(), Error);
  CHECK_THROWS_AS(block.num_edges(), Error);
  CHECK_THROWS_AS((void)block.device(), Error);
  CHECK_THROWS_AS(block.dst_nodes(), Error);
  CHECK_THROWS_AS(aggregate(block, x), Error);

  const HeteroGraph hetero;
  CHECK(!hetero);
  CHECK(!hetero.to({}));
  CHECK(hetero.device() == Device::cpu());
  CHECK(mentions(error_of([&] { hetero.num_nodes(); }), "default-constructed"));
  CHECK_THROWS_AS(hetero.node_types(), Error);
  CHECK_THROWS_AS(hetero.edge_types(), Error);
  CHECK_THROWS_AS(hetero.num_nodes("a"), Error);
  CHECK_THROWS_AS(hetero.num_edges(), Error);
  CHECK_THROWS_AS(hetero.relation("r"), Error);
  CHECK_THROWS_AS(hetero.relation(EdgeType{"a", "r", "b"}), Error);
  CHECK_THROWS_AS(hetero.edge_attributes(EdgeType{"a", "r", "b"}), Error);
  CHECK_THROWS_AS(hetero.edge_attr(EdgeType{"a", "r", "b"}, "w"), Error);
  CHECK_THROWS_AS(hetero.with_edge_attr(EdgeType{"a", "r", "b"}, "w", Tensor::zeros({0})), Error);

  const Features features;
  CHECK(!features);
  CHECK(!features.to(Device::cpu()));
  CHECK_THROWS_AS(features.dense(), Error);
  CHECK_THROWS_AS(features.sparse(), Error);
  CHECK_THROWS_AS(features.rows(), Error);
  CHECK_THROWS_AS(features.cols(), Error);
  CHECK_THROWS_AS((void)features.device(), Error);
  CHECK_THROWS_AS(features.to(DType::f64), Error);
  CHECK_THROWS_AS(features.to_dense(), Error);
  CHECK_THROWS_AS(features.row_normalized(), Error);
  CHECK_THROWS_AS(linear(features, x), Error);
  CHECK_THROWS_AS(dropout(features, 0.5f), Error);
}
