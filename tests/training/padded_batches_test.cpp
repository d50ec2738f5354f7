#include "bench.h"
#include <adjoint/autograd/loss.h>
#include <adjoint/training/padded_batches.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("the storage has room above the largest batch drawn and above six deviations") {
  const auto room = [](const std::vector<int64_t>& edges) {
    std::vector<BlockSizes> drawn;
    for (const int64_t count : edges) drawn.push_back({.nodes = {500, 100, 31}, .edges = {count, 40}});
    return PaddedBatches::room_for(drawn);
  };
  const BlockSizes same = room({1000, 1000, 1000});
  CHECK(same.nodes == std::vector<int64_t>{512, 128, 32});
  CHECK(same.edges == std::vector<int64_t>{1024, 64});
  // Mean 1000, deviation 100: six of them above the mean.
  CHECK(room({900, 1100, 900, 1100}).edges[0] == 1600);
  CHECK(room({1024}).edges[0] == 1056);  // one more, for the edges that fill a batch up
}

TEST_CASE("a placed batch has the loss and gradients of the batch itself, which one of another size keeps") {
  Program p(small_dataset(), models::sage(), {{"loader", "neighbor"}, {"dropout", "0"}});
  p.prepare();
  REQUIRE(p.next_run());
  CHECK_FALSE(node_batches(*p.run, *p.model)->places());  // on a CPU
  const auto loader = [&](bool bare) {
    return NeighborLoader(p.task->data.graph, p.task->store, p.run->objective().targets(),
                          p.run->examples().train,
                          {.sampling = {.fanouts = {5, 3}},
                           .loading = {.batch_size = 7, .shuffle = true, .seed = 2},
                           .first_transposed = p.model->first_transposed(),
                           .features = !bare,
                           .plans = !bare});
  };
  const NeighborLoader whole = loader(false), bare = loader(true);
  std::vector<BlockSizes> drawn;
  for (int64_t i = 0; i + 1 < bare.size(); ++i) drawn.push_back(BlockSizes::count(bare.batch(0, i).blocks));
  CHECK(PaddedBatches::gathers(*p.run));
  PaddedBatches storage(*p.run, bare.batch(0, 0), PaddedBatches::room_for(drawn), 1);
  const auto step = [&](const NodeBatch& batch) {
    const Var loss =
        p.run->objective().loss_of_batch(batch.forward(*p.model), batch.y, batch.index, batch.weight);
    loss.backward();
    std::vector<double> all{loss.item()};
    for (Var parameter : p.model->parameters()) {
      for (const double number : values(parameter.grad())) all.push_back(number);
      parameter.zero_grad();
    }
    return all;
  };
  REQUIRE(bare.num_seeds() % 7 != 0);
  for (int64_t i = 0; i < whole.size(); ++i) {
    CAPTURE(i);
    const NeighborBatch plain = whole.batch(0, i), other = bare.batch(0, i);
    const NodeBatch placed = storage.place(other);
    CHECK(placed.placed == (i + 1 < whole.size()));
    const std::vector<double> wanted =
        step({.graph = {}, .blocks = plain.blocks, .x = plain.x, .y = plain.y});
    const std::vector<double> found = step(placed);
    REQUIRE(found.size() == wanted.size());
    for (size_t k = 0; k < found.size(); ++k) CHECK(found[k] == doctest::Approx(wanted[k]).epsilon(1e-4));
  }
}
