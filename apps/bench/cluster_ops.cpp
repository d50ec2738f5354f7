#include "measure.h"
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/training/loader.h>

namespace adj::apps {

namespace {

/// Trains the model of train_gcn on clusters like that program.
struct ClusterEpoch {
  explicit ClusterEpoch(const Subject& s) : subject(s), loader(made_loader()) {
    models::ModelOptions settings = models::gcn().defaults;
    settings.hidden = s.hidden;
    settings.layers = s.layers;
    settings.norm = s.norm;
    settings.dropout = s.dropout;
    model = models::gcn().make_as<models::NodeModel>(s.data.num_features(), s.data.num_classes(), settings);
    model->to(s.device());
    model->to(s.dtype);
    adam = std::make_unique<optim::Adam>(model->parameters(),
                                         optim::AdamOptions{.lr = 0.01, .weight_decay = 5e-4});
  }

  ClusterLoader made_loader() const {
    const Subject& s = subject;
    ADJ_CHECK(s.data.x && s.data.y && s.data.train, "training epoch: {} has no features, labels or split",
              s.data.name);
    Dataset data = s.data;
    training::partition_for_clusters(data, s.parts);
    return {s.graph(),
            s.data.x.to(s.dtype),
            s.data.y,
            s.data.train,
            data.part,
            {.loading = {.batch_size = s.parts_per_batch,
                         .shuffle = true,
                         .workers = s.workers,
                         .derive = [](const Graph& graph) { (void)graph.gcn_adjacency(); }}}};
  }

  template <class Batches>
  void over(Batches&& batches) {
    for (const SubgraphBatch& batch : batches) {
      if (batch.seeds.numel() == 0) continue;
      cross_entropy((*model)(batch.graph, batch.x), batch.y, batch.seeds).backward();
      adam->step();
    }
  }

  std::string shape() const {
    return fmt::format("{}, {} of {} parts a batch", model->describe(), subject.parts_per_batch,
                       loader.num_parts());
  }

  const Subject& subject;
  ClusterLoader loader;
  std::unique_ptr<models::NodeModel> model;
  std::unique_ptr<optim::Adam> adam;
};

Job cluster_epoch(const Subject& s) {
  auto epoch = std::make_shared<ClusterEpoch>(s);
  return {epoch->shape(), 0.0, 0.0,
          [epoch, e = int64_t{0}]() mutable { epoch->over(epoch->loader.epoch(e++)); }};
}

Job cluster_epoch_kept(const Subject& s) {
  auto epoch = std::make_shared<ClusterEpoch>(s);
  std::vector<SubgraphBatch> kept;
  for (const SubgraphBatch& batch : epoch->loader.epoch(0)) kept.push_back(batch);
  return {epoch->shape(), 0.0, 0.0, [epoch, kept = std::move(kept)] { epoch->over(kept); }};
}

Job clusters_alone(const Subject& s) {
  auto epoch = std::make_shared<ClusterEpoch>(s);
  return {epoch->shape(), 0.0, 0.0, [epoch, e = int64_t{0}]() mutable {
            for (const SubgraphBatch& batch : epoch->loader.epoch(e++)) (void)batch.size();
          }};
}

}  // namespace

std::vector<Op> cluster_ops() {
  return {{"cluster_epoch", "a training epoch of a GCN over a ClusterLoader's batches", cluster_epoch},
          {"cluster_epoch_kept", "the same, with all batches in memory", cluster_epoch_kept},
          {"cluster_batches", "the batches of such an epoch alone, without training", clusters_alone}};
}

}  // namespace adj::apps
