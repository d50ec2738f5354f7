#include "links.h"

#include <adjoint/graph/detail/index.h>

namespace adj::apps {

int64_t LinkNodes::candidates(int64_t chosen) const {
  const int64_t n = sources.num_nodes();
  if (targets != nullptr) return (chosen > 0 ? chosen : n) * targets->num_nodes();
  return chosen > 0 ? chosen * (n - 1) : n * (n - 1) / 2;
}

LinkPredictions predicted_links(const TrainedModel& trained, const PredictOptions& o, const LinkNodes& nodes,
                                const Tensor& embeddings, const EdgeIndex& pairs, const Tensor& sources) {
  const int64_t first = nodes.first_target();
  if (o.missing_links == 0) {
    const EdgeIndex rows{pairs.src, adj::detail::shifted(pairs.dst, first)};
    return {pairs.src.to_vector<int32_t>(),
            pairs.dst.to_vector<int32_t>(),
            trained.score_links(embeddings, rows).to_vector<float>(),
            {}};
  }
  const Tensor& offsets = nodes.sources.graph_offsets;
  if (offsets && offsets.numel() > 2)
    log_info("missing links: pairs of two nodes of one graph are scored, none between graphs");
  else
    log_info("missing links: {} pairs of nodes, less the edges, are scored",
             nodes.candidates(sources ? sources.numel() : 0));
  std::optional<std::vector<int32_t>> chosen;
  if (sources) chosen = sources.to_vector<int32_t>();
  LinkPredictions links =
      trained.missing_links(embeddings, nodes.graph, o.missing_links, chosen, offsets, first);
  for (int32_t& target : links.dst) target -= static_cast<int32_t>(first);
  const int64_t wanted = sources ? o.missing_links * sources.numel() : o.missing_links;
  if (std::ssize(links.src) < wanted)
    log_warning("missing links: {} written, {} asked for: no more pairs are without an edge",
                links.src.size(), wanted);
  return links;
}

}  // namespace adj::apps
