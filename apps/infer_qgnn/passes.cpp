#include "passes.h"

#include "../common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/detail/batch_data.h>

namespace adj::apps {

namespace {

Parts parts_of_graphs(const ModelDescription& model, const Dataset& data, const InferOptions& o) {
  const int64_t graphs = data.graph_offsets.numel() - 1,
                at_once = o.batch_size > 0 ? o.batch_size : model.graphs_at_once;
  const GraphLoader loader(data, detail::numbers(graphs), {.batch_size = at_once, .backward = false});
  return {loader.size(),
          fmt::format("{} graphs{}", at_once, o.batch_size > 0 ? "" : ", as in training (--batch-size)"),
          [loader](int64_t i) {
            const GraphBatch batch = loader.batch(0, i);
            return Part{batch.graph, batch.offsets, batch.x, batch.graphs};
          }};
}

Parts parts_of_nodes(const Dataset& data, const InferOptions& o) {
  const int64_t nodes = data.num_nodes();
  if (o.parts > nodes) usage_fail("--parts: expected at most {}, the number of nodes", nodes);
  const char* description = "all nodes (--parts)";
  Tensor part = Tensor::zeros({nodes}, DType::i32);
  if (o.parts > 0) {
    part = metis_partition(data.graph, o.parts);
    description = "clusters by METIS";
  } else if (data.part) {
    part = data.part;
    description = "clusters from nodes/part";
  }
  const ClusterLoader loader(data.graph, data.x, {}, detail::numbers(nodes), part,
                             {.loading = {.batch_size = o.parts_per_batch, .backward = false}});
  return {loader.size(), description, [loader](int64_t i) {
            const SubgraphBatch batch = loader.batch(0, i);
            return Part{batch.graph, {}, batch.x, batch.nodes};
          }};
}

}  // namespace

Parts parts_of(const ModelDescription& model, const Dataset& data, const InferOptions& options) {
  return model.of_graphs() ? parts_of_graphs(model, data, options) : parts_of_nodes(data, options);
}

}  // namespace adj::apps
