#include "../support.h"
#include <adjoint/nn/conv/pna_conv.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("PNAConv rejects mismatched options, degrees and features") {
  const auto refuses = [](std::vector<int64_t> degrees, const nn::PNAConvOptions& options,
                          const char* message) {
    CHECK_ERROR(nn::Model<nn::PNAConv>(4, 4, degrees, options), message);
  };
  const std::vector<int64_t> degrees{1, 2};
  refuses(degrees, {.pre_layers = 2},
          "PNAConv: 2 layers before the aggregation would have to run on every edge, expected 1");
  refuses(degrees, {.towers = 3}, "PNAConv: 4 -> 4 features do not divide into 3 towers");
  refuses(degrees, {.aggregators = {Reduce::max, Reduce::max}}, "PNAConv: max is requested twice");
  refuses(degrees, {.scalers = {}}, "PNAConv: no scalers");
  CHECK_ERROR_HAS(nn::Model<nn::PNAConv>(4, 4, std::vector<int64_t>{5}), "none of 5 nodes has an in-edge");
  nn::Model<nn::PNAConv> layer(4, 4, degrees);
  const Graph graph =
      Graph::from_coo(2, Tensor::from(std::vector<int32_t>{0}), Tensor::from(std::vector<int32_t>{1}));
  CHECK_ERROR_HAS(layer(graph, Tensor::zeros({2, 3})), "[2, 3], expected 4 columns");
}
