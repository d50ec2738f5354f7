#include "../graph/edges.h"
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/models/family.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("a model gives the same results over a graph and over blocks of all nodes and edges") {
  on_devices(411, DType::f32, [&](Draw& draw, Device device) {
    constexpr int64_t kNodes = 30;
    const Graph graph = draw.graph(kNodes, 150);
    const std::vector<Block> blocks =
        NeighborSampler(graph, {.fanouts = {-1, -1, -1}}).sample(ints(numbers(kNodes), device), 1);
    const Features x(draw.normal({kNodes, 6}));
    models::ModelOptions options;
    options.layers = 3;
    options.hidden = 8;
    for (const auto& [family, norm] : {std::pair{models::gcn(), models::Norm::none},
                                       {models::gcn(), models::Norm::batch},
                                       {models::sage(), models::Norm::layer},
                                       {models::gin(), models::Norm::none},
                                       {models::gat(), models::Norm::none},
                                       {models::transformer(), models::Norm::batch}}) {
      options.model = family.models.front();
      options.norm = norm;
      options.residual = norm == models::Norm::batch;
      const auto model = family.make_as<models::NodeModel>(6, 3, options);
      CAPTURE(model->describe());
      model->to(device);
      model->eval();
      CHECK(model->num_layers() == 3);
      CHECK(model->exact_by_layers() == (options.model != "gcn"));
      const NoGrad no_grad;
      CHECK(close((*model)(blocks, x).value(), (*model)(graph, x).value(), 1e-4));
    }
  });
}
